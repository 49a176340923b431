"""Metrics within torchmetrics, on one process and on two."""

import os
import pickle

import numpy as np
import pytest
import torch
import torch.distributed
import torch.multiprocessing
import torchmetrics

import unmissed as um
from unmissed import torchmetrics as metrics
from unmissed._registry import names

N, M = 240, 15


def data():
    rng = np.random.default_rng(8)
    y = (rng.random((N, M)) < 0.2).astype(np.int64)
    train = (rng.random((100, M)) < 0.2).astype(np.int64)
    return torch.tensor(y), torch.tensor(rng.random((N, M), dtype=np.float32) + 0.4 * y.astype(np.float32)), train


def test_values_are_those_of_evaluate():
    y, scores, train = data()
    report = um.evaluate(y.numpy(), scores.numpy(), train=train, propensity="jpv", k=(1, 3))
    single = metrics.Precision(n_labels=M, k=3)
    several = metrics.NDCG(n_labels=M, k=(1, 3), estimator="normalized", train=train, propensity="jpv")
    macro = metrics.MacroF(n_labels=M, k=3)
    for start in range(0, N, 50):
        batch = scores[start : start + 50], y[start : start + 50]
        value = single(*batch)
        assert value == pytest.approx(um.precision(batch[1].numpy(), batch[0].numpy(), k=3))
        several.update(*batch)
        macro.update(*batch)
    assert single.compute().item() == pytest.approx(report.value("precision", 3))
    wanted = [report.value("ndcg", k, "normalized") for k in (1, 3)]
    assert torch.allclose(several.compute(), torch.tensor(wanted))
    found = macro.report()
    assert found.rows[0].se == next(row.se for row in report.rows if (row.metric, row.k, row.estimator) == ("macro-f", 3, "observed"))
    copied = pickle.loads(pickle.dumps(single))
    assert copied.compute() == single.compute()
    single.reset()
    assert single.update(scores[:5], y[:5]) is None and single.report().rows[0].n == 5


@pytest.mark.parametrize("cloned", [False, True])
def test_metrics_of_a_collection_all_see_every_batch(cloned):
    # A collection takes metrics whose states are equal for one, and updates the first of them only.
    y, scores, train = data()
    makers = {
        "precision": lambda: metrics.Precision(n_labels=M, k=1),
        "recall": lambda: metrics.Recall(n_labels=M, k=3),
        "corrected": lambda: metrics.Precision(n_labels=M, k=1, estimator="unbiased", train=train, propensity="jpv"),
    }
    together = torchmetrics.MetricCollection({name: make() for name, make in makers.items()})
    together = together.clone() if cloned else together
    alone = {name: make() for name, make in makers.items()}
    for start in (0, 50, 100):
        batch = scores[start : start + 50], y[start : start + 50]
        together.update(*batch)
        for one in alone.values():
            one.update(*batch)
    assert together.compute() == {name: one.compute() for name, one in alone.items()}
    copied = together.clone()
    copied.update(scores[150:], y[150:])
    assert [one.report().rows[0].n for one in copied.values()] == [N] * 3
    assert [one.report().rows[0].n for one in together.values()] == [150] * 3


def test_metrics_merge():
    y, scores, _ = data()
    one, other = (metrics.Precision(n_labels=M, k=1) for _ in range(2))
    one.update(scores[:100], y[:100])
    one.compute()
    other.update(scores[100:], y[100:])
    one.merge_state(other)
    assert one.compute() == pytest.approx(um.precision(y.numpy(), scores.numpy(), k=1))
    with pytest.raises(ValueError, match="expected a metric of unmissed, found dict"):
        one.merge_state({})
    with pytest.raises(ValueError, match="not parts of the same evaluation"):
        another = metrics.Precision(n_labels=M, k=2)
        another.update(scores, y)
        one.merge_state(another)


def test_every_metric_has_a_class():
    y, scores, train = data()
    for name in names("metrics"):
        title = metrics._CAPITALS.get(name, "".join(part.capitalize() for part in name.split("-")))
        made = getattr(metrics, title)
        assert title in metrics.__all__ and issubclass(made, metrics.UnmissedMetric)
    assert metrics.WeightedPrecision(n_labels=M, weights=np.ones(M)).higher_is_better
    assert not metrics.Abandonment(n_labels=M).higher_is_better


def test_mistakes_are_explained_in_the_words_of_torchmetrics():
    y, scores, train = data()
    broken = scores[:3].clone()
    broken[1, 2] = torch.nan
    for preds, target, message in [
        (y[:3], scores[:3], "target, row 0: a label must be 1 or 0.*preds come first"),
        (scores[:2], y[:3], "preds has another number of rows than target: expected 3, found 2"),
        (scores[:3, :4], y[:3, :4], "target has another number of labels"),
        (scores[0], y[0], "target has the wrong shape"),
        (broken, y[:3], "preds, row 1: the score of label 2 is not finite"),
        ({"a": scores[:3]}, y[:3], "expected the scores of one model"),
    ]:
        metric = metrics.Precision(n_labels=M, k=1)
        with pytest.raises(ValueError, match=message):
            metric.update(preds, target)
    with pytest.raises(ValueError, match="expected one propensity model, found several"):
        metrics.Precision(n_labels=M, estimator="unbiased", train=train, propensity=["jpv", "power"])
    with pytest.raises(TypeError, match="Precision.__init__"):
        metrics.Precision()


def work(rank, path, results):
    os.environ.update(MASTER_ADDR="127.0.0.1", UNMISSED_THREADS="1")
    torch.distributed.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=2)
    y, scores, train = data()
    made = metrics.MacroF(n_labels=M, k=3, train=train)
    precision = metrics.Precision(n_labels=M, k=(1, 3), estimator="unbiased", train=train, propensity="jpv")
    # As a sampler deals rows out: every other row, in batches of other sizes.
    mine = torch.arange(rank, N, 2)
    for part in torch.split(mine, 40 if rank else 25):
        made.update(scores[part], y[part], rows=part.numpy())
        precision.update(scores[part], y[part])
    values = [made.compute().item(), *precision.compute().tolist()]
    # After a result the process goes on with its own rows.
    again = [made.compute().item(), *precision.compute().tolist()]
    local = made.report().rows[0].n
    with made.sync_context():
        everywhere = made.report().rows[0].n
    torch.save((values, again, (local, everywhere, made.report().rows[0].n)), f"{results}.{rank}")
    torch.distributed.destroy_process_group()


def test_two_processes_give_what_one_gives(tmp_path):
    torch.multiprocessing.spawn(work, (str(tmp_path / "meeting"), str(tmp_path / "result")), nprocs=2)
    y, scores, train = data()
    report = um.evaluate(y.numpy(), scores.numpy(), train=train, propensity="jpv", k=(1, 3))
    wanted = [report.value("macro-f", 3)] + [report.value("precision", k, "unbiased") for k in (1, 3)]
    for rank in range(2):
        values, again, counts = torch.load(tmp_path / f"result.{rank}")
        assert torch.allclose(torch.tensor(values), torch.tensor(wanted)) and again == values and counts == (N // 2, N, N // 2)
