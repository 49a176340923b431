# Sourced: a virtual environment for the Python package in target/venv, with what its tests need. $python is its interpreter.
python=$PWD/target/venv/bin/python
stamp=target/venv/requirements
if ! cmp -s python/tests/requirements.txt "$stamp"; then
  if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "the Python package needs Python 3.11 or newer as python3" >&2
    exit 1
  fi
  python3 -m venv target/venv
  if ! "$python" -m pip install --quiet --disable-pip-version-check -r python/tests/requirements.txt; then
    echo "cannot install what the Python package is tested with: is there a network?" >&2
    exit 1
  fi
  cp python/tests/requirements.txt "$stamp"
fi
