"""Propensities: from models, fitted and estimated; as objects and in files."""

import dataclasses
import pickle

import numpy as np
import pytest

import unmissed as um


@pytest.fixture(scope="module")
def survey():
    return um.datasets.survey(users=3000, test_users=200, controlled_users=3000, items=60, shown=12, random_state=4)


def test_jpv_is_its_formula(small):
    _, _, train = small
    counts, n = np.ravel(train.sum(axis=0)), train.shape[0]
    p = um.propensities(train, "jpv:a=0.5,b=0.4")
    assert p.inverse == pytest.approx(1 + (np.log(n) - 1) * 1.4**0.5 * (counts + 0.4) ** -0.5)
    assert p.origin == "jpv:a=0.5,b=0.4" and p.bound == "exact" and set(p.sources) == {"curve"}
    assert p.counts.tolist() == counts.tolist() and len(p) == 25
    assert np.asarray(p) is not None and np.array_equal(np.asarray(p), p.values)


def test_models_and_their_errors(small):
    _, _, train = small
    assert um.propensities(train, "constant:p=0.5").values.tolist() == [0.5] * 25
    with pytest.raises(ValueError, match="did you mean 'jpv'"):
        um.propensities(train, "jvp")
    with pytest.raises(ValueError, match="train="):
        um.propensities(None, "jpv")
    with pytest.raises(ValueError, match="shape"):
        um.Propensities([[0.5]])


def test_direct_and_shrunken(survey):
    direct = um.estimate_propensity("direct", train=survey.train, controlled=survey.controlled, rate="12/60")
    shrunken = um.estimate_propensity("shrunken", train=survey.train, controlled=survey.controlled, rate=12 / 60)
    true = survey.propensities.values
    assert np.nanmean(np.abs(np.log(shrunken.values / true))) < 0.35
    known = ~np.isnan(direct.values)
    n, big = survey.train.y.shape[0], survey.controlled.y.shape[0]
    observed, controlled = (np.ravel(y.sum(axis=0)) for y in (survey.train.y, survey.controlled.y))
    by_hand = (observed / n) * 0.2 / (controlled / big)
    assert direct.values[known] == pytest.approx(np.minimum(by_hand[known], 1))
    inside = (direct.interval[known, 0] <= true[known]) & (true[known] <= direct.interval[known, 1])
    assert inside.mean() > 0.8
    assert shrunken.fit["kappa"] is None or shrunken.fit["kappa"] > 0
    per_label = um.estimate_propensity("direct", train=survey.train, controlled=survey.controlled, rate=np.full(60, 0.2))
    assert np.array_equal(per_label.values, direct.values, equal_nan=True)
    assert (shrunken.interval[:, 0] <= shrunken.values).all() and shrunken.interval.shape == (60, 2)


def test_fits(survey):
    fitted = um.fit_propensity("power", train=survey.train, controlled=survey.controlled, rate=(12, 60))
    assert fitted.fit["spec"].startswith("power:") and fitted.origin == fitted.fit["spec"]
    planted = um.propensities(survey.train, "power:beta=3,gamma=0.5")
    again = um.fit_propensity("power", train=survey.train, propensities=planted.values, loss="log")
    assert again.values == pytest.approx(planted.values, rel=1e-4)
    with pytest.raises(ValueError, match="too few labels"):
        # A curve is no evidence for a curve.
        um.fit_propensity("power", train=survey.train, propensities=planted)
    for options, words in [
        ({}, "evidence"),
        ({"controlled": survey.controlled}, "rate="),
        ({"controlled": survey.controlled, "rate": "12/60", "loss": "cubed"}, "cubed"),
        ({"controlled": survey.controlled, "rate": "a/b"}, "rate"),
        ({"controlled": survey.controlled, "rate": 3.0}, "rate"),
    ]:
        with pytest.raises(ValueError, match=words):
            um.fit_propensity("power", train=survey.train, **options)


