"""Training beside other libraries, on the same files in the same run: CPU seconds, seconds, peak of memory, and P@1,3,5.

pip install numpy scipy scikit-learn napkinxc omikuji, cargo build --release, then:
python scripts/bench_training_peers.py TRAIN TEST [PEER ...]

Peers: `unmissed` (the command line without options), `unmissed OPTIONS` in quotes, `liblinear` (scikit-learn, logistic, one-vs-rest,
C = 10; `liblinear C`), `napkinxc` (binary relevance), `omikuji` (three trees). Each runs in a process of its own with two
threads; reading and writing files is in the time of unmissed and omikuji, which do it themselves. Compare CPU seconds on a machine
that has other work to do. UNMISSED names the program unless it is target/release/unmissed.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time

THREADS = 2
UNMISSED = os.environ.get("UNMISSED", "target/release/unmissed")


def read(path):
    """Features, scaled to length 1, and labels of an XMLC text file."""
    import numpy as np
    import scipy.sparse as sp
    from sklearn.preprocessing import normalize

    with open(path) as lines:
        rows, features, labels = map(int, next(lines).split())
        x, y = ([0], [], []), ([0], [])
        for line in lines:
            head, *entries = line.split(" ")
            for entry in entries:
                index, value = entry.split(":")
                x[1].append(int(index))
                x[2].append(float(value))
            x[0].append(len(x[1]))
            y[1].extend(int(label) for label in head.split(",") if label.strip())
            y[0].append(len(y[1]))
    matrix = sp.csr_matrix((np.array(x[2], np.float32), np.array(x[1]), np.array(x[0])), (rows, features))
    return normalize(matrix), sp.csr_matrix((np.ones(len(y[1]), np.float32), np.array(y[1]), np.array(y[0])), (rows, labels))


def precision(tops, labels):
    """P@1,3,5 in percent of the best labels of each row."""
    relevant = [set(labels.indices[labels.indptr[row] : labels.indptr[row + 1]]) for row in range(labels.shape[0])]
    hits = {k: sum(len(relevant[row].intersection(top[:k])) for row, top in enumerate(tops)) for k in (1, 3, 5)}
    return [round(100 * hits[k] / k / labels.shape[0], 2) for k in (1, 3, 5)]


class Clock:
    """Seconds and CPU seconds of this process and its children."""

    def __init__(self):
        self.start = self.now()

    @staticmethod
    def now():
        usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return time.perf_counter(), sum(one.ru_utime + one.ru_stime for one in usage)

    def read(self):
        return {"seconds": round(self.now()[0] - self.start[0], 2), "cpu_seconds": round(self.now()[1] - self.start[1], 2)}


def unmissed(train, test, options, folder):
    clock = Clock()
    model = f"{folder}/model"
    subprocess.run([UNMISSED, "train", train, "-o", model, "-q", "--threads", str(THREADS), *options], check=True, capture_output=True)
    times = clock.read()
    subprocess.run([UNMISSED, "predict", model, test, "-k", "5", "-o", f"{folder}/p.txt", "-q"], check=True, capture_output=True)
    tops = []
    with open(f"{folder}/p.txt") as lines:
        next(lines)
        for line in lines:
            pairs = [entry.split(":") for entry in line.split()]
            tops.append([int(label) for label, _ in sorted(pairs, key=lambda pair: (-float(pair[1]), int(pair[0])))])
    return times, tops


def liblinear(train, test, options, folder):
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    x, y = read(train)
    clock = Clock()
    one = LogisticRegression(solver="liblinear", C=float(options[0]) if options else 10.0)
    model = OneVsRestClassifier(one, n_jobs=1).fit(x, y)
    times = clock.read()
    return times, np.argsort(-model.decision_function(read(test)[0]), axis=1)[:, :5].tolist()


def napkinxc(train, test, options, folder):
    from napkinxc.models import BR

    x, y = read(train)
    model = BR(f"{folder}/model", threads=THREADS, seed=1, verbose=0)
    clock = Clock()
    model.fit(x, y)
    times = clock.read()
    model.load()
    return times, model.predict(read(test)[0], top_k=5)


def omikuji(train, test, options, folder):
    import omikuji as peer

    clock = Clock()
    model = peer.Model.train_on_data(train, n_threads=THREADS)
    times = clock.read()
    x, _ = read(test)
    rows = [list(zip(x.indices[a:b].tolist(), x.data[a:b].tolist())) for a, b in zip(x.indptr, x.indptr[1:])]
    return times, [[label for label, _ in model.predict(row, top_k=5)] for row in rows]


def main():
    train, test, *peers = sys.argv[1:]
    if peers[:1] == ["--one"]:
        name, *options = peers[1].split()
        with tempfile.TemporaryDirectory() as folder:
            times, tops = globals()[name](train, test, options, folder)
        peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) // 1024
        precisions = precision(tops, read(test)[1])
        print(json.dumps({"task": "training", "peer": peers[1], **times, "peak_mb": peak, "precision": precisions}), flush=True)
        return
    for peer in peers or ["unmissed", "liblinear", "napkinxc", "omikuji"]:
        subprocess.run([sys.executable, __file__, train, test, "--one", peer], check=False)


if __name__ == "__main__":
    main()
