"""What napkinXC and xCOLUMNs take for a part of what `cargo bench --bench evaluation` computes, on the same data, and what our own
Python package takes for the same as the benchmark.

pip install napkinxc xcolumns target/wheels/*.whl, then: UNMISSED_BENCH_PYTHON=python cargo bench -p unmissed --bench evaluation
The benchmark writes its data as plain arrays into a folder and runs this file on it. Prints a JSON line for each task: the best
and the median of the repetitions, in seconds, and the peak of the process's memory so far. Each peer gets the form of data that
it is fastest with, and making that form is not timed.
"""

import json
import resource
import statistics
import sys
import time
from pathlib import Path

import numpy
import scipy.sparse

REPETITIONS = 3
KS = (1, 3, 5)
METRICS = ["precision", "ndcg", "weighted-precision", "recall:observed", "ndcg-min:observed", "abandonment", "macro-f", "coverage"]


def load(folder):
    """Truth and scores as csr matrices, the inverse propensities of five models (JPV first), and the weights of labels."""
    rows, labels = json.loads((folder / "shape.json").read_text())
    array = lambda name, kind: numpy.fromfile(folder / name, dtype=kind)

    def matrix(name, values):
        offsets, ids = array(f"{name}.offsets", "<u8").astype(numpy.int32), array(f"{name}.ids", "<u4").astype(numpy.int32)
        values = numpy.ones(len(ids), numpy.float32) if values is None else array(values, "<f4")
        return scipy.sparse.csr_matrix((values, ids, offsets), shape=(rows, labels))

    inverse = array("inverse", "<f8").reshape(-1, labels)
    return matrix("truth", None), matrix("scores", "scores.values"), inverse, array("weights", "<f8")


def measure(peer, task, work, repetitions=REPETITIONS):
    seconds = []
    for _ in range(repetitions):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    line = {"task": task, "peer": peer, "best_s": round(min(seconds), 4), "median_s": round(statistics.median(seconds), 4)}
    line["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    print(json.dumps(line), flush=True)


def unmissed(truth, scores, inverse, weights):
    """The native benchmark's tasks, through Python: its inputs are checked and its report is made within the time."""
    import unmissed as um

    models = [um.Propensities(1 / one, origin=str(place)) for place, one in enumerate(inverse)]
    for threads in (1, 2):
        for count in (1, 5):
            options = {"propensity": models[:count], "weights": weights, "bootstrap": 0, "threads": threads}
            task = f"{count} model{'s' * (count > 1)}, {threads} threads"
            measure("unmissed", task, lambda: um.evaluate(truth, scores, metrics=METRICS, **options), 7)
        four = {"metrics": ["precision", "ndcg"], "estimators": ["observed", "normalized"], "k": [1, 2, 3, 4, 5]}
        work = lambda: um.evaluate(truth, scores, propensity=models[0], bootstrap=0, threads=threads, **four)
        measure("unmissed", f"precision, ndcg, psprecision, psndcg at 1 to 5, {threads} threads", work, 7)


def xcolumns(truth, scores, inverse, weights):
    from xcolumns import metrics
    from xcolumns.confusion_matrix import calculate_confusion_matrix
    from xcolumns.weighted_prediction import predict_top_k

    top = {k: predict_top_k(scores, k=k) for k in KS}
    measure("xcolumns", "top k selection alone, k = 1, 3, 5", lambda: [predict_top_k(scores, k=k) for k in KS])
    measure("xcolumns", "precision, top k given", lambda: [metrics.precision_at_k(truth, top[k], k=k) for k in KS])
    measure("xcolumns", "macro F1, top k given", lambda: [metrics.macro_f1_score(truth, top[k]) for k in KS])
    measure("xcolumns", "coverage, top k given", lambda: [metrics.coverage(truth, top[k]) for k in KS])


def napkinxc(truth, scores, inverse, weights):
    from napkinxc import metrics

    rows, stored = scores.shape[0], scores.indptr[1]
    assert (numpy.diff(scores.indptr) == stored).all(), "rows of equal length"
    order = numpy.argsort(-scores.data.reshape(rows, stored), axis=1, kind="stable")[:, : max(KS)]
    predicted = numpy.take_along_axis(scores.indices.reshape(rows, stored), order, 1).tolist()
    relevant = [truth.indices[a:b].tolist() for a, b in zip(truth.indptr[:-1], truth.indptr[1:])]
    k = max(KS)
    four = lambda: (
        metrics.precision_at_k(relevant, predicted, k=k),
        metrics.ndcg_at_k(relevant, predicted, k=k),
        metrics.psprecision_at_k(relevant, predicted, inverse[0], k=k),
        metrics.psndcg_at_k(relevant, predicted, inverse[0], k=k),
    )
    measure("napkinxc", "precision, ndcg, psprecision, psndcg at 1 to 5, sorted top 5 given as lists", four)


def main():
    data = load(Path(sys.argv[1]))
    chosen = sys.argv[2:]
    for peer in (unmissed, xcolumns, napkinxc):
        if chosen and peer.__name__ not in chosen:
            continue
        try:
            peer(*data)
        except ImportError as error:
            print(json.dumps({"peer": peer.__name__, "skipped": str(error)}), flush=True)


if __name__ == "__main__":
    main()
