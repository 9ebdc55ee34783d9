"""The shared region's layout, as the C header defines it, and the plan of one region.

Layout reads build/region.json. Plan turns a job (nodes, memory, files) into
offsets; both are pure and know nothing of descriptors or processes.
"""
from __future__ import annotations

import json
from pathlib import Path

from .errors import MargayError, size_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PAGE = 4096
CONSOLE_DATA = 1 << 20        # bytes of a console ring; a power of two
STDIN_DATA = 1 << 20
LARGEST = 1 << 38             # bytes: a quarter of a 40-bit address space, microvm's window


def aligned(value: int, to: int) -> int:
    return (value + to - 1) // to * to


class Layout:
    """Constants by name, and per structure: field -> (offset, bytes)."""

    def __init__(self, path: Path) -> None:
        try:
            data = json.loads(path.read_bytes())
            self.constants: dict[str, int] = data.pop("constants")
        except (OSError, ValueError, KeyError) as error:
            raise MargayError(f"{path} cannot be used: {error}",
                              "build it again: rm it and run make") from None
        self.structs: dict[str, dict[str, Any]] = data

    def __getitem__(self, constant: str) -> int:
        return self.constants[constant]

    def size(self, struct: str) -> int:
        return int(self.structs[struct]["sizeof"])

    def at(self, struct: str, field: str) -> int:
        return int(self.structs[struct][field][0])


class Plan:
    """Offsets of everything in one region. `header()` gives the header's fields."""

    def __init__(self, layout: Layout, nodes: int, segment: int,
                 file_sizes: list[int], event_slots: int = 0) -> None:
        align = layout["REGION_ALIGN"]
        ring = layout.size("region_ring")
        self.nodes = nodes
        self.node_table = layout["REGION_NODES"]
        self.node_bytes = layout.size("region_node")
        self.file_table = aligned(self.node_table + nodes * self.node_bytes, PAGE)
        end = aligned(self.file_table + len(file_sizes) * layout.size("region_file"), PAGE)
        self.file_sizes = file_sizes
        self.file_offsets: list[int] = []
        for size in file_sizes:
            self.file_offsets.append(end)
            end = aligned(end + size, PAGE)
        self.stdin_ring = end
        self.stdin_bytes = ring + STDIN_DATA
        self.slices = aligned(end + self.stdin_bytes, align)

        self.block_offset = 0
        slots = event_slots or layout["EVENT_SLOTS"]
        self.block_bytes = aligned(layout["BLOCK_SLOTS"] + slots * layout["EVENT_SLOT_BYTES"], PAGE)
        self.console_offset = self.block_bytes
        self.console_bytes = ring + CONSOLE_DATA
        self.segment_offset = aligned(self.console_offset + self.console_bytes, align)
        self.segment_bytes = aligned(segment, align)
        self.slice_bytes = self.segment_offset + self.segment_bytes
        self.used = self.slices + nodes * self.slice_bytes
        self.bytes = 1 << max(self.used - 1, 1).bit_length()
        if self.bytes > LARGEST:
            most = (LARGEST - self.slices) // nodes - self.segment_offset
            raise MargayError(
                f"{nodes} nodes of {size_text(segment)} need a shared region of "
                f"{size_text(self.bytes)}; a node can map at most {size_text(LARGEST)}",
                f"use at most --mem {max(most >> 20, 0)} with -n {nodes}")
        self.magic = layout["REGION_MAGIC"]
        self.version = layout["REGION_VERSION"]
        self.files = len(file_sizes)

    def header(self) -> dict[str, int]:
        names = ("magic", "version", "nodes", "bytes", "slices", "slice_bytes",
                 "block_offset", "block_bytes", "console_offset", "console_bytes",
                 "segment_offset", "segment_bytes", "stdin_ring", "stdin_bytes",
                 "file_table", "files")
        return {name: getattr(self, name) for name in names}

    def node(self, k: int) -> int:
        """Offset of node k's entry in the table."""
        return self.node_table + k * self.node_bytes

    def console(self, k: int) -> int:
        """Offset of node k's console ring."""
        return self.slices + k * self.slice_bytes + self.console_offset
