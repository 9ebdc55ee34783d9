#!/usr/bin/python3
"""Writes the figures of build/bench.json, and those of docs/peers.json, into the pages that
quote them: `make bench-pages`.

A page has places

    <!-- figures: NAME -->
    (what stands here is replaced)
    <!-- end of figures -->

NAME is a key of TABLES or PEER_TABLES below, or `front`, the README's. A figure that was not
measured is left out; a place whose table would be empty is not changed.

Nothing is written unless the machine was quiet: each raw figure (the limit of another one) must
have spread by less than 10 % from run to run.
"""
from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

from core import AIM, BUILD, LINE, NATIVE, TOP, shown
from cards import BYPASS_SIZES, CONTROLS, LINKS, LOSSES, PLACES, SIZES, WORKS

KEPT_PEERS = TOP / "docs" / "peers.json"
PAGES = (TOP / "README.md", TOP / "docs" / "measurements.md")
PLACE = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end of figures -->)", re.S)
Figures = dict[str, dict]

LINK_ROWS = ("raw_half_rtt_us", "put_8B_half_rtt_us", "put_1024B_blocking_us",
             *(f"raw_{memory}{way}MBps" for memory in ("64K_", "")
               for way in ("", "copied_", "bulk_")),
             *(f"put_MBps_{size}" for size in SIZES), "raw_rate_per_s",
             "put_rate_8B_per_s", "copied_tx_per_byte", "copied_rx_per_byte", "peer_bytes",
             "peer_bytes_silent")
# The README's table: description, our figure, the peers' figure, and the divisor of the latter.
FRONT = (
    ("Portals put of 8 bytes, half a round trip over shared memory, us",
     "shm_put_8B_half_rtt_us", "", 1),
    ("the same over virtio-net, both ranks halted, us", "virtio_put_8B_half_rtt_us", "", 1),
    ("Portals puts of 1 MiB over virtio-net, MB/s", "virtio_put_MBps_1048576", "", 1),
    ("MPI, 8 bytes, half a round trip over virtio-net, us",
     "mpi_virtio_send_8B_half_rtt_us", "mpich_pp_8B_med", 1),
    ("MPI, messages of 1 MiB over virtio-net, MB/s",
     "mpi_virtio_send_MBps_1048576", "mpich_bw_1048576B_med", 1),
    ("MPI, left to wait for ten messages of 50 KB each way after 200 ms of work, ms",
     "mpi_virtio_bypass_50KB_wait_ms_200", "mpich_bypass_50000B_work200ms_wait_med", 1000),
)
# The table of aims has every figure with an aim and some without, except redundant ones.
WITHOUT_AIM = ("shm_put_MBps_1024", "virtio_put_MBps_1048576_loss_0",
               "virtio_bypass_50KB_wait_ms_0")
ONCE_MORE = re.compile(r"\w+_wait_ms_(50|100)|virtio_\w+_quiet_interrupts|e1000e?_peer_bytes.*|"
                       r"e1000e?_copied_tx.*|virtio_peer_bytes_silent")
OVER_CARDS = re.compile(r"(virtio|e1000e?|insn_[rt]x|insn_put_far|insn_arrival_far)_?")
# Limits, except the raw figures of set-ups, which are only compared with each other.
RAW = re.compile(r"\w+?_raw_\w+|shm_copy_limit_\w+")
OF_SETUPS = re.compile(rf"\w+_(direct|switch)_({'|'.join(PLACES).replace(' ', '_')})")
MOST_SPREAD = 0.1
MOST_APART = 3         # longest and shortest way of a cache line: 54 to 90 ns near, 340 to 400 far
PUT_SHARES = {
    "syscall": "the library's stub, `syscall`, entry and return, arguments",
    "access": "lock, handles, the target's view, access control",
    "match": "match entry, descriptor, threshold and offset",
    "copy": "checking the range, moving the bytes",
    "unlink": "threshold, pins",
    "event": "one event of 144 bytes",
    "doorbell": "whether a waiter must be woken",
    "record": "a message of at most 64 bytes needs no operation record",
    "header": "the message's header, counters, what an event is made from",
}


