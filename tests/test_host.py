"""The engine natively: every unit test program of tests/host, under ASan and UBSan."""
from __future__ import annotations

import subprocess

import pytest

from harness import BUILD, ROOT

pytestmark = pytest.mark.host

NAMES = sorted(path.stem for path in (ROOT / "tests" / "host").glob("test_*.c"))


@pytest.mark.parametrize("name", NAMES)
def test_host(name):
    program = BUILD / "host" / name
    done = subprocess.run([program], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, f"$ {program}\n{done.stdout[-3000:]}{done.stderr[-6000:]}"


def test_there_are_unit_tests():
    assert len(NAMES) >= 5
