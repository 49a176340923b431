"""Models on trees over labels: estimators, files, copies, candidates."""

import pickle
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp
from test_evaluate import CLI

pytest.importorskip("sklearn", minversion="1.6")

from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402

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
    with pytest.warns(UserWarning, match="approximately the best"):
        beam = model.predict_top_k(balls.test.X, beam=1)
    # Scores are means over all trees, whichever labels are found.
    assert beam[7].toarray() == pytest.approx(np.where(beam[7].toarray() > 0, scores[7], 0), rel=1e-5)


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
    for predict in ("predict", "predict_proba", "predict_top_k"):
        with pytest.raises(NotFittedError):
            getattr(um.LabelTree(), predict)(balls.test.X)


def test_lines_rank_the_labels_of_new_rows(balls, model):
    X = balls.test.X
    rng = np.random.default_rng(3)
    a, b = rng.normal(1, 1, 30), rng.normal(0, 0.1, 30)
    flat = um.OneVsRest(decay=1e-3).fit(balls.train.X, balls.train.y)
    everything = sp.csr_matrix(np.ones((400, 30)))
    for one, scores in [(model, model.score(X, everything).toarray()), (flat, flat.predict_proba(X))]:
        values = scores * a + b
        found = one.predict_top_k(X, k=3, weighting=(a, b))
        chosen = np.take_along_axis(values, found.indices.reshape(-1, 3), 1)
        assert np.sort(chosen, axis=1) == pytest.approx(np.sort(values, axis=1)[:, -3:], abs=1e-5)
        assert found.data.reshape(-1, 3) == pytest.approx(np.take_along_axis(scores, found.indices.reshape(-1, 3), 1), rel=1e-5)
        worth = one.predict_top_k(X, k=30, weighting=(a, b), at_most=True)
        assert abs(worth.nnz - (values > 0).sum()) <= 2
        best = um.optimize_predictions(one.predict_top_k(X, k=30), "macro-f@3", train=balls.train.y, method="frank-wolfe")
        assert (best.apply(one.predict_top_k(X, k=30)) != one.predict_top_k(X, k=3, weighting=best)).nnz <= 2
        for broken, says in [({"weighting": (a, b[1:])}, "29 constants"), ({"weighting": a}, "neither"), ({"weighting": (a[:3], b[:3])}, "lines"), ({"at_most": True}, "only lines")]:
            with pytest.raises(ValueError, match=says):
                one.predict_top_k(X, **broken)


@pytest.fixture(scope="module")
def survey(balls):
    """Training labels of which most are missing for half of the labels, and rows of which some labels were shown."""
    rng = np.random.default_rng(5)
    propensity = np.where(np.arange(30) % 2 == 0, 0.15, 0.9)
    y = balls.train.y.toarray()[:1000]
    observed = sp.csr_matrix(y * (rng.random(y.shape) < propensity))
    relevant, shown = balls.train.y.toarray()[1000:], rng.random((500, 30)) < 0.5
    return balls.train.X[:1000], observed, (balls.train.X[1000:], sp.csr_matrix(relevant * shown)), sp.csr_matrix(shown.astype(float))


def test_controlled_sets_recalibrate(balls, survey):
    X, y, controlled, shown = survey
    plain = um.LabelTree("kmeans:branch=3,leaf=5").fit(X, y)
    assert plain.recalibration_ is None and not plain.summary_["recalibrated"]
    for known in ({"shown": shown}, {}):
        model = um.LabelTree("kmeans:branch=3,leaf=5").fit(X, y, controlled=controlled, rate=0.5, **known)
        assert model.recalibration_["taken"] and model.summary_["recalibrated"]
        totals = [one.score(balls.test.X, sp.csr_matrix(np.ones((400, 30)))).sum() for one in (plain, model)]
        assert totals[0] < 0.8 * balls.test.y.sum() and totals[1] == pytest.approx(balls.test.y.sum(), rel=0.15)
    for broken, says in [({"controlled": controlled}, "rate="), ({"rate": 0.5}, "controlled="), ({"judged": "judged.csv"}, "judged_rows=")]:
        with pytest.raises(ValueError, match=says):
            plain.fit(X, y, **broken)
    with pytest.raises(ValueError, match="takes no propensities"):
        um.LabelTree(propensity=np.full(30, 0.5)).fit(X, y, controlled=controlled, rate=0.5)


