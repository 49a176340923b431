"""Row-dependent propensities."""

import numpy as np
import pytest
import scipy.sparse as sp

import unmissed as um


@pytest.fixture(scope="module")
def world():
    """Labels that a model ranks first are observed more often."""
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(1500, 8)).astype(np.float32)
    truth = rng.random(scores.shape) < 1 / (1 + np.exp(-scores))
    ranks = (-scores).argsort(axis=1).argsort(axis=1)
    seen = truth & (rng.random(scores.shape) < np.where(ranks == 0, 0.95, np.where(ranks < 3, 0.7, 0.4)))
    return scores, truth, seen


def test_the_estimate_is_near_the_truth_and_one_propensity_a_label_is_not(world):
    scores, truth, seen = world
    train, test = slice(0, 1000), slice(1000, None)
    rows = um.fit_row_propensity(seen[train], later=truth[train], train_predictions={"m": scores[train]}, refits=20)
    per_label = um.estimate_propensity("timelapse", train=sp.csr_matrix(seen[train]), later=sp.csr_matrix(truth[train]))
    report = um.evaluate(seen[test], {"m": scores[test]}, propensity=[rows, per_label], metrics=["precision"], k=1)
    real = um.precision(truth[test], scores[test], k=1)
    by_row, ratio = (report.value("precision", 1, estimator, propensity="rows") for estimator in ("unbiased", "ratio"))
    by_label = report.value("precision", 1, "unbiased", propensity=per_label.origin)
    assert abs(by_row - real) < 0.05 and abs(ratio - real) < 0.05 and by_label - real > 0.15
    assert any("reliability" in note for note in report.notes)
    assert rows.audited == "m" and rows.coefficients["rank<=1"] > 0 and len(rows.reliability) == 10
    assert rows.pairs == truth[train].sum() and rows.observed == seen[train].sum() and rows.notes == []


def test_files_and_threads(world, tmp_path):
    scores, truth, seen = world
    make = lambda jobs: um.fit_row_propensity(  # noqa: E731
        seen, later=truth, train_predictions=scores, refits=5, n_jobs=jobs
    )
    one, two = make(1), make(2)
    assert one.coefficients == two.coefficients
    one.write(tmp_path / "rows.json")
    again = um.RowPropensity.read(tmp_path / "rows.json", origin="again")
    assert again.coefficients == one.coefficients and "again" in repr(again)


def test_given_covariates(world):
    scores, truth, seen = world
    age = np.arange(len(seen)) % 5
    given = {"row_covariates": {"age": age}, "pair_covariates": {"similar": scores**2}}
    rows = um.fit_row_propensity(seen, later=truth, label_covariates={"depth": np.arange(8) % 3}, refits=0, **given)
    assert {"depth", "age", "similar"} <= set(rows.coefficients)
    with pytest.raises(ValueError, match="needs the covariate 'age'"):
        um.evaluate(seen, scores, propensity=rows, metrics=["precision"])
    report = um.evaluate(seen, scores, propensity=rows, metrics=["precision"], k=1, **given)
    assert report.value("precision", 1, "unbiased", propensity="rows") > report.value("precision", 1)


def test_what_is_refused(world):
    scores, truth, seen = world
    with pytest.raises(ValueError, match="nothing identifies"):
        um.fit_row_propensity(seen)
    with pytest.raises(ValueError, match="reveals the outcome"):
        um.fit_row_propensity(seen, later=truth, row_covariates={"count": seen.sum(axis=1)})
    with pytest.raises(ValueError, match="do not identify"):
        um.fit_row_propensity(truth, later=truth)
    rows = um.fit_row_propensity(seen, later=truth, train_predictions=scores, refits=0)
    with pytest.raises(ValueError, match="no estimate under row-dependent propensities"):
        um.evaluate(seen, scores, propensity=rows, metrics=["recall"])


def test_audits_use_them(world):
    scores, truth, seen = world
    train, test = slice(0, 1000), slice(1000, None)
    found = um.audit(seen[test], scores[test], train=seen[train], later=truth[train], train_predictions=scores[train], k=1)
    names = [standing["name"] for standing in found.standings]
    assert "by row" in names and "ratio of later and observed" in names
    assert any("missed labels (omega)" in sentence for sentence in found.sentences)
