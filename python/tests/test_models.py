"""Models as scikit-learn estimators: its own checks, pipelines and searches, files and copies."""

import json
import pickle
import subprocess

import numpy as np
import pytest
import scipy.sparse as sp
from test_evaluate import CLI

pytest.importorskip("sklearn", minversion="1.6")

from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: E402
from sklearn.linear_model import LogisticRegression  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

import unmissed as um  # noqa: E402
from unmissed import _core  # noqa: E402


# There are no exceptions: a check that cannot hold would be named in expected_failed_checks, with its reason.
@parametrize_with_checks([um.OneVsRest(), um.OneVsRest(propensity="jpv")])
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def balls():
    return um.datasets.balls(train_rows=1500, test_rows=500, labels=30, random_state=2)


@pytest.fixture(scope="module")
def model(balls):
    return um.OneVsRest("logistic", None, normalize=False).fit(balls.train.X, balls.train.y)


def test_the_optimum_is_that_of_scikit_learn(balls):
    """Its C is one over (rows times decay), and it does not shrink the intercept."""
    decay = 1e-3
    ours = um.OneVsRest("logistic", None, normalize=False, decay=decay, tol=1e-7, max_iter=500).fit(balls.train.X, balls.train.y)
    frequent = np.argsort(-np.asarray(balls.train.y.sum(axis=0)).ravel())[:3]
    for label in frequent:
        y = np.asarray(balls.train.y[:, [label]].todense()).ravel()
        theirs = LogisticRegression(C=1 / (decay * len(y)), tol=1e-10, max_iter=10_000).fit(balls.train.X, y)
        probabilities = theirs.predict_proba(balls.test.X)[:, 1]
        assert ours.predict_proba(balls.test.X)[:, label] == pytest.approx(probabilities, abs=2e-3)


def test_all_losses_train(balls):
    for loss, _ in _core.registry("losses"):
        fitted = um.OneVsRest(loss, "power:gamma=0.1", decay=1e-3, random_state=1).fit(balls.train)
        assert um.precision(balls.test, fitted.decision_function(balls.test.X), k=1) > 0.3, loss


def test_sparse_and_dense_features_and_labels_agree(balls, model):
    X, y = balls.train.X, balls.train.y
    dense = X.toarray() if sp.issparse(X) else X
    test = balls.test.X.toarray() if sp.issparse(balls.test.X) else balls.test.X
    expected = model.decision_function(test)
    for features in (dense, sp.csr_matrix(dense), sp.csr_array(dense), dense.astype(np.float64)):
        for labels in (y, y.toarray(), y.toarray().astype(bool)):
            fitted = um.OneVsRest("logistic", None, normalize=False).fit(features, labels)
            assert fitted.decision_function(test) == pytest.approx(expected, abs=1e-4)
    assert sp.issparse(model.predict(test)) and model.predict(test).shape == (500, 30)
    plain = um.OneVsRest("logistic", None, normalize=False).fit(dense, y.toarray())
    assert np.array_equal(plain.predict(test), model.predict(test).toarray())


def test_the_parts_of_a_model(balls, model):
    X = balls.test.X
    assert X @ model.coef_.T + model.intercept_ == pytest.approx(model.decision_function(X), abs=1e-4)
    assert model.predict_proba(X) == pytest.approx(1 / (1 + np.exp(-model.decision_function(X))))
    assert model.label_counts_.tolist() == np.ravel(balls.train.y.sum(axis=0)).tolist() and model.n_rows_ == 1500


def test_top_k(balls, model):
    scores = model.decision_function(balls.test.X)
    top = model.predict_top_k(balls.test.X, k=3, logits=True)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :3]
    assert np.array_equal(top.indices.reshape(-1, 3), order)
    assert top.data.reshape(-1, 3) == pytest.approx(np.take_along_axis(scores, order, 1), abs=1e-5)
    p = um.propensities(balls.train, "jpv")
    corrected = model.predict_top_k(balls.test.X, k=3, propensity=p)
    best = np.argsort(-model.predict_proba(balls.test.X) * p.inverse, axis=1)[:, 0]
    assert np.mean(corrected.indices.reshape(-1, 3)[:, 0] == best) > 0.99
    assert (corrected != model.predict_top_k(balls.test.X, k=3, propensity="jpv")).nnz == 0
    sure = model.predict_top_k(balls.test.X, k=30, threshold=0.5)
    assert sure.nnz == (model.predict_proba(balls.test.X) >= 0.5).sum()


