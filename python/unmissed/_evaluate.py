"""Evaluation of predictions against incomplete labels."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _core, _frames, _inputs
from ._annotate import JudgedPairs, judged_of
from ._checks import array, number, optional, text, texts, whole
from ._choices import groups_of, lengths, named_models, number_of_labels, rate_of, row_counts, several
from ._deprecated import working_keywords
from ._ignored import ignored_pairs
from ._propensity import as_propensities
from ._report import Report
from ._row_propensity import RowPropensity, _columns, _matrices
from ._work import working

if TYPE_CHECKING:
    from .types import (
        GroupsLike,
        IgnoreLike,
        LabelsLike,
        NamesLike,
        NumbersLike,
        Path,
        PredictionsLike,
        PropensitiesLike,
        RateLike,
        ScoresLike,
        WeightsLike,
    )


@working_keywords
def evaluate(
    y_true: LabelsLike,
    y_pred: PredictionsLike,
    *,
    train: LabelsLike | None = None,
    propensity: PropensitiesLike | None = None,
    later: LabelsLike | None = None,
    train_predictions: PredictionsLike | None = None,
    judged: JudgedPairs | Path | Sequence[Path] | None = None,
    judged_plan: Path | None = None,
    machine_judged: Mapping[tuple[int, int], float] | Path | None = None,
    judged_method: str = "calibrated",
    metrics: Sequence[str] | str | None = None,
    estimators: Sequence[str] | str | None = None,
    k: int | Sequence[int] = (1, 3, 5),
    groups: GroupsLike | None = None,
    weights: WeightsLike | None = None,
    clip: float | None = None,
    sensitivity: float | str | None = None,
    rate: RateLike | None = None,
    shown: LabelsLike | None = None,
    label_counts: NumbersLike | None = None,
    ignore: IgnoreLike | None = None,
    conventions: str | None = None,
    row_covariates: Mapping[str, NumbersLike] | None = None,
    pair_covariates: Mapping[str, ScoresLike] | None = None,
    level: float = 0.95,
    interval: str = "population",
    bootstrap: int = 0,
    random_state: int = 0,
    n_labels: int | None = None,
    label_names: NamesLike | None = None,
    n_jobs: int | None = None,
    verbose: int = False,
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
        (or of ``(label, score)`` pairs) for each row. Scores are compared in single precision; ties go to the smaller label. A score
        of minus infinity says that the label is not predicted.
    train : labels, optional
        Training labels, from whose counts propensity models, groups and weights are computed.
    propensity : str, Propensities, RowPropensity, array-like, or list of these, optional
        Propensity models: ``"jpv"``, ``"jpv:a=0.5,b=0.4"``, ``"power"``, ``"table:FILE"``, values for each label, or what
        `fit_row_propensity` gives (for sums over labels, with the ratio of later and observed hits beside it).
    later : labels of shape (n_training_rows, n_labels), optional
        A later snapshot of the rows of `train`, in the same order. With `train_predictions` it gives the estimates ``"omega"`` and
        ``"ratio"`` and row-dependent propensities (``"rows"``), without them one propensity per label, and a finding that says what
        that is worth.
    train_predictions : predictions of shape (n_training_rows, n_labels), or dict of them by name, optional
        The models' predictions for the rows of `train` by models that were not trained on them: `cross_val_top_k`.
    judged : JudgedPairs, path or list of paths, optional
        Judged pairs of the models' lists: what `AnnotationPlan.judge` gives, or csv files of several rounds or judges. They give the
        estimate ``"judged"``.
    judged_plan : path, optional
        The plan by which the pairs of files were drawn; by default the ``plan.json.zst`` beside the csv.
    machine_judged : dict or path, optional
        A machine's judgements of many pairs: ``{(row, label): value}``, or a csv ``row,label,relevant`` or ``row,label,score``.
    judged_method : {"calibrated", "horvitz-thompson"}, default "calibrated"
        How judged pairs are used: with guesses for all pairs, corrected by the judged ones, or by inverse probabilities alone.
    metrics : list of str, optional
        Which metrics, all by default: ``"precision"``, ``"recall:observed"``, ``"macro-f:beta=2"``, ...
    estimators : list of str, optional
        ``"observed"``, ``"unbiased"``, ``"normalized"``, ``"clipped"``, ``"hajek"``, ``"omega"``, ``"ratio"``,
        ``"doubly-robust"``, ``"judged"``; by default all that each metric has.
    k : int or sequence of int, default (1, 3, 5)
        Lengths of the top list.
    groups : bool, str or sequence of str, optional
        Every metric by group of labels too: ``"share"`` (or True: head, torso and tail at 80 and 95 % of the training positives),
        ``"share:0.5,0.9"``, ``"counts:100,10"``, ``"deciles"``, or a name for each label.
    weights : str or array-like, optional
        Gains for ``"weighted-precision"``: ``"uniform"``, ``"inverse"``, ``"inverse-complete"`` (with one propensity), ``"log"``,
        ``"effective"``, or a number for each label.
    clip : float, optional
        Add estimates with inverse propensities clipped at this value, with a bound on their bias.
    sensitivity : float or str, optional
        How wrong would the propensities have to be? Bounds of unbiased sums and differences if the odds of being missed are off by at
        most this factor for each label (``"2:pair"``: for each pair), and the factor at which the winner flips.
    rate : str, (r, m), float or array-like, optional
        `y_true` is a controlled set whose labels were shown at this rate.
    shown : labels, optional
        The pairs that were shown, relevant or not.
    label_counts : array-like of int, shape (n_rows,), optional
        How many relevant labels each row has, observed or not, for ``"recall-known"``.
    ignore : str, path, array of shape (n_pairs, 2), list of tuples, sparse matrix or list of lists, optional
        Pairs that may not be predicted, removed before the top k is selected: a file with ``row label`` per line (the filter files of the
        extreme classification repository), an array of such pairs, or the ignored labels of each row.
    conventions : str, optional
        Conventions that differ from ours, as in ``"empty-rows=skip"``; the command line's ``--convention``.
    row_covariates, pair_covariates : dict, optional
        Covariates of the rows of `y_true` that `fit_row_propensity` was given for the training rows, by name.
    level : float, default 0.95
        Level of intervals.
    interval : {"population", "mask"}, default "population"
        What intervals are about: the value on other rows, or on these rows if other labels were missing.
    bootstrap : int, default 0
        Bootstrap replicates for macro-f and coverage; 0 uses the jackknife, which is faster and covers better.
    random_state : int, default 0
        Seed of the bootstrap, and of the sample of rows that the jackknife takes when there are more than 65 536.
    n_labels : int, optional
        The number of labels, if the inputs do not determine it.
    label_names : sequence of str or MultiLabelBinarizer, optional
        What labels are called, for findings that name some; by default the columns of a data frame. Data frames are brought into the
        order of `y_true` by their index and columns.
    n_jobs : int, optional
        Number of threads (-1: one per core); the result does not depend on it. Default: ``UNMISSED_THREADS``, or one per core.
    verbose : bool, default False
        Whether to show progress, in a terminal or a notebook.

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
    single = "y_pred" if not isinstance(y_pred, Mapping) or "indices" in y_pred else None
    named = [(name, _frames.aligned(one, y_true, single or f"y_pred[{name!r}]", "y_true")) for name, one in named_models(y_pred)]
    train = _frames.aligned(train, y_true, "train", "y_true", rows=False)
    later = _frames.aligned(later, train, "later", "train")
    columns = number_of_labels(n_labels, [y_true, train], [one for _, one in named])
    truth = _inputs.labels(y_true, "y_true", columns)
    models = [(name, _inputs.scores(one, "y_pred" if len(named) == 1 else f"y_pred[{name!r}]", columns)) for name, one in named]
    training = None if train is None else _inputs.labels(train, "train", columns)
    given = several(propensity)
    fitted = [one for one in given if isinstance(one, RowPropensity)]
    asked = [as_propensities(one, train, columns, n_jobs) for one in given if not isinstance(one, RowPropensity)]
    origins = [*(one.origin for one in asked), *(one.origin for one in fitted)]
    twice = next((origin for origin in origins if origins.count(origin) > 1), None)
    if twice is not None:
        raise ValueError(f"two propensity models are called '{twice}': give each a name with um.Propensities(values, origin=...)")
    request = {
        "train": training,
        "propensities": [one._arrays() for one in asked],
        "later": None if later is None else _inputs.labels(later, "later", columns),
        "train_predictions": [
            (name, _inputs.scores(one, f"train_predictions[{name!r}]", columns))
            for name, one in ([] if train_predictions is None else named_models(train_predictions))
        ],
        "row_propensities": [(one.origin, one._native) for one in fitted],
        "row_covariates": _columns(row_covariates),
        "pair_covariates": _matrices(pair_covariates, columns),
        "metrics": optional(texts, metrics, "metrics"),
        "estimators": optional(texts, estimators, "estimators"),
        "ks": lengths(k),
        "level": number(level, "level"),
        "interval": text(interval, "interval"),
        "bootstrap": whole(bootstrap, "bootstrap"),
        "seed": whole(random_state, "random_state"),
        "groups": groups_of(groups),
        "weights": weights if isinstance(weights, str) else optional(array, weights, "weights"),
        "clip": optional(number, clip, "clip"),
        "sensitivity": None if sensitivity is None else str(sensitivity),
        "rate": rate_of(rate),
        "shown": None if shown is None else _inputs.labels(shown, "shown", columns),
        "label_counts": None if label_counts is None else row_counts(label_counts),
        "conventions": optional(text, conventions, "conventions"),
        "label_names": _frames.label_names(label_names, y_true, columns),
        "judged": judged_of(judged, judged_plan, machine_judged),
        "judged_method": text(judged_method, "judged_method"),
        "ignore": ignored_pairs(ignore, truth.rows, truth.columns),
    }
    with working(n_jobs, verbose) as how:
        return Report(json.loads(_core.evaluate(truth, models, request, how)))
