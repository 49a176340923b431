"""What users pass, as the arrays that the native part borrows.

A sparse matrix is ``(columns, row offsets, ids, values)``. Nothing is copied where the types are those of the library: ids of 32 bits
and scores of single precision; labels need no values at all, unless some of the stored ones are zeros.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ._checks import whole

Array = np.ndarray[Any, Any]


class Matrix(NamedTuple):
    """A sparse matrix by rows."""

    columns: int
    indptr: Array
    indices: Array
    data: Array | None

    @property
    def rows(self) -> int:
        return len(self.indptr) - 1


@dataclasses.dataclass(frozen=True)
class TopK:
    """Predictions as the best labels of each row.

    Parameters
    ----------
    labels : array-like of int, shape (n_rows, k)
        Labels of each row, counted from 0.
    scores : array-like of float, shape (n_rows, k), optional
        Their scores. Without scores, labels are ranked in the given order, best first.
    n_labels : int, optional
        The number of labels of the problem, where nothing else tells it.

    Examples
    --------
    >>> import unmissed as um
    >>> um.precision([[0], [2]], um.TopK([[0, 1], [1, 2]]), k=1)
    0.5
    """

    labels: Array | Sequence[Sequence[int]]
    scores: Array | Sequence[Sequence[float]] | None = None
    n_labels: int | None = None


def _plain(array: Any, dtype: Any = None) -> Array:
    """Contiguous, aligned and in the machine's byte order; the same array when it is all that already."""
    array = np.asarray(array)
    if dtype is None and not array.dtype.isnative:
        dtype = array.dtype.newbyteorder("=")
    return np.require(array, dtype, ["C", "A"])


def _integers(array: Any) -> Array:
    array = np.asarray(array)
    return _plain(array, None if array.dtype in (np.int32, np.int64) else np.int64)


def _singles(array: Any) -> Array:
    # What is too large for single precision becomes infinite, and the library says in which row.
    with np.errstate(over="ignore"):
        return _plain(array, np.float32)


def _row_of(indptr: Array, place: int) -> int:
    return int(np.searchsorted(indptr, place, side="right")) - 1


def is_sparse(value: Any) -> bool:
    return hasattr(value, "tocsr")


def columns_of(value: Any) -> int | None:
    """The number of labels, where the value itself tells."""
    if isinstance(value, TopK):
        return value.n_labels
    for part in ("y", "scores"):
        if _is_data(value) and getattr(value, part) is not None:
            return columns_of(getattr(value, part))
    if is_sparse(value) or (isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind != "O"):
        return int(value.shape[1])
    if hasattr(value, "columns") and hasattr(value, "to_numpy"):
        return int(value.shape[1])
    return None


def columns_of_scores(value: Any) -> int | None:
    """The number of labels, where predictions themselves tell: an integer array of the best labels has k columns, not one for each."""
    return None if isinstance(value, np.ndarray) and value.dtype.kind in "iu" else columns_of(value)


def _is_data(value: Any) -> bool:
    return hasattr(value, "y") and hasattr(value, "scores") and hasattr(value, "X")


def _check_columns(what: str, found: int, columns: int | None) -> int:
    if columns is not None and found != columns:
        raise ValueError(f"{what} has another number of labels: expected {columns}, found {found}")
    return found


def _csr(value: Any, what: str) -> tuple[Array, Array, Array]:
    value = value.tocsr()
    indptr, indices, data = (np.asarray(part) for part in (value.indptr, value.indices, value.data))
    if indptr.dtype.kind not in "iu" or indices.dtype.kind not in "iu":
        raise ValueError(f"{what} has indices that are not whole numbers: found {indptr.dtype} and {indices.dtype}")
    if data.dtype.kind not in "biuf":
        raise ValueError(f"{what} does not hold numbers: found {data.dtype}")
    if len(indices) != len(data) or len(indptr) != value.shape[0] + 1 or indptr[0] != 0 or not 0 <= indptr[-1] <= len(indices):
        sizes = f"{len(indptr)} row offsets, {len(indices)} ids and {len(data)} values"
        raise ValueError(f"{what} is broken: {sizes} are not those of a matrix of {value.shape[0]} rows")
    stored = int(indptr[-1])
    return _integers(indptr), _integers(indices)[:stored], data[:stored]


def _is_dense(value: Any) -> bool:
    """Not an array of lists."""
    return isinstance(value, np.ndarray) and (value.dtype.kind != "O" or value.ndim != 1)


def _two_dimensional(value: Any, what: str) -> Array:
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError(f"{what} has the wrong shape: expected rows of one length") from None
    if np.ma.is_masked(value):
        raise ValueError(f"{what} has masked entries: replace them by values")
    if array.ndim != 2:
        raise ValueError(f"{what} has the wrong shape: expected (rows, labels), found {array.shape}")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{what} does not hold numbers: found {array.dtype}")
    return array


