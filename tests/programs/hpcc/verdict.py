#!/usr/bin/python3
"""Reads the hpccoutf.txt of an HPC Challenge run and judges its parts.

    verdict.py FILE HPL PTRANS [SECTION...]

HPL and PTRANS are the numbers of their tests in the input. Prints "N checks, F failed" of the
sections named, or of all and the summary; the status is 1 if a check failed or is missing. Each
check is the program's own: a residual, a count of errors, a comparison.
"""
from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Check:
    good: str       # the line of a check that passed
    number: int     # of such lines in the section
    bad: str        # the line of a check that failed


TABLE = Check(r"^Found \d+ errors in \d+ locations \(passed\)\.$", 1, r"errors in .*\(failed\)")
NODES = Check(r"^Node\(s\) with error 0$", 1, r"^Node\(s\) with error [^0]")
RESIDUAL = Check(r"^Scaled residual: \d\S*$", 1, r"^Scaled residual: .*(?:nan|inf)")
STREAM = Check(r"^Solution Validates: ", 1, r"Failed Validation|errors were found")
# The suite's limit is 16 units of the last place times log(size): 2e-14 for 2^16 numbers.
FFT = Check(r"^max\(\|x-x0\|\): +(?:1\.\d+e-14|\d\.\d+e-1[5-9])$", 1,
            r"^max\(.*(?:nan|inf|e[+]|e-0|e-1[0-3])")


def transposed(number: int) -> list[Check]:
    """The line for wall time; the line for processor time is missing if that is zero."""
    return [Check(r"^WALL(?: +\d+){6} +\S+ PASSED ", number, r"^(?:WALL|CPU).*(?:FAILED|BYPASS)"),
            Check(rf"^ *{number} tests completed and passed residual checks\.", 1,
                  r"^ *[1-9]\d* tests (?:completed and failed|skipped)")]


def solved(number: int) -> list[Check]:
    return [Check(r"^\|\|Ax-b\|\|_oo/\(.*\)= +\d\S* \.+ PASSED$", number, r"\.\. FAILED"),
            Check(rf"^ *{number} tests completed and passed residual checks,", 1,
                  r"^ *[1-9]\d* tests (?:completed and failed|skipped)")]


def sections(hpl: int, ptrans: int) -> dict[str, list[Check]]:
    star = {"RandomAccess": TABLE, "RandomAccess_LCG": TABLE, "DGEMM": RESIDUAL, "STREAM": STREAM,
            "FFT": FFT}
    return {"MPIRandomAccess": [TABLE], "MPIRandomAccess_LCG": [TABLE],
            **{f"Star{name}": [NODES, check] for name, check in star.items()},
            # One rank runs alone, and only rank 0 prints more than the number of errors.
            **{f"Single{name}": [NODES] for name in star},
            "PTRANS": transposed(ptrans), "MPIFFT": [FFT],
            # The first and last byte of each message are compared.
            "LatencyBandwidth": [Check(r"^Benchmark conditions:$", 1, r"ERROR|ALARM")],
            "HPL": solved(hpl),
            "Summary": [Check(r"^Success=1$", 1, r"^Success=[^1]"),
                        Check(r"^MPIRandomAccess(?:_LCG)?_ErrorsFraction=0$", 2,
                              r"ErrorsFraction=(?!0$)")]}


def part(text: str, name: str) -> str:
    """The text between the section's first and last line, or '' if one is missing."""
    found = re.search(rf"^Begin of {name} section\.\n(.*?)^End of {name} section\.$", text,
                      re.M | re.S)
    return found[1] if found else ""


def main() -> int:
    file, hpl, ptrans, *names = sys.argv[1:]
    text = Path(file).read_text(errors="replace")
    known = sections(int(hpl), int(ptrans))
    number = failed = 0
    for name in names or known:
        section = part(text, name)
        if not section:
            print(f"wrong: {name}: there is no such section, or it has no end")
        for check in known[name]:
            good = len(re.findall(check.good, section, re.M))
            bad = re.findall(f"^.*(?:{check.bad}).*", section, re.M)
            print(f"{name}: {good} of {check.number}: {check.good}")
            for line in bad:
                print(f"wrong: {name}: {line}")
            number += check.number
            failed += max(abs(good - check.number), len(bad))
    for line in re.findall("^Error in line.*", text, re.M):
        print(f"wrong: {line}")
        failed += 1
    if not names and "\nEnd of HPC Challenge tests.\n" not in text:
        print("wrong: it did not come to its end")
        failed += 1
    print(f"{number} checks, {failed} failed")
    return 1 if failed or not number else 0


if __name__ == "__main__":
    sys.exit(main())
