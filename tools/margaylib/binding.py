"""`--bind-to core`: the core of this host that a node's QEMU is pinned to.

mpirun's option and meaning. It is for hosts with as many free cores as nodes: two nodes that stream
to each other then never share a core while another is idle, and QEMU's threads find their node's
memory in the caches of their core.
"""
from __future__ import annotations

import os

from .options import RunOptions
from .paths import program


def bound_to(options: RunOptions, rank: int) -> list[str]:
    """The prefix of the node's QEMU command: nothing, or taskset with its core. Nodes take the
    cores that the launcher may use round robin; if there are more nodes than cores, they share."""
    if options.bind_to != "core":
        return []
    cores = sorted(os.sched_getaffinity(0))
    return [program("taskset", "util-linux"), "-c", str(cores[rank % len(cores)])]
