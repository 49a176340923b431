"""The functions of pyxclib's ``xclib.evaluation.xc_metrics``.

Arguments come in the order (predictions, true labels), and values are those at 1, 2, ..., k. The last digits differ where pyxclib works
in single precision, and so does the order of labels with equal scores: here it is the smaller label first. ``use_cython`` is
accepted and without effect, and so is ``copy``: nothing is changed. Its plots are not provided.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core, _inputs
from .._checks import array, whole
from .._inputs import Array, Matrix
from .._work import working
from ._ranking import ranking

if TYPE_CHECKING:
    from ..types import LabelsLike, NumbersLike, ScoresLike, SparseMatrix

__all__ = [
    "Metrics",
    "Metrices",
    "auc",
    "compute_inv_propesity",
    "fast_recall",
    "format",
    "hits",
    "jaccard_similarity",
    "ndcg",
    "precision",
    "psndcg",
    "psprecision",
    "psrecall",
    "recall",
]


def _without_padding(matrix: Matrix) -> Matrix:
    """pyxclib fills short rows with the number of labels, which is no label."""
    kept = matrix.indices < matrix.columns
    if kept.all():
        return matrix
    before = np.concatenate([[0], np.cumsum(kept)])
    data = None if matrix.data is None else matrix.data[kept]
    return Matrix(matrix.columns, before[matrix.indptr], matrix.indices[kept], data)


def _predictions(X: Any, columns: int, sorted: bool) -> Matrix:
    if isinstance(X, dict):
        missing = {"indices", "scores"} - set(X)
        if missing:
            raise ValueError(f"X has no {' and no '.join(repr(name) for name in missing)}: expected 'indices' and 'scores'")
        top = _inputs.TopK(X["indices"], None if sorted else X["scores"])
        return _without_padding(_inputs.scores(top, "X", columns))
    if isinstance(X, np.ndarray) and X.dtype.kind in "iu":
        if not sorted:
            raise ValueError("labels as predictions must be ranked: pass sorted=True")
        return _without_padding(_inputs.scores(_inputs.TopK(X), "X", columns))
    return _inputs.scores(X, "X", columns)


def _values(X: Any, true_labels: Any, inv_psp: Any, k: int, sorted: bool, library: str = "pyxclib") -> dict[str, Array]:
    truth = _inputs.labels(true_labels, "true_labels")
    predictions = _predictions(X, truth.columns, sorted)
    inverse = None if inv_psp is None else array(np.ravel(inv_psp), "inv_psp")
    with working() as how:
        found = _core.compat_values(library, truth, predictions, inverse, whole(k, "k", 1), how)
    return {name: np.array(values) for name, values in found}


def _scored(X: Any, true_labels: Any, inv_psp: Any, k: int, sorted: bool) -> dict[str, Array]:
    if inv_psp is None:
        raise ValueError("inv_psp is missing: expected an inverse propensity for each label")
    return _values(X, true_labels, inv_psp, k, sorted)


def precision(X: ScoresLike | Mapping[str, Array], true_labels: LabelsLike, k: int = 5, sorted: bool = False, use_cython: bool = False) -> Array:
    """Precision at 1, 2, ..., k."""
    return _values(X, true_labels, None, k, sorted)["precision"]


def recall(X: ScoresLike | Mapping[str, Array], true_labels: LabelsLike, k: int = 5, sorted: bool = False, use_cython: bool = False) -> Array:
    """Recall at 1, 2, ..., k; rows without labels count 0."""
    return _values(X, true_labels, None, k, sorted)["recall"]


def ndcg(X: ScoresLike | Mapping[str, Array], true_labels: LabelsLike, k: int = 5, sorted: bool = False, use_cython: bool = False) -> Array:
    """nDCG at 1, 2, ..., k, relative to the best that the row's labels allow."""
    return _values(X, true_labels, None, k, sorted)["ndcg"]


def hits(X: ScoresLike | Mapping[str, Array], true_labels: LabelsLike, k: int = 5, sorted: bool = False, use_cython: bool = False) -> Array:
    """The share of rows with a relevant label in the top 1, 2, ..., k."""
    return _values(X, true_labels, None, k, sorted, "napkinxc")["abandonment"]


def psprecision(X: ScoresLike | Mapping[str, Array], true_labels: LabelsLike, inv_psp: NumbersLike, k: int = 5, sorted: bool = False, use_cython: bool = False) -> Array:
    """Propensity-scored precision at 1, 2, ..., k, divided by that of the best ranking."""
    return _scored(X, true_labels, inv_psp, k, sorted)["psprecision"]


def psrecall(X: ScoresLike | Mapping[str, Array], true_labels: LabelsLike, inv_psp: NumbersLike, k: int = 5, sorted: bool = False, use_cython: bool = False) -> Array:
    """Propensity-scored recall at 1, 2, ..., k, divided by that of the best ranking."""
    return _scored(X, true_labels, inv_psp, k, sorted)["psrecall"]


