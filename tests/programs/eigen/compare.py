#!/usr/bin/python3
"""Compares what a program printed on a node with what it printed on the host.

    compare.py [--tolerance T] NODE HOST

Both are files of lines "NAME VALUES". Words must be equal; numbers with a point may differ by T,
1e-10 if nothing else is said, of the largest number of their line. Lines that begin with # are
left out. Prints how many values agree and the largest difference; the status is 1 if some do not.
"""
from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path


class Different(Exception):
    """The two say something different."""


def numbers(words: list[str]) -> list[float | str]:
    """Numbers with a point or an exponent, and other words as they are."""
    found: list[float | str] = []
    for word in words:
        try:
            found.append(word if word.lstrip("+-").isdigit() else float(word))
        except ValueError:
            found.append(word)
    return found


def compare(node: str, host: str, tolerance: float) -> tuple[int, float]:
    """Number of values and the largest relative difference; raises Different."""
    ours, theirs = ([line.split() for line in text.splitlines() if not line.startswith("#")]
                    for text in (node, host))
    if len(ours) != len(theirs):
        raise Different(f"{len(ours)} lines on the node, {len(theirs)} on the host")
    count = 0
    largest = 0.0
    for row, (left, right) in enumerate(zip(map(numbers, ours), map(numbers, theirs)), 1):
        if len(left) != len(right):
            raise Different(f"line {row}: {len(left)} words on the node, {len(right)} on the host")
        scale = max((abs(value) for value in right if isinstance(value, float)), default=0.0)
        for one, other in zip(left, right):
            if not (isinstance(one, float) and isinstance(other, float)):
                if one != other:
                    raise Different(f"line {row}: {one} on the node, {other} on the host")
                continue
            difference = 0.0 if one == other else abs(one - other) / scale
            if not math.isfinite(other) or not difference <= tolerance:
                raise Different(f"line {row}: {one!r} on the node, {other!r} on the host")
            count += 1
            largest = max(largest, difference)
    if not count:
        raise Different("there is no value to compare")
    return count, largest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tolerance", type=float, default=1e-10)
    parser.add_argument("node", type=Path)
    parser.add_argument("host", type=Path)
    chosen = parser.parse_args()
    try:
        count, largest = compare(chosen.node.read_text(), chosen.host.read_text(),
                                 chosen.tolerance)
    except (Different, OSError) as error:
        print(f"compare.py: {error}", file=sys.stderr)
        return 1
    print(f"{count} values agree, largest difference {largest:.1e}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
