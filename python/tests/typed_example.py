"""Checked by mypy --strict, and run: what a typed user of the package writes, and what mypy keeps one from writing."""

from typing import TYPE_CHECKING, assert_type

import numpy as np

import unmissed as um
from unmissed.types import LabelsLike, PropensitiesLike, RateLike, ScoresLike

train = [[0], [0, 1], [0, 2], [0]]
truth, ranked = [[0, 1], [2]], [[0, 1], [0, 2]]

value = um.precision(truth, ranked, k=1)
assert_type(value, float)
values = um.recall(truth, ranked, k=[1, 2], estimator="unbiased", propensity="jpv", train=train)
several: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = values
total: float = float(np.sum(values))
f: float = um.macro_f(truth, ranked, k=1, beta=2.0)
report = um.evaluate(truth, ranked, train=train, propensity=["jpv", um.Propensities(np.full(3, 0.5))], k=(1, 2))
assert_type(report, um.Report)
codes: list[str] = [finding.code for finding in report.findings]
best: um.Row = max(report.rows, key=lambda row: row.value or 0.0)
p = um.propensities(train, "jpv")
assert_type(p, um.Propensities)
by_row = um.fit_row_propensity([[0], [1]] * 20, later=[[0], [0, 1]] * 20, refits=5)
assert_type(by_row, um.RowPropensity)
data: um.datasets.Generated = um.datasets.balls(train_rows=10, test_rows=10)
old = um.compat.napkinxc.precision_at_k(truth, ranked, k=2)


def scored(y_true: LabelsLike, y_pred: ScoresLike, propensity: PropensitiesLike, rate: RateLike | None = None) -> um.Report:
    return um.evaluate(y_true, y_pred, propensity=propensity, rate=rate, n_labels=3)


# What the types are there for: every form that the functions take, ...
best_labels = np.array([[0, 1], [0, 2]])
scores = np.eye(3)[:2]
for y_true in (truth, [(0, 1), (2,)], [{0, 1}, {2}], np.eye(3)[:2], np.array([[1, 1, 0], [0, 0, 1]], bool)):
    um.precision(y_true, scores, k=1)
for y_pred in (
    ranked,
    scores,
    best_labels,
    um.TopK(best_labels, n_labels=3),
    um.TopK([[0, 1], [0, 2]], [[0.5, 0.25], [0.5, 0.25]]),
    (best_labels, scores[:, :2]),
    [[(0, 0.5), (1, 0.25)], [(0, 1.0)]],
    {"indices": best_labels, "scores": scores[:, :2]},
):
    scored(truth, y_pred, [0.5, 0.5, 1.0])
um.evaluate(truth, {"a": ranked, "b": ranked[::-1]}, n_labels=3)
scored(truth, ranked, np.full(3, 0.5))
scored(truth, ranked, [p, um.Propensities([0.5, 0.5, 0.5], origin="guess")])
for rate in ("2/3", (2, 3), 0.5, [0.5, 0.5, 0.5], np.full(3, 0.5)):
    um.evaluate(truth, ranked, rate=rate, n_labels=3)

# ... and none that they do not. An unused 'ignore' is an error of mypy, so each line shows that the call is rejected.
if TYPE_CHECKING:
    um.precision("labels.txt", ranked)  # type: ignore[arg-type]
    um.precision(truth, 0.5)  # type: ignore[call-overload]
    um.precision(truth, ranked, k="5")  # type: ignore[arg-type]
    um.precision(truth, ranked, k=1.5)  # type: ignore[call-overload]
    um.precision(truth, ranked, beta=2.0)  # type: ignore[call-overload]
    um.precision(truth, ranked, estimator=3)  # type: ignore[call-overload]
    um.precision([["a"], ["b"]], ranked)  # type: ignore[list-item]
    um.precision(truth, ranked, threads=2)  # type: ignore[call-overload]
    um.evaluate(3, ranked)  # type: ignore[arg-type]
    um.evaluate(truth, "predictions.txt")  # type: ignore[arg-type]
    um.evaluate(truth, ranked, propensity=0.5)  # type: ignore[arg-type]
    um.evaluate(truth, ranked, rate=[("a", "b")])  # type: ignore[list-item]
    um.evaluate(truth, ranked, groups=3)  # type: ignore[arg-type]
    um.evaluate(truth, ranked, weights=3)  # type: ignore[arg-type]
    um.evaluate(truth, ranked, label_counts="many")  # type: ignore[arg-type]
    um.evaluate(truth, ranked, metric="precision")  # type: ignore[call-arg]
    um.audit(truth, ranked, train="train.txt")  # type: ignore[arg-type]
    um.propensities(train, 0.5)  # type: ignore[arg-type]
    um.fit_propensity("power", train=train, controlled=0.5)  # type: ignore[arg-type]
    um.estimate_propensity("hierarchy", train=train, hierarchy=3)  # type: ignore[arg-type]
    um.read(3)  # type: ignore[arg-type]
    um.write("x.txt", "labels")  # type: ignore[arg-type]
    um.TopK("labels")  # type: ignore[arg-type]
    um.Propensities("jpv")  # type: ignore[arg-type]
    um.OneVsRest(loss=3)  # type: ignore[arg-type]
    um.OneVsRest(tolerance=0.1)  # type: ignore[call-arg]
    um.OneVsRest(propensity=0.5)  # type: ignore[arg-type]
    um.OneVsRest().fit(3, truth)  # type: ignore[arg-type]
    um.OneVsRest().predict_top_k(scores, k="all")  # type: ignore[arg-type]
    um.scorer("precision@1", propensity=0.5)  # type: ignore[arg-type]
    wrong: str = um.precision(truth, ranked, k=1)  # type: ignore[assignment]
