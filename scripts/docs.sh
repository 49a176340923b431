#!/usr/bin/env bash
# Builds the site into target/site: the pages of the repository, the reference of the Python package, the gallery, and the documentation of
# the crate beside them. Any warning is an error. Once target/docs-venv has what docs/requirements.txt names, no network is needed.
set -eu
cd "$(dirname "$0")/.."
python=$PWD/target/docs-venv/bin/python
stamp=target/docs-venv/requirements
if ! cmp -s docs/requirements.txt "$stamp"; then
  python3 -m venv target/docs-venv
  "$python" -m pip install --quiet --disable-pip-version-check -r docs/requirements.txt
  cp docs/requirements.txt "$stamp"
fi
echo "--- the command line and the Python package"
cargo build --quiet -p unmissed-cli
(cd python && VIRTUAL_ENV=$(dirname "$(dirname "$python")") "$python" -m maturin develop --quiet)
echo "--- the gallery"
"$python" scripts/docs_gallery.py target/debug/unmissed
echo "--- the site"
rm -rf target/site
"$python" -m sphinx --fail-on-warning --keep-going --quiet --jobs auto -b html -c docs . target/site
echo "--- the documentation of the crate"
RUSTDOCFLAGS="-D warnings" cargo doc --quiet -p unmissed --no-deps
cp -r target/doc target/site/rust
# The first page is docs/index.
echo '<!doctype html><meta charset="utf-8"><title>unmissed</title><meta http-equiv="refresh" content="0; url=docs/index.html">' >target/site/index.html
echo "the site is at target/site/index.html"
