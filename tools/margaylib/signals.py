"""Signals to the launcher: recorded, and reported through a descriptor that epoll can watch."""
from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

# A shell without job control starts a command with `&` so that it ignores the first two, and nohup
# the third.
MAY_BE_IGNORED = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP)
HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP)


class Signals:
    """One per process. A second interrupt ends everything on the spot."""

    def __init__(self, kill_all: Callable[[], None]) -> None:
        self.kill_all = kill_all
        self.seen: list[int] = []
        self.again = False        # an interrupt came: do not wait for slow readers any more
        self.fd, self.far = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(self.far, warn_on_full_buffer=False)
        for number in HANDLED:
            if number not in MAY_BE_IGNORED or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._note)

    def _note(self, number: int, _frame: object) -> None:
        if number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if self.again:
                self.kill_all()
                os._exit(128 + number)
            self.again = True
        self.seen.append(number)

    def take(self) -> list[int]:
        """The signals since the last call."""
        try:
            while os.read(self.fd, 512):
                pass
        except BlockingIOError:
            pass
        seen, self.seen = self.seen, []
        return seen


def leave_to_debugger() -> None:
    """Leaves Ctrl-C to gdb, which shares the terminal."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGQUIT, signal.SIG_IGN)
    signal.signal(signal.SIGTSTP, signal.SIG_DFL)


def stop_here(pids: list[int]) -> float:
    """Ctrl-Z: the nodes stop with the launcher and continue with it. Returns the time between, in
    seconds."""
    stopped = time.monotonic()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    os.kill(os.getpid(), signal.SIGSTOP)
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    return time.monotonic() - stopped
