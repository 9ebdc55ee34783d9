"""A kernel's fault ends its node, with cause, registers and its own backtrace."""
from __future__ import annotations

import os
import re
import signal
import sys

import pytest

from harness import ROOT, cpu_seconds, states, until

sys.path.insert(0, str(ROOT / "tools"))

from margaylib import machine  # noqa: E402

pytestmark = pytest.mark.faults

# crash=HOW (kernel/boot/inject_fault.c) -> (text of the cause, a function in the backtrace)
CASES = {
    "null": (r"read at 0x0{15}8 \(null pointer\)", "read_null"),
    "text": (r"write at 0x0*100000 \(kernel address\)", "write_text"),
    "data": (r"execution at 0x[0-9a-f]{16} \(kernel address\)", "inject_fault"),
    "smap": (r"read at 0x0*40000000 ", "read_application"),
    "smep": (r"execution at 0x0*40000000 ", "inject_fault"),
    "illegal": (r"illegal instruction", "illegal_instruction"),
    "stack": (r"double fault", "overflow_stack"),
}


@pytest.mark.parametrize("how", CASES)
def test_kernel_fault(margay, app, how):
    cause, function = CASES[how]
    run = margay("run", "--kernel", f"crash={how}", app("hello"))
    assert run.returncode != 0
    assert run.lines == []
    report = run.says(r"^margay: rank 0 \(node 0\): kernel panic: (.*)$")
    assert re.search(cause, report.group(1)), f"the cause is {report.group(1)!r}"
    run.says(r"\brip\b.*\b[0-9a-f]{16}\b")
    run.says(r"\br15\b.*\b[0-9a-f]{16}\b")
    run.says(rf"^margay: +#\d+ 0x[0-9a-f]+ {function} at \S*kernel/boot/inject_fault\.c:\d+$")
    run.says(r"^margay: +#\d+ 0x[0-9a-f]+ kernel_main at \S*kernel/boot/start\.c:\d+$")


def test_report_to_a_launcher_that_does_not_read(margay, app, tmp_path):
    """The serial port stops when some 300 bytes are unread: the kernel waits for a second of its
    QEMU's time, twenty times the time of a boot."""
    stops = tmp_path / "qemu"
    # It stops the launcher when that has passed the node its doorbells, and waits.
    stops.write_text("#!/bin/sh\nuntil grep -q '^State:.S' /proc/$PPID/status; do :; done\n"
                     f'kill -STOP $PPID\nexec {machine.PROGRAM} "$@"\n')
    stops.chmod(0o755)
    live = margay.start("run", "--accel", "tcg", "--kernel", "crash=text", app("hello"),
                        env={"MARGAY_QEMU": str(stops)})
    until(lambda: live.nodes() and "T" in states(live.process.pid))
    nodes = live.nodes()
    before = cpu_seconds(nodes[0])
    until(lambda: live.nodes() != nodes or cpu_seconds(nodes[0]) >= before + 1)
    assert live.nodes() == nodes, "the machine does not wait"
    os.kill(live.process.pid, signal.SIGCONT)
    run = live.wait()
    run.says(r"\br15\b.*\b[0-9a-f]{16}\b")
    run.says(r"^margay: +#\d+ 0x[0-9a-f]+ kernel_main at \S*kernel/boot/start\.c:\d+$")


def test_panic_while_panicking(margay, app):
    """The report is complete; the message to the launcher faults, and the machine still ends."""
    run = margay("run", "--kernel", "crash=twice", app("hello"))
    assert run.returncode != 0
    run.says(r"^margay: rank 0 \(node 0\): kernel panic: read at 0x0{15}8 \(null pointer\)")
    run.says(r"^margay: +#\d+ 0x[0-9a-f]+ kernel_main at \S*kernel/boot/start\.c:\d+$")