def _rows(value: Any, what: str) -> tuple[list[Any], Array]:
    """Rows of anything, and where each starts when they stand behind each other."""
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise ValueError(f"{what} holds no rows: expected a matrix, or a list with a list of labels for each row, found {value!r}")
    rows = list(value)
    try:
        lengths = [len(row) for row in rows]
    except TypeError:
        wrong = next(place for place, row in enumerate(rows) if not hasattr(row, "__len__"))
        raise ValueError(f"{what}, row {wrong}: expected a list of labels, found {rows[wrong]!r}") from None
    return rows, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _flat_labels(rows: Iterable[Any], indptr: Array, what: str) -> Array:
    ids = list(chain.from_iterable(rows))
    try:
        flat = np.asarray(ids) if ids else np.empty(0, np.int64)
        if flat.dtype.kind in "iu" and flat.ndim == 1:
            return _integers(flat)
    except (ValueError, OverflowError):
        # Rows in rows, or numbers that no machine has.
        pass
    wrong = next((place for place, one in enumerate(ids) if not _is_label(one)), 0)
    raise ValueError(f"{what}, row {_row_of(indptr, wrong)}: expected labels as whole numbers, found {ids[wrong]!r}")


def _is_label(one: Any) -> bool:
    return isinstance(one, (int, np.integer)) and not isinstance(one, bool) and -(2**63) <= int(one) < 2**63


def _columns(ids: Array, columns: int | None) -> int:
    return columns if columns is not None else int(ids.max(initial=-1)) + 1


