"""Checked by mypy --strict, and run: what a typed user of the package writes."""

from typing import assert_type

import numpy as np

import unmissed as um

train = [[0], [0, 1], [0, 2], [0]]
truth, ranked = [[0, 1], [2]], [[0, 1], [0, 2]]

value = um.precision(truth, ranked, k=1)
assert_type(value, float)
values = um.recall(truth, ranked, k=[1, 2], estimator="unbiased", propensity="jpv", train=train)
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
