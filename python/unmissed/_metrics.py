"""One function for each metric of the library's registry. Written by scripts/python_metrics.py: change that file, and run it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

from ._deprecated import renamed
from ._metric_value import metric_value

if TYPE_CHECKING:
    from .types import Array, LabelsLike, NumbersLike, PropensityLike, ScoresLike, WeightsLike

__all__ = [
    "FUNCTIONS",
    "abandonment",
    "coverage",
    "macro_f",
    "ndcg",
    "ndcg_min",
    "precision",
    "recall",
    "recall_known",
    "recall_pooled",
    "weighted_precision",
]


@overload
def precision(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: int = 5,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> float: ...
@overload
def precision(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: Sequence[int] | Array,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> Array: ...
@renamed(threads="n_jobs")
def precision(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: int | Sequence[int] | Array = 5,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> float | Array:
    """Precision at k: the share of the k best-ranked labels that are relevant, averaged over rows.

    ``mean_i 1/k sum_{r <= k} y_ij``, where j is the label at rank r of row i.

    Parameters
    ----------
    y_true : labels of shape (n_rows, n_labels)
        Observed labels: a scipy sparse matrix, a dense array of 0 and 1, or a list with a list of labels for each row.
    y_pred : predictions of shape (n_rows, n_labels)
        Scores: a scipy sparse matrix (every stored entry is a prediction), a dense array, a `TopK`, or ranked lists of labels.
    k : int or sequence of int, default 5
        Length of the top list, or several. It may exceed the number of labels.
    estimator : {"observed", "unbiased", "normalized", "clipped"}, default "observed"
        How the value is estimated from incomplete labels, and what each estimator assumes:

        - ``"observed"``: complete labels: every label that is not observed is irrelevant.
        - ``"unbiased"``: per-label propensities: unbiased if they are right.
        - ``"normalized"``: per-label propensities; relative to the best ranking of the observed labels, so not the value on complete labels.
        - ``"clipped"``: per-label propensities, clipped: too low by at most the stated bound.
    propensity : str, Propensities or array-like, optional
        The propensity model, for estimators other than ``"observed"``.
    train : labels, optional
        Training labels, for models that depend on training counts, such as ``propensity="jpv"``.
    clip : float, optional
        The largest inverse propensity, for ``"clipped"``.
    n_labels : int, optional
        The number of labels, if the inputs do not determine it.
    n_jobs : int, optional
        Number of threads (-1: one per core, which is the default); the value does not depend on it.

    Returns
    -------
    float or numpy.ndarray
        On complete labels between 0 and 1, higher is better. An unbiased estimate may lie outside. An array for several k.

    See Also
    --------
    evaluate : all metrics at once, with intervals.

    Examples
    --------
    >>> import unmissed as um
    >>> y_true = [[0, 1], [2]]
    >>> y_pred = [[0, 2, 1], [0, 1, 2]]
    >>> um.precision(y_true, y_pred, k=1)
    0.5
    >>> um.precision(y_true, y_pred, k=[1, 2]).tolist()
    [0.5, 0.25]
    >>> um.precision(y_true, y_pred, k=1, estimator="unbiased", propensity=[0.5, 1.0, 0.25])
    1.0

    A row with fewer than k predictions has misses in the open places:

    >>> um.precision([[0]], [[0]], k=2)
    0.5
    """
    return metric_value(
        "precision", y_true, y_pred, k, estimator, propensity, train=train, clip=clip, n_labels=n_labels, n_jobs=n_jobs
    )


@overload
def ndcg(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: int = 5,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> float: ...
@overload
def ndcg(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: Sequence[int] | Array,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> Array: ...
@renamed(threads="n_jobs")
def ndcg(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: int | Sequence[int] | Array = 5,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> float | Array:
    """Discounted gain at k, relative to a list of k relevant labels, averaged over rows.

    ``mean_i 1/I(k) sum_{r <= k} y_ij / log2(r + 1)`` with ``I(k) = sum_{r <= k} 1 / log2(r + 1)``. A row with fewer than k relevant
    labels cannot reach 1; `ndcg_min` divides by the best value that the row's labels allow.

    Parameters
    ----------
    y_true : labels of shape (n_rows, n_labels)
        Observed labels: a scipy sparse matrix, a dense array of 0 and 1, or a list with a list of labels for each row.
    y_pred : predictions of shape (n_rows, n_labels)
        Scores: a scipy sparse matrix (every stored entry is a prediction), a dense array, a `TopK`, or ranked lists of labels.
    k : int or sequence of int, default 5
        Length of the top list, or several. It may exceed the number of labels.
    estimator : {"observed", "unbiased", "normalized", "clipped"}, default "observed"
        How the value is estimated from incomplete labels, and what each estimator assumes:

        - ``"observed"``: complete labels: every label that is not observed is irrelevant.
        - ``"unbiased"``: per-label propensities: unbiased if they are right.
        - ``"normalized"``: per-label propensities; relative to the best ranking of the observed labels, so not the value on complete labels.
        - ``"clipped"``: per-label propensities, clipped: too low by at most the stated bound.
    propensity : str, Propensities or array-like, optional
        The propensity model, for estimators other than ``"observed"``.
    train : labels, optional
        Training labels, for models that depend on training counts, such as ``propensity="jpv"``.
    clip : float, optional
        The largest inverse propensity, for ``"clipped"``.
    n_labels : int, optional
        The number of labels, if the inputs do not determine it.
    n_jobs : int, optional
        Number of threads (-1: one per core, which is the default); the value does not depend on it.

    Returns
    -------
    float or numpy.ndarray
        On complete labels between 0 and 1, higher is better. An unbiased estimate may lie outside. An array for several k.

    See Also
    --------
    evaluate : all metrics at once, with intervals.

    Examples
    --------
    >>> import unmissed as um
    >>> um.ndcg([[0], [2]], [[0, 1], [1, 2]], k=1)
    0.5
    >>> round(um.ndcg([[0, 1]], [[0, 1]], k=2), 6)
    1.0
    >>> round(um.ndcg([[0]], [[0, 1]], k=2), 4)
    0.6131
    """
    return metric_value(
        "ndcg", y_true, y_pred, k, estimator, propensity, train=train, clip=clip, n_labels=n_labels, n_jobs=n_jobs
    )


@overload
def ndcg_min(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: int = 5,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> float: ...
@overload
def ndcg_min(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: Sequence[int] | Array,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> Array: ...
@renamed(threads="n_jobs")
def ndcg_min(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: int | Sequence[int] | Array = 5,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> float | Array:
    """nDCG at k as most libraries define it: relative to the best value that the row's labels allow, averaged over rows.

    ``mean_i 1/I(min(k, n_i)) sum_{r <= k} y_ij / log2(r + 1)`` with n_i relevant labels in row i; rows without any count 0.

    Parameters
    ----------
    y_true : labels of shape (n_rows, n_labels)
        Observed labels: a scipy sparse matrix, a dense array of 0 and 1, or a list with a list of labels for each row.
    y_pred : predictions of shape (n_rows, n_labels)
        Scores: a scipy sparse matrix (every stored entry is a prediction), a dense array, a `TopK`, or ranked lists of labels.
    k : int or sequence of int, default 5
        Length of the top list, or several. It may exceed the number of labels.
    estimator : {"observed", "unbiased"}, default "observed"
        How the value is estimated from incomplete labels, and what each estimator assumes:

        - ``"observed"``: complete labels: every label that is not observed is irrelevant.
        - ``"unbiased"``: right propensities, and labels of a row go missing independently of each other.
    propensity : str, Propensities or array-like, optional
        The propensity model, for estimators other than ``"observed"``.
    train : labels, optional
        Training labels, for models that depend on training counts, such as ``propensity="jpv"``.
    clip : float, optional
        The largest inverse propensity, for ``"clipped"``.
    n_labels : int, optional
        The number of labels, if the inputs do not determine it.
    n_jobs : int, optional
        Number of threads (-1: one per core, which is the default); the value does not depend on it.

    Returns
    -------
    float or numpy.ndarray
        On complete labels between 0 and 1, higher is better. An unbiased estimate may lie outside. An array for several k.

    See Also
    --------
    evaluate : all metrics at once, with intervals.

    Examples
    --------
    >>> import unmissed as um
    >>> um.ndcg_min([[0]], [[0, 1]], k=2)
    1.0
    >>> round(um.ndcg_min([[1], []], [[0, 1], [0]], k=2), 4)
    0.3155
    """
    return metric_value(
        "ndcg-min", y_true, y_pred, k, estimator, propensity, train=train, clip=clip, n_labels=n_labels, n_jobs=n_jobs
    )


@overload
def recall(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: int = 5,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> float: ...
@overload
def recall(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: Sequence[int] | Array,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> Array: ...
@renamed(threads="n_jobs")
def recall(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: int | Sequence[int] | Array = 5,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> float | Array:
    """Recall at k: the share of the relevant labels that are among the k best-ranked, averaged over rows.

    ``mean_i 1/n_i sum_{r <= k} y_ij`` with n_i relevant labels in row i; rows without any count 0.

    Parameters
    ----------
    y_true : labels of shape (n_rows, n_labels)
        Observed labels: a scipy sparse matrix, a dense array of 0 and 1, or a list with a list of labels for each row.
    y_pred : predictions of shape (n_rows, n_labels)
        Scores: a scipy sparse matrix (every stored entry is a prediction), a dense array, a `TopK`, or ranked lists of labels.
    k : int or sequence of int, default 5
        Length of the top list, or several. It may exceed the number of labels.
    estimator : {"observed", "unbiased"}, default "observed"
        How the value is estimated from incomplete labels, and what each estimator assumes:

        - ``"observed"``: complete labels: every label that is not observed is irrelevant.
        - ``"unbiased"``: right propensities, and labels of a row go missing independently of each other.
    propensity : str, Propensities or array-like, optional
        The propensity model, for estimators other than ``"observed"``.
    train : labels, optional
        Training labels, for models that depend on training counts, such as ``propensity="jpv"``.
    clip : float, optional
        The largest inverse propensity, for ``"clipped"``.
    n_labels : int, optional
        The number of labels, if the inputs do not determine it.
    n_jobs : int, optional
        Number of threads (-1: one per core, which is the default); the value does not depend on it.

    Returns
    -------
    float or numpy.ndarray
        On complete labels between 0 and 1, higher is better. An unbiased estimate may lie outside. An array for several k.

    See Also
    --------
    evaluate : all metrics at once, with intervals.

    Examples
    --------
    >>> import unmissed as um
    >>> um.recall([[0, 1], [2]], [[0, 2, 1], [2]], k=1)
    0.75

    Rows without a relevant label stay in the mean:

    >>> um.recall([[0], []], [[0], [1]], k=1)
    0.5
    """
    return metric_value(
        "recall", y_true, y_pred, k, estimator, propensity, train=train, clip=clip, n_labels=n_labels, n_jobs=n_jobs
    )


@overload
def recall_known(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: int = 5,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    label_counts: NumbersLike | None = None,
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> float: ...
@overload
def recall_known(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: Sequence[int] | Array,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    label_counts: NumbersLike | None = None,
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> Array: ...
@renamed(threads="n_jobs")
def recall_known(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: int | Sequence[int] | Array = 5,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    label_counts: NumbersLike | None = None,
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> float | Array:
    """Recall at k with a known number of relevant labels per row, averaged over rows.

    ``mean_i 1/n_i sum_{r <= k} y_ij`` with given n_i. As a sum over labels it is corrected by any per-label propensity.

    Parameters
    ----------
    y_true : labels of shape (n_rows, n_labels)
        Observed labels: a scipy sparse matrix, a dense array of 0 and 1, or a list with a list of labels for each row.
    y_pred : predictions of shape (n_rows, n_labels)
        Scores: a scipy sparse matrix (every stored entry is a prediction), a dense array, a `TopK`, or ranked lists of labels.
    k : int or sequence of int, default 5
        Length of the top list, or several. It may exceed the number of labels.
    estimator : {"observed", "unbiased", "normalized"}, default "observed"
        How the value is estimated from incomplete labels, and what each estimator assumes:

        - ``"observed"``: none: a lower bound, since missing labels can only add to it.
        - ``"unbiased"``: per-label propensities and the given numbers of relevant labels: unbiased if they are right.
        - ``"normalized"``: per-label propensities; relative to the best ranking of the observed labels, so not the value on complete labels.
    propensity : str, Propensities or array-like, optional
        The propensity model, for estimators other than ``"observed"``.
    label_counts : array-like of int, shape (n_rows,)
        How many relevant labels each row has, observed or not.
    train : labels, optional
        Training labels, for models that depend on training counts, such as ``propensity="jpv"``.
    clip : float, optional
        The largest inverse propensity, for ``"clipped"``.
    n_labels : int, optional
        The number of labels, if the inputs do not determine it.
    n_jobs : int, optional
        Number of threads (-1: one per core, which is the default); the value does not depend on it.

    Returns
    -------
    float or numpy.ndarray
        On complete labels between 0 and 1, higher is better. An unbiased estimate may lie outside. An array for several k.

    See Also
    --------
    evaluate : all metrics at once, with intervals.

    Examples
    --------
    >>> import unmissed as um
    >>> um.recall_known([[0]], [[0, 1]], k=1, label_counts=[4])
    0.25
    >>> um.recall_known([[0]], [[0, 1]], k=1, estimator="unbiased", propensity=[0.5, 1.0], label_counts=[4])
    0.5
    """
    return metric_value(
        "recall-known", y_true, y_pred, k, estimator, propensity, label_counts=label_counts, train=train, clip=clip, n_labels=n_labels, n_jobs=n_jobs
    )


@overload
def recall_pooled(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: int = 5,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> float: ...
@overload
def recall_pooled(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: Sequence[int] | Array,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> Array: ...
@renamed(threads="n_jobs")
def recall_pooled(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: int | Sequence[int] | Array = 5,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> float | Array:
    """Recall at k of all rows together: the share of all relevant labels that are among the k best-ranked of their row.

    ``sum_i sum_{r <= k} y_ij / sum_i n_i`` with n_i relevant labels in row i. Rows count by their number of relevant labels, where `recall`
    counts each row once. A controlled set can estimate this recall.

    Parameters
    ----------
    y_true : labels of shape (n_rows, n_labels)
        Observed labels: a scipy sparse matrix, a dense array of 0 and 1, or a list with a list of labels for each row.
    y_pred : predictions of shape (n_rows, n_labels)
        Scores: a scipy sparse matrix (every stored entry is a prediction), a dense array, a `TopK`, or ranked lists of labels.
    k : int or sequence of int, default 5
        Length of the top list, or several. It may exceed the number of labels.
    estimator : {"observed", "unbiased"}, default "observed"
        How the value is estimated from incomplete labels, and what each estimator assumes:

        - ``"observed"``: complete labels: every label that is not observed is irrelevant.
        - ``"unbiased"``: per-label propensities; a ratio of unbiased sums: consistent, not unbiased.
    propensity : str, Propensities or array-like, optional
        The propensity model, for estimators other than ``"observed"``.
    train : labels, optional
        Training labels, for models that depend on training counts, such as ``propensity="jpv"``.
    clip : float, optional
        The largest inverse propensity, for ``"clipped"``.
    n_labels : int, optional
        The number of labels, if the inputs do not determine it.
    n_jobs : int, optional
        Number of threads (-1: one per core, which is the default); the value does not depend on it.

    Returns
    -------
    float or numpy.ndarray
        On complete labels between 0 and 1, higher is better. An unbiased estimate may lie outside. An array for several k.

    See Also
    --------
    evaluate : all metrics at once, with intervals.

    Examples
    --------
    >>> import unmissed as um
    >>> round(um.recall_pooled([[0, 1], [2]], [[0, 2, 1], [2]], k=1), 4)
    0.6667
    """
    return metric_value(
        "recall-pooled", y_true, y_pred, k, estimator, propensity, train=train, clip=clip, n_labels=n_labels, n_jobs=n_jobs
    )


@overload
def weighted_precision(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: int = 5,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    weights: WeightsLike = "inverse",
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> float: ...
@overload
def weighted_precision(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: Sequence[int] | Array,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    weights: WeightsLike = "inverse",
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> Array: ...
@renamed(threads="n_jobs")
def weighted_precision(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: int | Sequence[int] | Array = 5,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    weights: WeightsLike = "inverse",
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> float | Array:
    """Precision at k with a weight for each label, averaged over rows.

    ``mean_i 1/k sum_{r <= k} w_j y_ij``. Weights express what matters, propensities what is missing. Weights from training counts are scaled
    so that the mean weight of a training positive is 1.

    Parameters
    ----------
    y_true : labels of shape (n_rows, n_labels)
        Observed labels: a scipy sparse matrix, a dense array of 0 and 1, or a list with a list of labels for each row.
    y_pred : predictions of shape (n_rows, n_labels)
        Scores: a scipy sparse matrix (every stored entry is a prediction), a dense array, a `TopK`, or ranked lists of labels.
    k : int or sequence of int, default 5
        Length of the top list, or several. It may exceed the number of labels.
    estimator : {"observed", "unbiased", "normalized", "clipped"}, default "observed"
        How the value is estimated from incomplete labels, and what each estimator assumes:

        - ``"observed"``: complete labels: every label that is not observed is irrelevant.
        - ``"unbiased"``: per-label propensities: unbiased if they are right.
        - ``"normalized"``: per-label propensities; relative to the best ranking of the observed labels, so not the value on complete labels.
        - ``"clipped"``: per-label propensities, clipped: too low by at most the stated bound.
    propensity : str, Propensities or array-like, optional
        The propensity model, for estimators other than ``"observed"``.
    weights : str or array-like, default "inverse"
        ``"uniform"``, ``"inverse"``, ``"log"`` or ``"effective"`` (from the counts of `train`), or a weight for each label.
    train : labels, optional
        Training labels, for models that depend on training counts, such as ``propensity="jpv"``.
    clip : float, optional
        The largest inverse propensity, for ``"clipped"``.
    n_labels : int, optional
        The number of labels, if the inputs do not determine it.
    n_jobs : int, optional
        Number of threads (-1: one per core, which is the default); the value does not depend on it.

    Returns
    -------
    float or numpy.ndarray
        On complete labels between 0 and the largest weight, higher is better. An unbiased estimate may lie outside. An array for several k.

    See Also
    --------
    evaluate : all metrics at once, with intervals.

    Examples
    --------
    >>> import unmissed as um
    >>> um.weighted_precision([[0], [1]], [[0], [1]], k=1, weights=[1.0, 3.0])
    2.0
    >>> train = [[0], [0], [0], [1]]
    >>> round(um.weighted_precision([[0], [1]], [[0], [1]], k=1, train=train), 4)
    1.3333
    """
    return metric_value(
        "weighted-precision", y_true, y_pred, k, estimator, propensity, weights=weights, train=train, clip=clip, n_labels=n_labels, n_jobs=n_jobs
    )


@overload
def macro_f(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: int = 5,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    beta: float = 1.0,
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> float: ...
@overload
def macro_f(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: Sequence[int] | Array,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    beta: float = 1.0,
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> Array: ...
@renamed(threads="n_jobs")
def macro_f(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: int | Sequence[int] | Array = 5,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    beta: float = 1.0,
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> float | Array:
    """F-measure at k of each label, averaged over labels.

    ``1/m sum_j (1 + beta^2) TP_j / (P_j + beta^2 T_j)``, where label j is predicted in P_j rows, relevant in T_j, and both in TP_j; a
    label that is neither predicted nor relevant counts 0.

    Parameters
    ----------
    y_true : labels of shape (n_rows, n_labels)
        Observed labels: a scipy sparse matrix, a dense array of 0 and 1, or a list with a list of labels for each row.
    y_pred : predictions of shape (n_rows, n_labels)
        Scores: a scipy sparse matrix (every stored entry is a prediction), a dense array, a `TopK`, or ranked lists of labels.
    k : int or sequence of int, default 5
        Length of the top list, or several. It may exceed the number of labels.
    estimator : {"observed", "unbiased"}, default "observed"
        How the value is estimated from incomplete labels, and what each estimator assumes:

        - ``"observed"``: complete labels: every label that is not observed is irrelevant.
        - ``"unbiased"``: per-label propensities; a ratio of unbiased sums: consistent, not unbiased.
    propensity : str, Propensities or array-like, optional
        The propensity model, for estimators other than ``"observed"``.
    beta : float, default 1.0
        How much recall counts against precision.
    train : labels, optional
        Training labels, for models that depend on training counts, such as ``propensity="jpv"``.
    clip : float, optional
        The largest inverse propensity, for ``"clipped"``.
    n_labels : int, optional
        The number of labels, if the inputs do not determine it.
    n_jobs : int, optional
        Number of threads (-1: one per core, which is the default); the value does not depend on it.

    Returns
    -------
    float or numpy.ndarray
        On complete labels between 0 and 1, higher is better. An unbiased estimate may lie outside. An array for several k.

    See Also
    --------
    evaluate : all metrics at once, with intervals.

    Examples
    --------
    >>> import unmissed as um
    >>> um.macro_f([[0], [1]], [[0], [0]], k=1)
    0.3333333333333333

    Recall counts more with a larger beta:

    >>> um.macro_f([[0], [1]], [[0], [0]], k=1, beta=2.0)
    0.4166666666666667
    """
    return metric_value(
        f"macro-f:beta={beta}", y_true, y_pred, k, estimator, propensity, train=train, clip=clip, n_labels=n_labels, n_jobs=n_jobs
    )


@overload
def abandonment(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: int = 5,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> float: ...
@overload
def abandonment(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: Sequence[int] | Array,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> Array: ...
@renamed(threads="n_jobs")
def abandonment(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: int | Sequence[int] | Array = 5,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> float | Array:
    """Abandonment at k: the share of rows without a relevant label among the k best-ranked.

    ``mean_i prod_{r <= k} (1 - y_ij)``. Some libraries return one minus this value under the same name.

    Parameters
    ----------
    y_true : labels of shape (n_rows, n_labels)
        Observed labels: a scipy sparse matrix, a dense array of 0 and 1, or a list with a list of labels for each row.
    y_pred : predictions of shape (n_rows, n_labels)
        Scores: a scipy sparse matrix (every stored entry is a prediction), a dense array, a `TopK`, or ranked lists of labels.
    k : int or sequence of int, default 5
        Length of the top list, or several. It may exceed the number of labels.
    estimator : {"observed", "unbiased"}, default "observed"
        How the value is estimated from incomplete labels, and what each estimator assumes:

        - ``"observed"``: complete labels: every label that is not observed is irrelevant.
        - ``"unbiased"``: right propensities, and labels of a row go missing independently of each other.
    propensity : str, Propensities or array-like, optional
        The propensity model, for estimators other than ``"observed"``.
    train : labels, optional
        Training labels, for models that depend on training counts, such as ``propensity="jpv"``.
    clip : float, optional
        The largest inverse propensity, for ``"clipped"``.
    n_labels : int, optional
        The number of labels, if the inputs do not determine it.
    n_jobs : int, optional
        Number of threads (-1: one per core, which is the default); the value does not depend on it.

    Returns
    -------
    float or numpy.ndarray
        On complete labels between 0 and 1, lower is better. An unbiased estimate may lie outside. An array for several k.

    See Also
    --------
    evaluate : all metrics at once, with intervals.

    Examples
    --------
    >>> import unmissed as um
    >>> um.abandonment([[0], [1], [1], []], [[0], [0], [1], [0]], k=1)
    0.5
    """
    return metric_value(
        "abandonment", y_true, y_pred, k, estimator, propensity, train=train, clip=clip, n_labels=n_labels, n_jobs=n_jobs
    )


@overload
def coverage(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: int = 5,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> float: ...
@overload
def coverage(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: Sequence[int] | Array,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> Array: ...
@renamed(threads="n_jobs")
def coverage(
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: int | Sequence[int] | Array = 5,
    estimator: str = "observed",
    propensity: PropensityLike | None = None,
    *,
    train: LabelsLike | None = None,
    clip: float | None = None,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> float | Array:
    """Coverage at k: the share of all labels that are found for at least one row.

    ``1/m sum_j [label j is relevant and among the k best-ranked in some row]``.

    Parameters
    ----------
    y_true : labels of shape (n_rows, n_labels)
        Observed labels: a scipy sparse matrix, a dense array of 0 and 1, or a list with a list of labels for each row.
    y_pred : predictions of shape (n_rows, n_labels)
        Scores: a scipy sparse matrix (every stored entry is a prediction), a dense array, a `TopK`, or ranked lists of labels.
    k : int or sequence of int, default 5
        Length of the top list, or several. It may exceed the number of labels.
    estimator : {"observed", "unbiased"}, default "observed"
        How the value is estimated from incomplete labels, and what each estimator assumes:

        - ``"observed"``: none: a lower bound, since missing labels can only add to it.
        - ``"unbiased"``: right propensities, and labels go missing independently across rows; high variance.
    propensity : str, Propensities or array-like, optional
        The propensity model, for estimators other than ``"observed"``.
    train : labels, optional
        Training labels, for models that depend on training counts, such as ``propensity="jpv"``.
    clip : float, optional
        The largest inverse propensity, for ``"clipped"``.
    n_labels : int, optional
        The number of labels, if the inputs do not determine it.
    n_jobs : int, optional
        Number of threads (-1: one per core, which is the default); the value does not depend on it.

    Returns
    -------
    float or numpy.ndarray
        On complete labels between 0 and 1, higher is better. An unbiased estimate may lie outside. An array for several k.

    See Also
    --------
    evaluate : all metrics at once, with intervals.

    Examples
    --------
    >>> import unmissed as um
    >>> um.coverage([[0], [1], [0]], [[0], [0], [1]], k=1, n_labels=4)
    0.25
    """
    return metric_value(
        "coverage", y_true, y_pred, k, estimator, propensity, train=train, clip=clip, n_labels=n_labels, n_jobs=n_jobs
    )


#: The functions by the names of the registry.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "precision": precision,
    "ndcg": ndcg,
    "ndcg-min": ndcg_min,
    "recall": recall,
    "recall-known": recall_known,
    "recall-pooled": recall_pooled,
    "weighted-precision": weighted_precision,
    "macro-f": macro_f,
    "abandonment": abandonment,
    "coverage": coverage,
}
