"""Whether a run of MPICH's tests passed, decided by output and status like its own runner
(runtests)."""
from __future__ import annotations

import re

LAUNCHER = 125                           # margay run's own errors
TIMEOUT = 124
GOOD = re.compile(r"\s*No [Ee]rrors\s*")
ALSO_GOOD = re.compile(r"\s*Test Passed\s*")
# The second is margay run's message about a network with loss.
IGNORED = ("FORTRAN STOP", "margay: switch: faults from seed")


def by_output(text: str, status: int) -> str:
    """The only line is `No Errors`, and the status is 0."""
    found = False
    for line in text.splitlines():
        if any(part in line for part in IGNORED) or ALSO_GOOD.fullmatch(line):
            continue
        if found or not GOOD.fullmatch(line):
            return f"status {status}, unexpected output: {line[:160]}"
        found = True
    if not found:
        return f"status {status}, no output"
    return f"status {status}" if status else ""


def by_status(text: str, status: int) -> str:
    """A program that must fail. Its output does not matter."""
    return "" if status else "status 0, but it must fail"


def by_both(text: str, status: int) -> str:
    """It must fail, but print `No Errors`."""
    return by_status(text, status) or by_output(text, 0)


VERDICTS = {"": by_output, "TestStatus": by_status, "TestErrFatal": by_status,
            "TestStatusNoErrors": by_both}


def judged(verdict: str, text: str, status: int, waits: bool) -> str:
    """'' if it passes, or the failure. A test that expects the time limit passes by it; for
    others a timeout is a failure."""
    if status == LAUNCHER:
        return "margay run: " + " ".join(text.splitlines()[:1])
    if status == TIMEOUT and not (waits and verdict == "TestErrFatal"):
        return "no end in time" + ("; it said: " + text.splitlines()[0][:120] if text else "")
    return VERDICTS[verdict](text, status)
