"""The functions of napkinXC's ``napkinxc.metrics``.

Arguments come in the order (true labels, predictions), and values are those at 1, 2, ..., k. Lists are ranked in the given order.
Here, equal scores go to the smaller label; napkinXC has no fixed order. Here, stored zeros of a sparse truth are not labels. Inputs
with different numbers of rows are an error here; napkinXC cuts them. Its macro-averaged functions at k use k = 5 whatever is
passed; here k is used. They and `macro_f1_measure` average over the labels up to the largest that occurs, here as there;
`unmissed.macro_f` averages over all labels. The classes behind its functions are not provided.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core, _inputs
from .._checks import array, number, whole
from .._inputs import Array, Matrix
from .._work import working
from ._ranking import check_rows, ranking

if TYPE_CHECKING:
    from ..types import LabelsLike, NumbersLike, ScoresLike

__all__ = [
    "Jain_et_al_inverse_propensity",
    "Jain_et_al_propensity",
    "abandonment_at_k",
    "count_labels",
    "coverage_at_k",
    "dcg_at_k",
    "f1_measure",
    "hamming_loss",
    "inverse_labels_priors",
    "labels_priors",
    "macro_f1_measure",
    "macro_f1_measure_at_k",
    "macro_precision_at_k",
    "macro_recall_at_k",
    "micro_f1_measure",
    "ndcg_at_k",
    "precision_at_k",
    "psdcg_at_k",
    "psndcg_at_k",
    "psprecision_at_k",
    "psrecall_at_k",
    "recall_at_k",
    "samples_f1_measure",
]


#: Every k up to the one that is asked for has a value.
LARGEST_K = 1_000_000


def _unscored(Y: Any) -> Any:
    """Pairs (label, score) count in the order in which they stand."""
    if isinstance(Y, (np.ndarray, str)) or _inputs.is_sparse(Y) or not hasattr(Y, "__iter__"):
        return Y
    return [[one[0] if isinstance(one, tuple) and one else one for one in row] if hasattr(row, "__iter__") else row for row in Y]


def _both(Y_true: Any, Y_pred: Any, k: int) -> tuple[Matrix, Matrix]:
    known = _inputs.columns_of(Y_true) or _inputs.columns_of(Y_pred)
    truth = _inputs.labels(_unscored(Y_true), "Y_true", known)
    predictions = _inputs.scores(_unscored(Y_pred), "Y_pred", known)
    # Nothing hangs on the number of labels, but lists may be longer than it.
    columns = max(truth.columns, predictions.columns, k)
    return truth._replace(columns=columns), predictions._replace(columns=columns)


def _inverse(inv_ps: Any, columns: int) -> Array:
    if isinstance(inv_ps, dict):
        found = np.zeros(columns)
        for label, value in inv_ps.items():
            if whole(label, "a label of inv_ps") < columns:
                found[label] = number(value, f"inv_ps[{label}]")
        return found
    values = array(inv_ps, "inv_ps")
    return np.ascontiguousarray(np.pad(values, (0, max(0, columns - len(values))))[:columns])


def _length(k: Any) -> int:
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
        raise TypeError("k should be an integer number larger than 0")
    if not 1 <= k <= LARGEST_K:
        raise ValueError(f"k should be larger than 0 and at most {LARGEST_K}")
    return int(k)


def _values(Y_true: Any, Y_pred: Any, k: int, name: str, inv_ps: Any = None, zero_division: float = 0) -> Array:
    truth, predictions = _both(Y_true, Y_pred, _length(k))
    if inv_ps is None and name.startswith("ps"):
        raise ValueError("inv_ps is missing: expected an inverse propensity for each label")
    inverse = None if inv_ps is None else _inverse(inv_ps, truth.columns)
    with working() as how:
        found = dict(_core.compat_values("napkinxc", truth, predictions, inverse, int(k), how))
    values = np.array(found[name])
    if zero_division:
        empty = np.count_nonzero(np.diff(truth.indptr) == 0) / truth.rows
        if empty and name in ("psrecall", "psndcg"):
            raise ValueError("zero_division other than 0 needs normalize=False: it would count in both parts of the ratio")
        values += zero_division * empty
    return values


def precision_at_k(Y_true: LabelsLike, Y_pred: ScoresLike, k: int = 5) -> Array:
    """Precision at 1, 2, ..., k."""
    return _values(Y_true, Y_pred, k, "precision")


def recall_at_k(Y_true: LabelsLike, Y_pred: ScoresLike, k: int = 5, zero_division: float = 0) -> Array:
    """Recall at 1, 2, ..., k; rows without labels count `zero_division`."""
    return _values(Y_true, Y_pred, k, "recall", zero_division=zero_division)


def abandonment_at_k(Y_true: LabelsLike, Y_pred: ScoresLike, k: int = 5) -> Array:
    """The share of rows with a relevant label in the top 1, 2, ..., k: one minus `unmissed.abandonment`."""
    return _values(Y_true, Y_pred, k, "abandonment")


def coverage_at_k(Y_true: LabelsLike, Y_pred: ScoresLike, k: int = 5) -> Array:
    """Labels with a hit, of the labels that occur in the true labels."""
    return _values(Y_true, Y_pred, k, "coverage")


def dcg_at_k(Y_true: LabelsLike, Y_pred: ScoresLike, k: int = 5) -> Array:
    """DCG at 1, 2, ..., k."""
    return _values(Y_true, Y_pred, k, "dcg")


def ndcg_at_k(Y_true: LabelsLike, Y_pred: ScoresLike, k: int = 5, zero_division: float = 0) -> Array:
    """nDCG at 1, 2, ..., k, relative to the best that the row's labels allow."""
    return _values(Y_true, Y_pred, k, "ndcg", zero_division=zero_division)


