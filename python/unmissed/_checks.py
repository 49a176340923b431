"""Numbers, names and paths that users pass, checked before the native part takes them."""

from __future__ import annotations

import errno
import operator
import os
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

Array = np.ndarray[Any, Any]
T = TypeVar("T")


def whole(value: Any, what: str, least: int = 0, most: int = 2**63 - 1) -> int:
    """A whole number in a range."""
    try:
        found = operator.index(value)
    except TypeError:
        found = None
    if found is None or isinstance(value, bool) or not least <= found <= most:
        bounds = f"of at least {least}" if most >= 2**32 else f"from {least} to {most}"
        raise ValueError(f"{what} is out of range: expected a whole number {bounds}, found {value!r}")
    return found


def number(value: Any, what: str) -> float:
    """A number; the library knows its range."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{what} is not a number: found {value!r}") from None


def text(value: Any, what: str) -> str:
    """A name or a spec string; the library knows which there are."""
    if not isinstance(value, str):
        raise ValueError(f"{what} is not a name: expected a string, found {value!r}")
    return value


def texts(value: Any, what: str) -> list[str]:
    """One name or several."""
    return [text(one, what) for one in ([value] if isinstance(value, str) or not hasattr(value, "__iter__") else value)]


def file(path: Any) -> str:
    """The path of a file. What is none is answered as `open` does."""
    name = os.fsdecode(os.fspath(path))
    if "\0" in name:
        raise ValueError(f"the path has a null byte: found {name!r}")
    if os.path.isdir(name):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    return name


def array(values: Any, what: str) -> Array:
    """Numbers in double precision, one behind the other."""
    try:
        found = np.require(np.asarray(values), np.float64, ["C", "A"])
    except (TypeError, ValueError):
        raise ValueError(f"{what} does not hold numbers: found {values!r}") from None
    if found.ndim != 1:
        raise ValueError(f"{what} has the wrong shape: expected one number for each label, found {found.shape}")
    return found


def pairs(value: Any, what: str, expected: str) -> list[tuple[int, int]]:
    """Pairs of whole numbers that fit into 32 bits."""
    if not hasattr(value, "__iter__"):
        raise ValueError(f"{what} does not hold pairs: expected {expected}, found {value!r}")
    found = []
    for place, pair in enumerate(value):
        try:
            one, other = (whole(part, what, most=2**32 - 1) for part in pair)
        except (TypeError, ValueError):
            raise ValueError(f"{what}, pair {place}: expected {expected} as whole numbers from 0, found {pair!r}") from None
        found.append((one, other))
    return found


def optional(check: Callable[..., T], value: Any, what: str, *more: Any) -> T | None:
    """What is there, checked."""
    return None if value is None else check(value, what, *more)
