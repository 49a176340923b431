"""Artificial data whose truth is known."""

from __future__ import annotations

import dataclasses
from typing import Any

from . import _core
from ._checks import whole
from ._data import Data, to_data
from ._deprecated import renamed
from ._inputs import Array
from ._propensity import Propensities
from ._work import working

__all__ = ["Generated", "balls", "ratings", "survey"]


@dataclasses.dataclass(frozen=True)
class Generated:
    """Generated data.

    Attributes
    ----------
    train, test : Data
        Features and observed labels.
    train_clean, test_clean : Data or None
        The same rows with all relevant labels; None if nothing is missing.
    controlled : Data or None
        Rows to which labels were shown at random: the relevant ones among these.
    shown : matrix or None
        What was shown to the rows of `controlled`, relevant or not.
    propensities : Propensities or None
        The true propensities.
    tables : dict of dict of numpy.ndarray
        What is known about each label, by table and column.
    notes : list of str
        What a user should know about these data.
    """

    train: Data
    test: Data
    train_clean: Data | None
    test_clean: Data | None
    controlled: Data | None
    shown: Any
    propensities: Propensities | None
    tables: dict[str, dict[str, Array]]
    notes: list[str]


def _generate(generator: str, random_state: int, n_jobs: int | None, settings: dict[str, Any]) -> Generated:
    def text(value: Any) -> str:
        return ",".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)

    chosen = [(name.replace("_", "-"), text(value)) for name, value in settings.items()]
    with working(n_jobs) as how:
        made = _core.generate(generator, chosen, whole(random_state, "random_state"), how)
    parts = {name: to_data(*part) for name, part in made["parts"].items()}
    known = made["tables"].get("propensities", {}).get("propensity")
    return Generated(
        train=parts["train"],
        test=parts["test"],
        train_clean=parts.get("train_clean"),
        test_clean=parts.get("test_clean"),
        controlled=parts.get("controlled"),
        shown=parts["controlled_shown"].y if "controlled_shown" in parts else None,
        propensities=None if known is None else Propensities(known, origin="true"),
        tables=made["tables"],
        notes=made["notes"],
    )


