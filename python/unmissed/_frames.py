"""Data frames that belong together, and their names.

Frames are recognised by what they have (an index, columns, ``reindex``), so pandas is never imported.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def is_frame(value: Any) -> bool:
    """Whether rows and columns of the value have names of their own."""
    return all(hasattr(value, part) for part in ("index", "columns", "reindex", "to_numpy"))


def columns_only(value: Any) -> Any:
    """A frame without its rows; None for what is no frame."""
    return value.iloc[:0] if is_frame(value) else None


def aligned(value: Any, reference: Any, what: str, against: str, rows: bool = True) -> Any:
    """The value in the order of rows and columns of the reference, when both are frames; an error when they are about others."""
    if not (is_frame(value) and is_frame(reference)):
        return value
    value = _in_order(value, reference, "columns", what, against)
    return _in_order(value, reference, "index", what, against) if rows else value


def _in_order(value: Any, reference: Any, axis: str, what: str, against: str) -> Any:
    ours, theirs = getattr(value, axis), getattr(reference, axis)
    if ours.equals(theirs):
        return value
    unit = "columns" if axis == "columns" else "rows (index)"
    if not (ours.is_unique and theirs.is_unique):
        raise ValueError(f"{what} and {against} have different {unit}, and some occur twice: give each its own name")
    if len(ours) == len(theirs) and set(ours) == set(theirs):
        return value.reindex(**{axis: theirs})
    lacking = next((one for one in theirs if one not in set(ours)), None)
    extra = next((one for one in ours if one not in set(theirs)), None)
    found = f"{lacking!r} only in {against}" if lacking is not None else f"{extra!r} only in {what}"
    way = f"{axis}={against}.{axis}" if axis == "index" else f"{against}.columns"
    raise ValueError(f"{what} has other {unit} than {against}: found {found}; build it with {way}, or pass both as arrays in the same order")


def label_names(given: Any, y_true: Any, columns: int) -> list[str] | None:
    """Names of labels: those given (also by a fitted ``MultiLabelBinarizer``), or the columns of a frame."""
    if given is None and is_frame(y_true):
        given = y_true.columns
        # Columns that are only counted have no names.
        if list(given) == list(range(len(given))):
            return None
    return names(getattr(given, "classes_", given), "label_names", columns)


def row_names(given: Any, y_true: Any, rows: int) -> list[str] | None:
    """Names of rows: those given, or the index of a frame."""
    if given is None and is_frame(y_true) and list(y_true.index) != list(range(len(y_true.index))):
        given = y_true.index
        if not given.is_unique:
            return None
    return names(given, "row_names", rows)


def names(given: object, what: str, count: int) -> list[str] | None:
    """A text for each label or row."""
    if given is None:
        return None
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise ValueError(f"{what} is out of range: expected a name for each of {count}, found {given!r}")
    found = [str(one) for one in given]
    if len(found) != count:
        raise ValueError(f"{what} does not fit: expected {count}, found {len(found)}")
    return found
