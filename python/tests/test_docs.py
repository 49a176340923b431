"""Examples in docstrings, and types."""

import doctest
import importlib
import pathlib
import re
import subprocess
import sys

import pytest
from conftest import ROOT, run_page

import unmissed as um

MODULES = ["unmissed", *(f"unmissed.{name}" for name in um._HOME)]


@pytest.mark.parametrize("name", MODULES)
def test_examples_hold(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


def test_public_functions_have_examples():
    without = {"Audit", "Comparison", "Data", "Finding", "FormatError", "Report", "Row", "RowPropensity", "Split", "Survey", "__version__", "compat", "datasets"}
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


#: Pages whose code is run here; that of docs/tutorials/pytorch.md is run by tests_frameworks.
PAGES = [
    "docs/coming_from.md",
    "docs/python.md",
    "docs/tutorials/audit-another-library.md",
    "docs/tutorials/five-hundred-judgements.md",
    "docs/tutorials/later-snapshot.md",
    "docs/tutorials/many-labels.md",
    "docs/tutorials/ratings-and-random-sample.md",
    "python/README.md",
]


@pytest.mark.parametrize("page", PAGES)
def test_code_on_pages_runs(page, tmp_path, monkeypatch):
    """All blocks of a page, one after the other."""
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    # The tutorial about very many labels at a size that tests can afford.
    monkeypatch.setenv("TUTORIAL_LABELS", "2000")
    run_page(page)


def test_every_tutorial_is_run():
    tutorials = {f"docs/tutorials/{path.name}" for path in (ROOT / "docs" / "tutorials").glob("*.md")}
    assert tutorials - set(PAGES) == {"docs/tutorials/pytorch.md"}


def test_the_reference_has_every_public_name():
    named = " ".join(path.read_text() for path in (ROOT / "docs" / "api").glob("*.md"))
    listed = set(re.findall(r"^\.\. auto(?:function|class|exception):: (\w+)$", named, re.MULTILINE))
    modules = set(re.findall(r"^\.\. automodule:: unmissed\.(\w+)$", named, re.MULTILINE))
    assert listed == set(um.__all__) - {"__version__", "compat", "datasets", "types"}
    assert {"compat", "datasets", "types", "torch", "torchmetrics", "huggingface", "ray"} <= modules


def test_links_between_pages_lead_somewhere():
    """What a plain viewer of Markdown follows; `make docs` also checks headings."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "scripts" / "data" / "README.md"]
    assert len(pages) > 30
    for page in pages:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            # Pictures of the gallery are drawn when the site is built.
            if "://" not in target and not target.startswith("gallery/"):
                assert (page.parent / target).exists(), f"{page.relative_to(ROOT)}: {target}"


#: What the notebook's explanations say about its numbers.
NOTEBOOK_CLAIMS = """
assert error(estimated) < 0.6 * error(assumed)
assert truth["corrected"] > truth["plain"]
line = {(row.model, row.estimator, row.propensity if isinstance(row.propensity, str) else None): row for row in frame.itertuples()}
curve, measured = assumed.origin, estimated.origin
too_low = {name: 100 * (truth[name] - line[name, "observed", None].value) for name in truth}
assert all(abs(too_low[name] - said) < 1 for name, said in {"plain": 13, "corrected": 19}.items()), too_low
assert line["plain", "unbiased", curve].value > line["corrected", "unbiased", curve].value
assert round(100 * (line["plain", "unbiased", curve].value - truth["plain"])) == 4 and line["plain", "unbiased", curve].low > truth["plain"]
assert line["corrected", "unbiased", measured].value > line["plain", "unbiased", measured].value
for name in truth:
    row = line[name, "unbiased", measured]
    assert 0.035 < row.value - truth[name] < 0.055 and row.low < truth[name] < row.high, row
assert {finding.code for finding in report.findings} == {"U002", "U006", "U007"}
assert search.best_params_ == {"decay": 1e-3}
"""


def test_the_quick_start_notebook_runs_and_says_what_comes_out(tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("sklearn"), pytest.importorskip("matplotlib"), pytest.importorskip("pandas")
    notebook = nbformat.read(ROOT / "docs" / "quickstart.ipynb", as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(NOTEBOOK_CLAIMS))
    done = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}).execute()
    outputs = [output for cell in done.cells if cell.cell_type == "code" for output in cell.outputs]
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    # A table of the report, and a picture.
    assert {"text/html", "image/png"} <= kinds
