"""Nodes that die or stop while others communicate with them: failure events, never a hang."""
from __future__ import annotations

import os
import random
import re
import signal
from contextlib import suppress
from itertools import count

import pytest

from harness import Run, cpu_seconds, let_time_pass, states, stop, until

pytestmark = pytest.mark.death

LONG = 240.0                   # a deadline that only detects a hang
LOOKS = 50                     # samples of a node's state per second
ANSWER = 2.0                   # seconds for a target that can answer: it polls every 50 ms
MOMENT = 0.02                  # seconds of a processor in which puts go on


def kill_at_random(margay, app, nodes: int, seed: int) -> None:
    """Kills one node's machine during traffic of all; the others must notice."""
    rng = random.Random(seed)
    victim = rng.randrange(nodes)
    live = margay.start("run", "-n", nodes, "--mem", 16, app("traffic"))
    live.wait_for(r"^(\[0\] )?running$")
    live.kill_node(victim, rng.random() * 0.3)
    run = live.wait()
    run.status(128 + signal.SIGKILL)
    run.says(rf"margay: .*rank {victim}\b.*died")
    assert "still running" not in run.stderr, f"a survivor hung\n{run.describe()}"
    see_failure(run, set(range(nodes)) - {victim} - run.broken({victim}, margay.link))


def see_failure(run: Run, ranks: set[int]) -> None:
    """The failed peer has died, or has exited because of that."""
    for rank in ranks:
        assert re.search(rf"^\[{rank}\] rank {rank}: peer \d failed: PTL_EVENT_", run.stdout, re.M), (
            f"rank {rank} saw no failure\n{run.describe()}")


@pytest.mark.every_link
@pytest.mark.spin(2)
@pytest.mark.parametrize("nodes, seed", [(2, 1), (3, 2), (4, 3), (2, 4), (5, 5)])
def test_killed_node(margay, app, nodes, seed):
    kill_at_random(margay, app, nodes, seed)


@pytest.mark.long
@pytest.mark.spin(2)
@pytest.mark.parametrize("seed", range(100, 150))
def test_killed_node_many_times(margay, app, seed):
    kill_at_random(margay, app, 2 + seed % 4, seed)


@pytest.mark.every_link
@pytest.mark.parametrize("how", ["event", "sleep"])
def test_killed_while_the_others_wait(margay, app, how):
    """Halted survivors that no message will wake: the job still ends."""
    live = margay.start("run", "-n", 3, app("waits"), how)
    live.wait_for(r"rank \d waits$", count=3)
    live.kill_node(1)
    run = live.wait().status(137)
    run.says(r"margay: .*rank 1\b.*died")
    run.says(r"^margay: ended ranks 0 and 2: still running 2 s after that$")


def test_killed_before_main(margay, app):
    """A node that dies while it boots."""
    live = margay.start("run", "-n", 2, app("waits"), "event")
    until(lambda: 1 in live.nodes())
    live.kill_node(1)
    live.wait().status(137).says(r"margay: .*rank 1\b.*died")


@pytest.mark.parametrize("on_death", ["end", "continue"])
def test_two_killed_at_once(margay, app, on_death):
    """If the job goes on, the others end by themselves. Each death may damage one of them."""
    live = margay.start("run", "-n", 4, "--mem", 16, "--on-death", on_death, app("traffic"))
    live.wait_for(r"^\[0\] running$")
    nodes = live.nodes()
    live.signal(signal.SIGSTOP)               # so that the launcher learns of both together
    os.kill(nodes[1], signal.SIGKILL)
    os.kill(nodes[3], signal.SIGKILL)
    live.signal(signal.SIGCONT)
    run = live.wait().status(137)
    run.says(r"margay: .*rank 1\b.*died")
    run.says(r"margay: .*rank 3\b.*died")
    if on_death == "continue":
        see_failure(run, {0, 2} - run.broken({1, 3}, margay.link))


