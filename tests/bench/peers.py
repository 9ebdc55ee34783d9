#!/usr/bin/python3
"""Figures of other systems on the same emulated hardware: `make bench-peers PEERS=DIR`.

DIR holds a run.sh that measures something and prints one line per figure,

    NAME VALUE UNIT # VALUE OF EACH PASS

and perhaps a prepare.sh that installs and builds what it needs. A copy of DIR under build/peers/ is
run, as DIR may be read-only; arguments after DIR are passed to run.sh (ARGS='raw mpich'). Its
figures are printed beside those of the last `make bench` (build/bench.json) and written to
build/peers.json:

    [{"what", "date", "machine", "how", "figures": {NAME: {"value", "unit"}}}]

`--native` measures Debian's MPICH and Open MPI on the host itself as well, or alone
without DIR (tests/bench/native.py): a set of its own.

`--keep` replaces the set of the same name in docs/peers.json, without the figures that no page and
no picture has (MARGINAL); README.md and docs/measurements.md quote that file,
tests/bench/figures.py draws it, and tests/test_peers.py compares them.
"""
from __future__ import annotations

import argparse
import datetime
import filecmp
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import native
from core import BUILD, NATIVE, TOP, BenchError, machine, shown
from mpi import STREAMS, WORK_MS

# Only the median and the minimum of a distribution are kept, and only the wait of bypass.
MARGINAL = re.compile(r"\w+_(mean|p90|p99|max|total|post_\w+|avail_\w+|rank_peak_rss)")
KEPT = TOP / "docs" / "peers.json"
LINE = re.compile(r"([A-Za-z]\w*) (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?) (\S+)(?: #.*)?")
# Rows of the table: our figure, the factor from the peers' unit to ours, and the peers' figures
# with their systems.
ROWS: tuple[tuple[str, float, tuple[tuple[str, str], ...]], ...] = (
    ("virtio_put_8B_half_rtt_us", 1, (("mpich_pp_8B_med", "MPICH"), ("ompi_pp_8B_med", "Open MPI"),
                                      ("raw_eth_8B_med", "frames, asleep"),
                                      ("raw_ethspin_8B_med", "frames, polled"))),
    *((f"virtio_put_MBps_{size}", 1, ((f"mpich_bw_{size}B_med", "MPICH"),
                                      (f"ompi_bw_{size}B_med", "Open MPI"),
                                      (f"raw_tcpstream_{size}B", "TCP")))
      for size in (1024, 4096, 65536, 1048576)),
    *((f"virtio_bypass_{size}KB_wait_ms_{work}", 1e-3,
       ((f"mpich_bypass_{size}000B_work{work}ms_wait_med", "MPICH"),
        (f"ompi_bypass_{size}000B_work{work}ms_wait_med", "Open MPI, eager"),
        (f"ompi_rndv_bypass_{size}000B_work{work}ms_wait_med", "Open MPI, rendezvous")))
      for size in (50, 500) for work in (0, 10, 200)),
    ("boot_main_ms", 1, (("boot_mpich_exec_to_init", "MPICH"), ("boot_ompi_exec_to_init",
                         "Open MPI"), ("boot_raw_exec_to_init", "Linux alone"))),
    *((f"mpi_virtio_send_MBps_{size}", 1, ((f"mpich_bw_{size}B_med", "MPICH"),
                                           (f"ompi_bw_{size}B_med", "Open MPI")))
      for size in (1024, 4096, 16384, 65536, 262144, 1048576)),
    *((f"mpi_virtio_bypass_50KB_wait_ms_{work}", 1e-3,
       ((f"mpich_bypass_50000B_work{work}ms_wait_med", "MPICH"),
        (f"ompi_bypass_50000B_work{work}ms_wait_med", "Open MPI, eager"),
        (f"ompi_rndv_bypass_50000B_work{work}ms_wait_med", "Open MPI, rendezvous")))
      for work in WORK_MS),
    *((f"mpi_shm_send_MBps_{size}", 1, ((f"native_mpich_MBps_{size}", "MPICH on the host itself"),
                                        (f"native_ompi_MBps_{size}", "Open MPI on the host itself")))
      for size in STREAMS),
    *((f"mpi_shm_bypass_50KB_wait_ms_{work}", 1,
       ((f"native_mpich_bypass_50KB_wait_ms_{work}", "MPICH on the host itself"),
        (f"native_ompi_bypass_50KB_wait_ms_{work}", "Open MPI on the host itself")))
      for work in WORK_MS),
    ("shm_put_8B_half_rtt_us", 1, (("host_mpich_pp_8B_med", "MPICH on the host itself"),
                                   ("host_ompi_pp_8B_med", "Open MPI on the host itself"))),
    ("shm_put_MBps_1048576", 1, (("host_mpich_bw_1048576B_med", "MPICH on the host itself"),
                                 ("host_ompi_bw_1048576B_med", "Open MPI on the host itself"))),
)


