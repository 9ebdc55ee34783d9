"""Files of this host: opens what a job reads and writes, without waiting for ever.

An output that is also the application or an input is refused before anything is emptied. A named
pipe gets some seconds to find its peer. A failed write during the job is reported once, and the job
ends (policy.output_failed).
"""
from __future__ import annotations

import errno
import os
import select
import stat
import time
from collections.abc import Callable
from pathlib import Path

from .errors import MargayError, size_text

TYPE_CHECKING = False         # typing is slow to import
if TYPE_CHECKING:
    from .options import RunOptions

PEER_SECONDS = 5.0            # for the other end of a named pipe to be opened
PEER_TICK = 0.02
MOST_STREAMED = 256 << 20     # bytes of a --file without a size
WRITABLE = "name a file in a folder that you may write"

Failed = Callable[[str, OSError], None]


class OutputFile:
    """A file of the host with a job's output, exactly as it came. A failed write is reported to
    `failed`, once; later output is dropped."""

    def __init__(self, name: str, path: str | Path, failed: Failed, empty: bool = True) -> None:
        self.name = f"{name} {path}"
        self.failed = failed
        self.fd = open_output(name, path, empty)

    def write(self, data: bytes) -> None:
        self._try(lambda: write_all(self.fd, data))

    def empty(self) -> None:
        """Empties the file; a pipe or a device cannot be emptied."""
        if self.fd >= 0 and stat.S_ISREG(os.fstat(self.fd).st_mode):
            self._try(self._rewind)

    def _rewind(self) -> None:
        os.ftruncate(self.fd, 0)
        os.lseek(self.fd, 0, os.SEEK_SET)

    def close(self) -> None:
        if self.fd >= 0:
            fd, self.fd = self.fd, -1
            try:
                os.close(fd)
            except OSError as error:      # a file server may report a full disk only now
                self.failed(self.name, error)

    def _try(self, act: Callable[[], object]) -> None:
        if self.fd < 0:
            return
        try:
            act()
        except OSError as error:
            os.close(self.fd)
            self.fd = -1
            self.failed(self.name, error)


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view):]


def open_output(name: str, path: str | Path, empty: bool = True) -> int:
    """A descriptor to write to. A named pipe needs a reader within PEER_SECONDS."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK | (os.O_TRUNC if empty else 0)
    until = time.monotonic() + PEER_SECONDS
    while True:
        try:
            fd = os.open(path, flags, 0o666)
            break
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise MargayError(f"{name} {path}: {error.strerror}", WRITABLE) from None
            if time.monotonic() >= until:
                raise MargayError(f"{name} {path}: nothing reads this named pipe",
                                  "start its reader first") from None
            time.sleep(PEER_TICK)
    os.set_blocking(fd, True)
    return fd


def open_input(path: str) -> int:
    """A descriptor to read from. A named pipe needs a writer within PEER_SECONDS."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if stat.S_ISFIFO(os.fstat(fd).st_mode):
        writer = select.poll()
        writer.register(fd, select.POLLIN)
        if not writer.poll(PEER_SECONDS * 1000):
            os.close(fd)
            raise MargayError(f"--file {path}: nothing writes to this named pipe",
                              "start its writer first")
    os.set_blocking(fd, True)
    return fd


def read_stream(path: str, fd: int) -> bytes:
    """Everything in a pipe or a device, up to MOST_STREAMED."""
    pieces, total = [], 0
    while piece := os.read(fd, 1 << 20):
        pieces.append(piece)
        total += len(piece)
        if total > MOST_STREAMED:
            raise MargayError(f"--file {path} has no end within {size_text(MOST_STREAMED)}",
                              "put what the nodes need of it into a file")
    return b"".join(pieces)


def check_outputs(options: RunOptions, application: Path) -> None:
    """Refuses an output that would overwrite the application, an input or another output."""
    taken = {_identity(application): "the application"}
    for file in options.files:
        if not file.out:
            taken[_identity(file.path)] = f"--file {file.path}"
    if options.boot:
        taken[_identity(options.boot)] = f"--boot {options.boot}"
    if options.stdin != "none":
        taken[_identity(0)] = "standard input"
    taken.pop(None, None)
    for name, path in _outputs(options):
        identity = _identity(path)
        if identity in taken:
            raise MargayError(f"{name} {path} is {taken[identity]}, which it would overwrite",
                              "name another file")
        if identity:
            taken[identity] = f"{name} {path} as well"


def _outputs(options: RunOptions) -> list[tuple[str, str | Path]]:
    found: list[tuple[str, str | Path]] = [
        ("--out", file.path) for file in options.files if file.out]
    found += [(name, path) for name, path in
              (("--json", options.json), ("--pcap", options.pcap), ("-o", options.output)) if path]
    if options.command == "pxe":
        found[-1:] = [("-o", os.path.join(options.output, name)) for name in
                      ("margay.elf", "grub.cfg", "margay.pxe", "margay.efi",
                       *(f"file{index}" for index in range(len(options.files))))]
    if options.output_dir:
        found += [("--output-dir", options.output_dir / rank_file(rank, stream))
                  for rank in range(options.nodes) for stream in (1, 2)]
    return found


def rank_file(rank: int, stream: int) -> str:
    """A rank's file in --output-dir."""
    return f"rank{rank}.{'out' if stream == 1 else 'err'}"


def _identity(path: str | Path | int) -> object:
    """Equal for two paths, or descriptors, of one file; None for files that can be shared, like a
    device."""
    try:
        status = os.stat(path)
    except OSError:
        return None if isinstance(path, int) else os.path.realpath(path)
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None
