#!/usr/bin/python3
"""Reads the output of FFTW's mpi-bench about verified transforms from standard input.

    ... | verdict.py [NUMBER]

NUMBER transforms were requested; without it, as many as check.pl's lines before each run tell.
Prints "N transforms, F failed": a transform failed if one of its three errors is above 1e-10,
mpi-bench's own limit, or if its line is missing. The status is then 1.
"""
from __future__ import annotations

import re
import sys

LIMIT = 1e-10
# Errors of linearity, impulses and shifts.
ERRORS = re.compile(r"^\s*\S+ (\S+) (\S+) (\S+)$")
ASKED = re.compile(r'^Executing "(.*)"$', re.M)


def asked(text: str) -> int:
    return sum(line.count(" --verify ") for line in ASKED.findall(text))


def good(words: tuple[str, ...]) -> bool:
    """Not a number is a failure, though it does not compare above the limit."""
    try:
        return all(0 <= float(word) <= LIMIT for word in words)
    except ValueError:
        return False


def main() -> int:
    text = sys.stdin.read()
    sys.stdout.write(text)
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else asked(text)
    lines = [match for match in map(ERRORS.match, text.splitlines()) if match]
    bad = [match[0] for match in lines if not good(match.groups())]
    for line in bad:
        print(f"wrong: {line}")
    if len(lines) != wanted or not wanted:
        print(f"wrong: {wanted} transforms asked for, {len(lines)} verified")
    failed = max(len(bad), wanted - (len(lines) - len(bad)))
    print(f"{wanted} transforms, {failed} failed")
    return 1 if failed or len(lines) != wanted or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