def labels(value: Any, what: str, columns: int | None = None) -> Matrix:
    """A matrix of labels: stored zeros are not labels."""
    if _is_data(value):
        if value.y is None:
            raise ValueError(f"{what} has no labels: expected labels, found scores")
        value = value.y
    if is_sparse(value):
        indptr, indices, data = _csr(value, what)
        columns = _check_columns(what, int(value.shape[1]), columns)
        return Matrix(columns, *_positive(indptr, indices, data, what), None)
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if _is_dense(value):
        dense = _two_dimensional(value, what)
        columns = _check_columns(what, dense.shape[1], columns)
        is_label = dense if dense.dtype.kind == "b" else dense == 1
        places = np.flatnonzero(is_label)
        if len(places) != np.count_nonzero(dense):
            _check_labels(dense, lambda place: place // max(columns, 1), what)
        indptr = np.searchsorted(places, np.arange(dense.shape[0] + 1) * columns)
        ids = (places % max(columns, 1)).astype(np.int32 if columns < 2**31 else np.int64)
        return Matrix(columns, _integers(indptr), ids, None)
    rows_, indptr = _rows(value, what)
    ids = _flat_labels(rows_, indptr, what)
    return Matrix(_columns(ids, columns), indptr, ids, None)


#: What else scores in place of labels may mean, by the name of the argument.
_SWAPPED = {
    "y_true": "; are y_true and y_pred swapped? y_true comes first",
    "target": "; are preds and target swapped? preds come first",
}


def _check_labels(data: Array, row_of: Any, what: str) -> None:
    """A label is there or not; anything else is a mistake that would pass for 'there'."""
    wrong = ~((data == 0) | (data == 1))
    if wrong.any():
        place = int(np.flatnonzero(wrong.ravel())[0])
        raise not_a_label(what, row_of(place), data.ravel()[place])


def not_a_label(what: str, row: int, found: Any) -> ValueError:
    message = f"{what}, row {row}: a label must be 1 or 0, found {found}"
    if found > 0:
        message += "; pass (values >= threshold)"
        message += _SWAPPED.get(what, "")
    return ValueError(message)


def _positive(indptr: Array, indices: Array, data: Array, what: str) -> tuple[Array, Array]:
    kept = data == 1
    labels = np.count_nonzero(kept)
    if labels == data.size:
        return indptr, indices
    if labels != np.count_nonzero(data):
        _check_labels(data, lambda place: _row_of(indptr, place), what)
    before = np.concatenate([[0], np.cumsum(kept)])
    return _integers(before[indptr]), indices[kept]


def scores(value: Any, what: str, columns: int | None = None) -> Matrix:
    """A matrix of scores: every stored entry is a prediction, zeros too, but for minus infinity."""
    if _is_data(value):
        if value.scores is None:
            raise ValueError(f"{what} has no scores: expected predictions, found labels")
        value = value.scores
    if is_sparse(value):
        columns = _check_columns(what, int(value.shape[1]), columns)
        return _predicted(columns, *_csr(value, what))
    top = _as_top_k(value)
    if top is not None:
        return _top_k(top, what, columns)
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if _is_dense(value):
        dense = _two_dimensional(value, what)
        if dense.dtype.kind in "iu" and dense.shape[1] != columns:
            if columns is None:
                raise ValueError(f"{what} may be labels or scores: pass um.TopK(labels), or the number of labels as n_labels=")
            return _top_k(TopK(dense), what, columns)
        rows, width = dense.shape
        _check_columns(what, width, columns)
        if dense.dtype.kind in "iu" and rows and np.array_equal(np.sort(dense[0]), np.arange(width)):
            warnings.warn(
                f"{what} holds whole numbers, as many in a row as there are labels: they are used as scores; if they are labels, best"
                " first, pass um.TopK(labels)",
                stacklevel=3,
            )
        indptr = np.arange(rows + 1, dtype=np.int64) * width
        return _predicted(width, indptr, np.tile(np.arange(width, dtype=np.int32), rows), dense.ravel())
    rows_, indptr = _rows(value, what)
    if any(len(row) and hasattr(row[0], "__len__") for row in rows_):
        return _pairs(rows_, indptr, what, columns)
    ids = _flat_labels(rows_, indptr, what)
    return Matrix(_columns(ids, columns), indptr, ids, _ranks(indptr))


def _predicted(columns: int | None, indptr: Array, ids: Array, values: Array) -> Matrix:
    """The matrix of these scores. Minus infinity says that a label is not predicted; that is settled before scores lose precision."""
    # The minimum of arrays with NaN is NaN, which is not above anything: the library locates it.
    if values.dtype.kind == "f" and not values.min(initial=0) > -np.inf:
        kept = values != -np.inf
        before = np.concatenate([[0], np.cumsum(kept)])
        indptr, ids, values = _integers(before[indptr]), ids[kept], values[kept]
    return Matrix(_columns(ids, columns), indptr, ids, _singles(values))


def _ranks(indptr: Array) -> Array:
    """Scores that leave labels in the order in which they stand."""
    lengths = np.diff(indptr)
    return _singles(np.repeat(indptr[:-1], lengths) - np.arange(indptr[-1]))


def _pairs(rows: Sequence[Any], indptr: Array, what: str, columns: int | None) -> Matrix:
    wrong = next((place for place, row in enumerate(rows) for pair in row if not hasattr(pair, "__len__") or len(pair) != 2), None)
    if wrong is not None:
        raise ValueError(f"{what}, row {wrong}: expected pairs (label, score)")
    ids = _flat_labels([[pair[0] for pair in row] for row in rows], indptr, what)
    given = [pair[1] for row in rows for pair in row]
    wrong = next((place for place, one in enumerate(given) if not isinstance(one, (int, float, np.number))), None)
    if wrong is not None:
        raise ValueError(f"{what}, row {_row_of(indptr, wrong)}: expected a score, found {given[wrong]!r}")
    return _predicted(columns, indptr, ids, np.asarray(given))


def _as_top_k(value: Any) -> TopK | None:
    if isinstance(value, TopK):
        return value
    if isinstance(value, Mapping) and "indices" in value:
        return TopK(value["indices"], value.get("scores"))
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(part, np.ndarray) and part.ndim == 2 for part in value):
        return TopK(*value)
    return None


def _top_k(top: TopK, what: str, columns: int | None) -> Matrix:
    ids = _two_dimensional(top.labels, what)
    if ids.dtype.kind not in "iu":
        raise ValueError(f"{what}: expected labels as whole numbers, found {ids.dtype}")
    rows, width = ids.shape
    indptr = np.arange(rows + 1, dtype=np.int64) * width
    flat = _integers(ids).ravel()
    columns = columns if top.n_labels is None else _check_columns(what, whole(top.n_labels, "n_labels", 0, 2**32), columns)
    if top.scores is None:
        return Matrix(_columns(flat, columns), indptr, flat, _ranks(indptr))
    values = _two_dimensional(top.scores, what)
    if values.shape != ids.shape:
        raise ValueError(f"{what} has scores of another shape: expected {ids.shape}, found {values.shape}")
    return _predicted(columns, indptr, flat, values.ravel())


def features(value: Any, what: str) -> Matrix | Array:
    """Features of rows: sparse, or a number for each."""
    if _is_data(value):
        value = value.X
    if value is None:
        raise ValueError(f"{what} has no features")
    if is_sparse(value):
        indptr, indices, data = _csr(value, what)
        return Matrix(int(value.shape[1]), indptr, indices, _singles(data))
    return _singles(_two_dimensional(value, what))
