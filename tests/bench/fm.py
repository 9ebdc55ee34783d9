"""Fast Messages compared with the puts below them, and tagged messages with Fast Messages:
figures 4 and 6 of the paper on Fast Messages, and instructions of each call."""
from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from cards import OWN_CORES
from core import BUILD, MARGAY, TOP, Bench, app

SOURCES = Path(__file__).resolve().parent / "programs"
INCLUDE = TOP / "lib" / "fm" / "include"
# Bytes: messages per measurement.
SIZES = {16: 400_000, 64: 400_000, 256: 400_000, 512: 300_000, 1024: 200_000, 4096: 100_000,
         16384: 30_000, 65536: 8_000, 262144: 2_000, 1048576: 640}
QUICK_SIZES = (1024,)
# The share aimed at, in per cent, by the size from which it holds: of Portals, and of Fast Messages
# 2.x.
OF_PUTS = {1024: 85}
OF_TWO = {16: 70, 512: 90}
LINKS = ("shm", "virtio")
DIRECT = {"shm": (), "virtio": ("--direct", *OWN_CORES)}
ASLEEP = {"shm": (), "virtio": ("asleep",)}     # what waits over a card is halted


def fm(bench: Bench) -> None:
    """Each stream is measured right after the one with which it is compared."""
    with tempfile.TemporaryDirectory() as folder:
        plain = built(Path(folder), "fm", "-lfm")
        layers = {n: built(Path(folder), "fm_match", f"-lfm_match{n}", "-lfm") for n in (1, 2)}
        for n in (1, 2):
            image = built(Path(folder), "fm_insn", f"-lfm_match{n}", "-lfm")
            for name, value in bench.margay("--icount", "-n", "1", image).items():
                if name.startswith("insn_"):
                    own = name.removeprefix("insn_").replace("match", f"match{n}")
                    bench.add(f"fm_insn_{own}", value, "instructions")
        for _ in range(bench.runs):
            for link in LINKS:
                if f"fm_{link}_".startswith(bench.only) or bench.only.startswith(f"fm_{link}_"):
                    latency(bench, link, plain)
                    streams(bench, link, plain, layers)


def latency(bench: Bench, link: str, plain: str) -> None:
    """Half a round trip of 8 bytes beside a put's; over a card a waiting node halts."""
    rounds = bench.number(100_000 if link == "shm" else 5_000)
    way = ("-n", "2", "--link", link, *OWN_CORES) if link != "shm" else ("-n", "2")
    mode = "latency" if link == "shm" else "sleep"
    put = bench.margay(*way, app("put"), mode, rounds)["half_rtt_us"]
    half = bench.margay(*way, plain, "latency", rounds, *ASLEEP[link])["half_rtt_us"]
    bench.add(f"fm_{link}_two_8B_half_rtt_us", half, "us", "", put)


def streams(bench: Bench, link: str, plain: str, layers: dict[int, str]) -> None:
    """Bandwidth by size: of puts, of puts that are received (over shared memory), of both
    generations, and of the layer over each."""
    way = ("-n", "2", "--link", link, *DIRECT[link])
    for size in QUICK_SIZES if bench.quick else SIZES:
        count = SIZES[size]
        number = bench.number(count if link == "shm" else count // 8, 64)
        put = bench.margay(*way, app("put"), "stream", str(size), number, *ASLEEP[link])["MBps"]
        near = link == "shm"
        if near:
            bench.add(f"fm_{link}_received_MBps_{size}",
                      bench.margay(*way, app("put"), "received", str(size), number)["MBps"],
                      "MB/s", "", put)
        for n, name in ((1, "one"), (2, "two")):
            own = bench.margay(*way, plain, name, str(size), number, *ASLEEP[link])["MBps"]
            aim = least(OF_PUTS, size) if near and n == 2 else None
            bench.add(f"fm_{link}_{name}_MBps_{size}", own, "MB/s",
                      f">= {aim} % of put" if aim else "", put)
            above = bench.margay(*way, layers[n], str(size), number, *ASLEEP[link])["MBps"]
            aim = least(OF_TWO, size) if near and n == 2 else None
            bench.add(f"fm_{link}_match{n}_MBps_{size}", above, "MB/s",
                      f">= {aim} % of fm" if aim else "", own)


def least(aims: dict[int, int], size: int) -> int | None:
    """The aim of the largest size that is not above this one."""
    return next((aims[at] for at in sorted(aims, reverse=True) if at <= size), None)


def built(folder: Path, source: str, *libraries: str) -> str:
    image = folder / f"{source}{libraries[0]}.elf"
    done = subprocess.run([str(MARGAY), "cc", "-O2", f"-I{INCLUDE}", str(SOURCES / f"{source}.c"),
                           "-o", str(image), f"-L{BUILD / 'lib'}", *libraries], check=False)
    if done.returncode != 0:
        sys.exit(f"bench: {source}.c could not be built with {' '.join(libraries)}")
    return str(image)