class PeersError(BenchError):
    """Peers that cannot be measured."""


@dataclass
class Figure:
    value: float
    unit: str


def read_lines(text: str) -> tuple[dict[str, Figure], list[str]]:
    """The figures of a run, and the other lines."""
    figures: dict[str, Figure] = {}
    others = []
    for line in text.splitlines():
        found = LINE.fullmatch(line.strip())
        if found and found.group(1) not in figures:
            figures[found.group(1)] = Figure(float(found.group(2)), found.group(3))
        elif line.strip():
            others.append(line.strip())
    return figures, others


def differs(source: Path, copy: Path) -> bool:
    """Whether a file of the source has changed since the copy was made."""
    return any(not (copy / path.relative_to(source)).is_file() or
               not filecmp.cmp(path, copy / path.relative_to(source), shallow=False)
               for path in source.rglob("*") if path.is_file())


def copied(source: Path, to: Path) -> Path:
    """A copy to work in. Its build results are kept as long as the source is unchanged."""
    if not (source / "run.sh").is_file():
        raise PeersError(f"{source} has no run.sh",
                         "PEERS=DIR names a folder laid out as tests/bench/peers.py says")
    copy = to / source.name
    if copy.exists() and differs(source, copy):
        shutil.rmtree(copy)
    if not copy.exists():
        for path in sorted(source.rglob("*")):
            if path.is_file():
                target = copy / path.relative_to(source)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
                target.chmod(path.stat().st_mode & 0o777 | 0o600)
    return copy


def wanted_packages(prepare: Path) -> list[str]:
    """The Debian packages that a prepare.sh installs."""
    text = prepare.read_text(errors="replace").replace("\\\n", " ") if prepare.is_file() else ""
    return [word for line in re.findall(r"^\s*apt-get install ([^\n;&|]*)", text, re.M)
            for word in line.split() if re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", word)]


def missing_packages(packages: list[str]) -> list[str]:
    if not packages or not shutil.which("dpkg-query"):
        return []
    listed = subprocess.run(["dpkg-query", "-W", "-f=${db:Status-Status} ${Package}\n", *packages],
                            capture_output=True, text=True, check=False).stdout.splitlines()
    return [package for package in packages if f"installed {package}" not in listed]


def prepared(copy: Path) -> bool:
    """Whether the files exist that run.sh tests (`[ -e FILE ]`) before it calls prepare.sh."""
    looked_for = [name for line in (copy / "run.sh").read_text(errors="replace").splitlines()
                  if "prepare.sh" in line for name in re.findall(r"\[ -e (\S+) \]", line)]
    return bool(looked_for) and all((copy / name).exists() for name in looked_for)


def check_needs(copy: Path, source: Path, root: bool) -> None:
    """Raises an error if the run lacks something that only root can install; as root, run.sh
    does so."""
    missing = missing_packages(wanted_packages(copy / "prepare.sh"))
    if root or not (copy / "prepare.sh").is_file():
        return
    if missing:
        raise PeersError("packages are missing that the peers need: " + " ".join(missing),
                         "as root: apt-get install " + " ".join(missing))
    if not prepared(copy):
        raise PeersError(f"{source / 'prepare.sh'} builds the peers as root",
                         f"as root: make bench-peers PEERS={source}")


def run(copy: Path, words: list[str], limit: float) -> dict[str, Figure]:
    """The output of run.sh; its standard error is shown at once."""
    process = subprocess.Popen(["bash", "run.sh", *words], cwd=copy, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, text=True, errors="replace",
                               start_new_session=True)
    try:
        text, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        raise PeersError(f"{copy / 'run.sh'} had not ended after {limit:.0f} s",
                         "give it more time: ARGS='--timeout S'") from None
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)     # with all its children
        except ProcessLookupError:
            pass
        process.wait()
    figures, others = read_lines(text)
    if process.returncode:
        tail = "".join(f"\n    {line}" for line in text.splitlines()[-5:])
        raise PeersError(f"{copy / 'run.sh'} ended with status {process.returncode}{tail}",
                         "what it said stands above; its README tells what it needs; "
                         f"rm -r {copy} makes it begin anew")
    if not figures:
        raise PeersError(f"{copy / 'run.sh'} printed no figure"
                         + (f", but {others[0]!r}" if others else ""),
                         "a figure is a line NAME VALUE UNIT")
    if others:
        print(f"peers: {len(others)} lines are no figures, the first: {others[0]!r}",
              file=sys.stderr)
    return figures


