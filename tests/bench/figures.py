#!/usr/bin/python3
"""The pictures of docs/: `make figures`.

Figure 6 of the Portals paper (the wait that is left after work) and figures 5 and 6 of the paper
on Fast Messages (bandwidth by size, and its share of what lies below), from two files:

    docs/figures.json   our own numbers, of one run of `make bench`:
                        {"machine", "date", "commit", "command", "note", "figures"}, the rows
                        of build/bench.json that PICTURES needs
    docs/peers.json     what others reach (tests/bench/peers.py)

`make figures` writes docs/NAME.svg for each picture, the same bytes from the same data, and the
captions, which stand in the pages between

    <!-- picture: NAME -->
    <!-- end of picture -->

`make figures ARGS=--take` first takes build/bench.json into docs/figures.json, unless the machine
was not quiet or the state was not committed (tests/bench/tables.py judges both). `--note TEXT` is
added to the captions: what else a reader must know of that run.

A curve without figures is left out, and the caption says so. This file defines which figures make a
curve, tests/bench/drawing.py what a picture looks like.
"""
from __future__ import annotations

import argparse
import json
import math
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tables
from core import BUILD, NATIVE, TOP, BenchError

DOCS = TOP / "docs"
OWN = "docs/figures.json"
PEERS = "docs/peers.json"
PLACE = re.compile(r"(<!-- picture: (\w+) -->\n).*?(<!-- end of picture -->)", re.S)
MEASURE = "make bench ARGS='--runs 3', then make figures ARGS=--take"
ELSEWHERE = "Ours and the others' are not of one machine: only large differences mean anything."
MEASURE_PEERS = "make bench-peers PEERS=DIR ARGS='--native --keep', then make figures"


class FiguresError(BenchError):
    """Data that cannot be drawn."""


@dataclass(frozen=True)
class Source:
    """The figures of a curve; x is the group in `pattern`."""
    which: str                 # "ours", or a kind of set in docs/peers.json: "guests", "native"
    pattern: str
    unit: str
    factor: float = 1          # converts `unit` to the picture's
    part: str = "median"       # of our figures: "median", "limit", or median in % of it: "share"
    whole: str = ""            # in peers' sets: the figure that is 100 %, {} for x


@dataclass(frozen=True)
class Curve:
    name: str                  # its id in the picture is curve-NAME
    label: str
    style: str                 # a key of drawing.STYLES
    sources: tuple[Source, ...]                  # the first that has figures is drawn


@dataclass(frozen=True)
class Panel:
    title: str
    curves: tuple[Curve, ...]


@dataclass(frozen=True)
class Picture:
    title: str
    x: str                     # a key of drawing.ACROSS
    y: str                     # a key of drawing.UP
    panels: tuple[Panel, ...]
    says: str                  # the caption's description


@dataclass(frozen=True)
class Point:
    x: float
    y: float
    low: float | None = None   # minimum and maximum of the runs
    high: float | None = None


@dataclass(frozen=True)
class Drawn:
    """A picture with its data."""
    picture: Picture
    points: dict[str, tuple[Point, ...]]         # by name of curve
    left_out: tuple[str, ...]


def ours(pattern: str, unit: str, part: str = "median") -> tuple[Source, ...]:
    return (Source("ours", pattern, unit, part=part),)


def host(mpi: str, what: str, unit: str, older: str, older_unit: str,
         factor: float) -> tuple[Source, ...]:
    """MPI on the host: our own measurement, or that of a peer's run.sh."""
    return (Source(NATIVE, rf"native_{mpi}_{what}_(\d+)", unit),
            Source("guests", rf"host_{mpi}_{older}_med", older_unit, factor))


def waits(mpi: str) -> tuple[Source, ...]:
    return (Source("guests", rf"{mpi}_bypass_50000B_work(\d+)ms_wait_med", "us", 1e-3),)


