"""What nobody should pass: each is a ValueError or an OSError that says what is wrong, never a panic, a crash or a number."""

import multiprocessing
import pathlib
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import unmissed as um

Y = np.eye(4)
S = np.arange(16.0).reshape(4, 4)
LISTS = [[0], [1], [2], [3]]


def broken(**parts):
    """A csr matrix whose arrays scipy would not have made."""
    matrix = sp.csr_matrix(np.eye(4, dtype=np.float32))
    for name, array in parts.items():
        # scipy checks nothing on assignment.
        setattr(matrix, name, np.asarray(array))
    return matrix


#: What cannot be labels, and a word of the answer.
LABELS = {
    "None": (None, "y_true"),
    "a string": ("abcd", "y_true"),
    "bytes": (b"abcd", "y_true|labels"),
    "a number": (3, "y_true"),
    "a generator": ((row for row in [[0], 1]), "row 1"),
    "strings in lists": ([["a"], ["b"], [], []], "row 0"),
    "None in lists": ([[0], [None], [], []], "row 1"),
    "a row that is None": ([[0], None, [], []], "row 1"),
    "floats in lists": ([[0.0], [1.0], [], []], "row 0"),
    "nested lists": ([[[0]], [[1]], [], []], "row 0"),
    "a label beyond 64 bits": ([[0], [2**70], [], []], "row 1"),
    "a label beyond 32 bits": ([[0], [2**40], [], []], "row 1|32 bits|label"),
    "a negative label": ([[0], [-1], [], []], "row 1"),
    "one dimension": (np.ones(4), "shape"),
    "three dimensions": (np.ones((4, 4, 4)), "shape"),
    "no dimension": (np.array(1), "shape"),
    "objects": (np.array([[1, "x"]] * 4, object), "numbers"),
    "numbers as objects": (np.eye(4).astype(object), "numbers"),
    "masked entries": (np.ma.masked_array(Y, Y > 0), "masked"),
    "strings": (np.full((4, 4), "1"), "numbers"),
    "complex": (np.eye(4) + 1j, "numbers"),
    "dates": (np.zeros((4, 4), "datetime64[s]"), "numbers"),
    "records": (np.zeros((4, 4), [("a", float)]), "numbers"),
    "NaN": (np.where(Y > 0, np.nan, 0.0), "row 0"),
    "infinity": (np.where(Y > 0, -np.inf, 0.0), "row 0"),
    "complex sparse": (sp.csr_matrix(Y + 0j), "numbers"),
    "object sparse": (broken(data=np.array([1, "x", 1, 1], object)), "numbers"),
    "offsets that fall": (broken(indptr=np.array([0, 3, 1, 2, 4], np.int32)), "row|offset"),
    "negative offsets": (broken(indptr=np.array([0, -1, 2, 3, 4], np.int32)), "row|offset"),
    "offsets beyond the end": (broken(indptr=np.array([0, 1, 2, 3, 40], np.int32)), "offset|entries"),
    "a first offset that is not 0": (broken(indptr=np.array([1, 1, 2, 3, 4], np.int32)), "offset"),
    "no offsets": (broken(indptr=np.array([], np.int32)), "offset"),
    "ids beyond the columns": (broken(indices=np.array([0, 1, 2, 9], np.int32)), "row 3|9"),
    "ids that are floats": (broken(indices=np.array([0, 1.5, 2, 3])), "whole numbers"),
    "too few ids": (broken(indices=np.array([0], np.int32)), "offset|entries|ids"),
    "an id twice in a row": (broken(indices=np.array([0, 0, 2, 3], np.int32), indptr=np.array([0, 2, 2, 3, 4], np.int32)), "row 0|twice"),
    "rows that differ": (np.eye(3, 4), "rows"),
    "columns that differ": (np.eye(4, 3), "labels"),
    "no rows": (np.zeros((0, 4)), "row"),
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_that_are_none(name):
    value, words = LABELS[name]
    with pytest.raises(ValueError, match=words) as caught:
        um.evaluate(value, S, k=1)
    assert type(caught.value).__module__ in ("builtins", "unmissed")


PREDICTIONS = {
    "None": (None, "y_pred"),
    "a string": ("abcd", "y_pred"),
    "a number": (3, "y_pred"),
    "NaN": (np.where(Y > 0, np.nan, 0.0), "row 0"),
    "NaN at half precision": (np.where(Y > 0, np.nan, 0.0).astype(np.float16), "row 0"),
    "infinity": (np.where(Y > 0, np.inf, 0.0), "row 0"),
    "beyond single precision": (np.where(Y > 0, 1e39, 0.0), "row 0"),
    "complex": (Y + 1j, "numbers"),
    "strings": (np.full((4, 4), "1"), "numbers"),
    "objects": (np.array([[1, "x", 2, 3]] * 4, object), "numbers"),
    "complex sparse": (sp.csr_matrix(Y + 0j), "numbers"),
    "object sparse": (broken(data=np.array([1, "x", 1, 1], object)), "numbers"),
    "NaN sparse": (broken(data=np.array([1, 1, np.nan, 1], np.float32)), "row 2"),
    "too few values": (broken(data=np.array([1.0], np.float32)), "values|entries|lengths"),
    "labels twice": ([[0, 0], [1], [2], [3]], "row 0"),
    "labels twice in arrays": (um.TopK(np.array([[0, 1], [1, 1], [2, 3], [3, 0]])), "row 1"),
    "a label beyond all": ([[0], [1], [2], [4]], "row 3|4"),
    "a negative label in arrays": (um.TopK(np.array([[0], [-1], [2], [3]])), "row 1"),
    "pairs without scores": ([[(0, 1.0)], [(1,)], [], []], "row 1"),
    "pairs with words": ([[(0, 1.0)], [(1, "x")], [], []], "row 1|numbers|y_pred"),
    "pairs with None": ([[(0, 1.0)], [(1, None)], [], []], "row 1|numbers|y_pred"),
    "ragged top lists": (um.TopK([[0, 1], [1]]), "y_pred|shape"),
    "top lists of objects": (um.TopK(np.array([[0, None]] * 4, object)), "numbers"),
    "fewer rows": (S[:2], "rows"),
    "another number of labels": (np.ones((4, 5)), "labels"),
    "no models": ({}, "model"),
    "a model that is None": ({"a": None}, "y_pred"),
}


@pytest.mark.parametrize("name", PREDICTIONS)
def test_predictions_that_are_none(name):
    value, words = PREDICTIONS[name]
    with pytest.raises(ValueError, match=words):
        um.evaluate(Y, value, k=1)


REQUESTS = {
    "k of 0": ({"k": 0}, "k"),
    "a negative k": ({"k": -3}, "k"),
    "k beyond 64 bits": ({"k": 2**70}, "k"),
    "k that is None": ({"k": None}, "k"),
    "k as a string": ({"k": "5"}, "k"),
    "k as NaN": ({"k": np.nan}, "k"),
    "no k": ({"k": []}, "k"),
    "no threads": ({"n_jobs": 0}, "n_jobs"),
    "threads as a string": ({"n_jobs": "all"}, "n_jobs"),
    "threads as a fraction": ({"n_jobs": 1.5}, "n_jobs"),
    "threads as a bool": ({"n_jobs": True}, "n_jobs"),
    "very many threads": ({"n_jobs": 10**9}, "n_jobs"),
    "a negative seed": ({"random_state": -1}, "random_state"),
    "a seed beyond 64 bits": ({"random_state": 2**64}, "random_state"),
    "a seed of None": ({"random_state": None}, "random_state"),
    "a negative bootstrap": ({"bootstrap": -1}, "bootstrap"),
    "a bootstrap beyond all": ({"bootstrap": 10**15, "metrics": ["macro-f"]}, "replicates"),
    "a level of NaN": ({"level": np.nan}, "level"),
    "a level in words": ({"level": "high"}, "level"),
    "a negative number of labels": ({"n_labels": -1}, "n_labels"),
    "labels beyond 32 bits": ({"n_labels": 2**40}, "n_labels"),
    "labels in words": ({"n_labels": "four"}, "n_labels"),
    "propensities of 0": ({"propensity": np.zeros(4)}, "label 0"),
    "propensities of NaN": ({"propensity": np.full(4, np.nan)}, "label 0"),
    "propensities in words": ({"propensity": ["a", 0.5]}, "'a'"),
    "propensities in two dimensions": ({"propensity": np.ones((4, 2))}, "shape"),
    "too few propensities": ({"propensity": np.ones(3)}, "labels"),
    "propensities that are a number": ({"propensity": 0.5}, "shape"),
    "weights in words": ({"weights": ["a", "b"]}, "weights"),
    "negative weights": ({"weights": -np.ones(4)}, "weight"),
    "weights of NaN": ({"weights": np.full(4, np.nan)}, "weight"),
    "too few weights": ({"weights": np.ones(3)}, "weights"),
    "a clip in words": ({"clip": "x"}, "clip"),
    "a clip of 0": ({"clip": 0}, "clip"),
    "a rate of 0 of 0": ({"rate": "0/0"}, "rate|shown"),
    "a rate above 1": ({"rate": (5, 4)}, "rate|shown"),
    "a negative rate": ({"rate": (-1, 4)}, "rate"),
    "a huge rate": ({"rate": (2**40, 2**41)}, "rate"),
    "three parts of a rate": ({"rate": (1, 2, 3)}, "rate"),
    "a rate in words": ({"rate": "often"}, "rate"),
    "metrics that are None": ({"metrics": [None]}, "metrics"),
    "metrics that are numbers": ({"metrics": [3]}, "metrics"),
    "no metrics": ({"metrics": []}, "metric"),
    "estimators that are numbers": ({"estimators": [3]}, "estimators"),
    "groups of numbers": ({"groups": 3}, "groups"),
    "too few groups": ({"groups": ["a"]}, "group|names|labels"),
    "negative cuts": ({"groups": "counts:-1", "train": LISTS}, "count|cut|group"),
    "cuts of NaN": ({"groups": "counts:nan", "train": LISTS}, "count|cut|group"),
    "negative counts": ({"label_counts": [-1] * 4}, "label_counts"),
    "an interval of numbers": ({"interval": 3}, "interval"),
    "conventions of numbers": ({"conventions": 3}, "conventions"),
    "training labels of another width": ({"train": np.eye(5), "propensity": "jpv"}, "train"),
    "training labels that are None": ({"propensity": "jpv"}, "train="),
    "an empty training set": ({"train": np.zeros((0, 4)), "propensity": "jpv"}, "rows|row|train"),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_requests_that_cannot_be(name):
    options, words = REQUESTS[name]
    with pytest.raises(ValueError, match=words):
        um.evaluate(Y, S, **{"k": 1, **options})


def test_k_may_be_huge():
    assert um.precision(Y, S, k=10**6) == pytest.approx(1e-6)
    assert um.recall(Y, S, k=10**6) == 1.0
    with pytest.raises(ValueError, match="k is out of range"):
        um.precision(Y, S, k=2**40)


def test_layouts_that_are_unusual_give_the_usual_numbers():
    expected = um.precision(Y, S, k=2)
    narrow = sp.csr_matrix(S.astype(np.float32))
    for y_true, y_pred in [
        (np.asfortranarray(Y), np.asfortranarray(S)),
        (np.repeat(Y, 2, axis=1)[:, ::2], np.repeat(S, 2, axis=0)[::2]),
        (Y[::-1][::-1], S[:, ::-1][:, ::-1]),
        (Y.astype(np.float16), S.astype(np.float16)),
        (Y.astype(np.longdouble), S.astype(np.longdouble)),
        (Y.astype(np.uint64), S),
        (Y.astype(">i2"), S.astype(">f8")),
        (sp.csc_matrix(Y), sp.coo_matrix(S)),
        (sp.dok_array(Y), sp.dia_matrix(S)),
        (sp.bsr_matrix(Y), narrow),
        (LISTS, S),
        (np.ma.masked_array(Y), S),
    ]:
        assert um.precision(y_true, y_pred, k=2) == expected


def test_empty_rows_and_columns():
    none = sp.csr_matrix((4, 4), dtype=np.float32)
    assert um.precision(none, S, k=1) == 0.0
    assert um.precision([[], []], [[], [1]], k=1, n_labels=3) == 0.0
    with pytest.raises(ValueError, match="no predictions"):
        um.precision(Y, none, k=1)
    with pytest.raises(ValueError):
        um.precision(np.zeros((3, 0)), np.zeros((3, 0)), k=1)
    with pytest.raises(ValueError):
        um.precision([], [], k=1)


MODELS = {
    "features of NaN": (lambda X: np.where(X > 0.5, np.nan, X), "NaN|row"),
    "features of infinity": (lambda X: np.where(X > 0.5, np.inf, X), "inf|row"),
    "no features": (lambda X: X[:, :0], "feature"),
    "no rows": (lambda X: X[:0], "sample|row"),
    "words": (lambda X: X.astype(str).astype(object) + "x", "string|numbers|convert"),
    "one dimension": (lambda X: X[:, 0], "1D|shape|2D"),
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return rng.random((40, 3)), (rng.random((40, 4)) < 0.4).astype(int)


@pytest.fixture(scope="module")
def model(data):
    pytest.importorskip("sklearn")
    return um.OneVsRest("logistic", None).fit(*data)


@pytest.mark.parametrize("name", MODELS)
def test_features_that_are_none(name, data, model):
    change, words = MODELS[name]
    with pytest.raises(ValueError, match=words):
        um.OneVsRest().fit(change(data[0]), data[1][: len(change(data[0]))])
    with pytest.raises(ValueError, match=words):
        model.decision_function(change(data[0]))


@pytest.mark.parametrize(
    "options, words",
    [
        ({"random_state": -1}, "random_state"),
        ({"random_state": "x"}, "seed"),
        ({"max_iter": -1}, "max_iter"),
        ({"epochs": 1.5}, "epochs"),
        ({"batch_size": "many"}, "batch_size"),
        ({"decay": np.nan}, "decay"),
        ({"decay": "small"}, "decay"),
        ({"clip": np.inf}, "clip"),
        ({"solver": "adam", "learning_rate": -1.0}, "rate"),
        ({"solver": "adam", "epochs": 0}, "epoch"),
        ({"tune": True, "holdout": 2.0}, "hold"),
        ({"tune": True, "holdout": np.nan}, "hold"),
        ({"tune": True, "grid": "fine"}, "fine"),
        ({"tol": -1.0}, "tol"),
        ({"weights": [1.0, np.nan, 1.0, 1.0]}, "weight"),
        ({"weights": [[1.0]]}, "weights"),
        ({"propensity": [0.0] * 4}, "label 0"),
        ({"loss": None}, "loss"),
        ({"solver": 3}, "solver"),
    ],
)
def test_settings_that_cannot_be(data, options, words):
    pytest.importorskip("sklearn")
    with pytest.raises(ValueError, match=words):
        um.OneVsRest(**options).fit(*data)


def test_predictions_that_cannot_be(data, model):
    for options, words in [
        ({"k": 0}, "k"),
        ({"k": 2**70}, "k"),
        ({"k": "all"}, "k"),
        ({"weights": [1.0]}, "weights"),
        ({"propensity": [0.5]}, "propensities|labels"),
        ({"threshold": "high"}, "threshold"),
        ({"threshold": np.nan}, "threshold"),
    ]:
        with pytest.raises(ValueError, match=words):
            model.predict_top_k(data[0], **options)
    assert model.predict_top_k(data[0], k=2**40).shape == (40, 4)


def test_files_that_are_none(tmp_path, model):
    model.save(tmp_path / "model")
    whole = (tmp_path / "model").read_bytes()
    for length in [0, 1, 7, 8, 9, 100, len(whole) // 2, len(whole) - 1]:
        (tmp_path / "cut").write_bytes(whole[:length])
        with pytest.raises(um.FormatError, match="cut"):
            um.OneVsRest.load(tmp_path / "cut")
    flipped = bytearray(whole)
    flipped[-3] ^= 255
    (tmp_path / "flipped").write_bytes(flipped)
    with pytest.raises(um.FormatError, match="flipped"):
        um.OneVsRest.load(tmp_path / "flipped")
    for load, refused in (
        (um.OneVsRest.load, IsADirectoryError),
        (um.read, IsADirectoryError),
        (lambda path: um.propensities(None, f"table:{path}"), ValueError),
    ):
        with pytest.raises(refused, match=f"{tmp_path.name}.* is a directory" if refused is ValueError else tmp_path.name):
            load(tmp_path)
        with pytest.raises(FileNotFoundError):
            load(tmp_path / "nothing")
    writers = (model.save, lambda path: um.write(path, Y), um.evaluate(Y, S, k=1).to_html, um.Propensities([0.5]).write)
    for write in writers:
        with pytest.raises(IsADirectoryError, match=tmp_path.name):
            write(tmp_path)
        with pytest.raises(FileNotFoundError):
            write(tmp_path / "x" / "y.txt")
        with pytest.raises(ValueError):
            write("a\0b")
        for path in (3, 2.5, ["x.txt"]):
            with pytest.raises(TypeError):
                write(path)
    for path in (None, 3, 2.5):
        with pytest.raises(TypeError):
            um.read(path)
    with pytest.raises(FileNotFoundError):
        um.read(b"\xff")
    assert not list(tmp_path.glob("*.tmp*"))


def test_evidence_that_cannot_be():
    train = [[0], [1], [0, 1], []]
    for method, options, words in [
        ("hierarchy", {"hierarchy": [(0, -1)]}, "pair 0"),
        ("hierarchy", {"hierarchy": [(0, 1), (1, 2, 3)]}, "pair 1"),
        ("hierarchy", {"hierarchy": [(0, 2**40)]}, "pair 0"),
        ("hierarchy", {"hierarchy": [(0, 7)]}, "7"),
        ("hierarchy", {"hierarchy": [(0, 1), (1, 0)]}, "cycle|circle|itself"),
        ("hierarchy", {"hierarchy": 3}, "hierarchy"),
        ("relation", {"bought": [("a", 0)], "viewed": []}, "pair 0"),
        ("timelapse", {"later": [[0]]}, "rows"),
        ("timelapse", {"later": np.eye(4)}, "labels"),
        ("direct", {"controlled": train, "rate": (1, 0)}, "rate"),
        ("direct", {"controlled": train, "rate": (1, 2, 3)}, "rate"),
        ("direct", {"controlled": train, "rate": np.nan}, "rate"),
        ("direct", {"controlled": train, "rate": [0.5]}, "rate"),
        ("direct", {"controlled": train, "rate": ["a", "b"]}, "rate"),
        ("direct", {"controlled": train, "rate": 0.5, "level": 3}, "level"),
        ("shrunken", {"controlled": train, "rate": 0.5, "curve": "cubic"}, "cubic"),
        ("shrunken", {"controlled": train, "rate": 0.5, "random_state": -1}, "random_state"),
        (None, {}, "method|estimator"),
    ]:
        with pytest.raises(ValueError, match=words):
            um.estimate_propensity(method, train=train, **options)


def test_models_that_cannot_be():
    for spec, words in [("jpv:a=x", "number"), ("jpv:a=nan", "number"), ("", "name|spec"), ("jpv:c=1", "option"), (None, "model"), (3, "model")]:
        with pytest.raises(ValueError, match=words):
            um.propensities(LISTS, spec)
    for options in ({"labels": 0}, {"train_rows": -1}, {"radius": 3}, {"labels": "x"}, {"random_state": -1}):
        with pytest.raises(ValueError):
            um.datasets.balls(**options)


@pytest.mark.parametrize("text", ["garbage", "0", "-1", "1.5", "99999999999999999999"])
def test_threads_in_the_environment(text, monkeypatch):
    monkeypatch.setenv("UNMISSED_THREADS", text)
    with pytest.raises(ValueError, match="UNMISSED_THREADS is out of range"):
        um.precision(Y, S, k=1)


def _work(task):
    function, arguments = pickle.loads(task)
    return function(*arguments)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_work_in_other_processes(method, data, model):
    """Functions, propensities, models and reports go to other processes and back."""
    p = um.Propensities(np.full(4, 0.5))
    tasks = [
        (um.precision, (Y, S, 2, "unbiased", p)),
        (um.macro_f, (sp.csr_matrix(Y), S, 2)),
        (um.evaluate, (Y, S)),
        (model.decision_function, (data[0],)),
        (um.scorer("precision@2"), (model, *data)),
        (um.propensities, (LISTS, "jpv")),
    ]
    # What the parent has done must not leave threads behind that a forked child waits for.
    pickle.loads(pickle.dumps(model))
    um.estimate_propensity("direct", train=LISTS, controlled=LISTS, rate=0.5)
    with multiprocessing.get_context(method).Pool(2) as pool:
        found = pool.map_async(_work, [pickle.dumps(task) for task in tasks]).get(timeout=120)
    here = [function(*arguments) for function, arguments in tasks]
    assert found[:2] == here[:2] and found[2].rows == here[2].rows and np.array_equal(found[3], here[3]) and found[4] == here[4]


def test_memory_that_changes_meanwhile_is_not_ours_to_break():
    """Views of a file that is mapped read-only, and of a buffer that numpy does not own."""
    buffer = bytearray(S.astype(np.float32).tobytes())
    view = np.frombuffer(buffer, np.float32).reshape(4, 4)
    assert um.precision(Y, view, k=2) == um.precision(Y, S, k=2)


def test_mapped_files(tmp_path):
    np.save(tmp_path / "s.npy", S.astype(np.float32))
    mapped = np.load(pathlib.Path(tmp_path / "s.npy"), mmap_mode="r")
    assert um.precision(Y, mapped, k=2) == um.precision(Y, S, k=2)


def test_the_functions_of_other_libraries_are_as_careful():
    from unmissed.compat import napkinxc, pyxclib

    for work, words in [
        (lambda: napkinxc.precision_at_k(None, None), "Y_true"),
        (lambda: napkinxc.precision_at_k(Y, S, 0), "k"),
        (lambda: napkinxc.precision_at_k(Y, S, 10**9), "k"),
        (lambda: napkinxc.psprecision_at_k(Y, S, None), "inv_ps"),
        (lambda: napkinxc.psprecision_at_k(Y, S, {-9: 1.0}), "inv_ps"),
        (lambda: napkinxc.psprecision_at_k(Y, S, [np.nan] * 4), "label 0"),
        (lambda: pyxclib.precision(S, Y, 0), "k"),
        (lambda: pyxclib.precision(S, Y, 10**12), "k"),
        (lambda: pyxclib.precision(None, Y), "X"),
        (lambda: pyxclib.precision({"scores": S}, Y), "indices"),
        (lambda: pyxclib.psprecision(S, Y, None, 2), "inv_psp"),
        (lambda: pyxclib.psprecision(S, Y, [1.0], 2), "labels"),
        (lambda: pyxclib.auc(S, Y, 0), "k"),
    ]:
        with pytest.raises(ValueError, match=words):
            work()


def test_propensities_that_are_none():
    for options, words in [
        ({"low": [1.0], "high": "x"}, "high"),
        ({"source_codes": [9] * 4}, "source_codes"),
        ({"origin": 3}, "origin"),
        ({"bound": 3}, "bound"),
        ({"inverse_variances": [[1.0]]}, "inverse_variances"),
    ]:
        with pytest.raises(ValueError, match=words):
            um.Propensities([0.5] * 4, **options)
    for options, words in [({"bound": "half"}, "half"), ({"low": [0.1] * 2, "high": [0.9] * 2}, "interval|labels")]:
        with pytest.raises(ValueError, match=words):
            um.evaluate(Y, S, propensity=um.Propensities([0.5] * 4, **options), k=1)
    with pytest.raises(ValueError, match="starts"):
        um.fit_propensity("power", train=Y, propensities=[0.5] * 4, starts=10**12)
    for wrong in (3, "@5", "precision@0"):
        with pytest.raises(ValueError):
            um.scorer(wrong)
    with pytest.raises(ValueError, match="format"):
        um.read("x.txt", format=3)
