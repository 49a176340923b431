#!/usr/bin/env bash
# Builds the Python package into its virtual environment and runs its tests. Arguments go to pytest.
set -eu
cd "$(dirname "$0")/.."
. scripts/python_env.sh
cd python
VIRTUAL_ENV=$(dirname "$(dirname "$python")") "$python" -m maturin develop --quiet --features parquet
exec "$python" -m pytest -q "$@"