def test_missing_labels_are_corrected_for():
    """On a survey whose labels are missing by known propensities, true precision is closer with the unbiased loss."""
    survey = um.datasets.survey(users=4000, test_users=1500, controlled_users=10, items=60, random_state=3, scatter=0.2)
    p = survey.propensities
    plain = um.OneVsRest("logistic", None, decay=1e-3).fit(survey.train)
    corrected = um.OneVsRest("unbiased-logistic", p, decay=1e-3).fit(survey.train)
    complete = np.asarray(survey.test_clean.y.mean(axis=0)).ravel()
    off = [np.abs(model.predict_proba(survey.test.X).mean(axis=0) - complete).mean() for model in (plain, corrected)]
    assert off[1] < 0.25 * off[0], off
    assert corrected.propensities_ is p


def test_nothing_is_corrected_unless_propensities_are_given(balls):
    plain, auto = um.OneVsRest("logistic").fit(balls.train), um.OneVsRest().fit(balls.train)
    assert not hasattr(auto, "propensities_") and not hasattr(plain, "propensities_")
    auto.set_params(propensity="jpv").fit(balls.train)
    assert auto.propensities_.origin == "jpv:a=0.55,b=1.5"
    # Two ways to correct are compared.
    assert {candidate["loss"] for candidate in auto.choice_["candidates"]} == {"plugin-logistic", "squared-hinge"}
    assert sum(candidate["chosen"] for candidate in auto.choice_["candidates"]) == 1
    # A later fit without propensities leaves nothing of the earlier one.
    assert not hasattr(auto.set_params(propensity=None).fit(balls.train), "propensities_")
    assert 1 <= auto.n_iter_ < 50
    with pytest.warns(ConvergenceWarning, match="did not converge on"):
        assert um.OneVsRest(max_iter=1, tol=1e-6).fit(balls.train).n_iter_ == 1
    with pytest.warns(UserWarning, match="'unbiased-logistic' had no propensities"):
        assert not hasattr(um.OneVsRest("unbiased-logistic").fit(balls.train), "propensities_")
    with pytest.warns(UserWarning, match="'logistic' does not use propensities"):
        assert not hasattr(um.OneVsRest("logistic", "jpv").fit(balls.train), "propensities_")


def test_the_loss_is_chosen_where_nothing_is_asked_for(balls):
    fitted = um.OneVsRest().fit(balls.train)
    candidates = fitted.choice_["candidates"]
    chosen = [candidate for candidate in candidates if candidate["chosen"]]
    assert {candidate["loss"] for candidate in candidates} == {"squared-hinge", "logistic"}
    finalists = [candidate for candidate in candidates if "precision" in candidate]
    assert len(finalists) == 2
    assert chosen == [max(finalists, key=lambda candidate: candidate["precision"])]
    about = json.loads(fitted.model_.about)
    assert (about["loss"], about["settings"]["decay"]) == (chosen[0]["loss"], chosen[0]["decay"])
    for other in (um.OneVsRest(calibrate=False), um.OneVsRest("squared-hinge"), um.OneVsRest(tune=True)):
        assert other.fit(balls.train).choice_ is None
    with pytest.raises(ValueError, match="calibrated only for plain losses"):
        um.OneVsRest(propensity="jpv", calibrate=True).fit(balls.train)


@pytest.mark.parametrize("settings", [{}, {"loss": "squared-hinge", "calibrate": True}, {"loss": "logistic", "decay": 1e-6}])
def test_labels_probabilities_and_ranks_agree(balls, settings):
    """All three follow the logits, also where probabilities are too close to 1 to be told apart."""
    fitted = um.OneVsRest(**settings).fit(balls.train)
    scale = 40.0
    logits = fitted.decision_function(scale * balls.test.X)
    probabilities, top = fitted.predict_proba(scale * balls.test.X), fitted.predict_top_k(scale * balls.test.X, k=5)
    assert np.array_equal(fitted.predict(scale * balls.test.X).toarray(), (probabilities >= 0.5).astype(int))
    for row in range(top.shape[0]):
        best = np.lexsort((np.arange(logits.shape[1]), -logits[row]))[:5]
        ids, scores = top.indices[top.indptr[row] : top.indptr[row + 1]], top.data[top.indptr[row] : top.indptr[row + 1]]
        order = np.lexsort((ids, -scores))
        assert ids[order].tolist() == best.tolist()
        assert scores[order] == pytest.approx(probabilities[row, best], abs=1e-6)


