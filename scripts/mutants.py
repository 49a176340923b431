#!/usr/bin/env python3
"""Mutation testing: mutants.py core|sample [--count N] [--seed S] [--jobs J] [--only-list] [-- ARGUMENTS OF THE TESTS].

`core` tries all mutants of the metrics and losses, `sample` a seeded sample of N mutants of the rest of the library. Tests are those beside
the code and the suite, compiled without optimisation; what follows `--` goes to them (names, `--skip NAME`). Prints what survived and
how many were caught; everything is in target/mutants-core or target/mutants-sample. Needs `cargo install cargo-mutants`.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = "crates/unmissed/src/"
CORE = [f"{SOURCES}metrics/**", f"{SOURCES}losses/**"]
#: Seconds for a build, and for all tests of a mutant: most that take longer do not end.
BUILD, TESTS = 900, 900
#: Names of files in which cargo-mutants lists mutants by what became of them.
OUTCOMES = ["caught", "missed", "timeout", "unviable"]


def cargo_mutants(arguments: list[str]) -> list[str]:
    # Without this variable of cargo it is the one on the path.
    return [os.environ.get("CARGO", "cargo"), "mutants", "--package", "unmissed", *arguments]


def listed(files: list[str]) -> list[str]:
    """The mutants of some files, one per line, as cargo-mutants names them."""
    found = subprocess.run(cargo_mutants(["--list", *files]), cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return [line for line in found.stdout.splitlines() if line.startswith(SOURCES)]


def sampled(mutants: list[str], count: int, seed: int) -> list[str]:
    """The same mutants for the same seed and list, in the list's order."""
    if count >= len(mutants):
        return mutants
    chosen = set(random.Random(seed).sample(range(len(mutants)), count))
    return [mutant for place, mutant in enumerate(mutants) if place in chosen]


def run(given: argparse.Namespace, files: list[str], left_out: list[str]) -> int:
    folder = ROOT / "target" / f"mutants-{given.what}"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "mutants.out").mkdir(parents=True)
    # Patterns of names do not apply to mutants that delete fields (cargo-mutants 27.1), but what an earlier run has caught is skipped.
    (folder / "mutants.out" / "previously_caught.txt").write_text("".join(f"{mutant}\n" for mutant in left_out))
    command = cargo_mutants([
        *files, "--iterate", f"--output={folder}", f"--jobs={given.jobs}", f"--timeout={TESTS}", f"--build-timeout={BUILD}",
        "--features=report,experiments,parquet", "--cargo-arg=--config=profile.dev.package.unmissed.opt-level=0", "--colors=never",
        "--", "--lib", "--test=suite", *(["--", *given.tests] if given.tests else []),
    ])
    status = subprocess.run(command, cwd=ROOT).returncode
    names = {outcome: folder / "mutants.out" / f"{outcome}.txt" for outcome in OUTCOMES}
    found = {outcome: path.read_text().splitlines() if path.exists() else [] for outcome, path in names.items()}
    for mutant in found["missed"]:
        print(f"survived: {mutant}")
    tried = sum(len(found[outcome]) for outcome in ["caught", "missed", "timeout"])
    counts = ", ".join(f"{len(found[outcome])} {outcome}" for outcome in OUTCOMES)
    # A mutant that never ends is noticed, too.
    print(f"{counts}; {100 * (1 - len(found['missed']) / tried):.1f} % of {tried} were noticed" if tried else f"{counts}; none was tried")
    # 2: some survived; 3: some did not end. Everything else is a failure of the run itself.
    return 0 if status in (0, 2, 3) else status


def main() -> int:
    own, tests = (sys.argv[1:], []) if "--" not in sys.argv else (sys.argv[1 : sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1 :])
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["core", "sample"])
    parser.add_argument("--count", type=int, default=300, help="size of the sample; default: 300")
    parser.add_argument("--seed", type=int, default=1, help="default: 1")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time; default: 1")
    parser.add_argument("--only-list", action="store_true", help="print the mutants and end")
    given = parser.parse_args(own, argparse.Namespace(tests=tests))
    if given.what == "core":
        files = [f"--file={glob}" for glob in CORE]
    else:
        files = [f"--file={SOURCES}**", *(f"--exclude={glob}" for glob in CORE)]
    mutants = listed(files)
    if given.what == "sample":
        print(f"{given.count} of {len(mutants)} mutants, seed {given.seed}", file=sys.stderr)
        chosen = sampled(mutants, given.count, given.seed)
    else:
        chosen = mutants
    if given.only_list:
        print("\n".join(chosen))
        return 0
    return run(given, files, sorted(set(mutants) - set(chosen)))


if __name__ == "__main__":
    sys.exit(main())
