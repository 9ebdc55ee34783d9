#!/usr/bin/python3
"""Figures 2 to 4 of the paper on virtual memory-mapped communication, for lib/vmmc.

    make bench ARGS='--group systems --only vmmc'     measures, into build/bench.json
    tests/bench/vmmc.py [--take]                      draws docs/vmmc-*.svg from docs/vmmc.json;
                                                      --take copies build/bench.json there first

tests/bench/vmmc/vmmc_bench.c says how a figure is taken. Figures over shared memory have those of
Portals (latency) and of the kernel's copy routine (bandwidth) in the same run as limits.
"""
from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from core import BUILD, TOP, Bench, BenchError, app

if TYPE_CHECKING:
    from figures import Picture

LINKS = ("shm", "virtio")
HALTING = {"shm": (), "virtio": ("halt",)}     # what waits over a card is halted
CPU = {"shm": None, "virtio": 0}
COPIED = (4096, 65536, 1048576)       # sizes whose copy limit the self-test tells
DATA = TOP / "docs" / "vmmc.json"


def numbered(got: dict[str, float], name: str) -> list[tuple[int, float]]:
    """The figures NAME_S of a run by S."""
    return [(int(match[1]), value) for key, value in got.items()
            if (match := re.fullmatch(rf"{name}_(\d+)", key))]


def latency(bench: Bench) -> None:
    """Figure 2: half of a round trip; both sides poll their memory."""
    for link in LINKS:
        got = bench.margay("-n", "2", "--link", link, app("vmmc_bench"), "latency",
                           bench.number(20000 if link == "shm" else 2000, 20), *HALTING[link],
                           cpu=CPU[link])
        for size, value in numbered(got, "latency_us"):
            bench.add(f"vmmc_{link}_latency_us_{size}", value, "us", "",
                      got[f"put_us_{size}"])


def bandwidth(bench: Bench) -> None:
    """Figure 3: one way, and the sum of both ways at once."""
    for link in LINKS:
        words = ("--selftest", "copy", app("selftests/vmmc_bench")) if link == "shm" else \
            ("--link", link, app("vmmc_bench"))
        got = bench.margay("-n", "2", *words, "bandwidth",
                           bench.number(400_000_000 if link == "shm" else 40_000_000), *HALTING[link])
        for size, value in numbered(got, "MBps"):
            limit = got.get(f"copy_MBps_{size}") if size in COPIED else None
            aim = ">= 97 % of limit" if limit and size >= 65536 else ""
            bench.add(f"vmmc_{link}_MBps_{size}", value, "MB/s", aim, limit)
        for size, value in numbered(got, "both_MBps"):
            bench.add(f"vmmc_{link}_both_MBps_{size}", value, "MB/s")


def overhead(bench: Bench) -> None:
    """Figure 4: time in a synchronous and in an asynchronous call."""
    for link in LINKS:
        got = bench.margay("-n", "2", "--link", link, app("vmmc_bench"), "overhead",
                           bench.number(2000), *HALTING[link])
        for how in ("sync", "async"):
            for size, value in numbered(got, f"{how}_us"):
                bench.add(f"vmmc_{link}_{how}_us_{size}", value, "us")


def calls(bench: Bench) -> None:
    """A null call of vRPC beside a round trip of VMMC, in turns; a waiting node halts."""
    for link in LINKS:
        got = bench.margay("-n", "2", "--link", link, str(BUILD / "tests" / "vrpc_calc.elf"),
                           "times", bench.number(5000 if link == "shm" else 300))
        bench.add(f"vmmc_{link}_null_call_us", got["null_us"], "us", "<= 2.5 times round_trip",
                  got["rtt_us"])


def vmmc(bench: Bench) -> None:
    """All rows of lib/vmmc, for the group `systems`."""
    for _ in range(2):
        got = bench.margay("-n", "1", "--icount", app("vmmc_bench"), "instructions")
        for name in ("send_8B", "send_8B_wakes", "notify_8B_to", "notify_8B"):
            bench.add(f"vmmc_insn_{name}", got[f"insn_{name}"], "instructions", "",
                      got["insn_put_8B"])
    for _ in range(bench.runs):
        latency(bench)
        bandwidth(bench)
        overhead(bench)
        calls(bench)


# ---- pictures ----

def pictures() -> dict[str, Picture]:
    from figures import Curve, Panel, Picture, ours

    def panels(*curves: tuple[str, str, str, str, str]) -> tuple[Panel, ...]:
        return tuple(Panel(title, tuple(
            Curve(f"{name}-{link}", label, style, ours(rf"vmmc_{link}_{what}_(\d+)", unit, part))
            for name, label, style, what, part in curves))
            for link, title in (("shm", "Shared memory"), ("virtio", "virtio-net")))

    unit = "us"
    latencies = panels(("send", "SendMsg", "own", "latency_us", "median"),
                       ("put", "Portals puts", "below", "latency_us", "limit"))
    overheads = panels(("sync", "synchronous", "own", "sync_us", "median"),
                       ("async", "asynchronous", "own_other", "async_us", "median"))
    unit = "MB/s"
    rates = panels(("one", "one way", "own", "MBps", "median"),
                   ("both", "both ways,\nsum", "own_other", "both_MBps", "median"),
                   ("copy", "copy limit", "below", "MBps", "limit"))
    return {
        "vmmc-latency": Picture("VMMC: one-way latency of short messages", "short", "us",
                                latencies, ""),
        "vmmc-bandwidth": Picture("VMMC: bandwidth by size of message", "size", "rate", rates, ""),
        "vmmc-overhead": Picture("VMMC: overhead of a send", "size", "us", overheads, ""),
    }


def take(source: Path) -> None:
    report = json.loads(source.read_text())
    report["figures"] = {name: row for name, row in report["figures"].items()
                         if name.startswith("vmmc_")}
    if not report["figures"]:
        raise BenchError(f"{source} has no figure of lib/vmmc",
                         "make bench ARGS='--group systems --only vmmc'")
    DATA.write_text(json.dumps(report, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--take", action="store_true", help="take build/bench.json first")
    options = parser.parse_args()
    if options.take:
        take(BUILD / "bench.json")
    import drawing
    import figures as shared
    shared.PICTURES = pictures()
    data = shared.Data(own=DATA)
    for name in shared.PICTURES:
        (TOP / "docs" / f"{name}.svg").write_bytes(drawing.svg(data.drawn(name)))


if __name__ == "__main__":
    try:
        main()
    except BenchError as error:
        sys.exit(f"vmmc: {error.args[0]}\nvmmc: {error.args[1]}")
