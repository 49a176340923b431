"""Data sets made of others: the same as the command line makes, with names, and errors that say what is wrong."""

import numpy as np
import pytest
import scipy.sparse as sp

import unmissed as um


@pytest.fixture(scope="module")
def data():
    return um.datasets.balls(train_rows=200, test_rows=100, labels=12, random_state=3)


def test_a_split_is_a_partition_that_keeps_features_with_labels(data):
    parts = um.split(data.train, test=0.25, random_state=1)
    assert (parts.train.y.shape, parts.test.y.shape) == ((150, len(parts.labels)), (50, len(parts.labels)))
    assert sorted([*parts.train_rows, *parts.test_rows]) == list(range(200))
    for part, rows in ((parts.train, parts.train_rows), (parts.test, parts.test_rows)):
        assert (part.y != data.train.y[rows][:, parts.labels]).nnz == 0
        assert np.array_equal(np.asarray(part.X), np.asarray(data.train.X[rows]))
    again = um.split(data.train, test=0.25, random_state=1, n_jobs=1)
    assert np.array_equal(again.test_rows, parts.test_rows)
    assert not np.array_equal(um.split(data.train, test=0.25, random_state=2).test_rows, parts.test_rows)


def test_several_are_merged_and_rare_labels_dropped(data):
    parts = um.split([data.train, data.test], min_positives=20, test=0.3)
    assert parts.train.y.shape[0] + parts.test.y.shape[0] == 300
    counts = np.asarray(sp.vstack([data.train.y, data.test.y]).sum(axis=0)).ravel()
    assert parts.labels.tolist() == np.flatnonzero(counts >= 20).tolist()
    labels_only = um.split(data.train.y)
    assert labels_only.train.X is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"test": 0.0}, "the share of test rows is out of range"),
        ({"test": "much"}, "test is not a number"),
        ({"min_positives": 0}, "at least 1"),
        ({"min_positives": 10**6}, "no label has 1000000 positives"),
        ({"X": np.zeros((3, 2), np.float32)}, "rows"),
    ],
)
def test_what_cannot_be_split_says_why(data, arguments, message):
    with pytest.raises(ValueError, match=message):
        um.split(data.train.y, **arguments)
    with pytest.raises(ValueError, match="X= belongs to one data set"):
        um.split([data.train, data.test], X=data.train.X)


def test_ancestors_are_added_from_pairs_or_a_file(tmp_path):
    hierarchy = [(3, 1), (1, 0), (2, 0)]
    path = tmp_path / "hierarchy.tsv"
    path.write_text("".join(f"{child}\t{parent}\n" for child, parent in hierarchy))
    expected = [[1, 1, 0, 1], [1, 0, 1, 0], [0, 0, 0, 0]]
    for given in (hierarchy, np.array(hierarchy), path, str(path)):
        assert um.impute([[3], [2], []], given, n_labels=4).toarray().tolist() == expected
    with pytest.raises(ValueError, match="pair 0"):
        um.impute([[0]], [(1, -2)], n_labels=2)
    with pytest.raises(ValueError):
        um.impute([[0]], [(0, 1), (1, 0)], n_labels=2)
    with pytest.raises(ValueError, match="does not hold pairs"):
        um.impute([[0]], 7, n_labels=2)


CHOSEN = [("u1", "b", 5), ("u1", "a", 4), ("u1", "d", 1), ("u2", "a", 5), ("u2", "c", 5), ("u3", "b", 4)]
RANDOM = [("u3", "a", 4), ("u3", "c", 1), ("u2", "d", 5), ("u2", "a", 2)]


def same(one, other):
    return (
        (one.items, one.train_users, one.controlled_users, one.rate) == (other.items, other.train_users, other.controlled_users, other.rate)
        and (one.train.y != other.train.y).nnz == 0
        and (one.controlled.X != other.controlled.X).nnz == 0
        and (one.shown != other.shown).nnz == 0
    )


