"""The nodes' output, on the launcher's standard output and error.

Sink writes to a descriptor without blocking the event loop for long. Printer makes whole lines of
each rank's streams, with a prefix. Neither knows of rings or processes.
"""
from __future__ import annotations

import os
import select
import stat
import time
from pathlib import Path

from .hostfiles import Failed, OutputFile, rank_file

PIPE_PIECE = 4096             # a pipe that polls writable takes this much without blocking
LONGEST_LINE = 1 << 20        # an unfinished line longer than this is printed as it is


class Sink:
    """A descriptor to write to, with a queue for what cannot be written yet."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.queue: list[bytes] = []
        self.pending = 0
        self.broken = False       # the reader has gone, or there is no room ...
        self.error: OSError | None = None      # ... and then this is why
        try:
            mode = os.fstat(fd).st_mode
            self.file = stat.S_ISREG(mode)
        except OSError:
            self.file, self.broken = True, True
        self.poll = select.poll()
        self.poll.register(fd, select.POLLOUT)

    def write(self, data: bytes) -> None:
        if data and not self.broken:
            self.queue.append(data)
            self.pending += len(data)

    def flush(self, seconds: float = 0.0) -> bool:
        """Writes what the descriptor takes within this time; True if everything was written."""
        if not self.queue:
            return True
        until = time.monotonic() + seconds
        data = memoryview(b"".join(self.queue))
        at, end = 0, len(data)
        try:
            while at < end:
                if self.file:
                    at += os.write(self.fd, data[at:])
                elif self.poll.poll(max(0.0, until - time.monotonic()) * 1000):
                    at += os.write(self.fd, data[at:at + PIPE_PIECE])
                else:
                    break
        except BlockingIOError:
            pass
        except OSError as error:
            self.broken, at = True, end
            self.error = None if isinstance(error, BrokenPipeError) else error
        self.queue = [bytes(data[at:])] if at < end else []
        self.pending = end - at
        return not self.queue


class Printer:
    """Output of all ranks to two sinks, stdout's and stderr's. With prefixes: whole lines, each
    with its rank. Without: exactly the bytes that the ranks wrote, one rank's unfinished line after
    the other ranks' lines."""

    def __init__(self, out: Sink, err: Sink, nodes: int, prefix: bool) -> None:
        self.sinks = {1: out, 2: err}
        self.prefixes = [f"[{rank}] ".encode() if prefix else b"" for rank in range(nodes)]
        self.single = nodes == 1
        self.partial: dict[tuple[int, int], list[bytes]] = {}
        self.partial_bytes: dict[tuple[int, int], int] = {}
        self.open_line: tuple[int, int] | None = None     # (rank, stream) printed without its end
        self.progress_shown = False
        self.one_terminal = os.isatty(1) and os.isatty(2)

    def put(self, rank: int, stream: int, data: bytes) -> None:
        """New output of one rank; stream is 1 or 2."""
        key = (rank, stream)
        cut = data.rfind(b"\n") + 1
        if cut:
            self._emit(key, b"".join([*self.partial.pop(key, ()), data[:cut]]))
            self.partial_bytes.pop(key, None)
        if cut < len(data):
            self.partial.setdefault(key, []).append(data[cut:])
            self.partial_bytes[key] = self.partial_bytes.get(key, 0) + len(data) - cut
            if self.single or self.partial_bytes[key] > LONGEST_LINE:
                self.prompt(rank)

    def prompt(self, rank: int) -> None:
        """Prints a rank's unfinished lines as they are: the rank waits for input."""
        for stream in (1, 2):
            if (rank, stream) in self.partial:
                self.partial_bytes.pop((rank, stream), None)
                self._emit((rank, stream), b"".join(self.partial.pop((rank, stream))))

    def progress(self, text: str) -> None:
        """A line on the terminal that the next output replaces; '' removes it."""
        if text or self.progress_shown:
            self.sinks[1].flush(0.1)          # both are one terminal: keep the order
            self.sinks[2].write(b"\r\x1b[K" + text.encode())
            self.sinks[2].flush(0.1)
            self.progress_shown = bool(text)

    def report(self, text: bytes) -> None:
        """Whole lines of the kernel or the launcher, on standard error."""
        self.progress("")
        if self.open_line is not None and not self.prefixes[0] and self.one_terminal:
            self.sinks[2].write(b"\n")        # ends the line on the terminal, not in a rank's output
        self._end_open_line()
        self.sinks[2].write(text)

    def finish(self) -> None:
        """Completes every unfinished line."""
        for rank, stream in sorted(self.partial):
            self._emit((rank, stream), b"".join(self.partial[rank, stream]))
            self._end_open_line()
        self.partial.clear()
        self.progress("")
        self._end_open_line()

    def _emit(self, key: tuple[int, int], data: bytes) -> None:
        self.progress("")
        rank, stream = key
        prefix = self.prefixes[rank]
        fresh = True
        if self.open_line is not None:
            if self.open_line == key:
                fresh = False
            else:
                self._end_open_line()
        ended = data.endswith(b"\n")
        if prefix:
            body = data[:-1] if ended else data
            data = ((prefix if fresh else b"") + body.replace(b"\n", b"\n" + prefix)
                    + (b"\n" if ended else b""))
        self.sinks[stream].write(data)
        self.open_line = None if ended else key

    def _end_open_line(self) -> None:
        if self.open_line is not None and self.prefixes[0]:
            self.sinks[self.open_line[1]].write(b"\n")
        self.open_line = None


class Folder:
    """--output-dir: one file per rank and stream, the bytes exactly as they came."""

    def __init__(self, folder: Path, nodes: int, failed: Failed) -> None:
        self.files = {(rank, stream): OutputFile("--output-dir", folder / rank_file(rank, stream),
                                                 failed)
                      for rank in range(nodes) for stream in (1, 2)}

    def put(self, rank: int, stream: int, data: bytes) -> None:
        self.files[rank, stream].write(data)

    def close(self) -> None:
        for file in self.files.values():
            file.close()
