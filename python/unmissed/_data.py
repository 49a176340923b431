"""Rows with features, labels or scores, and files that hold them."""

from __future__ import annotations

import dataclasses
import json
import warnings
from typing import TYPE_CHECKING, Any

from . import _core, _inputs
from ._checks import file, number, optional, text, whole
from ._deprecated import working_keywords
from ._work import working

if TYPE_CHECKING:
    from .types import FeaturesLike, LabelsLike, Path, ScoresLike


@dataclasses.dataclass(frozen=True)
class Data:
    """The contents of a file. All functions of the package accept it as labels, predictions or features.

    Attributes
    ----------
    X : scipy.sparse.csr_matrix, numpy.ndarray or None
        Features, single precision.
    y : scipy.sparse.csr_matrix or None
        Observed labels as ones (int32: scikit-learn numbers labels in the type of the matrix, so it must hold as many).
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
        # scikit-learn's LabelBinarizer numbers labels in the type of the matrix: with int8 those beyond 127 would be others.
        data = np.ones(len(indices), np.int32)
    return csr_matrix((data, indices, indptr), shape=(rows, columns), copy=False)


def to_data(features: Any, labels: Any, scores: Any = None) -> Data:
    X = to_csr(features) if isinstance(features, tuple) else features
    return Data(X, None if labels is None else to_csr(labels), None if scores is None else to_csr(scores))


@working_keywords
def read(
    path: Path,
    *,
    format: str | None = None,
    positive: float | None = None,
    mmap: bool = True,
    n_jobs: int | None = None,
    verbose: int = False,
) -> Data:
    """Read a file of labels, data or predictions.

    Text (XMLC, svmlight, predictions; also gzip and zstd) and npz are recognised by their content. The formats of ratings and dense
    matrices must be named.

    Parameters
    ----------
    path : str or path
        The file. A data set in npz is a pair, ``NAME.x.npz`` and ``NAME.y.npz``; either name works.
    format : str, optional
        The format, if it should not be recognised automatically: ``"xmc"``, ``"svmlight:base=1"``, ``"ratings"``, ``"matrix"``, ...
    positive : float, optional
        Ratings or scores of at least this much are labels.
    mmap : bool, default True
        Whether the file may be mapped into memory.
    n_jobs : int, optional
        Number of threads (-1: one per core); the result does not depend on it. Default: ``UNMISSED_THREADS``, or one per core.
    verbose : bool, default False
        Whether to show progress, in a terminal or a notebook.

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
    with working(n_jobs, verbose) as how:
        return to_data(*_core.read(file(path), optional(text, format, "format"), optional(number, positive, "positive"), bool(mmap), how))


def write(
    path: Path,
    y: LabelsLike | None = None,
    *,
    X: FeaturesLike | None = None,
    scores: ScoresLike | None = None,
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
        Labels, in any form that `evaluate` takes. A `Data` includes its features or scores.
    X : array-like or sparse matrix, shape (n_rows, n_features), optional
        Features.
    scores : predictions, optional
        Scores instead of labels, in any form that `evaluate` takes.
    format : str, optional
        The format, if the ending does not determine it.
    n_labels : int, optional
        The number of labels of the problem. Lists and a `TopK` do not determine it, so they need it: the largest label among the
        best of each row is rarely the last one.

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
        data = y
        y, X, scores = data.y, data.X if X is None else X, data.scores if scores is None else scores
    labels_ = None if y is None else _inputs.labels(y, "y", _declared(_inputs.columns_of(y), "y", n_labels))
    features_ = None if X is None else _inputs.features(X, "X")
    scores_ = None if scores is None else _inputs.scores(scores, "scores", _declared(_inputs.columns_of_scores(scores), "scores", n_labels))
    with working() as how:
        files, dropped = _core.write(file(path), features_, labels_, scores_, optional(text, format, "format"), how)
    for lost in dropped:
        warnings.warn(f"{path} cannot store this, so it was dropped: {lost}", stacklevel=2)
    return [str(one) for one in files]


def set_max_size(size: int | str) -> int:
    """Bound what compressed files (gzip, zstd, npz) may expand to, so that a small file cannot fill the memory.

    The bound holds for all files that the process reads from then on. Without a call it is 64 GB.

    Parameters
    ----------
    size : int or str
        Bytes, or a text such as ``"500MB"`` or ``"200GB"``.

    Returns
    -------
    int
        The former bound, in bytes.

    Examples
    --------
    >>> import unmissed as um
    >>> before = um.set_max_size("500MB")
    >>> um.set_max_size(before)
    500000000
    """
    return _core.set_max_size(size if isinstance(size, str) else str(whole(size, "size", 1)))


def stats(
    y: LabelsLike,
    *,
    X: FeaturesLike | None = None,
    n_labels: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> dict[str, Any]:
    """Describe a data set: its sizes, the labels per row, and how long the tail of the labels is.

    Parameters
    ----------
    y : labels or Data
        Labels, in any form that `evaluate` takes. A `Data` includes its features.
    X : array-like or sparse matrix, shape (n_rows, n_features), optional
        Features.
    n_labels : int, optional
        The number of labels, if the inputs do not determine it.
    random_state : int, default 0
        Seed of the obesity index, where there are too many labels to compute it exactly.
    n_jobs : int, optional
        Number of threads (-1: one per core); the result does not depend on it. Default: ``UNMISSED_THREADS``, or one per core.

    Returns
    -------
    dict
        The fields of ``unmissed stats --format json``: ``rows``, ``labels``, ``labels_per_row_mean``, ``pos80`` (the smallest share of
        the labels that holds 80 % of all positives), ``min_ir``, ``ilir``, ``obesity``, ...; what is not defined is None.

    Examples
    --------
    >>> import unmissed as um
    >>> found = um.stats([[0, 1], [0], [0, 2], []], n_labels=5)
    >>> found["labels"], found["labels_occurring"], found["labels_per_row_mean"], found["ilir"]
    (5, 3, 1.25, 3.0)
    """
    if isinstance(y, Data):
        X = y.X if X is None else X
    labels_ = _inputs.labels(y, "y", n_labels)
    features_ = None if X is None else _inputs.features(X, "X")
    with working(n_jobs) as how:
        return dict(json.loads(_core.stats(features_, labels_, whole(random_state, "random_state"), how)))


def _declared(told: int | None, what: str, n_labels: int | None) -> int:
    """The number of labels of the problem, which a file keeps: as given, or as the value itself told."""
    columns = told if n_labels is None else whole(n_labels, "n_labels", 0, 2**32)
    if columns is None:
        raise ValueError(f"{what} does not determine the number of labels, which the file stores: pass it as n_labels=")
    return columns