def psprecision_at_k(Y_true: LabelsLike, Y_pred: ScoresLike, inv_ps: NumbersLike | Mapping[int, float], k: int = 5, normalize: bool = True) -> Array:
    """Propensity-scored precision at 1, 2, ..., k."""
    return _values(Y_true, Y_pred, k, "psprecision" if normalize else "psprecision_raw", inv_ps)


def psrecall_at_k(Y_true: LabelsLike, Y_pred: ScoresLike, inv_ps: NumbersLike | Mapping[int, float], k: int = 5, normalize: bool = True, zero_division: float = 0) -> Array:
    """Propensity-scored recall at 1, 2, ..., k."""
    return _values(Y_true, Y_pred, k, "psrecall" if normalize else "psrecall_raw", inv_ps, zero_division)


def psdcg_at_k(Y_true: LabelsLike, Y_pred: ScoresLike, inv_ps: NumbersLike | Mapping[int, float], k: int = 5, normalize: bool = True) -> Array:
    """Propensity-scored DCG at 1, 2, ..., k, divided by k."""
    return _values(Y_true, Y_pred, k, "psdcg" if normalize else "psdcg_raw", inv_ps)


def psndcg_at_k(Y_true: LabelsLike, Y_pred: ScoresLike, inv_ps: NumbersLike | Mapping[int, float], k: int = 5, zero_division: float = 0, normalize: bool = True) -> Array:
    """Propensity-scored nDCG at 1, 2, ..., k."""
    return _values(Y_true, Y_pred, k, "psndcg" if normalize else "psndcg_raw", inv_ps, zero_division)


def count_labels(Y: LabelsLike) -> Array:
    """How often each label occurs."""
    matrix = _inputs.labels(Y, "Y")
    return np.bincount(matrix.indices, minlength=matrix.columns).astype(np.float64)


def labels_priors(Y: LabelsLike) -> Array:
    """The share of rows that have each label."""
    return count_labels(Y) / _inputs.labels(Y, "Y").rows


def inverse_labels_priors(Y: LabelsLike) -> Array:
    """One over the share of rows that have each label."""
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / labels_priors(Y))


def Jain_et_al_inverse_propensity(Y: LabelsLike, A: float = 0.55, B: float = 1.5) -> Array:
    """Inverse propensities of Jain et al.: ``1 + (ln n - 1) (B + 1)^A (n_j + B)^-A``."""
    rows = _inputs.labels(Y, "Y").rows
    return np.asarray(1.0 + (np.log(rows) - 1.0) * (B + 1.0) ** A * (count_labels(Y) + B) ** -A)


def Jain_et_al_propensity(Y: LabelsLike, A: float = 0.55, B: float = 1.5) -> Array:
    """Propensities of Jain et al."""
    return np.asarray(1.0 / Jain_et_al_inverse_propensity(Y, A, B))


def _decisions(Y_true: Any, Y_pred: Any) -> tuple[Any, Any]:
    """Labels that are there and labels that are predicted, as matrices of ones."""
    from scipy.sparse import csr_matrix

    known = _inputs.columns_of(Y_true) or _inputs.columns_of(Y_pred)
    both = [_inputs.labels(_unscored(Y), name, known) for Y, name in ((Y_true, "Y_true"), (Y_pred, "Y_pred"))]
    columns = max(matrix.columns for matrix in both)
    check_rows(*both)
    truth, predicted = (csr_matrix((np.ones(len(one.indices)), one.indices, one.indptr), shape=(one.rows, columns)) for one in both)
    return truth, predicted


