#!/usr/bin/env bash
# What can be checked of a release on one machine: release_check.sh [CHECK...], all of them unless named. Tools come from package registries
# into target/release-venv. The last line counts checks.
#
# Checks: versions tools workflows crates sdist wheel aarch64 installation docs deny audit. Skipped with a line if something is not available: the wheel for aarch64 needs
# the standard library of that target (rustup target add), deny the program cargo-deny, audit and the advisories of deny a network.
set -uo pipefail
cd "$(dirname "$0")/.."
venv=$PWD/target/release-venv
out=$PWD/target/release-check
only=" $* "
passed=0 failed=0 skipped=0

wanted() {
  [ "$only" = "  " ] || [[ $only == *" $1 "* ]]
}

skip() {
  wanted "$1" || return 0
  echo "--- skipped: $2"
  skipped=$((skipped + 1))
}

check() {
  wanted "$1" || return 0
  local name=$2
  shift 2
  echo "--- $name"
  if "$@"; then passed=$((passed + 1)); else
    failed=$((failed + 1))
    echo "--- failed: $name"
  fi
}

tools() {
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r scripts/release_requirements.txt
}

# One version everywhere, and a heading for it in the changelog.
versions() {
  local version
  version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
  [ -n "$version" ] || return 1
  grep -q "^version: $version\$" CITATION.cff || { echo "CITATION.cff has another version than $version"; return 1; }
  grep -q "^## $version" CHANGELOG.md || { echo "CHANGELOG.md has no heading '## $version'"; return 1; }
  grep -q "^unmissed = { path = \"crates/unmissed\", version = \"$version\"" Cargo.toml || { echo "the crate is depended on in another version"; return 1; }
}

# Crates with their README and licences; a warning is an error. They are compiled from what the packages contain.
crates() {
  local log=$out/package.log crate
  cargo package --locked --allow-dirty -p unmissed -p unmissed-cli >"$log" 2>&1 || { tail -20 "$log"; return 1; }
  if grep -q '^warning' "$log"; then
    grep -A3 '^warning' "$log"
    return 1
  fi
  for crate in unmissed unmissed-cli; do
    for file in README.md LICENSE-MIT LICENSE-APACHE; do
      cargo package --list --allow-dirty -p "$crate" 2>/dev/null | grep -qx "$file" || { echo "$crate lacks $file"; return 1; }
    done
  done
}

# A virtual environment of its own, in which the package is installed and works.
works() {
  local clean=$out/$1
  shift
  rm -rf "$clean"
  python3 -m venv "$clean" && "$clean/bin/python" -m pip install --quiet --disable-pip-version-check "$@" &&
    (cd "$out" && "$clean/bin/python" -c '
import unmissed as um
assert um.precision([[0], [2]], [[0, 1], [1, 2]], k=1, n_labels=3) == 0.5
print("unmissed", um.__version__, "works")')
}

source_distribution() {
  rm -f "$out"/sdist/*
  (cd python && "$venv/bin/maturin" sdist --out "$out/sdist") && works clean-source "$out"/sdist/unmissed-*.tar.gz
}

# For systems with glibc 2.17 or later.
wheel() {
  rm -f "$out"/wheels/*
  (cd python && PATH="$venv/bin:$PATH" "$venv/bin/maturin" build --quiet --release --zig --compatibility manylinux2014 "$@" --out "$out/wheels") || return 1
  "$venv/bin/auditwheel" show "$out"/wheels/*.whl | tee "$out/auditwheel.txt" | grep -E 'consistent with|abi3' || true
  grep -q 'manylinux_2_17' "$out/auditwheel.txt"
}

wheel_works() {
  wheel && works clean-wheel "$out"/wheels/unmissed-*.whl
}

workflows() {
  "$venv/bin/check-jsonschema" --builtin-schema vendor.github-workflows .github/workflows/*.yml &&
    "$venv/bin/zizmor" --offline --quiet --min-severity low .github/workflows
}

# Everything is where packagers expect it.
installation() {
  rm -rf "$out/root"
  DESTDIR=$out/root PREFIX=/usr bash scripts/install.sh || return 1
  local file
  for file in bin/unmissed share/man/man1/unmissed.1 share/man/man1/unmissed-audit.1 share/bash-completion/completions/unmissed \
    share/zsh/site-functions/_unmissed share/fish/vendor_completions.d/unmissed.fish; do
    [ -s "$out/root/usr/$file" ] || { echo "$file was not installed"; return 1; }
  done
  bash -n "$out/root/usr/share/bash-completion/completions/unmissed" && "$out/root/usr/bin/unmissed" --version
}

# Known vulnerabilities of the Python packages that ours requires. Packages that the service does not know were not audited.
audit() {
  printf 'numpy\nscipy\n' >"$out/requirements.txt"
  "$venv/bin/pip-audit" --strict --progress-spinner off --requirement "$out/requirements.txt" >"$out/audit.log" 2>&1
}

audited() {
  cat "$out/audit.log"
  grep -q 'No known vulnerabilities found' "$out/audit.log"
}

mkdir -p "$out"
check versions "versions agree" versions
check tools "tools" tools
check workflows "workflow files" workflows
check crates "crates" crates
check sdist "source distribution in a clean environment" source_distribution
check wheel "manylinux2014 wheel in a clean environment" wheel_works
if [ -d "$(rustc --print sysroot)/lib/rustlib/aarch64-unknown-linux-gnu" ]; then
  check aarch64 "manylinux2014 wheel for aarch64" wheel --target aarch64-unknown-linux-gnu
else
  skip aarch64 "wheel for aarch64, whose standard library is not installed (rustup target add aarch64-unknown-linux-gnu)"
fi
check installation "installation" installation
check docs "documentation" bash scripts/docs.sh
if ! command -v cargo-deny >/dev/null; then
  skip deny "cargo deny, which is not installed (cargo install cargo-deny)"
else
  check deny "licences, bans and sources of dependencies" cargo deny check bans licenses sources
  if wanted deny && timeout 120 cargo deny fetch db >"$out/advisories.log" 2>&1; then
    check deny "advisories about dependencies" cargo deny check advisories
  else
    skip deny "advisories about dependencies: their database cannot be reached"
  fi
fi
if wanted audit && ! audit && grep -qE 'could not be audited|onnection|imed out' "$out/audit.log"; then
  skip audit "pip-audit, whose service cannot be reached or does not know the packages"
else
  check audit "known vulnerabilities of Python packages" audited
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
