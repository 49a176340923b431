"""Evaluation of rows that arrive batch by batch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core, _frames, _inputs
from ._batches import batch_labels, batch_scores
from ._checks import array, number, optional, text, texts, whole
from ._choices import groups_of, lengths, named_models, rate_of, several
from ._ignored import ignored_pairs, most_ignored
from ._propensity import as_propensities
from ._report import Report
from ._work import working

if TYPE_CHECKING:
    from .types import (
        GroupsLike,
        IgnoreLike,
        LabelsLike,
        NumbersLike,
        PredictionsLike,
        PropensitiesLike,
        RateLike,
        WeightsLike,
    )


#: The models of batches whose predictions have no name.
UNNAMED = ["predictions"]


class Evaluator:
    """Evaluate rows batch by batch, from any source, in memory that does not grow with their number.

    However rows are batched and merged, `compute` gives the values and standard errors that `evaluate` gives on all
    rows at once, to the last bit. It has the parameters of `evaluate` that do not refer to single rows.

    Parameters
    ----------
    n_labels : int
        The number of labels.
    k : int or sequence of int, default (1, 3, 5)
        Lengths of the top list.
    train : labels, optional
        Training labels, from whose counts propensity models, groups and weights are computed. Only their counts are kept.
    propensity : str, Propensities, array-like, or list of these, optional
        Propensity models per label.
    metrics, estimators : list of str, optional
        Which metrics and estimators; all by default.
    groups : bool, str or sequence of str, optional
        Every metric by group of labels too, as in `evaluate`.
    weights : str or array-like, optional
        Gains for ``"weighted-precision"``, as in `evaluate`.
    clip : float, optional
        Add estimates with inverse propensities clipped at this value.
    sensitivity : float or str, optional
        Bounds if propensities are wrong, as in `evaluate`.
    rate : str, (r, m), float or array-like, optional
        The rows are a controlled set whose labels were shown at this rate.
    conventions : str, optional
        Conventions that differ from ours, as in ``"empty-rows=skip"``.
    level : float, default 0.95
        Level of intervals.
    interval : {"population", "mask"}, default "population"
        What intervals are about, as in `evaluate`.
    random_state : int, default 0
        Seed of the sample of rows that intervals of macro-f and coverage take when there are more than 65 536.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.

    Examples
    --------
    >>> import unmissed as um
    >>> evaluator = um.Evaluator(3, k=1, metrics=["precision"])
    >>> evaluator.update([[0, 1]], [[0, 1]]).update([[2]], [[0, 2]]).compute().value("precision", 1)
    0.5
    """

    def __init__(
        self,
        n_labels: int,
        *,
        k: int | Sequence[int] = (1, 3, 5),
        train: LabelsLike | None = None,
        propensity: PropensitiesLike | None = None,
        metrics: Sequence[str] | str | None = None,
        estimators: Sequence[str] | str | None = None,
        groups: GroupsLike | None = None,
        weights: WeightsLike | None = None,
        clip: float | None = None,
        sensitivity: float | str | None = None,
        rate: RateLike | None = None,
        conventions: str | None = None,
        level: float = 0.95,
        interval: str = "population",
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_labels = whole(n_labels, "n_labels", 1, 2**28)
        self.n_jobs = n_jobs
        asked = [as_propensities(one, train, self.n_labels, n_jobs) for one in several(propensity)]
        self._train: tuple[int, _inputs.Array] | None = None
        if train is not None:
            training = _inputs.labels(train, "train", self.n_labels)
            with working(n_jobs, False) as how:
                self._train = (training.rows, _core.count_labels(training, how))
        self._request: dict[str, Any] = {
            "train": None,
            "propensities": [one._arrays() for one in asked],
            "later": None,
            "train_predictions": [],
            "row_propensities": [],
            "row_covariates": [],
            "pair_covariates": [],
            "metrics": optional(texts, metrics, "metrics"),
            "estimators": optional(texts, estimators, "estimators"),
            "ks": lengths(k),
            "level": number(level, "level"),
            "interval": text(interval, "interval"),
            "bootstrap": 0,
            "seed": whole(random_state, "random_state"),
            "groups": groups_of(groups),
            "weights": weights if isinstance(weights, str) else optional(array, weights, "weights"),
            "clip": optional(number, clip, "clip"),
            "sensitivity": None if sensitivity is None else str(sensitivity),
            "rate": rate_of(rate),
            "shown": None,
            "label_counts": None,
            "conventions": optional(text, conventions, "conventions"),
            "label_names": None,
            "judged": None,
            "judged_method": None,
            "ignore": None,
        }
        # The columns that frames have to have: those of the training labels, or of the first batch.
        self._columns: Any = _frames.columns_only(train)
        self._models: list[str] = []
        self._native: _core.Stream | None = None
        # Bad settings are told now, not with the first batch, which mostly has one model without a name.
        self._ready: tuple[list[str], _core.Stream] | None = None
        self._ready = (UNNAMED, self._make(UNNAMED))

    def _make(self, models: Sequence[str]) -> _core.Stream:
        """One without rows."""
        ready, self._ready = self._ready, None
        if ready is not None and list(models) == ready[0]:
            return ready[1]
        with working(self.n_jobs, False) as how:
            return _core.Stream(self.n_labels, list(models), self._train, self._request, how)

    @property
    def n_rows(self) -> int:
        """Number of rows so far."""
        return 0 if self._native is None else self._native.rows

    def update(
        self,
        y_true: LabelsLike,
        y_pred: PredictionsLike,
        *,
        rows: NumbersLike | None = None,
        ignore: IgnoreLike | None = None,
    ) -> Evaluator:
        """Take a batch of rows.

        Parameters
        ----------
        y_true : labels of shape (n_batch, n_labels)
            Observed labels, in any form that `evaluate` takes; a tensor of torch with 0 and 1, or a list column of pyarrow.
        y_pred : predictions of shape (n_batch, n_labels), or dict of them by name
            In any form that `evaluate` takes. The best labels of a tensor of torch are selected on its device, and only they are copied
            from there. List columns of pyarrow are labels, best first, or a tuple of two: labels and scores. Labels with a score of minus infinity
            are not predicted.
        rows : array-like of int, shape (n_batch,), optional
            The numbers of the rows among all rows, each once. Without them, rows are numbered in the order of arrival, and `merge`
            appends the other evaluator's rows. Intervals of macro-f and coverage are computed from a sample of 65 536 rows when there are
            more, which these numbers choose: with them, standard errors do not depend on how rows were distributed. A number that
            occurs twice is an error while the numbers form at most 65 536 ranges; beyond that, only numbers that came since, and those of the
            sample if these metrics are computed, are found again.
        ignore : str, path, array of shape (n_pairs, 2), list of tuples, sparse matrix or list of lists, optional
            Pairs that may not be predicted, as in `evaluate`; rows are counted from the first of the batch.

        Returns
        -------
        Evaluator
            This one. A batch that is refused changes nothing.
        """
        return self._take(y_true, y_pred, rows, ignore, ("y_true", "y_pred"))

    def _take(self, y_true: Any, y_pred: Any, rows: Any, ignore: Any, called: tuple[str, str]) -> Evaluator:
        """`update`; labels and predictions have these names in messages."""
        of_labels, of_scores = called
        named = named_models(y_pred)
        names = [name for name, _ in named]
        if self._native is not None and names != self._models:
            raise ValueError(f"the batch has other models: expected {', '.join(self._models)}, found {', '.join(names)}")
        columns = self._columns
        if _frames.is_frame(y_true):
            columns = _frames.columns_only(y_true) if columns is None else columns
            y_true = _frames.aligned(y_true, columns, of_labels, "the rows before", rows=False)
            named = [(name, _frames.aligned(one, y_true, f"{of_scores}[{name!r}]", of_labels)) for name, one in named]
        truth = batch_labels(y_true, of_labels, self.n_labels)
        ignored = ignored_pairs(ignore, truth.rows, self.n_labels)
        # What is ignored is removed by the library: as many entries more must reach it.
        most = max(self._request["ks"]) + most_ignored(ignored, self.n_labels)
        models = []
        for name, one in named:
            found = batch_scores(one, of_scores if len(named) == 1 else f"{of_scores}[{name!r}]", self.n_labels, most)
            if found.rows != truth.rows:
                raise ValueError(f"{of_scores} has another number of rows than {of_labels}: expected {truth.rows}, found {found.rows}")
            models.append(found)
        batch = {"truth": truth, "models": models, "rows": _numbers(rows), "ignore": ignored}
        native = self._native if self._native is not None else self._make(names)
        try:
            with working(self.n_jobs, False) as how:
                native.update(batch, how)
        except ValueError:
            for what, matrix in [(of_labels, truth), *((of_scores, one) for one in models)]:
                _check_range(matrix, what, self.n_labels)
            raise
        self._native, self._models, self._columns = native, names, columns
        return self

    def merge(self, other: Evaluator | bytes) -> Evaluator:
        """Add the rows of another evaluator with the same settings, or of the bytes from its `to_bytes`.

        Returns
        -------
        Evaluator
            This one; the other stays as it is.
        """
        if not isinstance(other, (Evaluator, bytes, bytearray, memoryview)):
            expected = "expected an Evaluator, or the bytes from its to_bytes()"
            raise ValueError(f"cannot merge this: {expected}, found {type(other).__name__}")
        if other is self:
            # Without row numbers of its own, every row would count twice.
            raise ValueError("cannot merge an evaluator with itself: its rows are there already")
        if isinstance(other, Evaluator) and other._native is None:
            return self
        tally = other.to_bytes() if isinstance(other, Evaluator) else bytes(other)
        if self._native is None:
            names = other._models if isinstance(other, Evaluator) else _names(tally)
            native = self._make(names)
        else:
            native, names = self._native, self._models
        with working(self.n_jobs, False) as how:
            native.merge(tally, how)
        self._native, self._models = native, list(names)
        return self

    def to_bytes(self) -> bytes:
        """The tally as bytes, for `merge` or, in a file, for the command line's ``unmissed merge``."""
        native = self._native if self._native is not None else self._make(UNNAMED)
        with working(self.n_jobs, False) as how:
            return native.tally(how)

    def compute(self) -> Report:
        """The report for all rows so far. More batches may follow.

        Raises
        ------
        ValueError
            If there were no rows.
        """
        native = self._native if self._native is not None else self._make(UNNAMED)
        with working(self.n_jobs, False) as how:
            return Report(json.loads(native.compute(how)))

    def reset(self) -> Evaluator:
        """Forget all rows."""
        if self._native is not None:
            self._native.reset()
            self._ready = (self._models, self._native)
        self._native, self._models = None, []
        return self

    def _blank(self) -> Evaluator:
        """One with the same settings and no rows."""
        blank = Evaluator.__new__(Evaluator)
        blank.__dict__.update(self.__dict__ | {"_native": None, "_ready": None, "_models": []})
        return blank

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__ | {"_native": None, "_ready": None}
        return state | {"_tally": None if self._native is None else self.to_bytes()}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        given = dict(state)
        tally = given.pop("_tally")
        self.__dict__.update(given)
        if tally is not None:
            self.merge(tally)

    def __repr__(self) -> str:
        return f"Evaluator(n_labels={self.n_labels}, n_rows={self.n_rows})"


