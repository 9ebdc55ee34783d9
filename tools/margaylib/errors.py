"""Errors that end margay: each names its cause and its cure.

An exit status of 125 is margay's own; every other one is the job's.
"""
from __future__ import annotations

OWN_ERROR = 125
TIMED_OUT = 124


class MargayError(Exception):
    """Cause (one sentence) and cure (what to do about it); ends with `status`."""

    def __init__(self, cause: str, cure: str = "", status: int = OWN_ERROR) -> None:
        super().__init__(cause)
        self.cause = cause
        self.cure = cure
        self.status = status

    def text(self, program: str = "margay") -> str:
        lines = [f"{program}: error: {self.cause}"]
        lines += [f"{program}: {line}" for line in self.cure.splitlines()]
        return "\n".join(lines) + "\n"


def signal_name(number: int) -> str:
    """SIGSEGV for 11; `signal 99` for numbers without a name."""
    import signal
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def ranks_text(ranks: list[int]) -> str:
    """`rank 3`, `ranks 0 and 3`, `ranks 0 to 5, 7 and 9`: runs of three or more are joined."""
    ranks = sorted(ranks)
    parts: list[str] = []
    start = 0
    while start < len(ranks):
        end = start
        while end + 1 < len(ranks) and ranks[end + 1] == ranks[end] + 1:
            end += 1
        if end - start >= 2:
            parts.append(f"{ranks[start]} to {ranks[end]}")
        else:
            parts += [str(rank) for rank in ranks[start:end + 1]]
        start = end + 1
    word = "rank" if len(ranks) == 1 else "ranks"
    listed = " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]])) if parts else "none"
    return f"{word} {listed}"


def size_text(count: float) -> str:
    """A number of bytes for people: `512 MB`, `1.5 GB` (powers of 1024)."""
    for unit, factor in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if count >= factor:
            return f"{count / factor:.1f}".removesuffix(".0") + f" {unit}"
    return f"{int(count)} bytes"