def test_judged_pairs_recalibrate(survey):
    X, y, (rows, truth), _ = survey
    model = um.LabelTree("kmeans:branch=3,leaf=5").fit(X, y)
    observed = sp.csr_matrix(truth.shape)
    plan = um.annotation_plan(observed, {"tree": model.predict_top_k(rows)}, budget=1500)
    judged = plan.judge([int(truth[pair["row"], pair["label"]]) for pair in plan.pairs])
    again = model.fit(X, y, judged=judged, judged_rows=(rows, observed))
    assert again.recalibration_["pairs"] == 1500 and again.recalibration_["shown"]


def test_runs_are_resumed(balls, model, tmp_path):
    expected = model.predict_top_k(balls.test.X)
    path = tmp_path / "tree.safetensors"
    again = um.LabelTree("kmeans:branch=3,leaf=5", trees=2)
    # A model that would be too large ends the run as an interruption does: what is finished is kept.
    with pytest.raises(ValueError, match="too large"):
        again.fit(balls.train, path=path, max_size=100)
    assert not path.exists() and any((tmp_path / "tree.safetensors.partial").iterdir())
    with pytest.raises(ValueError, match="unfinished run"):
        again.fit(balls.train, path=path)
    with pytest.raises(ValueError, match="'tree.cost' differs"):
        um.LabelTree("kmeans:branch=3,leaf=5", trees=2, cost=3).fit(balls.train, path=path, resume=True)
    again.fit(balls.train, path=path, resume=True, memory="1GB")
    assert path.exists() and not (tmp_path / "tree.safetensors.partial").exists()
    assert (again.predict_top_k(balls.test.X) != expected).nnz == 0
    assert (um.LabelTree.load(path).predict_top_k(balls.test.X) != expected).nnz == 0
    with pytest.raises(ValueError, match="path="):
        again.fit(balls.train, resume=True)
    with pytest.raises(ValueError, match="does not hold one node"):
        again.fit(balls.train, memory=1)


def test_later_labels_replace_the_observed_ones(balls):
    early = balls.train.y.multiply(np.arange(30) % 2).tocsr()
    model = um.LabelTree().fit(balls.train.X, early, later=balls.train.y)
    assert (model.predict_top_k(balls.test.X) != um.LabelTree().fit(balls.train).predict_top_k(balls.test.X)).nnz == 0
    assert model.label_counts_.tolist() == np.ravel(balls.train.y.sum(axis=0)).tolist()
    with pytest.raises(ValueError, match="not those of the training rows"):
        um.LabelTree().fit(balls.train.X, early, later=balls.train.y[1:])
    with pytest.raises(ValueError, match="take no propensities"):
        um.LabelTree(propensity="jpv").fit(balls.train.X, early, later=balls.train.y)


def test_assumed_and_raised_propensities_are_told(balls):
    with pytest.warns(UserWarning, match=r"come from a curve \(constant.*nothing about missing labels was measured") as told:
        um.LabelTree(propensity="constant:p=0.9").fit(balls.train)
    assert told[0].filename == __file__, "the warning points at the caller"
    with pytest.warns(UserWarning, match="of 30 labels are observed more often than their propensity allows, and it was raised"):
        um.LabelTree(propensity=np.full(30, 1e-6)).fit(balls.train)


def test_sizes_are_estimated(balls, tmp_path):
    path = tmp_path / "tree.safetensors"
    model = um.LabelTree().fit(balls.train, path=path)
    # The header, which is most of a file as small as this, is no part of the estimate.
    assert model.summary_["bytes"] / 2 < model.estimated_size_ < path.stat().st_size
    assert um.LabelTree().fit(balls.train).estimated_size_ is None
