"""Choices that users make in several ways, as the native part takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _inputs
from ._checks import array, number, optional, whole


def several(value: Any) -> list[Any]:
    """Propensities may come alone or in a list; a list of numbers is one of them."""
    if value is None:
        return []
    if isinstance(value, (list, tuple)) and not all(np.isscalar(one) and not isinstance(one, str) for one in value):
        return list(value)
    return [value]


def named_models(y_pred: Any) -> list[tuple[str, Any]]:
    """Predictions by the names of their models; one alone has the usual name."""
    if isinstance(y_pred, Mapping) and "indices" not in y_pred:
        return [(str(name), one) for name, one in y_pred.items()]
    return [("predictions", y_pred)]


def groups_of(groups: Any) -> Any:
    """A kind of groups as the library reads it, or the name of each label's group."""
    if groups is None or groups is False:
        return None
    if groups is True:
        return "share"
    if isinstance(groups, str):
        return groups
    if not hasattr(groups, "__iter__"):
        raise ValueError(f"groups are out of range: expected True, a kind of groups, or a name for each label, found {groups!r}")
    return [None if name is None else str(name) for name in groups]


def rate_of(rate: Any) -> Any:
    """Text that the library reads, a pair (r, m), one number, or a rate for each label."""
    if rate is None or isinstance(rate, str):
        return rate
    if isinstance(rate, tuple):
        return "/".join(map(str, rate))
    return number(rate, "rate") if np.ndim(rate) == 0 else array(rate, "rate")


def number_of_labels(given: int | None, labels: list[Any], predictions: list[Any]) -> int:
    """What is given, what a matrix says, or as many as the largest label of lists needs."""
    known = [optional(whole, given, "n_labels", 0, 2**32), *map(_inputs.columns_of, labels), *map(_inputs.columns_of_scores, predictions)]
    found = next((one for one in known if one is not None), None)
    if found is not None:
        return found
    matrices = [_inputs.labels(value, "labels") for value in labels if value is not None]
    matrices += [_inputs.scores(value, "y_pred") for value in predictions]
    return max((matrix.columns for matrix in matrices), default=0)


def row_counts(counts: Any) -> Any:
    """Whole numbers that fit, one for each row."""
    given = np.asarray(counts)
    if given.ndim != 1 or given.dtype.kind not in "iu" or (given.size and not 0 <= given.min() <= given.max() < 2**32):
        raise ValueError("label_counts does not fit: expected one whole number of at least 0 for each row")
    return np.ascontiguousarray(given, np.uint32)


def lengths(k: Any) -> list[int]:
    """Lengths of the top list, one or several."""
    several = [k] if np.isscalar(k) or k is None else list(k)
    return [whole(one, "k", 1) for one in several]
