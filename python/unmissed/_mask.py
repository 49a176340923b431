"""Removal of labels with known propensities, for studies whose truth is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core, _inputs
from ._checks import number, optional, text, whole
from ._data import to_csr
from ._propensity import Propensities, as_propensities
from ._work import working

if TYPE_CHECKING:
    from .types import LabelsLike, PropensityLike, ScoresLike


def mask(
    y: LabelsLike,
    propensity: PropensityLike,
    *,
    correlation: float = 0.0,
    by: str | None = None,
    strength: float = 1.0,
    groups: int = 10,
    predictions: ScoresLike | None = None,
    random_state: int = 0,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> tuple[Any, Propensities]:
    """Remove labels with known propensities, by default independently.

    Parameters
    ----------
    y : labels of shape (n_rows, n_labels)
        Complete labels.
    propensity : str, Propensities or array-like
        A model, as a function of the label counts of `y`, or one number for each label.
    correlation : float, default 0.0
        How strongly labels of a row go missing together: 0 independently, 1 all at once if their propensities are equal (a Gaussian copula).
    by : {"row", "group", "rank"}, optional
        What propensities depend on besides the label: the row, the group that it falls into, or the rank of the label in `predictions`.
    strength : float, default 1.0
        Strength of the dependence: log odds per standard deviation.
    groups : int, default 10
        Number of groups that rows fall into at random.
    predictions : scores of shape (n_rows, n_labels), optional
        What ``by="rank"`` ranks by.
    random_state : int, default 0
        Seed; the same one removes the same labels.
    n_labels : int, optional
        The number of labels, if the inputs do not determine it.
    n_jobs : int, optional
        Number of threads (-1: one per core); the result does not depend on it. Default: ``UNMISSED_THREADS``, or one per core.

    Returns
    -------
    scipy.sparse.csr_matrix
        The labels that are left.
    Propensities
        How likely each label was to be kept; with `by`, the mean over the rows that have it.

    Examples
    --------
    >>> import numpy as np
    >>> import unmissed as um
    >>> complete = np.ones((1000, 2), int)
    >>> kept, p = um.mask(complete, [1.0, 0.5])
    >>> kept.sum(axis=0).tolist()[0][0], p.values.tolist()
    (1000, [1.0, 0.5])
    >>> together, _ = um.mask(complete, [0.5, 0.5], correlation=1.0)
    >>> sorted(set(together.sum(axis=1).A1.tolist()))
    [0, 2]
    """
    labels = _inputs.labels(y, "y", n_labels)
    columns = labels.columns
    given = as_propensities(propensity, y, columns, n_jobs)
    request = {
        "propensities": np.ascontiguousarray(given.values, np.float64),
        "correlation": number(correlation, "correlation"),
        "by": optional(text, by, "by"),
        "strength": number(strength, "strength"),
        "groups": whole(groups, "groups", 0, 2**32),
        "scores": None if predictions is None else _inputs.scores(predictions, "predictions", columns),
        "seed": whole(random_state, "random_state"),
    }
    with working(n_jobs) as how:
        kept, means = _core.mask(labels, request, how)
    return to_csr(kept), given if by is None else Propensities(means, origin=f"{given.origin}, by {by}")
