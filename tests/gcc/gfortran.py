"""GCC's own tests of Fortran on nodes: gfortran.py [--sample N] [--seed S] [-j JOBS] [NAME...]

Takes the programs of gfortran.dg that are to be run from the tarball that libgfortran is built
from, compiles each with `margay fortran` and the options that it names, and runs it on a
node, several side by side. tests/gcc/gfortran.txt says why each that does not pass does not;
another one that fails, or one of those that passes, is an error. Called by `make gcc-check`.
"""
from __future__ import annotations

import argparse
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
MARGAY = ROOT / "tools" / "margay"
REASONS = Path(__file__).with_suffix(".txt")
VERSION = "12.2.0"
FOLDER = ROOT / "build" / f"gcc-{VERSION}-tests"
SECONDS = 120                          # a hang, not a measurement
DIRECTIVE = re.compile(r"\{\s*(dg-[\w-]+)\s+(.*?)\s*\}\s*(?:\*/)?\s*$", re.M)
QUOTED = re.compile(r'^"((?:[^"\\]|\\.)*)"|^\{([^{}]*)\}|^(\S+)')
# What a node is, of the targets that a directive may be for.
ELSEWHERE = re.compile(r"powerpc|aarch64|arm|sparc|mips|alpha|ia32|ilp32|mingw|darwin|s390|hppa|"
                       r"offload|nvptx|amdgcn|cygwin|lp64_not|! *fortran_real_16")


def unpacked() -> Path:
    """The folder of the tests."""
    tests = FOLDER / f"gcc-{VERSION}/gcc/testsuite/gfortran.dg"
    if not tests.exists():
        tarball = f"gcc-{VERSION}-dfsg.tar.xz"
        with tempfile.TemporaryDirectory(dir=FOLDER.parent) as folder:
            subprocess.run([ROOT / "tools/debian-source.sh", "--in-package", "gcc-12-source",
                            tarball, "-", folder], check=True)
            subprocess.run(["tar", "-xf", tarball, f"gcc-{VERSION}/gcc/testsuite/gfortran.dg"],
                           cwd=folder, check=True)
            os.unlink(f"{folder}/{tarball}")
            shutil.rmtree(FOLDER, ignore_errors=True)
            os.rename(folder, FOLDER)
            os.mkdir(folder)               # for its removal
    return tests


class Test:
    """A program, with what its comments say about it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text(encoding="latin-1")
        self.directives = DIRECTIVE.findall(self.text)

    def runs(self) -> bool:
        return any(name == "dg-do" and re.match(r"run\b", rest) and not ELSEWHERE.search(rest)
                   for name, rest in self.directives)

    def words(self, directive: str) -> list[str]:
        """The words of these directives, without those for other machines."""
        found = []
        for name, rest in self.directives:
            match = QUOTED.match(rest)
            if name == directive and match and not ELSEWHERE.search(rest[match.end():]):
                found += shlex.split(next(group for group in match.groups() if group is not None))
        return found

    def has(self, directive: str) -> bool:
        return any(name == directive for name, _ in self.directives)

    def options(self) -> list[str]:
        own = self.words("dg-options")
        return [*(own or ["-O2"]), *self.words("dg-additional-options")]

    def check(self) -> str:
        """'' if it passes, or what is wrong."""
        with tempfile.TemporaryDirectory() as folder:
            sources = [self.path, *(self.path.parent / name
                                    for name in self.words("dg-additional-sources"))]
            for file in self.path.parent.glob("*.inc"):
                shutil.copy(file, folder)
            line = [MARGAY, "fortran", "-w", *self.options(), f"-I{self.path.parent}", *sources,
                    "-o", "test.elf", "-lm"]
            made = subprocess.run(line, cwd=folder, capture_output=True, text=True,
                                  errors="replace", check=False)
            if made.returncode != 0:
                return "compiling: " + last(made.stderr)
            try:
                run = subprocess.run([MARGAY, "run", "--no-prefix", "--timeout", str(SECONDS),
                                      "test.elf"], cwd=folder, stdin=subprocess.DEVNULL,
                                     capture_output=True, text=True, errors="replace",
                                     timeout=2 * SECONDS, check=False)
            except subprocess.TimeoutExpired:
                return "no end"
            if (run.returncode != 0) != self.has("dg-shouldfail"):
                return f"status {run.returncode}: " + last(run.stderr)
            return ""


def last(text: str) -> str:
    """The line of an error, or the last one."""
    lines = [line for line in text.splitlines() if line.strip()]
    chosen = [line for line in lines if re.search(r"error|undefined|signal", line, re.I)] or lines
    return chosen[0][:200] if chosen else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=0, help="so many of them; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("names", nargs="*")
    chosen = parser.parse_args()
    folder = unpacked()
    tests = [test for path in sorted(folder.glob("*.[fF]*")) if (test := Test(path)).runs()]
    if chosen.names:
        tests = [test for test in tests if test.path.name in chosen.names]
    elif chosen.sample:
        tests = random.Random(chosen.seed).sample(tests, min(chosen.sample, len(tests)))
    reasons = dict(line.split(": ", 1) for line in REASONS.read_text(encoding="utf-8").splitlines()
                   if line and not line.startswith("#"))
    wrong = passed = 0
    with ThreadPoolExecutor(chosen.jobs) as pool:
        for test, outcome in zip(tests, pool.map(Test.check, tests)):
            name = test.path.name
            passed += not outcome
            if bool(outcome) != (name in reasons):
                wrong += 1
                print(f"{name}: {outcome or 'passes, but has a reason not to'}", flush=True)
    print(f"gfortran.dg: {passed} of {len(tests)} passed, {wrong} without a reason on file")
    return 1 if wrong or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
