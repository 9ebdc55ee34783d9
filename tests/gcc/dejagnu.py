"""Shared by GCC's own tests on nodes: unpacking, directives, parallel runs, verdicts.

A suite is a Python file here, NAME.py, which defines a kind of Test and calls main. NAME.txt beside
it has the reasons: `test: reason` for each test that does not pass. It is an error if another test
fails, or if one of these passes. `test: sometimes: reason` is for one that may do either.
"""
from __future__ import annotations

import argparse
import fnmatch
import os
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, Callable, Iterable, Sequence

ROOT = Path(__file__).resolve().parent.parent.parent
MARGAY = ROOT / "tools" / "margay"
VERSION = "12.2.0"
FOLDER = ROOT / "build" / f"gcc-{VERSION}-tests"
SECONDS = 120                          # a hang, not a measurement
# Several run in parallel, on a host that may be busy: a node may start slowly.
ENVIRONMENT = {**os.environ, "MARGAY_BOOT_SECONDS": str(SECONDS)}
MACHINE = "x86_64-margay-linux-musl"   # the libraries are built for this name
SOMETIMES = "sometimes: "
DIRECTIVE = re.compile(r"\{\s*(dg-[\w+-]+)\s+(.*?)\s*\}\s*(?:\*/)?\s*$", re.M)
WORD = re.compile(r'"((?:[^"\\]|\\.)*)"|([{}!])|(&&|\|\|)|([^\s{}"!]+)')


def unpacked(part: str) -> Path:
    """The folder of that name in GCC's tarball, unpacked once."""
    place = FOLDER / f"gcc-{VERSION}" / part
    if not place.exists():
        tarball = f"gcc-{VERSION}-dfsg.tar.xz"
        place.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            subprocess.run([ROOT / "tools/debian-source.sh", "--in-package", "gcc-12-source",
                            tarball, "-", folder], check=True, stdout=sys.stderr)
            subprocess.run(["tar", "-xf", tarball, f"gcc-{VERSION}/{part}"], cwd=folder,
                           check=True)
            try:
                os.rename(f"{folder}/gcc-{VERSION}/{part}", place)
            except OSError:
                if not place.exists():     # another process was faster
                    raise
    return place


# ---- directives ----

def arguments(text: str) -> list:
    """The Tcl words of a directive: strings, and lists for words in braces."""
    stack: list[list] = [[]]
    for match in WORD.finditer(text):
        quoted, brace, operator, word = match.groups()
        if brace == "{":
            stack.append([])
        elif brace == "}" and len(stack) > 1:
            last_list = stack.pop()
            stack[-1].append(last_list)
        else:
            stack[-1].append(next(part for part in (quoted, brace, operator, word)
                                  if part is not None))
    while len(stack) > 1:
        last_list = stack.pop()
        stack[-1].append(last_list)
    return stack[0]


def selects(selector: str | list[Any], has: Callable[[str], bool]) -> bool:
    """Whether the selector names this machine. A selector has patterns of names, or features of
    has(), joined by !, && and ||; a list of patterns means any of them."""
    if isinstance(selector, str):
        return fnmatch.fnmatch(MACHINE, selector) if "-" in selector else has(selector)
    words = selector
    if "||" in words:
        place = words.index("||")
        return selects(words[:place], has) or selects(words[place + 1:], has)
    if "&&" in words:
        place = words.index("&&")
        return selects(words[:place], has) and selects(words[place + 1:], has)
    if words and words[0] == "!":
        return not selects(words[1:], has)
    return any(selects(word, has) for word in words)


class Test:
    """A program, with its directives."""

    usual: list[str] = []              # options of a program without dg-options

    def __init__(self, path: Path, name: str = "") -> None:
        self.path = path
        self.name = name or path.name
        self.text = path.read_text(encoding="latin-1")
        self.directives = [(name, arguments(rest)) for name, rest in DIRECTIVE.findall(self.text)]

    def has(self, directive: str) -> bool:
        return any(name == directive for name, _ in self.directives)

    def knows(self, target: str) -> bool:
        """Whether a node has the feature of this name in GCC's tests."""
        raise NotImplementedError

    def selected(self, words: list, kind: str = "target") -> bool:
        """Whether { target ... } (or xfail) among a directive's words names this machine. A few
        are in quotes: "xfail *-*-*"."""
        for word in words:
            if isinstance(word, str) and word.startswith(kind + " "):
                word = word.split()
            if isinstance(word, list) and kind in word:
                rest = word[word.index(kind) + 1:]
                ends = [rest.index(other) for other in ("target", "xfail") if other in rest]
                return selects(rest[:min(ends, default=len(rest))], self.knows)
        return kind == "target"

    def condition(self, words: list) -> bool:
        """Whether dg-skip-if or a similar directive applies: the machine, options that count,
        options that do not."""
        def given(options: str | list[str]) -> bool:
            patterns = [options] if isinstance(options, str) else options
            return any(fnmatch.fnmatch(word, pattern) for word in self.options()
                       for pattern in patterns)

        machine, included, excluded = [*words[1:], [], []][:3]
        return selects(machine, self.knows) and (included in ([], "", [""], ["*"]) or
                                                 given(included)) and not given(excluded)

    def required(self) -> list[str]:
        """The machine features that it needs."""
        return [words[0] if name == "dg-require-effective-target" else name[len("dg-require-"):]
                for name, words in self.directives
                if name.startswith("dg-require-") and self.selected(words[1:])]

    def runs(self) -> bool:
        """Whether it is to be run on nodes."""
        return any(words[:1] == ["run"] and self.selected(words[1:])
                   for name, words in self.directives if name == "dg-do") \
            and all(map(self.knows, self.required())) \
            and not any(name == "dg-skip-if" and self.condition(words)
                        for name, words in self.directives)

    def words(self, directive: str) -> list[str]:
        """The words of these directives, without those for other machines."""
        return [word for line in self.lines(directive) for word in line]

    def lines(self, directive: str) -> list[list[str]]:
        return [shlex.split(words[0]) if isinstance(words[0], str) else words[0]
                for name, words in self.directives
                if name == directive and words and self.selected(words[1:])]

    def options(self) -> list[str]:
        """The last dg-options applies, as in dejagnu."""
        return [*(self.lines("dg-options") or [self.usual])[-1],
                *self.words("dg-additional-options")]

    def must_fail(self) -> bool:
        return self.has("dg-shouldfail") or any(
            (name == "dg-do" and self.selected(words[1:], "xfail")) or
            (name == "dg-xfail-run-if" and self.condition(words))
            for name, words in self.directives)

    def compiled(self, folder: str) -> list:
        """The command that makes test.elf there."""
        raise NotImplementedError

    def check(self) -> str:
        """'' if it passes, or the failure."""
        factor = max([1.0, *(float(word) for word in self.words("dg-timeout-factor"))])
        with tempfile.TemporaryDirectory() as folder:
            made = subprocess.run(self.compiled(folder), cwd=folder, capture_output=True,
                                  text=True, errors="replace", check=False)
            if made.returncode != 0:
                return "compiling: " + last(made.stderr)
            try:
                run = subprocess.run([MARGAY, "run", "--no-prefix", "--mem", "256", "--env",
                                      "HOME=/", "--timeout", str(int(SECONDS * factor)),
                                      "test.elf"], cwd=folder,
                                     stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                     errors="replace", timeout=3 * SECONDS * factor,
                                     env=ENVIRONMENT, check=False)
            except subprocess.TimeoutExpired:
                return "no end"
            return judged(run.returncode, run.stderr, self.must_fail())


