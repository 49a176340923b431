"""Several machines: a cluster of two nodes on this one, of which one is killed."""

import os
import pathlib
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow
import pytest
import ray
import ray.data
import scipy.sparse as sp
from ray.cluster_utils import Cluster

import unmissed as um
import unmissed.ray as ur

N, M, F = 600, 70, 40


@pytest.fixture(scope="module")
def cluster():
    os.environ.setdefault("RAY_DATA_DISABLE_PROGRESS_BARS", "1")
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 150 * 2**20})
    nodes.add_node(num_cpus=1, object_store_memory=150 * 2**20)
    ray.init(address=nodes.address, log_to_driver=False)
    nodes.wait_for_nodes()
    yield nodes
    ray.shutdown()
    nodes.shutdown()


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(6)
    y = sp.csr_matrix(rng.random((N, M)) < np.linspace(0.3, 0.02, M), dtype=np.int8)
    X = sp.random(N, F, 0.2, "csr", np.float32, random_state=7)
    best = np.argsort(-(rng.random((N, M)) + 0.5 * y.toarray()), axis=1)[:, :5]
    table = pyarrow.table(
        {
            "id": np.arange(N),
            "labels": pyarrow.array([row.indices.tolist() for row in y], pyarrow.list_(pyarrow.int32())),
            "predictions": pyarrow.array(best.tolist(), pyarrow.list_(pyarrow.int32())),
        }
    )
    return X, y, best, table


def test_one_tally_from_all_blocks(cluster, data, tmp_path):
    _, y, best, table = data
    wanted = um.evaluate(y, um.TopK(best), train=y, propensity="jpv").to_dict()
    blocks = ray.data.from_arrow([table.slice(start, 50) for start in range(0, N, 50)])
    for rows in ("id", None):
        assert ur.evaluate(blocks, rows=rows, train=y, propensity="jpv").to_dict() == wanted
    # In any order, with rows that carry their numbers.
    assert ur.evaluate(blocks.random_shuffle(seed=1), rows="id", train=y, propensity="jpv").to_dict() == wanted
    with pytest.raises(Exception, match="a block of the dataset has no column 'nothing'"):
        ur.evaluate(blocks, labels="nothing", n_labels=M)
    with pytest.raises(ValueError, match="the number of labels is not known"):
        ur.evaluate(blocks)
    with pytest.raises(ValueError, match="rows is a column of its own"):
        ur.evaluate(blocks, rows="labels", n_labels=M)
    with pytest.raises(ValueError, match="expected a ray.data.Dataset, found Table"):
        ur.evaluate(table, n_labels=M)
    # A label beyond those of the problem, in one block of several.
    with pytest.raises(Exception, match="y_true, row [0-9]+: a label is out of range"):
        ur.evaluate(blocks.materialize(), n_labels=5)
    empty = ray.data.from_arrow(table.slice(0, 0)).materialize()
    with pytest.raises(ValueError, match="no rows were evaluated"):
        ur.evaluate(empty, n_labels=M)


def test_models_have_the_bytes_of_one_machine(cluster, data, tmp_path):
    X, y, _, _ = data
    parameters = {"loss": "plugin-logistic", "propensity": "jpv", "random_state": 3}
    um.OneVsRest(**parameters).fit(X, y).save(tmp_path / "one.safetensors")
    model = ur.train(X, y, tmp_path / "many.safetensors", blocks_per_task=1, **parameters)
    assert (tmp_path / "many.safetensors").read_bytes() == (tmp_path / "one.safetensors").read_bytes()
    assert not (tmp_path / "many.safetensors.partial").exists()
    top = ur.predict(model, X, 3, rows_per_task=77)
    assert (top != model.predict_top_k(X, 3)).nnz == 0


