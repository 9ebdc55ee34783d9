"""How the launcher decides that a job has ended, and with which status.

Pure: the nodes are entries of a table that the test fills.
"""
from __future__ import annotations

import signal
import sys
from types import SimpleNamespace

import pytest

from harness import BUILD, ROOT

sys.path.insert(0, str(ROOT / "tools"))

from margaylib import policy, verdict  # noqa: E402
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
    ([outcome(0, "ended")], None, 124, 124), ([outcome(0, "exited", 3, 0, 1)], 0, 130, 130)])
def test_job_status(outcomes, first, override, wanted):
    chosen = None if first is None else outcomes[first]
    assert verdict.job_status(outcomes, chosen, override) == wanted


def test_outcomes_from_the_node_table(layout):
    states = {name: value for name, value in layout.constants.items() if name.startswith("NODE_")}

    def read(state: str, wait: int | None, ours: bool = False):
        return verdict.read_outcome(0, states, states[state], 300, 11, 1, wait, ours)

    assert read("NODE_EXITED", 0x300).status == 300 & 255
    assert read("NODE_FAULTED", None).host_status == 139
    assert read("NODE_RUNNING", None).kind == "running"
    assert read("NODE_RUNNING", 9).kind == "died" and read("NODE_RUNNING", 9).host_status == 137
    assert read("NODE_BOOTED", 9, True).kind == "ended"
    assert read("NODE_BOOTED", 6).host_status == 125
    dead = read("NODE_OFF", 0x100)
    assert verdict.failure_text(dead, 0x100, "no such device").endswith("status 1: no such device")


class Killable:
    """A node that boots for ever and lives on for a while after it was killed."""
    main_seen, judged, ended_by_us, wait_status = 0.0, False, False, None
    alive = True
    serial_text = error_text = b""

    def __init__(self, rank: int) -> None:
        self.rank = rank

    def stopped(self) -> bool:
        return False


@pytest.mark.parametrize("by_signal", [False, True])
def test_killed_nodes_are_not_late(layout, by_signal):
    """Nodes that were killed and not yet reaped change neither the message nor the status."""
    job = SimpleNamespace(
        nodes=[Killable(rank) for rank in range(3)], options=SimpleNamespace(timeout=None),
        region=SimpleNamespace(layout=layout, field=lambda rank, name: 0), debug_rank=-1,
        kill_all=lambda: None, last_words=lambda node: None, say=lambda text: None)
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
