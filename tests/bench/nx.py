"""NX compared with the puts below it: half round trips, streams, instructions, global
operations."""
from __future__ import annotations

import tempfile
from pathlib import Path

from cards import OWN_CORES
from core import Bench, app
from systems_build import built

LINKS = ("shm", "virtio")
DIRECT = {"shm": (), "virtio": ("--direct",)}
STREAMS = {1024: 100_000, 65536: 8_000, 1048576: 640}    # bytes: messages per measurement
SIZES = (8, 1024, 65536)
CALLS = ("csend", "irecv", "msgwait", "csend_early", "crecv_early", "iprobe_miss")


def nx(bench: Bench) -> None:
    with tempfile.TemporaryDirectory() as folder:
        program = built(Path(folder), "nx", "nx")
        got = bench.margay("--icount", "-n", "1", program, "instructions")
        for name in CALLS:
            bench.add(f"nx_insn_{name}_8B", got[name], "instructions")
        for _ in range(bench.runs):
            for link in LINKS:
                times(bench, program, link)
            for nodes in (2, 8):
                got = bench.margay("-n", str(nodes), program, "global",
                                   bench.number(5_000 if nodes == 2 else 300, 10))
                for name in ("gsync", "gdsum"):
                    bench.add(f"nx_shm_{name}_{nodes}_us", got[f"{name}_us"], "us",
                              "grows with log N")


def times(bench: Bench, program: str, link: str) -> None:
    """Half round trips, in turn with puts of the same size; over a card a waiting node halts."""
    rounds = bench.number(50_000 if link == "shm" else 3_000)
    cpu, wait = (None, "latency") if link == "shm" else (0, "sleep")
    way = ("-n", "2", "--link", link, *DIRECT[link])
    put = bench.margay(*way, app("put"), wait, rounds, cpu=cpu)["half_rtt_us"]
    for size in SIZES:
        got = bench.margay(*way, program, "latency", str(size), rounds, cpu=cpu)
        bench.add(f"nx_{link}_send_{size}B_half_rtt_us", got["half_rtt_us"], "us",
                  "", put if size == 8 else None)
    own = OWN_CORES if link != "shm" else ()
    asleep = ("asleep",) if link != "shm" else ()
    for size, count in STREAMS.items():
        number = bench.number(count if link == "shm" else count // 4, 64)
        rate = bench.margay(*way, *own, program, "stream", str(size), number)["MBps"]
        put = bench.margay(*way, *own, app("put"), "stream", str(size), number, *asleep)["MBps"]
        bench.add(f"nx_{link}_send_MBps_{size}", rate, "MB/s", "", put)
