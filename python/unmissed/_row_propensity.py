"""Row-dependent propensities: how likely a relevant label of this row is to be observed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core, _inputs
from ._annotate import JudgedPairs, judged_of
from ._checks import file
from ._choices import named_models
from ._deprecated import working_keywords
from ._work import working

if TYPE_CHECKING:
    from .types import LabelsLike, NumbersLike, Path, PredictionsLike, ScoresLike


class RowPropensity:
    """Row-dependent propensities, the result of `fit_row_propensity`; `evaluate` takes them together with others.

    Attributes
    ----------
    coefficients : dict of str to float
        Log odds by covariate.
    reliability : list of dict
        Pairs in ten bins of the propensity from a fit to other rows: ``predicted``, ``observed``, and the 95 % interval
        ``low`` to ``high`` of the latter.
    pairs, observed : int
        How many relevant pairs the evidence has, and how many of them were observed.
    audited : str or None
        The model whose ranks are among the covariates.
    notes : list of str
        What to know before using them.
    origin : str
        The name that reports show.
    """

    def __init__(self, native: _core.Rows, origin: str = "rows") -> None:
        self._native, self.origin = native, origin
        about = json.loads(native.about())
        self.coefficients: dict[str, float] = dict(about["coefficients"])
        self.reliability: list[dict[str, Any]] = about["calibration"]["bins"]
        self.pairs: int = about["pairs"]
        self.observed: int = about["observed"]
        self.audited: str | None = about["audited"]
        self.notes: list[str] = [] if about["unfinished"] is None else [about["unfinished"]]

    @classmethod
    def read(cls, path: Path, origin: str = "rows") -> RowPropensity:
        """Read a file that `write` or ``unmissed propensity fit rows`` wrote."""
        return cls(_core.read_rows(file(path)), origin)

    def write(self, path: Path) -> None:
        """Write the file that the command line's ``--propensity rows:FILE`` reads."""
        self._native.write(file(path))

    def __repr__(self) -> str:
        return f"RowPropensity({self.origin!r}, {self.pairs} pairs, {self.observed} observed)"


def _columns(given: Mapping[str, NumbersLike] | None) -> list[tuple[str, Any]]:
    return [(str(name), np.ascontiguousarray(values, np.float64)) for name, values in (given or {}).items()]


def _matrices(given: Mapping[str, ScoresLike] | None, columns: int) -> list[tuple[str, _inputs.Matrix]]:
    return [(str(name), _inputs.scores(values, str(name), columns)) for name, values in (given or {}).items()]


@working_keywords
def fit_row_propensity(
    train: LabelsLike,
    *,
    later: LabelsLike | None = None,
    controlled: LabelsLike | None = None,
    judged: JudgedPairs | Path | Sequence[Path] | None = None,
    train_predictions: PredictionsLike | None = None,
    covariates: Sequence[str] | None = None,
    label_covariates: Mapping[str, NumbersLike] | None = None,
    row_covariates: Mapping[str, NumbersLike] | None = None,
    pair_covariates: Mapping[str, ScoresLike] | None = None,
    refits: int = 100,
    origin: str = "rows",
    random_state: int = 0,
    n_labels: int | None = None,
    n_jobs: int | None = None,
    verbose: int = False,
) -> RowPropensity:
    """Fit row-dependent propensities to pairs that are known to be relevant.

    Parameters
    ----------
    train : labels of shape (n_rows, n_labels)
        Observed labels.
    later : labels, optional
        A later snapshot of the same rows: all of their relevant labels.
    controlled : labels, optional
        Instead: relevant labels among those that were shown at random to the same rows.
    judged : JudgedPairs, path or list of paths, optional
        Instead: judged pairs of the same rows; `train` then has the observed labels of these rows. The fit is valid for labels that
        models list, so pairs that were judged for one model can be used for the next.
    train_predictions : predictions, or dict with one of them by name, optional
        The audited model's predictions for the same rows by models that were not trained on them (out-of-fold). Without them ranks and
        scores are left out.
    covariates : list of str, optional
        ``"log-count"``, ``"other-labels"``, ``"rank"``, ``"score-difference"``; all that the data allow by default.
    label_covariates, row_covariates : dict of array-like, optional
        Further covariates, a number for each label or row.
    pair_covariates : dict of matrices, optional
        Further covariates, a number for each pair (0 where nothing is stored).
    refits : int, default 100
        Number of bootstrap refits over rows, which intervals include.
    origin : str, default "rows"
        The name that reports show.
    random_state : int, default 0
        Seed of folds and refits.
    n_labels : int, optional
        The number of labels, if the inputs do not determine it.
    n_jobs : int, optional
        Number of threads (-1: one per core); the result does not depend on it. Default: ``UNMISSED_THREADS``, or one per core.
    verbose : bool, default False
        Whether to show progress, in a terminal or a notebook.

    Returns
    -------
    RowPropensity

    Raises
    ------
    ValueError
        If nothing identifies the propensities, or if a covariate reveals the outcome.

    Examples
    --------
    A label that is ranked first is seen more often:

    >>> import numpy as np
    >>> import unmissed as um
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=(400, 5))
    >>> truth = rng.random((400, 5)) < 0.6
    >>> first = scores == scores.max(axis=1, keepdims=True)
    >>> seen = truth & (rng.random((400, 5)) < np.where(first, 0.95, 0.5))
    >>> rows = um.fit_row_propensity(seen[:300], later=truth[:300], train_predictions=scores[:300], covariates=["rank"], refits=20)
    >>> report = um.evaluate(seen[300:], scores[300:], propensity=rows, metrics=["precision"], k=1)
    >>> bool(report.value("precision", 1) < report.value("precision", 1, "unbiased", propensity="rows"))
    True
    """
    labels = _inputs.labels(train, "train", n_labels)
    columns = labels.columns
    if sum(given is not None for given in (later, controlled, judged)) != 1:
        raise ValueError(
            "nothing identifies row-dependent propensities: expected one of later= (a later snapshot of the same rows),"
            " controlled= (relevant labels among those shown at random to the same rows) and judged= (judged pairs of the same rows)"
        )
    known = None
    if judged is None:
        known = _inputs.labels(later, "later", columns) if controlled is None else _inputs.labels(controlled, "controlled", columns)
    named = {} if train_predictions is None else dict(named_models(train_predictions))
    if len(named) > 1:
        raise ValueError("propensities are fitted for one audited model: expected one of train_predictions, found several")
    request = {
        "known": known,
        "is_later": controlled is None,
        "judged": judged_of(judged, None, None),
        "scores": _matrices(named, columns),
        "covariates": None if covariates is None else list(covariates),
        "of_labels": _columns(label_covariates),
        "of_rows": _columns(row_covariates),
        "of_pairs": _matrices(pair_covariates, columns),
        "refits": refits,
        "seed": random_state,
    }
    with working(n_jobs, verbose) as how:
        return RowPropensity(_core.fit_rows(labels, request, how), origin)
