"""Evaluation within the Trainer of Hugging Face."""

import numpy as np
import pytest
import torch
from torch import nn

import unmissed as um
from unmissed.huggingface import TrainerMetrics

transformers = pytest.importorskip("transformers")
M = 12


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, M)

    def forward(self, features, labels=None):
        logits = self.linear(features)
        dense = labels if labels.dtype == torch.float32 else torch.zeros_like(logits)
        return {"loss": nn.functional.binary_cross_entropy_with_logits(logits, dense), "logits": logits}


def rows(dense):
    rng = np.random.default_rng(3)
    features = rng.normal(size=(50, 6)).astype(np.float32)
    y = (rng.random((50, M)) < 0.2).astype(np.float32)
    lists = [np.flatnonzero(row).tolist() for row in y]
    most = max(map(len, lists))
    padded = np.array([row + [-100] * (most - len(row)) for row in lists])
    labels = y if dense else padded
    return features, y, [{"features": features[i], "labels": labels[i]} for i in range(50)]


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("by_batch", [False, True])
def test_the_trainer_keeps_the_best_labels_only(tmp_path, dense, by_batch):
    features, y, data = rows(dense)
    torch.manual_seed(0)
    model = Model()
    metrics = TrainerMetrics(M, k=(1, 3))
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        per_device_eval_batch_size=8,
        batch_eval_metrics=by_batch,
        report_to=[],
        use_cpu=True,
        remove_unused_columns=False,
    )
    trainer = transformers.Trainer(
        model,
        arguments,
        eval_dataset=data,
        compute_metrics=metrics.compute_metrics,
        preprocess_logits_for_metrics=metrics.preprocess_logits_for_metrics,
    )
    for _ in range(2):
        found = trainer.evaluate()
        with torch.no_grad():
            scores = model.linear(torch.tensor(features)).numpy()
        wanted = um.evaluate(y, scores, k=(1, 3)).to_flat_dict("eval_")
        assert {name: found[name] for name in wanted} == pytest.approx(wanted)
    assert metrics.report.rows[0].low is not None


def test_mistakes_are_explained():
    best = np.zeros((2, 1), np.int64), np.ones((2, 1), np.float32)
    labels = np.eye(M, dtype=np.float32)[:2]
    for predictions, label_ids, message in [
        (np.ones((2, M)), labels, "give the Trainer preprocess_logits_for_metrics"),
        (best, None, "found none; name it in TrainingArguments"),
        (best, (labels, labels), "found 2 arrays"),
        (best, np.array([[1, -100], [M, -100]]), f"labels, row 1: a label is out of range: expected a label from 0 to {M - 1}"),
        (best, labels[:1], "predictions has another number of rows than labels"),
    ]:
        prediction = transformers.EvalPrediction(predictions=predictions, label_ids=label_ids)
        with pytest.raises(ValueError, match=message):
            TrainerMetrics(M, k=1).compute_metrics(prediction)
    for logits in (torch.zeros(2, M + 1), torch.zeros(2, 3, M), {"hidden": torch.zeros(2, M)}):
        with pytest.raises(ValueError, match="the model's logits have the wrong shape"):
            TrainerMetrics(M, k=1).preprocess_logits_for_metrics(logits, None)


def test_masked_logits_are_not_predicted():
    logits = torch.tensor([[0.3, -torch.inf, -torch.inf], [-torch.inf] * 3, [0.1, -torch.inf, 0.4]])
    y = np.array([[1, 0, 1], [0, 1, 0], [0, 0, 1]], np.float32)
    metrics = TrainerMetrics(3, k=3, metrics=["recall", "precision"])
    best = metrics.preprocess_logits_for_metrics(logits, None)
    found = metrics.compute_metrics(transformers.EvalPrediction(tuple(part.numpy() for part in best), y))
    wanted = um.evaluate(y, [[(0, 0.3)], [], [(2, 0.4), (0, 0.1)]], k=3, metrics=["recall", "precision"], n_labels=3)
    assert found == wanted.to_flat_dict()