def test_an_interrupted_run_is_resumed(cluster, data, tmp_path, monkeypatch):
    X, y, _, _ = data
    from unmissed import _core

    class Failing:
        """Stops after the first block."""

        def __init__(self, run):
            self.run, self.kept = run, 0

        def __getattr__(self, name):
            return getattr(self.run, name)

        def put(self, block):
            if self.kept:
                raise KeyboardInterrupt
            self.kept += 1
            self.run.put(block)

    begin = _core.begin_blocks
    path = tmp_path / "model.safetensors"
    parameters = {"loss": "logistic", "random_state": 1}
    with monkeypatch.context() as patch:
        patch.setattr(_core, "begin_blocks", lambda *arguments: Failing(begin(*arguments)))
        with pytest.raises(KeyboardInterrupt):
            ur.train(X, y, path, blocks_per_task=1, **parameters)
    assert not path.exists()
    with pytest.raises(ValueError, match="an unfinished run left blocks here"):
        ur.train(X, y, path, **parameters)
    ur.train(X, y, path, resume=True, **parameters)
    um.OneVsRest(**parameters).fit(X, y).save(tmp_path / "one.safetensors")
    assert path.read_bytes() == (tmp_path / "one.safetensors").read_bytes()


class Slowly:
    """A run whose blocks are written slowly, so that it can be killed in the middle."""

    def __init__(self, run, seconds):
        self.run, self.seconds = run, seconds

    def __getattr__(self, name):
        return getattr(self.run, name)

    def put(self, block):
        time.sleep(self.seconds)
        self.run.put(block)


#: For `wide`, whose labels are twenty blocks.
PARAMETERS = {"loss": "logistic", "decay": 1e-3, "calibrate": False, "random_state": 2}


def wide():
    rng = np.random.default_rng(1)
    labels = sp.csr_matrix(rng.random((N, 640)) < 0.02, dtype=np.int8)
    return sp.random(N, 60, 0.3, "csr", np.float32, random_state=2), labels


def stored(path):
    """The finished blocks of a run."""
    return len(list(pathlib.Path(f"{path}.partial").glob("*.block")))


def test_a_node_that_dies_costs_its_blocks(cluster, data, tmp_path, monkeypatch):
    from unmissed import _core

    _, y, best, table = data
    X, labels = wide()
    extra = cluster.add_node(num_cpus=1, object_store_memory=150 * 2**20)
    cluster.wait_for_nodes()
    path = tmp_path / "many.safetensors"
    begin, counts = _core.begin_blocks, {}

    def slowly(*arguments):
        run = begin(*arguments)
        counts["all"] = len(run.missing())
        return Slowly(run, 0.3)

    monkeypatch.setattr(_core, "begin_blocks", slowly)

    def kill():
        # As soon as there is a block: others are in work then.
        while not stored(path):
            time.sleep(0.01)
        cluster.remove_node(extra, allow_graceful=False)
        counts["when killed"] = stored(path)

    killer = threading.Thread(target=kill)
    killer.start()
    ur.train(X, labels, path, blocks_per_task=1, **PARAMETERS)
    killer.join()
    assert 0 < counts["when killed"] < counts["all"] == 20
    um.OneVsRest(**PARAMETERS).fit(X, labels).save(tmp_path / "one.safetensors")
    assert path.read_bytes() == (tmp_path / "one.safetensors").read_bytes()
    # Ray notices a dead node by its missed heartbeats, which may be after the last block.
    deadline = time.monotonic() + 60
    while len([node for node in ray.nodes() if node["Alive"]]) > 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len([node for node in ray.nodes() if node["Alive"]]) == 2
    # What is left goes on evaluating.
    blocks = ray.data.from_arrow([table.slice(start, 100) for start in range(0, N, 100)])
    assert ur.evaluate(blocks, rows="id", n_labels=M).to_dict() == um.evaluate(y, um.TopK(best)).to_dict()


