"""Evaluation: reports, golden values, agreement with the command line, and what the functions promise."""

import importlib.util
import inspect
import json
import math
import os
import pathlib
import pickle
import subprocess

import numpy as np
import pytest
from conftest import ROOT

import unmissed as um
from unmissed import _core, _metrics

CLI = pathlib.Path(os.environ.get("UNMISSED_CLI", ROOT / "target" / "debug" / "unmissed"))


def load(golden):
    return um.read(golden.path("test")), um.read(golden.path("predictions")), um.read(golden.path("train"))


def test_golden_values(golden):
    test, predictions, train = load(golden)
    ks = sorted({value["k"] for value in golden.expected["values"]})
    report = um.evaluate(test, predictions, train=train, propensity=golden.expected["propensity"], k=ks, bootstrap=0)
    for one in golden.expected["values"]:
        assert report.value(one["metric"], one["k"], one["estimator"]) == pytest.approx(one["value"], rel=1e-9, abs=1e-12), one


def test_metric_functions_are_the_cells_of_the_report(golden):
    test, predictions, train = load(golden)
    p = um.propensities(train, golden.expected["propensity"])
    for one in golden.expected["values"]:
        function = _metrics.FUNCTIONS[one["metric"]]
        propensity = None if one["estimator"] == "observed" else p
        found = function(test, predictions, k=one["k"], estimator=one["estimator"], propensity=propensity)
        assert isinstance(found, float)
        assert found == pytest.approx(one["value"], rel=1e-9, abs=1e-12), one


def test_the_command_line_gives_the_same_numbers(golden):
    if not CLI.exists():
        pytest.skip(f"{CLI} is not built")
    test, predictions, train = load(golden)
    arguments = ["--test", golden.path("test"), "--predictions", golden.path("predictions"), "--train", golden.path("train")]
    command = [CLI, "evaluate", *arguments, "--propensity", "jpv", "--propensity", "power:gamma=0.5", "--groups", "--format", "json"]
    theirs = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    ours = um.evaluate(test, predictions, train=train, propensity=["jpv", "power:gamma=0.5"], groups=True).to_dict()
    assert ours == theirs


def test_several_models_and_groups(small):
    truth, scores, train = small
    other = scores.copy()
    other.data = -other.data
    report = um.evaluate(truth, {"up": scores, "down": other}, train=train, propensity=["jpv", "constant:p=0.5"], groups="share:0.5,0.9")
    assert {row.model for row in report.rows} == {"up", "down"}
    assert {row.group for row in report.rows} == {"all", "head", "torso", "tail"}
    assert {row.propensity for row in report.rows} == {None, "jpv:a=0.55,b=1.5", "constant:p=0.5"}
    assert report.comparisons and report.comparisons[0].a == "up"
    assert sum(group["labels"] for group in report.groups if group["name"] != "all") == 25
    named = um.evaluate(truth, scores, groups=["a" if label < 5 else None for label in range(25)], metrics="precision", k=1)
    assert {row.group for row in named.rows} == {"all", "a"}


