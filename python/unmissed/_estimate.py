"""Propensities from evidence: fitted to it, or estimated from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _core, _inputs
from ._annotate import JudgedPairs, judged_of
from ._checks import number, optional, pairs, text, whole
from ._choices import rate_of
from ._data import Data
from ._deprecated import renamed
from ._propensity import Propensities, as_propensities, of_arrays
from ._registry import listed
from ._work import working

if TYPE_CHECKING:
    from .types import FeaturesLike, LabelsLike, PairsLike, Path, PropensityLike, RateLike


def _controlled(controlled: Any, rate: Any, columns: int) -> tuple[_inputs.Matrix, Any]:
    if controlled is None or rate is None:
        raise ValueError("a controlled set needs both controlled= and rate=")
    return _inputs.labels(controlled, "controlled", columns), rate_of(rate)


def _options(**given: Any) -> list[tuple[str, str]]:
    """The options that were given, as the estimator reads them; it knows its own defaults."""
    return [(name, str(value)) for name, value in given.items() if value is not None]


@listed("curves")
@renamed(threads="n_jobs")
def fit_propensity(
    model: str,
    *,
    train: LabelsLike,
    controlled: LabelsLike | None = None,
    rate: RateLike | None = None,
    propensities: PropensityLike | None = None,
    loss: str = "auto",
    starts: int = 16,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Propensities:
    """Fit a curve to a controlled set, or to propensities that are known.

    Parameters
    ----------
    model : str
        The curve to fit:

        {curves}
    train : labels
        Training labels.
    controlled : labels, optional
        A bias-controlled set: its labels are the relevant ones among those that were shown.
    rate : float, str, (r, m) or array-like, optional
        The rate at which labels were shown in it: ``"16/300"``, or one number for each label.
    propensities : Propensities or array-like, optional
        Known propensities to fit to, instead of a controlled set. Values that come from a curve (see ``sources``) are not evidence
        and are left out.
    loss : {"auto", "squared", "log", "negative-binomial"}, default "auto"
        What to minimise: squared differences of inverse propensities (as in the paper), of their logarithms, or the negative
        log-likelihood of the counts in the controlled set. "auto" uses the likelihood with a controlled set, which gives better
        models, and otherwise squared differences.
    starts : int, default 16
        Number of starting points of the search.
    random_state : int, default 0
        Seed of the perturbed starts.
    n_jobs : int, optional
        Number of threads (-1: one per core); the result does not depend on it. Default: ``UNMISSED_THREADS``, or one per core.

    Returns
    -------
    Propensities
        With the fit in ``.fit``.

    Examples
    --------
    >>> import unmissed as um
    >>> train = [[label for label in range(20) if row % (label + 1) == 0] for row in range(400)]
    >>> known = um.Propensities(um.propensities(train, "power:beta=2,gamma=0.25").values)
    >>> fitted = um.fit_propensity("power", train=train, propensities=known)
    >>> round(fitted.fit["mse"], 6)
    0.0
    """
    labels = _inputs.labels(train, "train")
    known = None if propensities is None else as_propensities(propensities, train, labels.columns)
    request = {
        "controlled": None if controlled is None and rate is None else _controlled(controlled, rate, labels.columns),
        "known": None if known is None else known._arrays(),
        "loss": text(loss, "loss"),
        "starts": whole(starts, "starts", 1, 10_000),
        "seed": whole(random_state, "random_state"),
    }
    with working(n_jobs) as how:
        return of_arrays(_core.fit_propensity(text(model, "model"), labels, request, how))


@listed("propensity-estimators")
@renamed(threads="n_jobs")
def estimate_propensity(
    method: str,
    *,
    train: LabelsLike | None = None,
    X: FeaturesLike | None = None,
    controlled: LabelsLike | None = None,
    rate: RateLike | None = None,
    later: LabelsLike | None = None,
    hierarchy: PairsLike | None = None,
    bought: PairsLike | None = None,
    viewed: PairsLike | None = None,
    judged: JudgedPairs | Path | Sequence[Path] | None = None,
    curve: str | None = None,
    shrink: bool = False,
    conditional: bool = False,
    threshold: int | None = None,
    level: float | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Propensities:
    """Estimate propensities from evidence beyond the training labels.

    Parameters
    ----------
    method : str
        The estimator; an error names the evidence that it lacks, or the option that it does not have.

        {propensity-estimators}
    train : labels
        Training labels; for ``"timelapse"`` the earlier snapshot.
    X : features, optional
        Features of the training rows, for ``"anchors"``; a `Data` as `train` includes them.
    controlled, rate
        A bias-controlled set and the rate at which labels were shown in it (``"16/300"``, or one number for each label).
    later : labels
        The later snapshot, the same rows in the same order.
    hierarchy : sequence of (child, parent)
        Pairs of labels.
    bought : sequence of (label, item)
        Pairs of labels.
    viewed : sequence of (item, row)
        Pairs of a label and a row.
    judged : JudgedPairs, path or list of paths
        Judged pairs with their plan: what `AnnotationPlan.judge` gives, or csv files beside their plan.
    curve : str, optional
        ``"power"`` unless given: the curve for labels without evidence, and towards which estimates are shrunken.
    shrink : bool, default False
        Whether ``"timelapse"``, ``"hierarchy"`` and ``"judged"`` pull the estimate of each label towards the curve.
    conditional : bool, default False
        For ``"hierarchy"``: use the share of implied labels that are observed.
    threshold : int, optional
        4 unless given. For ``"hierarchy"``: only labels with more descendants than this are estimated.
    level : float, optional
        Level of intervals, 0.95 unless given.
    random_state : int, default 0
        Seed of the fit.
    n_jobs : int, optional
        Number of threads (-1: one per core); the result does not depend on it. Default: ``UNMISSED_THREADS``, or one per core.

    Returns
    -------
    Propensities

    Examples
    --------
    Twice as frequent in the controlled set as observed, given that a tenth of the labels was shown:

    >>> import unmissed as um
    >>> train = [[0]] * 20 + [[]] * 80
    >>> controlled = [[0]] * 2 + [[]] * 48
    >>> um.estimate_propensity("direct", train=train, controlled=controlled, rate="1/10").values.tolist()
    [0.5]
    """
    if train is None:
        raise ValueError(f"'{method}' needs the training labels as train=")
    labels = _inputs.labels(train, "train")
    X = train.X if X is None and isinstance(train, Data) else X
    request = {
        "rows": None if X is None else _inputs.features(X, "X"),
        "controlled": None if controlled is None and rate is None else _controlled(controlled, rate, labels.columns),
        "later": None if later is None else _inputs.labels(later, "later", labels.columns),
        "hierarchy": optional(pairs, hierarchy, "hierarchy", "(child, parent)"),
        "bought": optional(pairs, bought, "bought", "(label, item)"),
        "viewed": optional(pairs, viewed, "viewed", "(item, row)"),
        "judged": judged_of(judged, None, None),
        "options": _options(
            curve=optional(text, curve, "curve"),
            shrink="true" if shrink else None,
            conditional="true" if conditional else None,
            threshold=optional(whole, threshold, "threshold"),
            level=optional(number, level, "level"),
            seed=whole(random_state, "random_state") or None,
        ),
    }
    with working(n_jobs) as how:
        return of_arrays(_core.estimate(text(method, "method"), labels, request, how))
