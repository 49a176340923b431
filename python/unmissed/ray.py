"""Evaluation, training and prediction on several machines with Ray.

Blocks of rows have tallies, which merge; blocks of labels are trained anywhere; rows are predicted in parts.

>>> # report = unmissed.ray.evaluate(ray.data.read_parquet("predictions/"), n_labels=670_091, train=y_train, propensity="jpv")
>>> # model = unmissed.ray.train(X, y, "model.safetensors", propensity="jpv")

Only ``ray.put``, ``ray.remote`` and ``map_batches`` are used. Results equal those of one machine: reports to the last bit, models
to the last byte. Ray repeats work that was lost with a machine. Importing this module imports ray, which ``pip install 'unmissed[ray]'`` brings.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import ray
from ray.data.dataset import MaterializedDataset

from . import _core, _inputs
from ._checks import whole
from ._dataset import _check_schema, _columns, feed
from ._inputs import Array, Matrix
from ._report import Report
from ._stream import Evaluator
from ._work import working

if TYPE_CHECKING:
    from ._models import OneVsRest
    from .types import FeaturesLike, LabelsLike, Path, TargetsLike

__all__ = ["evaluate", "predict", "train"]

#: Tallies that are merged by one task.
TOGETHER = 8
#: A task holds about so many bytes of blocks.
BYTES_PER_TASK = 256 * 2**20
#: Tasks for each processor: those that are ready early make up for those that are late.
TASKS_PER_CPU = 4


def evaluate(
    dataset: Any,
    *,
    labels: str = "labels",
    predictions: str | tuple[str, str] | Mapping[str, str | tuple[str, str]] = "predictions",
    rows: str | None = None,
    n_labels: int | None = None,
    train: LabelsLike | None = None,
    **settings: Any,
) -> Report:
    """Evaluate the rows of a Ray dataset: tallies of its blocks, merged in a tree.

    Parameters
    ----------
    dataset : ray.data.Dataset
        With list columns as in `unmissed.evaluate_dataset`.
    labels, predictions, rows, n_labels, train, **settings
        As in `unmissed.evaluate_dataset`. Without `rows` each task numbers its own rows: values are the same, and so are standard errors up
        to 65 536 rows.

    Returns
    -------
    Report
    """
    if n_labels is None:
        if train is None:
            raise ValueError("the number of labels is not known: pass n_labels=, or train=")
        n_labels = _inputs.labels(train, "train").columns
    named = predictions if isinstance(predictions, Mapping) else {"predictions": predictions}
    # Told here, not by a task.
    _columns(labels, named, rows)
    if not hasattr(dataset, "map_batches"):
        raise ValueError(f"this is not a dataset of Ray: expected a ray.data.Dataset, found {type(dataset).__name__}")
    # A task has one processor.
    blank = ray.put(Evaluator(n_labels, train=train, **settings | {"n_jobs": 1}))
    what = (labels, named, rows)
    if isinstance(dataset, MaterializedDataset):
        # Its blocks are there. A tally costs as much as many rows, so a task takes several blocks.
        blocks = dataset.to_arrow_refs()
        tasks = max(_processors(), dataset.size_bytes() // BYTES_PER_TASK)
        each = max(1, -(-len(blocks) // tasks))
        parts = [_tally.remote(blank, what, *blocks[start : start + each]) for start in range(0, len(blocks), each)]
    else:
        # Blocks are still to be read or computed: each has its tally in the same task.
        def tally(block: Any) -> Any:
            return _table(_tally_of(ray.get(blank), what, [block]))

        parts = dataset.map_batches(tally, batch_format="pyarrow", batch_size=None, zero_copy_batch=True).to_arrow_refs()
    while len(parts) > TOGETHER:
        parts = [_merge.remote(*parts[start : start + TOGETHER]) for start in range(0, len(parts), TOGETHER)]
    tallies = _arrays(ray.get(parts))
    if not tallies:
        raise ValueError("no rows were evaluated: expected at least one row")
    with working(settings.get("n_jobs"), False) as how:
        return Report(json.loads(_core.finish_tallies(tallies, how)))


def _tally_of(blank: Evaluator, what: tuple[str, Mapping[str, str | tuple[str, str]], str | None], blocks: Iterable[Any]) -> Array | None:
    """The bytes of a tally, or nothing if the blocks have no rows."""
    labels, named, rows = what
    columns = _columns(labels, named, rows)
    evaluator = blank._blank()
    for block in blocks:
        if block.num_rows:
            _check_schema(block.schema, columns, rows, "a block of the dataset")
            feed(evaluator, block, labels, named, rows)
    return np.frombuffer(evaluator.to_bytes(), np.uint8) if evaluator.n_rows else None


@ray.remote(num_cpus=1, max_retries=-1)
def _tally(blank: Evaluator, what: Any, *blocks: Any) -> Any:
    return _tally_of(blank, what, blocks)


@ray.remote(num_cpus=1, max_retries=-1)
def _merge(*parts: Any) -> Any:
    tallies = _arrays(parts)
    if not tallies:
        return None
    with working(1, False) as how:
        return _core.merge_tallies(tallies, how)


def _table(tally: Array | None) -> Any:
    """A block of a dataset, which is a table."""
    import pyarrow

    return pyarrow.table({"tally": pyarrow.array([] if tally is None else [tally.tobytes()], pyarrow.large_binary())})


def _arrays(parts: Iterable[Any]) -> list[Array]:
    """The tallies in results of tasks and blocks of a dataset, not copied."""
    found: list[Array] = []
    for part in parts:
        if hasattr(part, "column"):
            found += [np.frombuffer(tally.as_buffer(), np.uint8) for tally in part.column("tally")]
        elif part is not None:
            found.append(part)
    return found


def _processors() -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def train(
    X: FeaturesLike,
    y: TargetsLike,
    path: Path,
    *,
    resume: bool = False,
    blocks_per_task: int | None = None,
    **parameters: Any,
) -> OneVsRest:
    """Train one-vs-all, blocks of labels on any machine.

    Features and labels go into the object store once, and every task on a machine reads the same copy. Finished blocks are stored
    beside `path`. If a worker or machine dies, only its current blocks are lost, and Ray trains them again. If this process dies,
    `resume` trains only the missing blocks.

    Parameters
    ----------
    X, y
        As in `unmissed.OneVsRest.fit`.
    path : str or path
        The model's file. It appears when all blocks are done, with the bytes of a run on one machine.
    resume : bool, default False
        Whether to resume a run that was interrupted.
    blocks_per_task : int, optional
        Number of blocks per task; about four tasks per processor by default.
    **parameters
        Those of `unmissed.OneVsRest`.

    Returns
    -------
    OneVsRest
        The model, read from its file.
    """
    from ._models import OneVsRest, _of_matrix

    model = OneVsRest(**parameters)
    rows, labels = model._training_data(X, y)
    given = None if model.propensity is None else _of_matrix(model.propensity, labels)
    settings = model._settings(given)
    name = os.path.abspath(os.fspath(path))
    with working(model.n_jobs, model.verbose) as how:
        run = _core.begin_blocks(rows, labels, settings, (name, bool(resume)), how)
    missing = run.missing()
    each = whole(blocks_per_task, "blocks_per_task", 1) if blocks_per_task is not None else 0
    each = each or max(1, len(missing) // (TASKS_PER_CPU * _processors()))
    waiting = [missing[start : start + each] for start in range(0, len(missing), each)][::-1]
    data, what = ray.put((rows, labels)), ray.put((settings, run.prepared))
    at_work: list[Any] = []
    try:
        while waiting or at_work:
            # Results wait in memory until they are written: not more than two for each processor.
            while waiting and len(at_work) < 2 * _processors():
                at_work.append(_fit.remote(data, what, waiting.pop()))
            ready, at_work = ray.wait(at_work)
            for one in ready:
                for block in ray.get(one):
                    run.put(block)
    finally:
        for one in at_work:
            ray.cancel(one)
    # Lets go of the store, which the last step opens again.
    del run
    with working(model.n_jobs, model.verbose) as how:
        _core.finish_blocks(rows, labels, settings, name, how)
    return OneVsRest.load(name)


@ray.remote(num_cpus=1, max_retries=-1)
def _fit(data: tuple[Any, Matrix], what: tuple[dict[str, Any], str], blocks: list[tuple[int, int]]) -> Any:
    (rows, labels), (settings, prepared) = data, what
    with working(1, False) as how:
        return _core.fit_blocks(rows, labels, settings, prepared, blocks, how)


def predict(model: OneVsRest, X: FeaturesLike, k: int = 5, *, rows_per_task: int | None = None, **options: Any) -> Any:
    """The best labels of each row, rows in parts on any machine.

    Parameters
    ----------
    model : OneVsRest
        A trained model; every worker gets it once.
    X
        As in `unmissed.OneVsRest.predict_top_k`.
    k : int, default 5
        Maximum number of labels per row.
    rows_per_task : int, optional
        Number of rows per task; about four tasks per processor by default.
    **options
        The other options of `unmissed.OneVsRest.predict_top_k`, except `ignore`.

    Returns
    -------
    scipy.sparse.csr_matrix of shape (n_rows, n_labels)
    """
    import scipy.sparse

    if "ignore" in options:
        raise ValueError("rows are predicted in parts, which cannot ignore pairs: call predict_top_k")
    rows: Any = X.X if hasattr(X, "X") else X
    matrix = rows.tocsr() if _inputs.is_sparse(rows) else np.asarray(rows)
    count = matrix.shape[0]
    each = whole(rows_per_task, "rows_per_task", 1) if rows_per_task is not None else 0
    each = each or max(1, -(-count // (TASKS_PER_CPU * _processors())))
    shared = ray.put((model, k, options))
    parts = [_predict.remote(shared, matrix[start : start + each]) for start in range(0, count, each)]
    return scipy.sparse.vstack(ray.get(parts), format="csr") if parts else model.predict_top_k(matrix, k, **options)


@ray.remote(num_cpus=1, max_retries=-1)
def _predict(shared: tuple[Any, int, dict[str, Any]], rows: Any) -> Any:
    model, k, options = shared
    model.n_jobs = 1
    return model.predict_top_k(rows, k, **options)
