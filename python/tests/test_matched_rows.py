"""Estimates from a later snapshot of the training rows."""

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


def row_of(report, estimator):
    """The first row of precision@3."""
    return next(row for row in report.rows if (row.metric, row.k, row.estimator) == ("precision", 3, estimator))


def test_omega_is_near_the_truth(world):
    scores, truth, seen = world
    train, test = slice(0, 1000), slice(1000, None)
    report = um.evaluate(
        seen[test],
        {"m": scores[test]},
        train=seen[train],
        later=truth[train],
        train_predictions={"m": scores[train]},
        metrics=["precision", "ndcg"],
        interval="mask",
        k=3,
    )
    row = row_of(report, "omega")
    real = um.precision(truth[test], scores[test], k=3)
    assert row.low < real < row.high and row.high - row.low < 0.1
    assert 0 < row.expected_error < row.se
    assert report.value("precision", 3, "unbiased", propensity="rows") == pytest.approx(real, abs=0.06)
    assert report.value("ndcg", 3, "ratio") == pytest.approx(um.ndcg(truth[test], scores[test], k=3), abs=0.06)


def test_without_predictions_the_report_says_what_is_lost(world):
    scores, truth, seen = world
    report = um.evaluate(seen[1000:], scores[1000:], train=seen[:1000], later=truth[:1000], metrics=["precision"], k=1)
    assert [finding.code for finding in report.findings if finding.code >= "U010"] == ["U014"]
    assert "cross_val_top_k" in next(finding.advice for finding in report.findings if finding.code == "U014")
    with pytest.raises(ValueError, match="without the training labels"):
        um.evaluate(seen, scores, later=truth)
    with pytest.raises(ValueError, match="need a later snapshot"):
        um.evaluate(seen, scores, train=seen, train_predictions=scores)


def test_sensitivity_has_bounds(world):
    scores, _, seen = world
    # Each model finds more of some labels: a factor that helps the one set and hurts the other turns the difference.
    models = {"a": scores, "b": scores + 3 * (np.arange(8) < 4)}
    report = um.evaluate(seen, models, train=seen, propensity="power", metrics=["precision"], k=3, sensitivity=1.5)
    row = row_of(report, "unbiased")
    assert row.sensitivity["gamma"] == 1.5 and row.sensitivity["low"] < row.value < row.sensitivity["high"]
    difference = next(c for c in report.comparisons if c.estimator == "unbiased")
    assert difference.sensitivity["flips_at"] > 1
    with pytest.raises(ValueError, match="sensitivity"):
        um.evaluate(seen, scores, sensitivity=0.5)


def test_out_of_fold_predictions_come_from_models_that_did_not_see_the_row():
    class Memory:
        """Knows the labels of the rows that it was trained on, by their number."""

        def fit(self, X, y):
            self.known = {int(row[0]): np.asarray(y[place]).ravel() for place, row in enumerate(X)}
            return self

        def decision_function(self, X):
            return np.array([self.known.get(int(row[0]), np.zeros(4)) for row in X], float)

    X, y = np.arange(30.0)[:, None], np.tile(np.eye(4, dtype=int), (8, 1))[:30]
    found = um.cross_val_top_k(Memory(), X, y, k=2, cv=5)
    assert sp.issparse(found) and found.shape == (30, 4) and (np.diff(found.indptr) == 2).all()
    assert found.data.max() == 0
    again = um.cross_val_top_k(Memory(), X, y, k=2, cv=5)
    assert (found.indices == again.indices).all()
    with pytest.raises(ValueError, match="that it was trained on"):
        um.cross_val_top_k(Memory(), X, y, cv=[(np.arange(30), np.arange(30))])
    with pytest.raises(ValueError, match="does not cover"):
        um.cross_val_top_k(Memory(), X, y, cv=[(np.arange(20), np.arange(20, 29))])
    with pytest.raises(ValueError, match="at most 30"):
        um.cross_val_top_k(Memory(), X, y, cv=31)


def test_out_of_fold_predictions_of_our_own_and_of_scikit_learn():
    multiclass = pytest.importorskip("sklearn.multiclass")
    linear_model = pytest.importorskip("sklearn.linear_model")
    data = um.datasets.balls(train_rows=300, test_rows=10, labels=6, random_state=1)
    X, y = data.train.X, data.train.y
    for model in (um.OneVsRest(), multiclass.OneVsRestClassifier(linear_model.LogisticRegression())):
        found = um.cross_val_top_k(model, X, y, k=3, cv=3)
        assert found.shape == (300, 6) and np.diff(found.indptr).max() == 3
        first = found.data[found.indptr[:-1]]
        assert (first >= found.data[found.indptr[1:] - 1]).all()
        rows_with_labels = (y.getnnz(axis=1) > 0).mean()
        assert um.precision(y, found, k=1) > 0.6 * rows_with_labels
