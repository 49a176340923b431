#!/usr/bin/env python3
"""What happens when things go wrong: faults.py UNMISSED [--trials N] [--seed S] [--timeout SECONDS] [--only FAULT...] [--short].

Runs the program UNMISSED on generated data and kills it, fills its disk, cuts its inputs, takes its memory, its rights and its
folders away. What must hold: no half-written file under its final name, no result from a mixture of old and changed input, no lost
block of a training run, no panic, and a message with a cause wherever the program could still write one. Prints a table in Markdown, and what did not hold. Needs Linux; a full
disk needs root (a small tmpfs is mounted), and is skipped otherwise. --short takes small data and few trials, for `make test`.
"""

import argparse
import os
import random
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
    # Whether a second run writes the same bytes; the page has a date and a nonce.
    same_bytes: bool = True


JOBS = [
    Job("train", ["train", "train.txt", "-o", "model", "--memory", "3MB"], ["model"], again=["--resume"]),
    Job("train --tree", ["train", "train.txt", "-o", "tree", "--tree", "kmeans:branch=8,leaf=8", "--trees", "3"], ["tree"], again=["--resume"]),
    Job("predict", ["predict", "trained", "test.txt", "-o", "scores.txt"], ["scores.txt"]),
    Job("convert", ["convert", "train.txt", "converted.npz"], ["converted.x.npz", "converted.y.npz"]),
    Job("evaluate --tally", ["evaluate", "--test", "test.txt", "--predictions", "p.txt", "--train", "train.txt", "--tally", "tally"], ["tally"]),
    Job("audit", ["audit", "--train", "train.txt", "--test", "test.txt", "--predictions", "p.txt", "-o", "page.html", "--labels-csv", "labels.csv"],
        ["page.html", "labels.csv"], same_bytes=False),
    Job("annotate plan", ["annotate", "plan", "--test", "test.txt", "--predictions", "p.txt", "--budget", "100", "-o", "plan"],
        ["plan/pairs.csv", "plan/judge.html", "plan/plan.json.zst"], same_bytes=False),
]

# Methods of the harness.
FAULTS = ["kills", "full_disk", "cut_inputs", "inputs_change", "folder_vanishes", "little_memory", "no_rights"]


