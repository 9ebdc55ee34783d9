"""MPI compared with the puts below it: half round trips, rates, streams, instructions, bypass,
collectives and one-sided calls."""
from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from cards import OWN_CORES
from core import MARGAY, Bench, app

SOURCES = Path(__file__).resolve().parent / "programs"
# Bytes: messages per measurement, and the aim as a share of a put's bandwidth. Sizes without an aim
# are measured for the peers.
STREAMS = {16: (400_000, 40), 256: (400_000, 60), 1024: (200_000, None), 4096: (100_000, 80),
           16384: (30_000, None), 65536: (8_000, 95), 262144: (2_000, None), 1048576: (640, 98)}
CALLS = ("isend", "irecv", "wait_recv", "wait_send", "iprobe_miss")
IN_USER_MODE = {"isend": 250, "irecv": 250, "wait_recv": 150, "wait_send": 150}
POSTED = (1, 10, 100, 1000, 10000)
BEHIND = (0, 4000)
BYPASS_SIZES = (50_000, 500_000)
WORK_MS = (0, 1, 2, 5, 10, 20, 50, 100, 200)
LINKS = ("shm", "virtio")
# Streams and bypass over a card: joined directly, as the puts of tests/bench/cards.py and the
# peers' guests are.
DIRECT = {"shm": (), "virtio": ("--direct",)}


def mpi(bench: Bench) -> None:
    """The figures of MPI; the limit of each is a put's in the same run."""
    with tempfile.TemporaryDirectory() as folder:
        program, insn = built(Path(folder), "mpi"), built(Path(folder), "mpi_insn")
        instructions(bench, insn)
        for link in LINKS:
            for _ in range(bench.runs):
                times(bench, program, link)
                streams(bench, program, link)
        for _ in range(bench.runs):
            posted(bench, program)
            behind(bench, program)
            bypass(bench, program)
            collectives(bench, program)


def built(folder: Path, source: str) -> str:
    image = folder / f"{source}.elf"
    done = subprocess.run([str(MARGAY), "cc", "--mpi", "-O2", "-Wno-stringop-overflow",
                           str(SOURCES / f"{source}.c"), "-o", str(image)], check=False)
    if done.returncode != 0:
        sys.exit(f"bench: {source}.c could not be built with margay cc --mpi")
    return str(image)


