"""The engine natively: the unit tests of tests/host, under ASan and UBSan; test_race.py
runs those of several threads under TSan.

A row per source file and program; `make host-check` builds the programs.
"""
from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from harness import BUILD, ROOT

pytestmark = [pytest.mark.host, pytest.mark.timeout(700)]

FILES = sorted((ROOT / "tests" / "host").glob("test_*.c"))
# Simulations with many seeds each: only with gcc's sanitizers, unless --long is given.
LONG_ONES = {"test_damage", "test_frames_engines", "test_index", "test_link_bulk",
             "test_link_hostile", "test_link_sim", "test_link_wrap"}


def names(source: Path) -> list[str]:
    """The tests of one file."""
    return re.findall(r"^TEST(?:_PATHS)?\((\w+)\)", source.read_text(encoding="utf-8"), re.M)


def run(program: str, *tests: str, least: int = 1, **environment: str) -> None:
    """At least this many tests are run, and all pass."""
    command = [str(BUILD / "host" / program), *tests]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600,
                          env={**os.environ, **environment})
    last = re.fullmatch(r"(\d+) passed, 0 failed", done.stdout.strip().splitlines()[-1:][0]
                        if done.stdout.strip() else "")
    assert done.returncode == 0 and last and int(last.group(1)) >= least, (
        f"$ {' '.join(command)}\n{done.stdout[-3000:]}{done.stderr[-6000:]}")


@pytest.mark.parametrize("compiler, source", [
    pytest.param(compiler, source, id=f"{source.stem}-{compiler}",
                 marks=[pytest.mark.long] * (compiler == "clang" and source.stem in LONG_ONES))
    for source in FILES for compiler in ("gcc", "clang")])
def test_unit_tests(compiler, source):
    tests = names(source)
    assert tests, "no TEST() in it"
    run(f"check-{compiler}", *tests, least=len(tests))


@pytest.mark.parametrize("faults", [0, 50_000], ids=["no faults", "5 % of each fault"])
def test_over_frames(faults):
    """The same tests, with messages carried by the link over a simulated network."""
    run("check-gcc", "-concurrent", "-link_", CHECK_FRAMES=str(faults))


@pytest.mark.parametrize("program", ["check-drivers", "check-e1000", "check-pic", "check-boot",
                                     "check-polling", "check-controls"])
def test_drivers(program):
    """A driver against a faulty card in plain memory (tests/drivers)."""
    run(program)


def test_there_are_unit_tests():
    assert sum(len(names(source)) for source in FILES) >= 50
