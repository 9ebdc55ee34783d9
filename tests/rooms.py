#!/usr/bin/python3
"""The rooms of the source: permitted and actual uses, and their picture.

A room is a folder. It uses another one if one of its files includes a header of that room, or calls
a function (or uses data) defined there; calls are read from the objects that `make` has built.
LAYERS and KERNEL are the only statement of the rules.

    tests/rooms.py           print violations of the rules
    tests/rooms.py --draw    write docs/rooms.svg; tests/test_rooms.py fails if it is outdated
"""
from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Iterable, Iterator

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
PICTURE = ROOT / "docs" / "rooms.svg"

# Headers of a freestanding compiler.
FREESTANDING = {"stdarg.h", "stdatomic.h", "stdbool.h", "stddef.h", "stdint.h", "stdalign.h",
                "stdnoreturn.h", "limits.h", "float.h"}

NET = {"net", "net/portals", "net/shm", "net/link", "net/frames"}

# The kernel's rooms from the bottom up: each may use those above it in this list, and those other
# folders that are named. drivers/ is between them.
KERNEL: dict[str, set[str]] = {
    "kernel/base": {"net", "include"},
    "kernel/console": {"net", "net/shm"},
    "kernel/cpu": {"include"},
    "kernel/loader": set(),
    "kernel/process": {"net/portals", "include"},
    "kernel/memory": {"include"},
    "kernel/devices": set(),
    "drivers": {"net"},
    "kernel/report": {"net/shm", "include"},
    "kernel/transport": NET | {"include"},
    "kernel/portals": {"net", "net/portals", "net/shm", "include"},
    "kernel/files": {"net/shm", "include"},
    "kernel/calls": set(),
    "kernel/selftest": {"net", "net/portals", "net/shm", "include"},
    "kernel/boot": {"net/shm", "include"},
}

# The others. More specific folders come first.
LAYERS: dict[str, set[str]] = {
    "net/portals": {"net"},
    "net/link": {"net"},
    "net/frames": {"net", "net/portals", "net/link"},
    "net/shm": {"net"},
    "net": set(),
    **{room: others | set(list(KERNEL)[:place])
       for place, (room, others) in enumerate(KERNEL.items())},
    "boot": {"kernel/boot", "kernel/cpu"},
    "libc-glue": {"include"},
    "lib/portals": {"include", "libc-glue"},
    "lib/p30": {"include", "libc-glue"},
    "lib": {"include"},
    "mpi": {"include", "lib"},
    "apps": {"include"},
    "host": NET | {"include"},
    "tests/apps": {"include", "apps"},
    "tests/lib": {"include", "lib", "tests/apps"},
    "tests/languages": {"include"},
    "tests/mpi": {"include", "lib"},
    "tests/programs": set(),
    "tests/bench/host": {"net", "net/portals"},
    "tests/bench": {"include", "apps"},
    "tests/host": NET | {"include", "host", "lib/portals", "kernel/base"},
    "tests/netsim": {"net", "net/link", "host", "tests/host"},
    "tests/wire": {"net", "net/link"},
    "tests/drivers": {"drivers", "kernel/devices", "kernel/loader", "kernel/memory",
                      "kernel/transport", "net", "tests/host"},
    "tests/model": {"net", "net/portals", "include", "lib/portals"},
    "tests/fuzz/frames": {"net", "net/portals", "net/link", "net/frames"},
    "tests/fuzz": {"net", "net/portals", "include", "lib/portals"},
    "tools": {"net", "net/portals", "net/shm", "include"},
    "include": set(),
}

# Folders that may use their environment's standard library.
HOSTED = ("libc-glue", "lib", "languages", "mpi", "apps", "host", "tests", "tools", "include")

# Functions that net/ calls and its program defines: those of net/port.h, and similar ones that its
# other headers declare.
PORT = re.compile(r"(?:\w+_)?port_\w+")
# Parts linked into one image; kernel and application do not see each other's names.
IMAGES = (("net", "drivers", "kernel", "boot"), ("libc-glue", "lib"))
# Other calls that a room may make; their headers are public (include/).
CALLS = {"lib": {"libc-glue", "lib/portals"}, "lib/p30": {"lib/portals"}}


def layer(path: Path) -> str:
    relative = path.relative_to(ROOT).as_posix()
    return next(folder for folder in LAYERS if relative.startswith(folder + "/"))


def included(path: Path, text: str) -> Iterator[tuple[str, Path | None]]:
    """The files that a file includes: the name, and the file of this repository, if it is one."""
    for kind, name in re.findall(r'^\s*#\s*include\s+(["<])([^">]+)[">]', text, re.M):
        folders = [path.parent] if kind == '"' else []
        folders += [ROOT / folder for folder in ("", "include", "net", "apps")]
        target = next((folder / name for folder in folders if (folder / name).is_file()), None)
        yield name, None if kind == "<" and name in FREESTANDING else target


