#!/usr/bin/env bash
# Fuzzes targets for a while each: scripts/fuzz.sh [SECONDS [TARGET...]], one minute for every target unless told otherwise, JOBS of them at a
# time. Starts from fuzz/seeds, which is committed, and from what earlier runs left in fuzz/corpus. Prints a line for each target: executions,
# processor time, inputs that were found. A crash ends with exit code 1 and lies in fuzz/artifacts. Needs `cargo install cargo-fuzz`.
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
cargo fuzz build
built=fuzz/target/$(rustc -vV | sed -n 's/^host: //p')/release

run() {
  local target=$1 log status=0
  mkdir -p "fuzz/corpus/$target" "fuzz/seeds/$target" "fuzz/artifacts/$target"
  log=$(mktemp)
  ( time -p "$built/$target" "fuzz/corpus/$target" "fuzz/seeds/$target" -artifact_prefix="fuzz/artifacts/$target/" \
      -max_total_time="$seconds" -max_len=4096 -rss_limit_mb=3072 -print_final_stats=1 ) >"$log" 2>&1 || status=1
  awk -v target="$target" '/^stat::number_of_executed_units/ { runs = $2 } /^(user|sys) / { cpu += $2 }
    END { printf "%s: %d executions, %.0f s of processor time\n", target, runs, cpu }' "$log"
  if [ "$status" -ne 0 ]; then
    echo "--- $target crashed" >&2
    tail -n 40 "$log" >&2
  fi
  rm -f "$log"
  return "$status"
}
export -f run
export seconds built
printf '%s\n' "$@" | xargs -P "${JOBS:-1}" -I {} bash -c 'run {}'