def psndcg(X: ScoresLike | Mapping[str, Array], true_labels: LabelsLike, inv_psp: NumbersLike, k: int = 5, sorted: bool = False, use_cython: bool = False) -> Array:
    """Propensity-scored nDCG at 1, 2, ..., k, divided by that of the best ranking."""
    return _scored(X, true_labels, inv_psp, k, sorted)["psndcg"]


def auc(X: ScoresLike | Mapping[str, Array], true_labels: LabelsLike, k: int, sorted: bool = False) -> float:
    """The share of (hit, miss) pairs in the top k with the hit first, averaged over rows; rows without such pairs count 0."""
    truth = _inputs.labels(true_labels, "true_labels")
    k = whole(k, "k", 1)
    found = ranking(truth, _predictions(X, truth.columns, sorted), "X")
    hits = found.hits & (found.ranks < k)
    rows, ranks = found.rows[hits], found.ranks[hits]
    count = np.bincount(rows, minlength=truth.rows)
    # A hit is before all later places but those of other hits.
    before = np.bincount(rows, k - 1 - ranks, minlength=truth.rows) - count * (count - 1) / 2
    return float(np.mean(before / np.maximum(count * (k - count), 1)))


def fast_recall(X: ScoresLike | Mapping[str, Array], true_labels: LabelsLike, k: int = 5) -> float:
    """Recall at k, averaged over the rows that have labels."""
    truth = _inputs.labels(true_labels, "true_labels")
    labelled = np.count_nonzero(np.diff(truth.indptr))
    return float(recall(X, true_labels, k)[k - 1] * truth.rows / labelled) if labelled else float("nan")


def jaccard_similarity(pred_0: LabelsLike, pred_1: LabelsLike, copy: bool = True, y: LabelsLike | None = None) -> float:
    """Labels that both predict, of those that either does, averaged over rows; with `y` only relevant ones count."""

    def ones(matrix: Any) -> Any:
        kept = matrix if y is None else matrix.multiply(y)
        return (kept != 0).astype(np.int64)

    one, other = ones(pred_0), ones(pred_1)
    shared, first, second = (np.ravel(np.asarray(part.sum(axis=1))) for part in (one.multiply(other), one, other))
    return float(np.mean(shared / np.maximum(first + second - shared, 1)))


def compute_inv_propesity(labels: SparseMatrix | Array, A: float, B: float) -> Array:
    """Inverse propensities of Jain et al.: ``1 + (ln n - 1) (B + 1)^A (n_j + B)^-A``."""
    matrix: Any = labels
    rows = matrix.shape[0]
    counts = np.ravel(np.asarray(matrix.sum(axis=0), np.float64))
    return np.asarray(1.0 + (np.log(rows) - 1.0) * (B + 1.0) ** A * (counts + B) ** -A)


def format(*args: Any, decimal_points: str = "%0.2f") -> str:
    """Values in percent, a line for each argument."""
    return "\n".join(",".join(decimal_points % (100 * value) for value in values) for values in args)


class Metrics:
    """Precision and nDCG, and with inverse propensities their propensity-scored versions."""

    def __init__(self, true_labels: SparseMatrix | Array, inv_psp: NumbersLike | None = None, remove_invalid: bool = False) -> None:
        matrix: Any = true_labels
        self.true_labels = matrix
        self.valid_idx: Array | None = None
        if remove_invalid:
            self.valid_idx = np.flatnonzero(np.ravel(np.asarray(matrix.sum(axis=1))) > 0)
            self.true_labels = matrix[self.valid_idx]
        self.num_instances, self.num_labels = self.true_labels.shape
        self.remove_invalid = remove_invalid
        self.inv_psp = None if inv_psp is None else np.ravel(np.asarray(inv_psp))

    def eval(self, pred_labels: ScoresLike | Mapping[str, Array], K: int = 5, sorted: bool = False, use_cython: bool = False) -> list[Array]:
        """``[precision, ndcg]``, or ``[precision, ndcg, psprecision, psndcg]`` with inverse propensities."""
        given: Any = pred_labels
        if self.valid_idx is not None:
            is_pair = isinstance(given, dict)
            given = {name: part[self.valid_idx] for name, part in given.items()} if is_pair else given[self.valid_idx]
        values = _values(given, self.true_labels, self.inv_psp, K, sorted)
        names = ["precision", "ndcg"] + ["psprecision", "psndcg"] * (self.inv_psp is not None)
        return [values[name] for name in names]


class Metrices(Metrics):
    """The old name of `Metrics`."""

    def __init__(self, true_labels: SparseMatrix | Array, inv_propensity_scores: NumbersLike | None = None, remove_invalid: bool = False) -> None:
        warnings.warn("Metrices() is deprecated; use Metrics().", FutureWarning, stacklevel=2)
        super().__init__(true_labels, inv_propensity_scores, remove_invalid)
