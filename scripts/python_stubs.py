"""Writes python/unmissed/_metrics.pyi, the types of the functions that the package makes from the registry of metrics.

python scripts/python_stubs.py, with the package installed; a test says when it has to be run again.
"""

import pathlib

from unmissed import _metrics
from unmissed._registry import python_name

STUB = pathlib.Path(__file__).resolve().parents[1] / "python" / "unmissed" / "_metrics.pyi"

HEAD = '''"""Types of the functions that `_metrics` makes from the registry. Written by scripts/python_stubs.py."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

_Array = np.ndarray[Any, Any]

class Keyword(NamedTuple):
    default: Any
    type: str
    about: str

FUNCTIONS: dict[str, Callable[..., Any]]
KEYWORDS: dict[str, Keyword]

def keywords(metric: str) -> dict[str, Keyword]: ...
'''

#: An int k gives a float, a sequence an array.
FUNCTION = """@overload
def {name}(
    y_true: Any, y_pred: Any, k: {k}, estimator: str = "observed", propensity: Any = None, *,{own}
    train: Any = None, clip: float | None = None, n_labels: int | None = None, threads: int | None = None,
) -> {value}: ...
"""


def stub():
    parts = [HEAD]
    for metric in _metrics.FUNCTIONS:
        own = "".join(f" {name}: {one.type} = {one.default!r}," for name, one in _metrics.keywords(metric).items()).replace("'", '"')
        for k, value in (("int = 5", "float"), ("Sequence[int]", "_Array")):
            parts.append(FUNCTION.format(name=python_name(metric), k=k, value=value, own=own))
    return "\n".join(parts)


if __name__ == "__main__":
    STUB.write_text(stub())
