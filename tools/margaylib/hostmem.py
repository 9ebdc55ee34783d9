"""Checks that the job fits into this host's memory, and says what would fit."""
from __future__ import annotations

from .errors import MargayError, size_text
from .machine import map_bytes
from .options import MB

QEMU_BYTES = 30 * MB          # a QEMU's own memory, without the guest's, as measured
KERNEL_BYTES = 4 * MB         # block, console ring and page tables of a node


def available() -> int:
    """Bytes that can be used without swapping; the control group's limit counts too."""
    with open("/proc/meminfo", encoding="ascii") as file:
        found = next((int(line.split()[1]) << 10 for line in file
                      if line.startswith("MemAvailable:")), 1 << 62)
    return min(found, _group_room())


def _group_room() -> int:
    try:
        with open("/proc/self/cgroup", encoding="ascii") as file:
            path = next(line[3:].strip() for line in file if line.startswith("0::"))
        folder = "/sys/fs/cgroup" + path
        with open(folder + "/memory.max", encoding="ascii") as file:
            limit = file.read().strip()
        with open(folder + "/memory.current", encoding="ascii") as file:
            return int(limit) - int(file.read())
    except (OSError, ValueError, StopIteration):
        return 1 << 62


def check(nodes: int, segment: int, ram: int, files: int) -> None:
    """Raises if the job could use more than is available. `ram` holds the segment's page tables."""
    room = available()
    fixed = QEMU_BYTES + KERNEL_BYTES + ram
    need = nodes * (segment + fixed) + files
    if need <= room:
        return
    cures = []
    share = (room - files) / nodes - (fixed - map_bytes(segment))
    most = int(share / (1 + map_bytes(MB) / MB)) // MB        # a smaller segment needs fewer tables
    if most >= 4:
        cures.append(f"--mem {most}")
    fit = int((room - files) / (segment + fixed))
    if fit >= 1:
        cures.append(f"-n {fit}")
    cure = f"what would fit: {' or '.join(cures)}" if cures else \
        "end other programs or use a host with more memory"
    raise MargayError(
        f"too little memory: {nodes} node{'s' if nodes > 1 else ''} with --mem {segment // MB} "
        f"can use {size_text(need)}, and this host has {size_text(max(room, 0))} available",
        cure)
