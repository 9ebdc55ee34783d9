"""Madeleine beside puts: figures 15 and 16 of its paper, and instructions."""
from __future__ import annotations

import tempfile
from pathlib import Path

from core import Bench
from systems_build import built

# Bytes of the array: round trips per measurement over shared memory; over a card a tenth.
SIZES = {0: 20_000, 16: 20_000, 128: 20_000, 256: 20_000, 512: 20_000, 1024: 20_000, 4096: 10_000,
         16384: 10_000, 65536: 4_000, 262144: 1_000, 1048576: 300}
QUICK_SIZES = (0, 65536, 1048576)
LINKS = ("shm", "virtio")


def madeleine(bench: Bench) -> None:
    """Half of a call's round trip, beside a put of as many bytes measured right after it; over a
    card on one core. `overhead` is the difference, `MBps` the size by that time."""
    with tempfile.TemporaryDirectory() as folder:
        program = built(Path(folder), "madeleine", "madeleine")
        got = bench.margay("--icount", "-n", "1", program, "instructions")
        for name in ("send", "receive"):
            bench.add(f"madeleine_insn_{name}_8B", got[name], "instructions")
        for _ in range(bench.runs):
            for link in LINKS:
                for size in QUICK_SIZES if bench.quick else SIZES:
                    rounds = SIZES[size] if link == "shm" else SIZES[size] // 10
                    pair(bench, program, link, size, rounds)


def pair(bench: Bench, program: str, link: str, size: int, rounds: int) -> None:
    way = ("-n", "2", "--link", link, *(("--direct",) if link != "shm" else ()))
    number = bench.number(rounds, 10)
    cpu = 0 if link != "shm" else None
    own, put = (bench.margay(*way, program, what, str(size), number, cpu=cpu)["half_rtt_us"]
                for what in ("call", "put"))
    bench.add(f"madeleine_{link}_half_rtt_us_{size}", own, "us", "", put)
    bench.add(f"madeleine_{link}_overhead_us_{size}", max(0.0, own - put), "us", "constant in size")
    if size:
        bench.add(f"madeleine_{link}_MBps_{size}", size / own, "MB/s", "", size / put)
