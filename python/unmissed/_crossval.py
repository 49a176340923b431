"""Out-of-fold predictions: what estimates from a later snapshot of the training rows need."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _inputs
from ._checks import whole

if TYPE_CHECKING:
    from .types import Array, FeaturesLike, LabelsLike


def cross_val_top_k(
    estimator: Any,
    X: FeaturesLike,
    y: LabelsLike,
    k: int = 100,
    *,
    cv: int | Iterable[tuple[Any, Any]] = 10,
    random_state: int = 0,
    n_labels: int | None = None,
) -> Any:
    """Predict every training row with a model that was not trained on it.

    Estimates from a later snapshot of the training rows (`evaluate` and `audit` with `later` and `train_predictions`) need predictions
    for these rows that are as good as those for new rows. Models of the folds are trained on fewer rows than the final one and are
    slightly worse; with ten folds the difference is small.

    Parameters
    ----------
    estimator : object with ``fit`` and one of ``predict_top_k``, ``decision_function``, ``predict_proba``
        `OneVsRest`, or a multi-label classifier of scikit-learn. It is cloned for each fold and not changed itself.
    X : array-like or sparse matrix of shape (n_rows, n_features), or Data
        Features.
    y : labels of shape (n_rows, n_labels)
        Observed labels, as `evaluate` takes them for `train`. The estimator gets them as a sparse matrix of 0 and 1, or as an
        array when they are one.
    k : int, default 100
        Maximum number of labels per row.
    cv : int or iterable of (training rows, test rows), default 10
        Number of folds, or the folds themselves. Each row must be a test row of exactly one.
    random_state : int, default 0
        Seed of the folds.
    n_labels : int, optional
        The number of labels, if the inputs do not determine it.

    Returns
    -------
    scipy.sparse.csr_matrix of shape (n_rows, n_labels)
        Scores of the best labels of each row, the best first.

    Raises
    ------
    ValueError
        If folds do not cover each row once, or if the estimator gives no scores.

    Examples
    --------
    >>> import unmissed as um
    >>> data = um.datasets.balls(train_rows=300, test_rows=10, labels=6)
    >>> um.cross_val_top_k(um.OneVsRest(), data.train.X, data.train.y, k=3, cv=3).shape
    (300, 6)
    """
    import scipy.sparse as sp

    k = whole(k, "k", 1)
    given: Any = X
    features: Any = given.X if _inputs._is_data(given) else given
    features = features.tocsr() if _inputs.is_sparse(features) else np.asarray(features)
    targets: Any
    if isinstance(y, np.ndarray) and y.ndim == 2:
        targets = y
    else:
        found = _inputs.labels(y, "y", n_labels)
        ones = np.ones(len(found.indices), np.int32)
        targets = sp.csr_matrix((ones, found.indices, found.indptr), shape=(found.rows, found.columns))
    rows, columns = targets.shape
    if features.shape[0] != rows:
        raise ValueError(f"X and y have different numbers of rows: {features.shape[0]} and {rows}")
    best: list[Any] = [None] * rows
    for train, test in _folds(cv, rows, random_state):
        model = _clone(estimator).fit(features[train], targets[train])
        absent = np.asarray(targets[train].sum(axis=0)).ravel() == 0
        for row, one in zip(test, _top(model, features[test], k, absent), strict=True):
            best[row] = one
    indptr = np.cumsum([0, *(len(labels) for labels, _ in best)])
    labels, scores = (np.concatenate([one[at] for one in best]) for at in (0, 1))
    return sp.csr_matrix((scores, labels, indptr), shape=(rows, columns))


def _folds(cv: Any, rows: int, random_state: int) -> list[tuple[Array, Array]]:
    """Row numbers to train on and to predict."""
    if not isinstance(cv, Iterable):
        count = whole(cv, "cv", 2)
        if count > rows:
            raise ValueError(f"cv is out of range: expected at most {rows}, the number of rows, found {count}")
        order = np.random.default_rng(whole(random_state, "random_state")).permutation(rows)
        parts = [np.sort(order[fold::count]) for fold in range(count)]
        return [(np.setdiff1d(np.arange(rows), part), part) for part in parts]
    folds = [(np.asarray(train), np.asarray(test)) for train, test in cv]
    seen = np.sort(np.concatenate([test for _, test in folds])) if folds else np.empty(0, int)
    if not np.array_equal(seen, np.arange(rows)):
        raise ValueError(f"cv does not cover the rows: expected each of {rows} rows as a test row of one fold")
    overlap = next((fold for fold, (train, test) in enumerate(folds) if np.intersect1d(train, test).size), None)
    if overlap is not None:
        raise ValueError(f"fold {overlap} of cv predicts rows that it was trained on")
    return folds


def _clone(estimator: Any) -> Any:
    if hasattr(estimator, "get_params"):
        from sklearn.base import clone

        return clone(estimator)
    return copy.deepcopy(estimator)


def _top(model: Any, rows: Any, k: int, absent: Array) -> list[tuple[Array, Array]]:
    """Labels and scores of each row, the best first; ties go to the smaller label. `absent` marks labels that no training row had."""
    columns = len(absent)
    if hasattr(model, "predict_top_k"):
        found = model.predict_top_k(rows, k=min(k, columns)).tocsr()
        ends = zip(found.indptr[:-1], found.indptr[1:], strict=True)
        return [(found.indices[start:end], found.data[start:end].astype(np.float32)) for start, end in ends]
    for method in ("decision_function", "predict_proba"):
        if hasattr(model, method):
            scores = getattr(model, method)(rows)
            break
    else:
        raise ValueError("the estimator gives no scores: expected predict_top_k, decision_function or predict_proba")
    if isinstance(scores, list):
        # One array for each label, with a column for each class that training saw; the last is 1, or the only one there is.
        scores = np.column_stack([one[:, -1] if one.shape[1] > 1 else np.zeros(len(one)) for one in scores])
    scores = np.array(scores, np.float32)
    if scores.ndim != 2 or scores.shape[1] != columns:
        raise ValueError(f"the estimator's scores do not fit: expected {columns} columns, found {scores.shape[1:] or 'none'}")
    if method == "decision_function" and absent.any() and scores.size:
        # scikit-learn gives such labels 0, which stands above the negative scores of all that it learned.
        scores[:, absent] = scores.min() - 1
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return [(labels, one[labels]) for labels, one in zip(order, scores, strict=True)]