def test_surveys_have_names_whatever_ratings_come_as(tmp_path):
    survey = um.survey_from_ratings(CHOSEN, RANDOM, positive=4)
    assert (survey.items, survey.train_users, survey.controlled_users, survey.rate) == (["a", "b", "c", "d"], ["u1"], ["u2", "u3"], "2/4")
    assert survey.controlled.y.toarray().tolist() == [[0, 0, 0, 1], [1, 0, 0, 0]]
    assert survey.shown.toarray().tolist() == [[1, 0, 0, 1], [1, 0, 1, 0]]
    assert um.survey_from_ratings(CHOSEN, RANDOM, positive=4, train_users="all").train_users == ["u1", "u2", "u3"]
    files = []
    for name, ratings in (("chosen.csv", CHOSEN), ("random.csv", RANDOM)):
        files.append(tmp_path / name)
        files[-1].write_text("user,item,rating\n" + "".join(f"{user},{item},{rating}\n" for user, item, rating in ratings))
    assert same(um.survey_from_ratings(*files, positive=4), survey)
    pandas = pytest.importorskip("pandas")
    frames = [pandas.DataFrame([(rating, item, user) for user, item, rating in part], columns=["rating", "item", "user"]) for part in (CHOSEN, RANDOM)]
    assert same(um.survey_from_ratings(*frames, positive=4), survey)
    # Another number of items for one of the users: the rate is a mean.
    assert um.survey_from_ratings(CHOSEN, RANDOM[:-1], positive=4).rate == pytest.approx(1.5 / 4)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ([], "there are no ratings"),
        ([("u1", "a", float("nan"))], "rating 0 .* is not finite"),
        ([("u1", "a", 5), ("u1", "a", 4)], "rated twice"),
        ([("u1", "a")], r"\(user, item, rating\)"),
        ([("u1", "a", "good")], "not numbers"),
        ([("u1", "a", 1)], "no rating of the self-selected part is positive"),
        (7, r"\(user, item, rating\)"),
    ],
)
def test_what_is_no_rating_says_why(chosen, message):
    with pytest.raises(ValueError, match=message):
        um.survey_from_ratings(chosen, RANDOM, positive=4)
    with pytest.raises(ValueError, match="did you mean 'all'"):
        um.survey_from_ratings(CHOSEN, RANDOM, positive=4, train_users="al")
    with pytest.raises(FileNotFoundError):
        um.survey_from_ratings("nowhere.csv", RANDOM, positive=4)


def test_experiments_leave_claims_tables_and_a_page(tmp_path):
    [found] = um.reproduce("counterexample", tmp_path / "out", quick=True)
    assert found["claims"] and all(claim["verdict"] in ("holds", "reported") for claim in found["claims"])
    assert all(isinstance(rows, list) for rows in found["tables"].values())
    assert "counterexample" in (tmp_path / "out" / "index.html").read_text()
    with pytest.raises(ValueError, match="did you mean 'scaling'"):
        um.reproduce("scalin", tmp_path)


def test_compressed_files_are_bounded(tmp_path):
    path = tmp_path / "labels.txt.gz"
    um.write(path, [[0]] * 5000, n_labels=3)
    before = um.set_max_size("1KB")
    try:
        with pytest.raises(um.FormatError, match="larger than allowed.*expected at most 1000 bytes"):
            um.read(path)
    finally:
        assert um.set_max_size(before) == 1000
    assert um.read(path).y.shape == (5000, 3)
    for wrong in ("much", 0, -1, None):
        with pytest.raises(ValueError):
            um.set_max_size(wrong)


def test_settings_are_decided_on_a_controlled_set():
    pytest.importorskip("sklearn")
    survey = um.datasets.survey(users=600, test_users=50, controlled_users=400, items=30, random_state=2)
    model = um.OneVsRest(tune=True).fit(survey.train, validation=survey.controlled, validation_rate="10/30", validation_shown=survey.shown)
    held_out = um.OneVsRest(tune=True).fit(survey.train)
    assert model.tuning_ and held_out.tuning_ and model.tuning_ != held_out.tuning_
    complete = um.OneVsRest(tune=True).fit(survey.train, validation=(survey.test_clean.X, survey.test_clean.y))
    assert complete.tuning_ != model.tuning_
    with pytest.raises(ValueError, match="pass them as validation="):
        um.OneVsRest().fit(survey.train, validation_rate="1/3")
    with pytest.raises(ValueError, match="pass its rate as validation_rate="):
        um.OneVsRest(tune=True).fit(survey.train, validation=survey.controlled, validation_shown=survey.shown)
    with pytest.raises(ValueError, match="validation has no features"):
        um.OneVsRest(tune=True).fit(survey.train, validation=survey.controlled.y)
