"""How fast PyTorch finds the top 5 labels of sparse rows: the peer of `cargo bench --bench prediction`.

pip install torch numpy scipy, then: python scripts/bench_torch_predict.py test.txt [LABELS]
The file is XMLC text; the model has random weights for LABELS labels (those of the file unless given). Prints a JSON line for
each way to multiply, on two threads: the best and the median of several runs in microseconds per row, rows scaled and laid out
before the clock starts.
"""

import json
import statistics
import sys
import time

import numpy as np
import scipy.sparse as sp
import torch

REPETITIONS = 3
BATCHES = (512, 2048)
THREADS = 2


def read(path):
    """Features of an XMLC text file, rows scaled to norm 1, and the number of labels."""
    with open(path) as lines:
        rows, features, labels = map(int, next(lines).split())
        indptr, indices, values = [0], [], []
        for line in lines:
            for entry in line.split(" ")[1:]:
                index, value = entry.split(":")
                indices.append(int(index))
                values.append(float(value))
            indptr.append(len(indices))
    matrix = sp.csr_matrix((np.array(values, np.float32), np.array(indices, np.int64), np.array(indptr, np.int64)), (rows, features))
    norms = np.sqrt(matrix.multiply(matrix).sum(axis=1)).A1
    return sp.diags(1 / np.maximum(norms, 1e-30)).astype(np.float32) @ matrix, labels


def as_csr(part, weights, bias):
    rows = torch.sparse_csr_tensor(
        torch.from_numpy(part.indptr.astype(np.int64)), torch.from_numpy(part.indices.astype(np.int64)), torch.from_numpy(part.data), size=part.shape
    )
    return lambda: torch.sparse.mm(rows, weights) + bias


def as_bag(part, weights, bias):
    indices, offsets = torch.from_numpy(part.indices.astype(np.int64)), torch.from_numpy(part.indptr[:-1].astype(np.int64))
    values = torch.from_numpy(part.data)
    return lambda: torch.nn.functional.embedding_bag(indices, weights, offsets, mode="sum", per_sample_weights=values) + bias


def main():
    matrix, labels = read(sys.argv[1])
    labels = int(sys.argv[2]) if len(sys.argv) > 2 else labels
    torch.manual_seed(0)
    torch.set_num_threads(THREADS)
    weights, bias = torch.rand(matrix.shape[1], labels) - 0.5, torch.zeros(labels)
    for name, prepare in (("sparse csr", as_csr), ("embedding bag", as_bag)):
        for batch in BATCHES:
            parts = [prepare(matrix[start : start + batch].astype(np.float32), weights, bias) for start in range(0, matrix.shape[0], batch)]
            seconds = []
            with torch.no_grad():
                for _ in range(REPETITIONS):
                    start = time.perf_counter()
                    for part in parts:
                        torch.topk(part(), 5, dim=1)
                    seconds.append(time.perf_counter() - start)
            micros = [1e6 * second / matrix.shape[0] for second in seconds]
            line = {"task": "top 5", "peer": f"torch {torch.__version__}", "way": name, "batch": batch, "threads": THREADS}
            print(json.dumps({**line, "best_us_a_row": round(min(micros), 1), "median_us_a_row": round(statistics.median(micros), 1)}), flush=True)


if __name__ == "__main__":
    main()
