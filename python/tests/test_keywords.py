"""The words of scikit-learn, and the old ones, which still work with a warning."""

import inspect

import numpy as np
import pytest

import unmissed as um

TRAIN = [[0], [0, 1], [0, 2], [0]]
TRUTH, RANKED = [[0, 1], [2]], [[0, 1], [0, 2]]

#: Every function with an old keyword, as a call that lacks only that.
CALLS = {
    "evaluate": lambda **more: um.evaluate(TRUTH, RANKED, k=1, bootstrap=0, **more).to_dict(),
    "precision": lambda **more: um.precision(TRUTH, RANKED, k=1, **more),
    "macro_f": lambda **more: um.macro_f(TRUTH, RANKED, k=1, beta=2.0, **more),
    "propensities": lambda **more: um.propensities(TRAIN, "jpv", **more).values.tolist(),
    "fit_propensity": lambda **more: um.fit_propensity("constant", train=TRAIN, propensities=[0.5] * 3, **more).values.tolist(),
    "estimate_propensity": lambda **more: um.estimate_propensity("timelapse", train=TRAIN, later=TRAIN, **more).values.tolist(),
    "balls": lambda **more: um.datasets.balls(train_rows=10, test_rows=10, **more).train.X.tolist(),
    "survey": lambda **more: um.datasets.survey(users=10, test_users=10, controlled_users=10, items=9, shown=3, **more).train.X.tolist(),
}


@pytest.mark.parametrize("name", CALLS)
def test_old_names_work_with_a_warning(name):
    call = CALLS[name]
    with pytest.warns(FutureWarning, match="threads= is called n_jobs= now") as caught:
        assert call(threads=2) == call(n_jobs=2)
    assert caught[0].filename == __file__, "the warning points at the caller"
    with pytest.raises(TypeError, match="expected one of them, found both"):
        call(threads=2, n_jobs=2)
    with pytest.raises(ValueError, match="n_jobs"), pytest.warns(FutureWarning):
        call(threads=0)
    with pytest.raises(TypeError, match="unexpected keyword"):
        call(jobs=2)


def test_progress_is_called_verbose(tmp_path):
    um.write(tmp_path / "y.txt", TRAIN, n_labels=3)
    for call in (
        lambda **more: um.read(tmp_path / "y.txt", **more),
        lambda **more: um.evaluate(TRUTH, RANKED, k=1, **more),
        lambda **more: um.audit(TRUTH, RANKED, train=TRAIN, k=1, bootstrap=0, **more),
        lambda **more: um.fit_row_propensity([[0], [1]] * 20, later=[[0], [0, 1]] * 20, refits=0, **more),
    ):
        for value in (True, False, None):
            with pytest.warns(FutureWarning, match="progress= is called verbose= now"):
                call(progress=value)


def test_signatures_have_the_new_names_only():
    functions = [getattr(um, name) for name in um.__all__] + [um.datasets.balls, um.datasets.survey]
    for function in filter(callable, functions):
        try:
            parameters = inspect.signature(function).parameters
        except ValueError:
            continue
        assert not {"threads", "progress", "seed", "tolerance", "max_steps", "steps"} & set(parameters), function


def test_estimators_have_the_new_names_only():
    sklearn = pytest.importorskip("sklearn.base")
    from sklearn.model_selection import GridSearchCV

    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 3)), rng.random((60, 4)) < 0.5
    with pytest.warns(FutureWarning) as caught:
        model = um.OneVsRest(tolerance=0.1, max_steps=7, threads=1, progress=False)
    said = {str(one.message).split("=")[0] for one in caught}
    assert said == {"tolerance", "max_steps", "threads", "progress"}
    assert (model.tol, model.max_iter, model.n_jobs, model.verbose) == (0.1, 7, 1, False)
    assert {"tol", "max_iter", "n_jobs", "verbose", "random_state"} <= set(model.get_params())
    assert not {"tolerance", "max_steps", "threads", "progress"} & set(model.get_params())
    assert sklearn.clone(model).get_params() == model.get_params()
    search = GridSearchCV(model, {"tol": [0.1, 0.01], "max_iter": [5, 50]}, scoring=um.scorer("precision@1"), cv=2).fit(X, Y)
    assert set(search.best_params_) == {"tol", "max_iter"}
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(threads=2)
    with pytest.raises(TypeError, match="found both"):
        um.OneVsRest(tolerance=0.1, tol=0.1)
    with pytest.raises(TypeError, match="unexpected keyword"):
        um.OneVsRest(toll=0.1)


def test_random_states_give_the_same_model():
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(200, 3)), rng.random((200, 4)) < 0.5
    models = [um.OneVsRest(solver="adam", epochs=2, random_state=seed).fit(X, Y).coef_ for seed in (1, np.int64(1), 2)]
    assert np.array_equal(models[0], models[1]) and not np.array_equal(models[0], models[2])
