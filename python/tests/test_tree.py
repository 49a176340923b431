"""Models on trees over labels: estimators, files, copies, candidates."""

import pickle
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp
from test_evaluate import CLI

pytest.importorskip("sklearn", minversion="1.6")

from sklearn.base import clone  # noqa: E402

import unmissed as um  # noqa: E402


@pytest.fixture(scope="module")
def balls():
    return um.datasets.balls(train_rows=1500, test_rows=400, labels=30, random_state=2)


@pytest.fixture(scope="module")
def model(balls):
    return um.LabelTree("kmeans:branch=3,leaf=5", trees=2).fit(balls.train)


def test_the_best_labels_are_those_of_all_scores(balls, model):
    everything = sp.csr_matrix(np.ones((400, 30)))
    scores = model.score(balls.test.X, everything).toarray()
    top = model.predict_top_k(balls.test.X, k=3)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :3]
    assert np.mean(top.indices.reshape(-1, 3) == order) > 0.99
    assert top.data.reshape(-1, 3) == pytest.approx(np.take_along_axis(scores, order, 1), rel=1e-5)
    weights = np.random.default_rng(1).lognormal(sigma=2, size=30)
    weighted = model.predict_top_k(balls.test.X, k=2, weights=weights)
    best = np.argmax(scores * weights, axis=1)
    assert np.mean(weighted.indices.reshape(-1, 2)[:, 0] == best) > 0.99
    assert (model.predict_proba(balls.test.X, k=3) != top).nnz == 0
    assert model.predict(balls.test.X).nnz == (scores >= 0.5).sum()
    assert um.precision(balls.test, model.predict_top_k(balls.test.X), k=1) > 0.3
    with pytest.warns(UserWarning, match="ended at max_nodes on"):
        model.predict_top_k(balls.test.X, max_nodes=1)
    assert model.predict_top_k(balls.test.X, beam=1).shape == (400, 30)


def test_candidates_keep_their_order(balls, model):
    scores = model.score(balls.test.X[:2], [[7, 1], []])
    assert scores.shape == (2, 30) and scores.nnz == 2
    with pytest.raises(ValueError, match="out of range"):
        model.score(balls.test.X[:2], [[30], []])


def test_copies_and_files(balls, model, tmp_path):
    expected = model.predict_top_k(balls.test.X)
    path = tmp_path / "tree.safetensors"
    model.save(path)
    for same in (pickle.loads(pickle.dumps(model)), um.LabelTree.load(path), clone(model).fit(balls.train)):
        assert (same.predict_top_k(balls.test.X) != expected).nnz == 0
        assert same.get_params()["trees"] == 2 and same.summary_["nodes"] == model.summary_["nodes"]
    assert model.label_counts_.tolist() == np.ravel(balls.train.y.sum(axis=0)).tolist() and model.n_rows_ == 1500
    with pytest.raises(ValueError, match="unmissed-tree"):
        um.OneVsRest.load(path)
    if CLI:
        said = subprocess.run([CLI, "inspect", path], capture_output=True, text=True, check=True).stdout
        assert "kmeans:branch=3,leaf=5" in said


def test_trees_can_be_given(balls, model, tmp_path):
    path = tmp_path / "tree.csv"
    model.write_tree(path, 1)
    again = um.LabelTree(f"given:{path}").fit(balls.train)
    assert again.summary_["trees"] == 1 and again.summary_["depth"] == model.summary_["depth"]
    path.write_text("node,parent\na,b\nb,a\n0,a\n")
    with pytest.raises(ValueError, match="label 1 is missing"):
        um.LabelTree(f"given:{path}").fit(balls.train)


def test_missing_labels_are_divided_by_their_propensity(balls):
    p = np.linspace(0.2, 1, 30)
    plain, corrected = um.LabelTree().fit(balls.train), um.LabelTree(propensity=p).fit(balls.train)
    everything = sp.csr_matrix(np.ones((400, 30)))
    scores = plain.score(balls.test.X, everything).toarray()
    assert corrected.score(balls.test.X, everything).toarray() == pytest.approx(np.minimum(1, scores / p), rel=1e-5)
    assert um.LabelTree(propensity="jpv", correction="count").fit(balls.train).predict_top_k(balls.test.X).nnz == 2000
    for broken, says in [({"trees": 0}, "trees"), ({"tree": "oak"}, "unknown tree"), ({"correction": "count"}, "propensities"), ({"cost": -1}, "cost")]:
        with pytest.raises(ValueError, match=says):
            um.LabelTree(**broken).fit(balls.train)
    with pytest.raises(ValueError, match="requires y"):
        um.LabelTree().fit(balls.train.X)
