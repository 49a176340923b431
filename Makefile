.PHONY: test bench fuzz release wheel
.DEFAULT_GOAL := test

# Everything that must hold before a change lands. The last line counts tests.
test:
	@bash scripts/test.sh

# Measurements; docs/benchmarks.md says what they mean and what to compare them with.
bench:
	cargo bench --workspace

# A few minutes of fuzzing for every reader; needs `cargo install cargo-fuzz`.
fuzz:
	@bash scripts/fuzz.sh

# The Python package: a wheel and a source distribution in target/wheels.
wheel:
	@bash scripts/wheel.sh

release:
	cargo build --release
