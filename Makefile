.PHONY: test test-frameworks bench bench-peers docs fuzz install release release-check wheel
.DEFAULT_GOAL := test

# Everything that must hold before a change lands. The last line counts tests.
test:
	@bash scripts/test.sh

# What works with PyTorch, torchmetrics, Hugging Face and Ray; installs them into target/frameworks, which takes gigabytes.
test-frameworks:
	@bash scripts/test_frameworks.sh

# Measurements; docs/benchmarks.md says what they mean and what to compare them with.
bench:
	cargo bench --workspace

# Evaluation beside napkinXC, xCOLUMNs and our Python package, on the same data in the same run; installs them into target/peers.
bench-peers: wheel
	python3 -m venv target/peers
	target/peers/bin/pip install --quiet --force-reinstall napkinxc xcolumns target/wheels/unmissed-*.whl
	UNMISSED_BENCH_PYTHON=$(CURDIR)/target/peers/bin/python UNMISSED_BENCH_FILES=1 cargo bench -p unmissed --bench evaluation

# A minute of fuzzing for every target; needs `cargo install cargo-fuzz`.
fuzz:
	@bash scripts/fuzz.sh

# The Python package: a wheel and a source distribution in target/wheels.
wheel:
	@bash scripts/wheel.sh

# The documentation as a site in target/site; the first time it installs Sphinx and its like into target/docs-venv.
docs:
	@bash scripts/docs.sh

# The program, its manual pages and completions: make install PREFIX=$HOME/.local, or DESTDIR=... for packages.
install:
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' bash scripts/install.sh

# What can be checked of a release on this machine: crates, source distribution, wheel for old systems, workflows, installation, site.
release-check:
	@bash scripts/release_check.sh

release:
	cargo build --release
