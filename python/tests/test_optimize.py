"""Predictions for a metric."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import unmissed as um
from unmissed import _core


def world(rows=400, labels=20, seed=0):
    """Probabilities and labels drawn from them; label 0 is frequent, the last are rare."""
    rng = np.random.default_rng(seed)
    p = rng.random((rows, labels)) ** np.linspace(1, 12, labels)
    return p.astype(np.float32), (rng.random(p.shape) < p).astype(int)


def test_labels_are_chosen_and_measured():
    p, y = world()
    best = um.optimize_predictions(p, "macro-f@3", test=y)
    assert best.predictions.shape == p.shape and (np.diff(best.predictions.indptr) == 3).all()
    assert best.value > best.value_before
    assert [row["metric"] for row in best.expected] == ["macro-f", "precision"] == [row["metric"] for row in best.measured]
    gained = um.macro_f(y, best.predictions, k=3) - um.macro_f(y, best.most_probable, k=3)
    assert best.measured[0]["difference"] == pytest.approx(gained) and gained > 0
    assert best.expected[0]["low"] < gained < best.expected[0]["high"]
    assert best.expected[1]["difference"] < 0, "what macro-F gains precision loses"


def test_sparse_dense_and_lists_are_the_same():
    p, _ = world(60)
    dense = um.optimize_predictions(p, "coverage", 2, draws=0)
    sparse = um.optimize_predictions(sp.csr_matrix(p), "coverage", 2, draws=0)
    lists = um.optimize_predictions([list(enumerate(row)) for row in p.tolist()], "coverage", 2, draws=0)
    assert dense.report == sparse.report == lists.report
    assert (dense.predictions != sparse.predictions).nnz == 0 and (dense.predictions != lists.predictions).nnz == 0


def test_the_result_does_not_depend_on_threads():
    p, _ = world()
    one, two = (um.optimize_predictions(p, "0.5*precision+0.5*macro-f", n_jobs=jobs) for jobs in (1, 2))
    assert one.report == two.report and (one.predictions != two.predictions).nnz == 0


def test_lines_give_labels_to_new_rows():
    p, _ = world()
    best = um.optimize_predictions(p, "macro-f", 2, method="frank-wolfe")
    assert (best.apply(p) != best.predictions).nnz == 0
    assert best.apply(world(7, seed=5)[0]).shape == (7, 20)
    assert best.a.shape == best.b.shape == (20,)


def test_missing_labels():
    p, y = world(2000)
    propensity = np.linspace(0.9, 0.2, 20)
    rng = np.random.default_rng(1)
    observed = y * (rng.random(y.shape) < propensity)
    given = {"train": observed[:1000], "propensity": propensity}
    best = um.optimize_predictions(p[1000:] * propensity, "macro-f", 3, test=observed[1000:], **given)
    assert best.measured[0]["estimator"] == "unbiased" and best.report["mass"]["source"] == "train"
    plain = um.optimize_predictions(p[1000:] * propensity, "macro-f", 3, train=observed[:1000])
    complete = y[1000:]
    assert um.macro_f(complete, best.predictions, k=3) > um.macro_f(complete, plain.predictions, k=3)
    corrected = um.optimize_predictions(p[1000:], "macro-f", 3, corrected=True, **given)
    assert corrected.report["correction"] is None and corrected.value == pytest.approx(best.value, abs=0.02)


def test_bad_input_is_named():
    p, y = world(10)
    with pytest.raises(ValueError, match="not a probability"):
        um.optimize_predictions(p + 1)
    with pytest.raises(ValueError, match="k is larger than the number of labels"):
        um.optimize_predictions(p, k=21)
    with pytest.raises(ValueError, match="unknown objective"):
        um.optimize_predictions(p, "macrof1")
    with pytest.raises(ValueError, match="needs weights"):
        um.optimize_predictions(p, "weighted-precision")
    with pytest.raises(ValueError, match="has too few scores"):
        um.optimize_predictions(sp.csr_matrix(p * 0), "coverage")
    with pytest.raises(ValueError, match="may not be stored"):
        um.optimize_predictions(um.TopK(np.array([[0, 1], [2, 3]]), np.array([[0.9, 0.8], [0.9, 0.8]])), k=1, n_labels=50)
    with pytest.raises(ValueError, match="two different numbers"):
        um.optimize_predictions(p, "macro-f@3", 4)
    with pytest.raises(ValueError, match="do not fit the scores"):
        um.optimize_predictions(p, test=y[:5])


def test_every_objective_and_method_is_in_the_docstring():
    page = um.optimize_predictions.__doc__
    for registry in ("objectives", "methods"):
        for name, _ in _core.registry(registry):
            assert f'"{name}"' in page, name
    assert json.loads(_core.default_requests())["optimize"]["metric"] == "macro-f"


def test_weights_that_correct_twice_warn():
    pytest.importorskip("sklearn")
    data = um.datasets.balls(train_rows=100, test_rows=10, labels=5)
    with pytest.warns(UserWarning, match="observed labels twice"):
        um.OneVsRest(propensity="jpv", weights="inverse").fit(data.train.X, data.train.y)