NAMES = {"mpich": "MPICH", "ompi": "Open MPI"}
PICTURES = {
    "wait": Picture(
        "Time still to wait after work without a call, ten messages of 50 KB each way",
        "work", "wait", (
            Panel("virtio-net", (
                Curve("mpi-virtio", "MPI on Margay", "own",
                      ours(r"mpi_virtio_bypass_50KB_wait_ms_(\d+)", "ms")),
                Curve("put-virtio", "Portals puts", "below",
                      ours(r"virtio_bypass_50KB_wait_ms_(\d+)", "ms")),
                Curve("guest-mpich", "MPICH on Linux", "mpich", waits("mpich")),
                Curve("guest-ompi", "Open MPI on Linux,\neager", "ompi", waits("ompi")),
                Curve("guest-ompi-rndv", "Open MPI on Linux,\nrendezvous", "ompi_other",
                      waits("ompi_rndv")))),
            Panel("Shared memory", (
                Curve("mpi-shm", "MPI on Margay", "own",
                      ours(r"mpi_shm_bypass_50KB_wait_ms_(\d+)", "ms")),
                *(Curve(f"native-{mpi}", f"{name} on\nthe host itself", f"native_{mpi}",
                        host(mpi, "bypass_50KB_wait_ms", "ms",
                             r"bypass_50000B_work(\d+)ms_wait", "us", 1e-3))
                  for mpi, name in NAMES.items())))),
        "Figure 6 of the Portals paper. Two ranks post ten receives each, synchronise, send ten messages "
        "of 50 KB to each other, work without a call of MPI, and then wait for what is left. "
        "Both axes are logarithmic, except near 0."),
    "bandwidth": Picture(
        "Bandwidth by size of message", "size", "rate", (
            Panel("virtio-net", (
                Curve("mpi-virtio", "MPI on Margay", "own",
                      ours(r"mpi_virtio_send_MBps_(\d+)", "MB/s")),
                Curve("put-virtio", "Portals puts", "below",
                      ours(r"mpi_virtio_send_MBps_(\d+)", "MB/s", "limit")),
                *(Curve(f"guest-{mpi}", f"{name} on Linux", mpi,
                        (Source("guests", rf"{mpi}_bw_(\d+)B_med", "MB/s"),))
                  for mpi, name in NAMES.items()))),
            Panel("Shared memory", (
                Curve("mpi-shm", "MPI on Margay", "own",
                      ours(r"mpi_shm_send_MBps_(\d+)", "MB/s")),
                Curve("put-shm", "Portals puts", "below",
                      ours(r"mpi_shm_send_MBps_(\d+)", "MB/s", "limit")),
                *(Curve(f"native-{mpi}", f"{name} on\nthe host itself", f"native_{mpi}",
                        host(mpi, "MBps", "MB/s", r"bw_(\d+)B", "MB/s", 1))
                  for mpi, name in NAMES.items())))),
        "Figure 5 of the paper on Fast Messages. A stream of messages of one size into receives "
        "that are posted. Portals puts of the same size are the limit of MPI on them, and MPI "
        "without any node or guest, on the host itself, is what its processors can do."),
    "share": Picture(
        "What MPI reaches of the layer below it", "size", "share", (
            Panel("", (
                Curve("mpi-shm", "MPI on Margay,\nshared memory", "own",
                      ours(r"mpi_shm_send_MBps_(\d+)", "MB/s", "share")),
                Curve("mpi-virtio", "MPI on Margay,\nvirtio-net", "own_other",
                      ours(r"mpi_virtio_send_MBps_(\d+)", "MB/s", "share")),
                *(Curve(f"guest-{mpi}", f"{name} on Linux,\nof TCP", mpi,
                        (Source("guests", rf"{mpi}_bw_(\d+)B_med", "MB/s",
                                whole="raw_tcpstream_{}B"),))
                  for mpi, name in NAMES.items()))),),
        "Figure 6 (b) of the paper on Fast Messages. Ours is the bandwidth of MPI in per cent of "
        "that of Portals puts of the same size, in the same run; the others' is theirs in per "
        "cent of TCP's between the same guests, writes of the same size."),
}


# ---- data ----

def read(path: Path, cure: str) -> Any:
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        raise FiguresError(f"{path} is not there", cure) from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise FiguresError(f"{path} is no JSON: {error}", f"git checkout it, or {cure}") from None