def test_tuning(balls):
    tuned = um.OneVsRest("logistic", None, tune=True, random_state=1).fit(balls.train)
    chosen = [trial for trial in tuned.tuning_ if trial["chosen"]]
    assert len(tuned.tuning_) > 2 and len(chosen) == 1
    assert chosen[0]["loss"] == min(trial["loss"] for trial in tuned.tuning_)
    by_metric = um.OneVsRest("logistic", None, solver="adam", epochs=3, learning_rate=0.05, criterion="precision@1").fit(balls.train)
    assert [trial["epoch"] for trial in by_metric.tuning_] == [1, 2, 3] and all(trial["metric"] >= 0 for trial in by_metric.tuning_)
    assert um.OneVsRest("logistic", None, solver="adam", epochs=2, holdout=0).fit(balls.train).tuning_ is None
    with pytest.raises(ValueError, match="criterion"):
        um.OneVsRest("logistic", None, tune=True, criterion="best").fit(balls.train)


@pytest.mark.parametrize("joint", ["plugin", "alternating"])
def test_joint_learning(balls, joint, tmp_path):
    # The unbounded loss may diverge where learned propensities are too small for the labels: they are cut.
    adam = {"epochs": 3, "holdout": 0} if joint == "plugin" else {}
    model = um.OneVsRest(propensity=None, joint=joint, decay=1e-2, clip=2.0, **adam).fit(balls.train)
    p = model.propensities_
    assert p.origin == f"joint:{joint}" and ((p.values > 0) & (p.values <= 1)).all() and len(p) == 30
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.propensities_.values, p.values)
    assert np.isfinite(model.decision_function(balls.test)).all()


def test_joint_learning_by_other_names_is_refused(balls):
    with pytest.raises(ValueError, match="did you mean 'plugin'"):
        um.OneVsRest(joint="plug-in").fit(balls.train)


def test_seeds_and_threads(balls):
    def weights(**options):
        return um.OneVsRest("logistic", None, solver="adam", epochs=2, holdout=0, **options).fit(balls.train).coef_

    assert np.array_equal(weights(random_state=1, n_jobs=1), weights(random_state=1, n_jobs=3))
    assert not np.array_equal(weights(random_state=1), weights(random_state=2))
    state = np.random.RandomState
    assert np.array_equal(weights(random_state=state(5)), weights(random_state=state(5)))


def test_settings_that_make_no_sense(balls):
    for options, words in [
        ({"loss": "logistik"}, "did you mean 'logistic'"),
        ({"solver": "newtn"}, "did you mean 'newton'"),
        ({"loss": "unbiased-squared-hinge", "solver": "newton"}, "has no optimum"),
        ({"decay": -1}, "decay"),
        ({"decay": 0}, "needs an L2 penalty"),
        ({"learning_rate": 0.1}, "the learning rate is for Adam"),
        ({"solver": "adam", "tol": 0.1}, "the tolerance is for solvers that reach the optimum"),
        ({"loss": "logistic", "criterion": "precision@1"}, "nothing to choose"),
        ({"clip": 0.5}, "clip"),
        ({"propensity": "jvp"}, "did you mean 'jpv'"),
        ({"propensity": np.full(3, 0.5)}, "propensities"),
        ({"weights": np.full(3, 0.5)}, "weights"),
        ({"solver": "adam", "batch_size": 0}, "batch"),
        ({"n_jobs": 0}, "n_jobs"),
    ]:
        with pytest.raises(ValueError, match=words):
            um.OneVsRest(**options).fit(balls.train)
    with pytest.raises(ValueError, match="rows|samples"):
        um.OneVsRest().fit(balls.train.X, balls.test.y)


def test_pickles_clones_and_files(balls, model, tmp_path):
    X = balls.test.X
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert clone(model).get_params() == model.get_params()
    weighted = um.OneVsRest("unbiased-logistic", "jpv", random_state=7, weights="log").fit(balls.train)
    weighted.save(tmp_path / "model.safetensors")
    loaded = um.OneVsRest.load(tmp_path / "model.safetensors")
    assert np.array_equal(loaded.decision_function(X), weighted.decision_function(X))
    assert (loaded.loss, loaded.random_state, loaded.n_features_in_) == ("unbiased-logistic", 7, balls.train.X.shape[1])
    assert np.array_equal(loaded.propensities_.values, weighted.propensities_.values)
    assert loaded.predict(X).shape == (500, 30)
    with pytest.raises(FileNotFoundError):
        um.OneVsRest.load(tmp_path / "nothing")
    (tmp_path / "broken").write_bytes((tmp_path / "model.safetensors").read_bytes()[:-5])
    with pytest.raises(um.FormatError, match="broken"):
        um.OneVsRest.load(tmp_path / "broken")


