"""The lists of MPICH's tests: programs, numbers of ranks, arguments, and verdicts.

A list is a file of lines `program ranks key=value ...`, or `folder` for the lists of that folder.
MPICH's own runner reads `testlist`, the lists generated from one description of datatypes
(`testlist.dtp`) and from one of algorithms (`testlist.cvar`); and, on machines with graphics
processors, `testlist.gpu`. So do we.
"""
from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterator

FOLDERS = ("attr", "coll", "comm", "datatype", "errhan", "errors", "group", "info", "init", "io",
           "part", "pt2pt", "rma", "topo", "mpi_t", "impls", "f77", "f90", "f08", "cxx")
# Counted, but not run: a node has one thread and starts no process.
OUT_OF_SCOPE = ("threads", "spawn")
LISTS = ("testlist", "testlist.dtp", "testlist.cvar")
RANKS = 2                                # default of a line
SECONDS = 180                            # likewise


@dataclass
class Entry:
    """A line of a list: a run of a program."""
    folder: str
    program: str
    ranks: int
    args: list[str] = field(default_factory=list)
    env: list[str] = field(default_factory=list)
    verdict: str = ""                    # the verdict, if not by output (judge.py)
    seconds: int = SECONDS
    memory: float = 0.0                  # of all ranks together, in GB, if the list has it
    xfail: str = ""                      # the list's reason why MPICH fails it
    source: str = LISTS[0]               # its list
    number: int = 1                      # among equal lines

    @property
    def top(self) -> str:
        return self.folder.split("/")[0]

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.program}"

    @property
    def name(self) -> str:
        words = [self.path, str(self.ranks), *self.args, *self.env]
        return " ".join(words + [f"({self.number})"] * (self.number > 1))


def entry(folder: str, line: str) -> Entry | None:
    """The entry of a line, or None if it is empty. Other keys are for other machines."""
    words = line.split("#")[0].split()
    if not words or words[0].startswith("!"):
        return None
    one = Entry(folder, words[0], int(words[1]) if len(words) > 1 else RANKS)
    if "/" in one.program:
        below, _, one.program = one.program.rpartition("/")
        one.folder = f"{folder}/{below}"
    for word in words[2:]:
        key, _, value = word.partition("=")
        if key == "arg":
            one.args.append(value)
        elif key == "env":
            one.env.append(value)
        elif key == "resultTest":
            one.verdict = value
        elif key == "timeLimit" and re.fullmatch(r"\d+", value):
            one.seconds = int(value)
        elif key == "mem":
            one.memory = float(value)
        elif key == "xfail":
            one.xfail = value
    return one


def listed(suite: Path, folder: str) -> Iterator[Entry]:
    """All entries of a folder and of the folders in its lists."""
    for name in LISTS:
        path = suite / folder / name
        lines = path.read_text(encoding="latin-1").splitlines() if path.exists() else []
        for line in lines:
            one = entry(folder, line)
            if one is None:
                continue
            if (suite / one.path).is_dir():
                yield from listed(suite, one.path)
            else:
                one.source = name
                yield one


def numbered(entries: list[Entry]) -> list[Entry]:
    """Equal lines get different names."""
    seen: dict[str, int] = {}
    for one in entries:
        name = one.name
        seen[name] = one.number = seen.get(name, 0) + 1
    return entries


def all_of(suite: Path, folders: tuple[str, ...] = FOLDERS) -> list[Entry]:
    return numbered([one for folder in folders for one in listed(suite, folder)
                     if not set(one.folder.split("/")) & set(OUT_OF_SCOPE)])


def out_of_scope(suite: Path) -> dict[str, int]:
    """The number of lines that need what a node lacks."""
    count = dict.fromkeys(OUT_OF_SCOPE, 0)
    for path in suite.rglob("testlist*"):
        parts = path.relative_to(suite).parts
        place = next((name for name in OUT_OF_SCOPE if name in parts), None)
        if place and path.name in LISTS:
            folder = path.parent
            count[place] += sum(
                (one := entry("", line)) is not None and not (folder / one.program).is_dir()
                for line in path.read_text(encoding="latin-1").splitlines())
    return count
