"""An application's fault stops it, with cause, registers and backtrace."""
from __future__ import annotations

import re
import signal

import pytest

pytestmark = pytest.mark.faults

SEGV, FPE, ILL, TRAP, ABRT, TERM = (
    signal.SIGSEGV, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGTERM)

PROTECTION = r"^general protection \(privileged instruction, or address not canonical\)$"
ITSELF = r"^ended by abort, raise or kill$"

# case -> (signal, text of the cause)
CASES = {
    "null": (SEGV, r"null|0x0+\b"),
    "read_null": (SEGV, r"null|0x0*8\b"),
    "text": (SEGV, r"writ"),
    "rodata": (SEGV, r"writ"),
    "exec_stack": (SEGV, r"execut"),
    "exec_heap": (SEGV, r"execut"),
    "kernel": (SEGV, r"0x0*100000\b"),
    "kernel_write": (SEGV, r"0x0*100000\b"),
    "kernel_jump": (SEGV, r"0x0*100000\b"),
    "direct_map": (SEGV, r"0xffff800000100000\b"),
    "peer_alias": (SEGV, r"0xffffc00000080000\b"),
    "events": (SEGV, r"writ"),
    "noncanonical": (SEGV, PROTECTION),
    "beyond": (SEGV, r"0x0*400040000000\b"),
    "stack": (SEGV, r"stack"),
    "frame": (SEGV, r"stack overflow"),
    "divide": (FPE, r"[Dd]ivi"),
    "illegal": (ILL, r"ud2"),
    "avx512": (ILL, r"bytes 62 f1 7c 48, AVX-512\): .*compile without -march=native"),
    "privileged": (SEGV, PROTECTION),
    "port": (SEGV, PROTECTION),
    "cli": (SEGV, PROTECTION),
    "msr": (SEGV, PROTECTION),
    "interrupt": (SEGV, r"int 0x20: not for applications"),
    "linux_call": (SEGV, r"int 0x80: not for applications"),
    "selector": (SEGV, r"segment selector 0x0008"),
    "breakpoint": (TRAP, r"^breakpoint$"),
    "abort": (ABRT, ITSELF),
    "assert": (ABRT, ITSELF),
    "raise": (TERM, ITSELF),
    "syscall": (SEGV, r"bad system call pointer: write"),
    "deep": (SEGV, r"null|0x0+\b"),
}
# Ended by the C library on the application's behalf: no registers of a trap.
SELF = {"abort", "assert", "raise"}


@pytest.mark.parametrize("case", CASES)
def test_fault(margay, app, case):
    number, cause = CASES[case]
    run = margay("run", app("fault"), case).status(128 + number)
    assert run.lines == ["alive"]
    report = run.says(r"^margay: rank 0 \(node 0\): (.*), signal (\d+) \((\w+)\)$")
    assert int(report.group(2)) == number
    assert report.group(3) == number.name
    assert re.search(cause, report.group(1)), f"the cause is {report.group(1)!r}"
    run.says(rf"^margay: +#\d+ 0x[0-9a-f]+ fault_{case} at .*fault\.c:\d+$")
    if case != "stack":        # its frames fill the report
        run.says(r"^margay: +#\d+ 0x[0-9a-f]+ main at .*fault\.c:\d+$")
    if case not in SELF:
        run.says(r"\brip\b.*\b[0-9a-f]{16}\b")
        # a system call saves its arguments, but not callee-saved registers
        run.says(rf"\b{'r9' if case == 'syscall' else 'r15'}\b.*\b[0-9a-f]{{16}}\b")


def test_backtrace_names_each_caller(margay, app):
    run = margay("run", app("fault"), "deep").status(128 + SEGV)
    names = re.findall(r"^margay: +#(\d+) 0x[0-9a-f]+ (\w+) at", run.stderr, re.M)
    assert names[:4] == [("0", "deep_two"), ("1", "deep_one"), ("2", "fault_deep"), ("3", "main")]


@pytest.mark.parametrize("case", ["bad_frame", "smashed"])
def test_damaged_frames_do_not_stop_the_report(margay, app, case):
    """rbp, rsp or the return address are invalid: report and status are still right."""
    run = margay("run", app("fault"), case)
    assert run.returncode in (128 + SEGV, 128 + signal.SIGBUS)
    run.says(r"^margay: rank 0 \(node 0\): .*, signal \d+ \(SIG\w+\)$")


def test_the_job_ends_when_one_rank_faults(margay, app):
    """Rank 2 faults, the others sleep; report and status are those of rank 2."""
    run = margay("run", "-n", 4, app("fault"), "divide", 2).status(128 + FPE)
    run.says(r"^margay: rank 2 \(node 2\): .*, signal 8 \(SIGFPE\)$")
    assert run.of_rank(2) == ["alive"]


def test_assert_says_what_failed(margay, app):
    margay("run", app("fault"), "assert").status(134).says(r"Assertion failed: .*zero.*")
