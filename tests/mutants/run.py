#!/usr/bin/python3
"""The mutation check: does a test fail when a rule of Portals or of the link is broken?

tests/mutants/*.toml lists small edits of the engine, the library and the link, each of which breaks
one rule; those of Portals are numbered. For each edit, the host unit tests (tests/host) are built
and run, and one of them has to fail. Builds are in build/mutants, in a copy of the sources; only
objects that depend on the edited file are compiled again. The text of an edit must occur exactly
once.

    tests/mutants/run.py                  all of them: a table, exit status 0 if all noticed
    tests/mutants/run.py -k rule08 -j 1   some of them, one at a time
    tests/mutants/run.py --markdown FILE  the table for the documentation as well
    tests/mutants/run.py --patterns       only whether all texts are there
"""
from __future__ import annotations

import argparse
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "mutants"
SOURCES = ("net/portals", "net/shm", "net/link", "net/frames", "host", "tests/host")
COPIED = ("net", "host", "tests/host", "libc-glue", "lib/portals", "include",
          "kernel")
FLAGS = ["-std=gnu17", "-g0", "-O1", "-w", "-Iinclude", "-I."]
LIMIT = 20             # seconds of processor time that the tests may take to notice
ASLEEP = 20            # times as long by the clock, for deadlocked threads
SLOW = "concurrent"    # tests with this in their names run if no other has failed
# Calls that tests with their own links intercept (tests/host/link_users.h, net/build.mk).
WRAP = [f"-Wl,--wrap=link_port_{call}" for call in ("whole", "put", "begin", "data", "end", "place",
                                                    "gather", "sent", "failed", "lost")]
# In names: tests of net/link and net/frames.
NEAR = ("link", "lanes", "bulk", "frames", "auth", "hostile", "wire", "aggregate", "batch")
LATE = ("test_damage", "test_random", "test_index")    # long ones, run last
RULES = range(1, 38)
TITLE = "# What the tests notice"

# Rules that no edit of one place breaks, and their tests.
ELSEWHERE = {
    31: "the engine has no connections and no state per peer to break; "
        "`peer_bytes` of `make bench` shows what kernels keep",
    32: "the application calls nothing in any host test: each of them is a test of this",
}


@dataclass(frozen=True)
class Mutant:
    name: str        # rule, number within it
    rule: int | str  # of Portals by number, or the part's name
    file: str        # from the top folder
    old: str
    new: str
    why: str         # what an application would see


@dataclass(frozen=True)
class Verdict:
    mutant: Mutant
    by: str          # the test that noticed, or ""
    seconds: float   # until it was noticed
    error: str = ""  # it could not be tried


def load() -> list[Mutant]:
    """All edits, in the order of their rules."""
    mutants: list[Mutant] = []
    for path in sorted(Path(__file__).parent.glob("*.toml")):
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]:
            rule, count = entry["rule"], sum(other.rule == entry["rule"] for other in mutants)
            name = f"rule{rule:02}{chr(ord('a') + count)}" if isinstance(rule, int) else \
                f"{rule}{count + 1:02}"
            mutants.append(Mutant(name=name, **entry))
    return sorted(mutants, key=lambda mutant: mutant.name)


def mutated(mutant: Mutant, root: Path = ROOT) -> str:
    """The file's text with the edit; ValueError if it does not fit."""
    path = root / mutant.file
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if (found := text.count(mutant.old)) != 1 or mutant.old == mutant.new:
        raise ValueError(f"{mutant.name}: in {mutant.file} this is there {found} times, not once:"
                         f"\n{mutant.old}")
    return text.replace(mutant.old, mutant.new)


