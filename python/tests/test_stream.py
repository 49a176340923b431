"""Streams: batches of any kind and size are one evaluation."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import unmissed as um

N, M = 400, 30


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    y = sp.csr_matrix(rng.random((N, M)) < np.linspace(0.3, 0.02, M), dtype=np.int8)
    scores = rng.random((N, M), dtype=np.float32) + 0.7 * y.toarray()
    train = sp.csr_matrix(rng.random((200, M)) < np.linspace(0.3, 0.02, M), dtype=np.int8)
    return y, scores, train


SETTINGS = [
    {},
    {"propensity": ["jpv", "power"], "groups": True, "weights": "log", "clip": 5.0, "k": [1, 4]},
    {"propensity": "jpv", "interval": "mask", "sensitivity": "1.5:pair"},
]


def in_batches(evaluator, y, scores, sizes, rows=None):
    start = 0
    while start < y.shape[0]:
        end = min(y.shape[0], start + next(sizes))
        evaluator.update(y[start:end], scores[start:end], rows=None if rows is None else rows[start:end])
        start = end
    return evaluator


def sizes(seed):
    rng = np.random.default_rng(seed)
    while True:
        yield int(rng.integers(1, 90))


@pytest.mark.parametrize("settings", SETTINGS)
def test_batches_give_what_one_call_gives(data, settings):
    y, scores, train = data
    wanted = um.evaluate(y, scores, train=train, **settings).to_dict()
    evaluator = um.Evaluator(M, train=train, **settings)
    assert in_batches(evaluator, y, scores, sizes(1)).compute().to_dict() == wanted
    # A batch after compute continues; after a reset everything starts again.
    assert evaluator.n_rows == N
    evaluator.reset()
    order = np.random.default_rng(5).permutation(N)
    assert in_batches(evaluator, y[order], scores[order], sizes(2), order).compute().to_dict() == wanted


def test_copies_and_pickles_go_on_by_themselves(data):
    y, scores, train = data
    wanted = um.evaluate(y, scores, train=train, propensity="jpv").to_dict()
    half = um.Evaluator(M, train=train, propensity="jpv").update(y[:150], scores[:150])
    half.compute()
    for other in (copy.copy(half), copy.deepcopy(half), pickle.loads(pickle.dumps(half))):
        assert other.update(y[150:], scores[150:]).compute().to_dict() == wanted
    assert half.n_rows == 150
    empty = pickle.loads(pickle.dumps(um.Evaluator(M)))
    assert empty.n_rows == 0 and "n_rows=0" in repr(empty)


def test_merging_in_any_order(data, tmp_path):
    y, scores, train = data
    settings = {"train": train, "propensity": "jpv"}
    models = {"a": scores, "b": scores[:, ::-1].copy()}
    wanted = um.evaluate(y, models, **settings).to_dict()
    order = np.random.default_rng(7).permutation(N)
    parts = []
    for rows in np.array_split(order, 3):
        part = um.Evaluator(M, **settings)
        parts.append(part.update(y[rows], {name: one[rows] for name, one in models.items()}, rows=rows))
    for places in ([0, 1, 2], [2, 0, 1]):
        merged = um.Evaluator(M, **settings)
        for place in places:
            merged.merge(parts[place] if place else parts[place].to_bytes())
        assert merged.compute().to_dict() == wanted
        assert merged.merge(um.Evaluator(M, **settings)).n_rows == N
    with pytest.raises(ValueError, match="two tallies cover the same rows"):
        parts[0].merge(copy.copy(parts[0]))
    # Evaluators that number their rows themselves are put behind each other.
    first = um.Evaluator(M, **settings).update(y[:100], scores[:100])
    second = um.Evaluator(M, **settings).update(y[100:], scores[100:])
    assert first.merge(second).compute().to_dict() == um.evaluate(y, scores, **settings).to_dict()
    with pytest.raises(ValueError, match="cannot merge an evaluator with itself"):
        first.merge(first)
    assert first.n_rows == N


def test_every_kind_of_batch(data):
    y, scores, _ = data
    best = np.argsort(-scores, axis=1, kind="stable")[:, :5]
    wanted = um.evaluate(y, um.TopK(best)).to_dict()["rows"]
    lists = [row.indices.tolist() for row in y]
    kinds = [
        (y, um.TopK(best)),
        (y.toarray(), (best, np.take_along_axis(scores, best, 1))),
        (lists, best.tolist()),
        (y.tocsc(), scores),
        (y, sp.csr_matrix(scores)),
    ]
    for truth, predicted in kinds:
        assert um.Evaluator(M).update(truth, predicted).compute().to_dict()["rows"] == wanted


def test_list_columns_are_not_copied(data):
    pyarrow = pytest.importorskip("pyarrow")
    from unmissed._batches import batch_labels, batch_scores

    y, scores, _ = data
    best = np.argsort(-scores, axis=1, kind="stable")[:, :5].astype(np.int32)
    labels = pyarrow.array([row.indices.tolist() for row in y], pyarrow.list_(pyarrow.int32()))
    predicted = pyarrow.array(best.tolist(), pyarrow.list_(pyarrow.int32()))
    values = pyarrow.array(np.take_along_axis(scores, best, 1).tolist(), pyarrow.large_list(pyarrow.float32()))
    wanted = um.evaluate(y, um.TopK(best)).to_dict()["rows"]
    evaluator = um.Evaluator(M)
    evaluator.update(labels[:150], (predicted[:150], values[:150]))
    evaluator.update(pyarrow.chunked_array([labels[150:300], labels[300:]]), predicted[150:])
    assert evaluator.compute().to_dict()["rows"] == wanted
    part = labels[10:20]
    found = batch_labels(part, "y", M).indices
    assert found.ctypes.data == part.flatten().to_numpy().ctypes.data
    assert batch_scores((predicted, values), "p", M, 5).data.ctypes.data == values.flatten().to_numpy().ctypes.data
    for broken, message in [
        (pyarrow.array([[1], None]), "y_true, row 1 is null"),
        (pyarrow.array([[1], [2, None]]), "y_true, row 1: expected numbers, found null"),
        (pyarrow.array([1, 2]), "not a list column"),
        (pyarrow.array([[0.5], [1.0]]), "expected labels as whole numbers"),
    ]:
        with pytest.raises(ValueError, match=message):
            um.Evaluator(M).update(broken, [[0], [1]])
    with pytest.raises(ValueError, match="row 1: expected a score for each of 2 labels, found 1"):
        um.Evaluator(M).update([[0], [1]], (pyarrow.array([[0], [1, 2]]), pyarrow.array([[0.5], [1.0]])))


def test_ignored_pairs(data, tmp_path):
    y, scores, _ = data
    pairs = np.stack([np.arange(N), np.arange(N) * 7 % M], axis=1)
    keep = np.ones((N, M), bool)
    keep[pairs[:, 0], pairs[:, 1]] = False
    matrix = sp.csr_matrix((scores[keep], np.nonzero(keep)), shape=(N, M))
    wanted = um.evaluate(y, matrix).to_dict()["rows"]
    path = tmp_path / "filter_labels_test.txt"
    np.savetxt(path, pairs, fmt="%d")
    lists = [[row * 7 % M] for row in range(N)]
    for ignore in (pairs, path, str(path), lists, sp.csr_matrix((np.ones(N), pairs.T), shape=(N, M))):
        report = um.evaluate(y, scores, ignore=ignore)
        assert report.to_dict()["rows"] == wanted
        assert any(note.startswith("ignored: 400 pairs") for note in report.notes)
    evaluator = um.Evaluator(M)
    for start in range(0, N, 64):
        of_batch = pairs[start : start + 64] - [start, 0]
        evaluator.update(y[start : start + 64], scores[start : start + 64], ignore=of_batch)
    assert evaluator.compute().to_dict() == um.evaluate(y, scores, ignore=pairs).to_dict()
    audited = um.audit(y, scores, ignore=pairs)
    assert audited.report.value("precision", 1) == um.evaluate(y, matrix).value("precision", 1)
    with pytest.raises(ValueError, match="ignore, pair 1: the label is out of range: expected a label from 0 to 29, found 30"):
        um.evaluate(y, scores, ignore=np.array([[0, 0], [1, 30]]))
    with pytest.raises(ValueError, match="pair 0: the row is out of range"):
        um.evaluate(y, scores, ignore=np.array([[N, 0]]))
    with pytest.raises(ValueError, match="ignore has another number of rows"):
        um.evaluate(y, scores, ignore=lists[1:])
    with pytest.raises(ValueError, match=r"pairs of shape \(n_pairs, 2\)"):
        um.evaluate(y, scores, ignore=np.array([[1, 2, 3]]))
    path.write_text("0 1\n0 99\n")
    with pytest.raises(ValueError, match="filter_labels_test.txt:2: the label of an ignored pair is out of range"):
        um.evaluate(y, scores, ignore=path)


def test_models_do_not_predict_ignored_pairs(data):
    pytest.importorskip("sklearn")
    y, scores, _ = data
    model = um.OneVsRest(loss="logistic").fit(scores, y)
    ignore = [[row % M] for row in range(N)]
    top = model.predict_top_k(scores, k=M, ignore=ignore)
    assert top.nnz == N * (M - 1) and all(top[row, row % M] == 0 for row in range(0, N, 40))
    everything = model.predict_top_k(scores, k=3)
    few = model.predict_top_k(scores, k=3, ignore=everything)
    assert few.nnz == 3 * N and few.multiply(everything != 0).nnz == 0


def test_flat_names_are_fit_for_loggers(data):
    import re

    y, scores, train = data
    report = um.evaluate(y, {"a b": scores, "c=d": scores}, train=train, propensity=["jpv", "power"], groups=True)
    flat = report.to_flat_dict("test/")
    assert all(re.fullmatch(r"[A-Za-z0-9_\-./]+", name) for name in flat)
    assert len(flat) == sum(row.value is not None for row in report.rows)
    assert flat["test/precision_at_1/observed/a_b"] == report.value("precision", 1, model="a b")
    more = report.to_flat_dict(intervals=True)
    assert more["precision_at_1/observed/a_b/low"] < more["precision_at_1/observed/a_b"] < more["precision_at_1/observed/a_b/high"]


def test_bad_batches_change_nothing(data):
    y, scores, _ = data
    with pytest.raises(ValueError, match="no rows were evaluated"):
        um.Evaluator(M).compute()
    with pytest.raises(ValueError, match="n_labels is out of range"):
        um.Evaluator(0)
    with pytest.raises(ValueError, match="metric"):
        um.Evaluator(M, metrics=["nothing"])
    with pytest.raises(ValueError, match="cannot merge these bytes"):
        um.Evaluator(M).merge(b"nothing")
    evaluator = um.Evaluator(M).update(y[:50], scores[:50])
    wanted = evaluator.compute().to_dict()
    nan = scores[:2].copy()
    nan[1, 3] = np.nan
    broken = [
        (y[:2, :5], scores[:2, :5], {}, "another number of labels"),
        (y[:2], scores[:3], {}, "y_pred has another number of rows"),
        (y[:2], nan, {}, "row 1"),
        (y[:2], {"other": scores[:2]}, {}, "other models: expected predictions, found other"),
        (y[:2], scores[:2], {"rows": [3, 99]}, "a row occurs twice"),
        (y[:2], scores[:2], {"rows": [99]}, "row numbers"),
        (y[:2], scores[:2], {"rows": [-1, 99]}, "at least 0"),
        (y[:2], scores[:2], {"rows": [0.5, 99]}, "whole number"),
        (y[:2], scores[:2], {"rows": [2**33, 99]}, "a row number is out of range"),
        ([[0], [M]], scores[:2], {}, f"y_true, row 1: a label is out of range: expected a label from 0 to {M - 1}, found {M}"),
        (y[:2], [[0], [1, -1]], {}, "y_pred, row 1: a label is out of range"),
    ]
    for truth, predicted, more, message in broken:
        with pytest.raises(ValueError, match=message):
            evaluator.update(truth, predicted, **more)
    for other, message in [
        (um.Evaluator(M, k=2).update(y[50:60], scores[50:60]), "found different k$"),
        (um.Evaluator(M, metrics=["precision"]).update(y[50:60], scores[50:60]), "found different metrics$"),
        (um.Evaluator(M + 1).update([[0]], [[0]]), "found different labels$"),
        (um.Evaluator(M, propensity=np.full(M, 0.5)).update(y[50:60], scores[50:60]), "not parts of the same evaluation"),
    ]:
        with pytest.raises(ValueError, match=message):
            evaluator.merge(other)
    for other in ("bytes", 10**12, None, [evaluator]):
        with pytest.raises(ValueError, match="expected an Evaluator, or the bytes from its to_bytes"):
            evaluator.merge(other)
    assert evaluator.compute().to_dict() == wanted
    for ignore, message in [([[0, 1], [1, M]], "ignore, pair 1: the label is out of range"), ([[2, 0]], "pair 0: the row is out of range")]:
        with pytest.raises(ValueError, match=message):
            evaluator.update(y[50:52], scores[50:52], ignore=np.array(ignore))
    assert evaluator.compute().to_dict() == wanted
    # After a result, batches continue.
    assert evaluator.update(y[50:], scores[50:]).compute().to_dict() == um.evaluate(y, scores).to_dict()


def test_k_beyond_what_is_stored_leaves_places_open(data):
    """As in one call, also when batches store lists of different lengths and the first are the shortest."""
    y, scores, train = data
    stored = np.where(np.arange(N)[:, None] < 50, 1, 8)
    ranks = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1, kind="stable")
    kept = sp.csr_matrix(np.where(ranks < stored, scores, 0))
    settings = {"k": (1, 5, 20), "train": train, "propensity": "jpv"}
    wanted = um.evaluate(y, kept, **settings).to_dict()["rows"]
    for cuts in ([0, 50, N], [0, 10, 70, 300, N]):
        evaluator = um.Evaluator(M, **settings)
        for start, end in zip(cuts, cuts[1:]):
            evaluator.update(y[start:end], kept[start:end])
        assert evaluator.compute().to_dict()["rows"] == wanted
    # k beyond the labels is what it is in one call, too.
    assert um.Evaluator(M, k=50).update(y, scores).compute().to_dict()["rows"] == um.evaluate(y, scores, k=50).to_dict()["rows"]


def test_frames_are_brought_into_one_order():
    pandas = pytest.importorskip("pandas")
    truth = pandas.DataFrame([[1, 0, 0], [0, 1, 0]], index=["r1", "r2"], columns=["a", "b", "c"])
    scores = pandas.DataFrame([[0.9, 0.2, 0.1], [0.1, 0.8, 0.3]], index=["r1", "r2"], columns=["a", "b", "c"])
    for given in [scores, scores.loc[["r2", "r1"]], scores[["c", "a", "b"]]]:
        report = um.Evaluator(3, k=1, metrics=["precision"]).update(truth, given).compute()
        assert report.value("precision", 1) == 1.0
    evaluator = um.Evaluator(3, k=1, metrics=["precision"]).update(truth, scores)
    evaluator.update(truth[["b", "c", "a"]], scores)
    assert evaluator.compute().value("precision", 1) == 1.0
    with pytest.raises(ValueError, match="y_true has other columns"):
        evaluator.update(truth.rename(columns={"a": "x"}), scores)


def shares_of_rows(labels, top, width):
    """What each row adds to the sum over labels of F, as the page of the jackknife defines it, from all rows."""
    is_hit = (top[:, :, None] == labels[:, None, :]).any(2)
    is_missed = ~(labels[:, :, None] == top[:, None, :]).any(2)
    hits, predicted, positive = (np.bincount(ids.ravel(), minlength=width) for ids in (top[is_hit], top, labels))

    def f(hits, both):
        return np.where(both > 0, 2 * hits / np.maximum(both, 1), 0)

    both = predicted + positive
    of_hit = f(hits, both) - f(hits - 1, both - 2)
    of_other = f(hits, both) - f(hits, both - 1)
    return np.where(is_hit, of_hit[top], of_other[top]).sum(1) + (of_other[labels] * is_missed).sum(1)


@pytest.mark.parametrize("is_heavy", [False, True])
def test_standard_errors_from_a_sample_of_rows(is_heavy):
    """Beyond 65 536 rows, standard errors of macro-F come from as many rows: how far from those of all rows they may be.

    The variance of n shares from m of them, drawn without replacement, has the relative variance (kurtosis - 1) (1 / m - 1 / n), and the
    relative error of a standard error is half as large. Rows with rare labels have large shares: few such rows make the tails heavy.
    """
    rng = np.random.default_rng(12)
    n, width, kept = 140_000, 30_000, 65_536
    is_rare = rng.random(n) < 0.001

    def draw():
        # A long tail; the labels of a row differ, since each has its own remainder.
        ids = 3 * ((width // 3) ** rng.random((n, 3)) - 1).astype(np.int64)
        if is_heavy:
            # All other rows have frequent labels.
            ids = np.where(is_rare[:, None], 300 + ids % (width - 300), ids % 300)
        return ids + np.arange(3)

    labels, top = draw(), draw()
    top[::2, 1] = labels[::2, 1]
    y = sp.csr_matrix((np.ones(3 * n, np.int8), labels.ravel(), np.arange(n + 1) * 3), shape=(n, width))
    settings = {"metrics": ["macro-f"], "estimators": ["observed"], "k": 3}

    def errors_of(count):
        shares = shares_of_rows(labels[:count], top[:count], width)
        from_mean = shares - shares.mean()
        kurtosis = (from_mean**4).mean() / (from_mean**2).mean() ** 2
        return np.sqrt((count - 1) / count * (from_mean**2).sum()) / width, kurtosis

    # All rows of a smaller evaluation are in its sample.
    (row,) = um.evaluate(y[:kept], um.TopK(top[:kept]), **settings).rows
    assert row.se == pytest.approx(errors_of(kept)[0], rel=1e-9)
    wanted, kurtosis = errors_of(n)
    spread = np.sqrt((kurtosis - 1) * (1 / kept - 1 / n)) / 2
    found = [um.evaluate(y, um.TopK(top), random_state=seed, **settings).rows[0].se / wanted - 1 for seed in range(12)]
    assert max(map(abs, found)) < 4 * spread, (found, kurtosis, spread)
    # Neither too large nor too small on average, and as far apart as they must be.
    assert abs(np.mean(found)) < 4 * spread / np.sqrt(len(found)) + spread**2, (found, kurtosis, spread)
    assert 0.4 < np.std(found, ddof=1) / spread < 1.8, (found, kurtosis, spread)
    # Two streams that number their own rows: another sample of the same size.
    parts = [um.Evaluator(width, **settings).update(y[half::2], um.TopK(top[half::2])) for half in range(2)]
    (merged,) = parts[0].merge(parts[1]).compute().rows
    assert abs(merged.se / wanted - 1) < 4 * np.sqrt(2) * spread, (merged.se / wanted - 1, spread)
