#!/usr/bin/env python3
"""What happens when things go wrong: faults.py UNMISSED [--trials N] [--seed S] [--timeout SECONDS] [--only FAULT...] [--jobs JOB...] [--python PYTHON] [--short].

Runs the program UNMISSED on generated data and kills it, fills its disk, cuts its inputs, takes its memory, its rights and its
folders away. What must hold: no half-written file under its final name, no result from a mixture of old and changed input, no lost
block of a training run, no panic, and a message with a cause wherever the program could still write one. Prints a table in Markdown, and what did not hold. Needs Linux; a full
disk needs root (a small tmpfs is mounted), and is skipped otherwise. Streaming evaluation is killed too if PYTHON (default: this one) has the package. --short
takes small data and few trials, for `make test`.
"""

import argparse
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Job:
    """A command that writes files."""

    name: str
    arguments: list[str]
    outputs: list[str]
    # What continues it after a kill.
    again: list[str] = field(default_factory=list)
    # Finished work that a resumed run must not lose: files, and what its JSON calls their number.
    kept: tuple[str, str] | None = None
    # Faults to try; all if empty.
    only: list[str] = field(default_factory=list)
    # Whether it is a Python program that uses the package.
    is_python: bool = False


JOBS = [
    Job("train", ["train", "train.txt", "-o", "model", "--memory", "3MB"], ["model"], again=["--resume"],
        kept=("model.partial/[0-9]*.block", "resumed_blocks")),
    Job("train --tree", ["train", "train.txt", "-o", "tree", "--tree", "kmeans:branch=8,leaf=8", "--trees", "3"], ["tree"], again=["--resume"],
        kept=("tree.partial/part-*.block", "resumed")),
    Job("predict", ["predict", "trained", "test.txt", "-o", "scores.txt"], ["scores.txt"]),
    Job("convert", ["convert", "train.txt", "converted.npz"], ["converted.x.npz", "converted.y.npz"]),
    Job("evaluate --tally", ["evaluate", "--test", "test.txt", "--predictions", "p.txt", "--train", "train.txt", "--tally", "tally"], ["tally"]),
    Job("audit", ["audit", "--train", "train.txt", "--test", "test.txt", "--predictions", "p.txt", "-o", "page.html", "--labels-csv", "labels.csv"],
        ["page.html", "labels.csv"]),
    Job("annotate plan", ["annotate", "plan", "--test", "test.txt", "--predictions", "p.txt", "--budget", "100", "-o", "plan"],
        ["plan/pairs.csv", "plan/judge.html", "plan/plan.json.zst"]),
    # Faults of files are the program's business; here it is whether a run continues from the last tally it kept.
    Job("um.Evaluator", ["stream.py"], ["stream.tally"], only=["kills"], is_python=True),
]

# Rows arrive in small batches. After each, the tally is kept in one step, so that a second run continues from it.
STREAM = """
import os
import unmissed as um

def keep(name, content):
    with open(name + ".tmp", "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(name + ".tmp", name)

y, scores = um.read("test.txt").y, um.read("p.txt").scores
stream = um.Evaluator(y.shape[1], k=[1, 5], metrics=["precision", "ndcg"])
if os.path.exists("so_far"):
    stream.merge(open("so_far", "rb").read())
for first in range(stream.n_rows, y.shape[0], 50):
    stream.update(y[first : first + 50], scores[first : first + 50])
    keep("so_far", stream.to_bytes())
keep("stream.tally", stream.to_bytes())
"""

# What differs from run to run: the nonce of a page.
NONCE = re.compile(rb"nonce(-|=\")[A-Za-z0-9+/=]*")

# What a job finds in its folder.
INPUTS = ["train.txt", "test.txt", "p.txt", "trained", "stream.py"]

# Methods of the harness.
FAULTS = ["kills", "full_disk", "cut_inputs", "inputs_change", "folder_vanishes", "little_memory", "no_rights"]


