"""What propensities are worth to label trees: labels of the training rows removed with known propensities, precision on complete test labels.

pip install numpy scipy scikit-learn, cargo build --release, then:
python scripts/bench_tree_propensities.py TRAIN TEST [SEEDS] [OPTION ...]

Propensities are log-uniform in 0.1 to 1, drawn by label and seed. Three trees are trained on the labels that are left: without a correction, with
probabilities divided by the propensities, and with labels counted by their inverse propensities; OPTIONs go to each. Prints P@1,3,5 in percent,
means over the seeds, and for both corrections the mean of the paired differences with its standard error.
UNMISSED names the program unless it is target/release/unmissed.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
from bench_training_peers import UNMISSED, precision, read

METHODS = {"no correction": [], "divided": ["--propensity"], "count": ["--correction", "count", "--propensity"]}


def run(*command):
    subprocess.run([UNMISSED, *map(str, command), "-q"], check=True, capture_output=True)


def tops(path):
    with open(path) as lines:
        next(lines)
        rows = [[entry.split(":") for entry in line.split()] for line in lines]
    return [[int(label) for label, _ in sorted(row, key=lambda pair: (-float(pair[1]), int(pair[0])))] for row in rows]


def main():
    train, test, *rest = sys.argv[1:]
    seeds = int(rest[0]) if rest else 5
    labels = read(test)[1]
    values = {method: [] for method in METHODS}
    with tempfile.TemporaryDirectory() as folder:
        table, masked, model, found = (os.path.join(folder, name) for name in ("p.csv", "masked.txt", "model", "found.txt"))
        for seed in range(seeds):
            propensities = 10 ** -np.random.default_rng(seed).random(labels.shape[1])
            with open(table, "w") as lines:
                lines.write("label,propensity\n")
                lines.writelines(f"{label},{p:.6f}\n" for label, p in enumerate(propensities))
            run("mask", train, "--propensity", f"table:{table}", "--seed", seed, "-o", masked)
            for method, options in METHODS.items():
                spec = [f"table:{table}"] if options else []
                run("train", masked, "-o", model, "--tree", "--trees", 3, "--seed", seed, *options, *spec, *rest[1:])
                run("predict", model, test, "-k", 5, "-o", found)
                values[method].append(precision(tops(found), labels))
    plain = np.array(values["no correction"])
    for method, found in values.items():
        gain = np.array(found) - plain
        error = gain.std(axis=0, ddof=1) / np.sqrt(seeds)
        print(method, np.mean(found, axis=0).round(2), "gain", gain.mean(axis=0).round(2), "standard error", error.round(2), flush=True)


if __name__ == "__main__":
    main()
