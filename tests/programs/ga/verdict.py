#!/usr/bin/python3
"""Reads the output of one of Global Arrays' tests from standard input.

    ... | verdict.py PROGRAM

Prints "N checks, F failed"; N counts lines that report success. The status is 1 if a line reports a
failure, or if the program did not print its last line. Most errors also end the program with a
status other than 0.
"""
from __future__ import annotations

import re
import sys

SUCCESS = re.compile(r"^\s*All tests successful\s*$", re.M)
OTHERS = {
    "bin": r"^ *Binning: successful", "blktest": r"^ *Finished tests: success",
    "comm_init": r"^Test passed", "lock": r"^0: MPI_Finalize",
    "nbtest": r"^OK for Non-Blocking ACC test", "patch2": r"^Successfully completed test of nga_add",
    # These print nothing on success.
    **dict.fromkeys(("patch_enumf", "simple_groups", "simple_groups_comm", "stride"), ""),
    "pg2test": r"^ *All tests succesful",        # (sic)
    "read_only": r"^Regular array test succeeded",
    "scan": r"^ *Exclusive scan_add successful", "sparse": r"^ *GA_PATCH_ENUM successful",
    "testeig": r"^ *std eigensolver is OK",
    **dict.fromkeys(("gemmtest", "getmem", "mtest", "nbtestc"), r"^Success$"),
    **dict.fromkeys(("matrixc", "ga-mpi", "elempatch_cpp", "mtest_cpp", "ntestc_cpp", "testc_cpp"),
                    r"^Terminating\b"),
}
RIGHT = re.compile(r"\b(?:ok|successful|successfully|succeeded|success|passed)\b", re.I)
# One array is too large and must fail.
MEANT = re.compile(r"-- SHOULD FAIL\n.*\n\s*failure$", re.M)
WRONG = re.compile(r"\bnot ok\b|fail|mismatch|incorrect|do not match|wrong|\berror(?! *=)", re.I)


def main() -> int:
    name, text = sys.argv[1], sys.stdin.read()
    sys.stdout.write(text)
    lines = MEANT.sub("", text).splitlines()
    bad = [line for line in lines if WRONG.search(line)]
    good = sum(bool(RIGHT.search(line)) for line in lines if line not in bad)
    for line in bad[:20]:
        print(f"wrong: {line}")
    end = re.compile(OTHERS[name], re.M) if name in OTHERS else SUCCESS
    if not end.search(text):
        print(f"wrong: it did not say: {end.pattern}")
        bad.append(end.pattern)
    print(f"{good} checks, {len(bad)} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
