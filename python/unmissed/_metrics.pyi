"""Types of the functions that `_metrics` makes from the registry. Written by scripts/python_stubs.py."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

_Array = np.ndarray[Any, Any]

class Keyword(NamedTuple):
    default: Any
    type: str
    about: str

FUNCTIONS: dict[str, Callable[..., Any]]
KEYWORDS: dict[str, Keyword]

def keywords(metric: str) -> dict[str, Keyword]: ...

@overload
def precision(
    y_true: Any, y_pred: Any, k: int = 5, estimator: str = "observed", propensity: Any = None, *,
    train: Any = None, clip: float | None = None, n_labels: int | None = None, threads: int | None = None,
) -> float: ...

@overload
def precision(
    y_true: Any, y_pred: Any, k: Sequence[int], estimator: str = "observed", propensity: Any = None, *,
    train: Any = None, clip: float | None = None, n_labels: int | None = None, threads: int | None = None,
) -> _Array: ...

@overload
def ndcg(
    y_true: Any, y_pred: Any, k: int = 5, estimator: str = "observed", propensity: Any = None, *,
    train: Any = None, clip: float | None = None, n_labels: int | None = None, threads: int | None = None,
) -> float: ...

@overload
def ndcg(
    y_true: Any, y_pred: Any, k: Sequence[int], estimator: str = "observed", propensity: Any = None, *,
    train: Any = None, clip: float | None = None, n_labels: int | None = None, threads: int | None = None,
) -> _Array: ...

@overload
def ndcg_min(
    y_true: Any, y_pred: Any, k: int = 5, estimator: str = "observed", propensity: Any = None, *,
    train: Any = None, clip: float | None = None, n_labels: int | None = None, threads: int | None = None,
) -> float: ...

@overload
def ndcg_min(
    y_true: Any, y_pred: Any, k: Sequence[int], estimator: str = "observed", propensity: Any = None, *,
    train: Any = None, clip: float | None = None, n_labels: int | None = None, threads: int | None = None,
) -> _Array: ...

@overload
def recall(
    y_true: Any, y_pred: Any, k: int = 5, estimator: str = "observed", propensity: Any = None, *,
    train: Any = None, clip: float | None = None, n_labels: int | None = None, threads: int | None = None,
) -> float: ...

@overload
def recall(
    y_true: Any, y_pred: Any, k: Sequence[int], estimator: str = "observed", propensity: Any = None, *,
    train: Any = None, clip: float | None = None, n_labels: int | None = None, threads: int | None = None,
) -> _Array: ...

@overload
def recall_known(
    y_true: Any, y_pred: Any, k: int = 5, estimator: str = "observed", propensity: Any = None, *, label_counts: Any = None,
    train: Any = None, clip: float | None = None, n_labels: int | None = None, threads: int | None = None,
) -> float: ...

@overload
def recall_known(
    y_true: Any, y_pred: Any, k: Sequence[int], estimator: str = "observed", propensity: Any = None, *, label_counts: Any = None,
    train: Any = None, clip: float | None = None, n_labels: int | None = None, threads: int | None = None,
) -> _Array: ...

@overload
def weighted_precision(
    y_true: Any, y_pred: Any, k: int = 5, estimator: str = "observed", propensity: Any = None, *, weights: Any = "inverse",
    train: Any = None, clip: float | None = None, n_labels: int | None = None, threads: int | None = None,
) -> float: ...

@overload
def weighted_precision(
    y_true: Any, y_pred: Any, k: Sequence[int], estimator: str = "observed", propensity: Any = None, *, weights: Any = "inverse",
    train: Any = None, clip: float | None = None, n_labels: int | None = None, threads: int | None = None,
) -> _Array: ...

@overload
def macro_f(
    y_true: Any, y_pred: Any, k: int = 5, estimator: str = "observed", propensity: Any = None, *, beta: float = 1.0,
    train: Any = None, clip: float | None = None, n_labels: int | None = None, threads: int | None = None,
) -> float: ...

@overload
def macro_f(
    y_true: Any, y_pred: Any, k: Sequence[int], estimator: str = "observed", propensity: Any = None, *, beta: float = 1.0,
    train: Any = None, clip: float | None = None, n_labels: int | None = None, threads: int | None = None,
) -> _Array: ...

@overload
def abandonment(
    y_true: Any, y_pred: Any, k: int = 5, estimator: str = "observed", propensity: Any = None, *,
    train: Any = None, clip: float | None = None, n_labels: int | None = None, threads: int | None = None,
) -> float: ...

@overload
def abandonment(
    y_true: Any, y_pred: Any, k: Sequence[int], estimator: str = "observed", propensity: Any = None, *,
    train: Any = None, clip: float | None = None, n_labels: int | None = None, threads: int | None = None,
) -> _Array: ...

@overload
def coverage(
    y_true: Any, y_pred: Any, k: int = 5, estimator: str = "observed", propensity: Any = None, *,
    train: Any = None, clip: float | None = None, n_labels: int | None = None, threads: int | None = None,
) -> float: ...

@overload
def coverage(
    y_true: Any, y_pred: Any, k: Sequence[int], estimator: str = "observed", propensity: Any = None, *,
    train: Any = None, clip: float | None = None, n_labels: int | None = None, threads: int | None = None,
) -> _Array: ...
