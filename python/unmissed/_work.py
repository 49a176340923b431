"""How long work is done: on how many threads, and what is shown meanwhile."""

from __future__ import annotations

import contextlib
import operator
import os
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

#: Work shorter than this needs no bar.
PATIENCE = 1.0

#: The most threads that can be asked for.
MOST_THREADS = 1024


def number_of_threads(n_jobs: int | None) -> int | None:
    """What was asked for as scikit-learn has it, or the environment variable ``UNMISSED_THREADS``; ``None`` is one per core."""
    if n_jobs is None:
        return _threads_of_environment()
    try:
        number = operator.index(n_jobs)
    except TypeError:
        number = 0
    if number == 0 or isinstance(n_jobs, bool) or number > MOST_THREADS:
        expected = f"a whole number from 1 to {MOST_THREADS}, or -1 for one thread per core"
        raise ValueError(f"n_jobs is out of range: expected {expected}, found {n_jobs!r}")
    if number == -1:
        return None
    return number if number > 0 else max(1, _cores() + 1 + number)


def _threads_of_environment() -> int | None:
    text = os.environ.get("UNMISSED_THREADS", "")
    if not text.strip():
        return None
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not 1 <= number <= MOST_THREADS:
        raise ValueError(f"UNMISSED_THREADS is out of range: expected a whole number from 1 to {MOST_THREADS}, found {text!r}")
    return number


def _cores() -> int:
    """Those that this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


def _somebody_watches() -> bool:
    """Whether this is the main thread of a main process whose user sees a terminal or a notebook.

    Bars of workers, as those of a search with ``n_jobs=2``, would overwrite each other, and a log file has no use for them.
    """
    import multiprocessing

    if multiprocessing.parent_process() is not None or threading.current_thread() is not threading.main_thread():
        return False
    return "ipykernel" in sys.modules or bool(getattr(sys.stderr, "isatty", bool)())


class _Bar:
    """A bar of tqdm, or a line in a terminal where tqdm is not there."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.stage = ""
        self.bar: Any = None

    def __call__(self, stage: str, done: int, total: int) -> None:
        if time.monotonic() - self.start < PATIENCE or not stage:
            return
        if stage != self.stage:
            self.close()
            self.stage = stage
        if self.bar is None:
            self.bar = _new_bar(stage, total)
        self.bar.n = min(done, total) if total else done
        self.bar.refresh()

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None


class _Line:
    """The least that shows progress."""

    def __init__(self, desc: str, total: int | None) -> None:
        self.desc, self.total, self.n = desc, total, 0

    def refresh(self) -> None:
        share = f"{100 * self.n // self.total:3d} %" if self.total else str(self.n)
        sys.stderr.write(f"\r{self.desc} {share}")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def _new_bar(stage: str, total: int) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line(stage, total or None)
    return tqdm(desc=stage, total=total or None, leave=False)


@contextlib.contextmanager
def working(n_jobs: int | None = None, verbose: int = False) -> Iterator[dict[str, Any]]:
    """How the native part is to work: progress is shown where it is asked for and somebody watches."""
    bar = _Bar() if verbose and _somebody_watches() else None
    try:
        yield {"threads": number_of_threads(n_jobs), "show": bar}
    finally:
        if bar is not None:
            bar.close()
