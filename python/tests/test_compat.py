"""The functions of other libraries: their recorded values, and napkinXC itself where it is installed."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp

import unmissed as um
from unmissed.compat import napkinxc, pyxclib


def load(golden):
    test, predictions, train = (um.read(golden.path(name)) for name in ("test", "predictions", "train"))
    return test.y, predictions.scores, train.y


PYXCLIB = {
    "precision": lambda t, p, q: pyxclib.precision(p, t),
    "recall": lambda t, p, q: pyxclib.recall(p, t),
    "ndcg": lambda t, p, q: pyxclib.ndcg(p, t),
    "psprecision": lambda t, p, q: pyxclib.psprecision(p, t, q),
    "psrecall": lambda t, p, q: pyxclib.psrecall(p, t, q),
    "psndcg": lambda t, p, q: pyxclib.psndcg(p, t, q),
}
NAPKINXC = {
    "precision": lambda t, p, q: napkinxc.precision_at_k(t, p),
    "recall": lambda t, p, q: napkinxc.recall_at_k(t, p),
    "ndcg": lambda t, p, q: napkinxc.ndcg_at_k(t, p),
    "psprecision": lambda t, p, q: napkinxc.psprecision_at_k(t, p, q),
    "psprecision_raw": lambda t, p, q: napkinxc.psprecision_at_k(t, p, q, normalize=False),
    "psrecall": lambda t, p, q: napkinxc.psrecall_at_k(t, p, q),
    "psndcg": lambda t, p, q: napkinxc.psndcg_at_k(t, p, q),
    "abandonment": lambda t, p, q: napkinxc.abandonment_at_k(t, p),
    "coverage": lambda t, p, q: napkinxc.coverage_at_k(t, p),
}


@pytest.mark.parametrize("library, functions", [("pyxclib", PYXCLIB), ("napkinxc", NAPKINXC)])
def test_recorded_values(golden, library, functions):
    truth, predictions, train = load(golden)
    inverse = pyxclib.compute_inv_propesity(train, 0.55, 1.5)
    assert inverse == pytest.approx(napkinxc.Jain_et_al_inverse_propensity(train))
    assert set(golden.peers[library]) == set(functions)
    for name, values in golden.peers[library].items():
        assert functions[name](truth, predictions, inverse) == pytest.approx(values, abs=2e-6), name


def test_metrics_object_and_format(golden):
    truth, predictions, train = load(golden)
    inverse = pyxclib.compute_inv_propesity(train, 0.55, 1.5)
    found = pyxclib.Metrics(truth, inverse).eval(predictions, K=5)
    names = ["precision", "ndcg", "psprecision", "psndcg"]
    for name, values in zip(names, found, strict=True):
        assert values == pytest.approx(golden.peers["pyxclib"][name], abs=2e-6)
    assert len(pyxclib.Metrics(truth).eval(predictions, K=3)) == 2
    assert pyxclib.format([0.5, 0.25], [1.0]) == "50.00,25.00\n100.00"
    with pytest.warns(FutureWarning):
        pyxclib.Metrices(truth)
    labelled = pyxclib.Metrics(truth, remove_invalid=True)
    assert labelled.num_instances == (truth.getnnz(axis=1) > 0).sum()
    assert labelled.eval(predictions, 1)[0] == pytest.approx(pyxclib.precision(predictions, truth, 1) * truth.shape[0] / labelled.num_instances)


def test_kinds_of_predictions_of_pyxclib(small):
    truth, scores, _ = small
    dense = scores.toarray()
    order = np.argsort(-dense, axis=1)
    best = np.take_along_axis(dense, order, 1)
    expected = pyxclib.precision(scores, truth)
    shuffled = {"indices": order[:, ::-1].copy(), "scores": best[:, ::-1].copy()}
    for X, options in [(dense, {}), (order[:, :5], {"sorted": True}), (shuffled, {}), ({"indices": order, "scores": best}, {"sorted": True})]:
        assert np.array_equal(pyxclib.precision(X, truth, **options), expected)
    with pytest.raises(ValueError, match="sorted=True"):
        pyxclib.precision(order, truth)
    padded = order[:, :5].copy()
    padded[:, 3:] = truth.shape[1]
    assert np.array_equal(pyxclib.precision(padded, truth, sorted=True)[:3], expected[:3])
    assert pyxclib.hits(scores, truth)[0] == expected[0]


def test_further_functions_of_pyxclib():
    """Numbers by hand."""
    truth = sp.csr_matrix(np.array([[1, 0, 1, 0], [0, 0, 0, 0], [0, 1, 0, 0]]))
    scores = sp.csr_matrix(np.array([[4.0, 3.0, 2.0, 1.0], [4, 3, 2, 1], [4, 3, 2, 1]]))
    # Hits at ranks 0 and 2 of 4: (0, 1), (0, 3) and (2, 3) of four pairs are in order; none; hit at rank 1: two of three.
    assert pyxclib.auc(scores, truth, 4) == pytest.approx((3 / 4 + 0 + 2 / 3) / 3)
    assert pyxclib.fast_recall(scores, truth, 1) == pytest.approx((1 / 2 + 0) / 2)
    other = sp.csr_matrix(np.array([[1.0, 0, 1, 0], [0, 0, 0, 0], [0, 1, 1, 0]]))
    assert pyxclib.jaccard_similarity(scores, other) == pytest.approx((2 / 4 + 0 + 2 / 4) / 3)
    assert pyxclib.jaccard_similarity(scores, other, y=truth) == pytest.approx((1 + 0 + 1) / 3)
    with pytest.raises(ValueError, match="rows"):
        pyxclib.auc(scores[:2], truth, 4)


def lists(matrix):
    return [matrix.indices[a:b].tolist() for a, b in zip(matrix.indptr, matrix.indptr[1:])]


def test_the_functions_of_napkinxc_are_all_there():
    theirs = pytest.importorskip("napkinxc.metrics")
    functions = {name for name, one in vars(theirs).items() if inspect.isfunction(one) and not name.startswith("_")}
    functions = {name for name in functions if getattr(theirs, name).__module__ == theirs.__name__}
    assert functions == set(napkinxc.__all__)
    for name in functions:
        ours, those = (inspect.signature(getattr(library, name)).parameters for library in (napkinxc, theirs))
        assert [(one.name, one.default) for one in ours.values()] == [(one.name, one.default) for one in those.values()], name


def test_napkinxc_itself(small):
    theirs = pytest.importorskip("napkinxc.metrics")
    truth, scores, train = small
    q = theirs.Jain_et_al_inverse_propensity(train)
    assert napkinxc.Jain_et_al_inverse_propensity(train) == pytest.approx(q)
    assert napkinxc.Jain_et_al_propensity(train) == pytest.approx(theirs.Jain_et_al_propensity(train))
    assert napkinxc.labels_priors(train) == pytest.approx(theirs.labels_priors(train))
    assert napkinxc.count_labels(lists(train)) == pytest.approx(theirs.count_labels(lists(train)))
    order = np.argsort(-scores.toarray(), axis=1)
    ranked = [row[: 3 + place % 5].tolist() for place, row in enumerate(order)]
    scored = [[(label, 0.5) for label in row] for row in ranked]
    for Y, P in [(truth, scores), (truth.toarray(), scores.toarray()), (lists(truth), ranked), (lists(truth), scored)]:
        for name in ("precision_at_k", "recall_at_k", "dcg_at_k", "ndcg_at_k", "abandonment_at_k", "coverage_at_k"):
            assert getattr(napkinxc, name)(Y, P, 7) == pytest.approx(getattr(theirs, name)(Y, P, 7)), name
        for name in ("psprecision_at_k", "psrecall_at_k", "psdcg_at_k", "psndcg_at_k"):
            for normalize in (True, False):
                ours = getattr(napkinxc, name)(Y, P, q, k=4, normalize=normalize)
                assert ours == pytest.approx(getattr(theirs, name)(Y, P, q, k=4, normalize=normalize)), name
        assert napkinxc.recall_at_k(Y, P, zero_division=1) == pytest.approx(theirs.recall_at_k(Y, P, zero_division=1))
    for name in ("hamming_loss", "micro_f1_measure", "samples_f1_measure", "macro_f1_measure", "f1_measure"):
        assert getattr(napkinxc, name)(lists(truth), ranked) == pytest.approx(getattr(theirs, name)(lists(truth), ranked)), name
    for average in ("micro", "macro", "samples"):
        ours = napkinxc.f1_measure(lists(truth), ranked, average, 0.5)
        assert ours == pytest.approx(theirs.f1_measure(lists(truth), ranked, average, 0.5)), average
    for name in ("macro_precision_at_k", "macro_recall_at_k", "macro_f1_measure_at_k"):
        for Y, P in [(truth, scores), (lists(truth), ranked)]:
            for zero_division in (0, 1):
                ours = getattr(napkinxc, name)(Y, P, 5, zero_division)
                assert ours == pytest.approx(getattr(theirs, name)(Y, P, 5, zero_division)), name
    by_label = dict(enumerate(q))
    assert napkinxc.psprecision_at_k(truth, scores, by_label) == pytest.approx(theirs.psprecision_at_k(truth, scores, by_label))
    # k beyond the number of labels.
    assert napkinxc.precision_at_k([[0]], [[0]], 4) == pytest.approx(theirs.precision_at_k([[0]], [[0]], 4))


def test_where_napkinxc_is_wrong_we_differ(small):
    theirs = pytest.importorskip("napkinxc.metrics")
    truth, scores, _ = small
    # Row counts that differ: cut there, an error here.
    assert theirs.precision_at_k(truth, scores[:30]) is not None
    with pytest.raises(ValueError, match="rows"):
        napkinxc.precision_at_k(truth, scores[:30])
    # Stored zeros of the truth are labels there.
    zero = sp.csr_matrix((np.array([0.0]), np.array([0]), np.array([0, 1])), shape=(1, 2))
    assert theirs.precision_at_k(zero, [[0]], 1)[0] == 1 and napkinxc.precision_at_k(zero, [[0]], 1)[0] == 0
    # Scores that are not numbers are ranked there.
    nan = np.array([[np.nan, 0.5]])
    assert theirs.precision_at_k([[0]], nan, 1) is not None
    with pytest.raises(ValueError, match="row 0"):
        napkinxc.precision_at_k([[0]], nan, 1)
    # Whatever k is, it is 5 there.
    assert len(theirs.macro_f1_measure_at_k(truth, scores, 3)) == 5 and len(napkinxc.macro_f1_measure_at_k(truth, scores, 3)) == 3
    # Labels beyond the largest that occurs count nowhere there.
    assert theirs.macro_f1_measure([[0], [1]], [[0], [0]]) == pytest.approx(1 / 3)
    assert um.macro_f([[0], [1]], [[0], [0]], k=1, n_labels=4) == pytest.approx(1 / 6)
    # Abandonment is the hit rate there.
    assert napkinxc.abandonment_at_k(truth, scores)[4] == pytest.approx(1 - um.abandonment(truth, scores, k=5))


def test_xcolumns(small):
    theirs = pytest.importorskip("xcolumns.metrics")
    truth, scores, _ = small
    dense, k = scores.toarray(), 5
    binary = np.zeros_like(dense)
    np.put_along_axis(binary, np.argsort(-dense, axis=1)[:, :k], 1, axis=1)
    Y, B = truth.toarray().astype(np.float32), binary.astype(np.float32)
    assert um.macro_f(truth, scores, k=k) == pytest.approx(theirs.macro_f1_score(Y, B), abs=1e-6)
    assert um.precision(truth, scores, k=k) == pytest.approx(theirs.precision_at_k(Y, B, k=k), abs=1e-6)
    assert um.coverage(truth, scores, k=k) == pytest.approx(theirs.coverage(Y, B), abs=1e-6)
    # Their beta is the wrong way round: their F2 is F0.5.
    assert um.macro_f(truth, scores, k=k, beta=0.5) == pytest.approx(theirs.macro_fbeta_score(Y, B, beta=2.0), abs=1e-6)


def test_scikit_learn(small):
    metrics = pytest.importorskip("sklearn.metrics")
    truth, scores, _ = small
    dense, Y = scores.toarray(), truth.toarray().astype(int)
    for k in (1, 3, 5):
        binary = np.zeros_like(Y)
        np.put_along_axis(binary, np.argsort(-dense, axis=1)[:, :k], 1, axis=1)
        assert um.precision(Y, dense, k=k) == pytest.approx(metrics.precision_score(Y, binary, average="samples", zero_division=0))
        assert um.recall(Y, dense, k=k) == pytest.approx(metrics.recall_score(Y, binary, average="samples", zero_division=0))
        assert um.macro_f(Y, dense, k=k) == pytest.approx(metrics.f1_score(Y, binary, average="macro", zero_division=0))
        f2 = metrics.fbeta_score(Y, binary, beta=2.0, average="macro", zero_division=0)
        assert um.macro_f(Y, dense, k=k, beta=2.0) == pytest.approx(f2)
        # It leaves rows without labels at 0, as we do.
        assert um.ndcg_min(Y, dense, k=k) == pytest.approx(metrics.ndcg_score(Y, dense, k=k))
