#!/usr/bin/env bash
# Fuzzes every reader for a while: scripts/fuzz.sh [SECONDS]. Needs `cargo install cargo-fuzz`.
set -eu
cd "$(dirname "$0")/.."
export RUSTC_BOOTSTRAP=1
for target in fuzz/fuzz_targets/*.rs; do
  cargo fuzz run "$(basename "$target" .rs)" -- -max_total_time="${1:-60}" -max_len=4096 -rss_limit_mb=2048
done
