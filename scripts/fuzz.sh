#!/usr/bin/env bash
# Fuzzes targets for a while each: scripts/fuzz.sh [SECONDS [TARGET...]], one minute for every target unless told otherwise.
# Needs `cargo install cargo-fuzz`.
set -eu
cd "$(dirname "$0")/.."
export RUSTC_BOOTSTRAP=1
seconds=${1:-60}
shift || true
if [ $# -eq 0 ]; then
  for file in fuzz/fuzz_targets/*.rs; do
    set -- "$@" "$(basename "$file" .rs)"
  done
fi
for target in "$@"; do
  echo "--- $target, $seconds s"
  cargo fuzz run "$target" -- -max_total_time="$seconds" -max_len=4096 -rss_limit_mb=2048
done
