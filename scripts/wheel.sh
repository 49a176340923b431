#!/usr/bin/env bash
# Builds the wheel and the source distribution of the Python package into target/wheels.
set -eu
cd "$(dirname "$0")/.."
. scripts/python_env.sh
cd python
"$python" -m maturin build --release --sdist