def test_options_reach_the_library(small):
    truth, scores, train = small
    wide = um.evaluate(truth, scores, metrics=["precision"], k=1, level=0.99).rows[0]
    narrow = um.evaluate(truth, scores, metrics=["precision"], k=1, level=0.5).rows[0]
    assert wide.high - wide.low > narrow.high - narrow.low
    clipped = um.evaluate(truth, scores, train=train, propensity="jpv", clip=1.5, metrics=["precision"], estimators=["clipped"], k=1)
    assert clipped.rows[0].bias is not None
    controlled = um.evaluate(truth, scores, rate="20/25", k=1, metrics=["precision:unbiased"])
    assert controlled.rows[0].value == pytest.approx(1.25 * um.precision(truth, scores, k=1))
    assert controlled.rows[0].value == um.evaluate(truth, scores, rate=(20, 25), k=1, metrics=["precision:unbiased"]).rows[0].value
    shown = um.evaluate(truth, scores, rate=0.2, shown=np.ones((60, 25)), k=1, metrics=["precision:hajek"])
    assert shown.rows[0].estimator == "hajek"
    weighted = um.evaluate(truth, scores, weights=np.full(25, 2.0), metrics=["weighted-precision:observed"], k=3)
    assert weighted.rows[0].value == pytest.approx(2 * um.precision(truth, scores, k=3))
    a, b = (um.evaluate(truth, scores, metrics=["macro-f:observed"], k=1, bootstrap=50, random_state=seed).rows[0].se for seed in (0, 1))
    assert a != b
    empty = (truth.getnnz(axis=1) == 0).mean()
    skipped = um.evaluate(truth, scores, metrics=["recall:observed"], k=3, conventions="empty-rows=skip").rows[0].value
    assert empty > 0 and skipped * (1 - empty) == pytest.approx(um.recall(truth, scores, k=3))
    mask = um.evaluate(truth, scores, train=train, propensity="jpv", metrics=["precision:unbiased"], k=1, interval="mask")
    assert mask.rows[0].se != um.evaluate(truth, scores, train=train, propensity="jpv", metrics=["precision:unbiased"], k=1).rows[0].se


@pytest.mark.parametrize(
    "options, words",
    [
        ({"metrics": ["precison"]}, "did you mean 'precision'"),
        ({"propensity": "jpv"}, "train="),
        ({"propensity": "powr", "train": [[0]]}, "did you mean 'power'"),
        ({"metrics": ["coverage:unbiased"]}, "unbiased coverage"),
        ({"propensity": [0.5, 2.0]}, "label 1"),
        ({"propensity": [0.5]}, "labels"),
        ({"level": 2}, "level"),
        ({"groups": "share"}, "train="),
        ({"groups": "halves", "train": [[0], [1]]}, "halves"),
        ({"groups": "share:x", "train": [[0], [1]]}, "cuts"),
        ({"weights": "log"}, "train="),
        ({"rate": "x/y"}, "rate"),
        ({"interval": "both"}, "both"),
        ({"label_counts": [1.5, 2.0]}, "label_counts"),
        ({"label_counts": [1]}, "rows"),
        ({"conventions": "empty-rows=drop"}, "drop"),
        ({"estimators": ["unbaised"]}, "did you mean 'unbiased'"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"y_pred": {}}, "at least one model"),
    ],
)
def test_requests_that_cannot_be_are_explained(options, words):
    y_pred = options.pop("y_pred", [[0], [1]])
    with pytest.raises(ValueError, match=words):
        um.evaluate([[0], [1]], y_pred, k=1, n_labels=2, **options)


def test_observed_values_do_not_take_propensities_silently():
    with pytest.raises(ValueError, match="did you mean estimator='unbiased'"):
        um.precision([[0]], [[0]], k=1, propensity=[0.5])
    with pytest.raises(TypeError, match="beta"):
        um.precision([[0]], [[0]], k=1, beta=2)
    with pytest.raises(ValueError, match="um.evaluate"):
        um.precision([[0]], [[0]], k=1, estimator="unbiased", propensity=[[0.5], um.Propensities([0.4], origin="other")])
    with pytest.raises(ValueError, match="two propensity models"):
        um.precision([[0]], [[0]], k=1, estimator="unbiased", propensity=[[0.5], [0.4]])


def test_an_int_gives_a_float_and_a_sequence_an_array(small):
    truth, scores, _ = small
    assert isinstance(um.recall(truth, scores, k=3), float)
    several = um.recall(truth, scores, k=(5, 1, 3))
    assert several.shape == (3,) and several[1] == um.recall(truth, scores, k=1) and several[0] == um.recall(truth, scores, k=5)
    assert isinstance(um.recall(truth, scores, k=np.int64(3)), float)