def violations(path: Path, text: str) -> list[str]:
    """Includes of one file that its layer may not use."""
    own = layer(path)
    found = []
    for name, target in included(path, text):
        if target is None:
            generated = (BUILD / "generated" / name).exists() or (BUILD / name).exists()
            if name not in FREESTANDING and not own.startswith(HOSTED) and not generated:
                found.append(f"{path.relative_to(ROOT)}: <{name}> is not freestanding")
        elif layer(target.resolve()) not in LAYERS[own] | {own}:
            found.append(f"{path.relative_to(ROOT)}: {name} belongs to {layer(target.resolve())}/")
    return found


def sources() -> list[Path]:
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "*.c", "*.h", "*.asm"],
                            capture_output=True, text=True, check=True).stdout.split()
    return [ROOT / name for name in listed if (ROOT / name).exists()]


# ---- calls ----

def symbols(objects: Iterable[Path]) -> Iterator[tuple[Path, str, bool]]:
    """The global symbols of each object, and whether it defines them."""
    paths = [str(path) for path in objects]
    table = subprocess.run(["gcc-nm", "-A", "-g", *paths], capture_output=True, text=True,
                           check=True).stdout
    for row in table.splitlines():
        path, rest = row.split(":", 1)
        kind, name = rest.split()[-2:]
        if kind not in "wv":
            yield Path(path), name, kind != "U"


def objects_of(files: Iterable[Path], image: tuple[str, ...]) -> dict[Path, Path]:
    """The objects that `make` has built from these sources, for a part of the image."""
    found = {}
    for path in files:
        relative = path.relative_to(ROOT)
        if path.suffix == ".h" or relative.parts[0] not in image:
            continue
        inside = BUILD / "kernel" / relative if image is IMAGES[0] else BUILD / relative
        inside = inside.with_suffix(".asm.o" if path.suffix == ".asm" else ".o")
        if inside.exists():
            found[inside] = path
    return found


def calls(files: list[Path]) -> list[tuple[Path, Path, str]]:
    """Uses between sources: user, definer, symbol. The ports of net/ are left out."""
    pairs = []
    for image in IMAGES:
        found = objects_of(files, image)
        defined: dict[str, Path] = {}
        used = []
        for path, name, here in symbols(found):
            if here:
                defined[name] = found[path]
            elif not PORT.fullmatch(name):
                used.append((found[path], name))
        pairs += [(path, defined[name], name) for path, name in used if name in defined]
    return pairs


def upward(uses: Iterable[tuple[Path, Path, str]]) -> list[str]:
    """Calls that the caller's room may not make."""
    return [f"{path.relative_to(ROOT)} uses {name} of {target.relative_to(ROOT)}"
            for path, target, name in uses
            for own in [layer(path)]
            if layer(target) not in LAYERS[own] | CALLS.get(own, set()) | {own}]


def circle(rules: dict[str, set[str]]) -> list[str]:
    """Rooms that use each other in a circle, or an empty list."""
    left = {room: others & set(rules) for room, others in rules.items()}
    while True:
        lowest = [room for room, others in left.items() if not others]
        if not lowest:
            return sorted(left)
        left = {room: others - set(lowest) for room, others in left.items() if others}


# Rooms whose files also call each other in one direction only.
LADDERS = ("net/link", "net/frames")


def file_circles(uses: Iterable[tuple[Path, Path, str]]) -> list[str]:
    """Files of such a room that call each other in a circle."""
    found: dict[str, set[str]] = defaultdict(set)
    for path, target, _ in uses:
        own, other = (one.relative_to(ROOT).as_posix() for one in (path, target))
        if own != other and layer(path) == layer(target) and layer(path) in LADDERS:
            found[own].add(other)
            found[other] |= set()
    return circle(found)


# ---- the list of files in net/link/internal.h ----

LINK = ROOT / "net" / "link"


def ladder() -> dict[str, int]:
    """The files in that list, each with its line."""
    comment = (LINK / "internal.h").read_text(encoding="utf-8").split("*/")[0]
    return {name: line for line, text in enumerate(comment.splitlines())
            for name in re.findall(r"\b\w+\.c\b", text)}


