"""Evaluation, training and prediction on several machines with Ray.

Rows have one tally per block, blocks of labels are trained anywhere, and rows are predicted in parts.

>>> # report = unmissed.ray.evaluate(ray.data.read_parquet("predictions/"), n_labels=670_091, train=y_train, propensity="jpv")
>>> # model = unmissed.ray.train(X, y, "model.safetensors", propensity="jpv")

Only ``ray.put``, ``ray.remote`` and ``map_batches`` are used. Results equal those of one machine: reports to the last bit, models
to the last byte. Ray repeats work that was lost with a machine. Importing this module imports ray, which ``pip install 'unmissed[ray]'`` brings.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import ray

from . import _core, _inputs
from ._checks import whole
from ._dataset import _check_schema, _columns, feed
from ._inputs import Matrix
from ._report import Report
from ._stream import Evaluator
from ._work import working

if TYPE_CHECKING:
    from ._models import OneVsRest
    from .types import FeaturesLike, LabelsLike, Path, TargetsLike

__all__ = ["evaluate", "predict", "train"]

#: Tallies that are merged by one task.
TOGETHER = 8
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
    """Evaluate the rows of a Ray dataset: one tally per block, merged in a tree.

    Parameters
    ----------
    dataset : ray.data.Dataset
        With list columns as in `unmissed.evaluate_dataset`.
    labels, predictions, rows, n_labels, train, **settings
        As in `unmissed.evaluate_dataset`. Without `rows` blocks number their own rows: values are the same, and so are standard errors up
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
    columns = _columns(labels, named, rows)
    lists = columns[: len(columns) - (rows is not None)]
    # A task has one processor.
    blank = ray.put(Evaluator(n_labels, train=train, **settings | {"n_jobs": 1}))

    def tally(block: Any) -> Any:
        import pyarrow

        _check_schema(block.schema, columns, lists, "a block of the dataset")
        evaluator = ray.get(blank)._blank()
        if block.num_rows:
            feed(evaluator, block, labels, named, rows)
        return pyarrow.table({"tally": pyarrow.array([evaluator.to_bytes()] if block.num_rows else [], pyarrow.large_binary())})

    mapped = dataset.map_batches(tally, batch_format="pyarrow", batch_size=None, zero_copy_batch=True)
    parts = mapped.to_arrow_refs()
    while len(parts) > 1:
        parts = [_merge.remote(*parts[start : start + TOGETHER]) for start in range(0, len(parts), TOGETHER)]
    if not parts:
        raise ValueError("no rows were evaluated: expected at least one block of rows")
    whole_tally = _merged([ray.get(parts[0])])
    with working(settings.get("n_jobs"), False) as how:
        return Report(json.loads(_core.finish_tally(whole_tally, how)))


def _merged(tables: list[Any]) -> bytes:
    tallies = [tally.as_py() for table in tables for tally in table.column("tally")]
    if not tallies:
        raise ValueError("no rows were evaluated: expected at least one row")
    if len(tallies) == 1:
        return bytes(tallies[0])
    with working(1, False) as how:
        return _core.merge_tallies(tallies, how)


@ray.remote(num_cpus=1, max_retries=-1)
def _merge(*tables: Any) -> Any:
    import pyarrow

    kept = [table for table in tables if table.num_rows]
    if not kept:
        return tables[0]
    return pyarrow.table({"tally": pyarrow.array([_merged(kept)], pyarrow.large_binary())})


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
