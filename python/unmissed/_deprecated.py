"""Old names of keywords: they still work, with a warning that names the new one."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def renamed(**names: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A function that also takes keywords by their old names: ``renamed(old="new")``.

    Its signature, from which scikit-learn takes an estimator's parameters and mypy the types, has the new names only.
    """

    def wrap(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def wrapper(*args: Any, **given: Any) -> T:
            for old in names.keys() & given.keys():
                new = names[old]
                if new in given:
                    raise TypeError(f"{old}= is the old name of {new}=: expected one of them, found both")
                warnings.warn(f"{old}= is called {new}= now; the old name will be removed", FutureWarning, stacklevel=2)
                given[new] = given.pop(old)
            return function(*args, **given)

        return wrapper

    return wrap


#: What most functions of the package called these.
working_keywords = renamed(threads="n_jobs", progress="verbose")
