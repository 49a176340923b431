"""What both libraries' further functions need: which predictions are hits, and at which rank."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._inputs import Array, Matrix


class Ranking(NamedTuple):
    """For every prediction its row, its label, its rank from 0, and whether it is relevant."""

    rows: Array
    labels: Array
    ranks: Array
    hits: Array


def check_rows(truth: Matrix, predicted: Matrix) -> None:
    if truth.rows != predicted.rows:
        raise ValueError(f"the predictions have another number of rows: expected {truth.rows}, found {predicted.rows}")


def ranking(truth: Matrix, predictions: Matrix, what: str) -> Ranking:
    """By score, ties by the smaller label."""
    check_rows(truth, predictions)
    rows = np.repeat(np.arange(predictions.rows), np.diff(predictions.indptr))
    scores = np.asarray(predictions.data)
    if np.isnan(scores).any():
        raise ValueError(f"{what}, row {rows[np.isnan(scores)][0]}: a score is NaN")
    order = np.lexsort((predictions.indices, -scores, rows))
    labels = predictions.indices[order].astype(np.int64)
    relevant = np.repeat(np.arange(truth.rows), np.diff(truth.indptr)) * truth.columns + truth.indices
    return Ranking(rows, labels, np.arange(len(rows)) - predictions.indptr[rows], np.isin(rows * truth.columns + labels, relevant))
