"""The paper's experiments."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from . import _core
from ._checks import texts, whole
from ._registry import listed
from ._work import working

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .types import Path


@listed("experiments")
def reproduce(
    experiments: str | Sequence[str] = "all",
    output: Path = "reproduction",
    *,
    quick: bool = False,
    data: Path | Sequence[Path] = (),
    yahoo_r3: Path | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: int = False,
) -> list[dict[str, Any]]:
    """Run the paper's experiments, with our numbers beside its own: ``unmissed reproduce``.

    Parameters
    ----------
    experiments : str or list of str, default "all"
        What to run.

        {experiments}
    output : str or path, default "reproduction"
        The folder for the page (``index.html``), the tables, the figures, and the finished parts, from which an interrupted run resumes.
    quick : bool, default False
        Whether smaller data and fewer repetitions will do.
    data : path or list of paths, optional
        Folders with a data set (``*train.txt`` and ``*test.txt``), or with folders of such.
    yahoo_r3 : path, optional
        The folder of your copy of Yahoo R3, with the original file names.
    random_state : int, default 0
        Seed of everything random.
    n_jobs : int, optional
        Number of threads (-1: one per core); the result does not depend on it. Default: ``UNMISSED_THREADS``, or one per core.
    verbose : bool, default False
        Whether to show progress, in a terminal or a notebook.

    Returns
    -------
    list of dict
        For each experiment its ``experiment`` (the name), what it ``reproduces``, its ``claims`` (each with a ``verdict``: ``"holds"``, ``"fails"``
        or ``"reported"``, and a ``result``), its ``tables`` as lists of records, and ``notes`` (such as what was not run for lack of data).

    Examples
    --------
    >>> import tempfile
    >>> import unmissed as um
    >>> [found] = um.reproduce("counterexample", tempfile.mkdtemp(), quick=True)
    >>> found["experiment"], {claim["verdict"] for claim in found["claims"]}
    ('counterexample', {'holds'})
    """
    names = texts(experiments, "experiments")
    folders = [data] if isinstance(data, str) or hasattr(data, "__fspath__") else list(data)
    request = {
        "experiments": names,
        "output": os.fspath(output),
        "quick": bool(quick),
        "data": [os.fspath(one) for one in folders],
        "yahoo_r3": None if yahoo_r3 is None else os.fspath(yahoo_r3),
        "seed": whole(random_state, "random_state"),
        "command": f"unmissed.reproduce({names!r}, quick={bool(quick)}, random_state={random_state})",
    }
    with working(n_jobs, verbose) as how:
        return list(json.loads(_core.reproduce(request, how)))
