"""Judged pairs from Python."""

import csv

import numpy as np
import pytest

import unmissed as um


@pytest.fixture(scope="module")
def world():
    data = um.datasets.survey(users=300, test_users=120, controlled_users=20, items=40, random_state=3)
    rng = np.random.default_rng(1)
    truth = data.test_clean.y.toarray()
    models = {name: truth * 0.5 + rng.random(truth.shape) for name in ("a", "b")}
    return data.test.y, truth, models


def said(plan, truth):
    return [int(truth[pair["row"], pair["label"]]) for pair in plan.pairs]


def judged_rows(report):
    return {(row.k, row.model): row for row in report.rows if row.estimator == "judged" and row.metric == "precision"}


def test_a_plan_is_drawn_judged_and_evaluated(world, tmp_path):
    observed, truth, models = world
    plan = um.annotation_plan(observed, models, budget=150, wanted=0.05, random_state=2, label_names=[f"item {j}" for j in range(40)])
    assert len(plan.pairs) == 150 and sum(one["drawn"] for one in plan.strata) == 150
    assert all(0 < pair["probability"] <= 1 for pair in plan.pairs)
    assert {one["k"] for one in plan.expected} == {1, 3, 5} and all(one["budget"] > 0 for one in plan.expected)
    report = um.evaluate(observed, models, judged=plan.judge(said(plan, truth)), interval="mask")
    rows = judged_rows(report)
    for (k, model), row in rows.items():
        complete = um.precision(truth, models[model], k=k)
        assert row.low - 0.05 <= complete <= row.high + 0.05
    plan.write(tmp_path / "plan", name="survey", machine=True)
    names = sorted(path.name for path in (tmp_path / "plan").iterdir())
    assert names == ["judge.html", "machine.csv", "pairs.csv", "plan.json.zst"]
    with pytest.raises(ValueError, match="already exists, and may hold judgements"):
        plan.write(tmp_path / "plan")
    path = tmp_path / "plan" / "pairs.csv"
    lines = list(csv.DictReader(path.open()))
    for line in lines:
        line["relevant"] = int(truth[int(line["row"]), int(line["label"])])
    with path.open("w", newline="") as out:
        writer = csv.DictWriter(out, lines[0].keys())
        writer.writeheader()
        writer.writerows(lines)
    from_file = judged_rows(um.evaluate(observed, models, judged=path, interval="mask"))
    assert from_file == rows
    second = um.annotation_plan(observed, models, budget=60, earlier=path)
    assert second.round == 2 and not {(p["row"], p["label"]) for p in second.pairs} & {(p["row"], p["label"]) for p in plan.pairs}


def test_machines_and_audits_take_judged_pairs(world):
    observed, truth, models = world
    plan = um.annotation_plan(observed, models, budget=100)
    judged = plan.judge(said(plan, truth))
    machine = {(row, label): float(truth[row, label]) for row, label in np.ndindex(truth.shape)}
    alone = judged_rows(um.evaluate(observed, models, judged=judged, interval="mask"))
    report = um.evaluate(observed, models, judged=judged, machine_judged=machine, interval="mask")
    assert all(row.high - row.low < alone[key].high - alone[key].low for key, row in judged_rows(report).items())
    assert any(note.startswith("machine: judged 4800 pairs") for note in report.notes)
    found = um.audit(observed, models, judged=judged)
    assert judged_rows(found.report)


def test_propensities_come_from_judged_pairs(world):
    observed, truth, models = world
    plan = um.annotation_plan(observed, models, budget=400)
    found = um.estimate_propensity("judged", train=observed, judged=plan.judge(said(plan, truth)), shrink=True)
    assert len(found.values) == 40 and found.values.min() > 0
    with pytest.raises(ValueError, match="pass judged="):
        um.estimate_propensity("judged", train=observed)


def test_what_cannot_be_read_is_named(world):
    observed, truth, models = world
    plan = um.annotation_plan(observed, models, budget=20)
    with pytest.raises(ValueError, match="judgement 1 cannot be read: expected 1, 0, 'unsure' or None, found 'yes'"):
        plan.judge([1, "yes"])
    with pytest.raises(ValueError, match="the judgements are not those of the plan: expected 20, one for each pair, found 1"):
        um.evaluate(observed, models, judged=plan.judge([1]))
    with pytest.raises(ValueError, match="pass judged="):
        um.evaluate(observed, models, machine_judged={(0, 0): 1.0})
    with pytest.raises(ValueError, match="the budget is too small"):
        um.annotation_plan(observed, models, budget=1)
