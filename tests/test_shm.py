"""The basis of the shared-memory link, tested by two kernels at once."""
from __future__ import annotations

import os
from pathlib import Path

import pytest

pytestmark = [pytest.mark.messages, pytest.mark.nodes(2), pytest.mark.spin(2),
              pytest.mark.shared_memory("it tests the shared region itself")]


def figures(run) -> dict[str, int]:
    ours = ("locks", "copy", "pingpong", "doorbell", "costs")
    return {name: int(value) for name, value in
            (line.split() for line in run.of_rank(0) if line.startswith(ours))}


def test_locked_increments_and_fences(margay, app):
    """With one possible CPU, QEMU makes lock prefixes and mfence ineffective between
    processes; every node is started with maxcpus=2 because of that."""
    run = margay("run", "-n", 2, "--selftest", "locks", app("hello"), timeout=200).ok()
    assert figures(run) == {"locks_increments": 2_000_000, "locks_missed": 0}


@pytest.mark.parametrize("name, needed", [("pingpong", "pingpong_half_rtt_ps"),
                                          ("doorbell", "doorbell_half_rtt_ps"),
                                          ("copy", "copy_MBps_1048576"),
                                          ("costs", "costs_doorbell_ps")])
def test_raw_limits_are_measured(margay, app, name, needed):
    """The benchmarks' self-tests run, and do not affect the application."""
    run = margay("run", "-n", 2, "--selftest", name, app("hello"), timeout=200).ok()
    assert figures(run)[needed] > 0
    assert any("hello from rank 1" in line for line in run.of_rank(1))


@pytest.mark.parametrize("name", ["pingpong", "locks"])
def test_turns_on_one_processor(margay, app, name):
    """Each turn takes a time slice there, but the nodes still reach main in time."""
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})
    try:
        margay("run", "-n", 2, "--selftest", name, app("hello"), timeout=200).ok()
    finally:
        os.sched_setaffinity(0, processors)


@pytest.mark.parametrize("nodes, name, why", [
    (2, "nonsense", 'selftest: no test "nonsense"; there are:\n(.*\n)*.*selftest:   doorbell\n'),
    (1, "locks", "needs a machine of 2 nodes")])
def test_selftest_that_cannot_run(margay, app, nodes, name, why):
    run = margay("run", "-n", nodes, "--selftest", name, app("hello"))
    assert run.returncode != 0
    run.says(why)


def test_selftest_of_an_image_without(margay, app):
    """Applications are linked with a kernel without self-tests; the error names the one with
    them."""
    run = margay("run", "--selftest", "stray", app("waits"), "alone")
    assert run.returncode != 0
    run.says("selftest=stray: this image has no self-tests; margay cc --selftests")


@pytest.mark.death
def test_owner_of_the_lock_dies_while_one_waits_for_a_message(margay, app):
    """The survivor's block is broken: no event can arrive, and its wait returns an error."""
    live = margay.start("run", "-n", 2, "--kernel", "crash=hold", app("waits"), "alone")
    live.wait_for(r"node 1 holds the lock of node 0")
    live.kill_node(1)
    run = live.wait().status(137)
    run.says(r"PtlEQWait: PTL_FAIL")
    assert "still running" not in run.stderr, run.describe()


def test_put_without_a_link(margay, app):
    """A job of two ranks without a region: a failure event, never a panic."""
    run = margay("-M", "q35", "-kernel", app("ptl_unreachable"), "-m", 128, "-display", "none",
                 "-serial", "stdio", "-no-reboot", "-accel", "tcg", "-cpu", "max",
                 "-append", "--margay node=0 rank=0 n=2 link=none -- a",
                 program=Path("/usr/bin/qemu-system-x86_64")).ok()
    text = run.stdout.replace("\r", "")
    assert ("to 1: PTL_OK\nPTL_EVENT_SEND_END fail 1\nPTL_EVENT_ACK fail 1\n"
            "to 70: PTL_PROCESS_INVALID\nmargay: rank 0 exited with status 0\n") in text


def test_puts_without_events_do_not_wake_the_target(margay, app):
    run = margay("run", "-n", 2, "--no-prefix", app("undisturbed")).ok()
    assert int(run.prints(r"^bells (\d+)$").group(1)) < 20