def markdown(heads: list[str], rows: list[list[str]]) -> str:
    lines = ["|" + "|".join(heads) + "|", "|" + "---|" * len(heads)]
    return "\n".join(lines + ["|" + "|".join(row) + "|" for row in rows]) + "\n"


def spread(figure: dict | None) -> str:
    """The median, and the smallest and the largest unless all are the same."""
    if figure is None:
        return ""
    if figure["min"] == figure["max"]:
        return shown(figure["median"])
    return f"{shown(figure['median'])} ({shown(figure['min'])} to {shown(figure['max'])})"


def met(figure: dict) -> bool | None:
    """Whether the median reaches its aim (`<= 60`, `>= 90 % of raw`, `0`); None: it has none."""
    found = AIM.fullmatch(figure["aim"] or "")
    if not found:
        return None
    sign, number, relative, _, and_limit = found.groups()
    bound = float(number)
    if relative:
        bound *= figure["limit"] * (0.01 if relative == " %" else 1)
    if and_limit:
        bound = max(bound, figure["limit"])
    value = figure["median"]
    return value <= bound if sign == "<=" else value >= bound if sign else value == bound


def unsteady(figures: Figures) -> list[str]:
    """Reasons why the figures are unreliable: a line for each raw figure that spreads by 10 % or
    more of its median, or was measured only once; and one if the host has moved its processors.
    Lost frames are counts, so they are exempt."""
    raw = {name: figure for name, figure in figures.items()
           if RAW.fullmatch(name) and not OF_SETUPS.fullmatch(name) and figure["unit"] != "frames"}
    if not raw:
        return ["no raw figure was measured"]
    lines = []
    line = figures.get(LINE)
    if line and line["max"] > MOST_APART * line["min"]:
        lines.append(f"the two processors were near each other and far apart in turns: "
                     f"{LINE} was {spread(line)}")
    for name, figure in raw.items():
        spread_of_it = figure["max"] - figure["min"]
        if figure["runs"] < 2:
            lines.append(f"{name} was measured once")
        elif not spread_of_it < MOST_SPREAD * figure["median"]:
            lines.append(f"{name} was {spread(figure)} {figure['unit']}")
    return lines


def front(figures: Figures, others: Figures) -> str:
    """The README's few figures, each with its limit and MPICH's figure on Linux guests."""
    rows = []
    for what, name, peer, unit in FRONT:
        if name in figures:
            theirs = shown(others[peer]["value"] / unit) if peer in others else ""
            rows.append([what, shown(figures[name]["median"]), shown(figures[name]["limit"]),
                         theirs])
    return markdown(["figure", "Margay", "limit", "MPICH on Linux guests"], rows) if rows else ""


def aims(figures: Figures) -> str:
    heads = ["figure", "median", "unit", "limit", "aim"]
    rows = [[name, *(shown(figure[head]) for head in heads[1:]),
             {True: "yes", False: "**no**", None: ""}[met(figure)]]
            for name, figure in figures.items()
            if name in WITHOUT_AIM or (met(figure) is not None and not ONCE_MORE.fullmatch(name))]
    return markdown([*heads, "met"], rows) if rows else ""


def memory(figures: Figures) -> str:
    """All figures without network cards."""
    rows = [[name, spread(figure), figure["unit"], shown(figure["limit"])]
            for name, figure in figures.items() if not OVER_CARDS.match(name)]
    return markdown(["figure", "median (smallest to largest)", "unit", "limit"], rows) \
        if rows else ""


def put_division(figures: Figures) -> str:
    """The instructions of a put to another node by purpose."""
    rows = [[share, shown(figures[f"insn_put_8B_{share}"]["median"]), what]
            for share, what in PUT_SHARES.items() if f"insn_put_8B_{share}" in figures]
    return markdown(["share", "instructions", "what"], rows) if rows else ""


def links(figures: Figures) -> str:
    rows = [[row, *(spread(figures.get(f"{link}_{row}")) for link in LINKS)] for row in LINK_ROWS]
    rows = [row for row in rows if any(row[1:])]
    return markdown(["figure", *LINKS], rows) if rows else ""


