"""Types of the arguments of the package's functions, for your own annotations.

>>> import numpy as np
>>> import unmissed as um
>>> from unmissed.types import LabelsLike, ScoresLike
>>> def at_one(y_true: LabelsLike, y_pred: ScoresLike) -> float:
...     return um.precision(y_true, y_pred, k=1)
>>> at_one([[0], [2]], np.eye(3)[:2])
0.5
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, Protocol, SupportsFloat, SupportsIndex, TypeAlias

import numpy as np

from ._data import Data
from ._inputs import TopK
from ._propensity import Propensities
from ._row_propensity import RowPropensity

__all__ = [
    "Array",
    "DataFrame",
    "FeaturesLike",
    "GroupsLike",
    "HasClasses",
    "IgnoreLike",
    "LabelsLike",
    "NamesLike",
    "NumbersLike",
    "PairsLike",
    "Path",
    "PredictionsLike",
    "PropensitiesLike",
    "PropensityLike",
    "RateLike",
    "RatingsLike",
    "ScoresLike",
    "SparseMatrix",
    "TargetsLike",
    "WeightsLike",
]


class SparseMatrix(Protocol):
    """A sparse matrix or sparse array of scipy, of any layout."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def tocsr(self) -> Any: ...


class DataFrame(Protocol):
    """A data frame of pandas or polars."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def to_numpy(self) -> Any: ...


class HasClasses(Protocol):
    """A fitted ``MultiLabelBinarizer`` of scikit-learn."""

    @property
    def classes_(self) -> Any: ...


#: An array of numpy.
Array: TypeAlias = np.ndarray[Any, Any]

#: A file.
Path: TypeAlias = str | PathLike[str]

#: A number for each label or row.
NumbersLike: TypeAlias = Array | Sequence[SupportsFloat]

#: Pairs of whole numbers.
PairsLike: TypeAlias = Array | Iterable[Sequence[SupportsIndex]]

#: Features of rows: a matrix, or a list of numbers for each row.
FeaturesLike: TypeAlias = SparseMatrix | DataFrame | Array | Data | Sequence[Sequence[float]]

#: Labels of rows: a matrix of 0 and 1, or the labels of each row, counted from 0.
LabelsLike: TypeAlias = SparseMatrix | DataFrame | Array | Data | Iterable[Collection[SupportsIndex]]

#: What a model is trained on: labels of rows, or one class for each row.
TargetsLike: TypeAlias = LabelsLike | Sequence[int] | Sequence[str]

#: Predictions of one model: a matrix of scores, the best labels of each row, or (label, score) pairs of each row.
ScoresLike: TypeAlias = (
    SparseMatrix
    | DataFrame
    | Array
    | Data
    | TopK
    | tuple[Array, Array]
    | Mapping[str, Array]
    | Iterable[Sequence[SupportsIndex | tuple[SupportsIndex, SupportsFloat]]]
)

#: Predictions of one model, or of several by their names.
PredictionsLike: TypeAlias = ScoresLike | Mapping[str, ScoresLike]

#: A propensity for each label: the spec string of a model, what the package estimated, or values.
PropensityLike: TypeAlias = str | Propensities | NumbersLike

#: One propensity model or several, per label or row-dependent.
PropensitiesLike: TypeAlias = (
    str | Propensities | RowPropensity | Array | Sequence[SupportsFloat | str | Propensities | RowPropensity | NumbersLike]
)

#: The rate of a controlled set: ``"16/300"``, ``(16, 300)``, a number, or a number for each label.
RateLike: TypeAlias = str | float | tuple[int, int] | NumbersLike

#: Ratings: a file, a data frame with users, items and ratings, or (user, item, rating) each.
RatingsLike: TypeAlias = Path | DataFrame | Iterable[tuple[Any, Any, SupportsFloat]]

#: Groups of labels: a kind, or the name of each label's group.
GroupsLike: TypeAlias = bool | str | Sequence[str | None]

#: Pairs that may not be predicted: a file, (row, label) pairs, or the labels of each row.
IgnoreLike: TypeAlias = Path | SparseMatrix | Array | Iterable[Collection[SupportsIndex]]

#: Weights of labels: a scheme, or a number for each label.
WeightsLike: TypeAlias = str | NumbersLike

#: Names or texts, one for each label or row: a sequence, or a fitted ``MultiLabelBinarizer`` with its ``classes_``.
NamesLike: TypeAlias = Sequence[str] | Array | Iterable[str] | HasClasses
