#!/usr/bin/python3
"""Reads the output of one of HDF5's parallel tests from standard input.

    ... | verdict.py PROGRAM

Prints "N tests, F failed, S skipped": counts of lines that report so. The status is 1 if a test
failed, if none passed, or if the program did not print its last line.
"""
from __future__ import annotations

import re
import sys

# The first line of a test, and the program's last line on success.
BANNER = re.compile(r"^Proc 0: \*\*\* (.*)\.\.\.$", re.M)
NAMED = re.compile(r"^Testing  -- (.*)$", re.M)       # printed by each rank
RESULT = re.compile(r" PASSED$", re.M)           # a hint may be between it and the name
KINDS = {
    "t_mpi": (BANNER, "MPI tests finished with no errors"),
    "testphdf5": (NAMED, "PHDF5 tests finished with no errors"),
    "t_shapesame": (NAMED, "Shape Same tests finished with no errors"),
    "t_cache": (RESULT, "metadata cache tests finished with no failures"),
    "t_bigio": (re.compile(r"^(?:Read )?Testing Dataset|^coll_chunk", re.M), ""),
    "t_pread": (re.compile(r"Test \d of 2 succeeded"),
                "Collective file open optimization tests finished with no failures"),
    "t_filters_parallel": (re.compile(r"^Testing ", re.M), "All Parallel Filters tests passed"),
}
FAILED = re.compile(r"FAILED|ERROR|[Ff]ailed\b|HDF5-DIAG|errors found|"
                    r"detected \d+ (?:errors|failures)")
SKIPPED = re.compile(r"-SKIP-|SKIPPED|are skipped")


def main() -> int:
    text = sys.stdin.read()
    sys.stdout.write(text)
    test, end = KINDS.get(sys.argv[1], (RESULT, ""))         # the others end after their last test
    bad = [line for line in text.splitlines() if FAILED.search(line)]
    skipped = sum(bool(SKIPPED.search(line)) for line in text.splitlines())
    found = test.findall(text)
    tests = len(set(found) if test is NAMED else found)
    for line in bad[:20]:
        print(f"wrong: {line}")
    if end not in text.splitlines() and end:
        print(f"wrong: it did not say: {end}")
        bad.append(end)
    print(f"{tests} tests, {len(bad)} failed, {skipped} skipped")
    return 1 if bad or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
