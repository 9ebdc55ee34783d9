"""Event handlers as upcalls (rule 23)."""
from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

pytestmark = pytest.mark.upcalls

CASES = ("order masked pingpong_computing pingpong_asleep wait_elsewhere poll_timeout sleep_on "
         "barrier ni_barrier with_get with_wait overrun reply late_bells in_handler arguments").split()


@pytest.mark.every_link
@pytest.mark.spin(2)
@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_rule23_handlers(margay, app, nodes):
    """Once and in order, masked, during computing and every wait, with PtlEQGet, overrun."""
    run = margay("run", "-n", nodes, "--no-prefix", app("upcall")).ok()
    assert run.lines == [f"ok {name}" for name in CASES]


@pytest.mark.every_link
@pytest.mark.spin(2)
@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_rule37_queues_that_fill(margay, app, nodes):
    """One call at the level and none before, while the receiver computes, takes events or
    sleeps."""
    run = margay("run", "-n", nodes, "--no-prefix", app("ptl_filling")).ok()
    assert run.lines == [f"ok {name}" for name in ("levels", "handler_takes", "with_get", "asleep",
                                                   "arguments")]


@pytest.mark.every_link
@pytest.mark.spin(2)
def test_nothing_is_spoilt(margay, app):
    """Thousands of upcalls between any two instructions: registers, vectors, red zone."""
    run = margay("run", "-n", 2, "--no-prefix", app("upcall_state"), 4000).ok()
    assert run.lines == ["ok sse", "ok avx", "ok red zone", "ok calls"]


@pytest.mark.spin(2)
@pytest.mark.parametrize("cpu", ["max,-avx", "max,-xsave"])
def test_vector_units(margay, app, tmp_path: Path, cpu):
    """On processors with fewer registers: no AVX, no XSAVE (then fxsave)."""
    qemu = tmp_path / "qemu"
    qemu.write_text('#!/bin/bash\nexec qemu-system-x86_64 "${@/#max/' + cpu + '}"\n')
    qemu.chmod(0o755)
    run = margay("run", "-n", 2, "--no-prefix", app("upcall_state"), 1000,
                 env={"MARGAY_QEMU": str(qemu)}).ok()
    assert run.lines == ["ok sse", "ok avx", "ok red zone", "ok calls"]


@pytest.mark.every_link
@pytest.mark.spin(2)
@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_queues_come_and_go_under_a_flood(margay, app, nodes):
    margay("run", "-n", nodes, "--no-prefix", app("upcall_churn"), 10).ok().prints("^ok churn$")


@pytest.mark.every_link
@pytest.mark.parametrize("nodes", [1, 2])
def test_handler_exits(margay, app, nodes):
    run = margay("run", "-n", nodes, app("upcall_ends"), "exit").status(7)
    assert (run.of_rank(0) if nodes > 1 else run.lines) == ["the handler ends it", "in order"]


@pytest.mark.every_link
@pytest.mark.parametrize("nodes", [1, 2])
def test_fault_in_a_handler(margay, app, nodes):
    """The backtrace goes through the handler into the interrupted code."""
    run = margay("run", "-n", nodes, app("upcall_ends"), "fault").status(128 + 11)
    run.says(r"^margay: rank 0 \(node 0\): write at 0x0+ \(null pointer\), signal 11 \(SIGSEGV\)$")
    run.says(r"^margay: (\[0\] )?  in an event handler \(upcall\)$")
    run.says(r"#0 0x[0-9a-f]+ write_somewhere at .*upcall_ends\.c:\d+$")
    run.says(r"#1 0x[0-9a-f]+ handler at .*upcall_ends\.c:\d+$")
    run.says(r"#4 0x[0-9a-f]+ __upcall_entry$")
    run.says(r"#[5-9] 0x[0-9a-f]+ (main|compute) at .*upcall_ends\.c:\d+$")


def test_handlers_stack_overflows(margay, app):
    run = margay("run", app("upcall_ends"), "deep").status(128 + 6)
    run.says("^margay: the stack of event handlers has overflowed$")


@pytest.mark.every_link
@pytest.mark.parametrize("nodes", [1, 2])
def test_main_returns_under_upcalls(margay, app, nodes):
    run = margay("run", "-n", nodes, app("upcall_ends"), "main").status(3)
    assert (run.of_rank(0) if nodes > 1 else run.lines) == ["in order"]


@pytest.mark.every_link
@pytest.mark.parametrize("how", ["stdin", "poll"])
def test_reading_goes_on(margay, app, tmp_path: Path, link, how):
    """Rank 0 waits for standard input, which arrives after its handler was called."""
    fifo = tmp_path / "input"
    os.mkfifo(fifo)
    shell = (f"exec tools/margay run --link {link} -n 2 --no-prefix {app('upcall_ends')} {how} "
             f"< {fifo}")
    live = margay.start("-c", shell, program=Path("/bin/sh"), cwd=app("upcall_ends").parents[2])
    with open(fifo, "w", encoding="ascii") as to:
        live.wait_for("^handled$")
        to.write("hello\n")
    live.wait().ok().prints("^6 bytes after 100: hello$")


@pytest.mark.every_link
def test_handler_learns_of_a_death(margay, app):
    """An ack that can never arrive is a failure event, for which the handler is called."""
    live = margay.start("run", "-n", 2, "--no-prefix", app("upcall_ends"), "death")
    live.wait_for("^rank 1 waits$")
    live.wait_for("^rank 0 puts$")        # it has left the barrier
    live.kill_node(1)
    live.wait().prints("^PTL_EVENT_ACK failed$")


@pytest.mark.every_link
@pytest.mark.spin(2)
@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_the_timer_interrupts(margay, app, nodes):
    """SIGALRM interrupts a program that computes and preserves its state; never within the C
    library."""
    run = margay("run", "-n", nodes, "--no-prefix", app("timer")).ok()
    assert run.lines == [f"ok {name}" for name in (
        "computing", "once", "registers", "red zone", "library", "masked", "waits", "awaited",
        "semaphores", "posted", "jumped", "periods", "discarded", "of events")]


@pytest.mark.spin(2)
@pytest.mark.parametrize("cpu", ["max,-avx", "max,-xsave"])
def test_the_timer_without_vector_units(margay, app, tmp_path: Path, cpu):
    qemu = tmp_path / "qemu"
    qemu.write_text('#!/bin/bash\nexec qemu-system-x86_64 "${@/#max/' + cpu + '}"\n')
    qemu.chmod(0o755)
    margay("run", "--no-prefix", app("timer"), env={"MARGAY_QEMU": str(qemu)}).ok().prints(
        "^ok of events$")


def test_a_timer_replaced_at_any_moment(margay, app):
    """A timer that expires while the program sets another one neither raises the other's signal
    nor stops all later timers."""
    margay("run", "--icount", app("timer"), "replaced").ok()


def test_the_timer_ends_a_loop(margay, app):
    """The default action of SIGALRM, and a backtrace through it into the loop."""
    run = margay("run", app("timer"), "kills").status(128 + signal.SIGALRM)
    run.says(r"ended by alarm or a timer, as it has no handler, signal 14 \(SIGALRM\)$")
    run.says(r"#[0-9] 0x[0-9a-f]+ __signal_detour$")
    run.says(r"#[0-9] 0x[0-9a-f]+ main at .*timer\.c:\d+$")