def as_set(what: str, where: str, figures: dict[str, Figure]) -> dict[str, object]:
    return {"what": what, "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
            "machine": where, "how": "measured by make bench-peers",
            "figures": {name: {"value": figure.value, "unit": figure.unit}
                        for name, figure in figures.items()}}


def save(path: Path, new: dict[str, Any]) -> None:
    """Writes the set into the file, in place of the one of the same name."""
    sets = json.loads(path.read_text()) if path.exists() else []
    sets = [old for old in sets if old["what"] != new["what"]] + [new]
    path.write_text(json.dumps(sets, indent=1) + "\n")


def write_set(new: dict[str, Any], keep: bool) -> None:
    """Writes a set to build/peers.json, and its part to be kept to docs/peers.json."""
    save(BUILD / "peers.json", new)
    if not keep:
        return
    kept = {name: figure for name, figure in new["figures"].items()
            if not MARGINAL.fullmatch(name)}
    gone = [name for old in (json.loads(KEPT.read_text()) if KEPT.exists() else [])
            if old["what"] == new["what"] for name in old["figures"] if name not in kept]
    if gone:
        print(f"peers: {KEPT.name} loses what this run did not measure: {', '.join(gone)}",
              file=sys.stderr)
    save(KEPT, {**new, "figures": kept})


def ours() -> dict[str, dict[str, object]]:
    path = BUILD / "bench.json"
    return json.loads(path.read_text())["figures"] if path.exists() else {}


def beside(figures: dict[str, Figure], own: dict[str, dict[str, object]]) -> list[list[str]]:
    """Rows of the table: our figure, its median, and the peers' figures."""
    rows = []
    for name, factor, peers in ROWS:
        found = "; ".join(f"{what} {shown(figures[peer].value * factor)}"
                          for peer, what in peers if peer in figures)
        if found:
            value = own.get(name, {}).get("median")
            rows.append([name, shown(value) if value is not None else "-", found])
    return rows


def show(figures: dict[str, Figure], own: dict[str, dict[str, object]]) -> None:
    for name, figure in figures.items():
        print(f"{name} {figure.value:g} {figure.unit}")
    rows = beside(figures, own)
    if rows:
        width = max(len(row[0]) for row in rows)
        print(f"\n{'figure':{width}}  {'margay':>10}  peers")
        for name, value, found in rows:
            print(f"{name:{width}}  {value:>10}  {found}")
    if rows and not own:
        print("peers: no figures of our own: make bench measures them", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", help="where run.sh is")
    parser.add_argument("words", nargs="*", help="arguments of run.sh")
    parser.add_argument("--native", action="store_true",
                        help="Debian's MPICH and Open MPI on the host itself too")
    parser.add_argument("--passes", type=int, default=3, help="of --native (3)")
    parser.add_argument("--keep", action="store_true", help="write docs/peers.json too")
    parser.add_argument("--timeout", type=float, default=7200, help="seconds (7200)")
    options = parser.parse_intermixed_args()
    if options.native:
        figures = {name: Figure(*figure) for name, figure in native.measure(options.passes).items()}
        write_set({**as_set(NATIVE, native.machine(), figures),
                   "how": "measured by make bench-peers ARGS=--native"}, options.keep)
        show(figures, ours())
    if options.folder:
        guests(options)
    elif not options.native:
        raise PeersError("no folder is named",
                         "make bench-peers PEERS=DIR, or ARGS=--native for MPI on this host")


def guests(options: argparse.Namespace) -> None:
    folder = options.folder.resolve()
    if not folder.is_dir():
        raise PeersError(f"{options.folder} is no folder", "make bench-peers PEERS=DIR")
    copy = copied(folder, BUILD / "peers")
    check_needs(copy, folder, os.geteuid() == 0)
    figures = run(copy, options.words, options.timeout)
    write_set(as_set(folder.name, machine(), figures), options.keep)
    show(figures, ours())


if __name__ == "__main__":
    try:
        main()
    except BenchError as error:
        sys.exit(f"peers: {error.args[0]}\npeers: {error.args[1]}")
