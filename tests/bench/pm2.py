"""PM2 compared with the puts below it: switches, migration (the table of section 3.5 of the
Madeleine paper), remote procedure calls."""
from __future__ import annotations

import tempfile
from pathlib import Path

from core import Bench
from systems_build import built

INSTRUCTIONS = ("switch", "create_join", "local_lrpc", "local_quick_lrpc")
LINKS = {"shm": (), "virtio": ("--link", "virtio", "--direct")}
CARD = ("--link", "virtio")


def pm2(bench: Bench) -> None:
    """The limit of a migration is half of a put's round trip with as many bytes, measured right
    after it; that of a call is a put's round trip with the call's bytes."""
    with tempfile.TemporaryDirectory() as folder:
        program = built(Path(folder), "pm2", "pm2")
        got = bench.margay("--icount", "-n", "1", program, "instructions")
        for name in INSTRUCTIONS:
            bench.add(f"pm2_insn_{name}", got[name], "instructions")
        got = bench.margay("--icount", "-n", "2", *CARD, program, "leave")
        bench.add("pm2_virtio_insn_leave", got["leave"], "instructions", "", got["put"])
        for _ in range(bench.runs):
            got = bench.margay("-n", "1", program, "switch", bench.number(2_000_000, 10))
            bench.add("pm2_switch_ns", got["switch_ns"], "ns", "<= 100")
            for link in LINKS:
                pair(bench, program, link)


def pair(bench: Bench, program: str, link: str) -> None:
    """Over a card, both nodes share one core and a waiting node halts."""
    way, cpu = ("-n", "2", *LINKS[link]), None if link == "shm" else 0
    times = bench.number(50_000 if link == "shm" else 3_000, 10)
    moved = bench.margay(*way, program, "migrate", times, cpu=cpu)
    put = bench.margay(*way, program, "put", str(int(moved["image_bytes"])), times,
                       cpu=cpu)["half_rtt_us"]
    called = bench.margay(*way, program, "calls", times, cpu=cpu)
    aim = "<= 5" if link == "shm" else ""
    bench.add(f"pm2_{link}_migrate_us", moved["migrate_us"], "us", aim, put)
    bench.add(f"pm2_{link}_migrate_bytes", moved["image_bytes"], "bytes", "the paper: 650")
    for name in ("lrpc_us", "quick_lrpc_us"):
        bench.add(f"pm2_{link}_{name}", called[name], "us", "", 2 * put)
