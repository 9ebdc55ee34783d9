#!/usr/bin/python3
"""The table of figures: `make bench`, `make bench ARGS='--group calls'`.

Each figure is measured several times. The table shows the median beside the limit: what the same
guests reached in the same run with bare hardware. Results go to the terminal and to
build/bench.json:

    {"machine", "date", "commit", "command",
     "figures": {NAME: {"median", "min", "max", "unit", "runs", "limit", "aim"}}}

The functions below say how each figure is taken. Benchmarks assert nothing.
"""
from __future__ import annotations

import argparse
import datetime
import json
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cards
import languages
import library
import mpi
import streams
import systems
import tables
from core import BUILD, LINE, MARGAY, TOP, Bench, app, commit, machine, shown

BENCH = Path(__file__).resolve().parent
STREAM_SIZES = {16: 400_000, 256: 400_000, 1024: 400_000, 4096: 200_000,
                65536: 12_800, 1048576: 640}     # bytes: puts per measurement
COPY_SIZES = (4096, 65536, 1048576)
POSTED = (1, 10, 100, 1000, 10000)               # match entries of one portal
POSTED_WILD = (1, 100, 4000, 10000)              # with ignored bits


def shared_memory_latency(bench: Bench) -> None:
    """Half round trips of 8 bytes. The limits: a flag that two kernels poll, and the same with a
    doorbell for a node that halts."""
    for _ in range(bench.runs):
        got = bench.margay("-n", "2", "--selftest", "pingpong", app("put"), "latency", "200000")
        raw = got["pingpong_half_rtt_ps"] / 1e6
        bench.add("shm_raw_half_rtt_us", raw, "us")
        bench.add("shm_put_8B_half_rtt_us", got["half_rtt_us"], "us",
                  "<= 6.5 times raw", raw)
        got = bench.margay("-n", "2", "--selftest", "doorbell", app("put"), "sleep", "10000", cpu=0)
        raw = got["doorbell_half_rtt_ps"] / 1e6
        bench.add("shm_raw_doorbell_half_rtt_us", raw, "us")
        bench.add("shm_put_sleep_8B_half_rtt_us", got["half_rtt_us"], "us",
                  "<= 1.1 times doorbell", raw)


def barrier(bench: Bench) -> None:
    """PtlNIBarrier of 64 nodes, of which all but the last are halted, beside the doorbell's half
    round trip; both on all cores."""
    nodes = 8 if bench.quick else 64
    for _ in range(bench.runs):
        got = bench.margay("-n", "2", "--selftest", "doorbell", app("put"), "sleep", "100")
        doorbell = got["doorbell_half_rtt_ps"] / 1e6
        got = bench.margay("-n", str(nodes), "--mem", "16", app("barrier"), bench.number(500))
        bench.add("shm_barrier_64_asleep_us", got["barrier_us"], "us",
                  f"<= {3 * nodes} times doorbell", doorbell)


def shared_memory_streams(bench: Bench) -> None:
    """Puts, 64 to 512 ahead, the slowest of three placements (tests/bench/put.c); the
    limit is the kernel's copy routine alone between the same two segments."""
    for _ in range(bench.runs):
        for size, count in STREAM_SIZES.items():
            got = bench.margay("-n", "2", "--selftest", "copy", app("put"), "stream",
                               str(size), str(count))
            limit = got[f"copy_MBps_{size}"] if size in COPY_SIZES else None
            if limit is not None:
                bench.add(f"shm_copy_limit_MBps_{size}", limit, "MB/s")
            bench.add(f"shm_put_MBps_{size}", got["MBps"], "MB/s",
                      ">= 85 % of limit" if size >= 65536 else "", limit)
        got = bench.margay("-n", "2", app("put"), "rate", "1000000")
        bench.add("shm_put_rate_8B_per_s", got["per_s"], "1/s", ">= 3000000")
        got = bench.margay("-n", "2", app("put"), "sender", bench.number(400))
        bench.add("shm_put_8B_sender_ns", got["sender_ns"], "ns")


def calls(bench: Bench) -> None:
    """System call time, and instruction counts under icount, which must be equal in all runs."""
    for _ in range(bench.runs):
        got = bench.margay("-n", "1", app("cost"), "syscall")
        bench.add("syscall_ns", got["syscall_ns"], "ns", "<= 100")
    aims = {"insn_eqget_hit": "<= 60", "insn_eqget_miss": "<= 15"}
    for _ in range(2):
        got = bench.margay("-n", "1", "--icount", app("cost"), "instructions")
        for name in ("insn_put_8B_self", "insn_eqget_hit", "insn_eqget_miss"):
            bench.add(name, got[name], "instructions", aims.get(name, ""))
        got = bench.margay("-n", "1", "--icount", app("cost"), "posting", "1")
        bench.add("insn_memdpost", got["insn_memdpost"], "instructions", "<= 450")
        bench.add("insn_post_three_calls", got["insn_post_three_calls"], "instructions")
        got = bench.margay("-n", "1", "--icount", app("cost"), "posting", "1000")
        bench.add("insn_memdpost_1000", got["insn_memdpost"], "instructions", "<= 450")
        got = bench.margay("-n", "1", "--icount", app("cost"), "full")
        bench.add("insn_put_8B_full", got["insn_put_8B_full"], "instructions")
        for kind in ("posted", "ignoring", "mpi"):
            one = None
            for entries in POSTED if kind == "posted" else POSTED_WILD:
                name = f"insn_put_8B_{kind}_{entries}"
                got = bench.margay("-n", "1", "--icount", app("cost"), kind, str(entries))
                one = one or got[name]
                last = entries == POSTED[-1] and kind != "mpi"
                bench.add(name, got[name], "instructions",
                          f"<= 1.2 times {kind}_1" if last else "", one if last else None)


