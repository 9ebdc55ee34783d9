"""Did a run of MPICH's tests pass? As its own runner (runtests) decides by output and status."""
from __future__ import annotations

import re

LAUNCHER = 125                           # of margay run: its own errors
TIMEOUT = 124
GOOD = re.compile(r"\s*No [Ee]rrors\s*")
ALSO_GOOD = re.compile(r"\s*Test Passed\s*")
# The second is what margay run says of a network with loss.
IGNORED = ("FORTRAN STOP", "margay: switch: faults from seed")


def by_output(text: str, status: int) -> str:
    """One line says `No Errors`, no line says anything else, the status is 0."""
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
    """It must fail, and say `No Errors` nevertheless."""
    return by_status(text, status) or by_output(text, 0)


VERDICTS = {"": by_output, "TestStatus": by_status, "TestErrFatal": by_status,
            "TestStatusNoErrors": by_both}


def judged(verdict: str, text: str, status: int, waits: bool) -> str:
    """'' if it passes, or what is wrong. A test that waits for its end by the time limit passes so;
    of another one the end by time is never right."""
    if status == LAUNCHER:
        return "margay run: " + " ".join(text.splitlines()[:1])
    if status == TIMEOUT and not (waits and verdict == "TestErrFatal"):
        return "no end in time" + ("; it said: " + text.splitlines()[0][:120] if text else "")
    return VERDICTS[verdict](text, status)
