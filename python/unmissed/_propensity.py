"""Propensities: how likely a relevant label is to be observed."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core, _inputs
from ._data import Path
from ._inputs import Array
from ._work import working

SOURCES = ("estimated", "curve", "clipped")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Propensities:
    """A propensity for every label, where it came from, and what it is worth.

    Made by `propensities`, `fit_propensity` and `estimate_propensity`, or from values of your own.

    Parameters
    ----------
    values : array-like of float, shape (n_labels,)
        Propensities in (0, 1]. The direct estimate has NaN where it has no value.
    origin : str, default "given"
        Spec string of the model, or name of the estimator; reports show it.

    Attributes
    ----------
    values, inverse : numpy.ndarray of float64, shape (n_labels,)
        Propensities and their inverses.
    interval : numpy.ndarray of float64, shape (n_labels, 2), or None
        Lower and upper ends where there is an interval, NaN elsewhere.
    bound : str
        ``"exact"``, ``"upper"`` (the truth may be lower) or ``"none"``.
    sources : list of str or None
        For each label ``"estimated"``, ``"curve"`` or ``"clipped"``.
    counts : numpy.ndarray or None
        Training positives of each label, where they are known.
    fit : dict or None
        The fitted curve: ``spec``, ``mse``, ``standard_errors``, ``degenerate``, ``kappa`` and more.
    notes : list of str
        What everybody who uses the values should know.

    Examples
    --------
    >>> import unmissed as um
    >>> p = um.Propensities([0.5, 1.0])
    >>> p.inverse.tolist()
    [2.0, 1.0]
    """

    values: Array
    origin: str = "given"
    bound: str = "exact"
    source_codes: Array | None = None
    low: Array | None = None
    high: Array | None = None
    inverse_variances: Array | None = None
    notes: Sequence[str] = ()
    counts: Array | None = None
    fit: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        values = np.require(np.asarray(self.values), np.float64, ["C", "A"])
        if values.ndim != 1:
            raise ValueError(f"propensities have the wrong shape: expected one for each label, found {values.shape}")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "notes", list(self.notes))

    @property
    def inverse(self) -> Array:
        return 1.0 / self.values

    @property
    def interval(self) -> Array | None:
        if self.low is None or self.high is None:
            return None
        return np.stack([self.low, self.high], axis=1)

    @property
    def sources(self) -> list[str] | None:
        return None if self.source_codes is None else [SOURCES[code] for code in self.source_codes]

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self.values, dtype=dtype) if copy else np.asarray(self.values, dtype=dtype)

    def __repr__(self) -> str:
        known = self.values[~np.isnan(self.values)]
        spread = f", from {known.min():.3g} to {known.max():.3g}" if len(known) else ""
        return f"Propensities({self.origin!r}, {len(self)} labels{spread})"

    def plot(self, ax: Any = None) -> Any:
        """Draw propensities against the training positives of their labels, on logarithmic axes.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError("plots need matplotlib: pip install matplotlib") from error
        if ax is None:
            _, ax = plt.subplots()
        if self.counts is None:
            ax.plot(np.arange(len(self)), self.values, ".", label=self.origin)
            ax.set_xlabel("label")
        else:
            seen = self.counts > 0
            x = self.counts[seen]
            if self.low is not None and self.high is not None:
                ax.vlines(x, self.low[seen], self.high[seen], alpha=0.15)
            ax.plot(x, self.values[seen], ".", label=self.origin)
            ax.set_xscale("log")
            ax.set_xlabel("training rows with the label")
        ax.set_yscale("log")
        ax.set_ylabel("propensity")
        ax.legend()
        return ax

    def write(self, path: Path) -> None:
        """Write a csv ``label,propensity,low,high,source``, which ``"table:FILE"`` reads."""
        _core.write_propensities(self._arrays(), path)

    def _arrays(self) -> dict[str, Any]:
        """What the native part takes."""
        return {
            "origin": self.origin,
            "values": self.values,
            "bound": self.bound,
            "sources": self.source_codes,
            "low": self.low,
            "high": self.high,
            "inverse_variances": self.inverse_variances,
            "notes": list(self.notes),
        }


