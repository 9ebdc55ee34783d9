"""The groups of figures over network cards, for each LINK in virtio, e1000 and e1000e.

Each puts a limit beside its figures: frames of the same cards in the same machine with nothing
above the driver (kernel/selftest/selftest_frames.c, selftest_incast.c), taken in the same boot,
before the application starts. Each uses the set-up that is best for raw frames
(docs/measurements.md): two nodes joined directly, everything on one core for latency, each node on
a core of its own for streams; the switch only where there are more than two nodes or faults.
"""
from __future__ import annotations

import re
import subprocess
import sys

from core import MARGAY, TOP, Bench, app

LINKS = ("virtio", "e1000", "e1000e")
SIZES = (1024, 4096, 65536, 1048576)
LOSSES = ("0", "0.1", "1", "5")                  # per cent
BYPASS_SIZES = (50, 500)                         # KB
WORKS = (0, 1, 2, 5, 10, 20, 50, 100, 200)       # ms
COVERED = 50                                     # ms of work, enough to cover the transfer
INCAST_BYTES = 65536
CONTROLS = ("interrupt", "poll", "watchdog")
OWN_CORES = ("--bind-to", "core")
E1000E_LONGEST = (9230, 32960)                   # bytes: a real card's, what the launcher passes
PLACES = ("one core", "two cores", "a core each")


def pair(link: str, *more: str) -> tuple[str, ...]:
    return ("-n", "2", "--link", link, "--direct", *more)


def link_latency(bench: Bench) -> None:
    """Half round trips of 8 bytes, where a waiting rank halts, beside raw ones of 64 bytes. Puts
    of 1 KiB, each started when the memory of the one before is free."""
    for _ in range(bench.runs):
        for link in bench.links:
            got = bench.margay(*pair(link, "--selftest", "framehalves"), app("put"), "sleep",
                               bench.number(10000), cpu=0)
            raw = got[f"{link}_raw_half_rtt_us"]
            bench.add(f"{link}_raw_half_rtt_us", raw, "us")
            bench.add(f"{link}_put_8B_half_rtt_us", got["half_rtt_us"], "us", "<= 1.25 times raw",
                      raw)
            got = bench.margay(*pair(link), app("put"), "blocking", "1024", bench.number(5000),
                               cpu=0)
            bench.add(f"{link}_put_1024B_blocking_us", got["blocking_us"], "us")


# For each size of message, the raw frames from as much memory. If the card places long messages,
# the limit is the better of frames that it places and plain frames; else frames with one copy.
MEMORY = {65536: "64K_", 1048576: ""}
LIMITS = {"virtio": ("", "bulk_"), "e1000": ("copied_",), "e1000e": ("copied_",)}
COPIED_AIMS = {65536: "88 % of raw_copied", 1048576: "93 % of raw_copied"}


def link_streams(bench: Bench) -> None:
    """Streams of puts, with as many unconfirmed bytes as for raw frames, in the slowest of three
    placements; and puts of 8 bytes, each with an event that the target takes. The limit for 64
    KiB and 1 MiB is the fastest of three sizes of raw frames, from and to as much memory as a
    put touches; over virtio also frames that a second card places, over the others frames that
    the receiver copies once. The limit for the rate is frames of 64 bytes."""
    for _ in range(bench.runs):
        for link in bench.links:
            got = bench.margay(*pair(link, *OWN_CORES, "--selftest", "framestreams"), app("put"),
                               "streams", bench.number(100_000_000), "asleep")
            raw: dict[str, float] = {}
            for name, value in got.items():
                found = re.fullmatch(rf"{link}_raw_((?:64K_)?(?:copied_|bulk_)?)MBps_\d+", name)
                if found:
                    raw[found[1]] = max(raw.get(found[1], 0), value)
            for way, value in raw.items():
                bench.add(f"{link}_raw_{way}MBps", value, "MB/s")
            for size in SIZES:
                memory = MEMORY.get(size)
                limit = max(raw[memory + way] for way in LIMITS[link]) \
                    if memory is not None else None
                aim = "90 % of raw" if link == "virtio" else COPIED_AIMS.get(size)
                bench.add(f"{link}_put_MBps_{size}", got[f"MBps_{size}"], "MB/s",
                          f">= {aim}" if limit else "", limit)
            raw_rate = got[f"{link}_raw_rate_per_s"]
            got = bench.margay(*pair(link, *OWN_CORES), app("put"), "rate", bench.number(200_000),
                               "asleep")
            bench.add(f"{link}_raw_rate_per_s", raw_rate, "1/s")
            bench.add(f"{link}_put_rate_8B_per_s", got["per_s"], "1/s",
                      ">= 150000 and raw" if link == "virtio" else "", raw_rate)