class Harness:
    def __init__(self, given: argparse.Namespace) -> None:
        self.program, self.timeout, self.short = str(Path(given.program).resolve()), given.timeout, given.short
        # A link to an interpreter is kept: it says which environment is meant.
        self.python = os.path.abspath(found) if (found := shutil.which(given.python)) else None
        self.trials = given.trials or (2 if given.short else 50)
        self.random, self.only = random.Random(given.seed), given.only
        self.jobs = [job for job in JOBS if not given.jobs or job.name in given.jobs]
        self.broken: list[str] = []
        self.table: list[tuple[str, str, int, str]] = []

    # --- running

    def run(self, folder: Path, arguments: list[str], *, kill_after: float | None = None, prepare=None, during=None, environment=None):
        """Exit code (negative: a signal) and what was written to stderr; stdout is in `self.printed`."""
        command = [self.python, *arguments] if arguments[0].endswith(".py") else [self.program, *arguments, "--quiet"]
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=prepare,
                                   env={**os.environ, **(environment or {})})
        try:
            if during is not None:
                during(process)
            if kill_after is not None:
                try:
                    process.wait(kill_after)
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
            self.printed, errors = process.communicate(timeout=self.timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return None, "did not end"
        return process.returncode, errors.decode(errors="replace")

    def folder(self, base: Path) -> Path:
        """A new folder with the inputs."""
        folder = Path(tempfile.mkdtemp(dir=base))
        for name in INPUTS:
            shutil.copy(self.inputs / name, folder / name)
        return folder

    @staticmethod
    def content(path: Path) -> bytes:
        """The bytes of an output, without what differs from run to run."""
        return NONCE.sub(b"nonce", path.read_bytes()) if path.suffix == ".html" else path.read_bytes()

    def note(self, fault: str, job: str, outcomes: Counter) -> None:
        text = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
        self.table.append((fault, job, sum(outcomes.values()), text))
        print(f"| {fault} | {job} | {sum(outcomes.values())} | {text} |", flush=True)

    def fail(self, text: str) -> None:
        self.broken.append(text)
        print(f"BROKEN: {text}", flush=True)

    def check_whole(self, what: str, job: Job, folder: Path) -> bool:
        """Outputs are there as a whole run writes them, or not at all."""
        there = [name for name in job.outputs if (folder / name).exists()]
        for name in there:
            found, whole = self.content(folder / name), self.reference[job.name][name]
            if found != whole:
                self.fail(f"{what}: {name} is there with {len(found)} bytes, not those of a whole run ({len(whole)} bytes)")
        return len(there) == len(job.outputs)

    def outcome(self, what: str, job: Job, folder: Path, code: int | None, errors: str) -> str:
        """In a word, after checking that it is a decent one."""
        is_whole = self.check_whole(what, job, folder)
        if code is None:
            self.fail(f"{what}: did not end within {self.timeout:g} s")
            return "did not end"
        if "panicked" in errors or code == 101:
            self.fail(f"{what}: panicked: {errors[-400:]}")
            return "panicked"
        if code == 0:
            if not is_whole:
                self.fail(f"{what}: completed without its files")
            return "completed"
        if code == -signal.SIGABRT and "memory allocation" in errors:
            return "out-of-memory message"
        if code < 0:
            self.fail(f"{what}: ended by signal {-code} without a message")
            return f"signal {-code}"
        if not errors.strip():
            self.fail(f"{what}: ended with code {code} without a message")
        return "error with a cause"

    # --- faults

    def kills(self, base: Path, job: Job) -> None:
        """As many kills as there are trials while outputs are missing; those that come too late are counted beside them."""
        outcomes: Counter = Counter()
        late = "finished before the kill"
        while (landed := outcomes.total() - outcomes[late]) < self.trials and outcomes[late] < 4 * self.trials:
            folder = self.folder(base)
            code, _ = self.run(folder, job.arguments, kill_after=self.random.uniform(0.0, self.seconds[job.name]))
            is_whole = self.check_whole(f"{job.name} killed", job, folder)
            if not is_whole:
                # What was left behind must not be in the way.
                if job.name == "annotate plan" and (folder / "plan" / "pairs.csv").exists():
                    shutil.rmtree(folder / "plan")
                is_resumed = self.run_again(job, folder)
                outcome = "resumed to the same bytes" if is_resumed else "rerun completed"
            else:
                outcome = late
            outcomes[outcome] += 1
            shutil.rmtree(folder)
        if landed == 0:
            self.fail(f"{job.name}: every kill came too late")
        self.note("SIGKILL at a random moment", job.name, outcomes)

    def run_again(self, job: Job, folder: Path) -> bool:
        """Runs what was killed once more, and says whether it continued from finished work."""
        kept = list(folder.glob(job.kept[0])) if job.kept else []
        is_resumed = bool(kept) or (folder / "so_far").exists()
        code, errors = self.run(folder, [*job.arguments, *job.again, *(["--format", "json"] if job.kept else [])])
        if code != 0:
            self.fail(f"{job.name} after a kill: {errors[-400:]}")
        elif job.kept and (used := json.loads(self.printed)[job.kept[1]]) != len(kept):
            self.fail(f"{job.name} after a kill: {len(kept)} blocks were finished, and {used} were used")
        if not self.check_whole(f"{job.name} after a kill", job, folder):
            self.fail(f"{job.name} after a kill: files are missing")
        return is_resumed

    def full_disk(self, base: Path, job: Job) -> None:
        disk = base / "disk"
        disk.mkdir(exist_ok=True)
        outcomes: Counter = Counter()
        whole = sum(len(content) for content in self.reference[job.name].values())
        for _ in range(max(3, self.trials // 10)):
            size = sum((self.inputs / name).stat().st_size + 8192 for name in INPUTS)
            room = self.random.randrange(4096, max(whole, 8192))
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size + room}", "tmpfs", str(disk)], check=True)
            try:
                folder = self.folder(disk)
                code, errors = self.run(folder, job.arguments)
                outcomes[self.outcome(f"{job.name} on a full disk", job, folder, code, errors)] += 1
            except OSError:
                outcomes["inputs did not fit"] += 1
            finally:
                subprocess.run(["umount", str(disk)], check=True)
        self.note("full disk", job.name, outcomes)

    def cut_inputs(self, base: Path, job: Job) -> None:
        outcomes: Counter = Counter()
        for _ in range(self.trials):
            folder = self.folder(base)
            name = self.random.choice([part for part in job.arguments if (folder / part).is_file()])
            with open(folder / name, "r+b") as file:
                file.truncate(self.random.randrange((folder / name).stat().st_size))
            code, errors = self.run(folder, job.arguments)
            self.decent(f"{job.name} with {name} cut off", code, errors)
            outcomes["completed" if code == 0 else "error with a cause"] += 1
            shutil.rmtree(folder)
        self.note("input cut off", job.name, outcomes)

    def decent(self, what: str, code: int | None, errors: str) -> None:
        if code is None or code < 0 or code == 101 or "panicked" in errors or (code > 0 and not errors.strip()):
            self.fail(f"{what}: exit code {code}: {errors[-400:]}")

    def inputs_change(self, base: Path, job: Job) -> None:
        """A file that gets shorter, or other bytes, while it is read."""
        outcomes: Counter = Counter()
        for _ in range(self.trials):
            folder = self.folder(base)
            name = self.random.choice([part for part in job.arguments if (folder / part).is_file()])
            wait, cut = self.random.uniform(0.0, self.seconds[job.name]), self.random.random() < 0.5

            def during(_, path=folder / name, wait=wait, cut=cut) -> None:
                time.sleep(wait)
                size = path.stat().st_size
                with open(path, "r+b") as file:
                    if cut:
                        file.truncate(self.random.randrange(size))
                    else:
                        file.seek(self.random.randrange(size))
                        file.write(self.random.randbytes(min(1000, size // 2)))

            code, errors = self.run(folder, job.arguments, during=during)
            self.decent(f"{job.name} while {name} changes", code, errors)
            if code == 0:
                self.check_not_mixed(f"{job.name} while {name} changes", job, folder)
            outcomes["completed" if code == 0 else "error with a cause"] += 1
            shutil.rmtree(folder)
        self.note("input changed while it is read", job.name, outcomes)

    def check_not_mixed(self, what: str, job: Job, folder: Path) -> None:
        """Outputs are those of the input before its change, or of the input after it."""
        written = self.written(job, folder)
        if written == self.reference[job.name]:
            return
        for name in job.outputs:
            (folder / name).unlink()
        code, _ = self.run(folder, job.arguments)
        if code != 0 or written != self.written(job, folder):
            self.fail(f"{what}: the result is neither that of the old nor that of the new input")

    def written(self, job: Job, folder: Path) -> dict[str, bytes]:
        return {name: self.content(folder / name) for name in job.outputs}

    def folder_vanishes(self, base: Path, job: Job) -> None:
        outcomes: Counter = Counter()
        for _ in range(max(3, self.trials // 5)):
            folder = self.folder(base)
            wait = self.random.uniform(0.0, self.seconds[job.name])

            def during(_, folder=folder, wait=wait) -> None:
                time.sleep(wait)
                shutil.rmtree(folder, ignore_errors=True)

            code, errors = self.run(folder, job.arguments, during=during)
            self.decent(f"{job.name} in a folder that vanishes", code, errors)
            outcomes["completed" if code == 0 else "error with a cause"] += 1
            shutil.rmtree(folder, ignore_errors=True)
        self.note("folder removed", job.name, outcomes)

    def little_memory(self, base: Path, job: Job) -> None:
        """Limits between what the program needs to start and a little more than what the job needs."""
        outcomes: Counter = Counter()
        # Threads reserve far more address space for their allocations than they use, and a backtrace needs memory itself.
        environment = {"MALLOC_ARENA_MAX": "1", "RUST_BACKTRACE": "0"}
        least = self.peak(base, ["--version"], environment)
        folder = self.folder(base)
        most = self.peak(folder, job.arguments, environment)
        shutil.rmtree(folder)
        for _ in range(max(3, self.trials // 5)):
            folder = self.folder(base)
            bytes_ = int(self.random.uniform(least, 1.1 * most))
            limit = lambda bytes_=bytes_: resource.setrlimit(resource.RLIMIT_AS, (bytes_, bytes_))
            what = f"{job.name} with {bytes_ >> 20} MB of {most >> 20}"
            code, errors = self.run(folder, job.arguments, prepare=limit, environment=environment)
            # The system's loader gives up with its own messages and codes, and the library for gzip with a panic.
            if code == 127 or "error while loading" in errors:
                outcomes["could not start"] += 1
            elif "zlib-rs" in errors and "MemError" in errors:
                self.check_whole(what, job, folder)
                outcomes["out-of-memory message"] += 1
            elif code in (-signal.SIGSEGV, -signal.SIGBUS, -signal.SIGKILL):
                # A stack that cannot grow: the system ends the program, which cannot say anything.
                self.check_whole(what, job, folder)
                outcomes["ended by the system"] += 1
            else:
                outcomes[self.outcome(what, job, folder, code, errors)] += 1
            shutil.rmtree(folder)
        if self.trials >= 10 and set(outcomes) == {"completed"}:
            self.fail(f"{job.name}: no limit of address space was felt")
        self.note("little address space", job.name, outcomes)

    def peak(self, folder: Path, arguments: list[str], environment: dict[str, str]) -> int:
        """The most address space of an undisturbed run, in bytes."""
        peaks = [0]

        def during(process) -> None:
            while process.poll() is None:
                found = re.search(r"VmPeak:\s*(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
                peaks.append(1024 * int(found[1]) if found else 0)
                time.sleep(0.0005)

        self.run(folder, arguments, during=during, environment=environment)
        return max(peaks)

    def no_rights(self, base: Path, job: Job) -> None:
        """A folder that may not be written to, an input that may not be read."""
        outcomes: Counter = Counter()
        nobody = 65534
        drop = (lambda: (os.setgid(nobody), os.setuid(nobody))) if os.geteuid() == 0 else None
        base.chmod(0o755)
        for kind in ["read-only folder", "unreadable input"]:
            folder = self.folder(base)
            name = next(part for part in job.arguments if (folder / part).is_file())
            if kind == "unreadable input":
                folder.chmod(0o777)
                (folder / name).chmod(0o000)
            else:
                folder.chmod(0o555)
            code, errors = self.run(folder, job.arguments, prepare=drop)
            if code == 0:
                self.fail(f"{job.name}, {kind}: completed")
            outcomes[self.outcome(f"{job.name}, {kind}", job, folder, code, errors)] += 1
            folder.chmod(0o755)
            (folder / name).chmod(0o644)
            shutil.rmtree(folder)
        self.note("no permission", job.name, outcomes)

    # --- all of it

    def main(self) -> int:
        with tempfile.TemporaryDirectory() as name:
            base = Path(name)
            self.inputs = base / "inputs"
            self.prepare(base)
            print("| fault | command | times | outcome |\n|---|---|---|---|", flush=True)
            for fault in [getattr(self, name) for name in FAULTS if not self.only or name in self.only]:
                if fault == self.full_disk and not self.can_mount(base):
                    print("skipped: a full disk needs the right to mount one")
                    continue
                for job in self.jobs:
                    if not job.only or fault.__name__ in job.only:
                        fault(base, job)
        times = sum(times for _, _, times, _ in self.table)
        print(f"faults: {times - len(self.broken)} passed, {len(self.broken)} failed")
        return 1 if self.broken else 0

    @staticmethod
    def can_mount(base: Path) -> bool:
        """Whether a small file system can be mounted: root may, unless a container forbids it."""
        if os.geteuid() != 0 or shutil.which("mount") is None:
            return False
        folder = Path(tempfile.mkdtemp(dir=base))
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8192", "tmpfs", str(folder)], stderr=subprocess.DEVNULL).returncode == 0
        if mounted:
            subprocess.run(["umount", str(folder)], check=True)
        return mounted

    def prepare(self, base: Path) -> None:
        """Inputs, what whole runs write, and how long they take."""
        many = ["300", "100", "200"] if self.short else ["3000", "1000", "3000"]
        sizes = [word for pair in zip(["--users", "--test-users", "--items"], many) for word in pair] + ["--controlled-users", "10"]
        for arguments in [
            ["generate", "survey", "-o", str(self.inputs), *sizes],
            ["train", str(self.inputs / "train.txt"), "-o", str(self.inputs / "trained")],
            ["predict", str(self.inputs / "trained"), str(self.inputs / "test.txt"), "-o", str(self.inputs / "p.txt")],
        ]:
            code, errors = self.run(base, arguments)
            if code != 0:
                sys.exit(f"cannot prepare: {errors}")
        (self.inputs / "stream.py").write_text(STREAM)
        if self.python is None or subprocess.run([self.python, "-c", "import unmissed"], cwd=self.inputs, stderr=subprocess.DEVNULL).returncode != 0:
            print(f"skipped: streaming evaluation needs a Python with the package, found {self.python}")
            self.jobs = [job for job in self.jobs if not job.is_python]
        self.reference, self.seconds = {}, {}
        for job in self.jobs:
            seconds = []
            # The first run reads cold files: faults that come by its clock would come too late.
            for _ in range(3):
                folder = self.folder(base)
                start = time.monotonic()
                code, errors = self.run(folder, job.arguments)
                seconds.append(time.monotonic() - start)
                if code != 0:
                    sys.exit(f"{job.name} does not run: {errors}")
                self.reference[job.name] = self.written(job, folder)
                shutil.rmtree(folder)
            self.seconds[job.name] = min(seconds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--trials", type=int, help="default: 50, with --short 2")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=120, help="seconds after which a command counts as stuck; default: 120")
    parser.add_argument("--only", nargs="+", choices=FAULTS, default=[], help="faults to try; default: all")
    parser.add_argument("--jobs", nargs="+", choices=[job.name for job in JOBS], default=[], help="commands to disturb; default: all")
    parser.add_argument("--python", default=sys.executable, help="for streaming evaluation; default: the one that runs this")
    parser.add_argument("--short", action="store_true")
    sys.exit(Harness(parser.parse_args()).main())
