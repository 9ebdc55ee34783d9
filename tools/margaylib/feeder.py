"""Standard input for rank 0: read from descriptor 0 only when the node wants it."""
from __future__ import annotations

import os
import select

from .doorbell import Doorbell
from .region import Region
from .ring import StdinRing

FD = 0


class Feeder:
    """Carries descriptor 0 into node 0's ring. poll() after every bell, ready() on input."""

    def __init__(self, region: Region, doorbell: Doorbell, epoll: select.epoll) -> None:
        self.region = region
        self.doorbell = doorbell
        self.epoll = epoll
        self.ring = StdinRing(region)
        self.ended = False
        self.watched = False      # descriptor 0 is in the epoll set

    def poll(self) -> bool:
        """Looks whether the node wants input; True if it has begun to wait for some."""
        if self.ended or self.watched or not self.region.field(0, "stdin_wanted"):
            return False
        if self.ring.room() == 0:
            return False
        try:
            self.epoll.register(FD, select.EPOLLIN)
            self.watched = True
        except PermissionError:
            self._read()          # a file: always ready
        except OSError:
            self._end()           # no descriptor 0 at all
        return True

    def ready(self) -> None:
        """Descriptor 0 has input or ended."""
        self.epoll.unregister(FD)
        self.watched = False
        self._read()

    def _read(self) -> None:
        try:
            data = os.read(FD, min(self.ring.room(), 1 << 16))
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
        self.ring.close()
        self._tell()

    def _tell(self) -> None:
        self.region.set_field(0, "stdin_wanted", 0)
        self.doorbell.ring(0)
