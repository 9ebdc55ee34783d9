"""What a kernel does wrong ends its node, with cause, registers and its own backtrace."""
from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.faults

# crash=HOW (kernel/crash.c) -> (what the cause says, a function in the backtrace)
CASES = {
    "null": (r"read at 0x0{15}8 \(null pointer\)", "read_null"),
    "text": (r"write at 0x0*100000 \(kernel address\)", "write_text"),
    "data": (r"execution at 0x[0-9a-f]{16} \(kernel address\)", "crash"),
    "smap": (r"read at 0x0*40000000 ", "read_application"),
    "smep": (r"execution at 0x0*40000000 ", "crash"),
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
    run.says(rf"^margay: +#\d+ 0x[0-9a-f]+ {function} at \S*kernel/crash\.c:\d+$")
    run.says(r"^margay: +#\d+ 0x[0-9a-f]+ kernel_main at \S*kernel/start\.c:\d+$")


def test_panic_while_panicking(margay, app):
    """The report is whole; telling the launcher faults, and the machine ends all the same."""
    run = margay("run", "--kernel", "crash=twice", app("hello"), timeout=30)
    assert run.returncode != 0
    run.says(r"^margay: rank 0 \(node 0\): kernel panic: read at 0x0{15}8 \(null pointer\)")
    run.says(r"^margay: +#\d+ 0x[0-9a-f]+ kernel_main at \S*kernel/start\.c:\d+$")
