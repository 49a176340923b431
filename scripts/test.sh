#!/usr/bin/env bash
# Runs all checks and tests. A failing step does not hide the others; the last line counts tests.
set -uo pipefail
cd "$(dirname "$0")/.."
export CARGO_TERM_COLOR=never
log=$(mktemp)
trap 'rm -f "$log"' EXIT
broken=0

step() {
  echo "--- $*"
  "$@" 2>&1 | tee -a "$log"
  local status=${PIPESTATUS[0]}
  if [ "$status" -ne 0 ]; then
    echo "--- failed (exit code $status): $*"
    broken=$((broken + 1))
  fi
}

# One set of features for all steps, so that the library is compiled once for them; without any features it is only checked.
features="--features unmissed-cli/parquet,unmissed-python/parquet"
step cargo fmt --all --check
step cargo clippy --quiet --workspace --all-targets $features -- -D warnings
step cargo clippy --quiet -p unmissed --no-default-features -- -D warnings
# Examples are studies that take hours: the step above has checked them, and nothing here runs them.
step cargo test --quiet --workspace $features --lib --bins --tests --no-fail-fast -- --show-output
step cargo test --quiet --workspace $features --doc --no-fail-fast
# The pages of the tests, and the program that is killed below, come from the binary that the steps above built.
step bash scripts/browser_tests.sh
RUSTDOCFLAGS="-D warnings" step cargo doc --quiet -p unmissed --no-deps
step bash scripts/test_python.sh --color=no
# Last, since streams are killed with the package that the step above built.
tests_end=$(wc -l < "$log")
[ "$(uname)" = Linux ] && step python3 scripts/faults.py target/debug/unmissed --short --python target/venv/bin/python

# A test that lacks its data passes with a line 'skipped: why'.
passed=$(sed -n 's/^test result: .* \([0-9]*\) passed;.*/\1/p' "$log" | awk '{ n += $1 } END { print n + 0 }')
failed=$(sed -n 's/^test result: .* \([0-9]*\) failed;.*/\1/p' "$log" | awk '{ n += $1 } END { print n + 0 }')
skipped=$(head -n "$tests_end" "$log" | grep -c '^skipped: ')
passed=$((passed - skipped))
# What faults.py skips is not among what passed.
skipped=$((skipped + $(tail -n "+$((tests_end + 1))" "$log" | grep -c '^skipped: ')))
# faults.py ends with a line like 'faults: 96 passed, 0 failed'.
passed=$((passed + $(sed -n 's/^faults: \([0-9]*\) passed.*/\1/p' "$log" | awk '{ n += $1 } END { print n + 0 }')))
failed=$((failed + $(sed -n 's/^faults: .* \([0-9]*\) failed.*/\1/p' "$log" | awk '{ n += $1 } END { print n + 0 }')))
# pytest ends with a line like '1 failed, 137 passed, 2 skipped in 20.02s'.
of_pytest() {
  grep -E '^[0-9]+ [a-z]+.* in [0-9.]+s' "$log" | grep -oE "[0-9]+ $1" | awk '{ n += $1 } END { print n + 0 }'
}
passed=$((passed + $(of_pytest passed)))
failed=$((failed + $(of_pytest failed) + $(of_pytest error)))
skipped=$((skipped + $(of_pytest skipped)))
[ "$broken" -gt "$failed" ] && failed=$broken
echo "$passed passed, $failed failed, $skipped skipped"
[ "$broken" -eq 0 ]