def one_link(figures: Figures) -> str:
    """Losses and incast, over virtio."""
    names = [*(f"virtio_put_MBps_1048576_loss_{loss}" for loss in LOSSES),
             "virtio_raw_incast15_MBps", "virtio_incast15_MBps", "virtio_incast15_slowest_share"]
    rows = [[name, spread(figures[name]), figures[name]["unit"]]
            for name in names if name in figures]
    return markdown(["figure", "median (smallest to largest)", "unit"], rows) if rows else ""


def bypass(figures: Figures) -> str:
    """A row for each duration of work: wait, time to post, and the total minus the work, in ms."""
    columns = [f"{link}_bypass_{size}KB" for link in LINKS for size in BYPASS_SIZES]
    rows = []
    for work in WORKS:
        cells = []
        for column in columns:
            found = [figures.get(f"{column}_{what}_ms_{work}") for what in ("wait", "post", "extra")]
            cells.append(", ".join(f"{figure['median']:.2f}" for figure in found if figure))
        if any(cells):
            rows.append([str(work), *cells])
    heads = ["work, ms", *(column.replace("_bypass_", ", ") for column in columns)]
    return markdown(heads, rows) if rows else ""


def controls(figures: Figures) -> str:
    found = [name.removeprefix(f"virtio_{CONTROLS[0]}_") for name in figures
             if name.startswith(f"virtio_{CONTROLS[0]}_")]
    rows = [[row, *(spread(figures.get(f"virtio_{control}_{row}")) for control in CONTROLS)]
            for row in found]
    return markdown(["figure", *CONTROLS], rows) if rows else ""


def division(figures: Figures) -> str:
    """Rows: shares; columns: a put's sending, its arrival, and that of an acknowledgement."""
    ways = ("insn_tx_8B", "insn_rx_8B", "insn_rx_ack")
    whole = {"insn_tx_8B": "insn_put_far", "insn_rx_8B": "insn_arrival_far"}
    shares = ["", *dict.fromkeys(name.removeprefix(f"{way}_") for way in ways for name in figures
                                 if name.startswith(f"{way}_"))]
    rows = []
    for share in shares:
        cells = [figures.get(f"{way}_{share}" if share else way) for way in ways]
        if any(cells):
            rows.append([share or "all but the driver",
                         *(shown(cell["median"]) if cell else "" for cell in cells)])
    cells = [figures.get(whole.get(way, "")) for way in ways]
    if any(cells):
        rows.append(["counted under icount, with the driver",
                     *(shown(cell["median"]) if cell else "" for cell in cells)])
    return markdown(["share", "put (tx)", "arrival (rx)", "acknowledgement (rx)"], rows) \
        if rows else ""


def setups(figures: Figures) -> str:
    """Raw frames of each card by how nodes are joined and placed."""
    what = [("raw_half_rtt_us", "half round trip, us"), ("raw_rate_per_s", "64 bytes, 1/s"),
            *((f"raw_MBps_{size}", f"{size} bytes, MB/s")
              for size in (1514, 9014, 9230, 16124, 32960, 60014))]
    rows = []
    for link in LINKS:
        for way in ("direct", "switch"):
            for place in PLACES:
                end = f"{way}_{place.replace(' ', '_')}"
                cells = [spread(figures.get(f"{link}_{name}_{end}")) for name, _ in what]
                if any(cells):
                    rows.append([f"{link}, {way}, {place}", *cells])
    return markdown(["set-up", *(head for _, head in what)], rows) if rows else ""


TABLES: dict[str, Callable[[Figures], str]] = {
    "aims": aims, "memory": memory, "put_division": put_division, "links": links,
    "one_link": one_link, "bypass": bypass,
    "controls": controls, "division": division, "setups": setups,
}


