"""What the library's registries hold, for lists in docstrings: an entry that is added there shows up here."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from . import _core

_T = TypeVar("_T")


def names(registry: str) -> list[str]:
    """Names of a registry, in its order."""
    return [name for name, _ in _core.registry(registry)]


def python_name(name: str) -> str:
    """A name of a registry as Python spells it."""
    return name.replace("-", "_")


def _lines(registry: str) -> list[str]:
    written = dict(_core.syntaxes()) if registry == "models" else {}
    return [f'- ``"{written.get(name, name)}"``: {summary}.' for name, summary in _core.registry(registry)]


def listed(registry: str) -> Callable[[_T], _T]:
    """Puts a registry's entries in the place of ``{registry}``, a line of its own, in a docstring."""

    def fill(thing: _T) -> _T:
        if thing.__doc__ is not None:
            lines = _lines(registry)
            place = re.compile(rf"^( *)\{{{registry}\}}$", re.MULTILINE)
            thing.__doc__ = place.sub(lambda found: "\n".join(found[1] + line for line in lines), thing.__doc__)
        return thing

    return fill