class Harness:
    def __init__(self, program: str, trials: int, seed: int, timeout: float, short: bool, only: list[str]) -> None:
        self.program, self.trials, self.timeout, self.short = str(Path(program).resolve()), trials, timeout, short
        self.random, self.only = random.Random(seed), only
        self.broken: list[str] = []
        self.table: list[tuple[str, str, int, str]] = []

    # --- running

    def run(self, folder: Path, arguments: list[str], *, kill_after: float | None = None, prepare=None, during=None):
        """Exit code (negative: a signal) and what was written to stderr."""
        process = subprocess.Popen([self.program, *arguments, "--quiet"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   preexec_fn=prepare)
        try:
            if during is not None:
                during(process)
            if kill_after is not None:
                try:
                    process.wait(kill_after)
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
            _, errors = process.communicate(timeout=self.timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return None, "did not end"
        return process.returncode, errors.decode(errors="replace")

    def folder(self, base: Path) -> Path:
        """A new folder with the inputs."""
        folder = Path(tempfile.mkdtemp(dir=base))
        for name in ["train.txt", "test.txt", "p.txt", "trained"]:
            shutil.copy(self.inputs / name, folder / name)
        return folder

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
            found, whole = (folder / name).read_bytes(), self.reference[job.name][name]
            if job.same_bytes and found != whole:
                self.fail(f"{what}: {name} is there with {len(found)} bytes instead of the {len(whole)} of a whole run")
            if not job.same_bytes and (found[-8:] != whole[-8:] and not name.endswith(".zst")):
                self.fail(f"{what}: {name} is cut off")
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
        outcomes: Counter = Counter()
        for _ in range(self.trials):
            folder = self.folder(base)
            code, _ = self.run(folder, job.arguments, kill_after=self.random.uniform(0.0, self.seconds[job.name]))
            is_whole = self.check_whole(f"{job.name} killed", job, folder)
            if not is_whole:
                # What was left behind must not be in the way.
                if job.name == "annotate plan" and (folder / "plan" / "pairs.csv").exists():
                    shutil.rmtree(folder / "plan")
                blocks = list(folder.rglob("*.block"))
                again, errors = self.run(folder, [*job.arguments, *job.again])
                if again != 0:
                    self.fail(f"{job.name} after a kill: {errors[-400:]}")
                self.check_whole(f"{job.name} after a kill", job, folder)
                outcome = "resumed to the same bytes" if job.again and blocks else "rerun completed"
            else:
                outcome = "finished before the kill"
            outcomes[outcome] += 1
            shutil.rmtree(folder)
        self.note("SIGKILL at a random moment", job.name, outcomes)

    def full_disk(self, base: Path, job: Job) -> None:
        disk = base / "disk"
        disk.mkdir(exist_ok=True)
        outcomes: Counter = Counter()
        whole = sum(len(content) for content in self.reference[job.name].values())
        for _ in range(max(3, self.trials // 10)):
            size = sum((self.inputs / name).stat().st_size + 8192 for name in ["train.txt", "test.txt", "p.txt", "trained"])
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
            if code == 0 and job.same_bytes:
                self.check_not_mixed(f"{job.name} while {name} changes", job, folder)
            outcomes["completed" if code == 0 else "error with a cause"] += 1
            shutil.rmtree(folder)
        self.note("input changed while it is read", job.name, outcomes)

    def check_not_mixed(self, what: str, job: Job, folder: Path) -> None:
        """Outputs are those of the input before its change, or of the input after it."""
        written = {name: (folder / name).read_bytes() for name in job.outputs}
        if written == self.reference[job.name]:
            return
        for name in job.outputs:
            (folder / name).unlink()
        code, _ = self.run(folder, job.arguments)
        if code != 0 or written != {name: (folder / name).read_bytes() for name in job.outputs}:
            self.fail(f"{what}: the result is neither that of the old nor that of the new input")

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
        outcomes: Counter = Counter()
        for _ in range(max(3, self.trials // 5)):
            folder = self.folder(base)
            # From about what the program needs to start to several times as much.
            bytes_ = int(2 ** self.random.uniform(24.5, 27))
            limit = lambda bytes_=bytes_: resource.setrlimit(resource.RLIMIT_AS, (bytes_, bytes_))
            try:
                code, errors = self.run(folder, job.arguments, prepare=limit)
            except (OSError, subprocess.SubprocessError):
                outcomes["could not start"] += 1
                continue
            # The system's loader and thread library give up with their own messages and codes.
            if code == 127 or "error while loading" in errors:
                outcomes["could not start"] += 1
            elif code in (-signal.SIGSEGV, -signal.SIGBUS, -signal.SIGKILL):
                # A stack that cannot grow: the system ends the program, which cannot say anything.
                self.check_whole(f"{job.name} with {bytes_ >> 20} MB", job, folder)
                outcomes["ended by the system"] += 1
            else:
                outcomes[self.outcome(f"{job.name} with {bytes_ >> 20} MB", job, folder, code, errors)] += 1
            shutil.rmtree(folder)
        self.note("little address space", job.name, outcomes)

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
                for job in JOBS:
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
        self.reference, self.seconds = {}, {}
        for job in JOBS:
            folder = self.folder(base)
            start = time.monotonic()
            code, errors = self.run(folder, job.arguments)
            self.seconds[job.name] = time.monotonic() - start
            if code != 0:
                sys.exit(f"{job.name} does not run: {errors}")
            self.reference[job.name] = {name: (folder / name).read_bytes() for name in job.outputs}
            shutil.rmtree(folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("--trials", type=int, help="default: 50, with --short 2")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=120, help="seconds after which a command counts as stuck; default: 120")
    parser.add_argument("--only", nargs="+", choices=FAULTS, default=[], help="faults to try; default: all")
    parser.add_argument("--short", action="store_true")
    given = parser.parse_args()
    trials = given.trials or (2 if given.short else 50)
    sys.exit(Harness(given.program, trials, given.seed, given.timeout, given.short, given.only).main())
