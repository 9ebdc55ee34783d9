"""Operations of all kinds and lengths, while descriptors are updated and unlinked, interfaces are
closed and opened, and ranks exit, die or start again: each operation ends once, and nothing is
written where it may not be."""
from __future__ import annotations

import random
import re
import signal

import pytest

from harness import Run

pytestmark = [pytest.mark.death, pytest.mark.spin(2), pytest.mark.own_link]

LONG = 240.0                  # a deadline that only detects a hang
LOSS = "loss=2%,reorder=2%,dup=1%,seed={seed}"
SOME = ["virtio", "e1000 --faults " + LOSS]
CARDS = ["virtio", "virtio --no-bulk", "e1000", "virtio --faults " + LOSS, "e1000 --faults " + LOSS]


def start(margay, app, link: str, nodes: int, seed: int, *args: object, death: str = "end"):
    return margay.start("run", "-n", nodes, "--mem", 96, "--link", *link.format(seed=seed).split(),
                        "--on-death", death, app("ptl_turmoil"), seed, *args)


def turmoil(margay, app, link: str, nodes: int, seed: int, operations: int, how: str) -> None:
    """All ranks end by themselves."""
    victim = -1 if how == "reopens" else seed % nodes
    run = start(margay, app, link, nodes, seed, operations, how, victim).wait(LONG).ok()
    for rank in range(nodes):
        lasts = how != "exits" or rank != victim
        assert run.of_rank(rank) == ["runs"] + ["ok"] * lasts, run.describe()


def death(margay, app, link: str, nodes: int, seed: int, how: str) -> None:
    """A rank dies at a random moment; the others go on for a random time."""
    rng = random.Random(seed)
    victim = seed % nodes
    live = start(margay, app, link, nodes, seed, 0, how, victim,
                 death="restart" if how == "restarted" else "continue")
    live.wait_for(r"^\[\d+\] runs$", count=nodes)
    live.kill_node(victim, rng.random())
    if how == "restarted":
        live.wait_for(r"^\[\d+\] runs$", count=nodes + 1)
    else:
        live.wait_for(r"^margay: rank \d+ .*died")
    (margay.cwd / "over").touch()
    run = live.wait(LONG).status(0 if how == "restarted" else 128 + signal.SIGKILL)
    broken = run.broken({victim}, link)
    if broken:
        others_of_a_broken_rank(run, set(range(nodes)) - {victim} - broken, *broken)
        return
    for rank in range(nodes):
        runs = 1 + (rank == victim and how == "restarted")
        lasts = rank != victim or how == "restarted"
        assert run.of_rank(rank) == ["runs"] * runs + ["ok"] * lasts, run.describe()


def others_of_a_broken_rank(run: Run, others: set[int], broken: int) -> None:
    """Operations with it fail, or wait for it until the launcher ends their ranks. Nothing else is
    wrong."""
    for rank in others:
        errors = [line for line in run.stderr.splitlines() if line.startswith(f"[{rank}] ")]
        assert not errors or re.search(rf"operation on rank {broken}: PTL_NI_FAIL$", errors[-1]) \
            or re.search(r"\d+ ok, \d+ failed", errors[-1]), run.describe()
        assert errors or re.search(rf"^margay: ended rank.*\b{rank}\b.*still running", run.stderr,
                                   re.M), run.describe()


@pytest.mark.parametrize("how", ["none", "reopens", "exits"])
@pytest.mark.parametrize("link", ["shm", *SOME])
def test_updates_and_ends_under_load(margay, app, link, how):
    turmoil(margay, app, link, 3, 1, 400, how)


@pytest.mark.parametrize("link", ["shm", *SOME])
def test_a_death_under_load(margay, app, link):
    death(margay, app, link, 3, 1, "killed")


@pytest.mark.parametrize("link", SOME)
def test_a_restart_under_load(margay, app, link):
    death(margay, app, link, 3, 2, "restarted")


@pytest.mark.long
@pytest.mark.parametrize("link", ["shm", *CARDS])
@pytest.mark.parametrize("seed", range(100, 104))
def test_turmoil_many_times(margay, app, link, seed):
    nodes = 2 + seed % 3
    for how in ("none", "reopens", "exits"):
        turmoil(margay, app, link, nodes, seed, 2000, how)


@pytest.mark.long
@pytest.mark.parametrize("link", ["shm", *CARDS])
@pytest.mark.parametrize("seed", range(100, 104))
def test_deaths_many_times(margay, app, link, seed):
    death(margay, app, link, 2 + seed % 3, seed, "killed")


@pytest.mark.long
@pytest.mark.parametrize("link", CARDS)
@pytest.mark.parametrize("seed", range(100, 104))
def test_restarts_many_times(margay, app, link, seed):
    death(margay, app, link, 2 + seed % 3, seed, "restarted")
