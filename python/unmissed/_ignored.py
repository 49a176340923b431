"""Pairs that may not be predicted, as the native part takes them."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ._checks import file
from ._inputs import Matrix, _integers, is_sparse, labels


def ignored_pairs(value: Any, rows: int, columns: int, what: str = "ignore") -> str | Matrix | None:
    """The name of a file, or the ignored labels of each row."""
    if value is None:
        return None
    if isinstance(value, (str, os.PathLike)):
        return file(value)
    if isinstance(value, list) and value and all(isinstance(one, tuple) and len(one) == 2 for one in value):
        value = np.asarray(value)
    if isinstance(value, np.ndarray) and value.ndim == 2 and value.shape[1] == 2 and value.dtype.kind in "iu":
        return _of_pairs(value, rows, columns, what)
    if isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind in "iu":
        raise ValueError(f"{what} has the wrong shape: expected pairs of shape (n_pairs, 2), found {value.shape}")
    if not is_sparse(value) and isinstance(value, np.ndarray) and value.dtype.kind != "O":
        raise ValueError(f"{what} does not hold pairs: expected whole numbers of shape (n_pairs, 2), found {value.dtype} {value.shape}")
    # Any number that is stored marks a pair, also a score.
    found = labels(value != 0 if is_sparse(value) else value, what, columns)
    if found.rows != rows:
        raise ValueError(
            f"{what} has another number of rows: expected the ignored labels of {rows} rows, found {found.rows}; pairs (row, label) are an"
            " array of shape (n_pairs, 2) or a list of tuples"
        )
    return found


def most_ignored(pairs: str | Matrix | None, columns: int) -> int:
    """How many labels of a row are ignored at most; a file is not looked into."""
    if pairs is None:
        return 0
    return columns if isinstance(pairs, str) else int(np.diff(pairs.indptr).max(initial=0))


def _of_pairs(pairs: np.ndarray[Any, Any], rows: int, columns: int, what: str) -> Matrix:
    for place, (name, most) in enumerate((("row", rows), ("label", columns))):
        wrong = np.flatnonzero((pairs[:, place] < 0) | (pairs[:, place] >= most))
        if wrong.size:
            at = int(wrong[0])
            expected = f"a {name} from 0 to {most - 1}" if most else f"no {name}"
            raise ValueError(f"{what}, pair {at}: the {name} is out of range: expected {expected}, found {int(pairs[at, place])}")
    unique = np.unique(pairs.astype(np.int64), axis=0)
    indptr = np.searchsorted(unique[:, 0], np.arange(rows + 1))
    return Matrix(columns, _integers(indptr), _integers(np.ascontiguousarray(unique[:, 1])), None)
