"""Rows with features, labels or scores, and files that hold them."""

from __future__ import annotations

import dataclasses
import warnings
from os import PathLike
from typing import Any

from . import _core, _inputs
from ._checks import number, optional, text
from ._work import working

Path = str | PathLike[str]


@dataclasses.dataclass(frozen=True)
class Data:
    """What a file holds. All functions of the package take it where they want labels, predictions or features.

    Attributes
    ----------
    X : scipy.sparse.csr_matrix, numpy.ndarray or None
        Features, single precision.
    y : scipy.sparse.csr_matrix or None
        Observed labels as ones (int8).
    scores : scipy.sparse.csr_matrix or None
        Labels with a score each: predictions, or ratings.
    """

    X: Any = None
    y: Any = None
    scores: Any = None

    def __repr__(self) -> str:
        def part(name: str) -> str:
            value = getattr(self, name)
            return "" if value is None else f"{name}: {' x '.join(map(str, value.shape))}"

        return f"Data({', '.join(filter(None, map(part, ('X', 'y', 'scores'))))})"


def to_csr(arrays: Any) -> Any:
    """The arrays of the native part as a scipy matrix; labels get ones."""
    import numpy as np
    from scipy.sparse import csr_matrix

    rows, columns, indptr, indices, data = arrays
    if data is None:
        data = np.ones(len(indices), np.int8)
    return csr_matrix((data, indices, indptr), shape=(rows, columns), copy=False)


def to_data(features: Any, labels: Any, scores: Any = None) -> Data:
    X = to_csr(features) if isinstance(features, tuple) else features
    return Data(X, None if labels is None else to_csr(labels), None if scores is None else to_csr(scores))


def read(
    path: Path,
    *,
    format: str | None = None,
    positive: float | None = None,
    mmap: bool = True,
    threads: int | None = None,
    progress: bool | None = None,
) -> Data:
    """Read a file of labels, data or predictions.

    Text (XMLC, svmlight, predictions; also gzip and zstd) and npz are recognised by their content. Ratings and dense matrices have
    to be named.

    Parameters
    ----------
    path : str or path
        The file. A data set in npz is a pair, ``NAME.x.npz`` and ``NAME.y.npz``; either name will do.
    format : str, optional
        The format where it is not to be recognised: ``"xmc"``, ``"svmlight:base=1"``, ``"ratings"``, ``"matrix"``, ...
    positive : float, optional
        Ratings or scores of at least this much are labels.
    mmap : bool, default True
        Whether the file may be mapped into memory.
    threads : int, optional
        How many threads work; the result does not depend on it. Default: ``UNMISSED_THREADS``, or one a core.
    progress : bool, optional
        Whether to show progress; by default in terminals and notebooks.

    Returns
    -------
    Data

    Raises
    ------
    OSError
        If the file cannot be read.
    FormatError
        If its content is not what its format promises; the message names the line.

    Examples
    --------
    >>> import tempfile, os, unmissed as um
    >>> path = os.path.join(tempfile.mkdtemp(), "data.txt")
    >>> _ = open(path, "w").write("2 4 3\\n0,2 1:0.5 3:1\\n 0:2\\n")
    >>> um.read(path)
    Data(X: 2 x 4, y: 2 x 3)
    """
    with working(threads, progress) as how:
        return to_data(*_core.read(path, optional(text, format, "format"), optional(number, positive, "positive"), bool(mmap), how))


def write(
    path: Path,
    y: Any = None,
    *,
    X: Any = None,
    scores: Any = None,
    format: str | None = None,
    n_labels: int | None = None,
) -> list[str]:
    """Write labels (with features, if there are any) or scores into a file.

    The format follows from the ending of the name; ``.gz`` and ``.zst`` compress text. The file appears when it is complete.

    Parameters
    ----------
    path : str or path
        The file.
    y : labels or Data, optional
        Labels, in any form that `evaluate` takes. A `Data` brings its features or scores along.
    X : array-like or sparse matrix, shape (n_rows, n_features), optional
        Features.
    scores : predictions, optional
        Scores instead of labels, in any form that `evaluate` takes.
    format : str, optional
        The format where the ending does not say it.
    n_labels : int, optional
        The number of labels, where lists do not tell.

    Returns
    -------
    list of str
        The files written.

    Examples
    --------
    >>> import tempfile, os, unmissed as um
    >>> path = os.path.join(tempfile.mkdtemp(), "labels.txt")
    >>> _ = um.write(path, [[0, 2], [1]], n_labels=3)
    >>> um.read(path).y.toarray().tolist()
    [[1, 0, 1], [0, 1, 0]]
    """
    if isinstance(y, Data):
        y, X, scores = y.y, y.X if X is None else X, y.scores if scores is None else scores
    labels_ = None if y is None else _inputs.labels(y, "y", n_labels)
    features_ = None if X is None else _inputs.features(X, "X")
    scores_ = None if scores is None else _inputs.scores(scores, "scores", n_labels)
    with working() as how:
        files, dropped = _core.write(path, features_, labels_, scores_, optional(text, format, "format"), how)
    for lost in dropped:
        warnings.warn(f"{path} cannot hold, so it was dropped: {lost}", stacklevel=2)
    return [str(file) for file in files]
