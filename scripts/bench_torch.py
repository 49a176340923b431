"""How long PyTorch takes for an epoch of one-vs-all training: the peer of `cargo bench --bench training`.

pip install torch numpy scipy, then: python scripts/bench_torch.py train.txt [STEPS]
The unbiased logistic loss with JPV propensities, batches of 512 rows, fused Adam. Prints a JSON line for each way to multiply
(embedding bag, and dense rows where they fit): seconds per epoch, extrapolated from STEPS steps (8 unless given) after two to
warm up, the best of three, and the peak of memory so far.
"""

import json
import resource
import sys
import time

import numpy as np
import scipy.sparse as sp
import torch

BATCH = 512
REPETITIONS = 3
THREADS = 2
DENSE_LIMIT = 1 << 30


def read(path):
    """Features and labels of an XMLC text file."""
    with open(path) as lines:
        rows, features, labels = map(int, next(lines).split())
        parts = {"x": ([0], [], []), "y": ([0], [], [])}
        for line in lines:
            head, *entries = line.rstrip("\n").split(" ")
            starts, ids, values = parts["x"]
            for entry in entries:
                index, value = entry.split(":")
                ids.append(int(index))
                values.append(float(value))
            starts.append(len(ids))
            starts, ids, values = parts["y"]
            ids.extend(int(label) for label in head.split(",") if label)
            starts.append(len(ids))
    x, y = parts["x"], parts["y"]
    matrix = sp.csr_matrix((np.array(x[2], np.float32), np.array(x[1]), np.array(x[0])), (rows, features))
    return matrix, sp.csr_matrix((np.ones(len(y[1]), np.float32), np.array(y[1]), np.array(y[0])), (rows, labels))


def jpv(labels):
    """Inverse propensities of the usual curve."""
    counts = np.asarray(labels.sum(axis=0)).ravel()
    scale = (np.log(labels.shape[0]) - 1) * 2.5**0.55
    return torch.from_numpy((1 + scale * (counts + 1.5) ** -0.55).astype(np.float32))


def bag(part, weights):
    indices, starts = torch.from_numpy(part.indices.astype(np.int64)), torch.from_numpy(part.indptr[:-1].astype(np.int64))
    return torch.nn.functional.embedding_bag(indices, weights, starts, mode="sum", per_sample_weights=torch.from_numpy(part.data))


def dense(part, weights):
    return torch.from_numpy(part.toarray()) @ weights


def measure(product, features, labels, steps):
    rows, width = features.shape
    reach = width**-0.5
    weights = torch.nn.Parameter((torch.rand(width, labels.shape[1]) * 2 - 1) * reach)
    bias = torch.nn.Parameter(torch.zeros(labels.shape[1]))
    adam = torch.optim.Adam([weights, bias], lr=0.01, fused=True)
    inverse = jpv(labels)
    order = np.random.default_rng(0).permutation(rows)
    batches = -(-rows // BATCH)

    def step(number):
        chosen = order[number % batches * BATCH :][:BATCH]
        logits = product(features[chosen], weights) + bias
        observed = torch.from_numpy(labels[chosen].toarray()) * inverse
        loss = (torch.nn.functional.softplus(logits) - observed * logits).sum() / len(chosen)
        adam.zero_grad(set_to_none=True)
        loss.backward()
        adam.step()

    for number in range(2):
        step(number)
    seconds = []
    for repetition in range(REPETITIONS):
        start = time.perf_counter()
        for number in range(steps):
            step(2 + repetition * steps + number)
        seconds.append((time.perf_counter() - start) / steps * batches)
    return min(seconds)


def main():
    features, labels = read(sys.argv[1])
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 8
    torch.manual_seed(0)
    torch.set_num_threads(THREADS)
    for name, product in (("embedding bag", bag), ("dense", dense)):
        if product is dense and features.shape[0] * features.shape[1] > DENSE_LIMIT:
            continue
        seconds = measure(product, features, labels, steps)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"task": "train", "peer": f"torch, {name}", "threads": THREADS, "seconds_per_epoch": round(seconds, 4), "peak_mb": round(peak)}), flush=True)


if __name__ == "__main__":
    main()
