"""How a job ended: each node's outcome, and the exit status that follows. Pure.

The first failing rank gives the status: by the order in which the nodes ended
(region_node.exit_order), or a machine that died if that was seen first. The status of a rank that
ended the job comes before that of other ranks, but not before a machine's death that ends the job
anyway, nor before a rank that a signal ended earlier: MPI on the others may notice that and end the
job. Interrupt, termination and timeout come before all of them.
"""
from __future__ import annotations

import os

from .errors import OWN_ERROR, signal_name

SIGABRT = 6


class Outcome:
    """One node's end. kind: 'running', 'exited', 'ended-job', 'faulted', 'panicked', 'died' or
    'ended', by the launcher."""

    def __init__(self, rank: int, kind: str, status: int = 0, signal: int = 0,
                 order: int = 0) -> None:
        self.rank = rank
        self.kind = kind
        self.status = status      # exited: 0 to 255
        self.signal = signal      # faulted: of the application; died: of QEMU, 0 = it exited
        self.order = order        # exit_order, 0 if the node gave none

    @property
    def failed(self) -> bool:
        return self.kind in ("ended-job", "faulted", "panicked", "died") or \
            self.kind == "exited" and self.status != 0

    @property
    def dead(self) -> bool:
        """Did the machine itself end, and not the application on it?"""
        return self.kind in ("died", "panicked")

    @property
    def host_status(self) -> int:
        """What margay returns if this is the failure that counts."""
        if self.kind in ("exited", "ended-job"):
            return self.status & 255
        if self.kind in ("faulted", "died") and self.signal:
            return 128 + (self.signal & 127)
        if self.kind == "panicked":
            return 128 + SIGABRT
        return OWN_ERROR if self.failed else 0


def read_outcome(rank: int, states: dict[str, int], state: int, status: int, signal: int,
                 order: int, wait_status: int | None, ended_by_us: bool) -> Outcome:
    """From the node's table entry and its QEMU's wait status (None: it still runs)."""
    if state == states["NODE_EXITED"]:
        return Outcome(rank, "exited", status & 255, 0, order)
    if state == states["NODE_ENDED_JOB"]:
        return Outcome(rank, "ended-job", status & 255, 0, order)
    if state == states["NODE_FAULTED"]:
        return Outcome(rank, "faulted", 0, signal, order)
    if state == states["NODE_PANICKED"]:
        return Outcome(rank, "panicked", 0, 0, order)
    if wait_status is None:
        return Outcome(rank, "running")
    if ended_by_us:
        return Outcome(rank, "ended")
    killed_by = os.WTERMSIG(wait_status) if os.WIFSIGNALED(wait_status) else 0
    if killed_by == SIGABRT:
        killed_by = 0             # QEMU gave up by itself: not the application's abort
    return Outcome(rank, "died", 0, killed_by, 0)


def job_status(outcomes: list[Outcome], first: Outcome | None, override: int | None,
               goes_on: bool = False) -> int:
    """`first` is the first failure that was noticed, `override` the status of a
    timeout or a signal to the launcher; `goes_on`: the job outlives deaths."""
    if override is not None:
        return override
    enders = [outcome for outcome in outcomes if outcome.kind == "ended-job"]
    if enders and (goes_on or first is None or not first.dead):
        if not goes_on:
            enders += [outcome for outcome in outcomes if outcome.kind == "faulted"]
        return min(enders, key=lambda outcome: outcome.order).host_status
    if first is not None and first.order == 0:
        return first.host_status
    failed = [outcome for outcome in outcomes if outcome.failed]
    if not failed:
        return 0
    ordered = [outcome for outcome in failed if outcome.order > 0]
    return min(ordered or failed, key=lambda outcome: outcome.order).host_status


def failure_text(outcome: Outcome, wait_status: int | None, qemu_said: str) -> str:
    """One line about a failure that no report of the kernel names; '' if one does."""
    who = f"rank {outcome.rank} (node {outcome.rank})"
    if outcome.kind == "exited":
        return f"{who} ended with status {outcome.status}"
    if outcome.kind == "ended-job":
        return f"{who} ended the job with status {outcome.status}"
    if outcome.kind == "faulted":
        return f"{who} was ended by signal {outcome.signal} ({signal_name(outcome.signal)})"
    if outcome.kind == "panicked":
        return f"the kernel of {who} ended itself; its report is above"
    if outcome.signal:
        return (f"{who} died: its QEMU was ended by signal {outcome.signal} "
                f"({signal_name(outcome.signal)})")
    said = f": {qemu_said}" if qemu_said else ""
    if wait_status is not None and os.WIFEXITED(wait_status):
        return f"{who} died: its QEMU ended with status {os.WEXITSTATUS(wait_status)}{said}"
    return f"{who} died: its QEMU gave up{said}"
