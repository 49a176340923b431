"""Propensities: how likely a relevant label is to be observed."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core, _inputs
from ._checks import array, file, optional, text
from ._deprecated import renamed
from ._inputs import Array
from ._registry import listed
from ._work import working

if TYPE_CHECKING:
    from .types import LabelsLike, NumbersLike, Path, PropensityLike

SOURCES = ("estimated", "curve", "clipped", "raised", "not-identified", "direct")


def _codes(given: Any, what: str) -> Array:
    """Places in `SOURCES`, one for each label."""
    codes = np.asarray(given)
    if codes.dtype.kind not in "iu" or (codes.size and not 0 <= codes.min() <= codes.max() < len(SOURCES)):
        raise ValueError(f"{what} are out of range: expected 0 to {len(SOURCES) - 1}, found {given!r}")
    return np.require(codes, np.uint8, ["C", "A"])


def _errors(given: Any) -> Array:
    """A row of numbers for each error that labels have in common."""
    found = np.asarray(given)
    if found.ndim != 2:
        raise ValueError(f"common_errors have the wrong shape: expected a row for each error, found {found.shape}")
    return np.stack([array(row, "common_errors") for row in found]) if len(found) else np.empty(found.shape)


@dataclasses.dataclass(frozen=True, eq=False, repr=False, init=False)
class Propensities:
    """A propensity for every label, with its source and its uncertainty.

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
        Lower and upper ends of intervals; NaN for labels without one.
    inverse_variances : numpy.ndarray of float64, shape (n_labels,), or None
        Variances of the inverse propensities, apart from errors that labels share.
    score_inverses : numpy.ndarray of float64, shape (n_labels,), or None
        Inverse propensities that estimates of metrics use, where they are not ``1 / values``: not floored at 1, which would bias sums.
    common_errors : numpy.ndarray of float64, shape (n_errors, n_labels), or None
        Errors that labels share, such as those of a curve. The covariance of the inverse propensities is
        ``diag(inverse_variances) + common_errors.T @ common_errors``.
    bound : str
        ``"exact"``, ``"upper"`` (the truth may be lower) or ``"none"``.
    sources : list of str or None
        For each label ``"estimated"``, ``"direct"``, ``"curve"``, ``"clipped"``, ``"raised"`` or ``"not-identified"``.
    counts : numpy.ndarray or None
        Training positives of each label, where they are known.
    fit : dict or None
        The fitted curve: ``spec``, ``mse``, ``standard_errors``, ``degenerate``, ``kappa`` and more.
    notes : list of str
        What users of the values should know.
    provenance : str or None
        Where the values came from, as the JSON that the library wrote; ``None`` for values of your own.

    Examples
    --------
    >>> import unmissed as um
    >>> p = um.Propensities([0.5, 1.0])
    >>> p.inverse.tolist()
    [2.0, 1.0]
    """

    values: Array
    origin: str
    bound: str
    source_codes: Array | None
    low: Array | None
    high: Array | None
    inverse_variances: Array | None
    score_inverses: Array | None
    common_errors: Array | None
    notes: list[str]
    counts: Array | None
    fit: dict[str, Any] | None
    provenance: str | None

    def __init__(
        self,
        values: NumbersLike,
        origin: str = "given",
        bound: str = "exact",
        source_codes: NumbersLike | None = None,
        low: NumbersLike | None = None,
        high: NumbersLike | None = None,
        inverse_variances: NumbersLike | None = None,
        notes: Sequence[str] = (),
        counts: NumbersLike | None = None,
        fit: dict[str, Any] | None = None,
        provenance: str | None = None,
        score_inverses: NumbersLike | None = None,
        common_errors: NumbersLike | None = None,
    ) -> None:
        checked = {
            "values": array(values, "propensity"),
            "origin": text(origin, "origin"),
            "bound": text(bound, "bound"),
            "source_codes": optional(_codes, source_codes, "source_codes"),
            "low": optional(array, low, "low"),
            "high": optional(array, high, "high"),
            "inverse_variances": optional(array, inverse_variances, "inverse_variances"),
            "score_inverses": optional(array, score_inverses, "score_inverses"),
            "common_errors": None if common_errors is None else _errors(common_errors),
            "notes": list(notes),
            "counts": None if counts is None else np.asarray(counts),
            "fit": fit,
            "provenance": optional(text, provenance, "provenance"),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

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
            (points,) = ax.plot(x, self.values[seen], ".", label=self.origin)
            if self.low is not None and self.high is not None:
                ax.vlines(x, self.low[seen], self.high[seen], color=points.get_color(), alpha=0.15)
            ax.set_xscale("log")
            ax.set_xlabel("training rows with the label")
        ax.set_yscale("log")
        ax.set_ylabel("propensity")
        ax.legend()
        return ax

    def write(self, path: Path) -> None:
        """Write a csv ``label,propensity,low,high,source`` (estimates: ``inverse,variance,c1,...`` too), which ``"table:FILE"`` reads."""
        _core.write_propensities(self._arrays(), file(path))

    def _arrays(self) -> dict[str, Any]:
        """What the native part takes."""
        return {
            "origin": self.origin,
            "provenance": self.provenance,
            "values": self.values,
            "bound": self.bound,
            "sources": self.source_codes,
            "low": self.low,
            "high": self.high,
            "inverse_variances": self.inverse_variances,
            "score_inverses": self.score_inverses,
            "common_errors": self.common_errors,
            "notes": list(self.notes),
        }


def of_arrays(arrays: dict[str, Any]) -> Propensities:
    fit = arrays.pop("fit", None)
    codes = arrays.pop("sources", None)
    return Propensities(source_codes=codes, fit=None if fit is None else json.loads(fit), **arrays)


@listed("models")
@renamed(threads="n_jobs")
def propensities(
    train: LabelsLike | None, model: str = "jpv", *, n_labels: int | None = None, n_jobs: int | None = None
) -> Propensities:
    """Propensities of a model, a function of how often labels occur in training.

    Parameters
    ----------
    train : labels
        Training labels in any form that `evaluate` takes. A table needs none.
    model : str, default "jpv"
        The model and its constants, as in ``"jpv:a=0.5,b=0.4"`` or ``"jpv:wikipedia"``:

        {models}
    n_labels : int, optional
        The number of labels, if the inputs do not determine it.
    n_jobs : int, optional
        Number of threads (-1: one per core); the result does not depend on it. Default: ``UNMISSED_THREADS``, or one per core.

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
    text(model, "model")
    if train is None:
        return of_arrays(_core.table_propensities(model, n_labels))
    with working(n_jobs) as how:
        return of_arrays(_core.model_propensities(model, _inputs.labels(train, "train", n_labels), how))


def propensities_of_counts(model: str, rows: int, counts: NumbersLike) -> Propensities:
    """Propensities of a model from the training counts of labels."""
    numbers = np.require(np.asarray(counts), np.uint64, ["C", "A"])
    with working() as how:
        return of_arrays(_core.count_propensities(model, rows, numbers, how))


def as_propensities(
    value: PropensityLike, train: LabelsLike | None, columns: int | None, n_jobs: int | None = None
) -> Propensities:
    """Propensities from a spec string, an object, or plain values."""
    if isinstance(value, Propensities):
        return value
    if isinstance(value, str):
        return propensities(train, value, n_labels=columns, n_jobs=n_jobs)
    return Propensities(value)
