"""Metrics as scikit-learn's model selection takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core
from ._checks import text
from ._metrics import FUNCTIONS
from ._propensity import Propensities, propensities_of_counts

if TYPE_CHECKING:
    from .types import PropensityLike


class Scorer:
    """The result of `scorer`: called with a fitted model, features and labels, it returns a number; higher is better."""

    def __init__(self, metric: str, k: int, estimator: str, propensity: PropensityLike | None, options: dict[str, Any]) -> None:
        self.metric, self.k, self.estimator, self.propensity, self.options = metric, k, estimator, propensity, options

    def __call__(self, model: Any, X: Any, y: Any) -> float:
        propensity = None if self.estimator == "observed" else self._propensity(_last_step(model))
        scores = model.decision_function(X) if hasattr(model, "decision_function") else model.predict_proba(X)
        value = FUNCTIONS[self.metric](y, scores, k=self.k, estimator=self.estimator, propensity=propensity, **self.options)
        _, lower_is_better = _core.nature(self.metric)
        return -float(value) if lower_is_better else float(value)

    def _propensity(self, model: Any) -> PropensityLike:
        fitted: Propensities | None = getattr(model, "propensities_", None)
        if self.propensity is None:
            if fitted is None:
                raise ValueError(f"the {self.estimator} {self.metric} needs propensities: pass propensity= to um.scorer")
            return fitted
        if isinstance(self.propensity, str):
            counts = getattr(model, "label_counts_", None)
            if counts is None:
                raise ValueError(f"'{self.propensity}' depends on training counts, which this model does not store: pass values")
            return propensities_of_counts(self.propensity, model.n_rows_, counts)
        return self.propensity

    def __repr__(self) -> str:
        more = "" if self.propensity is None else f", propensity={self.propensity!r}"
        return f"scorer('{self.metric}@{self.k}', estimator={self.estimator!r}{more})"


def _last_step(model: Any) -> Any:
    """The model itself, inside pipelines and searches."""
    if hasattr(model, "best_estimator_"):
        return _last_step(model.best_estimator_)
    return _last_step(model.steps[-1][1]) if isinstance(getattr(model, "steps", None), list) else model


def scorer(metric: str, *, estimator: str = "observed", propensity: PropensityLike | None = None, **options: Any) -> Scorer:
    """A metric for scikit-learn's ``GridSearchCV``, ``cross_val_score`` and the like.

    Parameters
    ----------
    metric : str
        A metric and the length of the top list, as in ``"precision@5"`` or ``"macro-f@3"``.
    estimator : str, default "observed"
        How the value is estimated from incomplete labels.
    propensity : str, Propensities or array-like, optional
        The propensities; by default those that the model was trained with.
    **options
        Further keywords of the metric's function, such as ``beta``.

    Returns
    -------
    Scorer
        A callable ``(model, X, y) -> float`` of which more is better: abandonment has its sign changed.

    Examples
    --------
    >>> import unmissed as um
    >>> um.scorer("precision@5", estimator="unbiased")
    scorer('precision@5', estimator='unbiased')
    >>> um.scorer("precison@5")
    Traceback (most recent call last):
        ...
    ValueError: unknown metric 'precison'; did you mean 'precision'?
    """
    name, _, k = text(metric, "metric").partition("@")
    # Unknown names are answered by the library, with near ones.
    offered = [one for one, _ in _core.offers(name)]
    if estimator not in offered:
        raise ValueError(f"there is no {estimator} {name}: expected one of {', '.join(offered)}")
    if k and not (k.isdigit() and int(k) > 0):
        raise ValueError(f"cannot read the metric: expected NAME@K as in 'precision@5', found {metric!r}")
    return Scorer(name, int(k or 5), estimator, propensity, options)
