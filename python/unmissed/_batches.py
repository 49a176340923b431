"""Batches of streams: beside what every function takes, tensors of torch and list columns of pyarrow."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _inputs
from ._inputs import Array, Matrix, _integers, _predicted, _ranks, _singles

#: Matrices in the computer's own memory are taken whole up to this size: the library selects the best without waking threads of torch.
MOST_WHOLE = 1 << 20
#: Devices in whose memory numpy can look.
OF_HOST: tuple[str, ...] = ("cpu",)


def is_tensor(value: Any) -> bool:
    return any(base.__module__.partition(".")[0] == "torch" and base.__name__ == "Tensor" for base in type(value).__mro__)


def is_column(value: Any) -> bool:
    """A list column of pyarrow."""
    return type(value).__module__.partition(".")[0] == "pyarrow" and hasattr(value, "null_count") and hasattr(value, "type")


def batch_labels(value: Any, what: str, columns: int) -> Matrix:
    """Observed labels of a batch."""
    if is_tensor(value):
        return _labels_of_tensor(value, what, columns)
    if is_column(value):
        indptr, ids, _ = _list_column(value, what)
        return Matrix(columns, indptr, _whole(ids, what), None)
    return _inputs.labels(value, what, columns)


def batch_scores(value: Any, what: str, columns: int, k: int) -> Matrix:
    """Predictions of a batch, of which at least the best k of each row are needed."""
    if is_tensor(value):
        if value.is_floating_point():
            return _best_of_tensor(value, what, columns, k)
        return _inputs.scores(_inputs.TopK(value.detach().cpu().numpy()), what, columns)
    if isinstance(value, tuple) and len(value) == 2:
        first, second = value
        if is_column(first) and is_column(second):
            return _scores_of_columns(first, second, what, columns)
        if is_tensor(first) and is_tensor(second):
            first, second = first.detach().cpu().numpy(), _on_host(second)
            return _inputs.scores((first, second), what, columns)
    if is_column(value):
        indptr, ids, _ = _list_column(value, what)
        return Matrix(columns, indptr, _whole(ids, what), _ranks(indptr))
    return _inputs.scores(value, what, columns)


def _on_host(tensor: Any) -> Array:
    tensor = tensor.detach()
    if tensor.dtype is _torch().bfloat16:
        # numpy has none.
        tensor = tensor.float()
    found: Array = tensor.cpu().numpy()
    return found


def _check_shape(tensor: Any, what: str, columns: int) -> None:
    if tensor.dim() != 2:
        raise ValueError(f"{what} has the wrong shape: expected (rows, labels), found {tuple(tensor.shape)}")
    if tensor.shape[1] != columns:
        raise ValueError(f"{what} has another number of labels: expected {columns}, found {tensor.shape[1]}")


def _labels_of_tensor(tensor: Any, what: str, columns: int) -> Matrix:
    if tensor.layout is not _torch().strided:
        tensor = tensor.to_dense()
    _check_shape(tensor, what, columns)
    if tensor.device.type in OF_HOST:
        # Without torch's threads, which take longer to wake than this takes.
        return _inputs.labels(_on_host(tensor), what, columns)
    # Only the places of labels leave the device.
    given = tensor.detach()
    wrong = (given != 0) & (given != 1)
    if bool(wrong.any()):
        row, label = (int(one) for one in wrong.nonzero()[0])
        raise _inputs.not_a_label(what, row, _on_host(given[row, label].reshape(1))[0])
    places = (given == 1).nonzero()
    rows, ids = places[:, 0].cpu().numpy(), places[:, 1].cpu().numpy()
    indptr = np.searchsorted(rows, np.arange(tensor.shape[0] + 1))
    return Matrix(columns, _integers(indptr), _integers(ids), None)


def _torch() -> Any:
    import torch

    return torch


def best_of_rows(scores: Any, k: int) -> tuple[Any, Any]:
    """The best k of each row of a tensor, on its device: labels and scores in single precision; ties go to the smaller label."""
    torch = _torch()
    scores = scores.detach().float()
    width = scores.shape[1]
    k = min(k, width)
    values, ids = torch.topk(scores, min(k + 1, width), dim=1)
    if k < width:
        # Of entries that tie for the last place, topk takes any: those rows are sorted in full.
        ties = (values[:, k - 1] == values[:, k]).nonzero()[:, 0]
        if ties.numel():
            kept, order = torch.sort(scores[ties], dim=1, descending=True, stable=True)
            values[ties, :k], ids[ties, :k] = kept[:, :k], order[:, :k]
    return ids[:, :k], values[:, :k]


def _best_of_tensor(tensor: Any, what: str, columns: int, k: int) -> Matrix:
    _check_shape(tensor, what, columns)
    if not tensor.shape[0]:
        return Matrix(columns, np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))
    if tensor.device.type in OF_HOST and tensor.numel() <= MOST_WHOLE:
        host = _singles(_on_host(tensor))
        labels = np.tile(np.arange(columns, dtype=np.int32), host.shape[0]).reshape(host.shape)
    else:
        ids, values = best_of_rows(tensor, k)
        # NaN ranks above every number, so it is among the best if it is anywhere.
        host, labels = values.cpu().numpy(), ids.cpu().numpy()
    if np.isfinite(host).all():
        indptr = np.arange(host.shape[0] + 1) * host.shape[1]
        return Matrix(columns, _integers(indptr), _integers(labels.reshape(-1)), _singles(host.reshape(-1)))
    wrong = np.argwhere(np.isnan(host) | (host == np.inf))
    if wrong.size:
        row, place = (int(one) for one in wrong[0])
        raise ValueError(f"{what}, row {row}: the score of label {int(labels[row, place])} is not finite: found {host[row, place]}")
    kept = host != -np.inf
    indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    return Matrix(columns, _integers(indptr), _integers(labels[kept]), _singles(host[kept]))


def _whole(ids: Array, what: str) -> Array:
    if ids.dtype.kind not in "iu":
        raise ValueError(f"{what}: expected labels as whole numbers, found {ids.dtype}")
    return _integers(ids)


def _list_column(column: Any, what: str) -> tuple[Array, Array, Array]:
    """Row offsets and values of a list column, and its lengths; nothing is copied but the offsets."""
    if hasattr(column, "chunks"):
        column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        if hasattr(column, "chunks"):
            column = column.chunk(0)
    is_fixed = hasattr(column.type, "list_size")
    if not is_fixed and not hasattr(column, "offsets"):
        raise ValueError(f"{what} is not a list column: expected lists of labels, found {column.type}")
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise ValueError(f"{what}, row {row} is null: expected a list, which may be empty")
    flat = column.flatten()
    if is_fixed:
        indptr = np.arange(len(column) + 1) * column.type.list_size
    else:
        offsets = column.offsets.to_numpy()
        indptr = offsets - offsets[0]
    if flat.null_count:
        place = int(np.flatnonzero(flat.is_null().to_numpy(zero_copy_only=False))[0])
        raise ValueError(f"{what}, row {_inputs._row_of(indptr, place)}: expected numbers, found null")
    if not len(flat):
        return _integers(indptr), np.empty(0, np.int64), np.diff(indptr)
    if not _holds_numbers(flat.type):
        raise ValueError(f"{what} is not a list column of numbers: found {column.type}")
    return _integers(indptr), flat.to_numpy(), np.diff(indptr)


def _holds_numbers(kind: Any) -> bool:
    import pyarrow

    return bool(pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind))


def _scores_of_columns(labels: Any, scores: Any, what: str, columns: int) -> Matrix:
    indptr, ids, lengths = _list_column(labels, what)
    others, values, other_lengths = _list_column(scores, what)
    if len(lengths) != len(other_lengths):
        raise ValueError(f"{what} has scores for another number of rows: expected {len(lengths)}, found {len(other_lengths)}")
    wrong = np.flatnonzero(lengths != other_lengths)
    if wrong.size:
        row = int(wrong[0])
        raise ValueError(f"{what}, row {row}: expected a score for each of {lengths[row]} labels, found {other_lengths[row]}")
    return _predicted(columns, indptr, _whole(ids, what), values)
