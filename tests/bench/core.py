"""Shared by the benchmarks: figures, running a job, and a machine's name."""
from __future__ import annotations

import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
BUILD = TOP / "build"
MARGAY = TOP / "tools" / "margay"
LINE = "host_line_ns"
NATIVE = "native"     # the set in docs/peers.json that is measured on the host itself


class BenchError(Exception):
    """An error: the first argument names the cause, the second the cure."""


@dataclass
class Figure:
    """Samples of one figure. `aim` is as in the table; `limit` is a median."""
    unit: str
    aim: str = ""
    samples: list[float] = field(default_factory=list)
    limits: list[float] = field(default_factory=list)

    def row(self) -> dict[str, object]:
        return {"median": statistics.median(self.samples), "min": min(self.samples),
                "max": max(self.samples), "unit": self.unit, "runs": len(self.samples),
                "limit": statistics.median(self.limits) if self.limits else None,
                "aim": self.aim or None}


# `<= 60`, `>= 90 % of raw`, `<= 2.5 times put`, `>= 150000 and raw`, `0`.
AIM = re.compile(r"(<=|>=|(?=0$)) ?([\d.]+)( %| times)?( of \w+| \w+)?( and \w+)?")


class Bench:
    """Collects the figures; runs margay and reads its NAME VALUE lines."""

    def __init__(self, runs: int, only: str, links: tuple[str, ...] = (),
                 quick: bool = False) -> None:
        self.runs = runs
        self.only = only
        self.links = links        # of network cards
        self.quick = quick        # short runs, only to test the benchmarks
        self.figures: dict[str, Figure] = {}

    def add(self, name: str, value: float, unit: str, aim: str = "",
            limit: float | None = None) -> None:
        """`aim`: as in AIM, or words."""
        if AIM.fullmatch(aim) is None and re.search(r"^[\d<>]", aim):
            raise BenchError(f"{name}: '{aim}' is no aim: a sign, a number, and of what")
        if self.only not in name:
            return
        figure = self.figures.setdefault(name, Figure(unit, aim))
        figure.samples.append(value)
        if limit is not None:
            figure.limits.append(limit)

    def measure_line(self) -> None:
        """How near the first two processors are to each other at this moment: a cache line's way
        there and back. `only` does not leave it out."""
        done = subprocess.run([BUILD / "bench" / "line"], stdout=subprocess.PIPE, text=True,
                              check=False)
        if done.returncode == 0:
            self.figures.setdefault(LINE, Figure("ns")).samples.append(float(done.stdout.split()[1]))

    def number(self, n: int, least: int = 1) -> str:
        """Repetitions in one measurement."""
        return str(max(least, n // 50 if self.quick else n))

    def margay(self, *args: str, cpu: int | None = None) -> dict[str, float]:
        """Runs a job. Returns its figures, and the report of --json as json_*."""
        with tempfile.TemporaryDirectory() as folder:
            outcome = Path(folder, "run.json")
            command = [str(MARGAY), "run", "--accel", "tcg", "--no-prefix", "--timeout", "300",
                       "--json", str(outcome), *args]
            if cpu is not None:
                command = ["taskset", "-c", str(cpu), *command]
            before = time.monotonic()
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            wall = time.monotonic() - before
            if done.returncode != 0:
                sys.exit(f"bench: {' '.join(command)}\nended with status {done.returncode}\n"
                         f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
            values = {"wall_s": wall}
            for line in done.stdout.splitlines():
                name, _, value = line.partition(" ")
                values[name] = float(value)
            report = json.loads(outcome.read_text())
            values["qemu_s"] = report["qemu_s"]
            values["main_s"] = report["all_in_main_s"]
            values["nodes_main_ms"] = max(rank["main_ms"] for rank in report["ranks"])
            for rank in report["ranks"]:
                for name, value in (rank.get("stats") or {}).items():
                    values[f"stats_{name}"] = values[f"stats{rank['rank']}_{name}"] = float(value)
            return values


def app(name: str) -> str:
    return str(BUILD / "bench" / f"{name}.elf")


def processors() -> str:
    model = next((line.partition(":")[2].strip() for line in
                  Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.machine())
    return f"{os.cpu_count()} x {model}"


def machine() -> str:
    qemu = subprocess.run(["qemu-system-x86_64", "--version"], capture_output=True, text=True,
                          check=False).stdout.split("\n")[0]
    return f"{processors()}; {qemu}, TCG"


def commit() -> str:
    done = subprocess.run(["git", "-C", str(TOP), "describe", "--always", "--dirty"],
                          capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def shown(value: object) -> str:
    """A figure with at least three digits, but no meaningless ones."""
    if not isinstance(value, float):
        return "" if value is None else f"{value}"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
