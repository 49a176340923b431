#!/usr/bin/env python3
"""Generate the long-tailed data sets `b` and `c` of the documentation: python scripts/data/long_tailed.py b FOLDER

Label frequencies follow a power law. Each label has a prototype of 24 features; a few words of a row come from the prototypes of its
labels, the others from a power law over all features. Values are tf-idf with rows of norm 1. Needs numpy and scipy."""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

SEED = 11
PROTOTYPE = 24
# Share of a prototype that comes from the power law; the rest is uniform, so rarer and more telling.
COMMON = 0.35
# Rows are made in pieces, to bound memory. Another size gives other data.
PIECE = 20_000


@dataclass
class Settings:
    train_rows: int
    test_rows: int
    features: int
    labels: int
    labels_per_row: float
    # Words per row before repetitions are merged, and the share of them that tells something about the labels.
    words: float
    telling: float


SETTINGS = {
    "b": Settings(12_188, 5_805, 5_000, 976, 4.46, 236 * 1.85, 0.05),
    "c": Settings(13_079, 6_229, 101_938, 2_951, 13.38, 670 * 1.75, 0.03),
}


def power_law(size, exponent):
    """The distribution function of ranks whose frequencies follow a power law."""
    weights = np.cumsum(1.0 / np.arange(1, size + 1) ** exponent)
    return weights / weights[-1]


def draw(rng, distribution, size, names):
    ranks = np.searchsorted(distribution, rng.random(size)).astype(np.int32)
    return names[np.minimum(ranks, len(distribution) - 1)]


def counts_matrix(rows, cols, shape):
    matrix = sp.coo_matrix((np.ones(len(rows), np.float32), (rows, cols)), shape=shape).tocsr()
    matrix.sum_duplicates()
    matrix.sort_indices()
    return matrix


def draw_labels(rng, rows, settings):
    names = rng.permutation(settings.labels).astype(np.int32)
    per_row = 1 + rng.poisson(settings.labels_per_row * 1.08 - 1, rows)
    of = np.repeat(np.arange(rows, dtype=np.int32), per_row)
    drawn = draw(rng, power_law(settings.labels, 0.8), len(of), names)
    return counts_matrix(of, drawn, (rows, settings.labels))


def draw_words(rng, labels, settings):
    """How often each feature occurs in each row."""
    rows = labels.shape[0]
    common = power_law(settings.features, 1.0)
    names = rng.permutation(settings.features).astype(np.int32)
    shape = (settings.labels, PROTOTYPE)
    is_common = rng.random(shape) < COMMON
    from_common = draw(rng, common, shape, names)
    prototypes = np.where(is_common, from_common, rng.integers(0, settings.features, shape, dtype=np.int32)).astype(np.int32)
    words = np.maximum(5, (settings.words * np.exp(0.45 * rng.standard_normal(rows) - 0.1)).astype(np.int64))
    pieces = []
    for start in range(0, rows, PIECE):
        of_piece = words[start : start + PIECE]
        of = np.repeat(np.arange(len(of_piece), dtype=np.int32), of_piece)
        first = labels.indptr[start : start + len(of_piece)].astype(np.int64)
        number = np.diff(labels.indptr[start : start + len(of_piece) + 1])
        label = labels.indices[first[of] + (rng.random(len(of)) * number[of]).astype(np.int64)]
        telling = prototypes[label, rng.integers(0, PROTOTYPE, len(of))]
        is_telling = rng.random(len(of)) < settings.telling
        features = np.where(is_telling, telling, draw(rng, common, len(of), names))
        pieces.append(counts_matrix(of, features, (len(of_piece), settings.features)))
    return sp.vstack(pieces).tocsr()


def tf_idf(words):
    rows, features = words.shape
    idf = np.log(rows / (1.0 + np.bincount(words.indices, minlength=features))).clip(0.1).astype(np.float32)
    words.data = (np.log1p(words.data) * idf[words.indices]).astype(np.float32)
    norms = np.sqrt(np.add.reduceat(words.data**2, words.indptr[:-1]))
    words.data /= np.repeat(norms, np.diff(words.indptr)).astype(np.float32)
    return words


def write(path, features, labels):
    with path.open("w") as file:
        file.write(f"{features.shape[0]} {features.shape[1]} {labels.shape[1]}\n")
        for row in range(features.shape[0]):
            start, end = features.indptr[row], features.indptr[row + 1]
            entries = zip(features.indices[start:end].tolist(), features.data[start:end].tolist())
            of_row = labels.indices[labels.indptr[row] : labels.indptr[row + 1]].tolist()
            file.write(",".join(map(str, of_row)) + " " + " ".join(f"{feature}:{value:.6f}" for feature, value in entries) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=SETTINGS)
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()
    settings = SETTINGS[args.name]
    rng = np.random.default_rng(SEED)
    labels = draw_labels(rng, settings.train_rows + settings.test_rows, settings)
    features = tf_idf(draw_words(rng, labels, settings))
    args.folder.mkdir(parents=True, exist_ok=True)
    end = settings.train_rows
    write(args.folder / "train.txt", features[:end], labels[:end])
    write(args.folder / "test.txt", features[end:], labels[end:])


if __name__ == "__main__":
    main()
