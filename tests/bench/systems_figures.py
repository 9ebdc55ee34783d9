#!/usr/bin/python3
"""The pictures of the libraries in lib/: `make figures` draws them after its own.

From docs/systems.json, the rows of one run of the group systems, it writes lib/NAME/PICTURE.svg and
the captions in lib/NAME/README.md, as tests/bench/figures.py does for docs/.

    tests/bench/systems_figures.py --take [--from FILE] [--note TEXT]

first takes build/bench.json (or FILE) into docs/systems.json: the rows that the pictures need. Rows
of libraries that the run did not measure stay unchanged. A library adds its pictures to PICTURES,
with its folder as the key.
"""
from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

import figures
from core import BUILD, TOP, BenchError
from figures import Curve, Panel, Picture, ours

OWN = TOP / "docs/systems.json"
LINKS = {"shm": "Shared memory", "virtio": "virtio-net"}


def madeleine(what: str, unit: str) -> tuple[Panel, ...]:
    return tuple(Panel(title, (
        Curve(f"madeleine-{link}", "Madeleine", "own",
              ours(rf"madeleine_{link}_{what}_([1-9]\d*)", unit)),
        Curve(f"put-{link}", "Portals puts", "below",
              ours(rf"madeleine_{link}_{what}_([1-9]\d*)", unit, "limit"))))
        for link, title in LINKS.items())


PICTURES = {
    "madeleine": {
        "latency": Picture(
            "Half of a round trip by size of the argument", "size", "latency",
            madeleine("half_rtt_us", "us"),
            "Figure 15 of the Madeleine paper. A remote procedure call with an array as argument, "
            "there and back, and puts of the same size; waiting nodes are halted in both."),
        "throughput": Picture(
            "Throughput by size of the argument", "size", "rate", madeleine("MBps", "MB/s"),
            "Figure 16 of the Madeleine paper: the size divided by the time of figure 15."),
    },
}


def take(source: Path, note: str) -> None:
    """The rows that the pictures need."""
    report = json.loads(source.read_text())
    patterns = [one.pattern for pictures in PICTURES.values() for picture in pictures.values()
                for panel in picture.panels for curve in panel.curves for one in curve.sources]
    rows = {name: {key: row[key] for key in ("median", "min", "max", "unit", "runs", "limit")}
            for name, row in report["figures"].items()
            if any(re.fullmatch(pattern, name) for pattern in patterns)}
    if not rows:
        raise BenchError(f"{source} has no figure of a library",
                         "measure: make bench ARGS='--runs 3 --group systems'")
    old = json.loads(OWN.read_text())["figures"] if OWN.exists() else {}
    kept = {key: report[key] for key in ("machine", "date", "commit", "command")}
    kept |= ({"note": note} if note else {}) | {"figures": {**old, **rows}}
    OWN.write_text(json.dumps(kept, indent=1) + "\n")


def drawn(folder: str, data: figures.Data) -> dict[str, figures.Drawn]:
    """The pictures of one library."""
    return {name: data.draw(picture, name) for name, picture in PICTURES[folder].items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--take", action="store_true",
                        help="take build/bench.json into docs/systems.json first")
    parser.add_argument("--note", default="", help="with --take: what captions say of that run")
    parser.add_argument("--from", dest="source", type=Path, default=BUILD / "bench.json",
                        help="another file than build/bench.json")
    options = parser.parse_args()
    import drawing                               # needs matplotlib
    if options.take:
        take(options.source, options.note)
    data = figures.Data(OWN)
    for folder in PICTURES:
        page = TOP / "lib" / folder / "README.md"
        pictures = drawn(folder, data)
        for name, picture in pictures.items():
            page.with_name(f"{name}.svg").write_bytes(drawing.svg(picture))
        page.write_text(figures.rewritten(page.read_text(), pictures, data, False))


if __name__ == "__main__":
    try:
        main()
    except BenchError as error:
        sys.exit(f"figures: {error.args[0]}\nfigures: {error.args[1]}")
