#!/usr/bin/env bash
# Tests what works with PyTorch, torchmetrics, Hugging Face and Ray, in a virtual environment of their own, which takes gigabytes. Arguments
# go to pytest.
set -eu
cd "$(dirname "$0")/.."
python=$PWD/target/frameworks/bin/python
stamp=target/frameworks/requirements
if ! cmp -s python/tests_frameworks/requirements.txt "$stamp"; then
  python3 -m venv target/frameworks
  "$python" -m pip install --quiet --disable-pip-version-check -r python/tests_frameworks/requirements.txt
  cp python/tests_frameworks/requirements.txt "$stamp"
fi
cd python
VIRTUAL_ENV=$(dirname "$(dirname "$python")") "$python" -m maturin develop --quiet
exec "$python" -m pytest -q tests_frameworks "$@"
