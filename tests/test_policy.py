"""How the launcher decides when a job has ended, and with which status.

Without processes: the nodes are entries of a table that the test fills.
"""
from __future__ import annotations

import signal
import sys
from types import SimpleNamespace

import pytest

from harness import BUILD, ROOT

sys.path.insert(0, str(ROOT / "tools"))

from margaylib import policy, signals, verdict  # noqa: E402
from margaylib.layout import Layout  # noqa: E402

pytestmark = pytest.mark.launcher


@pytest.fixture(scope="session")
def layout() -> Layout:
    return Layout(BUILD / "region.json")


def outcome(rank: int, kind: str, status: int = 0, signal: int = 0, order: int = 0):
    return verdict.Outcome(rank, kind, status, signal, order)


@pytest.mark.parametrize("outcomes, first, override, wanted", [
    ([outcome(0, "exited", 0, 0, 1)], None, None, 0),
    ([outcome(0, "exited", 3, 0, 2), outcome(1, "exited", 9, 0, 1)], 0, None, 9),
    ([outcome(0, "exited", 3, 0, 2), outcome(1, "faulted", 0, 11, 1)], 1, None, 139),
    ([outcome(0, "faulted", 0, 6, 1), outcome(1, "ended")], 0, None, 134),
    ([outcome(0, "exited", 1, 0, 1), outcome(1, "died", 0, 9)], 1, None, 137),
    ([outcome(0, "exited", 1, 0, 1), outcome(1, "died", 0, 9)], 0, None, 1),
    ([outcome(0, "died", 0, 0)], 0, None, 125), ([outcome(0, "panicked")], 0, None, 134),
    ([outcome(0, "exited", 3, 0, 1), outcome(1, "ended-job", 0, 0, 2)], 0, None, 0),
    ([outcome(0, "ended-job", 7, 0, 2), outcome(1, "ended-job", 9, 0, 1)], 0, None, 9),
    ([outcome(0, "faulted", 0, 11, 1), outcome(1, "ended-job", 143, 0, 2)], 0, None, 139),
    ([outcome(0, "ended-job", 7, 0, 1), outcome(1, "faulted", 0, 11, 2)], 0, None, 7),
    ([outcome(0, "died", 0, 9), outcome(1, "ended-job", 9, 0, 1)], 0, None, 137),
    ([outcome(0, "died", 0, 9), outcome(1, "ended-job", 9, 0, 1)], 1, None, 9),
    ([outcome(0, "ended")], None, 124, 124), ([outcome(0, "exited", 3, 0, 1)], 0, 130, 130)])
def test_job_status(outcomes, first, override, wanted):
    chosen = None if first is None else outcomes[first]
    assert verdict.job_status(outcomes, chosen, override) == wanted


def test_job_status_where_deaths_end_nothing():
    outcomes = [outcome(0, "died", 0, 9), outcome(1, "ended-job", 4, 0, 1)]
    assert verdict.job_status(outcomes, outcomes[0], None, goes_on=True) == 4


def test_outcomes_from_the_node_table(layout):
    states = {name: value for name, value in layout.constants.items() if name.startswith("NODE_")}

    def read(state: str, wait: int | None, ours: bool = False):
        return verdict.read_outcome(0, states, states[state], 300, 11, 1, wait, ours)

    assert read("NODE_EXITED", 0x300).status == 300 & 255
    assert read("NODE_ENDED_JOB", None).host_status == 300 & 255
    assert read("NODE_FAULTED", None).host_status == 139
    assert read("NODE_RUNNING", None).kind == "running"
    assert read("NODE_RUNNING", 9).kind == "died" and read("NODE_RUNNING", 9).host_status == 137
    assert read("NODE_BOOTED", 9, True).kind == "ended"
    assert read("NODE_BOOTED", 6).host_status == 125
    assert verdict.Outcome(0, "faulted", signal=1 << 7 | 1 << 31).host_status == 128
    dead = read("NODE_OFF", 0x100)
    assert verdict.failure_text(dead, 0x100, "no such device").endswith("status 1: no such device")


class Killable:
    """A node that never finishes booting, and lives for a while after it was killed."""
    main_seen, judged, ended_by_us, wait_status = 0.0, False, False, None
    alive, pid = True, 1
    serial_text = error_text = b""

    def __init__(self, rank: int) -> None:
        self.rank = rank

    def stopped(self) -> bool:
        return False


