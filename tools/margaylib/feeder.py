"""Standard input for rank 0.

Nothing is read from descriptor 0 before the node wants input: it stays for whatever runs after
a job that reads none. From then on files and pipes are read ahead, as far as the ring holds;
of a terminal, a line is read when the node wants one.
"""
from __future__ import annotations

import os
import select
import time
from collections.abc import Callable

from .doorbell import Doorbell
from .region import Region, fence
from .ring import StdinRing

FD = 0
MOST = 1 << 18                # bytes of one read
DAMAGED = 3.0                 # seconds that a ring may look damaged


class Feeder:
    """Carries descriptor 0 into node 0's ring. poll() after every bell, ready() on input."""

    def __init__(self, region: Region, doorbell: Doorbell, epoll: select.epoll,
                 say: Callable[[str], None]) -> None:
        self.region = region
        self.doorbell = doorbell
        self.epoll = epoll
        self.ring = StdinRing(region)
        self.say = say
        self.damaged_since = 0.0
        self.ended = False
        self.watched = False      # descriptor 0 is in the epoll set
        self.ahead = False        # it is read ahead

    def poll(self) -> bool:
        """Looks whether the node wants input; True while it waits for some that
        has still to come."""
        wanted = bool(self.region.field(0, "stdin_wanted"))
        if self.ended:
            if wanted:
                self._tell()      # another node has damaged the ring: this one did not see it
        elif not self.watched and (wanted or self.ahead) and self._has_room():
            self.ahead = not self._is_terminal()
            self._watch()
        return wanted and self.watched

    def _watch(self) -> None:
        try:
            self.epoll.register(FD, select.EPOLLIN)
            self.watched = True
        except PermissionError:
            while not self.ended and self._has_room():
                self._read()      # a file: always ready
        except OSError:
            self._end()           # no descriptor 0 at all

    @staticmethod
    def _is_terminal() -> bool:
        try:
            return os.isatty(FD)
        except OSError:
            return False

    def _has_room(self) -> bool:
        """Node 0 writes its position again each second: what is damaged for longer stays so."""
        room = self.ring.room()
        now = time.monotonic()
        if room >= 0:
            self.damaged_since = 0.0
        elif not self.damaged_since:
            self.damaged_since = now
        elif now - self.damaged_since > DAMAGED:
            self.say("the ring of standard input is damaged: it ends here")
            self._end()
        return room > 0 and (room >= self.ring.capacity // 2 or self.ring.await_room())

    def ready(self) -> None:
        """Descriptor 0 has input or ended."""
        self._read()
        if self.watched and (self.ended or not self.ahead or not self._has_room()):
            self.epoll.unregister(FD)
            self.watched = False

    def _read(self) -> None:
        try:
            data = os.read(FD, min(max(self.ring.room(), 0), MOST))
        except BlockingIOError:
            return
        except OSError:
            data = b""            # a terminal that is not ours: as good as its end
        if not data:
            self._end()
            return
        self.ring.write(data)
        self._tell()

    def _end(self) -> None:
        self.ended = True
        self._tell()

    def _tell(self) -> None:
        """The node looks again, if it waits."""
        if self.ended:
            self.ring.close()
        fence()
        if self.region.field(0, "stdin_wanted"):
            self.region.set_field(0, "stdin_wanted", 0)
            self.doorbell.ring(0)