# Descriptions of the peers' figures, in the order of the table.
PEERS = {
    "mpich_pp_8B_med": "MPICH, half round trip of 8 bytes",
    "mpich_pp_8B_min": "the quickest of them",
    "mpich_pp_64B_med": "MPICH, of 64 bytes",
    "ompi_pp_8B_med": "Open MPI, half round trip of 8 bytes",
    "ompi_pp_8B_min": "the quickest of them",
    "ompi_pp_64B_med": "Open MPI, of 64 bytes",
    "raw_eth_8B_med": "Ethernet frames from user space, asleep",
    "raw_ethspin_8B_med": "Ethernet frames from user space, polled",
    "raw_ethspin_8B_min": "the quickest of them",
    "raw_udp_64B_med": "UDP",
    "raw_tcp_64B_med": "TCP",
    **{f"{mpi}_bw_{size}B_med": f"{name}, messages of {text}"
       for mpi, name in (("mpich", "MPICH"), ("ompi", "Open MPI"))
       for size, text in ((1024, "1 KiB"), (65536, "64 KiB"), (1048576, "1 MiB"))},
    **{f"raw_tcpstream_{size}B": f"TCP, writes of {size} bytes" for size in (1024, 65536, 1048576)},
    **{f"{mpi}_bypass_50000B_work{work}ms_wait_med":
       f"{name}: still to wait for 10 messages of 50 KB each way after {work} ms of work"
       for mpi, name in (("mpich", "MPICH"), ("ompi", "Open MPI, eager"),
                         ("ompi_rndv", "Open MPI, rendezvous")) for work in (0, 10, 200)},
    **{f"boot_{kind}_exec_to_init": f"from the start of QEMU to user space, {name}"
       for kind, name in (("mpich", "MPICH"), ("ompi", "Open MPI"), ("raw", "without MPI"))},
    **{f"mem_{kind}_min": f"least memory of a guest with which it works, {name}"
       for kind, name in (("mpich", "MPICH"), ("ompi", "Open MPI"), ("raw", "without MPI"))},
    "size_kernel": "Linux",
    **{f"size_initrd_{kind}": f"what it boots with, {name}"
       for kind, name in (("mpich", "MPICH"), ("ompi", "Open MPI"), ("raw", "without MPI"))},
    **{f"host_{mpi}_{what}": f"on the host itself, through shared memory, {name}"
       for mpi, name in (("mpich", "MPICH"), ("ompi", "Open MPI"))
       for what in ("pp_8B_med", "bw_1048576B_med")},
}


def peers(figures: Figures) -> str:
    rows = [[name, shown(figures[name]["value"]), figures[name]["unit"], what]
            for name, what in PEERS.items() if name in figures]
    return markdown(["figure", "value", "unit", "what"], rows) if rows else ""


PEER_TABLES: dict[str, Callable[[Figures], str]] = {"peers": peers}


def rewritten(page: str, report: dict, others: dict) -> str:
    """The page with each place filled; a line gives the figures' origin. `others`: a set of
    docs/peers.json."""
    def fill(match: re.Match[str]) -> str:
        name = match.group(2)
        if name in PEER_TABLES:
            table = PEER_TABLES[name](others["figures"])
            said = f"{others['date']}, {others['machine']}, {others['how']}:\n\n"
        else:
            table = front(report["figures"], others["figures"]) if name == "front" else \
                TABLES[name](report["figures"])
            said = f"{report['date']}, {report['machine']}, commit {report['commit']}:\n\n" \
                if table else ""
        if not table:
            return match.group(0)
        return f"{match.group(1)}{said}{table}{match.group(3)}"
    return PLACE.sub(fill, page)


def quiet_report(source: Path) -> dict:
    """The report of bench.py, if it is of a committed state and of a quiet machine; exits if
    not."""
    if not source.exists():
        sys.exit(f"tables: {source} is not there: make bench")
    report = json.loads(source.read_text())
    if report["commit"].endswith("-dirty"):
        sys.exit(f"tables: the figures are of {report['commit']}, a state that is in no commit: "
                 "commit, and measure anew")
    noise = unsteady(report["figures"])
    if noise:
        sys.exit("tables: nothing is written. Raw figures must spread by less than "
                 f"{MOST_SPREAD:.0%} from run to run:\n  " + "\n  ".join(noise) +
                 "\nmeasure again on a quiet machine: make bench ARGS='--runs 3'")
    return report


def kept_peers() -> dict:
    """The set of docs/peers.json that the tables quote: the last one measured on guests."""
    sets = json.loads(KEPT_PEERS.read_text())
    return next(one for one in reversed(sets) if one["what"] != NATIVE)


def main() -> None:
    report = quiet_report(BUILD / "bench.json")
    others = kept_peers()
    for page in PAGES:
        page.write_text(rewritten(page.read_text(), report, others))


if __name__ == "__main__":
    main()
