"""One node's QEMU process: started so that it cannot outlive the launcher, and watched.

The process gets its descriptors under fixed numbers (machine.Fds), its own process group (so
that a terminal's Ctrl-C reaches only the launcher), and SIGKILL when the launcher goes away
(tools/spawn.c).
"""
from __future__ import annotations

import os
import signal
import socket

from .machine import Fds

SERIAL_KEPT = 16 << 10        # bytes of serial output kept for a report


class Node:
    """A node's machine. Owns its pidfd, its serial socket and its QEMU's error pipe."""

    def __init__(self, rank: int, life: int = 1) -> None:
        self.rank = rank
        self.life = life                    # 1, and one more with every restart
        self.pid = 0
        self.pidfd = -1
        self.serial: socket.socket | None = None
        self.bell: socket.socket | None = None
        self.errors = -1
        self.serial_text = bytearray()      # the last serial output
        self.error_text = bytearray()
        self.wait_status: int | None = None
        self.started = 0.0                  # monotonic
        self.main_seen = 0.0                # monotonic; 0: main has not been reached
        self.ended_by_us = False
        self.judged = False                 # its end has been handled

    def start(self, spawn: str, command: list[str], image_fd: int, null_fd: int, now: float,
              gdb_fd: int = -1, cards: list[int] | None = None) -> None:
        """Starts the command, a QEMU; afterwards `bell` and `serial` are the launcher's ends."""
        self.bell, far_bell = socket.socketpair()
        self.serial, far_serial = socket.socketpair()
        self.serial.setblocking(False)
        self.errors, far_errors = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        os.set_blocking(far_errors, True)
        wanted = {0: null_fd, 1: far_errors, 2: far_errors, Fds.IVSHMEM: far_bell.fileno(),
                  Fds.SERIAL: far_serial.fileno(), Fds.IMAGE: image_fd}
        if gdb_fd >= 0:
            wanted[Fds.GDB] = gdb_fd
        for index, fd in enumerate(cards or []):
            wanted[Fds.CARDS + index] = fd
        self.started = now
        self.pid = os.posix_spawn(
            spawn, [spawn, str(os.getpid()), *command], os.environ,
            file_actions=moves(wanted), setpgroup=0, setsigmask=[],
            setsigdef=[signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGTERM,
                       signal.SIGHUP])
        self.pidfd = os.pidfd_open(self.pid)
        far_bell.close()
        far_serial.close()
        os.close(far_errors)

    @property
    def alive(self) -> bool:
        return self.pid != 0 and self.wait_status is None

    def reap(self) -> bool:
        """Collects the process if it has ended; True if it has."""
        if not self.alive:
            return self.pid != 0
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            self.wait_status = status
        return bool(pid)

    def kill(self) -> None:
        if self.alive:
            self.ended_by_us = True
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def stopped(self) -> bool:
        """Was it stopped by SIGSTOP?"""
        try:
            with open(f"/proc/{self.pid}/stat", "rb") as file:
                return file.read().rsplit(b")", 1)[1].split()[0] in (b"T", b"t")
        except OSError:
            return False

    def cpu_times(self) -> tuple[int, int]:
        """Nanoseconds that its QEMU's threads have run, and have waited for a host CPU."""
        ran = waited = 0
        folder = f"/proc/{self.pid}/task"
        try:
            for thread in os.listdir(folder):
                with open(f"{folder}/{thread}/schedstat", "rb") as file:
                    words = file.read().split()
                ran, waited = ran + int(words[0]), waited + int(words[1])
        except (OSError, ValueError, IndexError):
            pass
        return ran, waited

    def read_serial(self) -> bytes:
        """New serial output, b'' if there is none; the end closes the socket."""
        if self.serial is None:
            return b""
        try:
            data = self.serial.recv(1 << 16)
        except BlockingIOError:
            return b""
        except OSError:
            data = b""
        if not data:
            self.serial.close()
            self.serial = None
        self.serial_text += data
        del self.serial_text[:-SERIAL_KEPT]
        return data

    def read_errors(self) -> None:
        """Reads QEMU's own error output."""
        if self.errors < 0:
            return
        try:
            data = os.read(self.errors, 1 << 16)
        except BlockingIOError:
            return
        if not data:
            os.close(self.errors)
            self.errors = -1
        self.error_text += data
        del self.error_text[:-SERIAL_KEPT]

    def close(self) -> None:
        """Closes the descriptors; the process has been reaped."""
        for end in (self.serial, self.bell):
            if end is not None:
                end.close()
        self.serial = self.bell = None
        for descriptor in (self.errors, self.pidfd):
            if descriptor >= 0:
                os.close(descriptor)
        self.errors = self.pidfd = -1


def moves(wanted: dict[int, int]) -> list[tuple[int, ...]]:
    """posix_spawn actions that give descriptors their new numbers.

    A source may have another's target number, so all move to higher numbers first.
    """
    high = max(*wanted, *wanted.values()) + 1
    actions: list[tuple[int, ...]] = []
    for index, source in enumerate(wanted.values()):
        actions.append((os.POSIX_SPAWN_DUP2, source, high + index))
    for index, target in enumerate(wanted):
        actions.append((os.POSIX_SPAWN_DUP2, high + index, target))
        actions.append((os.POSIX_SPAWN_CLOSE, high + index))
    return actions