def judged(status: int, errors: str, must_fail: bool) -> str:
    """'' if a run passes, or the failure. A program may end with 124 or 125 by itself; a launcher
    that gives up says so."""
    gave_up = status in (124, 125) and re.search(r"^margay: (error|timeout): ", errors, re.M)
    return f"status {status}: " + last(errors) if gave_up or (status != 0) != must_fail else ""


def last(text: str) -> str:
    """The first line with an error, or the first line."""
    lines = [line for line in text.splitlines() if line.strip()]
    chosen = [line for line in lines if re.search(r"error|undefined|signal", line, re.I)
              and "collect2" not in line] or lines
    return chosen[0][:200] if chosen else ""


# ---- a suite ----

def reasons(file: Path) -> dict[str, str]:
    lines = file.read_text(encoding="utf-8").splitlines()
    return dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))


def verdicts(title: str, tests: Sequence[Test], expected: dict[str, str], jobs: int) -> int:
    """Runs the tests in parallel; prints unexpected results at once, and the totals."""
    wrong = passed = 0
    begin = time.monotonic()
    with ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(test.check): test for test in tests}
        for future in as_completed(running):
            test, outcome = running[future], future.result()
            passed += not outcome
            reason = expected.get(test.name, "")
            if bool(outcome) != bool(reason) and not reason.startswith(SOMETIMES):
                wrong += 1
                print(f"{test.name}: {outcome or 'passes, but has a reason not to'}", flush=True)
    kinds = Counter(expected[test.name] for test in tests if test.name in expected)
    for reason, count in kinds.most_common():
        print(f"{count:5}  {reason}")
    print(f"{title}: {passed} of {len(tests)} passed, {wrong} without a reason on file, "
          f"{(time.monotonic() - begin) / 60:.0f} minutes")
    return wrong


def part(words: str) -> tuple[int, int]:
    """An argument like 2/20."""
    match = re.fullmatch(r"(\d+)/(\d+)", words)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise argparse.ArgumentTypeError(f"'{words}' is no part: 2/20 is the second of 20")
    return int(match[1]), int(match[2])


def main(suite: Path, title: str, found: Callable[[], Iterable[Test]]) -> int:
    parser = argparse.ArgumentParser(description=f"{title} on nodes")
    some = parser.add_mutually_exclusive_group()
    some.add_argument("--sample", type=int, default=0, help="so many of them; 0: all")
    some.add_argument("--part", type=part, metavar="K/N",
                      help="the K-th of N parts, which are all tests together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--list", action="store_true", help="print their names only")
    parser.add_argument("--fetch", action="store_true", help="unpack them only")
    parser.add_argument("names", nargs="*")
    chosen = parser.parse_args()
    if chosen.fetch:
        return 0 if next(iter(found()), None) else 1       # if the first one is installed, all are
    tests = list(found())
    expected = reasons(suite.with_suffix(".txt"))
    names = {test.name for test in tests}
    unknown = [name for name in [*chosen.names, *expected] if name not in names]
    for name in unknown:
        print(f"{name}: no such test that is run on nodes")
    if chosen.names:
        tests = [test for test in tests if test.name in chosen.names]
    elif chosen.part:
        number, parts = chosen.part
        tests = sorted(tests, key=lambda test: test.name)[number - 1::parts]
    elif chosen.sample:
        tests = random.Random(chosen.seed).sample(tests, min(chosen.sample, len(tests)))
    if chosen.list:
        print(*(test.name for test in tests), sep="\n")
        return 0
    wrong = verdicts(title, tests, expected, chosen.jobs)
    return 1 if wrong or unknown or not tests else 0
