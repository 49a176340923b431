"""An extreme problem with names and text: packages of Debian, described in words, and the packages that they depend on.

    python scripts/data/debian.py OUT [--suite sid] [--labels depends|tags] [--least 1]

Rows are packages, features the words of their descriptions (tf-idf, unit norm), labels the packages that they depend on; half of the
labels occur once. With --labels tags labels are debtags instead, which are known to be incomplete. The lists come by apt-get from the
mirror that this machine uses, into OUT/apt (40 MB), and are not fetched again. Writes train.txt and test.txt (30 % of the packages, by
a hash of their names, so that a package stays where it is when the archive grows), labels.txt, features.txt, rows_train.txt and
rows_test.txt (a name per line), and train.jsonl and test.jsonl with the text. Takes a minute or two; the archive changes every day,
so the numbers do too.
"""

import argparse
import collections
import hashlib
import json
import math
import re
import subprocess

import xmlc

#: Words of fewer packages than this are no features.
LEAST_WORDS = 3
#: Of 100 packages, how many are tested on.
TEST = 30

WORD = re.compile(r"[a-z0-9]+(?:[.+-]+[a-z0-9]+)*\+*")
#: A group of tags that share a facet: 'role::{program,documentation}'.
FACET = re.compile(r"([^\s,{}]+)::\{([^}]*)\}")


class Lists:
    """The package lists of a suite, in a folder of their own."""

    def __init__(self, folder, suite):
        self.folder = xmlc.folder(folder)
        (self.folder / "lists" / "partial").mkdir(parents=True, exist_ok=True)
        sources = self.folder / f"{suite}.list"
        settings = {
            "Dir::Etc::sourcelist": sources.resolve(),
            "Dir::Etc::sourceparts": "-",
            "Dir::State::lists": (self.folder / "lists").resolve(),
            "Acquire::Languages": "en",
        }
        self.options = [part for name, value in settings.items() for part in ("-o", f"{name}={value}")]
        if not sources.exists():
            sources.write_text(f"deb {mirror()} {suite} main\n")
        if not self.files("Packages"):
            subprocess.run(["apt-get", "-qq", *self.options, "update"], check=True)

    def files(self, kind):
        command = ["apt-get", "indextargets", *self.options, "--format", "$(FILENAME)", f"Created-By: {kind}"]
        return sorted(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())

    def stanzas(self, kind):
        """Fields of each entry, lines that go on joined by newlines."""
        for file in self.files(kind):
            text = subprocess.run(["/usr/lib/apt/apt-helper", "cat-file", file], check=True, capture_output=True).stdout
            for stanza in text.decode("utf8", "replace").split("\n\n"):
                fields = re.findall(r"^([^\s:]+):[ \t]*(.*(?:\n[ \t].*)*)", stanza, re.MULTILINE)
                if fields:
                    yield dict(fields)


def mirror():
    """The address from which this machine gets Debian."""
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    known = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return next((address for address in known if address.rstrip("/").endswith("/debian")), "http://deb.debian.org/debian")


def dependencies(fields):
    """The first choice of each dependency, without versions and architectures."""
    choices = (choice.split("|")[0] for choice in fields.get("Depends", "").split(","))
    return {re.split(r"[\s(:\[]", choice.strip())[0] for choice in choices if choice.strip()}


def tags(fields):
    text = FACET.sub(lambda found: ",".join(f"{found[1]}::{tag.strip()}" for tag in found[2].split(",")), fields.get("Tag", ""))
    return {tag.strip() for tag in text.split(",") if tag.strip()}


LABELS = {"depends": dependencies, "tags": tags}


def packages(lists, labels_of):
    """Text and labels of each package that has labels."""
    texts = {fields["Package"]: fields["Description-en"] for fields in lists.stanzas("Translations") if "Description-en" in fields}
    found = {}
    for fields in lists.stanzas("Packages"):
        name, labels = fields["Package"], labels_of(fields)
        if labels:
            text = texts.get(name, fields.get("Description", ""))
            # A line with a dot stands for an empty one.
            found.setdefault(name, (f"{name.replace('-', ' ')}\n" + re.sub(r"^ \.$", "", text, flags=re.MULTILINE), labels))
    return dict(sorted(found.items()))


def frequent(sets, least):
    """Numbers of what occurs in at least so many sets, and in how many it does."""
    counts = collections.Counter(one for some in sets for one in some)
    kept = sorted(one for one, count in counts.items() if count >= least)
    return {one: place for place, one in enumerate(kept)}, counts


def weighted(words, features, counts, rows):
    """Words by tf-idf, scaled to unit norm."""
    values = {features[word]: (1 + math.log(count)) * math.log(rows / counts[word]) for word, count in words.items() if word in features}
    norm = math.sqrt(sum(value * value for value in values.values()))
    return {feature: value / norm for feature, value in values.items()} if norm else {}


def is_tested(name):
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "big") % 100 < TEST


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", help="the folder to write into")
    parser.add_argument("--suite", default="sid", help="stable, trixie, sid, ... [%(default)s]")
    parser.add_argument("--labels", choices=LABELS, default="depends", help="what labels are [%(default)s]")
    parser.add_argument("--least", type=int, default=1, help="labels of fewer packages are left out [%(default)s]")
    options = parser.parse_args()
    out = xmlc.folder(options.out)
    found = packages(Lists(out / "apt", options.suite), LABELS[options.labels])
    labels, _ = frequent([labels for _, labels in found.values()], options.least)
    found = {name: (text, kept) for name, (text, given) in found.items() if (kept := sorted(given & labels.keys()))}
    words = {name: collections.Counter(WORD.findall(text.lower())) for name, (text, _) in found.items()}
    features, counts = frequent(words.values(), LEAST_WORDS)
    xmlc.write_lines(out / "labels.txt", labels)
    xmlc.write_lines(out / "features.txt", features)
    for part, tested in (("train", False), ("test", True)):
        names = [name for name in found if is_tested(name) == tested]
        rows = [([labels[one] for one in found[name][1]], weighted(words[name], features, counts, len(found))) for name in names]
        xmlc.write(out / f"{part}.txt", rows, len(features), len(labels))
        xmlc.write_lines(out / f"rows_{part}.txt", names)
        texts = ({"id": name, "text": found[name][0], "labels": found[name][1]} for name in names)
        xmlc.write_lines(out / f"{part}.jsonl", (json.dumps(one) for one in texts))
        print(f"{part}: {len(rows)} rows, {sum(len(row[0]) for row in rows) / len(rows):.2f} labels per row")
    print(f"{len(features)} features, {len(labels)} labels")


if __name__ == "__main__":
    main()