def of_arrays(arrays: dict[str, Any]) -> Propensities:
    fit = arrays.pop("fit", None)
    codes = arrays.pop("sources", None)
    return Propensities(source_codes=codes, fit=None if fit is None else json.loads(fit), **arrays)


def propensities(train: Any, model: str = "jpv", *, n_labels: int | None = None, threads: int | None = None) -> Propensities:
    """Propensities of a model, a function of how often labels occur in training.

    Parameters
    ----------
    train : labels
        Training labels in any form that `evaluate` takes. ``None`` will do for a table.
    model : str, default "jpv"
        ``"jpv"``, ``"jpv:a=0.5,b=0.4"``, ``"jpv:wikipedia"``, ``"power:gamma=0.5"``, ``"constant:p=0.5"``, ``"table:FILE"``, ...
    n_labels : int, optional
        The number of labels, where lists do not tell.
    threads : int, optional
        How many threads work.

    Returns
    -------
    Propensities

    Examples
    --------
    >>> import unmissed as um
    >>> p = um.propensities([[0, 1], [0], [0], [0]], "jpv:a=0.5,b=0.4")
    >>> p.values.round(3).tolist()
    [0.821, 0.721]
    """
    if train is None and model.startswith("table:"):
        return of_arrays(_core.table_propensities(model.removeprefix("table:"), n_labels))
    if train is None:
        raise ValueError(f"'{model}' is a function of training counts; pass the training labels as train=")
    with working(threads, False) as how:
        return of_arrays(_core.model_propensities(model, _inputs.labels(train, "train", n_labels), how))


def propensities_of_counts(model: str, rows: int, counts: Any) -> Propensities:
    """Propensities of a model from the training counts of labels."""
    numbers = np.require(np.asarray(counts), np.uint64, ["C", "A"])
    with working(progress=False) as how:
        return of_arrays(_core.count_propensities(model, rows, numbers, how))


def as_propensities(value: Any, train: Any, columns: int | None, threads: int | None = None) -> Propensities:
    """Propensities from a spec string, an object, or plain values."""
    if isinstance(value, Propensities):
        return value
    if isinstance(value, str):
        return propensities(train, value, n_labels=columns, threads=threads)
    return Propensities(value)


def _rates(rate: Any) -> float | Array:
    if isinstance(rate, str):
        above, _, below = rate.partition("/")
        try:
            return float(above) / float(below) if below else float(above)
        except (ValueError, ZeroDivisionError):
            raise ValueError(f"cannot read the rate: expected a number in (0, 1] or a fraction as in '16/300', found {rate!r}") from None
    if isinstance(rate, tuple):
        return float(rate[0]) / float(rate[1])
    if np.ndim(rate) == 0:
        return float(rate)
    return np.require(np.asarray(rate), np.float64, ["C", "A"])


def _controlled(controlled: Any, rate: Any, columns: int) -> tuple[_inputs.Matrix, float | Array]:
    if controlled is None or rate is None:
        raise ValueError("a controlled set needs both controlled= and rate=")
    return _inputs.labels(controlled, "controlled", columns), _rates(rate)