def sections() -> Iterator[tuple[str, str]]:
    """The lines of code of the link's internal headers, each with the file of its section."""
    for header in ("internal.h", "bulk.h"):
        name = ""
        for text in (LINK / header).read_text(encoding="utf-8").splitlines():
            found = re.match(r"/\* ---- (\w+\.c) ---- \*/", text)
            name = found[1] if found else name
            if name and not re.match(r"\s*(/\*| \*)", text):
                yield name, re.sub(r"__attribute__\(\(\w+\)\) ?", "", text)


def link_uses() -> Iterator[tuple[str, str, str]]:
    """What the link's files use of each other, as calls() tells; inline functions too."""
    for path, target, name in calls(sources()):
        if path.parent == LINK and target.parent == LINK:
            yield path.name, target.name, name
    files = {found[1]: name for name, text in sections()
             if (found := re.match(r"(?:\w.*[ *])?(\w+)\(", text))}
    bodies = [(name, text) for name, text in sections() if text.startswith("\t")]
    for path in LINK.glob("*.c"):
        bodies.append((path.name, re.sub(r"(?s)/\*.*?\*/", "", path.read_text(encoding="utf-8"))))
    for user, text in bodies:
        for name in set(re.findall(r"\b(\w+)\(", text)) & set(files):
            yield user, files[name], name


def up_the_ladder(uses: Iterable[tuple[str, str, str]]) -> list[str]:
    """Uses of a file that is not below the user's line in the list."""
    lines = ladder()
    return sorted({f"{path} uses {name} of {target}" for path, target, name in uses
                   if path != target and lines[target] <= lines[path]})


# Prefixes of several rooms: system calls, and the boot code's kernel_main and kernel_stack.
SHARED_PREFIXES = {"sys", "kernel"}


def prefix(path: Path, name: str) -> str:
    """A name's prefix: the name of a file of its room, or else its first word."""
    stems = [one.stem for one in path.parent.iterdir() if re.match(rf"{one.stem}(_|$)", name)]
    return max(stems, key=len, default=name.split("_")[0])


def shared_prefixes(defined: Iterable[tuple[Path, str]]) -> list[str]:
    """Prefixes that global functions and data of several rooms have."""
    found: dict[str, set[str]] = defaultdict(set)
    for path, name in defined:
        if not PORT.fullmatch(name):
            found[prefix(path, name)].add(layer(path))
    return [f"{word}_ is of {', '.join(sorted(rooms))}" for word, rooms in sorted(found.items())
            if len(rooms) > 1 and word not in SHARED_PREFIXES]


def kernel_names(files: list[Path]) -> list[tuple[Path, str]]:
    """The kernel's global names, and the sources that define them."""
    found = objects_of(files, IMAGES[0])
    return [(found[path], name) for path, name, here in symbols(found) if here]


def arrows(files: list[Path]) -> dict[str, set[str]]:
    """The rooms that each room uses, by includes and calls."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in files:
        for _, target in included(path, path.read_text(encoding="utf-8")):
            if target:
                found[layer(path)].add(layer(target.resolve()))
    for path, target, _ in calls(files):
        found[layer(path)].add(layer(target))
    return {room: others - {room} for room, others in found.items()}


# ---- the picture ----

DRAWN = ("kernel/", "net", "drivers", "boot", "include")
WIDTH, BOX, BEND, HEIGHT, GAP, MARGIN = 760, 124, 34, 30, 34, 12
STYLE = ("rect{fill:#f6f8fa;stroke:#59636f}text{font:13px sans-serif;fill:#1f2328;"
         "text-anchor:middle}path{fill:none;stroke:#0072b2;stroke-width:1.2}"
         "marker path{fill:#0072b2}"
         "@media (prefers-color-scheme:dark){rect{fill:#262c34;stroke:#9aa4af}"
         "text{fill:#e6edf3}path{stroke:#56b4e9}marker path{fill:#56b4e9}}")


def reduced(uses: dict[str, set[str]]) -> dict[str, set[str]]:
    """The graph without arrows implied by others."""
    def reach(room: str) -> set[str]:
        return set().union(*({other} | reach(other) for other in uses.get(room, ())), set())
    return {room: {one for one in others
                   if not any(one in reach(other) for other in others - {one})}
            for room, others in uses.items()}


def heights(uses: dict[str, set[str]]) -> dict[str, int]:
    """Floors: each room is above all that it uses; the lowest are at 0."""
    found: dict[str, int] = {}

    def of(room: str) -> int:
        if room not in found:
            found[room] = 1 + max((of(other) for other in uses.get(room, ())), default=-1)
        return found[room]
    for room in uses:
        of(room)
    return found


# A stop on a floor: a room, or the point where an arrow passes.
Stop = tuple[str, ...]


def routes(uses: dict[str, set[str]]) -> list[list[Stop]]:
    """Each arrow's path from floor to floor."""
    height = heights(uses)
    return [[(room,), *((room, other, str(floor))
                        for floor in range(height[room] - 1, height[other], -1)), (other,)]
            for room in uses for other in sorted(uses[room])]


