"""How fast the Python package evaluates: the same work as `cargo bench --bench evaluation`, and napkinXC beside it.

pip install target/wheels/unmissed-*.whl napkinxc, then: python scripts/bench_python.py [TASK...]
Tasks: 'four' (precision and nDCG, plain and propensity-scored, at 1 to 5), 'all' (the native benchmark's '1 model'), 'five' (its
'5 models'), 'napkinxc' (the same four from lists), 'napkinxc-csr' (from sparse matrices; very slow); 'four' and 'all' unless given. UNMISSED_BENCH_ROWS (490 000),
UNMISSED_BENCH_LABELS (670 000) and UNMISSED_BENCH_STORED (100) set the size; data are seeded and kept in the system's temporary
folder. Prints a JSON line for each task: the best and the median of seven runs (one for napkinXC), and memory above the input.
"""

import json
import os
import pathlib
import resource
import statistics
import sys
import tempfile
import time

import numpy as np
import scipy.sparse as sp

REPETITIONS = 7
FIVE = ["jpv", "jpv:wikipedia", "jpv:amazon", "power:relative,gamma=0.3", "constant:p=0.5"]
ALL = ["precision", "ndcg", "weighted-precision", "recall:observed", "ndcg-min:observed", "abandonment", "macro-f", "coverage"]


def size(name, default):
    return int(os.environ.get(f"UNMISSED_BENCH_{name}", default))


def generate(rows, labels, stored):
    """Zipf labels; one prediction in each stratum of labels, the true label in its stratum with probability 0.7."""
    rng = np.random.default_rng(7)
    cumulative = np.cumsum(np.arange(1, labels + 1) ** -0.9)
    names = rng.permutation(labels).astype(np.int32)
    counts = 1 + rng.poisson(4.4, rows)
    row_of = np.repeat(np.arange(rows, dtype=np.int32), counts)
    drawn = names[np.minimum(np.searchsorted(cumulative, rng.random(len(row_of)) * cumulative[-1]), labels - 1)]
    truth = sp.csr_matrix((np.ones(len(drawn), np.float32), (row_of, drawn)), shape=(rows, labels))
    truth.sum_duplicates()
    truth.data[:] = 1
    stratum = labels // stored
    ids = rng.integers(0, stratum, (rows, stored), dtype=np.int32) + np.arange(stored, dtype=np.int32) * stratum
    scores = (rng.random((rows, stored), np.float32) ** 2 * 0.6).astype(np.float32)
    row_of = np.repeat(np.arange(rows), np.diff(truth.indptr))
    kept = rng.random(truth.nnz) < 0.7
    place = row_of[kept], np.minimum(truth.indices[kept] // stratum, stored - 1)
    ids[place] = truth.indices[kept]
    scores[place] = 0.3 + 0.7 * rng.random(kept.sum(), np.float32)
    return truth, ids, scores


def load(rows, labels, stored):
    path = pathlib.Path(tempfile.gettempdir()) / f"unmissed-bench-{rows}-{labels}-{stored}.npz"
    if not path.exists():
        truth, ids, scores = generate(rows, labels, stored)
        np.savez(path, indptr=truth.indptr, indices=truth.indices, ids=ids, scores=scores)
    with np.load(path) as kept:
        truth = sp.csr_matrix((np.ones(len(kept["indices"]), np.float32), kept["indices"], kept["indptr"]), shape=(rows, labels))
        return truth, kept["ids"], kept["scores"]


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(task, work, repetitions=REPETITIONS):
    before = peak()
    seconds = []
    for _ in range(repetitions):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    line = {"task": task, "best_s": round(min(seconds), 4), "median_s": round(statistics.median(seconds), 4)}
    print(json.dumps({**line, "peak_above_mb": round(peak() - before)}), flush=True)


def main():
    tasks = sys.argv[1:] or ["four", "all"]
    rows, labels, stored = size("ROWS", 490_000), size("LABELS", 670_000), size("STORED", 100)
    truth, ids, scores = load(rows, labels, stored)
    predictions = sp.csr_matrix((scores.ravel(), ids.ravel(), np.arange(0, rows * stored + 1, stored)), shape=(rows, labels))
    inverse = 1 + (np.log(rows) - 1) * 2.5**0.55 * (np.bincount(truth.indices, minlength=labels) + 1.5) ** -0.55
    if {"four", "all", "five"} & set(tasks):
        import unmissed as um

        p = um.Propensities(1 / inverse, origin="jpv")
        weights = np.ones(labels)
        five = [um.propensities(truth, spec) for spec in FIVE] if "five" in tasks else []
        options = {"propensity": p, "bootstrap": 0}
        four = {"metrics": ["precision", "ndcg"], "estimators": ["observed", "normalized"], "k": [1, 2, 3, 4, 5]}
        for threads in (1, 2):
            if "four" in tasks:
                work = lambda: um.evaluate(truth, predictions, n_jobs=threads, **four, **options)
                measure(f"unmissed, four metrics, {threads} threads", work)
            if "all" in tasks:
                work = lambda: um.evaluate(truth, predictions, metrics=ALL, weights=weights, n_jobs=threads, **options)
                measure(f"unmissed, all metrics, {threads} threads", work)
            if "five" in tasks:
                work = lambda: um.evaluate(truth, predictions, metrics=ALL, weights=weights, n_jobs=threads, propensity=five)
                measure(f"unmissed, all metrics, 5 models, {threads} threads", work)
    if "napkinxc" in tasks or "napkinxc-csr" in tasks:
        from napkinxc import metrics

        def run(truth, predictions):
            metrics.precision_at_k(truth, predictions, k=5)
            metrics.ndcg_at_k(truth, predictions, k=5)
            metrics.psprecision_at_k(truth, predictions, inverse, k=5)
            metrics.psndcg_at_k(truth, predictions, inverse, k=5)

        if "napkinxc" in tasks:
            # Lists are its fast way in. Ranking them and making them is not counted.
            ranked = np.take_along_axis(ids, np.argsort(-scores, axis=1)[:, :5], axis=1).tolist()
            lists = [truth.indices[a:b].tolist() for a, b in zip(truth.indptr, truth.indptr[1:])]
            measure("napkinxc, four metrics, lists of the best five", lambda: run(lists, ranked), 1)
        if "napkinxc-csr" in tasks:
            measure("napkinxc, four metrics, sparse", lambda: run(truth, predictions), 1)


if __name__ == "__main__":
    main()
