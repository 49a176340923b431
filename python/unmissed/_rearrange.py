"""Data sets derived from others: split, completed by a hierarchy, or built from ratings."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core, _inputs
from ._checks import file, number, optional, pairs, text, whole
from ._data import Data, to_csr, to_data
from ._inputs import Array
from ._work import working

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .types import FeaturesLike, LabelsLike, PairsLike, Path, RatingsLike


@dataclasses.dataclass(frozen=True)
class Split:
    """A training and a test set, as `split` returns them.

    Attributes
    ----------
    train, test : Data
        Labels of each part, with features if the data have any.
    train_rows, test_rows : numpy.ndarray
        The original rows of each part, ascending, to split texts and names of rows in the same way.
    labels : numpy.ndarray
        The old number of each label that was kept, ascending.
    """

    train: Data
    test: Data
    train_rows: Array
    test_rows: Array
    labels: Array


def split(
    y: LabelsLike | Sequence[Data],
    *,
    X: FeaturesLike | None = None,
    test: float = 0.3,
    min_positives: int = 1,
    random_state: int = 0,
    n_labels: int | None = None,
    n_jobs: int | None = None,
) -> Split:
    """Merge data sets, drop rare labels, and split the rows into a training and a test set: ``unmissed split``.

    Parameters
    ----------
    y : labels, Data, or list of Data
        Labels, in any form that `evaluate` takes; a `Data` includes its features. Several `Data` are merged first, in order.
    X : array-like or sparse matrix of shape (n_rows, n_features), optional
        Features.
    test : float, default 0.3
        The share of the rows that go into the test set.
    min_positives : int, default 1
        Labels with fewer rows are dropped, and the others renumbered. All rows are kept, also those without labels.
    random_state : int, default 0
        Seed of the draw. With the same seed, the test rows of a larger share contain those of a smaller one.
    n_labels : int, optional
        The number of labels, if the inputs do not determine it.
    n_jobs : int, optional
        Number of threads (-1: one per core); the result does not depend on it. Default: ``UNMISSED_THREADS``, or one per core.

    Returns
    -------
    Split

    Examples
    --------
    >>> import unmissed as um
    >>> parts = um.split([[0, 2], [2], [0], [2], [0, 1], [2]], test=1 / 3, min_positives=2)
    >>> parts.labels.tolist(), parts.train.y.shape, parts.test.y.shape
    ([0, 2], (4, 2), (2, 2))
    >>> sorted(parts.train_rows.tolist() + parts.test_rows.tolist())
    [0, 1, 2, 3, 4, 5]
    """
    several = isinstance(y, (list, tuple)) and len(y) > 0 and all(isinstance(one, Data) for one in y)
    if several and X is not None:
        raise ValueError("X= belongs to one data set: put the features of several into their Data")
    whole_sets: list[Any] = list(y) if several else [y]  # type: ignore[arg-type]
    parts = []
    for one in whole_sets:
        features = one.X if isinstance(one, Data) and X is None else X
        parts.append((None if features is None else _inputs.features(features, "X"), _inputs.labels(one, "y", n_labels)))
    with working(n_jobs) as how:
        least, seed = whole(min_positives, "min_positives"), whole(random_state, "random_state")
        found = _core.split(parts, least, number(test, "test"), seed, how)
    (train_rows, *train), (test_rows, *test_) = found["train"], found["test"]
    return Split(to_data(*train), to_data(*test_), train_rows, test_rows, found["labels"])


def impute(y: LabelsLike, hierarchy: PairsLike | Path, *, n_labels: int | None = None, n_jobs: int | None = None) -> Any:
    """Add the ancestors of observed labels: ``unmissed impute``.

    If a hierarchy implies missing labels, they need not be estimated. Labels that it does not imply stay missing.

    Parameters
    ----------
    y : labels of shape (n_rows, n_labels)
        Observed labels.
    hierarchy : sequence of (child, parent), or a path
        Pairs of labels, or a file of lines ``child TAB parent``.
    n_labels : int, optional
        The number of labels, if the inputs do not determine it.
    n_jobs : int, optional
        Number of threads (-1: one per core); the result does not depend on it. Default: ``UNMISSED_THREADS``, or one per core.

    Returns
    -------
    scipy.sparse.csr_matrix
        The observed labels and all labels that they imply.

    Examples
    --------
    >>> import unmissed as um
    >>> um.impute([[2], [0]], [(2, 1), (1, 0)], n_labels=3).toarray().tolist()
    [[1, 1, 1], [1, 0, 0]]
    """
    labels = _inputs.labels(y, "y", n_labels)
    is_path = isinstance(hierarchy, str) or hasattr(hierarchy, "__fspath__")
    edges = file(hierarchy) if is_path else pairs(hierarchy, "hierarchy", "(child, parent)")
    with working(n_jobs) as how:
        return to_csr(_core.impute(labels, edges, how)[0])


@dataclasses.dataclass(frozen=True)
class Survey:
    """A training set and a bias-controlled set, as `survey_from_ratings` returns them.

    Attributes
    ----------
    train : Data
        Of the chosen items that each user likes, half are features and half are labels.
    controlled : Data
        The users with random ratings: half of the chosen items that they like are features, the random items that they like are labels.
    shown : scipy.sparse.csr_matrix
        The items that each row of `controlled` was shown, liked or not.
    rate : str or float
        The rate of the controlled set, for ``rate=``: ``"10/1000"``, or the mean as a number if users were shown different numbers of
        items.
    items : list of str
        The names of the labels.
    train_users, controlled_users : list of str
        The names of the rows.
    """

    train: Data
    controlled: Data
    shown: Any
    rate: str | float
    items: list[str]
    train_users: list[str]
    controlled_users: list[str]


def survey_from_ratings(
    chosen: RatingsLike,
    random: RatingsLike,
    *,
    positive: float,
    train_users: str = "unique",
    format: str | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Survey:
    """Build a training set and a bias-controlled set from two sets of ratings: ``unmissed split --controlled``.

    Ratings that users chose to give are biased; ratings of randomly drawn items are not. The first become a training set, the second a
    controlled set, for estimating propensities and for training and auditing models.

    Parameters
    ----------
    chosen : path, data frame, or sequence of (user, item, rating)
        Ratings that users chose to give. A data frame has the columns ``user``, ``item`` and ``rating``; otherwise its first three are used.
    random : path, data frame, or sequence of (user, item, rating)
        Ratings of items that were drawn at random for each user.
    positive : float
        The lowest rating that makes an item relevant to a user.
    train_users : {"unique", "all"}, default "unique"
        The users of the training set: those without random ratings, or all.
    format : str, optional
        Format of the files: ``"ratings"`` (the default: lines ``user,item,rating``) or ``"matrix"``.
    random_state : int, default 0
        Seed of the division into features and labels.
    n_jobs : int, optional
        Number of threads (-1: one per core); the result does not depend on it. Default: ``UNMISSED_THREADS``, or one per core.

    Returns
    -------
    Survey

    Examples
    --------
    >>> import unmissed as um
    >>> chosen = [("ann", "jazz", 5), ("ann", "folk", 4), ("ann", "rock", 1), ("bob", "jazz", 5)]
    >>> random = [("bob", "folk", 4), ("bob", "rock", 2)]
    >>> survey = um.survey_from_ratings(chosen, random, positive=4)
    >>> survey.items, survey.train_users, survey.controlled_users, survey.rate
    (['folk', 'jazz', 'rock'], ['ann'], ['bob'], '2/3')
    >>> survey.controlled.y.toarray().tolist(), survey.shown.toarray().tolist()
    ([[1, 0, 0]], [[1, 0, 1]])
    """
    kind = optional(text, format, "format")
    of_choice, at_random = _ratings(chosen, "chosen", kind), _ratings(random, "random", kind)
    least, users, seed = number(positive, "positive"), text(train_users, "train_users"), whole(random_state, "random_state")
    with working(n_jobs) as how:
        found = _core.survey_from_ratings(of_choice, at_random, least, users, seed, how)
    shown, items, uniform = found["rate"]
    rate = f"{int(shown)}/{items}" if uniform else shown / items
    names = (found[name] for name in ("items", "train_users", "controlled_users"))
    return Survey(to_data(*found["train"]), to_data(*found["controlled"]), to_csr(found["shown"]), rate, *names)


def _ratings(given: Any, what: str, format: str | None) -> tuple[Any, ...]:
    """A file and its format, or users, items and ratings."""
    if isinstance(given, str) or hasattr(given, "__fspath__"):
        return file(given), format
    if hasattr(given, "columns"):
        names = list(given.columns)
        if len(names) < 3:
            raise ValueError(f"{what} has the wrong columns: expected user, item and rating, found {names}")
        wanted = ["user", "item", "rating"] if {"user", "item", "rating"} <= set(names) else names[:3]
        users, items, ratings = (list(given[name]) for name in wanted)
    else:
        try:
            triples = [(user, item, rating) for user, item, rating in given]
        except (TypeError, ValueError):
            raise ValueError(f"{what} does not hold ratings: expected a path, a data frame or (user, item, rating) each") from None
        users, items, ratings = (list(column) for column in zip(*triples)) if triples else ([], [], [])
    try:
        numbers = np.asarray(ratings, np.float32)
    except (TypeError, ValueError):
        raise ValueError(f"the ratings of {what} are not numbers") from None
    return [str(user) for user in users], [str(item) for item in items], numbers
