#!/usr/bin/python3
"""Writes the figures of build/bench.json into the pages that quote them: `make bench-pages`.

A page has places

    <!-- figures: NAME -->
    (what stands here is replaced)
    <!-- end of figures -->

NAME is a key of TABLES below. A figure that was not measured is left out; a place whose
table would be empty stays as it is.
"""
from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

from core import BUILD, TOP, shown
from cards import BYPASS_SIZES, CONTROLS, LINKS, LOSSES, SIZES, WORKS

PAGES = (TOP / "README.md", TOP / "docs" / "measurements.md")
PLACE = re.compile(r"(<!-- figures: (\w+) -->\n).*?(<!-- end of figures -->)", re.S)
Figures = dict[str, dict]

LINK_ROWS = ("raw_half_rtt_us", "put_8B_half_rtt_us", "put_1024B_blocking_us", "raw_MBps",
             "raw_copied_MBps", *(f"put_MBps_{size}" for size in SIZES), "raw_rate_per_s",
             "put_rate_8B_per_s", "copied_tx_per_byte", "copied_rx_per_byte", "peer_bytes",
             "peer_bytes_silent")
# Of the figures over cards, those for the README's table; the rest is in measurements.md.
FRONT = re.compile(r"(virtio|e1000e?)_(raw_half_rtt_us|put_8B_half_rtt_us|raw_(copied_)?MBps|"
                   r"put_MBps_\d+|copied_.*|peer_bytes.*|raw_rate_per_s|put_rate_8B_per_s)|"
                   r"virtio_put_MBps_1048576_loss_.*|"
                   r"virtio_(raw_)?incast15_MBps|insn_[rt]x_8B(_\w+)?|"
                   r"virtio_bypass_50KB_wait_ms_(0|10|50|200)")
OVER_CARDS = re.compile(r"(virtio|e1000e?|insn_[rt]x|insn_put_far|insn_arrival_far)_?")


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


def front(figures: Figures) -> str:
    """Everything that does not go over cards, and of that what FRONT names."""
    heads = ["figure", "median", "min", "max", "unit", "limit", "aim"]
    rows = [[name, *(shown(figure[head]) for head in heads[1:])]
            for name, figure in figures.items()
            if FRONT.fullmatch(name) or not OVER_CARDS.match(name)]
    return markdown(heads, rows) if rows else ""


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
    """A row for each time of work; wait, time to post, and all less the work, in ms."""
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
    """Rows: shares; columns: a put's way out, its arrival, and that of an acknowledgement."""
    ways = ("insn_tx_8B", "insn_rx_8B", "insn_rx_ack")
    shares = ["", *dict.fromkeys(name.removeprefix(f"{way}_") for way in ways for name in figures
                                 if name.startswith(f"{way}_"))]
    rows = []
    for share in shares:
        cells = [figures.get(f"{way}_{share}" if share else way) for way in ways]
        if any(cells):
            rows.append([share or "all but the driver",
                         *(shown(cell["median"]) if cell else "" for cell in cells)])
    return markdown(["share", "put (tx)", "arrival (rx)", "acknowledgement (rx)"], rows) \
        if rows else ""


def setups(figures: Figures) -> str:
    """Raw frames of each card, by how the nodes are joined and placed."""
    what = [("raw_half_rtt_us", "half round trip, us"), ("raw_rate_per_s", "64 bytes, 1/s"),
            *((f"raw_MBps_{size}", f"{size} bytes, MB/s")
              for size in (1514, 9014, 9230, 16124, 60014))]
    rows = []
    for link in LINKS:
        for way in ("direct", "switch"):
            for cores in (1, 2):
                cells = [spread(figures.get(f"{link}_{name}_{way}_{cores}")) for name, _ in what]
                if any(cells):
                    rows.append([f"{link}, {way}, {cores} core{'s' * (cores > 1)}", *cells])
    return markdown(["set-up", *(head for _, head in what)], rows) if rows else ""


TABLES: dict[str, Callable[[Figures], str]] = {
    "front": front, "links": links, "one_link": one_link, "bypass": bypass,
    "controls": controls, "division": division, "setups": setups,
}


def rewritten(page: str, report: dict) -> str:
    """The page with each place filled; a line says whose figures they are."""
    def fill(match: re.Match[str]) -> str:
        table = TABLES[match.group(2)](report["figures"])
        if not table:
            return match.group(0)
        said = f"{report['date']}, {report['machine']}, commit {report['commit']}:\n\n"
        return f"{match.group(1)}{said}{table}{match.group(3)}"
    return PLACE.sub(fill, page)


def main() -> None:
    source = BUILD / "bench.json"
    if not source.exists():
        sys.exit("tables: build/bench.json is not there: make bench")
    report = json.loads(source.read_text())
    for page in PAGES:
        page.write_text(rewritten(page.read_text(), report))


if __name__ == "__main__":
    main()