def stepped(*words: str) -> dict[str, float]:
    """A put of tests/bench/cost.c, counted instruction by instruction (tests/bench/steps.py)."""
    steps = TOP / "tests" / "bench" / "steps.py"
    command = [str(MARGAY), "gdb", "--batch", "--ex", f"source {steps}", *words]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    found = re.findall(r"^(insn_put_8B(?:_[a-z]+)?) (\d+)$", done.stdout, re.M)
    if done.returncode or not found:
        sys.exit(f"bench: {' '.join(command)}\nended with status {done.returncode}\n"
                 f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return {name: float(value) for name, value in found}


def division(bench: Bench) -> None:
    """A put to another node: its instructions, the locked ones among them, and their purpose.
    Measured by gdb, because under icount locks between two nodes do not work."""
    for name, value in stepped("-n", "2", "--accel", "tcg", app("cost"), "put").items():
        bench.add(name, value, "instructions", "<= 390" if name == "insn_put_8B" else "")


def upcalls(bench: Bench) -> None:
    """Event handlers: instructions from a put to its handler and back, and half a round trip to
    a handler of another node that computes or sleeps."""
    for _ in range(2):
        got = bench.margay("-n", "1", "--icount", app("upcall"), "instructions")
        for name in ("insn_upcall_to", "insn_upcall_back"):
            bench.add(name, got[name], "instructions")
    for _ in range(bench.runs):
        for how in ("computing", "asleep"):
            got = bench.margay("-n", "2", app("upcall"), how)
            bench.add(f"upcall_{how}_us", got[f"upcall_{how}_us"], "us")


def booting(bench: Bench) -> None:
    """From exec of QEMU to main, as the launcher sees it; the launcher's own time is
    that of `margay run` less the life of its QEMU."""
    for _ in range(2 * bench.runs):
        got = bench.margay("-n", "1", "--no-dir", "--stats", app("empty"))
        bench.add("boot_main_no_dir_ms", got["main_s"] * 1e3, "ms")
        got = bench.margay("-n", "1", "--stats", app("empty"))
        bench.add("boot_main_ms", got["main_s"] * 1e3, "ms", "<= 60")
        bench.add("launcher_ms", (got["wall_s"] - got["qemu_s"]) * 1e3, "ms", "<= 150")
    for _ in range(bench.runs):
        got = bench.margay("-n", "64", "--mem", "32", "--stats", app("empty"))
        bench.add("boot_64_s", got["main_s"], "s", "<= 3")
        bench.add("kernel_bytes_per_node", got["stats_kernel_bytes"], "bytes", "<= 4194304")


def sizes(bench: Bench) -> None:
    """Bytes of hello's file as built, with symbols and line numbers, and of process blocks by
    limits."""
    bench.add("image_bytes", (BUILD / "apps" / "hello.elf").stat().st_size, "bytes", "<= 510000")
    blocks = subprocess.run([str(BUILD / "bench" / "blocks")], capture_output=True, text=True,
                            check=True)
    for line in blocks.stdout.splitlines():
        name, value = line.split()
        bench.add(name, float(value), "bytes")


def peers(bench: Bench) -> None:
    """Kernel memory that a node keeps for a peer that it has sent to, and for seven
    that it has not."""
    got = bench.margay("-n", "2", "--stats", app("put"), "latency", "10")
    bench.add("peer_bytes", got["stats_peer_bytes"], "bytes")
    got = bench.margay("-n", "8", "--stats", app("empty"))
    bench.add("peer_bytes_silent", got["stats_peer_bytes"], "bytes", "0")


def quiet(bench: Bench) -> None:
    """Interrupts that a node counts in a second of computing without messages."""
    for _ in range(bench.runs):
        got = bench.margay("-n", "1", app("quiet"))
        bench.add("quiet_interrupts", got["quiet_interrupts_0"], "interrupts", "0")


def files(bench: Bench) -> None:
    """Files of the host's and in memory, 1 MiB at a time; the limit is cp's on the host, which
    reads and writes the same file, and for opening the same program on the host."""
    mb = bench.number(64)
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder, "program")
        subprocess.run(["gcc", "-O2", "-o", own, BENCH / "files.c"], check=True)
        on_host = f"{folder}/file"
        for _ in range(bench.runs):
            for where, file in (("host", on_host), ("memory", "/tmp/file")):
                got = bench.margay("-n", "1", "--tmp", "80", "--dir", folder, "--stats",
                                   app("files"), "stream", file, mb)
                limit = None
                if where == "host":
                    begin = time.monotonic()
                    subprocess.run(["cp", on_host, f"{folder}/copy"], check=True)
                    limit = int(mb) * (1 << 20) / 1e6 / (time.monotonic() - begin)
                    bench.add("file_host_cp_MBps", limit, "MB/s")
                for name in ("write", "read"):
                    bench.add(f"file_{where}_{name}_MBps", got[f"{name}_MBps"], "MB/s", "", limit)
                bench.add(f"file_{where}_copied_per_byte",
                          got.get("stats_file_bytes_copied", 0) / (2 * int(mb) << 20), "",
                          "0" if where == "host" else "")
                count = bench.number(2000)
                got = bench.margay("-n", "1", "--dir", folder, app("files"), "open", file, count)
                done = subprocess.run([own, "open", on_host, count], capture_output=True, text=True,
                                      check=True)
                limits = dict(line.split() for line in done.stdout.splitlines())
                for name in ("open_close", "stat"):
                    bench.add(f"file_{where}_{name}_per_s", got[f"{name}_per_s"], "1/s", "",
                              float(limits[f"{name}_per_s"]) if where == "host" else None)


