#!/usr/bin/env bash
# The audit's page in headless Chromium, with the command line that `cargo test` built. Ends with a line that counts tests.
set -uo pipefail
cd "$(dirname "$0")/../browser-tests"
chromium=${CHROMIUM:-/usr/bin/chromium}

fail() {
  echo "browser tests cannot run: $1"
  echo "test result: FAILED. 0 passed; 1 failed;"
  exit 1
}

command -v node >/dev/null && command -v npm >/dev/null || fail "node and npm are needed (Debian: apt-get install nodejs npm)"
if [ ! -x "$chromium" ]; then
  [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null ||
    fail "there is no $chromium; install Chromium (Debian, as root: apt-get install chromium), or set CHROMIUM to its path"
  (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium) >/dev/null 2>&1
  [ -x "$chromium" ] || fail "apt-get install chromium did not bring $chromium; install it by hand, or set CHROMIUM to its path"
fi
if [ ! -d node_modules/playwright-core ] || [ package-lock.json -nt node_modules ]; then
  npm ci --omit=optional --no-audit --no-fund --loglevel=error || fail "npm ci failed (see above)"
  touch node_modules
fi
report=$(mktemp)
trap 'rm -f "$report"' EXIT
CHROMIUM="$chromium" node --test --test-reporter=tap >"$report"
status=$?
grep -E '^(not )?ok ' "$report"
grep -q '^not ok ' "$report" && sed -n '/^not ok /,/^  \.\.\./p' "$report" | grep -vE '^\s+(at|stack)' | head -120
count() { sed -n "s/^# $1 \([0-9]*\)$/\1/p" "$report"; }
[ "$status" -eq 0 ] && word=ok || word=FAILED
echo "test result: $word. $(count pass) passed; $(count fail) failed;"
exit "$status"
