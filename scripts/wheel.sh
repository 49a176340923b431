#!/usr/bin/env bash
# Builds the source distribution of the Python package, and from it the wheel, into target/wheels.
set -eu
cd "$(dirname "$0")/.."
. scripts/python_env.sh
# The wheel is built from the unpacked sources, in a folder of their own; what they depend on is compiled once.
export CARGO_TARGET_DIR=$PWD/target
cd python
"$python" -m maturin build --release --sdist
