"""How long work is done: on how many threads, and what is shown meanwhile."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

#: Work shorter than this needs no bar.
PATIENCE = 1.0


def number_of_threads(threads: int | None) -> int | None:
    """What was asked for, or the environment variable ``UNMISSED_THREADS``; ``None`` is one a core."""
    text = os.environ.get("UNMISSED_THREADS", "") if threads is None else str(threads)
    if threads is None and not text.strip():
        return None
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not 1 <= number <= 1024:
        name = "UNMISSED_THREADS" if threads is None else "threads"
        raise ValueError(f"{name} is out of range: expected a whole number from 1 to 1024, found {text!r}")
    return number


def _somebody_watches() -> bool:
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
def working(threads: int | None = None, progress: bool | None = None) -> Iterator[dict[str, Any]]:
    """How the native part is to work."""
    shown = _somebody_watches() if progress is None else progress
    bar = _Bar() if shown else None
    try:
        yield {"threads": number_of_threads(threads), "show": bar}
    finally:
        if bar is not None:
            bar.close()