def test_timelapse_hierarchy_and_relation():
    earlier, later = [[0], [0, 1], [0], [1]], [[0], [0, 1], [0], [0, 1]]
    estimate = um.estimate_propensity("timelapse", train=earlier, later=later, curve="constant")
    assert estimate.values.tolist() == [0.75, 1.0] and estimate.bound == "upper"
    # 1 is a kind of 0: one row has the kind without its ancestor.
    train = [[0], [0, 1], [1], [0]]
    estimate = um.estimate_propensity("hierarchy", train=train, hierarchy=[(1, 0)], threshold=0, curve="constant")
    assert estimate.values[0] == 0.75
    estimate = um.estimate_propensity("relation", train=train, bought=[(0, 1)], viewed=[(1, 2)], curve="constant")
    assert estimate.values[0] == 0.75 and estimate.bound == "none"


@pytest.mark.parametrize("method, words", [("timelapse", "later="), ("hierarchy", "hierarchy="), ("relation", "bought="), ("direct", "rate="), ("guess", "direct")])
def test_missing_evidence_is_named(method, words):
    with pytest.raises(ValueError, match=words):
        um.estimate_propensity(method, train=[[0], [1]])
    with pytest.raises(ValueError, match="train=|unknown"):
        um.estimate_propensity(method)


@pytest.mark.parametrize("method, option", [("direct", {"curve": "power"}), ("shrunken", {"shrink": True}), ("timelapse", {"threshold": 2})])
def test_options_that_an_estimator_does_not_have_are_refused(method, option):
    (name,) = option
    with pytest.raises(ValueError, match=f"unknown option of '{method}' '{name}'"):
        um.estimate_propensity(method, train=[[0], [1]], **option)


def test_where_values_come_from_survives_but_a_new_name_is_the_users(small):
    truth, scores, train = small

    def findings(p):
        return [finding.code for finding in um.evaluate(truth, scores, train=train, propensity=p, k=1).findings]

    p = um.propensities(train, "jpv")
    assert p.origin == "jpv:a=0.55,b=1.5" and "U002" in findings(pickle.loads(pickle.dumps(p)))
    renamed = dataclasses.replace(p, origin="mine")
    assert "U002" not in findings(renamed)
    assert "U002" not in findings(um.Propensities(p.values, origin=p.origin))


def test_objects_keep_everything_through_pickle_files_and_evaluation(survey, tmp_path):
    p = um.estimate_propensity("shrunken", train=survey.train, controlled=survey.controlled, rate="12/60")
    again = pickle.loads(pickle.dumps(p))
    assert np.array_equal(again.values, p.values) and again.origin == p.origin and again.fit == p.fit
    p.write(tmp_path / "p.csv")
    table = um.propensities(None, f"table:{tmp_path / 'p.csv'}")
    assert table.values == pytest.approx(p.values, rel=1e-12)
    assert table.interval == pytest.approx(p.interval, rel=1e-12)
    rng = np.random.default_rng(0)
    scores = rng.random(survey.test.y.shape, np.float32)
    with_uncertainty = um.evaluate(survey.test, scores, propensity=p, metrics=["precision:unbiased"], k=5).rows[0]
    plain = um.evaluate(survey.test, scores, propensity=p.values, metrics=["precision:unbiased"], k=5).rows[0]
    # A shrunken estimate divides scores by bands of labels, so the values are near and not the same.
    assert with_uncertainty.value == pytest.approx(plain.value, rel=0.05) and with_uncertainty.se > plain.se
    from_file = um.evaluate(survey.test, scores, propensity=table, metrics=["precision:unbiased"], k=5).rows[0]
    assert (from_file.value, from_file.se) == pytest.approx((with_uncertainty.value, with_uncertainty.se), rel=1e-9)
    assert (with_uncertainty.propensity, plain.propensity) == (p.origin, "given")
    with pytest.raises(FileNotFoundError):
        um.propensities(None, "table:nowhere.csv")


def test_plots(survey):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    p = um.estimate_propensity("shrunken", train=survey.train, controlled=survey.controlled, rate="12/60")
    axes = p.plot()
    assert axes.get_yscale() == "log" and axes.get_xscale() == "log"
    seen = (p.counts > 0).sum()
    assert len(axes.lines[0].get_xdata()) == seen
    assert um.Propensities([0.5, 1.0]).plot(axes) is axes
