"""Trains a small network with and without correction for missing labels, and audits both.

    pip install 'unmissed[torch]' scikit-learn
    python torch_missing_labels.py DATA/bibtex                  # bibtex_train.txt, bibtex_test.txt
    python torch_missing_labels.py DATA/debian --epochs 3 --hidden 128

Propensities that are assumed and not measured can make the corrected network much worse: look at U001 of the audit before you use it.
"""

import argparse
import pathlib

import numpy as np
import torch
from torch import nn

import unmissed as um
from unmissed.torch import Logistic, PluginLogistic


class Network(nn.Module):
    """One hidden layer over sparse rows: only the weights of features that occur in a batch are touched."""

    def __init__(self, features: int, prior: np.ndarray, hidden: int) -> None:
        super().__init__()
        self.first = nn.EmbeddingBag(features, hidden, mode="sum", sparse=True)
        self.rest = nn.Sequential(nn.ReLU(), nn.Dropout(0.3), nn.Linear(hidden, len(prior)))
        nn.init.uniform_(self.first.weight, -(features**-0.5), features**-0.5)
        # Starts where every label is as likely as it is frequent.
        self.rest[-1].bias.data = torch.tensor(np.log(prior / (1 - prior)), dtype=torch.float32)

    def forward(self, rows) -> torch.Tensor:
        indices, starts, values = (torch.from_numpy(part) for part in (rows.indices, rows.indptr[:-1], rows.data))
        return self.rest(self.first(indices, starts, per_sample_weights=values))


def train(data: um.Data, loss: nn.Module, epochs: int, hidden: int) -> nn.Module:
    torch.manual_seed(0)
    (rows, features), labels = data.X.shape, data.y.shape[1]
    model = Network(features, np.clip(np.asarray(data.y.mean(0)).ravel(), 1e-5, 0.5), hidden)
    optimizers = [torch.optim.SparseAdam(model.first.parameters(), lr=3e-3), torch.optim.Adam(model.rest.parameters(), lr=3e-3)]
    for epoch in range(epochs):
        model.train()
        for batch in np.array_split(np.random.default_rng(epoch).permutation(rows), rows // 128 + 1):
            observed = data.y[batch].tocoo()
            loss(model(data.X[batch]), (torch.from_numpy(observed.row), torch.from_numpy(observed.col))).mul(labels).backward()
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad()
    return model.eval()


def top(model: nn.Module, data: um.Data, k: int) -> um.TopK:
    with torch.no_grad():
        parts = [torch.topk(model(data.X[at : at + 1024]), k) for at in range(0, data.X.shape[0], 1024)]
    return um.TopK(torch.cat([p.indices for p in parts]).numpy(), torch.cat([p.values for p in parts]).numpy(), data.y.shape[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--propensity", default="jpv")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--hidden", type=int, default=256)
    given = parser.parse_args()
    data, test = (um.read(min(given.folder.glob(f"*{part}.txt"), key=lambda path: len(path.name))) for part in ("train", "test"))
    propensity = um.propensities(data.y, given.propensity)
    losses = {"observed": Logistic(), "corrected": PluginLogistic(propensity=propensity)}
    models = {name: train(data, loss, given.epochs, given.hidden) for name, loss in losses.items()}
    predictions = {name: top(model, test, 5) for name, model in models.items()}
    audit = um.audit(test.y, predictions, train=data.y, propensity=given.propensity, k=(1, 3, 5), name=given.folder.name)
    print(audit)
    if not given.propensity.startswith("table:"):
        print(f"\nThe propensities are the curve {propensity.origin}: an assumption, unless it was fitted to evidence about these data.")
    if any(finding.code == "U001" for finding in audit.findings):
        print(f"{propensity.origin} contradicts these data (U001): do not use the corrected network.")


if __name__ == "__main__":
    main()
