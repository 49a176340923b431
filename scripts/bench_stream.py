"""What streams cost: batches against one call, memory over many rows, torchmetrics, Ray.

    python scripts/bench_stream.py batches [490000 670000]     # um.Evaluator in batches of 1 024 against um.evaluate
    python scripts/bench_stream.py long [100000000]            # rows per second and memory, blocks that repeat
    python scripts/bench_stream.py dataset [10000000]          # memory of um.evaluate_dataset over a growing Parquet folder (needs pyarrow)
    python scripts/bench_stream.py torchmetrics                # against RetrievalPrecision, 8 000 x 40 (needs torch, torchmetrics)
    python scripts/bench_stream.py ray [490000 670000]         # two nodes with one core each (needs ray)
"""

import multiprocessing
import os
import pathlib
import resource
import sys
import tempfile
import time

import numpy as np
import scipy.sparse as sp

import unmissed as um

# Ray tells its makers about every run, which takes time.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
#: About what two tallies of 670 000 labels weigh together, in halves.
NOTHING = 16 << 20
#: Training labels do not grow with the rows that are evaluated on Ray.
TRAINING_ROWS = 490_000


def matrices(rows, labels, stored, seed=1):
    """Labels with a long tail, five per row, and `stored` predictions per row that find some of them."""
    rng = np.random.default_rng(seed)

    def some(count):
        ranks = np.minimum((labels ** rng.random(rows * count) - 1).astype(np.int32), labels - 1)
        ids = np.sort(ranks.reshape(rows, count), axis=1)
        # A label comes once in a row.
        for place in range(1, count):
            ids[:, place] = np.maximum(ids[:, place], ids[:, place - 1] + 1)
        return np.minimum(ids, labels - count + np.arange(count, dtype=np.int32))

    truth, predicted = some(5), some(stored)
    y = sp.csr_matrix((np.ones(rows * 5, np.int8), truth.ravel(), np.arange(rows + 1) * 5), shape=(rows, labels))
    values = rng.random(rows * stored, dtype=np.float32)
    scores = sp.csr_matrix((values, predicted.ravel(), np.arange(rows + 1) * stored), shape=(rows, labels))
    return y, scores


