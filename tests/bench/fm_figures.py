#!/usr/bin/python3
"""The pictures of lib/fm/README.md: figures 4 and 6 of the paper on Fast Messages, from

    docs/fm.json        our own numbers of `make bench ARGS='--group systems --only fm'`, in the
                        form of docs/figures.json
    docs/figures.json   MPI on the same machine, beside them

`make figures` draws docs/fm_rate.svg and docs/fm_share.svg, and writes the captions;
`tests/bench/fm_figures.py --take` first takes build/bench.json into docs/fm.json. `--note TEXT` is
added to the captions: what a reader must know of that run.
"""
from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from core import BUILD, TOP, BenchError
from figures import DOCS, OWN, Curve, Data, FiguresError, Panel, Picture, ours, read, rewritten

FM = "docs/fm.json"
PAGE = TOP / "lib" / "fm" / "README.md"
MEASURE = "make bench ARGS='--runs 3 --group systems --only fm', then " \
    "tests/bench/fm_figures.py --take"
RATE, SHARE = "MB/s", "share"


def rates(number: str, name: str) -> Panel:
    pattern = {"1": "one", "2": "two"}[number]
    return Panel(f"Fast Messages {name}", (
        Curve(f"layer{number}", "tagged messages", "own",
              ours(rf"fm_shm_match{number}_MBps_(\d+)", RATE)),
        Curve(f"fm{number}", f"FM {name}", "own_other",
              ours(rf"fm_shm_{pattern}_MBps_(\d+)", RATE)),
        Curve(f"put{number}", "Portals puts", "below",
              ours(rf"fm_shm_{pattern}_MBps_(\d+)", RATE, "limit"))))


def shares(number: str, name: str) -> Panel:
    pattern = {"1": "one", "2": "two"}[number]
    return Panel(f"Fast Messages {name}", (
        Curve(f"layer{number}", "tagged messages,\nof FM", "own",
              ours(rf"fm_shm_match{number}_MBps_(\d+)", RATE, SHARE)),
        Curve(f"fm{number}", "FM, of Portals", "own_other",
              ours(rf"fm_shm_{pattern}_MBps_(\d+)", RATE, SHARE)),
        Curve(f"mpi{number}", "MPI, of Portals", "ompi_other",
              ours(r"mpi_shm_send_MBps_(\d+)", RATE, SHARE))))


GENERATIONS = (("1", "1.1"), ("2", "2.x"))
PICTURES = {
    "fm_rate": Picture(
        "Bandwidth of Fast Messages, and of tagged messages over it", "size", "rate",
        tuple(rates(*one) for one in GENERATIONS),
        "Figures 4 (a) and 6 (a) of the paper, over shared memory. Tagged messages go into receives "
        "that are posted. Portals puts of the same size are the limit."),
    "fm_share": Picture(
        "What a layer reaches of the one below it", "size", "share",
        tuple(shares(*one) for one in GENERATIONS),
        "Figures 4 (b) and 6 (b) of the paper: the share of Fast Messages' bandwidth that tagged "
        "messages reach, and the share of Portals puts' that Fast Messages reach, at the same size "
        "and measured right before. MPI, which uses Portals directly, comes from "
        f"{OWN}, another run."),
}


class FmData(Data):
    """Our numbers of Fast Messages, and beside them those of MPI."""

    def __init__(self, own: Path = TOP / FM) -> None:
        super().__init__()
        report = read(own, MEASURE)
        if not isinstance(report, dict) or not isinstance(report.get("figures"), dict):
            raise FiguresError(f"{own} has no figures", MEASURE)
        self.report = {**report, "figures": {**self.report["figures"], **report["figures"]}}


def take(source: Path, target: Path, note: str) -> None:
    """The rows of Fast Messages from a run of `make bench`."""
    report: dict[str, Any] = read(source, MEASURE)
    kept = ("median", "min", "max", "unit", "runs", "limit")
    figures = {name: {key: row[key] for key in kept} for name, row in report["figures"].items()
               if name.startswith("fm_")}
    if not figures:
        raise FiguresError(f"{source} has no figure of Fast Messages", MEASURE)
    head = {key: report[key] for key in ("machine", "date", "commit", "command")}
    target.write_text(json.dumps({**head, **({"note": note} if note else {}), "figures": figures},
                                 indent=1) + "\n")


def page_of(text: str, data: FmData) -> str:
    """The page with the captions of the data."""
    drawn = {name: data.draw(PICTURES[name], name) for name in PICTURES}
    return re.sub(r"\]\((fm_\w+\.svg)\)", r"](../../docs/\1)",
                  rewritten(text, drawn, data, False))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--take", action="store_true", help=f"take build/bench.json into {FM} first")
    parser.add_argument("--note", default="", help="with --take: what captions say of that run")
    parser.add_argument("--from", dest="source", type=Path, default=BUILD / "bench.json",
                        help="another file than build/bench.json")
    options = parser.parse_args()
    import drawing                               # needs matplotlib
    if options.take:
        take(options.source, TOP / FM, options.note)
    if not (TOP / FM).exists():
        print(f"fm_figures: {FM} is not there, and nothing is drawn: {MEASURE}", file=sys.stderr)
        return
    data = FmData()
    for name in PICTURES:
        (DOCS / f"{name}.svg").write_bytes(drawing.svg(data.draw(PICTURES[name], name)))
    PAGE.write_text(page_of(PAGE.read_text(), data))


if __name__ == "__main__":
    try:
        main()
    except BenchError as error:
        sys.exit(f"fm_figures: {error.args[0]}\nfm_figures: {error.args[1]}")
