"""Every kind of input gives the same numbers, nothing is copied without need, and bad input is answered with its row."""

import numpy as np
import pytest
import scipy.sparse as sp

import unmissed as um
from unmissed import _core, _inputs

ROWS, LABELS, K = 30, 12, 4


@pytest.fixture
def truth():
    matrix = sp.random(ROWS, LABELS, density=0.2, format="csr", random_state=5, dtype=np.float32)
    matrix.data[:] = 1
    return matrix


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    return rng.permutation(ROWS * LABELS).reshape(ROWS, LABELS).astype(np.float32) + 1


def values(truth, predictions, **options):
    report = um.evaluate(truth, predictions, metrics=["precision", "recall:observed", "macro-f", "coverage"], bootstrap=0, **options)
    return [row.value for row in report.rows]


def label_lists(matrix):
    return [matrix.indices[a:b].tolist() for a, b in zip(matrix.indptr, matrix.indptr[1:])]


def top(scores, k=K):
    order = np.argsort(-scores, axis=1)[:, :k]
    return order, np.take_along_axis(scores, order, axis=1)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.coo_array, sp.lil_matrix])
def test_sparse_kinds(truth, scores, kind):
    expected = values(truth, sp.csr_matrix(scores))
    assert values(kind(truth), kind(sp.csr_matrix(scores))) == expected


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.bool_, np.int8, np.uint8, np.int64])
def test_index_and_value_types(truth, scores, index, dtype):
    expected = values(truth, sp.csr_matrix(scores))
    typed = truth.astype(dtype)
    typed.indices, typed.indptr = typed.indices.astype(index), typed.indptr.astype(index)
    assert values(typed, sp.csr_matrix(scores)) == expected
    predictions = sp.csr_matrix(scores).astype(np.float64)
    predictions.indices, predictions.indptr = predictions.indices.astype(index), predictions.indptr.astype(index)
    assert values(truth, predictions) == expected


def test_dense_lists_and_top_k(truth, scores):
    expected = values(truth, sp.csr_matrix(scores), k=[1, 3])
    labels, best = top(scores)
    for y_true in (truth, truth.toarray(), truth.toarray().astype(bool), truth.toarray().astype(np.int8), label_lists(truth)):
        for y_pred in (
            scores,
            scores.astype(np.float64),
            um.TopK(labels, best),
            um.TopK(labels),
            (labels, best),
            {"indices": labels, "scores": best},
            labels,
            labels.astype(np.uint16),
            labels.tolist(),
            [list(zip(row.tolist(), one.tolist())) for row, one in zip(labels, best)],
        ):
            assert values(y_true, y_pred, k=[1, 3], n_labels=LABELS) == expected


def test_tuples_sets_and_empty_rows():
    assert um.precision([{0, 2}, (), [1]], [(2, 0), [], [0]], k=1) == pytest.approx(1 / 3)
    assert um.precision([[], [0]], [[0], [0]], k=1) == 0.5


def test_data_frames(truth, scores):
    pandas = pytest.importorskip("pandas")
    frames = pandas.DataFrame(truth.toarray()), pandas.DataFrame(scores)
    assert values(*frames) == values(truth, scores)


def test_stored_zeros_are_predictions_but_not_labels():
    truth = sp.csr_matrix((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 3))
    assert um.recall(truth, [[1]], k=1) == 1.0
    assert um.recall(truth.astype(bool), [[1]], k=1) == 1.0
    zeros = sp.csr_matrix((np.array([0.0, -1.0], np.float32), np.array([1, 2]), np.array([0, 2])), shape=(1, 3))
    assert um.precision(truth, zeros, k=1) == 1.0


def test_unsorted_ids(truth, scores):
    def shuffled(matrix):
        matrix = sp.csr_matrix(matrix)
        rng = np.random.default_rng(1)
        for a, b in zip(matrix.indptr, matrix.indptr[1:]):
            order = rng.permutation(b - a)
            matrix.indices[a:b], matrix.data[a:b] = matrix.indices[a:b][order], matrix.data[a:b][order]
        matrix.has_sorted_indices = False
        return matrix

    assert values(shuffled(truth.copy()), shuffled(scores)) == values(truth, scores)


def test_nothing_is_copied_where_types_allow(truth, scores):
    predictions = sp.csr_matrix(scores)
    matrix = _inputs.scores(predictions, "y_pred")
    assert _core.addresses(matrix) == (predictions.indices.ctypes.data, predictions.data.ctypes.data)
    for labels in (truth, truth.astype(bool), truth.astype(np.int8), sp.csr_array(truth)):
        matrix = _inputs.labels(labels, "y_true")
        assert _core.addresses(matrix)[0] == labels.indices.ctypes.data


def test_read_only_arrays_are_borrowed_too(truth, scores):
    predictions = sp.csr_matrix(scores)
    for array in (predictions.indices, predictions.data, predictions.indptr, truth.indices, truth.indptr, truth.data):
        array.flags.writeable = False
    matrix = _inputs.scores(predictions, "y_pred")
    assert _core.addresses(matrix) == (predictions.indices.ctypes.data, predictions.data.ctypes.data)
    assert values(truth, predictions) == values(truth, scores)


def misaligned(array):
    raw = np.zeros(array.nbytes + 1, np.uint8)
    moved = raw[1:].view(array.dtype)[: array.size]
    moved[:] = array
    assert not moved.flags.aligned
    return moved


