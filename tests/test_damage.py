"""A faulty kernel damages the shared region of a running job.

The last node writes seeded damage into the header, the node table, the consoles, standard input's
ring, the file table, the locks and the blocks (kernel/selftest/selftest_damage.c), while the others
send, print, read and wait (tests/apps/damaged.c). They continue, or end with a report; no kernel
writes to memory that is not its own; the launcher continues.
"""
from __future__ import annotations

import re

import pytest

pytestmark = [pytest.mark.faults, pytest.mark.nodes(4),
              pytest.mark.shared_memory("the shared region is what it damages")]

DAMAGED_WAITS = ["shm", "virtio"]  # over frames a call waits for the end of its operations

SEEDS = 10                    # of one job
# How a kernel may end because of another one's damage. A fault of its own is an error.
REPORTS = (r"damage: \d+ seeds from \d+ on; 0 words written outside, own segment whole",
           r"the shared region says that this node is dead: another node has damaged it")
# The launcher ends a job when a node appears to have ended; that may cut the damage short.
ENDED = r"^margay: (ended ranks? |rank \d \(node \d\) ended with status |.* was ended by signal )"


def damage(margay, app, seed: int) -> None:
    run = margay("run", "-n", 4, "--mem", 16, "--on-death", "continue",
                 "--file", __file__, "--selftest", f"damage-{seed}-{SEEDS}",
                 app("damaged"), 150, input=bytes(1 << 20), timeout=240)
    assert "Traceback" not in run.stderr, run.describe()
    panics = re.findall(r"kernel panic: (.*)", run.stderr)
    for text in panics:
        assert any(re.fullmatch(report, text) for report in REPORTS), run.describe()
    assert any(text.startswith(f"damage: {SEEDS} seeds") for text in panics) or \
        re.search(ENDED, run.stderr, re.M), run.describe()


@pytest.mark.parametrize("seed", [1, 61])
def test_damaged_region(margay, app, seed):
    damage(margay, app, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1001, 2001, SEEDS))
def test_damaged_region_many_times(margay, app, seed):
    damage(margay, app, seed)


@pytest.mark.parametrize("link", DAMAGED_WAITS, indirect=True)
def test_descriptor_that_is_in_use_for_ever(margay, app, link):
    """No call waits forever for operations that are pending only by damage."""
    run = margay("run", "-n", 2, "--mem", 16, "--selftest", "pinned", app("ptl_pinned"),
                 env={"MARGAY_BOOT_SECONDS": "100"}).ok()   # the last node boots after the damage
    assert run.lines == ["[0] in use"]
    if link != "shm":
        run.says(r"rank 0 \(node 0\): \d+ operations on a descriptor do not end: ")


@pytest.mark.long
@pytest.mark.parametrize("link", DAMAGED_WAITS, indirect=True)
def test_sends_that_are_under_way_for_ever(margay, app, link):
    """PtlNIFini fails after a time, and the node still ends."""
    run = margay("run", "-n", 2, "--mem", 16, "--selftest", "unsent", app("ptl_pinned"), "unsent",
                 env={"MARGAY_BOOT_SECONDS": "240"}, timeout=240).ok()
    assert run.lines == ["[0] fails"]
    run.says(r"rank 0 \(node 0\): other nodes' operations in this process do not end")


def test_barrier_after_a_restart_that_rings_no_node(margay, app):
    """A waiting node looks at the node table now and then: its barrier fails, and hangs for no
    doorbell."""
    run = margay("run", "-n", 2, "--mem", 16, "--selftest", "unrung", app("ptl_pinned"), "unrung",
                 env={"MARGAY_BOOT_SECONDS": "100"}).ok()   # the last node boots when it is over
    assert run.lines == ["[0] fails"]


def test_barrier_after_a_restart_that_one_node_sees(margay, app):
    """A node that has seen it tells the others, so none waits although the old value is back."""
    run = margay("run", "-n", 3, "--mem", 16, "--selftest", "retracted", app("ptl_pinned"), "retracted",
                 env={"MARGAY_BOOT_SECONDS": "100"}).ok()   # the last node boots when it is over
    assert sorted(run.lines) == ["[0] fails", "[1] fails"]
