"""Label trees beside other libraries, on the same files in the same run: time, memory, size of the model, speed of prediction, P@1,3,5.

pip install numpy scipy scikit-learn omikuji [napkinxc] [libpecos], cargo build --release, then:
python scripts/bench_trees.py TRAIN TEST [PEER ...]

Peers: `unmissed OPTIONS` in quotes (`unmissed --trees 3`), `omikuji TREES LAYERS` (how many layers are collapsed; 0 is its default),
`napkinxc` (a probabilistic label tree, default settings), `pecos` (one tree of 16 children and leaves of 100, its default threshold of 0.1).
Each runs in a process of its own with two threads. The time of training includes reading the data and writing the model for unmissed;
omikuji reads the data itself, and its model is written outside of the clock; napkinxc and pecos get matrices. `above_mb` is the peak
of memory in training less the matrices of the data, 8 bytes for each feature of a row and 4 for each label. Predictions are the best 5; those
of unmissed are timed with reading the rows and writing the predictions (`predict_us`); omikuji predicts row by row, half of the rows
on each of two threads. UNMISSED names the program unless it is target/release/unmissed.
"""

import concurrent.futures
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

from bench_training_peers import THREADS, UNMISSED, Clock, precision, read


def size_mb(path):
    files = [path] if os.path.isfile(path) else [os.path.join(at, name) for at, _, names in os.walk(path) for name in names]
    return round(sum(os.path.getsize(file) for file in files) / 1e6, 1)


def peak_mb(who=resource.RUSAGE_SELF):
    return resource.getrusage(who).ru_maxrss / 1024


def data_mb(path):
    """Bytes of the matrices of a text file, counted without holding them."""
    entries = labels = rows = 0
    with open(path, "rb") as lines:
        next(lines)
        for line in lines:
            rows += 1
            entries += line.count(b":")
            head = line.split(b" ", 1)[0]
            labels += head.count(b",") + (1 if head.strip() else 0)
    return (8 * entries + 4 * labels + 16 * rows) / 1e6


def unmissed(train, test, options, folder):
    model, found = f"{folder}/model", f"{folder}/p.txt"
    clock = Clock()
    subprocess.run([UNMISSED, "train", train, "-o", model, "-q", "--threads", str(THREADS), "--tree", *options], check=True, capture_output=True)
    result = {**clock.read(), "peak_mb": peak_mb(resource.RUSAGE_CHILDREN), "model_mb": size_mb(model)}
    walls = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run([UNMISSED, "predict", model, test, "-k", "5", "-o", found, "-q", "--threads", str(THREADS)], check=True, capture_output=True)
        walls.append(time.perf_counter() - start)
    tops = []
    with open(found) as lines:
        next(lines)
        for line in lines:
            pairs = [entry.split(":") for entry in line.split()]
            tops.append([int(label) for label, _ in sorted(pairs, key=lambda pair: (-float(pair[1]), int(pair[0])))])
    return result, min(walls), tops


def omikuji(train, test, options, folder):
    import omikuji as peer

    settings = peer.Model.default_hyper_param()
    if options:
        settings.n_trees = int(options[0])
    if options[1:] and int(options[1]):
        settings.collapse_every_n_layers = int(options[1])
    clock = Clock()
    model = peer.Model.train_on_data(train, settings, n_threads=THREADS)
    result = {**clock.read(), "peak_mb": peak_mb()}
    model.save(f"{folder}/model")
    result["model_mb"] = size_mb(f"{folder}/model")
    x, _ = read(test)
    rows = [list(zip(x.indices[a:b].tolist(), x.data[a:b].tolist(), strict=True)) for a, b in zip(x.indptr, x.indptr[1:])]
    # Its threads share one row; threads of ours take rows each, which is faster.
    model.init_prediction_thread_pool(1)
    model.densify_weights(0.1)
    start = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        tops = list(pool.map(lambda row: [label for label, _ in model.predict(row, top_k=5)], rows, chunksize=256))
    return result, time.perf_counter() - start, tops


def napkinxc(train, test, options, folder):
    from napkinxc.models import PLT

    x, y = read(train)
    model = PLT(f"{folder}/model", threads=THREADS, seed=1, verbose=0)
    clock = Clock()
    model.fit(x, y)
    result = {**clock.read(), "peak_mb": peak_mb(), "model_mb": size_mb(f"{folder}/model")}
    rows, _ = read(test)
    model.load()
    start = time.perf_counter()
    tops = model.predict(rows, top_k=5)
    return result, time.perf_counter() - start, tops


def pecos(train, test, options, folder):
    from pecos.xmc import Indexer, LabelEmbeddingFactory
    from pecos.xmc.xlinear.model import XLinearModel

    x, y = read(train)
    clock = Clock()
    embedding = LabelEmbeddingFactory.create(y, x, method="pifa")
    tree = Indexer.gen(embedding, indexer_type="hierarchicalkmeans", nr_splits=16, max_leaf_size=100, threads=THREADS)
    model = XLinearModel.train(x, y, C=tree, threads=THREADS, bias=1.0, negative_sampling_scheme="tfn", threshold=0.1)
    result = {**clock.read(), "peak_mb": peak_mb()}
    model.save(f"{folder}/model")
    result["model_mb"] = size_mb(f"{folder}/model")
    rows, _ = read(test)
    # The form that is loaded for prediction alone is much faster than the one that was trained.
    model = XLinearModel.load(f"{folder}/model", is_predict_only=True)
    start = time.perf_counter()
    found = model.predict(rows, only_topk=5, beam_size=10, threads=THREADS).tocsr()
    seconds = time.perf_counter() - start
    rows = [(found.indices[a:b], found.data[a:b]) for a, b in zip(found.indptr, found.indptr[1:])]
    return result, seconds, [[int(label) for label in labels[scores.argsort()[::-1]]] for labels, scores in rows]


def main():
    train, test, *peers = sys.argv[1:]
    if peers[:1] != ["--one"]:
        for peer in peers or ["unmissed --trees 3", "unmissed", "omikuji", "omikuji 3 5"]:
            # Peers tell what they are doing, at length.
            done = subprocess.run([sys.executable, __file__, train, test, "--one", peer], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
            results = [line[line.index('{"task"') :] for line in done.stdout.splitlines() if '{"task"' in line]
            print("\n".join(results) or json.dumps({"task": "trees", "peer": peer, "failed": done.returncode}), flush=True)
        return
    name, *options = peers[1].split()
    with tempfile.TemporaryDirectory() as folder:
        result, seconds, tops = globals()[name](train, test, options, folder)
    labels = read(test)[1]
    result["above_mb"] = round(result["peak_mb"] - data_mb(train) / 1.048576)
    result["peak_mb"] = round(result["peak_mb"])
    result |= {"predict_us": round(1e6 * seconds / labels.shape[0]), "precision": precision(tops, labels)}
    print(json.dumps({"task": "trees", "peer": peers[1], **result}), flush=True)


if __name__ == "__main__":
    main()
