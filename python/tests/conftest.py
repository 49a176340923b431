"""What tests share: small data sets, golden cases, and real data where they are there."""

from __future__ import annotations

import json
import os
import pathlib
import re

import numpy as np
import pytest
import scipy.sparse as sp

ROOT = pathlib.Path(__file__).resolve().parents[2]


def data(name: str) -> pathlib.Path:
    """The folder of a real data set: where `UNMISSED_DATA` says, or beside the checkout. Without it the test is skipped."""
    given = os.environ.get("UNMISSED_DATA")
    path = (ROOT / given if given else ROOT.parent / "shared" / "data") / name
    if not path.is_dir():
        place = "in the folder of UNMISSED_DATA" if given else "beside the checkout, and UNMISSED_DATA is not set"
        pytest.skip(f"no data set '{name}' {place} (see scripts/data/README.md)")
    return path


#: Small data, and the values that independent implementations have for them.
GOLDEN = ROOT / "crates" / "unmissed" / "tests" / "fixtures" / "golden"


class Case:
    """A golden case: files, and the values that others got for them."""

    def __init__(self, name: str) -> None:
        self.folder = GOLDEN / name
        self.expected = json.loads((self.folder / "expected.json").read_text())
        self.peers = json.loads((self.folder / "peers.json").read_text())

    def path(self, name: str) -> pathlib.Path:
        return self.folder / f"{name}.txt"


def run_page(page: str) -> None:
    """Runs all blocks of Python on a page, one after the other, in the current folder."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert blocks
    exec(compile("\n".join(blocks), page, "exec"), {"__name__": "page"})


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
