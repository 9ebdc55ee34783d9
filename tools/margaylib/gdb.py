"""`margay gdb`: a run with one rank stopped in main under gdb, the others running.

gdb and the rank's QEMU talk over a socket pair without a name: gdb starts a
small relay (this module, `relay`) that holds the other end. The terminal
belongs to gdb; when gdb ends, the job ends.
"""
from __future__ import annotations

import os
import signal
import socket
import sys

from . import folders
from .errors import MargayError
from .options import RunOptions, parse
from .paths import ROOT, built, program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .job import Job

CHUNK = 1 << 16


def gdb(args: list[str]) -> int:
    options = parse(args, "gdb")
    path = program(os.environ.get("MARGAY_GDB") or "gdb", "gdb")
    spawn = str(built("tools/spawn"))
    if options.boot:
        raise MargayError("gdb cannot hold a node that GRUB boots", "leave --boot out")
    folders.choose(options)
    from .run import run_options

    def attach(job: Job) -> None:
        from .signals import leave_to_debugger
        near, far = socket.socketpair()
        job.debug_rank, job.debug_fd = options.rank, far.detach()
        leave_to_debugger()
        pid = os.posix_spawn(
            spawn, [spawn, str(os.getpid()), path,
                    *_commands(options, str(job.image.path), near.fileno())], os.environ,
            setsigdef=[signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGPIPE],
            file_actions=[(os.POSIX_SPAWN_DUP2, near.fileno(), _relay_fd(near.fileno()))])
        near.close()
        job.attend(pid)

    return run_options(options, attach)


def _relay_fd(fd: int) -> int:
    """A number for the descriptor in gdb, other than its number here, so that dup2 copies it."""
    return fd + 100


def _commands(options: RunOptions, image: str, fd: int) -> list[str]:
    relay = (f"exec {_word(sys.executable)} -IS {_word(str(ROOT / 'tools/margay'))} "
             f"gdb-relay {_relay_fd(fd)}")
    lines = ["set confirm off", "set pagination off" if options.batch else "set pagination on",
             "set architecture i386:x86-64", "set remotetimeout 60", f"target remote | {relay}",
             "thbreak main", "continue", *options.ex]
    words = ["-q", "-nx"]
    if options.batch:
        words.append("-batch")
    for line in lines:
        words += ["-ex", line]
    return [*words, image]


def _word(text: str) -> str:
    from shlex import quote
    return quote(text)


def relay(fd: int) -> int:
    """Carries bytes between standard input and output (gdb) and the socket (QEMU)."""
    import select
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
        signal.signal(number, signal.SIG_IGN)      # the terminal's keys are for gdb
    poll = select.poll()
    poll.register(0, select.POLLIN)
    poll.register(fd, select.POLLIN)
    while True:
        for ready, _ in poll.poll():
            data = os.read(ready, CHUNK)
            if not data:
                return 0
            target = fd if ready == 0 else 1
            while data:
                data = data[os.write(target, data):]
