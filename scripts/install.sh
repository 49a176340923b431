#!/usr/bin/env bash
# Installs the program, its manual pages and its completions under PREFIX (/usr/local unless set), below DESTDIR where packagers set it.
# UNMISSED_BINARY names a program that is built already; otherwise it is built in release mode.
set -eu
cd "$(dirname "$0")/.."
root=${DESTDIR:-}${PREFIX:-/usr/local}
binary=${UNMISSED_BINARY:-}
if [ -z "$binary" ]; then
  cargo build --release --locked -p unmissed-cli
  binary=target/release/unmissed
fi
# `install -D` is not everywhere.
mkdir -p "$root/bin" "$root/share/doc/unmissed"
install -m 755 "$binary" "$root/bin/unmissed"
"$binary" --quiet man -o "$root/share/man/man1"
completions() {
  mkdir -p "$(dirname "$2")"
  "$binary" completions "$1" >"$2"
  chmod 644 "$2"
}
completions bash "$root/share/bash-completion/completions/unmissed"
completions zsh "$root/share/zsh/site-functions/_unmissed"
completions fish "$root/share/fish/vendor_completions.d/unmissed.fish"
install -m 644 LICENSE-APACHE LICENSE-MIT "$root/share/doc/unmissed"
