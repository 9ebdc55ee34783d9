"""The ivshmem server: tells each QEMU its id, its peers' bells and the region.

There is one eventfd per node and one for the launcher (its id is the number of nodes). Everything a
QEMU needs is queued in its socket before it asks. The order (the peers' bells, the region, its own
bell last) loses no early ring: a device that maps the region can ring all nodes, and a bell that
was rung before its owner listened stays rung.
"""
from __future__ import annotations

import errno
import os
import resource
import socket
import struct

from .errors import MargayError

_MESSAGE = struct.Struct("<q")
_PROTOCOL = 0
_RIGHTS = struct.Struct("i")
_LATER = (errno.EAGAIN, errno.ETOOMANYREFS, errno.ENOBUFS)


PER_NODE = 5                  # descriptors of the launcher: bells, serial line, errors, process
PER_CARD = 2                  # both ends of its wire, until QEMU and the switch have them;
BELL = 1                      # before that, a node's only other descriptor is its bell
OTHERS = 64                   # further descriptors of the launcher or of one QEMU


def raise_descriptor_limit(nodes: int, cards: int, files: int) -> None:
    """Raises the limit as far as this user may. Descriptors in flight to the nodes, 4,300 for 64 of
    them, count against the limit as well; a low one only slows that down."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    each = max(PER_NODE, BELL + PER_CARD * cards)
    need = nodes * each + files + OTHERS
    if hard != resource.RLIM_INFINITY and hard < need:
        fits = (hard - OTHERS - files) // each
        fewer = f", or use {fits} nodes" if 0 < fits < nodes else ""
        raise MargayError(f"{nodes} node{'s' if nodes > 1 else ''} need{'' if nodes > 1 else 's'} "
                          f"{need} open files, and this user may have {hard}",
                          f"raise the hard limit (`ulimit -Hn {need}`){fewer}")


class Doorbell:
    """Bells of one machine, and the conversation with each of its QEMUs."""

    def __init__(self, nodes: int, region_fd: int) -> None:
        self.nodes = nodes
        self.region_fd = region_fd
        flags = os.EFD_NONBLOCK | os.EFD_CLOEXEC
        self.bells = [os.eventfd(0, flags) for _ in range(nodes + 1)]
        self.waiting: dict[int, tuple[socket.socket, list[tuple[int, int]]]] = {}

    @property
    def own(self) -> int:
        """The launcher's bell: readable when a node rang."""
        return self.bells[self.nodes]

    def messages(self, k: int) -> list[tuple[int, int]]:
        """The messages to node k's QEMU: (value, descriptor or -1), in order."""
        others = [(peer, bell) for peer, bell in enumerate(self.bells) if peer != k]
        return [(_PROTOCOL, -1), (k, -1), *others, (-1, self.region_fd), (k, self.bells[k])]

    def serve(self, k: int, connection: socket.socket) -> None:
        """Starts the messages to node k; pump() retries what cannot be sent at once."""
        connection.setblocking(False)
        self.waiting[k] = (connection, self.messages(k))
        self._pump(k)

    def pump(self) -> None:
        for k in list(self.waiting):
            self._pump(k)

    def _pump(self, k: int) -> None:
        connection, left = self.waiting[k]
        done = 0
        try:
            for value, descriptor in left:
                rights = [] if descriptor < 0 else [
                    (socket.SOL_SOCKET, socket.SCM_RIGHTS, _RIGHTS.pack(descriptor))]
                connection.sendmsg([_MESSAGE.pack(value)], rights)
                done += 1
        except OSError as error:
            if error.errno in _LATER:
                self.waiting[k] = (connection, left[done:])
                return
            # the QEMU is gone: its end is noticed elsewhere
        del self.waiting[k]

    def ring(self, k: int) -> None:
        try:
            os.eventfd_write(self.bells[k], 1)
        except BlockingIOError:
            pass              # the counter is full: it is rung already

    def ring_all(self) -> None:
        for k in range(self.nodes):
            self.ring(k)

    def answer(self) -> None:
        """Clears the launcher's bell."""
        try:
            os.eventfd_read(self.own)
        except BlockingIOError:
            pass
