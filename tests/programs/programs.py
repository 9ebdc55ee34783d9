#!/usr/bin/python3
"""make programs: builds existing programs and runs their own tests on nodes.

    programs.py [--fetch] [--short] [--jobs N] [NAME...]

prints a table, and failures with their reasons; the status is 0 if all results are as described
beside this file and 95 of 100 tests pass. --fetch only gets the sources.
"""
from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from common import WORK, Outcome, Program, fetch, run_program  # noqa: E402

NAMES = ("lua", "zlib", "bzip2", "lz4", "sqlite", "cjson", "lapack", "eigen", "fftw3",
         "hpcc", "hdf5", "pnetcdf", "ga", "scalapack")
SHORT = ("bzip2", "zlib", "lapack", "eigen")
LANGUAGES = ("lapack", "eigen")      # built by margay fortran and margay c++
WANTED = 95       # of 100 tests


def program(name: str) -> Program:
    return importlib.import_module(f"program_{name}").PROGRAM


def table(outcomes: list[Outcome]) -> str:
    """The rows, followed by failures and tests that were not run."""
    rows = [f"{'program':12}{'tests':>7}{'passed':>8}{'failed':>8}{'cases':>9}{'failed':>8}"
            f"{'CPU s':>8}"]
    for outcome in outcomes:
        rows.append(f"{outcome.program.name:12}{outcome.tests:7}{len(outcome.passed):8}"
                    f"{len(outcome.failed):8}{outcome.cases:9}{outcome.cases_failed:8}"
                    f"{outcome.seconds:8.0f}")
    for outcome in outcomes:
        name = outcome.program.name
        rows += [f"{name}: failed: {test}: {why}" for test, why in outcome.failed]
        rows += [f"{name}: not run: {what}: {why}" for what, why in outcome.program.left_out]
    return "\n".join(rows)


def complaints(outcomes: list[Outcome]) -> list[str]:
    found = [f"{outcome.program.name}: {text}" for outcome in outcomes for text in outcome.wrong]
    tests = sum(outcome.tests for outcome in outcomes)
    passed = sum(len(outcome.passed) for outcome in outcomes)
    if passed * 100 < tests * WANTED:
        found.append(f"{passed} of {tests} tests passed: fewer than {WANTED} of 100")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fetch", action="store_true", help="only get the sources")
    parser.add_argument("--short", action="store_true", help="the tests of make check")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="of make")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    chosen = parser.parse_args()
    unknown = [name for name in chosen.names if name not in NAMES]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; choose of {', '.join(NAMES)}")
    programs = [program(name) for name in chosen.names or (SHORT if chosen.short else NAMES)]
    outcomes = []
    wrong = []
    for one in list(programs):
        try:
            fetch(one)
        except RuntimeError as error:
            wrong.append(str(error))
            programs.remove(one)
    for one in [] if chosen.fetch else programs:
        print(f"{one.name}: building and testing in {WORK / one.source.folder}", flush=True)
        try:
            outcome = run_program(one, chosen.jobs, chosen.short)
            print(f"{one.name}: {len(outcome.passed)} of {outcome.tests} tests passed", flush=True)
            outcomes.append(outcome)
        except RuntimeError as error:
            wrong.append(str(error))
    if not chosen.fetch:
        print(table(outcomes))
        wrong += complaints(outcomes)
    for text in wrong:
        print(f"programs: {text}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