def fit_propensity(
    model: str,
    *,
    train: Any,
    controlled: Any = None,
    rate: Any = None,
    propensities: Any = None,
    loss: str = "squared",
    starts: int = 16,
    random_state: int = 0,
    threads: int | None = None,
) -> Propensities:
    """Fit a curve to a controlled set, or to propensities that are known.

    Parameters
    ----------
    model : str
        The family: ``"power"``, ``"power:relative"``, ``"richards"``, ``"jpv"`` or ``"constant"``.
    train : labels
        Training labels.
    controlled : labels, optional
        A bias-controlled set: its labels are the relevant ones among those that were shown.
    rate : float, str, (r, m) or array-like, optional
        The rate at which labels were shown in it: ``"16/300"``, or one number for each label.
    propensities : Propensities or array-like, optional
        Known propensities to fit to, instead of a controlled set. Values that a curve stood in for (see ``sources``) are no
        evidence and are left out.
    loss : {"squared", "log", "negative-binomial"}, default "squared"
        What to minimise: squared differences of inverse propensities (the usual choice), of their logarithms, or the negative
        log-likelihood of what was counted in the controlled set.
    starts : int, default 16
        From how many points the search starts.
    random_state : int, default 0
        Seed of the perturbed starts.
    threads : int, optional
        How many threads work.

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
        "loss": loss,
        "starts": starts,
        "seed": random_state,
    }
    with working(threads, False) as how:
        return of_arrays(_core.fit_propensity(model, labels, request, how))


def estimate_propensity(
    method: str,
    *,
    train: Any = None,
    controlled: Any = None,
    rate: Any = None,
    later: Any = None,
    hierarchy: Any = None,
    bought: Any = None,
    viewed: Any = None,
    curve: str = "power",
    shrink: bool = False,
    conditional: bool = False,
    threshold: int = 4,
    level: float = 0.95,
    random_state: int = 0,
    threads: int | None = None,
) -> Propensities:
    """Estimate propensities from data that tell more than the training labels do.

    Parameters
    ----------
    method : {"direct", "shrunken", "timelapse", "hierarchy", "relation"}
        - ``"direct"``: from a controlled set, label by label (``controlled``, ``rate``); NaN for labels without a controlled positive.
        - ``"shrunken"``: the same, pulled towards a fitted curve as far as the controlled data are thin.
        - ``"timelapse"``: from a ``later`` snapshot of the training rows; an upper bound.
        - ``"hierarchy"``: from ancestors that observed labels imply (``hierarchy``); an upper bound.
        - ``"relation"``: from what was ``viewed`` with what was ``bought`` with a label; no bound.
    train : labels
        Training labels; for ``"timelapse"`` the earlier snapshot.
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
    curve : str, default "power"
        The curve for labels without evidence, and towards which estimates are shrunken.
    shrink : bool, default False
        Whether ``"timelapse"`` and ``"hierarchy"`` pull the estimate of each label towards the curve.
    conditional : bool, default False
        For ``"hierarchy"``: observed and implied, of implied.
    threshold : int, default 4
        For ``"hierarchy"``: only labels with more descendants than this are estimated.
    level : float, default 0.95
        Level of intervals.
    random_state : int, default 0
        Seed of the fit.
    threads : int, optional
        How many threads work.

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
    known = [name for name, _ in _core.registry("estimators")]
    if method not in known:
        raise ValueError(f"unknown estimator {method!r}: expected one of {', '.join(known)}")
    if train is None:
        raise ValueError(f"'{method}' needs the training labels as train=")
    labels = _inputs.labels(train, "train")
    request = {"curve": curve, "shrink": shrink, "level": level, "seed": random_state}

    def needed(**given: Any) -> list[Any]:
        missing = [f"{name}=" for name, value in given.items() if value is None]
        if missing:
            raise ValueError(f"'{method}' needs {' and '.join(missing)}")
        return list(given.values())

    def pairs(value: Any) -> list[tuple[int, int]]:
        return [(int(one), int(other)) for one, other in value]

    with working(threads, False) as how:
        if method == "direct":
            arrays = _core.estimate_direct(labels, _controlled(controlled, rate, labels.columns), level, how)
        elif method == "shrunken":
            arrays = _core.estimate_shrunken(labels, _controlled(controlled, rate, labels.columns), request, how)
        elif method == "timelapse":
            (snapshot,) = needed(later=later)
            arrays = _core.estimate_timelapse(labels, _inputs.labels(snapshot, "later", labels.columns), request, how)
        elif method == "hierarchy":
            (edges,) = needed(hierarchy=hierarchy)
            arrays = _core.estimate_hierarchy(labels, pairs(edges), threshold, conditional, request, how)
        else:
            one, other = needed(bought=bought, viewed=viewed)
            arrays = _core.estimate_relation(labels, pairs(one), pairs(other), request, how)
    return of_arrays(arrays)