@pytest.mark.spin(2)
def test_put_that_was_under_way(margay, app, tmp_path):
    """A put that has begun at its target ends there with a failure when its initiator dies. The
    initiator is stopped until its target reports a pending put. A target that does not answer
    waits for the stopped initiator: for a lock, or an ack. Between two stops the initiator runs."""
    def answer(number: int) -> bytes:
        said = re.compile(rb"^\[1\] %d (under way|between)$" % number, re.M)
        with suppress(AssertionError):
            until(lambda: said.search(bytes(live.out)), deadline=ANSWER)
        found = said.search(bytes(live.out))
        return found.group(1) if found else b"none"

    live = margay.start("run", "-n", 2, app("halfput"))
    live.wait_for(r"^\[\d\] running$", count=2)
    initiator = live.nodes()[0]
    for number in count(1):
        stop(initiator)
        (tmp_path / f"stopped{number}").touch()
        if answer(number) == b"under way":
            break
        used = cpu_seconds(initiator)
        os.kill(initiator, signal.SIGCONT)
        until(lambda: cpu_seconds(initiator) > used + MOMENT, "the initiator does nothing")
    live.kill_node(0)
    run = live.wait().status(137)
    assert run.of_rank(1)[-1] == "failed", run.describe()


def await_halt(pid: int) -> None:
    """Waits until it has slept for most of a second, which a spinning node never does."""
    def sleeps() -> bool:
        awake = 0
        for _ in range(LOOKS):
            awake += "R" in states(pid)        # it runs, or waits for a core
            let_time_pass(1 / LOOKS)
        return awake <= LOOKS // 2
    until(sleeps, "a waiting node burns its core")


def stopped_node(margay, app, nodes: int, seed: int) -> None:
    """A node that the host stops for a second only delays the others. Each rank ends some rounds
    after it has noticed that the node was stopped."""
    rng = random.Random(seed)
    victim, moment = rng.randrange(nodes), rng.random() * 0.05
    live = margay.start("run", "-n", nodes, "--mem", 16, app("traffic"),
                        margay.rounds(10000 // nodes), "stopped")
    live.wait_for(r"^\[0\] running$")
    let_time_pass(moment)
    machines = live.nodes()
    stop(machines[victim])
    (margay.cwd / "stopped").touch()
    if nodes == 2:                                # the other one can only wait for the stopped one
        await_halt(machines[1 - victim])
    else:
        let_time_pass(1)
    os.kill(machines[victim], signal.SIGCONT)
    run = live.wait(LONG).ok()
    assert sorted(line for line in run.stdout.splitlines() if "done" in line) == [
        f"[{rank}] rank {rank}: done" for rank in range(nodes)]


@pytest.mark.every_link
@pytest.mark.spin(2)
@pytest.mark.parametrize("nodes, seed", [(2, 1), (2, 2), (4, 3)])
def test_stopped_node(margay, app, nodes, seed):
    stopped_node(margay, app, nodes, seed)


@pytest.mark.long
@pytest.mark.spin(2)
@pytest.mark.parametrize("seed", range(20))
def test_stopped_node_many_times(margay, app, seed):
    stopped_node(margay, app, 2 + seed % 3, seed)


@pytest.mark.parametrize("how", ["sleep", "event", "stdin"])
def test_waiting_nodes_burn_no_core(margay, app, how):
    """Waiting nodes halt: they use hardly any processor time in a second. On a busy host a node that
    spins gets little of it, too, but is never asleep."""
    live = margay.start("run", "-n", 2, app("waits"), how, more_input=True)
    live.wait_for(r"rank \d waits$", count=2)
    machines = live.nodes()                 # the input of rank 1 ends at once, and it may be gone
    let_time_pass(0.3)                      # between the line and the wait
    before = {rank: cpu_seconds(pid) for rank, pid in machines.items()}
    let_time_pass(1)
    burnt = {rank: cpu_seconds(pid) - before[rank] for rank, pid in machines.items()}
    for pid in machines.values():
        await_halt(pid)
    live.signal(signal.SIGTERM)
    live.wait().status(143)
    assert 0 in burnt and max(burnt.values()) < 0.3, burnt


def test_the_end_of_the_input_ends_a_wait(margay, app):
    margay("run", "-n", 2, app("waits"), "stdin").ok()


@pytest.mark.every_link
@pytest.mark.parametrize("nodes, victim", [(2, 1), (2, 0), (4, 1), (4, 2), (5, 3)])
def test_death_during_a_barrier(margay, app, nodes, victim):
    """All survivors' barriers fail, now and later; none waits for the dead node."""
    live = margay.start("run", "-n", nodes, app("ptl_barrier"), "death")
    live.wait_for(r"^\[0\] running$")
    live.kill_node(victim)
    run = live.wait().status(128 + signal.SIGKILL)
    for rank in set(range(nodes)) - {victim}:
        assert f"rank {rank}: PTL_FAIL" in run.of_rank(rank), run.describe()
    assert "still running" not in run.stderr, run.describe()
