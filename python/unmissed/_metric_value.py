"""What the metric functions have in common: one cell of an evaluation."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._choices import lengths
from ._evaluate import evaluate

if TYPE_CHECKING:
    from .types import Array, LabelsLike, PropensityLike, ScoresLike


# Findings about inputs that do not belong together: a number alone would hide them.
_MISALIGNED = ("U016", "U017", "U021", "U023")


def metric_value(
    metric: str,
    y_true: LabelsLike,
    y_pred: ScoresLike,
    k: int | Sequence[int] | Array,
    estimator: str,
    propensity: PropensityLike | None,
    **options: Any,
) -> float | Array:
    """The value at k, or an array with one for each k; `options` are those of `evaluate`."""
    if propensity is not None and estimator == "observed":
        raise ValueError("propensity= is given, but the observed value does not use it; did you mean estimator='unbiased'?")
    ks = lengths(k)
    report = evaluate(
        y_true, y_pred, metrics=[metric], estimators=[estimator], propensity=propensity, k=ks, bootstrap=0, **options
    )
    for finding in report.findings:
        if finding.code in _MISALIGNED:
            warnings.warn(_core.printable(f"{finding.code}: {finding.message}; {finding.advice}"), stacklevel=3)
    if len({row.propensity for row in report.rows}) > 1:
        raise ValueError("several propensity models give several values; use um.evaluate")
    by_k = {row.k: np.nan if row.value is None else row.value for row in report.rows}
    return float(by_k[ks[0]]) if np.isscalar(k) else np.array([by_k[one] for one in ks])
