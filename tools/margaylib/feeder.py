"""Standard input for rank 0: read from descriptor 0 only when the node wants it."""
from __future__ import annotations

import os
import select
import time

from .doorbell import Doorbell
from .region import Region
from .ring import StdinRing

FD = 0
DAMAGED = 3.0                 # seconds that a ring may look damaged


class Feeder:
    """Carries descriptor 0 into node 0's ring. poll() after every bell, ready() on input."""

    def __init__(self, region: Region, doorbell: Doorbell, epoll: select.epoll, say) -> None:
        self.region = region
        self.doorbell = doorbell
        self.epoll = epoll
        self.ring = StdinRing(region)
        self.say = say
        self.damaged_since = 0.0
        self.ended = False
        self.watched = False      # descriptor 0 is in the epoll set

    def poll(self) -> bool:
        """Looks whether the node wants input; True if it has begun to wait for some."""
        if self.watched or not self.region.field(0, "stdin_wanted"):
            return False
        if self.ended:
            self._end()           # another node has damaged the ring: this one did not see it
            return False
        if not self._has_room():
            return False
        try:
            self.epoll.register(FD, select.EPOLLIN)
            self.watched = True
        except PermissionError:
            self._read()          # a file: always ready
        except OSError:
            self._end()           # no descriptor 0 at all
        return True

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
        return room > 0

    def ready(self) -> None:
        """Descriptor 0 has input or ended."""
        self.epoll.unregister(FD)
        self.watched = False
        self._read()

    def _read(self) -> None:
        try:
            data = os.read(FD, min(max(self.ring.room(), 0), 1 << 16))
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
