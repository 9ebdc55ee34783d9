#!/usr/bin/python3
"""Reads the output of one of LAPACK's or BLAS's test programs, from a node and from the host.

    verdict.py NODE HOST

Prints "N tests, F failed" for the node's file. The status is 1 if a test failed, if the program did
not complete, or if the host's file differs, except in times.
"""
from __future__ import annotations

import re
import sys
from pathlib import Path

# Lines that count tests: (tests), or (failed, tests).
RUN = re.compile(r"passed the\s+threshold\s*\(\s*(\d+) tests run\)")
FAILED = re.compile(r"(\d+) out of\s+(\d+)\s*tests failed")
EXAMPLES = re.compile(r"total number of examples tested +=\s*(\d+)")
CALLS = re.compile(r"PASSED THE (?:COMPUTATIONAL TESTS \(\s*\d+ CALLS\)|TESTS OF ERROR-EXITS)|"
                   r"-+ PASS -+")
END = re.compile(r"^\s*End of tests\s*$|^ END OF TESTS$|Test of subprogram number +(10|13) ", re.M)
# Messages about other failures. "Not tested" routines without a name come from an empty line at the
# input's end.
WRONG = re.compile(r"\bFAIL|SUSPECT|ABANDONED|\*{5}|[Ii]llegal|^ *\*\*\* |^ ?Error in|\bINFO *=|"
                   r"not attempted|\w (?:driver )?routines were not tested|Unrecognized|"
                   r"inconsistent result|failed (?:the tests|to pass)|Error code|"
                   r"error messages recorded", re.M)
NOT_ZERO = re.compile(r"number (?:of examples )?where (?:.*info is not (?:0|zero)|ILO or IHI wrong)"
                      r" *= *([1-9]\d*)")
LARGEST = re.compile(r"value of largest test error +=\s*(\S+)")
THRESHOLD = 30.0      # for balancing routines, in units of the last place
TIMES = re.compile(r"^.*(?:[Tt]otal time used|seconds).*\n?", re.M)


def plain(text: str) -> str:
    return TIMES.sub("", text)


def verdict(text: str) -> tuple[int, int, list[str]]:
    """The number of tests, of failures, and other problems."""
    tests = sum(int(match[1]) for match in RUN.finditer(text))
    tests += sum(int(match[1]) for match in EXAMPLES.finditer(text))
    tests += len(CALLS.findall(text))
    failed = sum(int(match[1]) for match in FAILED.finditer(text))
    tests += sum(int(match[2]) for match in FAILED.finditer(text))
    wrong = [match[0] for match in NOT_ZERO.finditer(text)]
    wrong += [line for line in text.splitlines() if WRONG.search(line) and not FAILED.search(line)]
    wrong += [match[0] for match in LARGEST.finditer(text)
              if not float(match[1].replace("D", "E")) <= THRESHOLD]
    if not END.search(text):
        wrong.append("it did not come to its end")
    if not tests:
        wrong.append("no test ran")
    return tests, failed, wrong


def difference(node: str, host: str) -> str:
    """The first difference, or ''."""
    ours, theirs = plain(node).splitlines(), plain(host).splitlines()
    for number, (one, other) in enumerate(zip(ours, theirs), 1):
        if one != other:
            return f"line {number}: node: {one}\nline {number}: host: {other}"
    return "" if len(ours) == len(theirs) else f"{len(ours)} lines, on the host {len(theirs)}"


def main() -> int:
    node, host = (Path(name).read_text(errors="replace") for name in sys.argv[1:])
    tests, failed, wrong = verdict(node)
    other = difference(node, host)
    for line in wrong[:20]:
        print(f"wrong: {line.strip()}")
    if other:
        print(f"not as on the host\n{other}")
    print(f"{tests} tests, {failed} failed")
    return 1 if failed or wrong or other else 0


if __name__ == "__main__":
    sys.exit(main())
