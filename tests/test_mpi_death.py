"""A rank's machine is killed during MPI calls: the others end too, and the launcher names it."""
from __future__ import annotations

import random
import signal

import pytest

from mpi_apps import mpi_app, with_mpi

pytestmark = [pytest.mark.mpi, pytest.mark.death, pytest.mark.spin(2), pytest.mark.own_link, with_mpi]

PHASES = ("barrier bcast reduce allreduce gather scatter allgather alltoall alltoallv "
          "reduce_scatter scan nonblocking create put get accumulate lock fetch post "
          "flush").split()


def dies(margay, over: str, ranks: int, phase: str, seed: int) -> None:
    """An operation with the dead rank ends with an MPI error, which ends its rank. The launcher
    ends ranks that have no operation with the dead one."""
    rng = random.Random(seed)
    victim = rng.randrange(ranks)
    live = margay.start("run", "--link", over, "-n", ranks, mpi_app("tests", "phases"),
                        PHASES.index(phase))
    live.wait_for(r"^\[0\] running$")
    live.kill_node(victim, rng.random() * 0.2)
    run = live.wait().status(128 + signal.SIGKILL)
    run.says(rf"^margay: .*rank {victim}\b.*died")
    assert "SIG" not in run.stderr.replace("SIGKILL", ""), run.describe(60)


@pytest.mark.parametrize("number, phase", enumerate(PHASES))
def test_a_rank_dies(margay, number, phase):
    """Half of them over each link."""
    dies(margay, ("shm", "virtio")[number % 2], 3, phase, number)


@pytest.mark.parametrize("over", ["shm", "virtio"])
def test_a_rank_aborts(margay, over):
    """The job's status is that of the rank that ended first, not of those whose MPI noticed it."""
    run = margay("run", "--link", over, "-n", 3, mpi_app("tests", "limits"), "aborts")
    run.status(128 + signal.SIGABRT).says(r"^margay: .*rank 1\b.*SIGABRT")


@pytest.mark.long
@pytest.mark.parametrize("over", ["shm", "virtio"])
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("ranks, seed", [(2, 100), (4, 101), (5, 102)])
def test_a_rank_dies_on_more_links(margay, over, phase, ranks, seed):
    dies(margay, over, ranks, phase, seed + PHASES.index(phase))
