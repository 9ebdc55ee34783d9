"""Many kernels deliver into one block while its owner attaches, unlinks, updates and polls.

On the host with threads as kernels, under TSan: MPI's race (rule 24), and a stress
whose history is replayed in the reference model.
"""
from __future__ import annotations

import os
import re
import subprocess

import pytest

from harness import BUILD

pytestmark = pytest.mark.race


def threads(test: str, **settings: object) -> str:
    """Runs one test of tests/host under TSan; returns the line in which it says what it did."""
    command = [str(BUILD / "host" / "check-tsan"), test]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400,
                          env={**os.environ, **{key: str(value) for key, value in settings.items()}})
    *said, last = done.stdout.splitlines() or [""]
    assert done.returncode == 0 and last == "1 passed, 0 failed", (
        f"{settings} {' '.join(command)}\n{done.stdout[-3000:]}{done.stderr[-6000:]}")
    return said[-1]


def race(rounds: int, seed: int) -> None:
    said = threads("rule24_concurrent_race", RACE_ROUNDS=rounds, RACE_SEED=seed)
    found = re.fullmatch(r"race: seed (\d+), (\d+) messages, \d+ receives, (\d+) updates refused, "
                         r"(\d+) of them late", said)
    assert found and int(found.group(1)) == seed and int(found.group(2)) >= rounds - 2, said
    # The race did take place.
    assert int(found.group(3)) > rounds / 100 and int(found.group(4)) > 0, said


def test_mpi_race_of_threads():
    """Rule 24: receives are posted while messages for them arrive."""
    race(100_000, 1)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 12))
def test_mpi_race_of_threads_again(seed):
    race(100_000, seed)