@renamed(threads="n_jobs")
def balls(
    *,
    labels: int = 100,
    dim: int = 6,
    radius: tuple[float, float] = (0.1, 0.8),
    train_rows: int = 70000,
    test_rows: int = 30000,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Generated:
    """Points in a ball, labelled by the smaller balls that they lie in: complete labels with known priors.

    Parameters
    ----------
    labels : int, default 100
        Number of labels.
    dim : int, default 6
        Number of features.
    radius : (float, float), default (0.1, 0.8)
        Smallest and largest radius of a label's ball.
    train_rows, test_rows : int, default 70000 and 30000
        Rows of the two parts.
    random_state : int, default 0
        The same seed gives the same data, on any number of threads.
    n_jobs : int, optional
        Number of threads (-1: one per core); the result does not depend on it. Default: ``UNMISSED_THREADS``, or one per core.

    Returns
    -------
    Generated

    Examples
    --------
    >>> import unmissed as um
    >>> um.datasets.balls(train_rows=100, test_rows=10).train
    Data(X: 100 x 6, y: 100 x 100)
    """
    settings = {"labels": labels, "dim": dim, "radius": radius, "train_rows": train_rows, "test_rows": test_rows}
    return _generate("balls", random_state, n_jobs, settings)


@renamed(threads="n_jobs")
def survey(
    *,
    users: int = 10000,
    test_users: int = 3000,
    controlled_users: int = 5000,
    items: int = 1000,
    shown: int = 10,
    dim: int = 20,
    relevant: float = 0.06,
    tail: float = 0.8,
    strength: float = 2.5,
    noise: float = 0.3,
    gamma: float = 0.5,
    scatter: float = 0.5,
    rise: float = 0,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Generated:
    """Users who choose which items they rate, and a controlled set of users who were shown items at random.

    Parameters
    ----------
    users, test_users, controlled_users : int
        Users of each part.
    items : int, default 1000
        Number of items (labels).
    shown : int, default 10
        Items that a controlled user is shown.
    dim : int, default 20
        Dimensions of taste, and number of features.
    relevant : float, default 0.06
        Share of the items that are relevant to a user, on average.
    tail : float, default 0.8
        How fast relevance falls with an item's rank.
    strength : float, default 2.5
        How strongly taste determines relevance.
    noise : float, default 0.3
        Standard deviation of the noise on features.
    gamma : float, default 0.5
        Exponent of the propensity curve.
    scatter : float, default 0.5
        Standard deviation of log propensities around the curve.
    rise : float, default 0
        How much more often users rate what they like more.
    random_state : int, default 0
        The same seed gives the same data, on any number of threads.
    n_jobs : int, optional
        Number of threads (-1: one per core); the result does not depend on it. Default: ``UNMISSED_THREADS``, or one per core.

    Returns
    -------
    Generated

    Examples
    --------
    >>> import unmissed as um
    >>> data = um.datasets.survey(users=50, test_users=20, controlled_users=30, items=40)
    >>> data.controlled.y.shape, data.train_clean.y.nnz > data.train.y.nnz
    ((30, 40), True)
    """
    settings = {
        "users": users,
        "test_users": test_users,
        "controlled_users": controlled_users,
        "items": items,
        "shown": shown,
        "dim": dim,
        "relevant": relevant,
        "tail": tail,
        "strength": strength,
        "noise": noise,
        "gamma": gamma,
        "scatter": scatter,
        "rise": rise,
    }
    return _generate("survey", random_state, n_jobs, settings)


def ratings(
    *,
    users: int = 10000,
    test_users: int = 3000,
    controlled_users: int = 5400,
    items: int = 1000,
    shown: int = 10,
    dim: int = 8,
    relevant: float = 0.085,
    rated: float = 8,
    tail: float = 0.6,
    strength: float = 2.5,
    taste: float = 0.5,
    gamma: float = 0.5,
    scatter: float = 0.5,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Generated:
    """Users who rate a handful of the many items they like, half of them as features; items shown at random to others.

    Parameters
    ----------
    users, test_users, controlled_users : int
        Users of each part.
    items : int, default 1000
        Number of items (features and labels).
    shown : int, default 10
        Items that a controlled user is shown.
    dim : int, default 8
        Dimensions of taste.
    relevant : float, default 0.085
        Share of the items that are relevant to a user, on average.
    rated : float, default 8
        Relevant items that a user rates, on average; half of them become labels.
    tail : float, default 0.6
        How fast relevance falls with an item's rank.
    strength : float, default 2.5
        How strongly taste determines relevance.
    taste : float, default 0.5
        How much more often users rate what they like more.
    gamma : float, default 0.5
        How much more often popular items are rated.
    scatter : float, default 0.5
        Standard deviation of items around that, on the scale of log odds.
    random_state : int, default 0
        The same seed gives the same data, on any number of threads.
    n_jobs : int, optional
        Number of threads (-1: one per core); the result does not depend on it. Default: ``UNMISSED_THREADS``, or one per core.

    Returns
    -------
    Generated

    Examples
    --------
    >>> import unmissed as um
    >>> data = um.datasets.ratings(users=200, test_users=20, controlled_users=30, items=150)
    >>> data.train.X.shape, data.train_clean.y.nnz > 2 * data.train.y.nnz
    ((200, 150), True)
    """
    settings = {
        "users": users,
        "test_users": test_users,
        "controlled_users": controlled_users,
        "items": items,
        "shown": shown,
        "dim": dim,
        "relevant": relevant,
        "rated": rated,
        "tail": tail,
        "strength": strength,
        "taste": taste,
        "gamma": gamma,
        "scatter": scatter,
    }
    return _generate("ratings", random_state, n_jobs, settings)