def test_models_of_the_command_line_are_ours(balls, model, tmp_path):
    if not CLI.exists() or subprocess.run([CLI, "predict", "--help"], capture_output=True).returncode != 0:
        pytest.skip(f"{CLI} with predict is not built")
    um.write(tmp_path / "train.txt", balls.train)
    um.write(tmp_path / "test.txt", balls.test)
    command = [CLI, "train", tmp_path / "train.txt", "-o", tmp_path / "theirs.safetensors", "--normalize", "none", "--loss", "logistic"]
    subprocess.run(command, check=True, capture_output=True)
    loaded = um.OneVsRest.load(tmp_path / "theirs.safetensors")
    assert not hasattr(loaded, "propensities_")
    assert loaded.decision_function(balls.test.X) == pytest.approx(model.decision_function(balls.test.X), abs=1e-4)
    model.save(tmp_path / "model.safetensors")
    command = [CLI, "predict", tmp_path / "model.safetensors", tmp_path / "test.txt", "-k", "4", "-o", tmp_path / "p.txt"]
    subprocess.run(command, check=True, capture_output=True)
    theirs, ours = um.read(tmp_path / "p.txt").scores, model.predict_top_k(balls.test, k=4)
    assert np.array_equal(theirs.indices, ours.indices)
    assert theirs.data == pytest.approx(ours.data, rel=1e-6)


TEXTS = ["red apple", "green apple tree", "old tree", "red wine", "old wine cellar", "green field", "red field", "cellar door"] * 6
WORDS = ["red", "green", "old", "apple", "tree", "wine"]


def text_labels():
    return sp.csr_matrix(np.array([[word in text.split() for word in WORDS] for text in TEXTS]).astype(int))


def test_pipelines_and_searches():
    y = text_labels()
    pipeline = make_pipeline(TfidfVectorizer(), um.OneVsRest(propensity="jpv", decay=1e-3))
    pipeline.fit(TEXTS, y)
    assert um.precision(y, pipeline.decision_function(TEXTS), k=1) == pytest.approx(np.mean(y.getnnz(axis=1) > 0))
    search = GridSearchCV(pipeline, {"onevsrest__decay": [1e-4, 1e-2], "onevsrest__tol": [1e-2, 1e-3]},
                          scoring=um.scorer("precision@5", estimator="unbiased"), cv=2)
    search.fit(TEXTS, y)
    assert search.best_score_ > 0 and np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.predict(TEXTS).shape == y.shape
    for scoring in (
        um.scorer("ndcg@3"),
        um.scorer("macro-f@1", beta=2.0),
        um.scorer("precision@1", estimator="normalized", propensity="jpv:wikipedia"),
        um.scorer("precision@1", estimator="unbiased", propensity=np.full(6, 0.5)),
    ):
        assert (cross_val_score(pipeline, TEXTS, y.toarray(), scoring=scoring, cv=2) > 0).all()
    assert cross_val_score(pipeline, TEXTS, y.toarray(), scoring=um.scorer("abandonment@1"), cv=2).max() <= 0
    assert pickle.loads(pickle.dumps(um.scorer("ndcg@3"))).k == 3


def test_scorers_that_cannot_be():
    for name, options, words in [
        ("precision@x", {}, "NAME@K"),
        ("recall@1", {"estimator": "normalized"}, "no normalized recall"),
        ("presicion@1", {}, "did you mean 'precision'"),
    ]:
        with pytest.raises(ValueError, match=words):
            um.scorer(name, **options)
    other = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="pass propensity="):
        um.scorer("precision@1", estimator="unbiased")(other, [[0.0]], [[1]])
    with pytest.raises(ValueError, match="training counts"):
        um.scorer("precision@1", estimator="unbiased", propensity="jpv")(other, [[0.0]], [[1]])


def test_classes_with_names():
    X = np.array([[0.0, 1], [0, 2], [1, 0], [2, 0], [-1, -1], [-2, -2]])
    y = np.array(["up", "up", "right", "right", "down", "down"])
    fitted = um.OneVsRest("logistic", None, normalize=False, decay=1e-3).fit(X, y)
    assert fitted.predict(X).tolist() == y.tolist() and fitted.score(X, y) == 1.0
    assert fitted.predict_proba(X).sum(axis=1) == pytest.approx(1)
    two = um.OneVsRest("logistic", None, normalize=False, decay=1e-3).fit(X[:4], y[:4])
    assert two.decision_function(X[:4]).shape == (4,)


