"""Programs with MPI for the tests; make builds them if MPI is built.

`make check` builds MPI first, which takes minutes. Where pytest is called without it these tests are
skipped.
"""
from __future__ import annotations

import fcntl
import os
import subprocess
from functools import cache
from pathlib import Path

import pytest

from harness import BUILD, ROOT

THERE = subprocess.run([ROOT / "tools/mpicc", "--where"], capture_output=True,
                       check=False).returncode == 0
with_mpi = pytest.mark.skipif(not THERE, reason="MPI is not built: make mpi")


@cache
def mpi_app(folder: str, name: str) -> Path:
    """The image of FOLDER/mpi/NAME.c. Only one process at a time calls make."""
    image = BUILD / folder / "mpi" / f"{name}.elf"
    BUILD.mkdir(exist_ok=True)
    outside = {key: value for key, value in os.environ.items()
               if not key.startswith(("MAKE", "MFLAGS"))}
    with open(BUILD / "mpi-apps.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        made = subprocess.run(["make", "-C", ROOT, "-s", "MARGAY_READY=1",
                               image.relative_to(ROOT)], capture_output=True, text=True, env=outside)
    assert made.returncode == 0, made.stdout + made.stderr
    return image
