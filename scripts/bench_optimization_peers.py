"""What xCOLUMNs takes for what `cargo bench --bench optimization` computes, on the same scores.

pip install xcolumns scipy, then: UNMISSED_BENCH_PYTHON=python cargo bench -p unmissed --bench optimization
The benchmark writes its scores and runs this file on them. Prints a JSON line for each task: the best and the median of the repetitions in
seconds (the first call, which compiles, is not counted), the least processor time, the objective of expected counts, and the passes over the rows.
"""

import json
import statistics
import sys
import time
import warnings

import numpy
import scipy.sparse

warnings.filterwarnings("ignore")
REPETITIONS = 3


def value(scores, chosen, metric):
    """The objective of expected counts in double precision, as our own is."""
    chosen = chosen.tocsr().astype(bool).astype(float)
    double = scores.astype(float)
    hits = numpy.asarray(double.multiply(chosen).sum(axis=0)).ravel()
    predicted, positives = (numpy.asarray(matrix.sum(axis=0)).ravel() for matrix in (chosen, double))
    if metric == "coverage":
        missed = double.multiply(chosen).tocsr()
        missed.data = numpy.log1p(-numpy.minimum(missed.data, 1 - 1e-15))
        return float(numpy.mean(-numpy.expm1(numpy.asarray(missed.sum(axis=0)).ravel())))
    below = predicted + positives
    return float(numpy.mean(numpy.divide(2 * hits, below, out=numpy.zeros_like(hits), where=below > 0)))


def main():
    from xcolumns import block_coordinate

    scores = scipy.sparse.load_npz(sys.argv[1]).tocsr().astype(numpy.float32)
    scores.indices, scores.indptr = scores.indices.astype(numpy.int32), scores.indptr.astype(numpy.int32)
    tasks = {
        ("macro-f", "bca"): lambda **more: block_coordinate.predict_optimizing_macro_f1_score_using_bc(
            scores, 5, return_meta=True, seed=1, **more
        ),
        ("coverage", "bca"): lambda **more: block_coordinate.predict_optimizing_coverage_using_bc(
            scores, 5, return_meta=True, seed=1, **more
        ),
    }
    for (metric, method), work in tasks.items():
        work(max_iter=1)
        seconds, busy = [], []
        for _ in range(REPETITIONS):
            start, processor = time.perf_counter(), time.process_time()
            chosen, meta = work()
            seconds.append(time.perf_counter() - start)
            busy.append(time.process_time() - processor)
        line = {"task": f"{metric}@5", "peer": f"xCOLUMNs {method}", "best_s": round(min(seconds), 4)}
        line |= {"processor_s": round(min(busy), 4), "median_s": round(statistics.median(seconds), 4), "value": round(value(scores, chosen, metric), 6), "passes": meta["iters"]}
        print(json.dumps(line), flush=True)


main()
