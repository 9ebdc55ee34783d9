"""MPI on the host itself, the limit of MPI between nodes: `make bench-peers ARGS=--native`.

Debian's MPICH and Open MPI each compile tests/bench/programs/mpi.c, the program that
tests/bench/mpi.py runs on nodes, and their mpiexec starts two processes of it, which reach each
other through the host's shared memory. The only options are those needed to start as root and on
few processors. One measurement is one start; figures are medians over the passes:

    native_MPI_8B_half_rtt_us, native_MPI_MBps_SIZE, native_MPI_bypass_SIZEKB_wait_ms_WORK

MPI is `mpich` or `ompi`.
"""
from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

from core import BenchError, processors
from mpi import BYPASS_SIZES, SOURCES, STREAMS, WORK_MS

# Debian's names: the suffix of the commands, and the packages.
COMMANDS = {"mpich": "mpich", "ompi": "openmpi"}
PACKAGES = ("mpich", "libmpich-dev", "openmpi-bin", "libopenmpi-dev")
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1"}
ROUNDS = 100_000
MOST_S = 120                                     # a start that takes longer hangs
Figures = dict[str, tuple[float, str]]


def missing() -> list[str]:
    """Commands that are not installed."""
    return [command for ending in COMMANDS.values()
            for command in (f"mpicc.{ending}", f"mpiexec.{ending}") if not shutil.which(command)]


def machine() -> str:
    """The processors, and the version of each MPI."""
    done = subprocess.run(["dpkg-query", "-W", "-f=${Package} ${Version}, ", "mpich",
                           "openmpi-bin"], capture_output=True, text=True, check=False)
    return f"{processors()}; {done.stdout.rstrip(', ') or 'versions unknown'}"


def built(folder: Path, mpi: str) -> Path:
    program = folder / mpi
    command = [f"mpicc.{COMMANDS[mpi]}", "-O2", "-Wno-stringop-overflow", str(SOURCES / "mpi.c"),
               "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchError(f"{' '.join(command)} failed:\n{done.stderr[-1000:]}",
                         "reinstall the compiler's packages: apt-get install --reinstall "
                         + " ".join(PACKAGES))
    return program


def run(mpi: str, program: Path, *words: str) -> dict[str, float]:
    """Runs two processes; returns the figures that rank 0 prints as NAME VALUE."""
    command = [f"mpiexec.{COMMANDS[mpi]}", "-n", "2", str(program), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=MOST_S,
                              env={**os.environ, **ENVIRONMENT}, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise BenchError(f"{' '.join(command)} had not ended after {MOST_S} s",
                         "run it by hand to see where it hangs") from None
    got = {}
    for line in done.stdout.splitlines():
        name, _, value = line.partition(" ")
        try:
            got[name] = float(value)
        except ValueError:
            continue                             # output of the launcher
    if done.returncode or not got:
        raise BenchError(f"{' '.join(command)} ended with status {done.returncode}\n"
                         f"{(done.stdout + done.stderr)[-1000:]}",
                         "run it by hand to see why")
    return got


def one_pass(mpi: str, program: Path) -> Figures:
    got: Figures = {f"native_{mpi}_8B_half_rtt_us":
                    (run(mpi, program, "latency", "8", str(ROUNDS))["half_rtt_us"], "us")}
    for size, (count, _) in STREAMS.items():
        rate = run(mpi, program, "stream", str(size), str(count))["MBps"]
        got[f"native_{mpi}_MBps_{size}"] = rate, "MB/s"
    for size in BYPASS_SIZES:
        for work in WORK_MS:
            wait = run(mpi, program, "bypass", str(size), str(work))["wait_ms"]
            got[f"native_{mpi}_bypass_{size // 1000}KB_wait_ms_{work}"] = wait, "ms"
    return got


def measure(passes: int) -> Figures:
    """All figures, the passes of the two in turn."""
    absent = missing()
    if absent:
        raise BenchError(f"not installed: {', '.join(absent)}",
                         "as root: apt-get install " + " ".join(PACKAGES))
    with tempfile.TemporaryDirectory() as folder:
        programs = {mpi: built(Path(folder), mpi) for mpi in COMMANDS}
        samples: dict[str, list[float]] = {}
        units: dict[str, str] = {}
        for _ in range(passes):
            for mpi, program in programs.items():
                for name, (value, unit) in one_pass(mpi, program).items():
                    samples.setdefault(name, []).append(value)
                    units[name] = unit
    return {name: (statistics.median(values), units[name]) for name, values in samples.items()}
