"""Losses and tensors of PyTorch."""

import copy
import pickle

import numpy as np
import pyarrow
import pytest
import scipy.sparse as sp
import torch

import unmissed as um
from unmissed import _core
from unmissed import torch as ut
from unmissed._registry import names

LOSSES = [name for name in names("losses")]
DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])


def case(rows=7, labels=9, seed=1):
    rng = np.random.default_rng(seed)
    logits = torch.tensor(rng.normal(0, 3, (rows, labels)))
    positives = [sorted(rng.choice(labels, rng.integers(0, 4), replace=False).tolist()) for _ in range(rows)]
    p = torch.tensor(rng.uniform(0.1, 1, labels))
    return logits, positives, p


def by_hand(name, logits, positives, p, w):
    value, gradient = 0.0, np.zeros(logits.shape)
    for row in range(logits.shape[0]):
        for label in range(logits.shape[1]):
            propensity = p[row, label] if p.dim() == 2 else p[label]
            at = _core.loss_at(name, float(logits[row, label]), label in positives[row], float(propensity))
            value += float(w[label]) * at[0]
            gradient[row, label] = float(w[label]) * at[1]
    return value, gradient


@pytest.mark.parametrize("name", [name for name in LOSSES if name != "nonnegative-logistic"])
@pytest.mark.parametrize("row_dependent", [False, True])
def test_values_and_gradients_are_those_of_the_library(name, row_dependent):
    logits, positives, p = case()
    if row_dependent:
        p = torch.tensor(np.random.default_rng(4).uniform(0.1, 1, logits.shape))
    for w in (torch.ones(9), torch.linspace(0.5, 2, 9)):
        wanted, gradient = by_hand(name, logits, positives, p, w)
        z = logits.clone().requires_grad_()
        value = ut.corrected_loss(z, positives, loss=name, propensity=p, weights=w, reduction="sum")
        value.backward()
        assert value.item() == pytest.approx(wanted, rel=1e-12)
        assert np.allclose(z.grad.numpy(), gradient, rtol=1e-10, atol=1e-13)
        rows = ut.corrected_loss(z, positives, loss=name, propensity=p, weights=w, reduction="none")
        assert rows.shape == (7,) and rows.sum().item() == pytest.approx(wanted, rel=1e-12)
        assert ut.corrected_loss(z, positives, loss=name, propensity=p, weights=w).item() == pytest.approx(wanted / 63, rel=1e-12)


def test_the_registry_is_complete():
    assert set(LOSSES) == set(ut._UNOBSERVED)
    for name in LOSSES:
        module = getattr(ut, "".join(part.capitalize() for part in name.split("-")))(propensity=[0.5, 1.0])
        logits = torch.zeros(2, 2)
        assert module(logits, [[0], []]) == ut.corrected_loss(logits, [[0], []], loss=name, propensity=[0.5, 1.0])
        assert name in repr(module) and "propensity" in module.state_dict()


def test_the_nonnegative_loss_has_a_floor():
    logits, positives, p = case()
    unbiased = ut.corrected_loss(logits, positives, loss="unbiased-logistic", propensity=p, reduction="sum")
    nonnegative = ut.corrected_loss(logits, positives, loss="nonnegative-logistic", propensity=p, reduction="sum")
    assert nonnegative > unbiased
    large = logits * 0 + 30
    assert ut.corrected_loss(large, [list(range(9))] * 7, loss="nonnegative-logistic", propensity=p, reduction="sum") >= 0
    assert ut.corrected_loss(logits, positives, loss="nonnegative-logistic").item() == pytest.approx(
        ut.corrected_loss(logits, positives, loss="logistic").item(), rel=1e-12
    )