GROUPS: tuple[Callable[[Bench], None], ...] = (
    shared_memory_latency, barrier, shared_memory_streams, calls, division, upcalls, booting,
    sizes, languages.languages, mpi.mpi, peers, quiet, files, library.c_library,
    streams.standard_streams, systems.systems,
    *cards.GROUPS)


HEADS = ("figure", "median", "min", "max", "unit", "limit", "aim")
WORDS = ("figure", "unit", "aim")                # the other columns are numbers


def table(rows: dict[str, dict[str, object]], markdown: bool) -> str:
    """The table with columns as wide as their contents: nothing is cut, however long lines are."""
    lines = [HEADS, *((name, *(shown(row[head]) for head in HEADS[1:]))
                      for name, row in rows.items())]
    if markdown:
        return "\n".join(["|" + "|".join(line) + "|" for line in lines[:1]]
                         + ["|" + "---|" * len(HEADS)]
                         + ["|" + "|".join(line) + "|" for line in lines[1:]])
    widths = [max(map(len, column)) for column in zip(*lines)]
    return "\n".join(
        "  ".join(cell.ljust(width) if head in WORDS else cell.rjust(width)
                  for cell, width, head in zip(line, widths, HEADS)).rstrip() for line in lines)


def command(words: list[str]) -> str:
    """The make command for these arguments."""
    quoted = shlex.join(words)
    return f"make bench ARGS={shlex.quote(quoted)}" if words else "make bench"


def joined(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The row of a figure that two runs have measured; the median is the later run's."""
    return {**new, "min": min(old["min"], new["min"]), "max": max(old["max"], new["max"]),
            "runs": old["runs"] + new["runs"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=5, help="measurements of each figure (5)")
    parser.add_argument("--only", default="", help="figures whose name contains this")
    parser.add_argument("--group", action="append", help="only this group of figures; repeat",
                        choices=[group.__name__ for group in (*GROUPS, *cards.ON_REQUEST)])
    parser.add_argument("--link", choices=cards.LINKS, action="append",
                        help="only the figures of these network cards; repeat")
    parser.add_argument("--output", type=Path, default=BUILD / "bench.json",
                        help="where the figures go (build/bench.json)")
    parser.add_argument("--add", action="store_true",
                        help="keep what the file has of other figures")
    parser.add_argument("--quick", action="store_true",
                        help="little of everything: the figures mean nothing")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    options = parser.parse_args()
    bench = Bench(options.runs, options.only, tuple(options.link or cards.LINKS), options.quick)
    for group in (*GROUPS, *cards.ON_REQUEST):
        if group.__name__ not in (options.group or [group.__name__ for group in GROUPS]):
            continue
        print(f"bench: {group.__name__} ...", end=" ", file=sys.stderr, flush=True)
        start = time.monotonic()
        bench.measure_line()
        group(bench)
        bench.measure_line()
        print(f"{time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    rows = {name: figure.row() for name, figure in bench.figures.items()}
    old = json.loads(options.output.read_text()) \
        if options.add and options.output.exists() else {"figures": {}}
    if LINE in rows and LINE in old["figures"]:
        rows[LINE] = joined(old["figures"][LINE], rows[LINE])
    commands = old["command"].split("; ") if "command" in old else []
    report: dict[str, Any] = {
        "machine": machine(), "commit": commit(),
        "command": "; ".join(dict.fromkeys([*commands, command(sys.argv[1:])])),
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "figures": {**old["figures"], **rows}}
    options.output.write_text(json.dumps(report, indent=1) + "\n")
    print(table(rows, options.markdown))
    print(f"{report['machine']}; {report['date']}; commit {report['commit']}")
    noise = tables.unsteady(report["figures"])
    if noise:
        print("bench: make bench-pages will not take these, the machine was not quiet:\n  "
              + "\n  ".join(noise), file=sys.stderr)


if __name__ == "__main__":
    main()
