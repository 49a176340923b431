"""A hierarchy of labels: human genes and the terms of the Gene Ontology that annotators gave them.

    python scripts/data/go_human.py OUT

Rows are genes, labels are terms, features are the protein domains (Pfam and PROSITE) of the gene. hierarchy.tsv has the is-a edges
between labels (child, parent); terms in between that no gene has are passed over. Annotators leave ancestors out by convention, so
a propensity that is estimated from this hierarchy measures that convention. Both packages of Debian that hold the data
(r-bioc-org.hs.eg.db and r-bioc-go.db) come by apt-get (50 MB, of the release that runs here; 3.16.0-1 in Debian 12). Writes gohuman_train.txt,
gohuman_test.txt, hierarchy.tsv and labels.txt. Takes a minute; needs apt-get, dpkg-deb and nothing but Python.
"""

import argparse
import collections
import random
import sqlite3

import xmlc

#: Branches of the ontology, and their roots, which say only that nothing is known.
BRANCHES = ("bp", "mf", "cc")
ROOTS = {"GO:0008150", "GO:0003674", "GO:0005575"}
#: The share of genes to test on, and the seed of the split.
TEST, SEED = 0.19904, 0


def database(package, name):
    unpacked, version = xmlc.debian_package(package)
    print(f"{package} {version}")
    return sqlite3.connect(next(unpacked.rglob(name)))


def annotated(genes):
    """Terms and domains of genes that have both, by gene."""
    terms, domains = collections.defaultdict(set), collections.defaultdict(set)
    for branch in BRANCHES:
        for gene, term in genes.execute(f"select _id, go_id from go_{branch}"):
            terms[gene].add(term)
    for source in ("pfam", "prosite"):
        for gene, domain in genes.execute(f"select _id, {source}_id from {source}"):
            if domain:
                domains[gene].add(domain)
    return {gene: (terms[gene] - ROOTS, domains[gene]) for gene in sorted(terms) if terms[gene] - ROOTS and domains[gene]}


def parents(ontology):
    """Is-a edges by the names of terms."""
    names = dict(ontology.execute("select _id, go_id from go_term"))
    found = collections.defaultdict(set)
    for branch in BRANCHES:
        for child, parent, kind in ontology.execute(f"select _id, _parent_id, relationship_type from go_{branch}_parents"):
            if kind == "isa":
                found[names[child]].add(names[parent])
    return found


def nearest(term, above, labels):
    """The nearest ancestors that are labels."""
    found, seen, open_ = set(), set(), list(above[term])
    while open_:
        ancestor = open_.pop()
        if ancestor in seen:
            continue
        seen.add(ancestor)
        if ancestor in labels:
            found.add(ancestor)
        else:
            open_ += above[ancestor]
    return found


def numbered(sets):
    return {name: place for place, name in enumerate(sorted(set().union(*sets)))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", help="the folder to write into")
    out = xmlc.folder(parser.parse_args().out)
    rows = annotated(database("r-bioc-org.hs.eg.db", "org.Hs.eg.sqlite"))
    above = parents(database("r-bioc-go.db", "GO.sqlite"))
    labels, features = (numbered(row[which] for row in rows.values()) for which in (0, 1))
    tested = set(random.Random(SEED).sample(list(rows), round(TEST * len(rows))))
    for part, some in (("train", [gene for gene in rows if gene not in tested]), ("test", [gene for gene in rows if gene in tested])):
        made = [([labels[term] for term in rows[one][0]], {features[domain]: 1 for domain in rows[one][1]}) for one in some]
        xmlc.write(out / f"gohuman_{part}.txt", made, len(features), len(labels))
    edges = sorted((labels[child], labels[parent]) for child in labels for parent in nearest(child, above, labels))
    xmlc.write_lines(out / "hierarchy.tsv", ["child\tparent", *(f"{child}\t{parent}" for child, parent in edges)])
    xmlc.write_lines(out / "labels.txt", labels)
    sizes = f"{len(rows) - len(tested)} / {len(tested)} rows, {len(features)} features, {len(labels)} labels, {len(edges)} edges"
    print(f"{sizes}, {sum(len(terms) for terms, _ in rows.values()) / len(rows):.2f} labels per row")


if __name__ == "__main__":
    main()