@pytest.mark.parametrize("by_signal", [False, True])
def test_killed_nodes_are_not_late(layout, by_signal):
    """Nodes that were killed but not yet reaped change neither the message nor the status."""
    job = SimpleNamespace(
        nodes=[Killable(rank) for rank in range(3)],
        options=SimpleNamespace(timeout=None, on_death="end", link="shm"),
        region=SimpleNamespace(layout=layout, field=lambda rank, name: 0), debug_rank=-1,
        kill_all=lambda: None, last_words=lambda node: None, say=lambda text: None,
        locks=SimpleNamespace(end=lambda rank: None))
    decided = policy.Policy(job)
    decided.all_started(0.0)
    if by_signal:
        decided.signalled(signal.SIGINT, 1.0)
    decided.look(1000.0)
    job.nodes[0].wait_status, job.nodes[0].alive, job.nodes[0].ended_by_us = 9, False, True
    decided.look(1000.1)
    if by_signal:
        assert decided.error is None and decided.override == 130
    else:
        assert "ranks 0 to 2 did not reach main" in decided.error.text()
        assert decided.override == 125


def test_ctrl_z_while_the_nodes_boot(layout, monkeypatch):
    """The time in which they were stopped does not count."""
    job = SimpleNamespace(
        nodes=[Killable(0)], options=SimpleNamespace(timeout=None, on_death="end", link="shm"),
        region=SimpleNamespace(layout=layout, field=lambda rank, name: 0), debug_rank=-1,
        kill_all=lambda: None, last_words=lambda node: None)
    monkeypatch.setattr(signals, "stop_here", lambda pids: 500.0)
    decided = policy.Policy(job)
    decided.all_started(0.0)
    decided.signalled(signal.SIGTSTP, 1.0)
    decided.look(500.0 + decided.boot_seconds - 0.1)
    assert decided.override is None
    decided.look(500.0 + decided.boot_seconds)
    assert "rank 0 did not reach main" in decided.error.text()


class Machine:
    """A node of a table: its QEMU runs, or has ended with a wait status."""
    ended_by_us = judged = False
    error_text = b""

    def __init__(self, rank: int, life: int = 1) -> None:
        self.rank = rank
        self.life = life
        self.wait_status: int | None = None
        self.main_seen = 1.0

    @property
    def alive(self) -> bool:
        return self.wait_status is None

    def kill(self) -> None:
        self.ended_by_us, self.wait_status = True, 9

    def stopped(self) -> bool:
        return False


class Table:
    """A job of three running nodes for the policy."""

    def __init__(self, layout, on_death: str, restarts: int = 0) -> None:
        self.nodes = [Machine(rank) for rank in range(3)]
        self.options = SimpleNamespace(link="shm", timeout=None, on_death=on_death,
                                       restarts=restarts)
        self.fields: dict[tuple[int, str], int] = {}
        self.running = layout["NODE_RUNNING"]
        self.region = SimpleNamespace(layout=layout, field=self.field, set_field=self.set_field)
        self.doorbell = SimpleNamespace(ring_all=lambda: None)
        self.said: list[str] = []
        self.say = self.said.append
        self.debug_rank, self.accel = -1, "tcg"
        self.last_words = lambda node: None
        self.unlocked: list[int] = []
        self.locks = SimpleNamespace(end=self.unlocked.append)
        self.policy = policy.Policy(self)
        self.policy.all_started(0.0)
        self.policy.look(0.0)

    def field(self, rank: int, name: str) -> int:
        return self.fields.get((rank, name), self.running if name == "state" else 0)

    def set_field(self, rank: int, name: str, value: int) -> None:
        self.fields[rank, name] = value

    def kill_all(self) -> None:
        for node in self.nodes:
            node.kill()

    def restart(self, node: Machine) -> None:
        self.nodes[node.rank] = Machine(node.rank, node.life + 1)

    def ends(self, rank: int, state: str, layout) -> None:
        self.fields[rank, "state"] = layout[state]
        self.nodes[rank].wait_status = 0


def test_death_ends_the_job(layout):
    job = Table(layout, "end")
    job.nodes[1].wait_status = 9
    assert not job.policy.look(1.0) and job.fields[1, "dead"] == 1
    assert set(job.unlocked) == {1}, "its locks of files end with it"
    assert not job.policy.look(2.9)
    job.policy.look(3.1)
    assert job.policy.look(3.2) and job.policy.status() == 137


@pytest.mark.parametrize("on_death", ["end", "continue", "restart"])
def test_a_node_ends_the_job(layout, on_death):
    """At once, whatever --on-death is."""
    job = Table(layout, on_death)
    job.fields[1, "state"], job.fields[1, "exit_order"] = layout["NODE_ENDED_JOB"], 1
    job.policy.look(1.0)
    assert not any(node.alive for node in job.nodes)
    assert job.said == ["rank 1 (node 1) ended the job with status 0"]
    assert job.policy.look(1.1) and job.policy.status() == 0


