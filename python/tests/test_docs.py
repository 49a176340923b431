"""Examples in docstrings, and types."""

import doctest
import importlib
import pathlib
import re
import subprocess
import sys

import pytest
from conftest import ROOT

import unmissed as um

MODULES = ["unmissed", *(f"unmissed.{name}" for name in um._HOME)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


def test_public_functions_have_examples():
    without = {"Audit", "Comparison", "Data", "Finding", "FormatError", "Report", "Row", "RowPropensity", "__version__", "compat", "datasets"}
    for name in set(um.__all__) - without:
        assert ">>>" in getattr(um, name).__doc__, name
    finder = doctest.DocTestFinder()
    assert sum(len(test.examples) for test in finder.find(importlib.import_module("unmissed._metrics"))) > 20


@pytest.mark.parametrize("what", ["unmissed", "tests/typed_example.py"])
def test_types(what):
    pytest.importorskip("mypy")
    folder = ROOT / "python"
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "pyproject.toml", what]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr


def test_the_package_says_that_it_is_typed():
    assert (pathlib.Path(um.__file__).parent / "py.typed").exists()


@pytest.mark.parametrize("page", ["docs/coming_from.md", "docs/python.md", "python/README.md"])
def test_code_on_pages_runs(page, tmp_path, monkeypatch):
    """All blocks of a page, one after the other."""
    pytest.importorskip("sklearn")
    text = (ROOT / page).read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    monkeypatch.chdir(tmp_path)
    exec("\n".join(blocks), {})


def test_the_quick_start_notebook_runs(tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("sklearn"), pytest.importorskip("matplotlib"), pytest.importorskip("pandas")
    notebook = nbformat.read(ROOT / "docs" / "quickstart.ipynb", as_version=4)
    done = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    outputs = [output for cell in done.cells if cell.cell_type == "code" for output in cell.outputs]
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    # A table of the report, and a picture.
    assert {"text/html", "image/png"} <= kinds
