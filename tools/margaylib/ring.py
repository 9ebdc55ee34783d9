"""The byte rings in the shared region: console rings (read here) and stdin's (written here).

A ring has one writer and one reader; positions only grow. The other side is not trusted: positions
and lengths are checked. From a damage on, a console ring's bytes are dropped, so that its node does
not wait for room.
"""
from __future__ import annotations

import struct

from .region import Region, fence

_RECORD = struct.Struct("<IHH")


class _Ring:
    def __init__(self, region: Region, base: int, size: int) -> None:
        layout = region.layout
        self.region = region
        self.map = region.map
        self.longs = region.longs
        self.words = region.words
        self.written = (base + layout.at("region_ring", "written")) >> 3
        self.taken = (base + layout.at("region_ring", "taken")) >> 3
        self.closed = (base + layout.at("region_ring", "closed")) >> 2
        self.full = (base + layout.at("region_ring", "full")) >> 2
        self.data = base + layout.size("region_ring")
        self.capacity = size - layout.size("region_ring")


class ConsoleRing(_Ring):
    """Node k's output. read() returns pieces in order and frees the room at once."""

    def __init__(self, region: Region, k: int) -> None:
        super().__init__(region, region.plan.console(k), region.plan.console_bytes)
        self.position = 0
        self.damaged = False
        self.waits = (region.plan.node(k)
                      + region.layout.at("region_node", "console_waits")) >> 2

    def read(self) -> list[tuple[int, bytes]]:
        """(stream, bytes) pieces, neighbours of one stream joined; [] if nothing is new."""
        written = self.longs[self.written]
        if self.damaged:
            self.position = self.longs[self.taken] = written
            return []
        size = written - self.position
        if size == 0:
            return []
        if not 0 < size <= self.capacity:
            self.damaged = True
            return []
        start = self.position & (self.capacity - 1)
        first = min(size, self.capacity - start)
        data = self.map[self.data + start:self.data + start + first]
        if first < size:
            data += self.map[self.data:self.data + size - first]
        self.position += size
        self.longs[self.taken] = self.position
        return self._records(data)

    def _records(self, data: bytes) -> list[tuple[int, bytes]]:
        found: list[tuple[int, bytes]] = []
        pieces: list[bytes] = []
        current = -1
        at, end, unpack = 0, len(data), _RECORD.unpack_from
        self.damaged = end % _RECORD.size != 0
        while at < end and not self.damaged:
            size, stream, _ = unpack(data, at)
            start = at + _RECORD.size
            at = start + size
            if at > end:
                self.damaged = True
                break
            if stream != current:
                if pieces:
                    found.append((current, b"".join(pieces)))
                pieces, current = [], stream
            pieces.append(data[start:at])
            at = (at + 7) & ~7
        if pieces:
            found.append((current, b"".join(pieces)))
        return found

    def writer_waits(self) -> bool:
        """Does the node wait for room? Clears its request; the caller rings it. The node may wait
        because another node has overwritten `taken`: this restores it."""
        fence()
        if self.words[self.waits]:
            self.words[self.waits] = 0
            self.longs[self.taken] = self.position
            return True
        return False


class StdinRing(_Ring):
    """Standard input for all nodes that read it; each has its own position."""

    def __init__(self, region: Region) -> None:
        super().__init__(region, region.plan.stdin_ring, region.plan.stdin_bytes)
        self.position = 0

    def room(self, readers: list[int]) -> int:
        """Free bytes, until the slowest reader takes some; negative if the ring is
        damaged."""
        behind = [self.position - self.region.long_field(k, "stdin_taken") for k in readers]
        if not all(0 <= used <= self.capacity for used in behind):
            return -1
        return self.capacity - max(behind, default=self.capacity)

    def write(self, data: bytes) -> None:
        """Appends; the caller made sure that there is room."""
        start = self.position & (self.capacity - 1)
        first = min(len(data), self.capacity - start)
        self.map[self.data + start:self.data + start + first] = data[:first]
        self.map[self.data:self.data + len(data) - first] = data[first:]
        self.position += len(data)
        self.longs[self.written] = self.position

    def await_room(self, readers: list[int]) -> bool:
        """Asks the readers to ring when half of the ring is free; True if it already is."""
        self.words[self.full] = 1
        fence()
        return self.room(readers) >= self.capacity // 2

    def close(self) -> None:
        self.words[self.closed] = 1