def test_the_nonnegative_loss_is_that_of_its_parts():
    rng = np.random.default_rng(7)
    logits = torch.tensor(rng.normal(0, 2, (12, 9)))
    positives = [sorted(rng.choice(9, rng.integers(0, 4), replace=False).tolist()) for _ in range(12)]
    p, w = torch.linspace(0.05, 1, 9, dtype=torch.float64), torch.linspace(0.5, 2, 9, dtype=torch.float64)
    relevant, irrelevant, slopes = np.zeros(9), np.zeros(9), np.zeros((12, 9))
    for row in range(12):
        for label in range(9):
            z, one = float(logits[row, label]), float(p[label])
            observed, unobserved = _core.loss_at("logistic", z, True, 1.0), _core.loss_at("logistic", z, False, 1.0)
            share = 1 / one if label in positives[row] else 0.0
            relevant[label] += share * observed[0]
            irrelevant[label] += (1 - share) * unobserved[0]
            slopes[row, label] = share * observed[1]
    below = irrelevant < 0
    assert 2 <= below.sum() <= 7, "labels on both sides of the floor"
    z = logits.clone().requires_grad_()
    value = ut.corrected_loss(z, positives, loss="nonnegative-logistic", propensity=p, weights=w, reduction="sum")
    assert value.item() == pytest.approx(float((w.numpy() * (relevant + irrelevant.clip(0))).sum()), rel=1e-12)
    value.backward()
    # Below the floor only the part of relevant pairs has a gradient.
    assert np.allclose(z.grad.numpy()[:, below], (w.numpy() * slopes)[:, below], rtol=1e-10, atol=1e-13)
    unbiased = by_hand("unbiased-logistic", logits, positives, p, w)[1]
    assert np.allclose(z.grad.numpy()[:, ~below], unbiased[:, ~below], rtol=1e-10, atol=1e-13)


def test_modules_keep_single_precision_and_the_values_that_were_given():
    logits, positives, p = case()
    w = torch.linspace(0.5, 2, 9, dtype=torch.float64)
    loss = ut.PluginLogistic(propensity=p, weights=w, reduction="sum")
    # Some devices have no double precision; half precision would round propensities.
    for module in (loss, copy.deepcopy(loss).half(), copy.deepcopy(loss).bfloat16(), copy.deepcopy(loss).double(), copy.deepcopy(loss).to("cpu")):
        assert all(buffer.dtype == torch.float32 for buffer in module.buffers()) and len(list(module.buffers())) == 2
        assert module(logits, positives) == ut.corrected_loss(logits, positives, loss="plugin-logistic", propensity=p, weights=w, reduction="sum")
        single = ut.corrected_loss(logits.float(), positives, loss="plugin-logistic", propensity=p.float(), weights=w.float(), reduction="sum")
        assert module(logits.float(), positives) == single == pickle.loads(pickle.dumps(module))(logits.float(), positives)
    assert torch.autograd.gradcheck(lambda z: loss(z, positives), (logits.clone().requires_grad_(),))
    # A state that was loaded counts, not what the module was made with.
    other = ut.PluginLogistic(propensity=torch.ones(9), weights=w, reduction="sum")
    loss.load_state_dict(other.state_dict())
    assert loss(logits, positives).item() == pytest.approx(other(logits, positives).item())
    assert loss.to("meta").propensity.is_meta


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_pass_gradcheck(name):
    logits, positives, p = case(4, 5)
    z = logits.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda z: ut.corrected_loss(z, positives, loss=name, propensity=p[:5], reduction="sum"), (z,))


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_safe(name, dtype):
    # Sums of 200 000 terms do not fit into half precision, and neither do inverse propensities.
    rng = np.random.default_rng(2)
    logits = torch.tensor(rng.normal(0, 4, (400, 500))).to(dtype)
    positives = [[int(row) % 500] for row in range(400)]
    p = torch.full((500,), 1e-3)
    z = logits.clone().requires_grad_()
    value = ut.corrected_loss(z, positives, loss=name, propensity=p, reduction="sum")
    wanted = ut.corrected_loss(logits.double(), positives, loss=name, propensity=p.double(), reduction="sum")
    assert value.dtype == torch.float32 and value.item() == pytest.approx(wanted.item(), rel=1e-4)
    value.backward()
    assert torch.isfinite(z.grad).all()
    extreme = torch.tensor([[60000.0, -60000.0]], dtype=dtype, requires_grad=True)
    if "squared" not in name:
        ut.corrected_loss(extreme, [[0]], loss=name, propensity=[0.5, 1.0]).backward()
        assert torch.isfinite(extreme.grad).all()


@pytest.mark.parametrize("device", DEVICES)
def test_positives_come_in_three_forms(device):
    logits, positives, p = case()
    logits = logits.to(device)
    wanted = ut.corrected_loss(logits, positives, propensity=p)
    most = max(map(len, positives))
    padded = torch.tensor([row + [-1] * (most - len(row)) for row in positives], device=device)
    rows = torch.tensor([row for row, found in enumerate(positives) for _ in found], device=device)
    labels = torch.tensor([label for found in positives for label in found], device=device)
    for given in (padded, (rows, labels)):
        assert ut.corrected_loss(logits, given, propensity=p) == wanted
    pairs = p.to(device)[labels]
    assert ut.corrected_loss(logits, (rows, labels), pair_propensity=pairs) == wanted
    module = ut.UnbiasedLogistic(propensity=p).to(device)
    assert module(logits, padded) == wanted
    assert module(logits, (rows, labels), pair_propensity=pairs) == wanted