def link_long_frames(bench: Bench) -> None:
    """e1000e with the longest frames of a real card and with those under QEMU, in turns."""
    for _ in range(bench.runs if "e1000e" in bench.links else 0):
        got = {longest: bench.margay(*pair("e1000e", *OWN_CORES, "--kernel", f"longest={longest}"),
                                     app("put"), "streams", bench.number(100_000_000), "asleep")
               for longest in E1000E_LONGEST}
        for size in (65536, 1048576):
            board, emulated = (got[longest][f"MBps_{size}"] for longest in E1000E_LONGEST)
            bench.add(f"e1000e_put_MBps_{size}_board_frames", board, "MB/s")
            bench.add(f"e1000e_put_MBps_{size}_long_frames", emulated, "MB/s",
                      ">= 1.3 times board_frames", board)


def link_copies(bench: Bench) -> None:
    """Bytes copied by a processor per byte sent or received in messages of 1 MiB; memory kept
    for a peer, and for seven to which nothing was sent."""
    for link in bench.links:
        got = bench.margay(*pair(link, "--stats"), app("put"), "stream", "1048576",
                           bench.number(100))
        bench.add(f"{link}_peer_bytes", got["stats0_peer_bytes"], "bytes", "<= 256")
        bench.add(f"{link}_copied_tx_per_byte", got["stats0_copied_out"] / got["stats0_bytes_out"],
                  "", "0")
        bench.add(f"{link}_copied_rx_per_byte", got["stats1_copied_in"] / got["stats1_bytes_in"],
                  "", "<= 0.02" if link == "virtio" else "<= 1")
        got = bench.margay("-n", "8", "--link", link, "--stats", app("empty"))
        bench.add(f"{link}_peer_bytes_silent", got["stats_peer_bytes"], "bytes", "0")


def link_losses(bench: Bench) -> None:
    """Streams of 1 MiB through a switch that loses frames; the limit is a stream without losses."""
    for run in range(bench.runs):
        whole = 0.0
        for loss in LOSSES if not bench.quick else LOSSES[1:3]:
            faults = () if loss == "0" else ("--faults", f"loss={loss}%,seed={run + 1}")
            got = bench.margay("-n", "2", "--link", "virtio", *faults, app("put"), "stream",
                               "1048576", bench.number(100), "asleep")
            whole = whole or got["MBps"]
            bench.add(f"virtio_put_MBps_1048576_loss_{loss}", got["MBps"], "MB/s",
                      ">= 85 % of lossless" if loss == "1" else "", whole)


def link_incast(bench: Bench) -> None:
    """15 nodes put 64 KiB to one repeatedly, after a warm-up. The limit: raw frames to it
    before, as many in flight from each as its card's ring holds."""
    for _ in range(bench.runs):
        got = bench.margay("-n", "16", "--link", "virtio", "--selftest", "incast", app("incast"),
                           str(INCAST_BYTES), bench.number(800, least=8))
        raw = got["virtio_raw_incast_MBps"]
        bench.add("virtio_raw_incast15_MBps", raw, "MB/s")
        bench.add("virtio_raw_incast15_lost", got["virtio_raw_incast_lost"], "frames")
        bench.add("virtio_incast15_MBps", got["MBps"], "MB/s", ">= 80 % of raw", raw)
        bench.add("virtio_incast15_slowest_share", got["slowest_share"], "")


def link_bypass(bench: Bench) -> None:
    """Section 5.3 of the Portals paper with puts, ten each way (tests/bench/bypass.c)."""
    works = [str(work) for work in (WORKS if not bench.quick else WORKS[:2])]
    for link in bench.links:
        for size in BYPASS_SIZES:
            got = bench.margay(*pair(link), app("bypass"), str(size * 1000),
                               str(max(1, 4 * bench.runs)), *works)
            for work in works:
                name = f"{link}_bypass_{size}KB"
                bench.add(f"{name}_wait_ms_{work}", got[f"wait_{work}"], "ms",
                          "<= 0.1" if int(work) >= COVERED else "")
                bench.add(f"{name}_post_ms_{work}", got[f"post_{work}"], "ms")
                bench.add(f"{name}_extra_ms_{work}", got[f"extra_{work}"], "ms")


