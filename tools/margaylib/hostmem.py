"""Checks that the job fits into this host's memory, and says what would fit."""
from __future__ import annotations

import os

from .errors import MargayError, size_text
from .machine import map_bytes
from .options import MB

QEMU_BYTES = 30 * MB          # a QEMU's own memory, without the guest's, as measured
KERNEL_BYTES = 4 * MB         # block, console ring and page tables of a node
UNLIMITED = 1 << 62
GROUPS = "/sys/fs/cgroup"
OWN_GROUP = "/proc/self/cgroup"


def available() -> int:
    """Bytes that can be used without swapping; the control group's limit counts too."""
    with open("/proc/meminfo", encoding="ascii") as file:
        found = next((int(line.split()[1]) << 10 for line in file
                      if line.startswith("MemAvailable:")), UNLIMITED)
    return min(found, _group_room())


def _group_room() -> int:
    """The least room of the control group and those around it."""
    try:
        with open(OWN_GROUP, encoding="utf-8", errors="surrogateescape") as file:
            path = next(line[3:].strip() for line in file if line.startswith("0::"))
    except (OSError, StopIteration):
        return UNLIMITED
    room = _room_of(GROUPS + path)
    while path.strip("/"):
        path = os.path.dirname(path)
        room = min(room, _room_of(GROUPS + path))
    return room


def _room_of(folder: str) -> int:
    """What one control group can still use: files that it has in the page cache give way."""
    try:
        with open(f"{folder}/memory.max", encoding="ascii") as file:
            limit = int(file.read())          # or the word max
        with open(f"{folder}/memory.current", encoding="ascii") as file:
            used = int(file.read())
        with open(f"{folder}/memory.stat", encoding="ascii") as file:
            counters = dict(line.split() for line in file)
        return limit - used + int(counters["inactive_file"]) + int(counters["active_file"])
    except (OSError, ValueError, KeyError):
        return UNLIMITED


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