class Tree:
    """A copy of the sources with its objects, where one mutant at a time is built."""

    def __init__(self, where: Path, limit: int) -> None:
        self.where, self.limit = where, limit
        for folder in COPIED:
            shutil.copytree(ROOT / folder, where / folder, dirs_exist_ok=True)
        self.sources = sorted((path for folder in SOURCES for path in
                               (where / folder).glob("*.c")),
                              key=lambda path: (SLOW in path.stem, path.stem in LATE, path))

    def compile(self, source: Path) -> subprocess.CompletedProcess:
        target = self.object(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        return subprocess.run(["gcc", *FLAGS, "-MMD", "-c", str(source.relative_to(self.where)),
                               "-o", str(target)], cwd=self.where, capture_output=True, text=True)

    def object(self, source: Path) -> Path:
        return self.where / "objects" / source.relative_to(self.where).with_suffix(".o")

    def build(self, sources: list[Path]) -> str:
        """Compile these and link all: what went wrong, or ""."""
        for source in sources:
            done = self.compile(source)
            if done.returncode:
                return done.stderr
        done = subprocess.run(["gcc", "-o", "check", *map(str, map(self.object, self.sources)),
                               *WRAP, "-lpthread"], cwd=self.where, capture_output=True, text=True)
        return done.stderr if done.returncode else ""

    def users(self, file: str) -> list[Path]:
        """The sources whose objects depend on a file."""
        path = re.compile(rf"(^|[\s/]){re.escape(Path(file).name)}(\s|$)", re.M)
        return [source for source in self.sources
                if path.search(self.object(source).with_suffix(".d").read_text())]

    def run(self, *arguments: str) -> str:
        """The first test that fails, or "". A busy machine makes none of them fail: the limit is one
        of processor time."""
        deadline = time.monotonic() + ASLEEP * self.limit
        test, by = "", ""
        with subprocess.Popen(["prlimit", f"--cpu={self.limit}:{self.limit + 5}", "stdbuf", "-oL", "./check",
                               *arguments], cwd=self.where, text=True,
                              env={"PATH": "/usr/bin:/bin", "CHECK_NAMES": "1"},
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as program:
            killer = ThreadPoolExecutor(1)
            hang = killer.submit(self.wait, program, deadline)
            for line in program.stdout:
                words = line.split()
                if words[:1] == ["RUNS"]:
                    test = words[1]
                elif words[:1] == ["FAILED"]:
                    by = words[1]
                    program.kill()
                    break
            program.wait()
            ended = hang.result()
            killer.shutdown()
        if by:
            return by
        if not ended or program.returncode == -signal.SIGXCPU:
            return f"{test} (does not end)"
        return "" if program.returncode == 0 else f"{test} (crash)"

    @staticmethod
    def wait(program: subprocess.Popen, deadline: float) -> bool:
        try:
            program.wait(max(0.1, deadline - time.monotonic()))
            return True
        except subprocess.TimeoutExpired:
            program.kill()
            return False

    def try_one(self, mutant: Mutant) -> Verdict:
        start = time.monotonic()
        path, users = self.where / mutant.file, []
        try:
            path.write_text(mutated(mutant), encoding="utf-8")
            users = self.users(mutant.file)
            error = self.build(users) if users else f"no source depends on {mutant.file}"
            start = time.monotonic()
            near = mutant.rule in ("link", "frames")
            by = "" if error else self.run(*NEAR if near else [f"-{SLOW}"]) or (
                "" if near else self.run(SLOW))
        except ValueError as wrong:
            by, error = "", str(wrong)
        seconds = time.monotonic() - start
        shutil.copyfile(ROOT / mutant.file, path)
        for source in users:
            self.compile(source)
        return Verdict(mutant, by, seconds, error)


def prepare(jobs: int, limit: int) -> Queue[Tree]:
    """One tree per job, all built from the sources as they are, all passing."""
    trees: Queue[Tree] = Queue()
    shutil.rmtree(WORK, ignore_errors=True)
    first = Tree(WORK / "tree0", limit)
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(first.compile, first.sources))
    error = first.build([]) or first.run(f"-{SLOW}")
    if error:
        sys.exit(f"without any mutant the tests do not pass:\n{error}")
    trees.put(first)
    for number in range(1, jobs):
        shutil.copytree(WORK / "tree0", WORK / f"tree{number}")
        trees.put(Tree(WORK / f"tree{number}", limit))
    return trees


def markdown(verdicts: list[Verdict]) -> str:
    """The table for docs/mutants.md."""
    tick = "`"
    rows = "\n".join(
        f"| {v.mutant.rule or 'atomics'} | {v.mutant.why} | {tick}{v.mutant.file}{tick} | "
        f"{tick + v.by + tick if v.by else 'no test'} |" for v in verdicts)
    elsewhere = "\n".join(f"- Rule {rule}: {text}." for rule, text in sorted(ELSEWHERE.items())
                          if not any(v.mutant.rule == rule for v in verdicts))
    return f"""{TITLE}

For those who change the engine, the link or their tests: which mistakes the tests find.
`make mutants` breaks the numbered rules of Portals, and what the barrier, the link and the messages
over frames promise, one at a time, by one small change of the engine, of the library or of `net/link`
and `net/frames` (`tests/mutants/*.toml`), and runs the host unit tests with it. This table is what
`make mutants` has written: {len(verdicts)} changes, {sum(bool(v.by) for v in verdicts)} noticed. The
last column names the first test that failed.

| rule | what goes wrong | changed in | noticed by |
|---|---|---|---|
{rows}

Rules without a row:

{elsewhere}
"""


def missing_rules(mutants: list[Mutant]) -> list[int]:
    return [rule for rule in RULES
            if rule not in ELSEWHERE and not any(m.rule == rule for m in mutants)]


def patterns(mutants: list[Mutant]) -> int:
    """Whether all texts are there: the number of those that are not."""
    wrong = 0
    for mutant in mutants:
        try:
            mutated(mutant)
        except ValueError as error:
            print(error)
            wrong += 1
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="", help="only mutants whose names contain this")
    parser.add_argument("-j", type=int, default=2, help="at a time")
    parser.add_argument("--limit", type=int, default=LIMIT,
                        help="seconds of processor time that tests may take")
    parser.add_argument("--markdown", type=Path, help="write the table there")
    parser.add_argument("--patterns", action="store_true", help="build and run nothing")
    options = parser.parse_args()
    mutants = [mutant for mutant in load() if options.k in mutant.name]
    if options.patterns:
        wrong = patterns(mutants)
        print(f"{len(mutants)} mutants, {wrong} do not fit")
        return 1 if wrong else 0
    trees = prepare(options.j, options.limit)

    def work(mutant: Mutant) -> Verdict:
        tree = trees.get()
        try:
            verdict = tree.try_one(mutant)
        finally:
            trees.put(tree)
        said = verdict.error or verdict.by or "NO TEST FAILED"
        print(f"{mutant.name}  {verdict.seconds:5.1f} s  {mutant.why:60}  {said}", flush=True)
        return verdict

    with ThreadPoolExecutor(options.j) as pool:
        verdicts = list(pool.map(work, mutants))
    survivors = [v for v in verdicts if not v.by]
    slow = [v for v in verdicts if v.seconds > options.limit and not v.by.endswith("not end)")]
    print(f"{len(verdicts)} mutants, {len(verdicts) - len(survivors)} noticed, "
          f"{len(survivors)} not, {len(slow)} took longer than {options.limit} s")
    if options.markdown:
        options.markdown.write_text(markdown(verdicts), encoding="utf-8")
    return 1 if survivors or slow else 0


if __name__ == "__main__":
    sys.exit(main())