def test_mistakes_are_located():
    logits, positives, p = case()
    loss = ut.corrected_loss
    for arguments, message in [
        (dict(positives=[[9]] + positives[1:]), "positive pair 0: the label is out of range: expected 0 to 8, found 9"),
        (dict(positives=[[1, 1]] + [[]] * 6), "row 0: label 1 occurs twice"),
        (dict(positives=positives[1:]), "another number of rows"),
        (dict(positives=torch.zeros(7, 2)), "whole numbers"),
        (dict(positives=positives, propensity=p[1:]), "propensities do not fit"),
        (dict(positives=positives, propensity=p * 0), "a propensity is out of range"),
        (dict(positives=positives, weights=[1.0]), "weights do not fit"),
        (dict(positives=positives, loss="nothing"), "unknown loss"),
        (dict(positives=positives, reduction="all"), "unknown reduction"),
        (dict(positives=positives, loss="plugin-logistic", pair_propensity=p), "needs the propensities of all pairs"),
        (dict(positives=positives, pair_propensity=p[:2]), "pair_propensity does not fit"),
        (dict(positives=positives, loss="nonnegative-logistic", reduction="none"), "not a sum over rows"),
    ]:
        with pytest.raises(ValueError, match=message):
            loss(logits, **arguments)


@pytest.fixture(params=["taken whole", "selected by torch", "as on a GPU"])
def way(request, monkeypatch):
    """Tensors in the computer's own memory are taken whole if they are small, those of a GPU never."""
    from unmissed import _batches

    if request.param == "selected by torch":
        monkeypatch.setattr(_batches, "MOST_WHOLE", 0)
    if request.param == "as on a GPU":
        monkeypatch.setattr(_batches, "OF_HOST", ())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_tensors_are_evaluated_as_arrays_are(device, dtype, way):
    rng = np.random.default_rng(5)
    y = (rng.random((300, 40)) < 0.1).astype(np.int8)
    # Many ties, also at the end of the list.
    scores = torch.tensor(rng.integers(0, 12, (300, 40)) / 8 + y * 0.5).to(dtype)
    wanted = um.evaluate(y, scores.double().numpy().astype(np.float32), k=(1, 3, 7)).to_dict()
    evaluator = um.Evaluator(40, k=(1, 3, 7))
    for start in range(0, 300, 64):
        batch = scores[start : start + 64].to(device)
        evaluator.update(torch.tensor(y[start : start + 64]).to(device), batch.requires_grad_())
    assert evaluator.compute().to_dict() == wanted
    assert evaluator.reset().update(sp.csr_matrix(y), scores).compute().to_dict() == wanted
    best = torch.topk(torch.tensor(rng.random((300, 40))), 7)
    given = um.Evaluator(40).update(y, (best.indices, best.values)).compute().to_dict()
    assert given == um.evaluate(y, (best.indices.numpy(), best.values.numpy())).to_dict()
    assert um.Evaluator(40).update(y, best.indices).compute().to_dict()["rows"] == given["rows"]


@pytest.mark.parametrize("device", DEVICES)
def test_ignored_pairs_do_not_shorten_the_lists_of_tensors(device, way, tmp_path):
    rng = np.random.default_rng(6)
    y = (rng.random((50, 30)) < 0.2).astype(np.int8)
    scores = torch.tensor(rng.random((50, 30)).astype(np.float32))
    # The best labels of most rows may not be predicted.
    pairs = [(row, int(label)) for row in range(50) for label in torch.topk(scores[row], row % 6).indices]
    (tmp_path / "ignored.txt").write_text("".join(f"{row} {label}\n" for row, label in pairs))
    wanted = um.evaluate(y, scores.numpy(), ignore=pairs).to_dict()["rows"]
    for ignore in (pairs, tmp_path / "ignored.txt"):
        assert um.Evaluator(30).update(y, scores.to(device), ignore=ignore).compute().to_dict()["rows"] == wanted


