"""The default call beside pyxclib's four metrics, interleaved in one run.

    pip install target/wheels/*.whl numpy scipy numba; pyxclib from its repository (it is not on PyPI)
    python scripts/bench_evaluation_default.py [ROWS LABELS [ROUNDS]]

Data: label frequencies that fall like a power of the rank, five labels a row, 100 stored predictions a row with half of the true labels
among them. Every round runs each task once, so that what else the machine does hits all alike; printed are the best wall and CPU seconds of
each task and ratios of the best. Inputs are made before, outside of the times.
"""

import json
import resource
import sys
import time

import numpy as np
import scipy.sparse as sp

K, STORED, PER_ROW = (1, 3, 5), 100, 5


def data(rows, labels, seed=0):
    rng = np.random.default_rng(seed)
    weights = 1.0 / (np.arange(labels) + 20.0) ** 0.9
    cumulative = np.cumsum(weights / weights.sum())
    order = rng.permutation(labels)

    def draw(count):
        return order[np.searchsorted(cumulative, rng.random(count)).clip(0, labels - 1)]

    def matrix(ids, values, per_row):
        offsets = np.arange(0, rows * per_row + 1, per_row)
        found = sp.csr_matrix((values, ids.astype(np.int32), offsets.astype(np.int32)), shape=(rows, labels))
        found.sum_duplicates()
        return found

    true = draw(rows * PER_ROW)
    truth = matrix(true, np.ones(rows * PER_ROW, np.float32), PER_ROW)
    truth.data[:] = 1
    scores = rng.random((rows, STORED), dtype=np.float32)
    predicted = draw(rows * STORED).reshape(rows, STORED)
    found = rng.random((rows, PER_ROW)) < 0.5
    predicted[:, :PER_ROW][found] = true.reshape(rows, PER_ROW)[found]
    scores[:, :PER_ROW] += 0.9 * found
    return truth, matrix(predicted.ravel(), scores.ravel(), STORED)


def spent():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return time.perf_counter(), usage.ru_utime + usage.ru_stime


def main():
    rows, labels, rounds = (int(word) for word in (sys.argv[1:] + ["490000", "670000", "5"][len(sys.argv) - 1 :]))
    truth, scores = data(rows, labels)
    counts = np.bincount(truth.indices, minlength=labels)
    inverse = 1 + (np.log(rows) - 1) * 2.5**0.55 * (counts + 1.5) ** -0.55
    tasks = {}
    import unmissed as um

    tasks["unmissed, default call"] = lambda: um.evaluate(truth, scores, train=truth, propensity="jpv", n_jobs=2)
    four = {"metrics": ["precision", "ndcg"], "k": [1, 2, 3, 4, 5]}
    tasks["unmissed, precision and ndcg"] = lambda: um.evaluate(truth, scores, train=truth, propensity="jpv", n_jobs=2, **four)
    try:
        from xclib.evaluation import xc_metrics

        metrics = xc_metrics.Metrics(truth, inverse)
        tasks["pyxclib, four metrics"] = lambda: metrics.eval(scores, K=5)
    except ImportError as error:
        print(json.dumps({"peer": "pyxclib", "skipped": str(error)}))
    found = {name: [] for name in tasks}
    # The first round compiles what a peer compiles when it is first called, and does not count.
    for counted in [False] + [True] * rounds:
        for name, work in tasks.items():
            start = spent()
            work()
            end = spent()
            if counted:
                found[name].append((end[0] - start[0], end[1] - start[1]))
    best = {name: tuple(min(one[part] for one in times) for part in (0, 1)) for name, times in found.items()}
    for name, (wall, cpu) in best.items():
        line = {"task": name, "rows": rows, "labels": labels, "best_s": round(wall, 3), "best_cpu_s": round(cpu, 3)}
        if "pyxclib, four metrics" in best:
            peer = best["pyxclib, four metrics"]
            line |= {"of_pyxclib": round(wall / peer[0], 3), "of_pyxclib_cpu": round(cpu / peer[1], 3)}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
