"""PM2: threads, remote procedure calls and migration, over shared memory, a card, and a card that
loses frames; and what happens when a node ends."""
from __future__ import annotations

import pytest

pytestmark = [pytest.mark.messages, pytest.mark.own_link]

LOSS = ("--link", "virtio", "--faults", "seed=7,loss=1%")
LINKS: dict[str, tuple[str, ...]] = {"shm": (), "virtio": ("--link", "virtio"), "loss": LOSS}
OVER = pytest.mark.parametrize("over", list(LINKS))

THREADS = ("yields,joins,detached,mutexes,conditions,sleeping,sleeper beside work,preempted,alone,"
           "not preempted,C library,floating point,memory,arguments").split(",")
MOVES = "around preemptive refused many".split()


def cases(margay, app, over: str, nodes: int, name: str, wanted: list[str], *args):
    """Rank 0 prints a line for each case that has passed."""
    run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", app(name), *args,
                 timeout=180).ok()
    assert run.lines == [f"ok {case}" for case in wanted]
    return run


@pytest.mark.parametrize("nodes", [1, 2])
def test_threads(margay, app, nodes):
    """Turns, joins, mutexes, conditions, sleep, preemption, the C library beside it."""
    cases(margay, app, "shm", nodes, "pm2_threads", THREADS)


def test_ten_thousand_threads(margay, app):
    run = margay("run", "--mem", 512, app("pm2_threads"), 10000, timeout=120).ok()
    assert run.lines == ["ok 10000 threads"]


@OVER
@pytest.mark.parametrize("nodes", [1, 2, 3, 8])
def test_moves(margay, app, over, nodes):
    """By themselves and while they compute, with stack and heap; what may not move."""
    cases(margay, app, over, nodes, "pm2_move", MOVES, 500 if over == "shm" else 100)


def test_around_eight_nodes_ten_thousand_times(margay, app):
    cases(margay, app, "shm", 8, "pm2_move", ["around"], "around", 10000)


@OVER
@pytest.mark.parametrize("nodes", [2, 16])
def test_a_node_that_sleeps_loses_no_thread(margay, app, over, nodes):
    cases(margay, app, over, nodes, "pm2_move", ["flood"], "flood")
