"""A port of the switch through which a test sends frames to the nodes of a job: `--test-port`.

The fixture `port` of conftest.py makes one. Used by the tests of hostile nodes and late frames.
"""
from __future__ import annotations

import select
import socket
import struct

from harness import HANG, let_time_pass

LIFE = 65536                   # every node's first incarnation, and the increment to the next
PAUSE = 0.002                  # seconds after each batch, so that the job makes progress


class Port:
    """The near end of the port. Frames from the switch are read and dropped."""

    def __init__(self) -> None:
        self.mine, self.far = socket.socketpair()

    def send(self, batch: list[bytes]) -> bool:
        """Sends frames. False: the switch has ended."""
        data = b"".join(struct.pack(">I", len(one)) + one for one in batch)
        try:
            while data:
                readable, writable, _ = select.select([self.mine], [self.mine], [], HANG)
                assert readable or writable, "the switch neither takes nor ends"
                if readable and not self.mine.recv(1 << 20, socket.MSG_DONTWAIT):
                    return False
                if writable:
                    data = data[self.mine.send(data, socket.MSG_DONTWAIT):]
            let_time_pass(PAUSE)
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def close(self) -> None:
        self.mine.close()
        self.far.close()
