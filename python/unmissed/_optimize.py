"""Predictions that are optimised for a metric."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from . import _core, _frames, _inputs
from ._checks import array, number, optional, text, whole
from ._choices import number_of_labels
from ._data import to_csr
from ._inputs import Array
from ._propensity import as_propensities
from ._row_propensity import RowPropensity
from ._work import working

if TYPE_CHECKING:
    from .types import LabelsLike, NumbersLike, PropensityLike, ScoresLike, WeightsLike


class OptimizedPredictions:
    """The result of `optimize_predictions`.

    Attributes
    ----------
    predictions : scipy.sparse.csr_matrix of shape (n_rows, n_labels)
        The chosen labels of each row, the most probable first, with their probabilities.
    most_probable : scipy.sparse.csr_matrix of shape (n_rows, n_labels)
        The most probable labels of each row: what is best for precision.
    a, b : numpy.ndarray of shape (n_labels,)
        A line for each label: giving the label to one more row, where its probability is p, is worth ``a * p + b``.
    value, value_before : float
        The metric of expected counts, of the chosen and of the most probable labels.
    expected : list of dict
        ``metric``, ``before``, ``after``, ``difference``, ``low``, ``high``: what to expect of the metric and of precision, if the
        probabilities are right.
    measured : list of dict
        The same on `test`, with ``estimator`` and ``optimism``, the expected minus the measured value.
    notes : list of str
        What to know before believing the numbers.
    report : dict
        Everything else: ``mass`` (how much of the expected positives is stored), ``correction``, ``values`` by pass, ...

    Examples
    --------
    >>> import numpy as np
    >>> import unmissed as um
    >>> best = um.optimize_predictions(np.array([[0.9, 0.4], [0.8, 0.0]]), "coverage@1")
    >>> isinstance(best, um.OptimizedPredictions), round(best.value, 2), round(best.value_before, 2)
    (True, 0.6, 0.49)
    """

    def __init__(self, native: Any, given: dict[str, Any]) -> None:
        predictions, most_probable, self.a, self.b, report = native
        self.predictions, self.most_probable = to_csr(predictions), to_csr(most_probable)
        self.report: dict[str, Any] = json.loads(report)
        self.value: float = self.report["value"]
        self.value_before: float = self.report["value_before"]
        self.expected: list[dict[str, Any]] = self.report["expected"]
        self.measured: list[dict[str, Any]] = self.report["measured"]
        self.notes: list[str] = self.report["notes"]
        self._given = given

    def apply(self, scores: ScoresLike, *, n_jobs: int | None = None) -> Any:
        """Give labels to new rows by the lines ``a * p + b``, one row at a time; propensities divide their scores, too.

        Row-dependent propensities, and rows that differ much in number or kind from those that were optimised, need a new search.
        """
        columns = len(self.a)
        rows = _inputs.scores(scores, "scores", columns)
        given = {**self._given, "train": None, "test": None, "weights": None}
        with working(n_jobs, False) as how:
            return to_csr(_core.apply_lines(rows, (self.a, self.b), given, how))

    def __repr__(self) -> str:
        name = f"{self.report['metric']}@{self.report['k']}"
        return f"OptimizedPredictions({name} {self.value_before:.4f} -> {self.value:.4f})"


def lines_of(weighting: OptimizedPredictions | tuple[NumbersLike, NumbersLike] | None) -> tuple[Array, Array] | None:
    """The slopes and constants of ``weighting=``."""
    if weighting is None:
        return None
    a, b = (weighting.a, weighting.b) if isinstance(weighting, OptimizedPredictions) else _pair(weighting)
    a, b = array(a, "weighting"), array(b, "weighting")
    if len(a) != len(b):
        raise ValueError(f"weighting= has {len(a)} slopes and {len(b)} constants: expected one of each for every label")
    return a, b


def _pair(weighting: Any) -> Any:
    if isinstance(weighting, tuple) and len(weighting) == 2:
        return weighting
    raise ValueError(f"weighting= is neither an OptimizedPredictions nor a pair (a, b) of arrays: found {type(weighting).__name__}")


def optimize_predictions(
    scores: ScoresLike,
    metric: str = "macro-f",
    k: int = 5,
    *,
    train: LabelsLike | None = None,
    propensity: PropensityLike | RowPropensity | None = None,
    corrected: bool = False,
    at_most: bool = False,
    method: str = "bca",
    positives: str = "auto",
    weights: WeightsLike | None = None,
    test: LabelsLike | None = None,
    max_iter: int = 100,
    tol: float = 1e-6,
    draws: int = 40,
    level: float = 0.95,
    random_state: int = 0,
    n_labels: int | None = None,
    n_jobs: int | None = None,
    verbose: int = False,
) -> OptimizedPredictions:
    """Choose the labels that are best for a metric, from the probabilities of any model.

    The most probable labels are best for precision. For means over labels, such as macro-F and coverage, the best labels of a row depend on
    the other rows, so labels are chosen for all rows together.

    Parameters
    ----------
    scores : probabilities of shape (n_rows, n_labels)
        A scipy sparse matrix (100 stored labels per row, say), a dense array, or any other predictions that `evaluate` takes.
    metric : str, default "macro-f"
        ``"macro-f"``, ``"macro-f:beta=2"``, ``"macro-precision"``, ``"macro-recall"``, ``"balanced-accuracy"``, ``"coverage"``,
        ``"abandonment"``, ``"weighted-precision"``, ``"precision"``, or a mixture such as ``"0.5*precision+0.5*macro-f"``; the
        number of labels may follow, as in ``"macro-f@5"``.
    k : int, default 5
        Labels per row.
    train : labels, optional
        Training labels, for the expected number of positives of each label. Without them, nearly all probability must be stored.
    propensity : str, Propensities, RowPropensity or array-like, optional
        Propensities, which divide scores (capped at 1) and priors.
    corrected : bool, default False
        Scores are already probabilities of relevance, as those of a model that was trained with propensities: only priors are divided.
    at_most : bool, default False
        Rows may have fewer than k labels if more would do harm.
    method : {"bca", "greedy", "frank-wolfe"}, default "bca"
        Block coordinate ascent, a single pass, or lines that treat each row separately.
    positives : {"auto", "train", "stored"}, default "auto"
        Source of expected positives: training counts, or the stored scores as if they were complete.
    weights : str or array-like, optional
        Gains of labels for ``"weighted-precision"``.
    test : labels, optional
        Known labels of the rows, to measure the gain. The choice does not use them.
    max_iter : int, default 100
        Maximum number of passes over the rows.
    tol : float, default 1e-6
        Stop the search after a pass that gains less than this.
    draws : int, default 40
        Number of label draws for expected values and their intervals; 0 draws none.
    level : float, default 0.95
        Level of intervals.
    random_state : int, default 0
        Seed of the order of rows and of the draws.
    n_labels : int, optional
        The number of labels, if the inputs do not determine it.
    n_jobs : int, optional
        Number of threads (-1: one per core); the result does not depend on it.
    verbose : bool, default False
        Whether to show progress.

    Returns
    -------
    OptimizedPredictions

    Raises
    ------
    ValueError
        If scores are no probabilities, a row has too few of them, or the metric needs what is not given.

    Examples
    --------
    >>> import numpy as np
    >>> import unmissed as um
    >>> scores = np.array([[0.9, 0.4], [0.8, 0.0]])
    >>> best = um.optimize_predictions(scores, "macro-f@1")
    >>> best.predictions.indices.tolist(), best.most_probable.indices.tolist()
    ([1, 0], [0, 0])
    >>> best
    OptimizedPredictions(macro-f@1 0.4595 -> 0.5820)
    """
    train = _frames.aligned(train, scores, "train", "scores", rows=False)
    test = _frames.aligned(test, scores, "test", "scores")
    columns = number_of_labels(n_labels, [train, test], [scores])
    rows = _inputs.scores(scores, "scores", columns)
    by_rows, per_label = None, None
    if isinstance(propensity, RowPropensity):
        by_rows = propensity
    elif propensity is not None:
        per_label = as_propensities(propensity, train, columns, n_jobs)
    given = {
        "metric": text(metric, "metric"),
        "k": whole(k, "k", 1),
        "at_most": bool(at_most),
        "method": text(method, "method"),
        "sweeps": whole(max_iter, "max_iter"),
        "tolerance": number(tol, "tol"),
        "positives": text(positives, "positives"),
        "propensity": None if per_label is None else per_label._arrays(),
        "row_propensity": None if by_rows is None else (by_rows.origin, by_rows._native),
        "corrected": bool(corrected),
        "weights": weights if isinstance(weights, str) else optional(array, weights, "weights"),
        "draws": whole(draws, "draws"),
        "level": number(level, "level"),
        "seed": whole(random_state, "random_state"),
        "train": None if train is None else _inputs.labels(train, "train", columns),
        "test": None if test is None else _inputs.labels(test, "test", columns),
    }
    with working(n_jobs, verbose) as how:
        return OptimizedPredictions(_core.optimize(rows, given, how), given)
