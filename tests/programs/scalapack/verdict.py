#!/usr/bin/python3
"""Reads the output of one of ScaLAPACK's tests from standard input.

    ... | verdict.py PROGRAM

Prints "N checks, F failed". Programs of linear equations and eigenvalues count their tests at the
end; those of the BLACS and the PBLAS after each part; two kinds only have a line for each test. The
status is 1 if a test has failed, if there was none, or if the program did not reach its end.
"""
from __future__ import annotations

import re
import sys

# Lines with numbers of tests: how many passed, how many failed.
COUNTS = (
    r"^ *(?P<passed>\d+) tests completed and passed",
    r"^ *(?P<failed>\d+) tests completed and failed",
    r"^  \|  P\w+ +\d+ +(?P<passed>\d+) +(?P<failed>\d+) +\d+$",
    r" TESTS: +\d+ TESTS; *(?P<passed>\d+) PASSED, *\d+ SKIPPED, *(?P<failed>\d+) FAILED\.$",
    r" TESTS: PASSED ALL *(?P<passed>\d+) TESTS\.$",
)
# Programs with a line for each test.
LINES = {
    "svd": (r"^Passed ", r"^ *Test I = .*has failed"),
    "hseqr": (r" PASSED$", r" FAILED$"),
}
END = re.compile(r"^(?:END OF TESTS\.| *End of Tests?\.?| DONE BLACS_GRIDEXIT)\s*$", re.M | re.I)


def counted(text: str) -> tuple[int, int]:
    found = [match.groupdict() for pattern in COUNTS for match in re.finditer(pattern, text, re.M)]
    passed, failed = (sum(int(one.get(key, 0)) for one in found) for key in ("passed", "failed"))
    return passed, failed


def main() -> int:
    name, text = sys.argv[1], sys.stdin.read()
    sys.stdout.write(text)
    lines = next((LINES[kind] for kind in LINES if name.endswith(kind)), None)
    if lines:
        passed, failed = (len(re.findall(pattern, text, re.M)) for pattern in lines)
    else:
        passed, failed = counted(text)
    # The tests of Hessenberg matrices print no last line.
    ended = bool(END.search(text)) or name.endswith("hseqr")
    if not ended:
        print("wrong: it did not reach its end")
    print(f"{passed + failed} checks, {failed + (not ended)} failed")
    return 1 if failed or not ended or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