def number(value: object, name: str, path: str, cure: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or \
            not math.isfinite(value) or value < 0:
        raise FiguresError(f"{path}: {name} is {value!r}, which is no figure", cure)
    return float(value)


def checked_texts(one: dict, keys: tuple[str, ...], path: str, cure: str) -> None:
    for key in keys:
        if not isinstance(one.get(key), str) or not one[key]:
            raise FiguresError(f"{path} does not say its {key}", cure)
    if not isinstance(one.get("figures"), dict):
        raise FiguresError(f"{path} has no figures", cure)


class Data:
    """Our numbers, and the peers' last sets of guests and of the host."""

    def __init__(self, own: Path = TOP / OWN, peers: Path = TOP / PEERS) -> None:
        report = read(own, MEASURE)
        if not isinstance(report, dict):
            raise FiguresError(f"{OWN} is no table of names", MEASURE)
        checked_texts(report, ("machine", "date", "commit", "command"), OWN, MEASURE)
        self.report = report
        sets = read(peers, MEASURE_PEERS)
        if not isinstance(sets, list) or not all(isinstance(one, dict) for one in sets):
            raise FiguresError(f"{PEERS} is no list of sets", MEASURE_PEERS)
        self.sets: dict[str, dict] = {}
        for one in sets:
            checked_texts(one, ("what", "machine", "date", "how"), PEERS, MEASURE_PEERS)
            self.sets[NATIVE if one["what"] == NATIVE else "guests"] = one

    def figure(self, source: Source, name: str, part: str) -> float | None:
        """One number in the source's unit; None: it was not measured."""
        own = source.which == "ours"
        path, cure = (OWN, MEASURE) if own else (PEERS, MEASURE_PEERS)
        figures = (self.report if own else self.sets.get(source.which, {"figures": {}}))["figures"]
        if name not in figures:
            return None
        row = figures[name]
        if not isinstance(row, dict) or row.get("unit") != source.unit:
            raise FiguresError(f"{path}: {name} is not in {source.unit}", cure)
        if part == "limit" and row.get(part) is None:
            return None
        return number(row.get(part), f"{part} of {name}", path, cure)

    def names(self, source: Source) -> list[tuple[int, str]]:
        """Each x of the source with its figure."""
        figures = self.report["figures"] if source.which == "ours" else \
            self.sets.get(source.which, {"figures": {}})["figures"]
        found = [(int(match[1]), name) for name in figures
                 if (match := re.fullmatch(source.pattern, name))]
        return sorted(found)

    def points(self, source: Source) -> tuple[Point, ...]:
        made = [self.point(source, x, name) for x, name in self.names(source)]
        return tuple(point for point in made if point)

    def point(self, source: Source, x: int, name: str) -> Point | None:
        """None: the limit, or the figure that is 100 %, was not measured."""
        if source.which != "ours":
            value = self.figure(source, name, "value")
            if not source.whole:
                return Point(x, value * source.factor) if value is not None else None
            whole = self.figure(source, source.whole.format(x), "value")
            return Point(x, 100 * value / whole) if whole and value is not None else None
        value, low, high, limit = (self.figure(source, name, part)
                                   for part in ("median", "min", "max", "limit"))
        if source.part == "median":
            return Point(x, *(one * source.factor for one in (value, low, high)))
        if not limit:
            return None
        return Point(x, limit if source.part == "limit" else 100 * value / limit)

    def used(self, curve: Curve) -> Source | None:
        """The first source of the curve that has figures."""
        return next((source for source in curve.sources if self.points(source)), None)

    def drawn(self, name: str) -> Drawn:
        return self.draw(PICTURES[name], name)

    def draw(self, picture: Picture, name: str) -> Drawn:
        """A picture with its curves, at least one of which must be ours."""
        points: dict[str, tuple[Point, ...]] = {}
        left_out = []
        for panel in picture.panels:
            for curve in panel.curves:
                source = self.used(curve)
                if source:
                    points[curve.name] = self.points(source)
                else:
                    where = f" ({panel.title.lower()})" if panel.title else ""
                    left_out.append(curve.label.replace("\n", " ") + where)
        own = [curve for panel in picture.panels for curve in panel.curves
               if curve.style.startswith("own")]
        if not any(curve.name in points for curve in own):
            raise FiguresError(f"{OWN} has no figure {own[0].sources[0].pattern} for the picture "
                               f"{name!r}", MEASURE)
        kept = tuple(replace(panel, curves=tuple(curve for curve in panel.curves
                                                 if curve.name in points))
                     for panel in picture.panels)
        return Drawn(replace(picture, panels=tuple(panel for panel in kept if panel.curves)),
                     points, tuple(left_out))


def wanted() -> list[str]:
    """Patterns of our figures that the pictures need."""
    return [source.pattern for picture in PICTURES.values() for panel in picture.panels
            for curve in panel.curves for source in curve.sources if source.which == "ours"]


def take(source: Path, target: Path, note: str = "") -> None:
    """The figures that the pictures need from a run of `make bench`, which must be of a quiet
    machine and of a commit."""
    report = tables.quiet_report(source)
    figures = {name: {key: row[key] for key in ("median", "min", "max", "unit", "runs", "limit")}
               for name, row in report["figures"].items()
               if any(re.fullmatch(pattern, name) for pattern in wanted())}
    if not any(name.startswith("mpi_") for name in figures):
        raise FiguresError(f"{source} has no figure of MPI",
                           "let the run have the group mpi: make bench ARGS='--runs 3'")
    if "command" not in report:
        raise FiguresError(f"{source} does not say with which command it was measured", MEASURE)
    kept = {"machine": report["machine"], "date": report["date"], "commit": report["commit"],
            "command": report["command"], **({"note": note} if note else {}), "figures": figures}
    target.write_text(json.dumps(kept, indent=1) + "\n")


# ---- pages ----

def origins(drawn: Drawn, data: Data) -> str:
    """The origin of each kind of curve: date, machine and command."""
    runs = max((row.get("runs") or 1 for row in data.report["figures"].values()), default=1)
    report = data.report
    note = " " + report["note"] if "note" in report else ""
    lines = [f"- Margay: {report['date']}, {report['machine']}, commit {report['commit']}, "
             f"`{report['command']}`; medians of {runs} runs, and bars from the smallest to the "
             f"largest.{note}"]
    labels = {"guests": "MPICH and Open MPI on Linux", NATIVE: "The host itself"}
    lines += [f"- {text}: {one['date']}, {one['machine']}, {one['how']}."
              for which, text in labels.items() for one in others(drawn, data, which)]
    if elsewhere(drawn, data):
        lines.append(f"- {ELSEWHERE}")
    if drawn.left_out:
        lines.append("- Not measured and so not drawn: " + ", ".join(drawn.left_out) + ".")
    return "\n".join(lines)


def others(drawn: Drawn, data: Data, *kinds: str) -> list[dict]:
    """The sets of docs/peers.json that a picture draws, of these kinds."""
    used = {source.which for panel in drawn.picture.panels for curve in panel.curves
            if (source := data.used(curve))}
    return [data.sets[which] for which in kinds if which in used]


def elsewhere(drawn: Drawn, data: Data) -> bool:
    """Whether the peers were measured on other processors than ours."""
    def processors(one: dict) -> str:
        return one["machine"].partition(";")[0]
    return any(processors(one) != processors(data.report)
               for one in others(drawn, data, "guests", NATIVE))


def caption(name: str, drawn: Drawn, data: Data, front: bool) -> str:
    """A picture's caption in a page; `front`: the shorter one of the README."""
    at = f"docs/{name}.svg" if front else f"{name}.svg"
    text = f"![{drawn.picture.title}]({at})\n\n{drawn.picture.says}\n"
    if front:
        more = (" " + data.report["note"] if "note" in data.report else "") + \
            (f" {ELSEWHERE}" if elsewhere(drawn, data) else "")
        return text + f"Ours is of {data.report['date']}; `docs/measurements.md` says where all of " \
            f"them come from.{more}\n"
    return f"{text}\n{origins(drawn, data)}\n"


def rewritten(page: str, all_drawn: dict[str, Drawn], data: Data, front: bool) -> str:
    def fill(match: re.Match[str]) -> str:
        name = match[2]
        if name not in all_drawn:
            raise FiguresError(f"a page has a place for the picture {name!r}, which is not known",
                               "known are " + ", ".join(all_drawn))
        return match[1] + wrapped(caption(name, all_drawn[name], data, front)) + match[3]
    return PLACE.sub(fill, page)


def wrapped(text: str) -> str:
    """Lines of at most 100 columns, as in the rest of a page; an image is one line."""
    made = []
    for line in text.split("\n"):
        indent = "  " if line.startswith("- ") else ""
        while len(line) > 100 and not line.startswith("!") and " " in line[3:101]:
            cut = line.rindex(" ", 0, 101)
            made.append(line[:cut])
            line = indent + line[cut + 1:]
        made.append(line)
    return "\n".join(made)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--take", action="store_true",
                        help="take build/bench.json into docs/figures.json first")
    parser.add_argument("--note", default="", help="with --take: what captions say of that run")
    parser.add_argument("--from", dest="source", type=Path, default=BUILD / "bench.json",
                        help="another file than build/bench.json")
    options = parser.parse_args()
    import drawing                               # needs matplotlib
    if options.take:
        take(options.source, TOP / OWN, options.note)
    data = Data()
    all_drawn = {name: data.drawn(name) for name in PICTURES}
    for name, drawn in all_drawn.items():
        (DOCS / f"{name}.svg").write_bytes(drawing.svg(drawn))
        for what in drawn.left_out:
            print(f"figures: {name}: {what} was not measured and is left out", file=sys.stderr)
    for page in tables.PAGES:
        page.write_text(rewritten(page.read_text(), all_drawn, data, page.parent == TOP))


if __name__ == "__main__":
    try:
        main()
    except BenchError as error:
        sys.exit(f"figures: {error.args[0]}\nfigures: {error.args[1]}")
