"""Metrics of the package as those of torchmetrics: ``update``, ``compute``, ``reset``, on several processes.

>>> import torch
>>> from unmissed.torchmetrics import Precision
>>> metric = Precision(n_labels=3, k=1)
>>> metric.update(torch.tensor([[0.9, 0.2, 0.1], [0.6, 0.1, 0.5]]), [[0, 1], [2]])
>>> metric.compute()
tensor(0.5000)

Processes exchange one tally each, not predictions. Importing this module imports torchmetrics.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.utilities.distributed import gather_all_tensors

from ._choices import several
from ._registry import names
from ._report import Report
from ._stream import Evaluator

_CAPITALS = {"ndcg": "NDCG", "ndcg-min": "NDCGMin"}


class UnmissedMetric(Metric):
    """One metric and estimator of `unmissed.Evaluator`.

    Parameters
    ----------
    metric : str
        A metric of the registry, as in ``"precision"`` or ``"macro-f:beta=2"``.
    n_labels : int
        The number of labels.
    k : int or sequence of int, default 5
        Lengths of the top list; several give a vector.
    estimator : str, default "observed"
        ``"observed"``, ``"unbiased"``, ``"normalized"``, ...
    train, propensity, weights, rate, conventions, random_state, n_jobs : optional
        As in `unmissed.Evaluator`; exactly one propensity model, if the estimator needs one.
    **settings
        What `torchmetrics.Metric` takes.
    """

    is_differentiable = False
    higher_is_better: bool | None = None
    full_state_update = False

    _OURS = ("train", "propensity", "weights", "rate", "conventions", "random_state", "n_jobs", "level", "interval", "clip")

    def __init__(self, metric: str, n_labels: int, k: Any = 5, estimator: str = "observed", **settings: Any) -> None:
        ours = {name: settings.pop(name) for name in self._OURS if name in settings}
        if len(several(ours.get("propensity"))) > 1:
            raise ValueError("a metric has one value: expected one propensity model, found several; make a metric for each")
        super().__init__(**settings)
        self.metric, self.k, self.estimator = metric, k, estimator
        self._evaluator = Evaluator(n_labels, k=k, metrics=[metric], estimators=[estimator], **ours)
        # What other processes have, while the metric is synced. It is no registered state: a MetricCollection takes metrics with equal
        # states for one and updates only the first of them, and all of ours would be equal.
        self._gathered: list[bytes] = []

    def update(self, preds: Any, target: Any, rows: Any = None) -> None:
        """Take a batch: scores of all labels (or anything that `Evaluator.update` takes), and observed labels."""
        if isinstance(preds, Mapping) and "indices" not in preds:
            raise ValueError("a metric has one value: expected the scores of one model, found a dictionary; make a metric for each")
        self._evaluator._take(target, preds, rows, None, ("target", "preds"))

    def compute(self) -> Tensor:
        report = self.report()
        name = self.metric.partition(":")[0]
        found = {row.k: row.value for row in report.rows if row.metric.partition(":")[0] == name and row.group == "all"}
        values = [np.nan if found[k] is None else found[k] for k in np.atleast_1d(self.k).tolist()]
        tensor = torch.tensor(values, device=self.device)
        return tensor[0] if np.ndim(self.k) == 0 else tensor

    def report(self) -> Report:
        """Value, standard error and interval of the rows that this process has taken.

        With several processes, `compute` gives the value of the rows of all; their report is ``with metric.sync_context(): metric.report()``.
        """
        if not self._gathered:
            return self._evaluator.compute()
        everything = self._evaluator._blank()
        for one in self._gathered:
            everything.merge(one)
        return everything.compute()

    def merge_state(self, incoming_state: Any) -> None:
        """Add the rows of another metric with the same settings."""
        if not isinstance(incoming_state, UnmissedMetric):
            raise ValueError(f"cannot merge this: expected a metric of unmissed, found {type(incoming_state).__name__}")
        self._evaluator.merge(incoming_state._evaluator)
        self._update_count += incoming_state._update_count
        self._computed = None

    def _sync_dist(self, dist_sync_fn: Any = gather_all_tensors, process_group: Any = None) -> None:
        mine = torch.from_numpy(np.frombuffer(self._evaluator.to_bytes(), np.uint8).copy()).to(self.device)
        tallies = dist_sync_fn(mine, group=process_group or self.process_group)
        self._gathered = [tally.cpu().numpy().tobytes() for tally in tallies]

    def unsync(self, should_unsync: bool = True) -> None:
        super().unsync(should_unsync)
        if should_unsync:
            self._gathered = []

    def forward(self, *arguments: Any, **named: Any) -> Any:
        """Takes a batch and gives the value of the batch alone."""
        alone = self._evaluator._blank()
        kept, self._evaluator = self._evaluator, alone
        try:
            type(self).update.__get__(self)(*arguments, **{name: one for name, one in named.items() if name != "rows"})
            value = type(self).compute.__get__(self)()
        finally:
            self._evaluator = kept
        self.update(*arguments, **named)
        self._forward_cache = value
        return value

    def reset(self) -> None:
        super().reset()
        self._gathered = []
        self._evaluator.reset()


def _metric(name: str) -> type[UnmissedMetric]:
    def __init__(self: UnmissedMetric, n_labels: int, k: Any = 5, estimator: str = "observed", **settings: Any) -> None:
        UnmissedMetric.__init__(self, name, n_labels, k, estimator, **settings)

    title = _CAPITALS.get(name, "".join(part.capitalize() for part in name.split("-")))
    __init__.__qualname__ = f"{title}.__init__"
    body = {
        "__init__": __init__,
        "__doc__": f"The metric '{name}': see `UnmissedMetric`.",
        "__module__": __name__,
        "higher_is_better": name != "abandonment",
    }
    return type(title, (UnmissedMetric,), body)


for _name in names("metrics"):
    _made = _metric(_name)
    globals()[_made.__name__] = _made

__all__ = ["UnmissedMetric", *(_CAPITALS.get(one, "".join(part.capitalize() for part in one.split("-"))) for one in names("metrics"))]
