"""How often findings about misaligned files are raised, rightly and wrongly: the table of docs/checks.md.

Usage: python scripts/misalignment_study.py UNMISSED WORK_FOLDER NAME=TRAIN,TEST ...

Trains a linear model on each data set, and evaluates its predictions on subsets of the test rows: as they are, in place of other models
(constant, random, nearly blind), and misaligned. Prints the share of the runs in which each code from U016 on was raised. Needs numpy.
"""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

UNMISSED, WORK = sys.argv[1], Path(sys.argv[2])
WORK.mkdir(exist_ok=True)
SIZES, RUNS, DEPTH = (1000, 200, 60, 20), 10, 10


def read(path):
    header, *lines = Path(path).read_text().splitlines()
    rows, _, labels = map(int, header.split())
    heads = [line.split(" ", 1)[0] for line in lines[:rows]]
    return labels, [[int(one) for one in head.split(",") if one] if ":" not in head else [] for head in heads]


def run(*arguments):
    done = subprocess.run([UNMISSED, *map(str, arguments), "--quiet"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def predictions(name, train, test):
    path = WORK / f"{name}.predictions.txt"
    if not path.exists():
        run("train", train, "-o", WORK / f"{name}.safetensors", "--loss", "squared-hinge")
        run("predict", WORK / f"{name}.safetensors", test, "-k", DEPTH, "-o", path)
    pairs = (line.split() for line in path.read_text().splitlines()[1:])
    return [[(int(one.split(":")[0]), float(one.split(":")[1])) for one in row] for row in pairs]


def codes(truth, lists, labels):
    y, p = WORK / "y.txt", WORK / "p.txt"
    y.write_text(f"{len(truth)} 0 {labels}\n" + "".join(",".join(map(str, row)) + "\n" for row in truth))
    p.write_text("".join(" ".join(f"{label}:{score}" for label, score in row) + "\n" for row in lists))
    found = json.loads(run("evaluate", "--test", y, "--predictions", f"A={p}", "--metrics", "precision", "--format", "json"))
    return {finding["code"] for finding in found["findings"] if finding["code"] >= "U016"}


def ranked(labels):
    return [(int(label), float(DEPTH - rank)) for rank, label in enumerate(labels)]


def worlds(lists, counts, rng):
    labels, share = len(counts), counts / counts.sum()
    popular = np.argsort(-counts, kind="stable")
    drawn = min(DEPTH, int((counts > 0).sum()))

    def by_popularity():
        return ranked(rng.choice(labels, drawn, replace=False, p=share))

    def right(part):
        return lambda rows: [lists[row] if rng.random() < part else by_popularity() for row in rows]

    return {
        "the model": lambda rows: [lists[row] for row in rows],
        "frequent labels": lambda rows: [ranked(popular[:DEPTH])] * len(rows),
        "rare labels": lambda rows: [ranked(popular[-DEPTH:])] * len(rows),
        "random labels": lambda rows: [ranked(rng.choice(labels, DEPTH, replace=False)) for _ in rows],
        "3 % of the model's lists, others drawn by frequency": right(0.03),
        "10 %": right(0.1),
        "30 %": right(0.3),
        "lists drawn by frequency": right(0.0),
        "rows shuffled": lambda rows: [lists[row] for row in rng.permutation(rows)],
        "rows off by one": lambda rows: [lists[row] for row in np.roll(rows, -1)],
        "ids + 1": lambda rows: [[((label + 1) % labels, score) for label, score in lists[row]] for row in rows],
        "ids - 1": lambda rows: [[((label - 1) % labels, score) for label, score in lists[row]] for row in rows],
        "complement": lambda rows: [[(label, 1 - score) for label, score in lists[row]] for row in rows],
    }


for argument in sys.argv[3:]:
    name, files = argument.split("=", 1)
    train, test = files.split(",")
    rng = np.random.default_rng(0)
    labels, truth = read(test)
    counts = np.bincount([label for row in read(train)[1] for label in row], minlength=labels)
    for size in (len(truth), *SIZES):
        for world, make in worlds(predictions(name, train, test), counts, rng).items():
            raised = {}
            for _ in range(1 if size == len(truth) else RUNS):
                rows = np.sort(rng.choice(len(truth), size, replace=False))
                for code in codes([truth[row] for row in rows], make(rows), labels):
                    raised[code] = raised.get(code, 0) + 1
            print(name, size, world, raised or "none", sep="\t", flush=True)