def test_the_rest_of_its_output_comes_before_what_is_said_of_a_node(layout):
    """A node may print between the launcher's last look at its console and its end."""
    job = Table(layout, "end")
    job.last_words = lambda node: job.said.append(f"output of {node.rank}")
    job.fields[1, "state"], job.fields[1, "status"] = layout["NODE_EXITED"], 1
    job.policy.look(1.0)
    assert job.said == ["output of 1", "rank 1 (node 1) ended with status 1"]


def test_state_that_another_node_has_overwritten(layout):
    """An invalid state is reported once, and the node continues. A node that ran does not boot
    again."""
    job = Table(layout, "end")
    job.fields[1, "state"] = 0xdeadbeef
    assert not job.policy.look(1.0) and not job.policy.look(2.0)
    assert job.said == ["the entry of node 1 in the shared region is damaged (state 0xdeadbeef)"]
    job.fields[1, "state"] = layout["NODE_OFF"]
    assert not job.policy.look(1000.0) and job.nodes[1].alive and job.policy.error is None
    for rank in range(3):
        job.ends(rank, "NODE_EXITED", layout)
    assert job.policy.look(1001.0) and job.policy.status() == 0


def test_a_job_continues_without_the_dead(layout):
    job = Table(layout, "continue")
    job.nodes[1].wait_status = 9
    assert not job.policy.look(1.0) and job.fields[1, "dead"] == 1
    assert not job.policy.look(1000.0) and job.nodes[0].alive
    for rank in (0, 2):
        job.ends(rank, "NODE_EXITED", layout)
    assert job.policy.look(1001.0) and job.policy.status() == 137


def test_locks_end_with_a_node_that_panics(layout):
    """Its state says so before its QEMU has gone."""
    job = Table(layout, "continue")
    job.fields[1, "state"] = layout["NODE_PANICKED"]
    assert not job.policy.look(1.0) and job.fields[1, "dead"] == 1
    job.nodes[1].wait_status = 0
    assert not job.policy.look(1.1)
    assert job.unlocked == [1]


def test_a_job_that_continued_still_ends_with_a_failure(layout):
    job = Table(layout, "continue")
    job.nodes[1].wait_status = 9
    job.policy.look(1.0)
    job.ends(2, "NODE_FAULTED", layout)
    assert not job.policy.look(2.0) and job.nodes[0].alive
    job.policy.look(4.1)
    assert not job.nodes[0].alive


def test_restarts(layout):
    """A node restarts as often as allowed; a further death counts as a failure. If the last life
    ended successfully, the earlier deaths do not count."""
    job = Table(layout, "restart", 2)
    for life in (2, 3):
        job.nodes[1].wait_status = 9
        assert not job.policy.look(float(life)) and job.nodes[1].life == life
        assert "died" in job.said[-2] and f"life {life} of at most 3" in job.said[-1]
    assert (1, "dead") not in job.fields
    for rank in range(3):
        job.ends(rank, "NODE_EXITED", layout)
    assert job.policy.look(10.0) and job.policy.status() == 0

    job = Table(layout, "restart", 1)
    job.nodes[1].wait_status = 9
    job.policy.look(1.0)
    job.nodes[1].wait_status = 9
    job.policy.look(2.0)
    assert job.fields[1, "dead"] == 1 and "not started again" in job.said[-1]
    job.policy.look(4.1)
    assert job.policy.look(4.2) and job.policy.status() == 137


def test_no_restart_of_a_machine_that_refused_or_of_a_job_that_ends(layout):
    job = Table(layout, "restart", 3)
    job.nodes[1].main_seen, job.nodes[1].wait_status = 0.0, 1 << 8
    job.fields[1, "state"] = layout["NODE_OFF"]
    job.policy.look(1.0)
    assert job.nodes[1].life == 1
    job = Table(layout, "restart", 3)
    job.policy.signalled(signal.SIGTERM, 1.0)
    assert job.policy.look(1.1) and all(node.life == 1 for node in job.nodes)


def test_a_panicked_kernel_is_restarted_once_its_machine_is_gone(layout):
    job = Table(layout, "restart", 3)
    job.fields[1, "state"] = layout["NODE_PANICKED"]
    job.policy.look(1.0)
    assert job.nodes[1].life == 1
    job.nodes[1].wait_status = 0
    job.policy.look(1.1)
    assert job.nodes[1].life == 2
