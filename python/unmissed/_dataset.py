"""Evaluation of rows in Arrow: Parquet files and folders, datasets, and whatever streams record batches."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ._inputs import labels as label_matrix
from ._stream import Evaluator

if TYPE_CHECKING:
    from ._report import Report
    from .types import LabelsLike

#: Rows of a record batch that are read at once.
ROWS_AT_ONCE = 1 << 16


def evaluate_dataset(
    source: Any,
    *,
    labels: str = "labels",
    predictions: str | tuple[str, str] | Mapping[str, str | tuple[str, str]] = "predictions",
    rows: str | None = None,
    n_labels: int | None = None,
    train: LabelsLike | None = None,
    **settings: Any,
) -> Report:
    """Evaluate rows in Arrow, batch by batch: memory does not grow with their number.

    Parameters
    ----------
    source : path, pyarrow.dataset.Dataset, or anything with the Arrow C stream interface
        A Parquet file, a folder of them, a list of files, a dataset, a table, a reader of record batches, a frame of polars, ...
    labels : str, default "labels"
        The column with the observed labels of each row, as lists of whole numbers.
    predictions : str, (str, str), or dict of these by name, default "predictions"
        The column with the predicted labels of each row, best first; or two columns, labels and scores. Several models by their names.
    rows : str, optional
        A column with row numbers, as in `Evaluator.update`.
    n_labels : int, optional
        The number of labels, if `train` does not determine it.
    train : labels, optional
        Training labels, as in `evaluate`.
    **settings
        The other parameters of `Evaluator`.

    Returns
    -------
    Report
        As `evaluate` gives it on all rows at once.

    Raises
    ------
    ValueError
        If columns are missing or no lists (the message names the file), or if rows are wrong.

    Examples
    --------
    >>> import pyarrow
    >>> import unmissed as um
    >>> table = pyarrow.table({"labels": [[0, 1], [2]], "predictions": [[0, 1], [0, 2]]})
    >>> um.evaluate_dataset(table, n_labels=3, k=1, metrics=["precision"]).value("precision", 1)
    0.5
    """
    if n_labels is None:
        if train is None:
            raise ValueError("the number of labels is not known: pass n_labels=, or train=")
        n_labels = label_matrix(train, "train").columns
    named = predictions if isinstance(predictions, Mapping) else {"predictions": predictions}
    columns = _columns(labels, named, rows)
    evaluator = Evaluator(n_labels, train=train, **settings)
    for batch in record_batches(source, columns, rows):
        if batch.num_rows:
            feed(evaluator, batch, labels, named, rows)
    return evaluator.compute()


def _columns(labels: str, named: Mapping[str, str | tuple[str, str]], rows: str | None) -> list[str]:
    """The names of all columns that are read, each once."""
    if not isinstance(labels, str) or not isinstance(rows, (str, type(None))):
        raise ValueError(f"labels and rows are names of columns: expected texts, found {labels!r} and {rows!r}")
    found = [labels]
    for one in named.values():
        pair = (one,) if isinstance(one, str) else one
        if not isinstance(pair, tuple) or len(pair) > 2 or not pair or not all(isinstance(name, str) for name in pair):
            expected = "expected the name of a column, or a tuple of two: labels and scores"
            raise ValueError(f"predictions do not name columns: {expected}, found {one!r}")
        found += pair
    if rows in found:
        raise ValueError(f"rows is a column of its own, with row numbers: found '{rows}', which has labels or predictions")
    return list(dict.fromkeys(found)) + ([] if rows is None else [rows])


def feed(evaluator: Evaluator, batch: Any, labels: str, named: Mapping[str, str | tuple[str, str]], rows: str | None) -> None:
    """Lets an evaluator take a record batch or table."""

    def predicted(columns: str | tuple[str, str]) -> Any:
        if isinstance(columns, str) or len(columns) == 1:
            return batch.column(columns if isinstance(columns, str) else columns[0])
        return tuple(batch.column(one) for one in columns)

    only = list(named) == ["predictions"]
    evaluator.update(
        batch.column(labels),
        predicted(named["predictions"]) if only else {name: predicted(columns) for name, columns in named.items()},
        rows=None if rows is None else _row_numbers(batch.column(rows), rows),
    )


def _row_numbers(column: Any, name: str) -> Any:
    if column.null_count:
        raise ValueError(f"column '{name}' has rows without a number: expected a whole number for each row, found null")
    return column.to_numpy()


def record_batches(source: Any, columns: list[str], rows: str | None) -> Iterator[Any]:
    """The record batches of a source, with these columns."""
    try:
        import pyarrow
        import pyarrow.dataset
    except ImportError as error:
        raise ImportError("Arrow data need pyarrow: pip install 'unmissed[arrow]'") from error
    is_paths = isinstance(source, (list, tuple)) and all(isinstance(one, (str, os.PathLike)) for one in source)
    if isinstance(source, (str, os.PathLike)) or is_paths:
        paths = [os.fspath(one) for one in source] if is_paths else os.fspath(source)
        source = pyarrow.dataset.dataset(paths, format="parquet") if paths else None
        if source is None or not source.files:
            raise ValueError(f"there is nothing to read: expected a Parquet file, a folder of them or a list, found none in {paths!r}")
    if isinstance(source, pyarrow.dataset.Dataset):
        for fragment in source.get_fragments():
            _check_schema(fragment.physical_schema, columns, rows, getattr(fragment, "path", "the dataset"))
        # One file and few batches ahead: more would be held in memory.
        yield from source.to_batches(columns=columns, batch_size=ROWS_AT_ONCE, batch_readahead=2, fragment_readahead=1)
        return
    if not hasattr(source, "__arrow_c_stream__"):
        raise ValueError(f"cannot read record batches from this: expected a path, a dataset, or an Arrow stream, found {type(source)}")
    reader = pyarrow.RecordBatchReader.from_stream(source)
    _check_schema(reader.schema, columns, rows, "the stream")
    for batch in reader:
        for start in range(0, batch.num_rows, ROWS_AT_ONCE):
            yield batch.slice(start, ROWS_AT_ONCE).select(columns)


def _check_schema(schema: Any, columns: list[str], rows: str | None, where: str) -> None:
    """That all columns are there: whole numbers for `rows`, lists of numbers for the others."""
    from pyarrow import types

    missing = next((column for column in columns if column not in schema.names), None)
    if missing is not None:
        raise ValueError(f"{where} has no column '{missing}': expected {', '.join(columns)}, found {', '.join(schema.names)}")
    for column in columns:
        kind = schema.field(column).type
        if column == rows:
            if not types.is_integer(kind):
                raise ValueError(f"{where}, column '{column}': expected row numbers as whole numbers, found {kind}")
            continue
        is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
        # Empty lists may have no type.
        if not is_list or not (types.is_integer(kind.value_type) or types.is_floating(kind.value_type) or types.is_null(kind.value_type)):
            raise ValueError(f"{where}, column '{column}': expected lists of numbers, found {kind}")