def _numbers(rows: Any) -> _inputs.Array | None:
    if rows is None:
        return None
    given = np.asarray(rows)
    if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size):
        raise ValueError(f"rows does not fit: expected one whole number for each row, found {given.dtype} of shape {given.shape}")
    if given.size and given.min() < 0:
        raise ValueError(f"rows does not fit: expected whole numbers of at least 0, found {int(given.min())}")
    return np.ascontiguousarray(given, np.uint64)


def _check_range(matrix: _inputs.Matrix, what: str, labels: int) -> None:
    """Says which labels are out of range, and where, after the library has refused them."""
    wrong = np.flatnonzero((matrix.indices < 0) | (matrix.indices >= labels))
    if wrong.size:
        row, found = _inputs._row_of(matrix.indptr, int(wrong[0])), int(matrix.indices[wrong[0]])
        raise ValueError(f"{what}, row {row}: a label is out of range: expected a label from 0 to {labels - 1}, found {found}")


def _names(tally: bytes) -> list[str]:
    """The names of the models in a tally."""
    length = int.from_bytes(tally[12:20], "little")
    try:
        names = json.loads(tally[20 : 20 + length])["models"]
    except (ValueError, KeyError, TypeError):
        raise ValueError("cannot merge these bytes: expected the result of to_bytes()") from None
    return [str(name) for name in names]