def generator():
    """The script that writes the metric functions."""
    spec = importlib.util.spec_from_file_location("python_metrics", ROOT / "scripts" / "python_metrics.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_metric_of_the_registry_has_a_function():
    names = [name for name, _ in _core.registry("metrics")]
    assert list(_metrics.FUNCTIONS) == names, "run scripts/python_metrics.py"
    assert list(generator().TEXTS) == names, "scripts/python_metrics.py lacks a definition and an example"
    for name in names:
        function = getattr(um, name.replace("-", "_"))
        assert function is _metrics.FUNCTIONS[name] and name.replace("-", "_") in um.__all__
        assert inspect.isfunction(function) and inspect.getsourcefile(inspect.unwrap(function)) == _metrics.__file__
        for estimator, sentence in _core.offers(name):
            assert estimator in generator().OF_EVALUATE or f'``"{estimator}"``: {sentence}' in function.__doc__
        for keyword in _core.nature(name)[0]:
            assert keyword in inspect.signature(function).parameters and f"\n{keyword} : " in inspect.getdoc(function)


def test_the_written_functions_are_those_of_the_registry():
    script = generator()
    assert script.SOURCE.read_text() == script.source(), "run scripts/python_metrics.py"


def test_docstrings_list_what_registries_have():
    for registry, documented in [("losses", "OneVsRest"), ("models", "propensities"), ("propensity-estimators", "estimate_propensity")]:
        text = getattr(um, documented).__doc__
        for name, summary in _core.registry(registry):
            assert f'``"{name}' in text and summary in text, name


def test_reports_as_tables_and_pages(small, tmp_path):
    truth, scores, train = small
    report = um.evaluate(truth, scores, train=train, propensity="jpv", groups=True)
    pandas = pytest.importorskip("pandas")
    frame = report.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == len(report.rows)
    assert frame["value"].dtype == float
    assert list(frame.columns[:7]) == ["metric", "k", "estimator", "propensity", "group", "model", "value"]
    page = report.to_html(tmp_path / "page.html", title="<mine>")
    assert (tmp_path / "page.html").read_text() == page
    assert "&lt;mine&gt;" in page and page.startswith("<!doctype html>")
    assert all(finding.code in page for finding in report.findings) and report.findings
    assert f"{100 * report.value('precision', 1):.2f}" in page
    assert "precision@1" in repr(report)
    assert "<table" in report._repr_html_() and "<script" not in page
    again = pickle.loads(pickle.dumps(report))
    assert again.rows == report.rows
    with pytest.raises(KeyError):
        report.value("precision", 7)


def test_names_in_pages_are_escaped(small, tmp_path):
    truth, scores, _ = small
    page = um.evaluate(truth, {"<b>": scores, "c": scores}, metrics="precision", k=1).to_html()
    assert "<b>" not in page.replace("<b>U", "") and "&lt;b&gt;" in page


def test_a_value_without_meaning_is_nan():
    # Products of hundreds of inverse propensities cancel to nothing.
    truth = np.ones((1, 400))
    value = um.recall(truth, np.arange(400.0)[None], k=400, estimator="unbiased", propensity=np.full(400, 0.01))
    report = um.evaluate(truth, np.arange(400.0)[None], metrics="recall", k=400, propensity=np.full(400, 0.01))
    rows = [row for row in report.rows if row.estimator == "unbiased"]
    assert (rows[0].value is None) == math.isnan(value)


def test_threads_do_not_change_results(small, monkeypatch):
    truth, scores, train = small
    one, two = (um.evaluate(truth, scores, train=train, propensity="jpv", n_jobs=jobs).to_dict() for jobs in (1, 3))
    monkeypatch.setenv("UNMISSED_THREADS", "2")
    assert one == two == um.evaluate(truth, scores, train=train, propensity="jpv").to_dict()
    assert one == um.evaluate(truth, scores, train=train, propensity="jpv", n_jobs=-1).to_dict()
    monkeypatch.setenv("UNMISSED_THREADS", "many")
    with pytest.raises(ValueError, match="UNMISSED_THREADS"):
        um.evaluate(truth, scores)