def best(work, times):
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found), sorted(found)[len(found) // 2]


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def resident():
    """What is in memory now (Linux)."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def batches(rows=490_000, labels=670_000, times=3):
    y, scores = matrices(rows, labels, 100)
    parts = [(y[start : start + 1024], scores[start : start + 1024]) for start in range(0, rows, 1024)]
    for settings in ({}, {"train": y, "propensity": "jpv"}):
        evaluator = um.Evaluator(labels, **settings)
        results = []

        def stream():
            evaluator.reset()
            for part in parts:
                evaluator.update(*part)
            results.append(evaluator.compute().to_dict())

        once = best(lambda: results.append(um.evaluate(y, scores, **settings).to_dict()), times)
        streamed = best(stream, times)
        # These rows are random, which only a call with all rows remarks upon.
        assert all(result["rows"] == results[0]["rows"] for result in results), "streams give the same numbers"
        name = "jpv" if settings else "observed only"
        print(f"{name}: one call {once[0]:.3f} / {once[1]:.3f} s, batches of 1 024 {streamed[0]:.3f} / {streamed[1]:.3f} s, "
              f"ratio of the best {streamed[0] / once[0]:.2f}")


def long(rows=100_000_000):
    block, labels = 100_000, 100_000
    y, scores = matrices(block, labels, 10)
    evaluator = um.Evaluator(labels, train=y, propensity="jpv", metrics=["precision", "ndcg", "macro-f", "coverage"])
    parts = [(y[start : start + 10_000], scores[start : start + 10_000]) for start in range(0, block, 10_000)]
    start = time.perf_counter()
    done = 0
    marks = {step * 10**power for power in range(6, 10) for step in (1, 2, 5)}
    while done < rows:
        for part in parts:
            evaluator.update(*part)
            done += part[0].shape[0]
        if done in marks or done >= rows:
            seconds = time.perf_counter() - start
            print(f"{done:>13,} rows: {done / seconds:,.0f} rows per second, memory {resident():.0f} MB, at most {peak():.0f} MB", flush=True)
    report = evaluator.compute()
    print(f"compute: precision@1 {report.value('precision', 1):.6f}, n {report.rows[0].n:,}")


def list_columns(y, scores):
    """Labels, and the predicted labels of each row, best first, as columns of lists."""
    import pyarrow

    rows, stored = y.shape[0], scores.nnz // y.shape[0]
    order = np.argsort(-scores.data.reshape(rows, stored), axis=1, kind="stable")
    top = np.take_along_axis(scores.indices.reshape(rows, stored), order, 1)

    def column(ids, each):
        return pyarrow.ListArray.from_arrays(np.arange(rows + 1, dtype=np.int32) * each, pyarrow.array(ids.ravel()))

    return {"labels": column(y.indices, y.nnz // rows), "predictions": column(top, stored)}


def of_folder(folder, labels):
    """Seconds, and the peak of this process in MB (Linux; what `peak` has begins with that of the parent)."""
    train, _ = matrices(100_000, labels, 1)
    start = time.perf_counter()
    um.evaluate_dataset(folder, n_labels=labels, train=train, propensity="jpv", metrics=["precision", "ndcg", "macro-f", "coverage"])
    seconds = time.perf_counter() - start
    with open("/proc/self/status") as file:
        most = next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))
    return seconds, most


def dataset(rows=10_000_000):
    import pyarrow
    import pyarrow.parquet

    labels, each = 100_000, 250_000
    with tempfile.TemporaryDirectory() as folder:
        table = pyarrow.table(list_columns(*matrices(each, labels, 10)))
        files = 0
        for count in (rows // 10, rows):
            while files * each < count:
                pyarrow.parquet.write_table(table, f"{folder}/part-{files:05}.parquet")
                files += 1
            # A process that has done nothing else.
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                seconds, most = pool.apply(of_folder, (folder, labels))
            size = sum(path.stat().st_size for path in pathlib.Path(folder).iterdir()) / 2**20
            done = files * each
            print(f"{done:>13,} rows, {files} files, {size:,.0f} MB: {done / seconds:,.0f} rows per second, memory at most {most:.0f} MB", flush=True)


def torchmetrics():
    import torch
    from torchmetrics.retrieval import RetrievalPrecision

    rng = np.random.default_rng(1)
    y = torch.tensor(rng.random((8000, 40)) < 0.1)
    y[:, 0] |= ~y.any(1)
    scores = torch.tensor(rng.random((8000, 40), dtype=np.float32))
    relevant = y.int()
    queries = torch.arange(8000).repeat_interleave(40)
    theirs, ours = [], []

    def their_way():
        metric = RetrievalPrecision(top_k=5)
        for at in range(0, 8000, 1000):
            metric.update(scores[at : at + 1000].ravel(), y[at : at + 1000].ravel(), indexes=queries[at * 40 : (at + 1000) * 40])
        theirs.append(metric.compute().item())

    def our_way(labels):
        from unmissed.torchmetrics import Precision

        metric = Precision(n_labels=40, k=5)
        for at in range(0, 8000, 1000):
            metric.update(scores[at : at + 1000], labels(at))
        ours.append(metric.compute().item())

    ways = {
        "boolean labels": lambda at: y[at : at + 1000],
        "whole numbers": lambda at: relevant[at : at + 1000],
        "boolean labels, converted batch by batch": lambda at: y[at : at + 1000].int(),
    }
    slow = best(their_way, 3)
    for name, labels in ways.items():
        fast = best(lambda: our_way(labels), 15)
        assert abs(theirs[0] - ours[-1]) < 1e-5, (theirs[0], ours[-1])
        print(f"{name}: RetrievalPrecision {slow[0]:.3f} / {slow[1]:.3f} s, ours with an interval {fast[0]:.4f} / {fast[1]:.4f} s, "
              f"{slow[0] / fast[0]:.0f} / {slow[1] / fast[1]:.0f} times")


def nothing(data, ur, settings, labels):
    """The part of Ray: an evaluator goes to two tasks with half of the blocks each, and what tallies weigh comes back."""
    import ray

    evaluator = ray.put(um.Evaluator(labels, n_jobs=1, **settings))

    @ray.remote(num_cpus=1)
    def task(evaluator, *blocks):
        return np.zeros(NOTHING, np.uint8)

    blocks = data.to_arrow_refs()
    half = -(-len(blocks) // 2)
    return sum(len(one) for one in ray.get([task.remote(evaluator, *blocks[:half]), task.remote(evaluator, *blocks[half:])]))


def on_ray(rows=490_000, labels=670_000):
    import pyarrow
    import ray
    from ray.cluster_utils import Cluster

    import unmissed.ray as ur

    y, scores = matrices(rows, labels, 10)
    columns = list_columns(y, scores)
    top = columns["predictions"].flatten().to_numpy().reshape(rows, 10)
    table = pyarrow.table({"id": np.arange(rows), **columns})
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": 2**30})
    cluster.add_node(num_cpus=1, object_store_memory=2**30)
    ray.init(address=cluster.address, log_to_driver=False)
    each = -(-rows // 4)
    data = ray.data.from_arrow([table.slice(start, each) for start in range(0, rows, each)]).materialize()
    print(f"{rows:,} rows, {labels:,} labels, two nodes with one core each")
    for metrics in (["precision", "ndcg"], None):
        settings = {"train": y[:TRAINING_ROWS], "propensity": "jpv", "metrics": metrics}
        one, two = (best(lambda: um.evaluate(y, um.TopK(top, n_labels=labels), n_jobs=n_jobs, **settings), 3)[0] for n_jobs in (1, 2))
        first = best(lambda: ur.evaluate(data, rows="id", **settings), 1)
        warm = best(lambda: ur.evaluate(data, rows="id", **settings), 5)
        floor = best(lambda: nothing(data, ur, settings, labels), 5)
        name = "precision and ndcg" if metrics else "all metrics"
        print(f"{name}: one thread {one:.2f} s, two threads {two:.2f} s; Ray: first {first[0]:.2f} s, then {warm[0]:.2f} / {warm[1]:.2f} s, "
              f"{warm[0] - two:+.2f} s; tasks that do nothing with the same data, and return as many bytes: {floor[0]:.2f} / {floor[1]:.2f} s")
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    tasks = {"batches": batches, "long": long, "dataset": dataset, "torchmetrics": torchmetrics, "ray": on_ray}
    name, *numbers = sys.argv[1:] or [""]
    if name not in tasks:
        sys.exit(__doc__)
    tasks[name](*map(int, numbers))
