"""Types of the functions that `_metrics` makes from the registry."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, overload

import numpy as np

_Array = np.ndarray[Any, Any]

class _Metric(Protocol):
    __name__: str
    @overload
    def __call__(
        self, y_true: Any, y_pred: Any, k: int = 5, estimator: str = "observed", propensity: Any = None, *,
        train: Any = None, clip: float | None = None, n_labels: int | None = None, threads: int | None = None,
    ) -> float: ...
    @overload
    def __call__(
        self, y_true: Any, y_pred: Any, k: Sequence[int], estimator: str = "observed", propensity: Any = None, *,
        train: Any = None, clip: float | None = None, n_labels: int | None = None, threads: int | None = None,
    ) -> _Array: ...

class _Weighted(Protocol):
    __name__: str
    @overload
    def __call__(
        self, y_true: Any, y_pred: Any, k: int = 5, estimator: str = "observed", propensity: Any = None, *, weights: Any = "inverse",
        train: Any = None, clip: float | None = None, n_labels: int | None = None, threads: int | None = None,
    ) -> float: ...
    @overload
    def __call__(
        self, y_true: Any, y_pred: Any, k: Sequence[int], estimator: str = "observed", propensity: Any = None, *,
        weights: Any = "inverse", train: Any = None, clip: float | None = None, n_labels: int | None = None,
        threads: int | None = None,
    ) -> _Array: ...

class _FBeta(Protocol):
    __name__: str
    @overload
    def __call__(
        self, y_true: Any, y_pred: Any, k: int = 5, estimator: str = "observed", propensity: Any = None, *, beta: float = 1.0,
        train: Any = None, clip: float | None = None, n_labels: int | None = None, threads: int | None = None,
    ) -> float: ...
    @overload
    def __call__(
        self, y_true: Any, y_pred: Any, k: Sequence[int], estimator: str = "observed", propensity: Any = None, *, beta: float = 1.0,
        train: Any = None, clip: float | None = None, n_labels: int | None = None, threads: int | None = None,
    ) -> _Array: ...

class _Counted(Protocol):
    __name__: str
    @overload
    def __call__(
        self, y_true: Any, y_pred: Any, k: int = 5, estimator: str = "observed", propensity: Any = None, *, label_counts: Any = None,
        train: Any = None, clip: float | None = None, n_labels: int | None = None, threads: int | None = None,
    ) -> float: ...
    @overload
    def __call__(
        self, y_true: Any, y_pred: Any, k: Sequence[int], estimator: str = "observed", propensity: Any = None, *,
        label_counts: Any = None, train: Any = None, clip: float | None = None, n_labels: int | None = None,
        threads: int | None = None,
    ) -> _Array: ...

FUNCTIONS: dict[str, Callable[..., Any]]

precision: _Metric
ndcg: _Metric
ndcg_min: _Metric
recall: _Metric
recall_known: _Counted
weighted_precision: _Weighted
macro_f: _FBeta
abandonment: _Metric
coverage: _Metric
