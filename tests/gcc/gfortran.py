"""GCC's own tests of Fortran on nodes: gfortran.py [--sample N] [--seed S] [-j JOBS] [NAME...]

Takes the programs of gfortran.dg that are to be run from libgfortran's tarball, compiles each with
`margay fortran` and its options, and runs it on a node, several in parallel (dejagnu.py).
tests/gcc/gfortran.txt has a reason for each failure. Called by `make gcc-check`.
"""
from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Iterator

import dejagnu
from dejagnu import MARGAY, unpacked

# Targets in directives that a node is not.
ELSEWHERE = re.compile(r"powerpc|aarch64|arm|sparc|mips|alpha|ia32|ilp32|mingw|darwin|s390|hppa|"
                       r"offload|nvptx|amdgcn|cygwin|newlib")


class Test(dejagnu.Test):
    """A program of gfortran.dg."""

    usual = ["-O2"]

    def knows(self, target: str) -> bool:
        return not ELSEWHERE.search(target)

    def compiled(self, folder: str) -> list:
        modules = self.words("dg-compile-aux-modules")         # first, as others use them
        sources = [self.path.parent / name for name in dict.fromkeys(
            [*modules, self.path.name, *self.words("dg-additional-sources")])]
        for file in self.path.parent.glob("*.inc"):
            shutil.copy(file, folder)
        return [MARGAY, "fortran", "-w", *self.options(), f"-I{self.path.parent}", *sources,
                "-o", "test.elf", "-lm"]


def found() -> Iterator[Test]:
    folder = unpacked("gcc/testsuite/gfortran.dg")
    for path in sorted(folder.glob("*.[fF]*")):
        test = Test(path)
        if test.runs():
            yield test


if __name__ == "__main__":
    sys.exit(dejagnu.main(Path(__file__), "gfortran.dg", found))
