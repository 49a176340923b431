#!/usr/bin/env bash
# Builds the wheel and the source distribution of the Python package into target/wheels.
set -eu
cd "$(dirname "$0")/.."
. scripts/python_env.sh
wheels=$PWD/target/wheels
cd python
"$python" -m maturin sdist --out "$wheels"
# From these sources, not from the unpacked distribution: what they depend on is then compiled once.
"$python" -m maturin build --release --out "$wheels"