DRIVER = """
import sys
import ray
import unmissed.ray as ur
from unmissed import _core
sys.path.insert(0, sys.argv[1])
import test_ray as shared

begin = _core.begin_blocks
_core.begin_blocks = lambda *arguments: shared.Slowly(begin(*arguments), 0.3)
ray.init(address=sys.argv[2], log_to_driver=False)
ur.train(*shared.wide(), sys.argv[3], blocks_per_task=1, **shared.PARAMETERS)
"""


def test_a_driver_that_dies_costs_what_is_missing(cluster, tmp_path, monkeypatch):
    from unmissed import _core

    path = tmp_path / "many.safetensors"
    here = str(pathlib.Path(__file__).parent)
    with open(tmp_path / "messages", "w") as messages:
        driver = subprocess.Popen([sys.executable, "-c", DRIVER, here, cluster.address, str(path)], stderr=messages)
        while stored(path) < 2 and driver.poll() is None:
            time.sleep(0.01)
        driver.kill()
        driver.wait()
    left = stored(path)
    assert 2 <= left < 20 and not path.exists(), (tmp_path / "messages").read_text()
    begin, missing = _core.begin_blocks, []

    def noted(*arguments):
        run = begin(*arguments)
        missing.extend(run.missing())
        return run

    monkeypatch.setattr(_core, "begin_blocks", noted)
    X, labels = wide()
    ur.train(X, labels, path, resume=True, **PARAMETERS)
    assert len(missing) == 20 - left
    um.OneVsRest(**PARAMETERS).fit(X, labels).save(tmp_path / "one.safetensors")
    assert path.read_bytes() == (tmp_path / "one.safetensors").read_bytes()


def test_tasks_return_few_blocks():
    def each(count, labels, features, processors):
        return ur._blocks_per_task([(start, start + labels) for start in range(0, count * labels, labels)], features, processors)

    assert each(1000, 32, 100, 2) == ur.MOST_BLOCKS
    # About 64 MB: 32 labels, 50 000 features and 4 bytes each are 6.4 MB.
    assert each(1000, 32, 50_000, 2) == 10
    assert each(1000, 32, 5_000_000, 2) == 1
    # Every processor has some.
    assert each(20, 32, 100, 2) == 2 and each(3, 32, 100, 2) == 1 and each(0, 32, 100, 2) == 1


def test_a_task_that_always_dies_is_given_up(cluster, data, monkeypatch):
    X, _, _, _ = data
    assert all(task._max_retries == ur.RETRIES for task in (ur._tally, ur._merge, ur._fit, ur._predict))
    # Once is enough: workers take seconds to start.
    monkeypatch.setattr(ur, "RETRIES", 1)
    monkeypatch.setattr(ur, "_predict", ur._predict.options(max_retries=1))

    class Deadly:
        n_jobs = None

        def predict_top_k(self, *_, **__):
            os._exit(1)

    with pytest.raises(RuntimeError, match="a part of the rows could not be predicted: its worker or machine was lost 2 times"):
        ur.predict(Deadly(), X, rows_per_task=N)


def test_datasets_need_not_be_known_as_materialized(cluster, data, monkeypatch):
    _, y, best, table = data
    monkeypatch.setattr(ur, "_MATERIALIZED", ())
    blocks = ray.data.from_arrow([table.slice(start, 100) for start in range(0, N, 100)])
    assert ur.evaluate(blocks, rows="id", n_labels=M).to_dict() == um.evaluate(y, um.TopK(best)).to_dict()


def test_a_worker_that_dies_is_replaced(cluster, data, tmp_path):
    _, y, best, table = data
    path = str(tmp_path / "died")
    blocks = ray.data.from_arrow([table.slice(start, 100) for start in range(0, N, 100)])

    def once(block):
        # The first worker to come here dies.
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return block
        os._exit(1)

    dying = blocks.map_batches(once, batch_format="pyarrow", batch_size=None)
    assert ur.evaluate(dying, rows="id", n_labels=M).to_dict() == um.evaluate(y, um.TopK(best)).to_dict()
    assert os.path.exists(path)