def test_misaligned_foreign_and_strided_arrays(truth, scores):
    expected = values(truth, sp.csr_matrix(scores))
    for change in (misaligned, lambda a: a.astype(a.dtype.newbyteorder(">")), lambda a: np.repeat(a, 2)[::2]):
        matrix = sp.csr_matrix(scores)
        matrix.data = change(matrix.data)
        if change is not misaligned:
            assert values(truth, matrix) == expected
        else:
            matrix.indices, matrix.indptr = change(matrix.indices), change(matrix.indptr)
            assert values(truth, matrix) == expected
    assert values(truth, np.asfortranarray(scores)) == expected


@pytest.mark.parametrize(
    "y_true, y_pred, words",
    [
        ([[0], [1]], np.array([[0.5, 0.2], [0.1, np.nan]]), "row 1"),
        ([[0], [1]], [[0], [-1]], "row 1"),
        ([[0], [-2]], [[0], [1]], "row 1"),
        ([[0], [1]], np.array([[0], [-1]]), "row 1"),
        ([[0], [1]], [[0], [1, 1]], "row 1"),
        ([[0], [1.5]], [[0], [1]], "row 1"),
        ([[0], ["x"]], [[0], [1]], "row 1"),
        ([[0], 3], [[0], [1]], "row 1"),
        ([[0], [1]], [[(0, 0.5)], [(1, 0.5, 3)]], "row 1"),
        (np.array([[1, 0], [0, -1]]), [[0], [1]], "row 1"),
        (np.array([[1.0, 0], [0, np.nan]]), [[0], [1]], "row 1"),
        (sp.csr_matrix(np.array([[1.0, 0], [0, -1]])), [[0], [1]], "row 1"),
        ([[0], [1]], [[0]], "rows"),
        (np.eye(3), np.eye(4), "expected 3"),
        (np.ones(3), [[0]], "shape"),
        ([[0], [1]], um.TopK([[0], [1]], [[0.5, 0.1], [1, 1]]), "shape"),
        ([[0], [1]], um.TopK([[0.5], [1.0]]), "whole numbers"),
        ([[0], [1]], np.array([[0], [1]]), "n_labels"),
        (np.eye(2), [[0], [5]], "5"),
    ],
)
def test_bad_input_says_where(y_true, y_pred, words):
    options = {} if words == "n_labels" or not isinstance(y_true, list) else {"n_labels": 2}
    with pytest.raises(ValueError, match=words):
        um.evaluate(y_true, y_pred, k=1, **options)


def test_wide_ids_out_of_range_and_negative():
    wide = sp.csr_matrix(np.eye(2, dtype=np.float32))
    wide.indptr = wide.indptr.astype(np.int64)
    wide.indices = np.array([0, 2**40], np.int64)
    with pytest.raises(ValueError):
        um.evaluate(np.eye(2), wide, k=1)
    wide.indices = np.array([0, -1], np.int64)
    with pytest.raises(ValueError, match="negative label in row 1"):
        um.evaluate(np.eye(2), wide, k=1)


def test_scores_beyond_single_precision_are_refused_with_their_row():
    with pytest.raises(ValueError, match="row 1"):
        um.evaluate(np.eye(2), np.array([[1.0, 2.0], [1e300, 1.0]]), k=1)


def test_k_is_checked():
    for k in (0, -1, 1.5, True, []):
        with pytest.raises(ValueError):
            um.precision([[0]], [[0]], k=k)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_minus_infinity_is_no_prediction(dtype):
    scores = np.array([[0.2, -np.inf, 0.1], [-np.inf] * 3, [-np.inf, 0.3, -np.inf]], dtype)
    y = [[2], [0], [1, 2]]
    rows, labels = np.indices(scores.shape)
    best = np.argsort(-scores, axis=1, kind="stable")
    wanted = um.evaluate(y, [[(0, scores[0, 0]), (2, scores[0, 2])], [], [(1, scores[2, 1])]], k=3, n_labels=3).to_dict()["rows"]
    assert um.evaluate(y, scores, k=3, metrics=["recall"], n_labels=3).value("recall", 3) == 0.5
    padded = np.where(np.take_along_axis(scores, best, 1) == -np.inf, -1, best)
    for given in (
        scores,
        sp.csr_matrix((scores.ravel().astype(np.promote_types(dtype, np.float32)), (rows.ravel(), labels.ravel()))),
        (best, np.take_along_axis(scores, best, 1)),
        # Padding need not be a label.
        um.TopK(padded, np.take_along_axis(scores, best, 1)),
        {"indices": best, "scores": np.take_along_axis(scores, best, 1)},
        [list(zip(range(3), row)) for row in scores],
    ):
        assert um.evaluate(y, given, k=3, n_labels=3).to_dict()["rows"] == wanted
        assert um.Evaluator(3, k=3).update(y, given).compute().to_dict()["rows"] == wanted
    # What becomes infinite in single precision only, and NaN beside it, stay errors with their row.
    for wrong, message in ((-1e39, "row 2"), (np.nan, "row 2")):
        broken = scores.astype(float)
        broken[2, 0] = wrong
        with pytest.raises(ValueError, match=message):
            um.evaluate(y, broken, k=3, n_labels=3)


def test_whole_numbers_that_may_be_labels_are_pointed_out():
    with pytest.warns(UserWarning, match="pass um.TopK"):
        um.evaluate([[0], [1]], np.array([[0, 1, 2], [1, 2, 0]]), k=1, n_labels=3)


def test_ignored_pairs_may_be_tuples():
    scores = np.array([[0.9, 0.1, 0.5], [0.2, 0.8, 0.1]])
    one = um.evaluate([[2], [1]], scores, k=1, metrics=["precision"], n_labels=3, ignore=[(0, 0)])
    other = um.evaluate([[2], [1]], scores, k=1, metrics=["precision"], n_labels=3, ignore=np.array([[0, 0]]))
    assert one.value("precision", 1) == other.value("precision", 1) == 1.0
