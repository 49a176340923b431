"""Evaluation of predictions against incomplete labels."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _core, _inputs
from ._checks import array, number, optional, text, texts, whole
from ._propensity import Propensities, as_propensities
from ._report import Report
from ._row_propensity import RowPropensity, add_rows
from ._work import working


def _several(value: Any) -> list[Any]:
    """Propensities may come alone or in a list; a list of numbers is one of them."""
    if value is None:
        return []
    if isinstance(value, (list, tuple)) and not all(np.isscalar(one) and not isinstance(one, str) for one in value):
        return list(value)
    return [value]


def _models(y_pred: Any) -> list[tuple[str, Any]]:
    if isinstance(y_pred, Mapping) and "indices" not in y_pred:
        return [(str(name), one) for name, one in y_pred.items()]
    return [("predictions", y_pred)]


def _groups(groups: Any) -> Any:
    if groups is None or groups is False:
        return None
    if groups is True:
        return ("share", [])
    if isinstance(groups, str):
        how, _, cuts = groups.partition(":")
        try:
            return (how, [float(cut) for cut in cuts.split(",")] if cuts else [])
        except ValueError:
            raise ValueError(f"cannot read the cuts of the groups: expected numbers separated by commas, found {cuts!r}") from None
    if not hasattr(groups, "__iter__"):
        raise ValueError(f"groups are out of range: expected True, a kind of groups, or a name for each label, found {groups!r}")
    return [None if name is None else str(name) for name in groups]


def _rate(rate: Any, columns: int) -> Any:
    if rate is None:
        return None
    if isinstance(rate, str):
        rate = tuple(rate.split("/")) if "/" in rate else (rate,)
    if isinstance(rate, tuple):
        try:
            shown, of = (whole(int(part), "rate", 0, 2**32 - 1) for part in rate)
        except (TypeError, ValueError):
            raise ValueError(f"cannot read the rate: expected r/m as in '16/300', found {'/'.join(map(str, rate))!r}") from None
        return (shown, of)
    return array(np.broadcast_to(np.asarray(rate), (columns,)) if np.ndim(rate) == 0 else rate, "rate")


def evaluate(
    y_true: Any,
    y_pred: Any,
    *,
    train: Any = None,
    propensity: Any = None,
    metrics: Sequence[str] | str | None = None,
    estimators: Sequence[str] | str | None = None,
    k: int | Sequence[int] = (1, 3, 5),
    groups: Any = None,
    weights: Any = None,
    clip: float | None = None,
    rate: Any = None,
    shown: Any = None,
    label_counts: Any = None,
    conventions: str | None = None,
    row_covariates: Mapping[str, Any] | None = None,
    pair_covariates: Mapping[str, Any] | None = None,
    level: float = 0.95,
    interval: str = "population",
    bootstrap: int = 200,
    random_state: int = 0,
    n_labels: int | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> Report:
    """Evaluate predictions: every metric, every estimator, every propensity model, with intervals.

    Parameters
    ----------
    y_true : labels of shape (n_rows, n_labels)
        Observed labels: a scipy sparse matrix (stored zeros are not labels), a dense array of 0 and 1, a list with a list of labels
        for each row, or a `Data`. Labels are counted from 0.
    y_pred : predictions of shape (n_rows, n_labels), or dict of them by name
        Scores: a scipy sparse matrix (every stored entry is a prediction, zeros too), a dense array, a `TopK` or
        ``(labels, scores)`` arrays of shape (n_rows, k), an integer array of the best labels, a list with a ranked list of labels
        (or of ``(label, score)`` pairs) for each row. Scores are compared in single precision; ties go to the smaller label.
    train : labels, optional
        Training labels: what propensity models, groups and weights are functions of.
    propensity : str, Propensities, RowPropensity, array-like, or list of these, optional
        Propensity models: ``"jpv"``, ``"jpv:a=0.5,b=0.4"``, ``"power"``, ``"table:FILE"``, values for each label, or what
        `fit_row_propensity` gives (for sums over labels, with the ratio of later and observed hits beside it).
    metrics : list of str, optional
        Which metrics, all by default: ``"precision"``, ``"recall:observed"``, ``"macro-f:beta=2"``, ...
    estimators : list of str, optional
        ``"observed"``, ``"unbiased"``, ``"normalized"``, ``"clipped"``, ``"hajek"``, ``"ratio"``, ``"doubly-robust"``; by default all that each metric has.
    k : int or sequence of int, default (1, 3, 5)
        Lengths of the top list.
    groups : bool, str or sequence of str, optional
        Every metric by group of labels too: ``"share"`` (or True: head, torso and tail at 80 and 95 % of the training positives),
        ``"share:0.5,0.9"``, ``"counts:100,10"``, ``"deciles"``, or a name for each label.
    weights : str or array-like, optional
        Gains for ``"weighted-precision"``: ``"uniform"``, ``"inverse"``, ``"inverse-complete"`` (with one propensity), ``"log"``,
        ``"effective"``, or a number for each label.
    clip : float, optional
        Also estimates with inverse propensities cut at this value, and how biased they can be.
    rate : str, (r, m), float or array-like, optional
        `y_true` is a controlled set whose labels were shown at this rate.
    shown : labels, optional
        The pairs that were shown, relevant or not.
    label_counts : array-like of int, shape (n_rows,), optional
        How many relevant labels each row has, observed or not, for ``"recall-known"``.
    conventions : str, optional
        Other conventions than ours, as in ``"empty-rows=skip"``; the command line's ``--convention``.
    row_covariates, pair_covariates : dict, optional
        Covariates of the rows of `y_true` that `fit_row_propensity` was given for the training rows, by name.
    level : float, default 0.95
        Level of intervals.
    interval : {"population", "mask"}, default "population"
        What intervals answer: what other rows would have given, or what other missing labels would have given on these rows.
    bootstrap : int, default 200
        Replicates for macro-f and coverage; 0 leaves their intervals out.
    random_state : int, default 0
        Seed of the bootstrap.
    n_labels : int, optional
        The number of labels, where lists do not tell.
    threads : int, optional
        How many threads work; the result does not depend on it. Default: ``UNMISSED_THREADS``, or one a core.
    progress : bool, optional
        Whether to show progress; by default in terminals and notebooks.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        If inputs do not fit together, hold NaN or negative labels (the message names the row), or if what is asked for does not
        exist.

    Examples
    --------
    >>> import unmissed as um
    >>> train = [[0], [0, 1], [0, 2], [0]]
    >>> report = um.evaluate([[0, 1], [2]], [[0, 1], [0, 2]], train=train, propensity="jpv", metrics=["precision"], k=1)
    >>> report.value("precision", 1)
    0.5
    >>> round(report.value("precision", 1, "unbiased"), 4)
    0.6252
    """
    named = _models(y_pred)
    columns = _number_of_labels(n_labels, [y_true, train], [one for _, one in named])
    truth = _inputs.labels(y_true, "y_true", columns)
    models = [(name, _inputs.scores(one, "y_pred" if len(named) == 1 else f"y_pred[{name!r}]", columns)) for name, one in named]
    training = None if train is None else _inputs.labels(train, "train", columns)
    given = _several(propensity)
    fitted = [one for one in given if isinstance(one, RowPropensity)]
    asked = [as_propensities(one, train, columns, threads) for one in given if not isinstance(one, RowPropensity)]
    origins = [*(one.origin for one in asked), *(one.origin for one in fitted)]
    twice = next((origin for origin in origins if origins.count(origin) > 1), None)
    if twice is not None:
        raise ValueError(f"two propensity models are called '{twice}': give each a name with um.Propensities(values, origin=...)")
    request = {
        "train": training,
        "propensities": [one._arrays() for one in asked],
        "metrics": optional(texts, metrics, "metrics"),
        "estimators": optional(texts, estimators, "estimators"),
        "ks": _lengths(k),
        "level": number(level, "level"),
        "interval": text(interval, "interval"),
        "bootstrap": whole(bootstrap, "bootstrap"),
        "seed": whole(random_state, "random_state"),
        "groups": _groups(groups),
        "weights": weights if isinstance(weights, str) else optional(array, weights, "weights"),
        "clip": optional(number, clip, "clip"),
        "rate": _rate(rate, columns),
        "shown": None if shown is None else _inputs.labels(shown, "shown", columns),
        "label_counts": None if label_counts is None else _counts(label_counts),
        "conventions": optional(text, conventions, "conventions"),
    }
    with working(threads, progress) as how:
        result = json.loads(_core.evaluate(truth, models, request, how))
        return Report(add_rows(result, truth, models, fitted, request, (row_covariates, pair_covariates), how))


def _number_of_labels(given: int | None, labels: list[Any], predictions: list[Any]) -> int:
    """What is given, what a matrix says, or as many as the largest label of lists needs."""
    known = [optional(whole, given, "n_labels", 0, 2**32), *(_inputs.columns_of(value) for value in labels)]
    # An integer array of the best labels has k columns, not one for each label.
    known += [_inputs.columns_of(one) for one in predictions if not (isinstance(one, np.ndarray) and one.dtype.kind in "iu")]
    found = next((one for one in known if one is not None), None)
    if found is not None:
        return found
    matrices = [_inputs.labels(value, "labels") for value in labels if value is not None]
    matrices += [_inputs.scores(value, "y_pred") for value in predictions]
    return max((matrix.columns for matrix in matrices), default=0)


def _counts(counts: Any) -> Any:
    """Whole numbers that fit, one for each row."""
    given = np.asarray(counts)
    if given.ndim != 1 or given.dtype.kind not in "iu" or (given.size and not 0 <= given.min() <= given.max() < 2**32):
        raise ValueError("label_counts does not fit: expected one whole number of at least 0 for each row")
    return np.ascontiguousarray(given, np.uint32)


def _lengths(k: Any) -> list[int]:
    several = [k] if np.isscalar(k) or k is None else list(k)
    return [whole(one, "k", 1) for one in several]


__all__ = ["Propensities", "Report", "evaluate"]
