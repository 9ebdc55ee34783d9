"""Where each stream of a node's console ring goes, and the serial port's lines.

Application output goes to the printer or the output folder, --out streams to their files,
statistics into a table, lock requests to locks.py. The kernel's reports are held for a moment, so
that one addr2line serves many ranks and each rank's lines stay together.
"""
from __future__ import annotations

import re
from collections.abc import Callable

from .hostfiles import OutputFile
from .locks import Locks
from .output import Folder, Printer
from .region import Region
from .ring import ConsoleRing
from .symbols import Symbols

HOLD = 0.05                   # seconds that a report waits for further lines
MOST_HELD = 200               # lines; a longer report does not wait
MARK = "margay:"
LONGEST_LINE = 4096           # bytes of a kernel's line; a longer one is damage
LARGEST_COUNT = (1 << 64) - 1
MOST_COUNTERS = 1000          # of one node

_STAT = re.compile(r"([a-z0-9_]{1,64}) ([0-9]{1,20})")
_RANK = re.compile(MARK + r" .*\b(rank|node) [0-9]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def escaped(line: str) -> str:
    """Shows terminal control characters as \\xNN."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", line)


class Console:
    """All nodes' consoles. drain() is called whenever a node rang."""

    def __init__(self, region: Region, printer: Printer, folder: Folder | None,
                 symbols: Symbols, out_files: dict[int, OutputFile], locks: Locks,
                 verbose: bool) -> None:
        nodes = region.plan.nodes
        layout = region.layout
        self.rings = [ConsoleRing(region, k) for k in range(nodes)]
        self.printer = printer
        self.folder = folder
        self.put = folder.put if folder else printer.put
        self.symbols = symbols
        self.out_files = out_files
        self.locks = locks
        self.verbose = verbose
        self.kernel = layout["STREAM_KERNEL"]
        self.stat = layout["STREAM_STATS"]
        self.lock = layout["STREAM_LOCKS"]
        self.first_file = layout["STREAM_OUT_FILE"]
        self.carry: dict[tuple[str, int], str] = {}     # (source, rank): the beginning of a line
        self.held: dict[int, list[str]] = {}
        self.held_since = 0.0
        self.stats: list[dict[str, int]] = [{} for _ in range(nodes)]
        self.told_damaged: set[int] = set()

    def drain(self, now: float, ring: Callable[[int], None]) -> bool:
        """Takes everything that the nodes have written, and rings those that wait for room. True if
        output came. A lock request does not count, as its rank waits until it has an answer."""
        any_output = False
        for rank, console in enumerate(self.rings):
            pieces = console.read()
            for stream, data in pieces:
                any_output = any_output or stream != self.lock
                self._route(rank, stream, data, now)
            if (pieces or console.damaged) and console.writer_waits():
                ring(rank)
            if console.damaged and rank not in self.told_damaged:
                self.told_damaged.add(rank)
                self._hold(rank, [f"{MARK} the console of node {rank} is damaged; "
                                  "what it prints from here on is lost"], now)
        return any_output

    def look_for_waiters(self, ring: Callable[[int], None]) -> None:
        """Rings nodes whose wait for room crossed with its release; called now and then."""
        for rank, console in enumerate(self.rings):
            if console.writer_waits():
                ring(rank)

    def _route(self, rank: int, stream: int, data: bytes, now: float) -> None:
        if stream in (1, 2):
            self.put(rank, stream, data)
        elif stream == self.kernel:
            self._hold(rank, self._lines("kernel", rank, data), now)
        elif stream == self.stat:
            for line in self._lines("stats", rank, data):
                self._count(self.stats[rank], line)
        elif stream == self.lock:
            self.locks.ask(rank, data)
        elif stream - self.first_file in self.out_files:
            self.out_files[stream - self.first_file].write(data)

    @staticmethod
    def _count(stats: dict[str, int], line: str) -> None:
        """Takes one counter. A line that no kernel writes is damage, and is ignored."""
        match = _STAT.fullmatch(line)
        if match and int(match[2]) <= LARGEST_COUNT and \
                (match[1] in stats or len(stats) < MOST_COUNTERS):
            stats[match[1]] = int(match[2])

    def serial(self, rank: int, data: bytes, now: float) -> None:
        """The serial port: before the region is found, and the kernel's last words."""
        for line in self._lines("serial", rank, data):
            if line.startswith(MARK):
                self._hold(rank, [line], now)
            elif self.verbose and line:
                self.printer.report(
                    f"margay: serial port of node {rank}: {escaped(line)}\n".encode())

    def _lines(self, source: str, rank: int, data: bytes) -> list[str]:
        """Whole lines; the beginning of an unfinished one is kept for next time."""
        text = self.carry.get((source, rank), "") + data.decode("utf-8", "replace")
        lines = text.replace("\r", "").split("\n")
        rest = lines.pop()
        if len(rest) > LONGEST_LINE:
            lines, rest = [*lines, rest], ""
        self.carry[source, rank] = rest
        return lines

    def _hold(self, rank: int, lines: list[str], now: float) -> None:
        if lines:
            if not self.held:
                self.held_since = now
            self.held.setdefault(rank, []).extend(self._of_rank(rank, line) for line in lines)

    def _of_rank(self, rank: int, line: str) -> str:
        """The line, safe for a terminal; with several ranks it has a prefix with its rank."""
        line = escaped(line)
        if len(self.rings) == 1 or not line.startswith(MARK) or _RANK.match(line):
            return line
        return f"{MARK} [{rank}]{line.removeprefix(MARK)}"

    def due(self) -> float | None:
        """When held reports will be printed."""
        if not self.held:
            return None
        many = sum(map(len, self.held.values())) > MOST_HELD
        return self.held_since + (0 if many else HOLD)

    def release(self) -> None:
        """Prints the held reports, rank by rank."""
        held, self.held = self.held, {}
        lines = self.symbols.annotate([line for rank in sorted(held) for line in held[rank]])
        if lines:
            self.printer.report(("\n".join(lines) + "\n").encode("utf-8", "replace"))

    def restarted(self, rank: int) -> None:
        """A rank was restarted: its unfinished lines end here, its --out files are emptied."""
        for source in ("kernel", "serial", "stats"):
            rest = self.carry.pop((source, rank), "")
            if rest and source == "kernel":
                self._hold(rank, [rest], 0.0)
        self.printer.prompt(rank)
        self.stats[rank] = {}
        for file in self.out_files.values() if rank == 0 else ():
            file.empty()

    def finish(self) -> None:
        """Prints everything left, including unfinished lines."""
        for (source, rank), rest in list(self.carry.items()):
            if rest and source == "kernel":
                self._hold(rank, [rest], 0.0)
        self.release()
        self.printer.finish()
        for file in self.out_files.values():
            file.close()
        if self.folder:
            self.folder.close()
