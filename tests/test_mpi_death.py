"""A rank's machine is killed during MPI calls: the others end too, and the launcher names it."""
from __future__ import annotations

import random
import re
import signal

import pytest

from harness import Run
from mpi_apps import mpi_app, with_mpi

pytestmark = [pytest.mark.mpi, pytest.mark.death, pytest.mark.spin(2), pytest.mark.own_link, with_mpi]

PHASES = ("barrier bcast reduce allreduce gather scatter allgather alltoall alltoallv "
          "reduce_scatter scan nonblocking create put get accumulate lock fetch post "
          "flush").split()
# MPI's call in the phases in which each call names the rank that it waits for, or all ranks. In the
# others ranks wait for active messages too, which name none: there a call may wait for ever.
NAMES_PEER = {
    "create": "(Comm_dup|Win_create|Win_free|Comm_free)",
    "barrier": "Barrier", "bcast": "Bcast", "reduce": "Reduce", "allreduce": "Allreduce",
    "gather": "Gather", "scatter": "Scatter", "allgather": "Allgather", "alltoall": "Alltoall",
    "alltoallv": "Alltoallv", "reduce_scatter": "Reduce_scatter", "scan": "Scan",
    "nonblocking": "Waitall", "put": "Win_fence", "get": "Win_fence", "flush": "Win_flush"}


def killed(margay, over: str, ranks: int, phase: str, seed: int, *options: str) -> tuple[Run, int]:
    """A run in which a rank's machine is killed, and that rank."""
    rng = random.Random(seed)
    victim = rng.randrange(ranks)
    live = margay.start("run", "--link", over, "-n", ranks, *options, mpi_app("tests", "phases"),
                        PHASES.index(phase))
    live.wait_for(r"^\[0\] running$")
    live.kill_node(victim, rng.random() * 0.2)
    run = live.wait()
    run.says(rf"^margay: .*rank {victim}\b.*died")
    assert "SIG" not in run.stderr.replace("SIGKILL", ""), run.describe(60)
    return run, victim


def dies(margay, over: str, ranks: int, phase: str, seed: int) -> None:
    """The launcher ends the job, unless a rank's MPI error does so first. Whether there is such an
    error, goes_on tests."""
    run, _ = killed(margay, over, ranks, phase, seed)
    run.status(128 + signal.SIGKILL)


@pytest.mark.parametrize("number, phase", enumerate(PHASES))
def test_a_rank_dies(margay, number, phase):
    """Half of them over each link."""
    dies(margay, ("shm", "virtio")[number % 2], 3, phase, number)


def goes_on(margay, over: str, phase: str, ranks: int = 3) -> None:
    """The launcher ends nothing because of the death: a rank that is left ends the job with MPI's
    error, which names call, cause and the rank that died. A rank to which MPICH only passes on that
    another one has failed does not know the cause, and may be the one that ends the job. If the
    death damaged the queues of a rank, which is rare and only over shared memory, this one ends without
    MPI, and all other ranks end after it: by an error, or by the launcher."""
    run, victim = killed(margay, over, ranks, phase, PHASES.index(phase), "--on-death", "continue")
    assert run.returncode, run.describe()
    damaged = re.findall(r"^\[(\d)\] margay: rank \1: another rank died while it changed this one's "
                         "queues", run.stderr, re.M)
    assert len(damaged) <= (over == "shm"), run.describe()
    if damaged and ranks == 2:
        run.status(128 + signal.SIGKILL)
    elif damaged:
        ended = rf"^\[(?!{damaged[0]})\d\] .*MPI_{NAMES_PEER[phase]}\(.*\) failed$"
        run.says(rf"{ended}|^margay: ended ranks? .*: still running")
    if damaged:
        return
    run.says(rf"MPI_{NAMES_PEER[phase]}\(.*\) failed$")
    passed_on = r"|: Failure during collective$" if phase == "create" else ""
    # A call that finds the queues damaged does not know which rank died.
    named = rf"(rank {victim} of the job|a rank)" if over == "shm" else rf"rank {victim} of the job"
    run.says(rf"I/O error: {named} has died\)$|\(unknown\)\(\): Other MPI error${passed_on}")


@pytest.mark.parametrize("over", ["shm", "virtio"])
@pytest.mark.parametrize("phase", ["barrier", "alltoall", "nonblocking", "flush"])
def test_a_rank_dies_and_the_job_goes_on(margay, over, phase):
    goes_on(margay, over, phase)


@pytest.mark.parametrize("number, phase", enumerate(NAMES_PEER))
def test_a_rank_dies_in_each_call(margay, number, phase):
    """Half of them over each link."""
    goes_on(margay, ("shm", "virtio")[number % 2], phase)


@pytest.mark.long
@pytest.mark.parametrize("over", ["shm", "virtio"])
@pytest.mark.parametrize("phase", NAMES_PEER)
@pytest.mark.parametrize("ranks", [2, 4, 7])
def test_a_rank_dies_and_larger_jobs_go_on(margay, over, phase, ranks):
    goes_on(margay, over, phase, ranks)


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
