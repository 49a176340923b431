#!/usr/bin/env python3
"""Large loads: load.py UNMISSED TASK. Prints what docs/reliability.md states.

Tasks: `labels [N]` audits two models on data with N labels (3 million by default), `processes [N]` evaluates one file in N processes at
once (200) and compares what they print, `rows [N]` merges tallies of a million rows each until there are N (10^9), with the Python package in place of
UNMISSED. `bench_stream.py long N` evaluates N rows one after the other.
"""

import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def write(folder: Path, rows: int, labels: int, seed: int = 1) -> None:
    """Training and test labels with a long tail, and predictions of two models that find some of them."""
    rng = random.Random(seed)
    draw = lambda: min(labels - 1, int(labels * rng.random() ** 3))
    with open(folder / "train.txt", "w") as train, open(folder / "test.txt", "w") as test:
        for file in (train, test):
            print(rows, 1, labels, file=file)
        with open(folder / "a.txt", "w") as a, open(folder / "b.txt", "w") as b:
            for model in (a, b):
                print(rows, labels, file=model)
            for _ in range(rows):
                print(",".join(map(str, sorted({draw() for _ in range(5)}))), "0:1", file=train)
                relevant = sorted({draw() for _ in range(5)})
                print(",".join(map(str, relevant)), "0:1", file=test)
                for model, share in ((a, 0.6), (b, 0.5)):
                    found = {label for label in relevant if rng.random() < share} | {draw() for _ in range(5)}
                    print(*(f"{label}:{rng.random():.4f}" for label in sorted(found)), file=model)


def labels(program: str, folder: Path, count: int = 3_000_000) -> None:
    write(folder, 300_000, count)
    arguments = "audit --train train.txt --test test.txt --predictions A=a.txt --predictions B=b.txt -o page.html --labels-csv labels.csv".split()
    start = time.perf_counter()
    subprocess.run([program, *arguments, "--quiet"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"audit of {count:,} labels, 300,000 rows: {seconds:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of processor time, "
          f"{used.ru_maxrss // 1024} MB, a page of {(folder / 'page.html').stat().st_size // 1024} KB, "
          f"a table of {(folder / 'labels.csv').stat().st_size >> 20} MB")


def processes(program: str, folder: Path, count: int = 200) -> None:
    write(folder, 20_000, 10_000)
    arguments = "evaluate --train train.txt --test test.txt --predictions A=a.txt --propensity jpv --format json".split()
    start = time.perf_counter()
    running = [subprocess.Popen([program, *arguments, "--tally", f"{place}.tally"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
               for place in range(count)]
    ends = [(process.communicate(), process.returncode) for process in running]
    seconds = time.perf_counter() - start
    failed = [errors.decode() for (_, errors), code in ends if code != 0]
    tallies = {(folder / f"{place}.tally").read_bytes() for place in range(count) if (folder / f"{place}.tally").exists()}
    print(f"{count} processes at once: {seconds:.1f} s, {len(failed)} failed, {len(tallies)} different tallies")
    if failed or len(tallies) != 1:
        sys.exit("\n".join(failed[:3]) or "results differ")


def rows(program: str, folder: Path, count: int = 10**9) -> None:
    import unmissed as um
    from bench_stream import matrices, peak, resident

    each, width = 10**6, 100_000
    y, scores = matrices(each, width, 10)
    part, everything = (um.Evaluator(width, train=y, propensity="jpv", metrics=["precision", "ndcg", "macro-f", "coverage"]) for _ in "ab")
    start = time.perf_counter()
    part.update(y, scores)
    alone, tally = part.compute(), part.to_bytes()
    print(f"{each:,} rows: {time.perf_counter() - start:.2f} s, a tally of {len(tally) / 1e6:.1f} MB", flush=True)
    del y, scores, part
    done, start = 0, time.perf_counter()
    while done < count:
        everything.merge(tally)
        done += each
        if done in (10**6, 2 * 10**6, 10**7, 10**8) or done >= count:
            seconds = time.perf_counter() - start
            print(f"{done:,} rows: {done / seconds:,.0f} rows per second, memory {resident():.0f} MB, at most {peak():.0f} MB", flush=True)
    for found, wanted in zip(everything.compute().rows, alone.rows, strict=True):
        if found.n != done or abs(found.value - wanted.value) > 1e-12 * abs(wanted.value):
            sys.exit(f"copies of the same rows have another value: expected {wanted}, found {found}")


if __name__ == "__main__":
    tasks = {"labels": labels, "processes": processes, "rows": rows}
    program, name, *numbers = sys.argv[1:] or ["", ""]
    if name not in tasks:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        tasks[name](os.path.abspath(program), Path(folder), *map(int, numbers))