def instructions(bench: Bench, program: str) -> None:
    """Instructions of a call with the kernel's part, under icount; and of each part, stepped by gdb
    (steps_mpi.py)."""
    got = bench.margay("--icount", "-n", "2", "--link", "virtio", program)
    for name in CALLS:
        bench.add(f"insn_mpi_{name}_8B", got[name], "instructions",
                  "<= 700" if name == "irecv" else "")
    command = [str(MARGAY), "gdb", "--batch", "--ex",
               f"source {SOURCES.parent / 'steps_mpi.py'}", "-n", "2", "--accel", "tcg", program]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    found = dict(re.findall(r"^(insn_mpi_\w+_8B_(?:user|kernel)) (\d+)$", done.stdout, re.M))
    aims = {f"insn_mpi_{name}_8B_{part}": f"<= {aim}" if part == "user" else ""
            for part in ("user", "kernel") for name, aim in IN_USER_MODE.items()}
    if done.returncode or found.keys() != aims.keys():
        sys.exit(f"bench: {' '.join(command)}\nended with status {done.returncode}\n"
                 f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
    for name, aim in aims.items():
        bench.add(name, float(found[name]), "instructions", aim)


def two(bench: Bench, link: str, *args: str, cpu: int | None = None) -> dict[str, float]:
    return bench.margay("-n", "2", "--link", link, *args, cpu=cpu)


def times(bench: Bench, program: str, link: str) -> None:
    """Half a round trip of 8 bytes, messages per second, and one-sided calls with a flush each."""
    rounds = bench.number(100_000 if link == "shm" else 5_000)
    # Over a card as in cards.py: on one core, and a waiting node halts.
    cpu, wait = (None, "latency") if link == "shm" else (0, "sleep")
    put = two(bench, link, *DIRECT[link], app("put"), wait, rounds, cpu=cpu)["half_rtt_us"]
    own = two(bench, link, *DIRECT[link], program, "latency", "8", rounds, cpu=cpu)["half_rtt_us"]
    bench.add(f"mpi_{link}_send_8B_half_rtt_us", own, "us",
              "<= 2.5 times put" if link == "shm" else "<= 1.2 times put", put)
    if link == "shm":                           # a second aim of the same figure
        bench.add("mpi_shm_send_8B_half_rtt_itself_us", own, "us", "<= 1.5")
    rate = two(bench, link, program, "rate", bench.number(500_000))["per_s"]
    bench.add(f"mpi_{link}_rate_8B_per_s", rate, "1/s", ">= 800000" if link == "shm" else "",
              two(bench, link, app("put"), "rate", bench.number(500_000))["per_s"])
    rounds = bench.number(20_000 if link == "shm" else 2_000)
    got = two(bench, link, *DIRECT[link], program, "rma", rounds, cpu=cpu)
    below = two(bench, link, *DIRECT[link], app("onesided"), rounds, cpu=cpu)
    for name in ("put", "get", "fetch_and_op", "accumulate"):
        bench.add(f"mpi_{link}_rma_{name}_8B_us", got[f"{name}_us"], "us",
                  "<= 2.5 times Portals", below[f"{name}_us"])


def streams(bench: Bench, program: str, link: str) -> None:
    """Bandwidth by size; figure 6 of the Fast Messages paper shows its share of the layer below.
    Over a card in the set-up that is best for both: a core each, and a waiting node halts."""
    way = (*DIRECT[link], *OWN_CORES) if link != "shm" else ()
    asleep = ("asleep",) if link != "shm" else ()
    for size, (count, share) in STREAMS.items():
        count = count if link == "shm" else count // 4
        number = bench.number(count, 64)
        own = two(bench, link, *way, program, "stream", str(size), number)["MBps"]
        put = two(bench, link, *way, app("put"), "stream", str(size), number, *asleep)["MBps"]
        bench.add(f"mpi_{link}_send_MBps_{size}", own, "MB/s",
                  f">= {share} % of put" if share else "",
                  put)


def posted(bench: Bench, program: str) -> None:
    """A message while so many receives are posted, which are matched from the last one on."""
    for n in POSTED:
        rounds = bench.number(max(1, 20_000 // n))
        bench.add(f"mpi_shm_posted_{n}_us",
                  two(bench, "shm", program, "posted", str(n), rounds)["us"], "us", "flat")


def behind(bench: Bench, program: str) -> None:
    """Half a round trip of 8 bytes while so many other receives are posted in front of each."""
    rounds = bench.number(100_000)
    none, many = (two(bench, "shm", program, "latency", "8", rounds, str(n))["half_rtt_us"]
                  for n in BEHIND)
    bench.add(f"mpi_shm_behind_{BEHIND[1]}_half_rtt_us", many, "us", "<= 1.2 times behind_0", none)


def bypass(bench: Bench, program: str) -> None:
    """Figures 5 and 6 of the Portals paper."""
    for link in LINKS:
        for size in BYPASS_SIZES:
            for work in WORK_MS[:2] if bench.quick else WORK_MS:
                got = two(bench, link, *DIRECT[link], program, "bypass", str(size), str(work))
                bench.add(f"mpi_{link}_bypass_{size // 1000}KB_wait_ms_{work}", got["wait_ms"],
                          "ms", "<= 0.1" if work >= 20 else "")


def collectives(bench: Bench, program: str) -> None:
    for n in (2, 4) if bench.quick else (2, 4, 8, 16, 32, 64):
        rounds = bench.number(20_000 if n == 2 else 200, 10)
        got = bench.margay("-n", str(n), program, "collective", rounds)
        bench.add(f"mpi_shm_barrier_{n}_us", got["barrier_us"], "us", "grows with log N")
        bench.add(f"mpi_shm_allreduce8_{n}_us", got["allreduce8_us"], "us", "grows with log N")