def interrupts_per_put(got: dict[str, float]) -> float:
    """Interrupts of rank 1 per message of rank 0."""
    return (got["stats1_card_interrupts"] + got["stats1_timer"]) / got["stats0_messages"]


def link_controls(bench: Bench) -> None:
    """The three ways of control (docs/machine.md): latency; the wait that remains for ten
    messages of 50 KB each way after 20 ms of work; a stream of 1 KiB; the target's interrupts of
    the card and of the timer per message of these two; and its interrupts in a second without
    messages."""
    for _ in range(bench.runs):
        for control in CONTROLS if not bench.quick else CONTROLS[2:]:
            way = pair("virtio", "--control", control)
            got = bench.margay(*way, app("put"), "sleep", bench.number(5000), cpu=0)
            bench.add(f"virtio_{control}_put_8B_half_rtt_us", got["half_rtt_us"], "us")
            got = bench.margay(*way, "--stats", app("bypass"), "50000", "5", "20")
            bench.add(f"virtio_{control}_bypass_50KB_wait_ms_20", got["wait_20"], "ms")
            bench.add(f"virtio_{control}_bypass_50KB_extra_ms_20", got["extra_20"], "ms")
            bench.add(f"virtio_{control}_bypass_50KB_interrupts_per_put",
                      interrupts_per_put(got), "")
            got = bench.margay(*way, "--stats", app("put"), "stream", "1024",
                               bench.number(20000), "asleep")
            bench.add(f"virtio_{control}_put_MBps_1024", got["MBps"], "MB/s")
            bench.add(f"virtio_{control}_interrupts_per_put", interrupts_per_put(got), "")
            got = bench.margay(*way, app("quiet"))
            bench.add(f"virtio_{control}_quiet_interrupts",
                      max(got["quiet_interrupts_0"], got["quiet_interrupts_1"]), "interrupts", "0")


def far_division(bench: Bench) -> None:
    """Instructions of a put to another node and of its arrival: without the driver's, by
    purpose, stepped by gdb (tests/bench/steps_far.py); and with the driver's, counted by two
    nodes under icount (tests/bench/far.c)."""
    steps = TOP / "tests" / "bench" / "steps_far.py"
    command = [str(MARGAY), "gdb", "--batch", "--ex", f"python ROUNDS = {1 if bench.quick else 3}",
               "--ex", f"source {steps}", *pair("virtio"), "--accel", "tcg", app("far")]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    found = re.findall(r"^(insn_[rt]x_\w+) (\d+)$", done.stdout, re.M)
    if done.returncode or not found:
        sys.exit(f"bench: {' '.join(command)}\nended with status {done.returncode}\n"
                 f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
    got = bench.margay(*pair("virtio", "--icount", "--control", "poll"), app("far"), "arrivals")
    found += [(name, got[name]) for name in ("insn_put_far", "insn_arrival_far")]
    aims = {"insn_tx_8B": "<= 400", "insn_rx_8B": "<= 510"}
    for name, value in found:
        bench.add(name, float(value), "instructions", aims.get(name, ""))


def setups(bench: Bench) -> None:
    """Raw frames of each link for each way to join and to place two nodes. The other groups take
    the best set-up of these. Measured only if named."""
    for _ in range(bench.runs):
        for link in bench.links:
            for way in ("direct", "switch"):
                for place in PLACES:
                    got = bench.margay("-n", "2", "--link", link, "--selftest", "frames",
                                       *(("--direct",) if way == "direct" else ()),
                                       *(OWN_CORES if place == "a core each" else ()),
                                       app("empty"), cpu=0 if place == "one core" else None)
                    for name, value in got.items():
                        if name.startswith(f"{link}_raw_"):
                            unit = "us" if "rtt" in name else "1/s" if "rate" in name else "MB/s"
                            bench.add(f"{name}_{way}_{place.replace(' ', '_')}", value,
                                      "frames" if "lost" in name else unit)


GROUPS = (link_latency, link_streams, link_long_frames, link_copies, link_losses, link_incast,
          link_bypass, link_controls, far_division)
ON_REQUEST = (setups,)
