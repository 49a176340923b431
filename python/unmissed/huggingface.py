"""Evaluation within the Trainer of Hugging Face: only the best labels of each row are kept, not all logits.

>>> from unmissed.huggingface import TrainerMetrics
>>> metrics = TrainerMetrics(n_labels=3, k=1, metrics=["precision"])
>>> # Trainer(..., preprocess_logits_for_metrics=metrics.preprocess_logits_for_metrics, compute_metrics=metrics.compute_metrics)

With ``TrainingArguments(batch_eval_metrics=True)`` nothing but a tally is kept from batch to batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ._batches import best_of_rows
from ._report import Report
from ._stream import Evaluator

__all__ = ["TrainerMetrics"]

#: What the Trainer fills rows up with.
PADDING = -100


class TrainerMetrics:
    """What a Trainer takes as ``preprocess_logits_for_metrics`` and ``compute_metrics``.

    Parameters
    ----------
    n_labels : int
        The number of labels.
    **settings
        As in `unmissed.Evaluator`.

    Attributes
    ----------
    report : Report or None
        The last result, with intervals.
    """

    def __init__(self, n_labels: int, **settings: Any) -> None:
        self._evaluator = Evaluator(n_labels, **settings)
        self.report: Report | None = None

    def preprocess_logits_for_metrics(self, logits: Any, labels: Any) -> tuple[Any, Any]:
        """The best labels of each row and their scores, on the logits' device."""
        if isinstance(logits, Mapping):
            logits = logits.get("logits")
        if isinstance(logits, (tuple, list)):
            # Models may give more than logits; those come first.
            logits = logits[0]
        wanted = self._evaluator.n_labels
        if getattr(logits, "ndim", 0) != 2 or logits.shape[1] != wanted:
            found = tuple(logits.shape) if hasattr(logits, "shape") else type(logits).__name__
            raise ValueError(f"the model's logits have the wrong shape: expected (rows, {wanted}), found {found}")
        return best_of_rows(logits, max(self._evaluator._request["ks"]))

    def compute_metrics(self, prediction: Any, compute_result: bool = True) -> dict[str, float]:
        """Values by name; `report` has the intervals.

        Labels are a matrix of 0 and 1, or the labels of each row, padded with -100.
        """
        best, labels = prediction.predictions, prediction.label_ids
        if not isinstance(best, (tuple, list)) or len(best) != 2:
            expected = "expected the best labels and their scores: give the Trainer preprocess_logits_for_metrics=, too"
            raise ValueError(f"these are not the predictions that preprocess_logits_for_metrics makes: {expected}")
        if labels is None or isinstance(labels, (tuple, list)):
            found = "none" if labels is None else f"{len(labels)} arrays"
            raise ValueError(f"cannot find the labels of the rows: expected one array, found {found}; name it in TrainingArguments(label_names=)")
        ids, scores = (np.asarray(part) for part in best)
        truth = _labels(np.asarray(labels), self._evaluator.n_labels)
        self._evaluator._take(truth, (ids, scores.astype(np.float32)), None, None, ("labels", "predictions"))
        if not compute_result:
            return {}
        self.report = self._evaluator.compute()
        self._evaluator.reset()
        return self.report.to_flat_dict()


def _labels(given: np.ndarray[Any, Any], columns: int) -> Any:
    if given.dtype.kind == "f" or (given.ndim == 2 and given.shape[1] == columns and set(np.unique(given)) <= {0, 1}):
        return given
    return [row[row != PADDING].tolist() for row in given]
