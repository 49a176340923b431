"""What tests share: data sets that are small, and the shared golden cases when they are there."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import pytest
import scipy.sparse as sp

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT.parent / "shared" / "golden"


class Case:
    """A golden case: files, and the values that others got for them."""

    def __init__(self, name: str) -> None:
        self.folder = GOLDEN / name
        if not self.folder.is_dir():
            pytest.skip(f"{self.folder} is not there")
        self.expected = json.loads((self.folder / "expected.json").read_text())
        self.peers = json.loads((self.folder / "peers.json").read_text())

    def path(self, name: str) -> pathlib.Path:
        return self.folder / f"{name}.txt"


@pytest.fixture(params=["case1", "case2"])
def golden(request: pytest.FixtureRequest) -> Case:
    return Case(request.param)


@pytest.fixture(scope="session")
def small():
    """Truth, scores without ties, and training labels."""
    rng = np.random.default_rng(3)
    truth = sp.random(60, 25, density=0.12, format="csr", random_state=1, dtype=np.float32)
    truth.data[:] = 1
    train = sp.random(200, 25, density=0.1, format="csr", random_state=2, dtype=np.float32)
    train.data[:] = 1
    scores = sp.csr_matrix(rng.permutation(60 * 25).reshape(60, 25).astype(np.float32) / 1500 + 1)
    return truth, scores, train