@pytest.mark.parametrize("device", DEVICES)
def test_numbers_that_are_none_are_located(device, way):
    y = torch.eye(3, device=device)
    scores = torch.rand(3, 3, device=device)
    evaluator = um.Evaluator(3, k=1)
    for wrong in (float("nan"), float("inf")):
        broken = scores.clone()
        broken[1, 2] = wrong
        with pytest.raises(ValueError, match="y_pred, row 1: the score of label 2 is not finite"):
            evaluator.update(y, broken)
    masked = scores.clone()
    masked[:, 0] = -float("inf")
    assert um.Evaluator(3, k=3).update(y, masked).compute().value("recall", 3) == pytest.approx(2 / 3)
    for truth, predicted, message in [
        (y, scores[:, :2], "another number of labels: expected 3, found 2"),
        (y[0], scores, "wrong shape"),
        (-y, scores, "row 0: a label must be 1 or 0"),
        (y * float("nan"), scores, "row 0"),
        (y[:2], scores, "another number of rows"),
    ]:
        with pytest.raises(ValueError, match=message):
            evaluator.update(truth, predicted)
    assert evaluator.n_rows == 0


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int64, torch.float16, torch.bfloat16, torch.float64])
def test_labels_are_1_or_0_on_every_device(device, dtype, way):
    y = torch.tensor([[0, 1, 1], [1, 0, 0]]).to(device, dtype)
    scores = torch.tensor([[0.1, 0.9, 0.2], [0.2, 0.1, 0.8]], device=device)
    report = um.Evaluator(3, k=2).update(y, scores).compute()
    assert report.to_dict() == um.evaluate([[1, 2], [0]], scores.cpu().numpy(), k=2).to_dict()
    if dtype is torch.bool:
        return
    for value, found in [(2, "2"), (0.5, "0.5"), (-1, "-1")]:
        broken = y.clone()
        broken[1, 2] = value
        if dtype.is_floating_point or value == 2:
            message = rf"y_true, row 1: a label must be 1 or 0, found {found}(\.0)?"
            swapped = r"; pass \(values >= threshold\); are y_true and y_pred swapped\? y_true comes first" if value > 0 else ""
            with pytest.raises(ValueError, match=f"^{message}{swapped}$"):
                um.Evaluator(3, k=2).update(broken, scores)


@pytest.mark.parametrize("device", DEVICES)
def test_minus_infinity_is_no_prediction_in_any_form(device, way):
    y = [[0, 2], [1], [2]]
    scores = torch.tensor([[0.3, -torch.inf, -torch.inf], [-torch.inf] * 3, [0.1, -torch.inf, 0.4]], device=device)
    wanted = um.evaluate(y, [[(0, 0.3)], [], [(0, 0.1), (2, 0.4)]], k=3, n_labels=3).to_dict()["rows"]
    best = torch.topk(scores, 3)
    columns = pyarrow.array(best.indices.tolist()), pyarrow.array(best.values.tolist(), pyarrow.list_(pyarrow.float32()))
    for given in (scores, scores.double(), (best.indices, best.values), columns):
        assert um.Evaluator(3, k=3).update(y, given).compute().to_dict()["rows"] == wanted


def test_the_example_says_what_its_correction_is_worth(tmp_path, capsys, monkeypatch):
    import runpy
    import sys
    from pathlib import Path

    data = um.datasets.balls(train_rows=300, test_rows=100, labels=12, dim=5)
    um.write(tmp_path / "balls_train.txt", data.train)
    um.write(tmp_path / "balls_test.txt", data.test)
    um.Propensities(np.full(12, 0.9)).write(tmp_path / "measured.csv")
    example = Path(__file__).parents[1] / "examples" / "torch_missing_labels.py"
    # Nothing is missing from these labels, so propensities of a few percent are impossible.
    for propensity, is_assumed, is_impossible in [("jpv", True, None), ("constant:p=0.02", True, True), (f"table:{tmp_path / 'measured.csv'}", False, False)]:
        monkeypatch.setattr(sys, "argv", [str(example), str(tmp_path), "--epochs", "2", "--hidden", "8", "--propensity", propensity])
        runpy.run_path(str(example), run_name="__main__")
        printed = capsys.readouterr().out
        assert "corrected" in printed
        assert ("an assumption, unless it was fitted" in printed) == is_assumed
        assert is_impossible is None or ("do not use the corrected network" in printed) == is_impossible
