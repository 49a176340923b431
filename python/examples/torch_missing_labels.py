"""Trains a small network with and without correction for missing labels, and audits both.

    pip install 'unmissed[torch]' scikit-learn
    python torch_missing_labels.py DATA/bibtex                  # bibtex_train.txt, bibtex_test.txt
    python torch_missing_labels.py DATA/debian --propensity power
"""

import argparse
import pathlib

import numpy as np
import torch
from torch import nn

import unmissed as um
from unmissed.torch import Logistic, PluginLogistic


def train(data: um.Data, loss: nn.Module, epochs: int, hidden: int) -> nn.Module:
    torch.manual_seed(0)
    features, labels = data.X.shape[1], data.y.shape[1]
    model = nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Dropout(0.3), nn.Linear(hidden, labels))
    # Starts where every label is as likely as it is frequent.
    prior = np.clip(np.asarray(data.y.mean(0)).ravel(), 1e-5, 0.5)
    model[-1].bias.data = torch.tensor(np.log(prior / (1 - prior)), dtype=torch.float32)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-5)
    for epoch in range(epochs):
        model.train()
        for batch in np.array_split(np.random.default_rng(epoch).permutation(data.X.shape[0]), data.X.shape[0] // 128 + 1):
            rows = torch.from_numpy(data.X[batch].toarray())
            positives = [row.indices for row in data.y[batch]]
            optimizer.zero_grad()
            loss(model(rows), positives).mul(labels).backward()
            optimizer.step()
    return model.eval()


def top(model: nn.Module, data: um.Data, k: int) -> um.TopK:
    with torch.no_grad():
        parts = [torch.topk(model(torch.from_numpy(data.X[at : at + 1024].toarray())), k) for at in range(0, data.X.shape[0], 1024)]
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
    print(um.audit(test.y, predictions, train=data.y, propensity=given.propensity, k=(1, 3, 5), name=given.folder.name))


if __name__ == "__main__":
    main()
