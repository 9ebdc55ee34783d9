"""Standard input for the ranks that read it.

Nothing is read from descriptor 0 before one of them wants input: a job that reads none leaves it to
whatever runs next. From then on files and pipes are read ahead, as far as the ring has room. From a
terminal, a line is read when a node wants one. Each reader gets all of it; a reader that is a whole
ring behind holds the others up.
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
DAMAGED = 3.0                 # seconds until a ring that looks damaged counts as damaged


class Feeder:
    """Carries descriptor 0 into the ring of its readers. poll() after every bell, ready() on
    input. `has_ended` says of a rank that it will read no more."""

    def __init__(self, region: Region, doorbell: Doorbell, epoll: select.epoll,
                 say: Callable[[str], None], readers: list[int],
                 has_ended: Callable[[int], bool]) -> None:
        self.region = region
        self.doorbell = doorbell
        self.epoll = epoll
        self.ring = StdinRing(region)
        self.say = say
        self.readers = readers
        self.has_ended = has_ended
        self.damaged_since = 0.0
        self.ended = False
        self.watched = False      # descriptor 0 is in the epoll set
        self.ahead = False        # it is read ahead
        for rank in readers:
            region.set_field(rank, "stdin_reads", 1)

    def poll(self) -> list[int]:
        """Serves nodes that want input. Returns those that wait for input that has not come."""
        if len(self.readers) > 1:
            self.readers = [rank for rank in self.readers if not self.has_ended(rank)]
        wanting = [rank for rank in self.readers if self.region.field(rank, "stdin_wanted")]
        if self.ended:
            if wanting:
                self._tell()      # another node has damaged the ring: these readers missed it
        elif not self.watched and (wanting or self.ahead) and self._has_room():
            self.ahead = not self._is_terminal()
            self._watch()
        return wanting if self.watched else []

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
        """A node that waits writes its position again each second, so damage that lasts longer is
        permanent."""
        room = self.ring.room(self.readers)
        now = time.monotonic()
        if room >= 0:
            self.damaged_since = 0.0
        elif not self.damaged_since:
            self.damaged_since = now
        elif now - self.damaged_since > DAMAGED:
            self.say("the ring of standard input is damaged: it ends here")
            self._end()
        return room > 0 and (room >= self.ring.capacity // 2
                             or self.ring.await_room(self.readers))

    def ready(self) -> None:
        """Descriptor 0 has input or ended."""
        self._read()
        if self.watched and (self.ended or not self.ahead or not self._has_room()):
            self.epoll.unregister(FD)
            self.watched = False

    def _read(self) -> None:
        try:
            data = os.read(FD, min(max(self.ring.room(self.readers), 0), MOST))
        except BlockingIOError:
            return
        except OSError:
            data = b""            # a terminal that is not ours: counts as its end
        if not data:
            self._end()
            return
        self.ring.write(data)
        self._tell()

    def _end(self) -> None:
        self.ended = True
        self._tell()

    def _tell(self) -> None:
        """Makes waiting nodes look again."""
        if self.ended:
            self.ring.close()
        fence()
        for rank in self.readers:
            if self.region.field(rank, "stdin_wanted"):
                self.region.set_field(rank, "stdin_wanted", 0)
                self.doorbell.ring(rank)
