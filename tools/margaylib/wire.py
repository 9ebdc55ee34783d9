"""The connection of the nodes' network cards: a socket per card, and the switch behind them.

The sockets have no names, and the switch dies with the launcher (tools/spawn.c),
so nothing is left behind. Two nodes can be joined without a switch (--direct).
"""
from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import time

from .hostfiles import open_output
from .node import moves
from .options import RunOptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ENDS_WITHIN = 3.0             # seconds for the switch to write its counters and end
CAPTURE_LOST = 3              # the switch's status then (CAPTURE_LOST of tools/switch/switch.h)
STATS_FD = 3
FIRST_PORT = 4                # descriptor of the first port; one per node and card
# How many bytes a card may be ahead; the kernel reserves twice that, if net.core.wmem_max allows.
# More only falls out of the caches.
SOCKET_BYTES = 512 << 10


def card_sockets() -> tuple[socket.socket, socket.socket]:
    """A card's end, and the end of the switch or the other card. Frames that do not fit into a
    socket are copied by QEMU and sent later, one at a time."""
    ends = socket.socketpair()
    for end in ends:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BYTES)
    return ends


def switch_arguments(options: RunOptions) -> list[str]:
    """All arguments of the switch."""
    words = ["--stats", str(STATS_FD)]
    for name in ("faults", "pcap", "latency", "bandwidth"):
        if getattr(options, name):
            words += [f"--{name}", getattr(options, name)]
    if options.accept_forged:
        words.append("--accept-forged")
    ports = [f"{node}.{card}" for node in range(options.nodes) for card in range(options.cards)]
    ports += [port for _, port in options.test_ports]
    return words + [f"{FIRST_PORT + index}:{port}" for index, port in enumerate(ports)]


class Wire:
    """One machine's wire. Call start() before the nodes, given() after each of them, end() last."""

    def __init__(self, options: RunOptions) -> None:
        self.options = options
        self.pid = 0
        self.pidfd = -1
        self.wait_status: int | None = None
        self.counters: dict[str, Any] | None = None
        self.stats = self.errors = -1
        self.said = -1                                   # descriptor of its report lines
        self.rest = b""                                  # partial line that was read
        self.control: socket.socket | None = None        # closing it ends the switch
        self.near: list[list[socket.socket]] = []        # of each node, by card
        self.far: list[socket.socket] = []               # the switch's
        # the switch opens it again; opened here to find a bad path early
        self.capture = open_output("--pcap", options.pcap) if options.pcap else -1
        if options.direct:
            pairs = [card_sockets() for _ in range(options.cards)]
            self.near = [[pair[side] for pair in pairs] for side in range(2)]
            return
        for _ in range(options.nodes):
            pairs = [card_sockets() for _ in range(options.cards)]
            self.near.append([pair[0] for pair in pairs])
            self.far += [pair[1] for pair in pairs]

    def start(self, spawn: str, switch: str) -> None:
        """Starts the switch, if there is one."""
        if not self.far:
            return
        self.control, stdin = socket.socketpair()
        self.stats, stats_end = os.pipe2(os.O_CLOEXEC)
        self.errors, errors_end = os.pipe2(os.O_CLOEXEC)
        self.said, said_end = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.said, False)
        wanted = {0: stdin.fileno(), 1: said_end, 2: errors_end, STATS_FD: stats_end}
        ends = [end.fileno() for end in self.far] + [fd for fd, _ in self.options.test_ports]
        wanted |= {FIRST_PORT + index: end for index, end in enumerate(ends)}
        self.pid = os.posix_spawn(
            spawn, [spawn, str(os.getpid()), switch, *switch_arguments(self.options)], os.environ,
            file_actions=moves(wanted), setpgroup=0, setsigmask=[],
            setsigdef=[signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGTERM,
                       signal.SIGHUP])
        self.pidfd = os.pidfd_open(self.pid)
        for fd in (stats_end, errors_end, said_end):
            os.close(fd)
        for end in (stdin, *self.far):
            end.close()

    def cards(self, rank: int) -> list[int]:
        """The descriptors of a node's cards."""
        return [end.fileno() for end in self.near[rank]]

    def renew(self, rank: int) -> None:
        """Fresh sockets for a restarted node; given() closes them as well."""
        cards = self.options.cards
        for card in range(cards):
            self.near[rank][card], far = card_sockets()
            try:
                index = struct.pack("=I", rank * cards + card)
                socket.send_fds(self.control, [index], [far.fileno()])
            except OSError:
                pass              # the switch has ended, which is reported elsewhere
            far.close()

    def given(self, rank: int) -> None:
        """A node has inherited its ends: closes them here."""
        for end in self.near[rank]:
            end.close()

    def lines(self) -> list[str]:
        """The switch's reports since the last call."""
        try:
            self.rest += os.read(self.said, 1 << 16) if self.said >= 0 else b""
        except BlockingIOError:
            pass
        *lines, self.rest = self.rest.split(b"\n")
        return [line.decode("utf-8", "replace") for line in lines]

    def reap(self) -> str:
        """Why the switch has ended, if it ended before its time; '' otherwise."""
        if not self.pid or self.wait_status is not None:
            return ""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if not pid:
            return ""
        self.wait_status = status
        if os.WIFSIGNALED(status):
            return f"signal {os.WTERMSIG(status)}"
        said = os.read(self.errors, 1 << 16).decode("utf-8", "replace").strip()
        return said or f"status {os.WEXITSTATUS(status)}"

    @property
    def refused(self) -> bool:
        """Has the switch refused its options?"""
        return self.wait_status is not None and os.WIFEXITED(self.wait_status) \
            and os.WEXITSTATUS(self.wait_status) != 0

    @property
    def capture_lost(self) -> bool:
        """Is the capture incomplete?"""
        if self.wait_status is None:
            return False
        return bool(self.options.pcap) if os.WIFSIGNALED(self.wait_status) \
            else os.WEXITSTATUS(self.wait_status) == CAPTURE_LOST

    def end(self) -> None:
        """The nodes have ended: reads the switch's counters and reaps it."""
        for rank in range(len(self.near)):
            self.given(rank)
        if not self.pid:
            return
        self.control.close()
        text = self._read_counters(time.monotonic() + ENDS_WITHIN)
        if self.wait_status is None:
            watch = select.poll()
            watch.register(self.pidfd, select.POLLIN)
            if not watch.poll(ENDS_WITHIN * 1000):
                signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
                if self.options.pcap:
                    self.rest += b"the capture is not complete: its end was not read in time\n"
            self.wait_status = os.waitpid(self.pid, 0)[1]
        try:
            self.counters = json.loads(text)
        except ValueError:
            pass                  # it was killed
        for fd in (self.stats, self.errors, self.pidfd, self.capture):
            if fd >= 0:
                os.close(fd)
        self.pid = 0              # its last lines can still be read

    def _read_counters(self, until: float) -> bytes:
        pieces = []
        watch = select.poll()
        watch.register(self.stats, select.POLLIN)
        while watch.poll(max(0.0, until - time.monotonic()) * 1000):
            piece = os.read(self.stats, 1 << 16)
            if not piece:
                break
            pieces.append(piece)
        return b"".join(pieces)