def test_a_controlled_set_decides_what_the_model_is():
    survey = um.datasets.survey(users=1500, test_users=200, controlled_users=800, items=40, shown=8, dim=5, random_state=3)
    plain = um.OneVsRest().fit(survey.train)
    assert plain.stack_ is None
    stacked = um.OneVsRest().fit(survey.train, controlled=survey.controlled, rate="8/40", shown=survey.shown)
    assert [line["model"] for line in stacked.stack_["lines"]] == ["uncorrected", "joint", "recalibrated", "stack"]
    assert stacked.stack_["taken"] == (not np.array_equal(stacked.coef_, plain.coef_))
    pair = um.OneVsRest().fit(survey.train, controlled=(survey.controlled.X, survey.controlled.y), rate=8 / 40)
    assert not pair.stack_["shown"]
    with pytest.raises(ValueError, match="pass rate="):
        um.OneVsRest().fit(survey.train, controlled=survey.controlled)
    with pytest.raises(ValueError, match="pass it as controlled="):
        um.OneVsRest().fit(survey.train, rate="8/40")
    with pytest.raises(ValueError, match="expected Data or"):
        um.OneVsRest().fit(survey.train, controlled=survey.controlled.y, rate="8/40")
    with pytest.raises(ValueError, match="other corrections"):
        um.OneVsRest(propensity="jpv").fit(survey.train, controlled=survey.controlled, rate="8/40")


def test_later_labels_are_trained_on():
    survey = um.datasets.survey(users=900, test_users=100, controlled_users=50, items=30, shown=8, dim=5, random_state=3)
    later = um.OneVsRest().fit(survey.train, later=survey.train_clean.y)
    assert np.array_equal(later.coef_, um.OneVsRest().fit(survey.train_clean).coef_)
    half = um.OneVsRest().fit(survey.train, later=survey.train_clean.y, later_rows=np.arange(0, 900, 2))
    assert half.propensities_.values.min() > 0 and not np.array_equal(half.coef_, later.coef_)
    with pytest.raises(ValueError, match="later_rows"):
        um.OneVsRest().fit(survey.train, later=survey.train_clean.y, later_rows=[900])


def test_propensities_that_the_data_contradict_are_raised(balls):
    counts = np.ravel(balls.train.y.sum(axis=0))
    tiny = np.full(30, 1e-3)
    raised = um.OneVsRest(propensity=tiny).fit(balls.train).propensities_
    assert (raised.values >= counts / 1500 - 1e-12).all() and "raised" in set(raised.sources)
    kept = um.OneVsRest(propensity=tiny, raise_propensities=False).fit(balls.train).propensities_
    assert (kept.values == 1e-3).all()


def test_anchors_need_features_and_are_lower_bounds(balls):
    found = um.estimate_propensity("anchors", train=balls.train)
    assert found.bound == "lower" and (found.low <= found.values).all()
    with pytest.raises(ValueError, match="pass X="):
        um.estimate_propensity("anchors", train=balls.train.y)


def test_training_says_what_it_thinks_of_its_propensities(balls):
    with pytest.warns(UserWarning, match=r"come from a curve \(jpv"):
        um.OneVsRest(propensity="jpv").fit(balls.train)
    survey = um.datasets.survey(users=900, test_users=100, controlled_users=50, items=30, shown=8, dim=5, random_state=0)
    direct = um.estimate_propensity("direct", train=survey.train.y, controlled=survey.controlled.y, rate="8/30")
    for model in (um.OneVsRest(propensity=direct), um.LabelTree(propensity=direct)):
        with pytest.warns(UserWarning, match="mostly noise"):
            model.fit(survey.train)


def test_small_weights_are_dropped_and_files_can_have_half_precision(balls, tmp_path):
    plain = um.OneVsRest("logistic", None, normalize=False).fit(balls.train.X, balls.train.y)
    least = float(np.median(np.abs(plain.coef_)))
    small = um.OneVsRest("logistic", None, normalize=False, prune=least, half=True).fit(balls.train.X, balls.train.y)
    assert np.array_equal(small.coef_, np.where(np.abs(plain.coef_) > least, plain.coef_, 0))
    plain.save(tmp_path / "plain")
    small.save(tmp_path / "small")
    assert (tmp_path / "small").stat().st_size < (tmp_path / "plain").stat().st_size
    read = um.OneVsRest.load(tmp_path / "small").coef_
    assert np.array_equal(read, small.coef_.astype(np.float16).astype(np.float32)) and not np.array_equal(read, small.coef_)
    with pytest.raises(ValueError, match="finite number of at least 0"):
        um.OneVsRest(prune=-1.0).fit(balls.train.X, balls.train.y)
