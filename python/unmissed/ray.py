"""Evaluation, training and prediction on several machines with Ray.

Blocks of rows have tallies, which merge; blocks of labels are trained anywhere; rows are predicted in parts.

>>> # report = unmissed.ray.evaluate(ray.data.read_parquet("predictions/"), n_labels=670_091, train=y_train, propensity="jpv")
>>> # model = unmissed.ray.train(X, y, "model.safetensors", propensity="jpv")

Tasks (``ray.put``, ``remote``, ``get``, ``wait``, ``cancel``, ``cluster_resources``) and datasets (``map_batches``, ``to_arrow_refs``, ``size_bytes``) are
all that is used of Ray. Results equal those of one machine: reports to the last bit, models to the last byte. Ray repeats work that
was lost with a machine. Importing this module imports ray, which ``pip install 'unmissed[ray]'`` brings.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import ray
import ray.data
import ray.exceptions

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

try:
    from ray.data.dataset import MaterializedDataset

    _MATERIALIZED: tuple[Any, ...] = (MaterializedDataset,)
except ImportError:
    # It is not public and may move: then all datasets are evaluated like those whose blocks are still to be read.
    _MATERIALIZED = ()

__all__ = ["evaluate", "predict", "train"]

#: Tallies that are merged by one task.
TOGETHER = 8
#: A task holds about so many bytes of blocks.
BYTES_PER_TASK = 256 * 2**20
#: Tasks for each processor: those that are ready early make up for those that are late.
TASKS_PER_CPU = 4
#: A training task returns about so many bytes, and so many blocks at most: what is lost with it is trained again.
MOST_TRAINED = 64 * 2**20
MOST_BLOCKS = 16
#: How often Ray repeats a task whose worker died. One that always dies, for want of memory, would be repeated forever.
RETRIES = 5


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
    if isinstance(dataset, _MATERIALIZED):
        # Its blocks are there. A tally costs as much as many rows, so a task takes several blocks.
        blocks = dataset.to_arrow_refs()
        tasks = max(_processors(), dataset.size_bytes() // BYTES_PER_TASK)
        each = max(1, -(-len(blocks) // tasks))
        parts = [_tally.remote(blank, what, *blocks[start : start + each]) for start in range(0, len(blocks), each)]
    else:
        # Blocks are still to be read or computed: each has its tally in the same task.
        def tally(block: Any) -> Any:
            return _table(_tally_of(ray.get(blank), what, [block]))

        # How often these tasks are repeated is left to Ray: tasks with options of their own would not be joined with those that read.
        parts = dataset.map_batches(tally, batch_format="pyarrow", batch_size=None, zero_copy_batch=True).to_arrow_refs()
    while len(parts) > TOGETHER:
        parts = [_merge.remote(*parts[start : start + TOGETHER]) for start in range(0, len(parts), TOGETHER)]
    tallies = _arrays(_results(parts, "a part of the rows could not be evaluated"))
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


@ray.remote(num_cpus=1, max_retries=RETRIES)
def _tally(blank: Evaluator, what: Any, *blocks: Any) -> Any:
    return _tally_of(blank, what, blocks)


@ray.remote(num_cpus=1, max_retries=RETRIES)
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


def _results(tasks: Any, what: str, remedy: str = "") -> Any:
    """The results of tasks; errors of our own are passed on, and others say what could not be done."""
    try:
        return ray.get(tasks)
    except ray.exceptions.RayTaskError:
        raise
    except ray.exceptions.RayError as error:
        died = f"its worker or machine was lost {RETRIES + 1} times, or it cannot be repeated"
        hint = "; if workers are killed for their memory, give them more, or smaller parts"
        raise RuntimeError(f"{what}: {died}{hint}{remedy}") from error


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
        Number of blocks per task; by default about four tasks per processor, but at most 16 blocks and about 64 MB of weights.
    **parameters
        Those of `unmissed.OneVsRest`.

    Returns
    -------
    OneVsRest
        The model, read from its file.

    Raises
    ------
    RuntimeError
        If blocks could not be trained although they were tried six times. Finished blocks are kept for `resume`.
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
    each = each or _blocks_per_task(missing, rows.columns if isinstance(rows, Matrix) else rows.shape[1], _processors())
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
                for block in _results(one, "blocks of labels could not be trained", "; finished blocks are kept: pass resume=True"):
                    run.put(block)
    finally:
        for one in at_work:
            ray.cancel(one)
    # Lets go of the store, which the last step opens again.
    del run
    with working(model.n_jobs, model.verbose) as how:
        _core.finish_blocks(rows, labels, settings, name, how)
    return OneVsRest.load(name)


def _blocks_per_task(blocks: list[tuple[int, int]], features: int, processors: int) -> int:
    """So many that every processor has several tasks, and none returns much."""
    # A block has a weight of single precision for each label and feature.
    largest = max((end - start for start, end in blocks), default=1) * max(features, 1) * 4
    return max(1, min(len(blocks) // (TASKS_PER_CPU * processors), MOST_TRAINED // largest, MOST_BLOCKS))


@ray.remote(num_cpus=1, max_retries=RETRIES)
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
    if not parts:
        return model.predict_top_k(matrix, k, **options)
    return scipy.sparse.vstack(_results(parts, "a part of the rows could not be predicted"), format="csr")


@ray.remote(num_cpus=1, max_retries=RETRIES)
def _predict(shared: tuple[Any, int, dict[str, Any]], rows: Any) -> Any:
    model, k, options = shared
    model.n_jobs = 1
    return model.predict_top_k(rows, k, **options)