def _overlap(Y_true: Any, Y_pred: Any) -> tuple[Array, Array, Array]:
    """For each row the labels in both, in the truth, and in the prediction."""
    truth, predicted = _decisions(Y_true, Y_pred)
    shared = np.ravel(np.asarray(truth.multiply(predicted).sum(axis=1)))
    return shared, np.diff(truth.indptr).astype(np.float64), np.diff(predicted.indptr).astype(np.float64)


def hamming_loss(Y_true: LabelsLike, Y_pred: ScoresLike) -> float:
    """The average number of labels that are in one of both and not in the other."""
    shared, true, predicted = _overlap(Y_true, Y_pred)
    return float(np.mean(true + predicted - 2 * shared))


def micro_f1_measure(Y_true: LabelsLike, Y_pred: ScoresLike) -> float:
    """F1 of all pairs of row and label together."""
    shared, true, predicted = _overlap(Y_true, Y_pred)
    return float(2 * shared.sum() / (true.sum() + predicted.sum()))


def samples_f1_measure(Y_true: LabelsLike, Y_pred: ScoresLike, zero_division: float = 0) -> float:
    """The mean of F1 over rows; rows with labels and without a hit count `zero_division`, as there, and rows without labels 0."""
    shared, true, predicted = _overlap(Y_true, Y_pred)
    values = np.where(true > 0, float(zero_division), 0.0)
    hit = shared > 0
    values[hit] = 2 * shared[hit] / (true[hit] + predicted[hit])
    return float(values.mean())


def _macro(hits: Array, divisor: Array, seen: Array, zero_division: float) -> float:
    """The mean of hits / divisor over the labels up to the largest that was seen."""
    size = int(np.flatnonzero(seen).max(initial=-1)) + 1
    values = np.full(size, float(zero_division))
    some = divisor[:size] > 0
    values[some] = hits[:size][some] / divisor[:size][some]
    return float(values.mean()) if size else float(zero_division)


def macro_f1_measure(Y_true: LabelsLike, Y_pred: ScoresLike, zero_division: float = 0) -> float:
    """F1 of each label, averaged over the labels up to the largest that occurs; `unmissed.macro_f` averages over all labels."""
    truth, predicted = _decisions(Y_true, Y_pred)
    hits, of, by = (np.ravel(np.asarray(one.sum(axis=0))) for one in (truth.multiply(predicted), truth, predicted))
    return _macro(2 * hits, of + by, of + by, zero_division)


def f1_measure(Y_true: LabelsLike, Y_pred: ScoresLike, average: str = "micro", zero_division: float = 0) -> float:
    """F1 by the kind of average: ``"micro"``, ``"macro"`` or ``"samples"``."""
    if average == "micro":
        return micro_f1_measure(Y_true, Y_pred)
    if average == "macro":
        return macro_f1_measure(Y_true, Y_pred, zero_division)
    if average == "samples":
        return samples_f1_measure(Y_true, Y_pred, zero_division)
    raise ValueError("average should be in {'micro', 'macro', 'samples'}")


def _macro_at_k(Y_true: Any, Y_pred: Any, k: Any, zero_division: float, parts: tuple[int, int]) -> Array:
    """At 1, 2, ..., k; `parts` says how often the divisor has the predictions and the true labels."""
    truth, predictions = _both(Y_true, Y_pred, _length(k))
    _, labels, ranks, hit = ranking(truth, predictions, "Y_pred")
    positives = np.bincount(truth.indices, minlength=truth.columns)
    values = []
    for cut in range(1, int(k) + 1):
        hits, predicted = (np.bincount(labels[(ranks < cut) & which], minlength=truth.columns) for which in (hit, True))
        share = parts[0] * predicted + parts[1] * positives
        values.append(_macro(sum(parts) * hits, share, predicted + positives, zero_division))
    return np.array(values)


def macro_precision_at_k(Y_true: LabelsLike, Y_pred: ScoresLike, k: int = 5, zero_division: float = 0) -> Array:
    """Precision of each label in the top 1, 2, ..., k, averaged over labels."""
    return _macro_at_k(Y_true, Y_pred, k, zero_division, (1, 0))


def macro_recall_at_k(Y_true: LabelsLike, Y_pred: ScoresLike, k: int = 5, zero_division: float = 0) -> Array:
    """Recall of each label in the top 1, 2, ..., k, averaged over labels."""
    return _macro_at_k(Y_true, Y_pred, k, zero_division, (0, 1))


def macro_f1_measure_at_k(Y_true: LabelsLike, Y_pred: ScoresLike, k: int = 5, zero_division: float = 0) -> Array:
    """F1 of each label in the top 1, 2, ..., k, averaged over labels."""
    return _macro_at_k(Y_true, Y_pred, k, zero_division, (1, 1))