def spread(row: list[Stop], wanted: dict[Stop, float]) -> dict[Stop, float]:
    """The positions of a floor's stops from left to right: near the wanted ones, without
    overlaps."""
    def width(stop: Stop) -> float:
        return BOX + 16 if len(stop) == 1 else BEND
    at: list[float] = []
    for stop in row:
        least = at[-1] + (width(row[len(at) - 1]) + width(stop)) / 2 if at else width(stop) / 2
        at.append(max(least, wanted[stop]))
    end: float = WIDTH
    for place in range(len(row) - 1, -1, -1):
        at[place] = min(at[place], end - width(row[place]) / 2)
        end = at[place] - width(row[place]) / 2
    return dict(zip(row, at))


def places(uses: dict[str, set[str]]) -> dict[Stop, tuple[float, float]]:
    """The middle of each stop's upper edge, near the stops that it is connected to."""
    height, ways = heights(uses), routes(uses)
    top = max(height.values())
    rows: list[list[Stop]] = [[] for _ in range(top + 1)]
    for room in uses:
        rows[top - height[room]].append((room,))
    for way in ways:
        for stop in way[1:-1]:
            rows[top - int(stop[2])].append(stop)
    joined: dict[Stop, list[Stop]] = defaultdict(list)
    for way in ways:
        for upper, lower in zip(way, way[1:]):
            joined[upper].append(lower)
            joined[lower].append(upper)
    x = {stop: WIDTH / 2 for row in rows for stop in row}
    for turn in range(24):
        for row in rows if turn % 2 == 0 else rows[::-1]:
            wanted = {stop: sum(x[other] for other in joined[stop]) / max(1, len(joined[stop]))
                      for stop in row}
            if turn < 16:
                row.sort(key=lambda stop: (wanted[stop], stop))
            x.update(spread(row, wanted))
    left = min(x[(room,)] for room in uses) - BOX / 2 - MARGIN
    return {stop: (x[stop] - left, MARGIN + floor * (HEIGHT + GAP))
            for floor, row in enumerate(rows) for stop in row}


def line(way: list[Stop], place: dict[Stop, tuple[float, float]]) -> str:
    """An arrow from the lower edge of its first room to the upper edge of its last."""
    x, y = place[way[0]]
    y += HEIGHT
    path = f"M{x:.0f} {y:.0f}"
    for stop in way[1:]:
        to_x, to_y = place[stop]
        path += f"C{x:.0f} {(y + to_y) / 2:.0f} {to_x:.0f} {(y + to_y) / 2:.0f} {to_x:.0f} {to_y:.0f}"
        if len(stop) > 1:
            to_y += HEIGHT
            path += f"V{to_y:.0f}"
        x, y = to_x, to_y
    return f'<path marker-end="url(#tip)" d="{path}"/>'


def draw(uses: dict[str, set[str]]) -> str:
    """The picture as SVG: an arrow means that a room uses another one."""
    rooms = [room for room in LAYERS if room.startswith(DRAWN)]
    direct = reduced({room: uses.get(room, set()) & set(rooms) for room in rooms})
    place = places(direct)
    wide = round(max(x for x, _ in place.values()) + BOX / 2 + MARGIN)
    tall = max(y for _, y in place.values()) + HEIGHT + MARGIN
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{tall}" '
             f'viewBox="0 0 {wide} {tall}">',
             "<title>The rooms of the kernel: each uses those that its arrows lead to</title>",
             f"<style>{STYLE}</style>",
             '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" '
             'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>']
    parts += [line(way, place) for way in routes(direct)]
    for room in rooms:
        x, y = place[(room,)]
        parts.append(f'<rect x="{x - BOX / 2:.0f}" y="{y:.0f}" width="{BOX}" height="{HEIGHT}" '
                     f'rx="4"/><text x="{x:.0f}" y="{y + 20:.0f}">{room}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main() -> int:
    files = sources()
    if sys.argv[1:] == ["--draw"]:
        PICTURE.write_text(draw(arrows(files)), encoding="utf-8")
        return 0
    wrong = [text for path in files if path.suffix != ".asm"
             for text in violations(path, path.read_text(encoding="utf-8"))]
    wrong += upward(calls(files)) + circle(LAYERS)
    wrong += [f"{name} calls in a circle" for name in file_circles(calls(files))]
    wrong += up_the_ladder(link_uses())
    print("\n".join(wrong) or "every room keeps to its rules")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
