"""`--bind-to core`: which core of this host a node's QEMU keeps to.

mpirun's name and meaning. It is for hosts with as many free cores as nodes: two nodes that
stream to each other then never share a core while another is idle, and QEMU's threads find
their node's memory in their core's caches.
"""
from __future__ import annotations

import os

from .options import RunOptions
from .paths import program


def bound_to(options: RunOptions, rank: int) -> list[str]:
    """What stands in front of the node's QEMU command: nothing, or taskset with its core.
    The nodes take the cores that the launcher may use in turn; more nodes than cores share."""
    if options.bind_to != "core":
        return []
    cores = sorted(os.sched_getaffinity(0))
    return [program("taskset", "util-linux"), "-c", str(cores[rank % len(cores)])]
