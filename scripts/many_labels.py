"""Writes generated data with very many labels as XMLC text, chunk by chunk: memory does not grow with the rows.

pip install numpy scipy, then:
python scripts/many_labels.py OUT --rows 490000 --test-rows 5000 --labels 670000 --features 135000 --nonzeros 75

Labels have a Zipf tail. Each has a prototype of 24 features; a fifth of the words of a row come from the prototypes of its labels, the
others from a Zipf vocabulary. Values are tf-idf (with the idf of the vocabulary), rows of length 1. OUT/train.txt and OUT/test.txt are written.
"""

import argparse
import os

import numpy as np
import scipy.sparse as sp

CHUNK = 20_000
PROTOTYPE = 24


def zipf(count, exponent):
    weights = 1.0 / np.arange(1, count + 1) ** exponent
    return np.cumsum(weights) / weights.sum()


def drawn(rng, cumulated, size, names):
    places = np.searchsorted(cumulated, rng.random(size)).astype(np.int32)
    return names[np.minimum(places, len(cumulated) - 1)]


class World:
    """What all rows have in common."""

    def __init__(self, rng, labels, features):
        self.label_cdf, self.word_cdf = zipf(labels, 0.7), zipf(features, 1.0)
        self.label_names = rng.permutation(labels).astype(np.int32)
        self.word_names = rng.permutation(features).astype(np.int32)
        frequent = drawn(rng, self.word_cdf, (labels, PROTOTYPE), self.word_names)
        rare = rng.integers(0, features, (labels, PROTOTYPE), dtype=np.int32)
        self.prototypes = np.where(rng.random((labels, PROTOTYPE)) < 0.35, frequent, rare)
        chance = np.empty(features)
        chance[self.word_names] = np.diff(self.word_cdf, prepend=0.0)
        # About the share of rows that have a word: 75 draws, four of five from the vocabulary.
        self.idf = -np.log(np.maximum(1.0 - (1.0 - 0.8 * chance - 0.2 / features) ** 75, 1e-6)).clip(0.1)

    def rows(self, rng, count, labels_per_row, nonzeros):
        """Features and labels of some rows."""
        numbers = 1 + rng.poisson(1.08 * labels_per_row - 1, count)
        owners = np.repeat(np.arange(count), numbers)
        shape = (count, len(self.label_names))
        y = sp.csr_matrix((np.ones(len(owners), np.float32), (owners, drawn(rng, self.label_cdf, len(owners), self.label_names))), shape)
        y.sum_duplicates()
        words = np.maximum(5, (1.32 * nonzeros * np.exp(0.45 * rng.standard_normal(count) - 0.1)).astype(np.int64))
        owners = np.repeat(np.arange(count), words)
        places = y.indptr[owners] + (rng.random(len(owners)) * np.diff(y.indptr)[owners]).astype(np.int64)
        own = self.prototypes[y.indices[places], rng.integers(0, PROTOTYPE, len(owners))]
        found = np.where(rng.random(len(owners)) < 0.2, own, drawn(rng, self.word_cdf, len(owners), self.word_names))
        x = sp.csr_matrix((np.ones(len(owners), np.float32), (owners, found)), (count, len(self.word_names)))
        x.sum_duplicates()
        x.sort_indices()
        x.data = np.log1p(x.data) * self.idf[x.indices]
        lengths = np.sqrt(np.add.reduceat(x.data**2, x.indptr[:-1]))
        x.data /= np.repeat(lengths, np.diff(x.indptr))
        return x, y


def write(path, world, rng, count, args):
    with open(path, "w") as out:
        out.write(f"{count} {args.features} {args.labels}\n")
        for first in range(0, count, CHUNK):
            x, y = world.rows(rng, min(CHUNK, count - first), args.labels_per_row, args.nonzeros)
            entries = [f"{feature}:{value:.4f}" for feature, value in zip(x.indices.tolist(), x.data.tolist(), strict=True)]
            labels = list(map(str, y.indices.tolist()))
            for row in range(x.shape[0]):
                own = ",".join(labels[y.indptr[row] : y.indptr[row + 1]])
                out.write(f"{own} {' '.join(entries[x.indptr[row] : x.indptr[row + 1]])}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--rows", type=int, default=490_000)
    parser.add_argument("--test-rows", type=int, default=5_000)
    parser.add_argument("--labels", type=int, default=670_000)
    parser.add_argument("--features", type=int, default=135_000)
    parser.add_argument("--nonzeros", type=float, default=75)
    parser.add_argument("--labels-per-row", type=float, default=5)
    parser.add_argument("--seed", type=int, default=11)
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    rng = np.random.default_rng(args.seed)
    world = World(rng, args.labels, args.features)
    write(os.path.join(args.out, "train.txt"), world, rng, args.rows, args)
    write(os.path.join(args.out, "test.txt"), world, rng, args.test_rows, args)


if __name__ == "__main__":
    main()
