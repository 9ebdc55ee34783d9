"""Draws the pictures of tests/bench/figures.py: `svg` makes one with matplotlib.

The same data gives the same bytes: no date, a fixed salt for the names of shapes, places that do
not depend on the width of letters. Text stays text. Each curve is a group with the id curve-NAME;
its label, in its colour, is beside its last point.

A picture has its own background, and each colour has a second one for dark pages, which CSS rules
select; a viewer without CSS shows the light picture. Colours are close to Okabe and Ito's, which
colour-blind readers can tell apart; markers differ as well.
"""
from __future__ import annotations

import io
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core import BenchError

try:
    import matplotlib
    from matplotlib.axes import Axes
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.ticker import FixedLocator, NullLocator
except ImportError:
    raise BenchError("python3-matplotlib is not installed",
                     "as root: apt-get install python3-matplotlib") from None

if TYPE_CHECKING:
    from figures import Curve, Drawn, Panel, Point

# Colours on light pages, and those on dark ones.
BACKGROUND, INK, QUIET, GRID = "#ffffff", "#1f2328", "#59636f", "#e2e5e9"
BLUE, SKY, RED, GREEN, GREY = "#0072b2", "#2b83bf", "#c44f00", "#00805d", "#77808a"
DARK = {BACKGROUND: "#0d1117", INK: "#e6edf3", QUIET: "#9aa4af", GRID: "#262c34",
        BLUE: "#56b4e9", SKY: "#8fcdf2", RED: "#f0883e", GREEN: "#2fbf94", GREY: "#808a95"}


@dataclass(frozen=True)
class Style:
    colour: str
    width: float               # points
    dashes: str | tuple        # as matplotlib's linestyle
    marker: str
    size: float                # of a marker, points
    ours: bool = False         # stands out: bold, on top, with bars for the spread


STYLES = {
    "own": Style(BLUE, 2.6, "-", "o", 5.5, ours=True),
    "own_other": Style(SKY, 2.6, "-", "D", 5, ours=True),
    "below": Style(BLUE, 0.9, (0, (4, 2)), "", 0),
    "mpich": Style(RED, 1.5, "-", "s", 4.5),
    "ompi": Style(GREEN, 1.5, "-", "^", 5),
    "ompi_other": Style(GREEN, 1.5, (0, (3, 1.5)), "v", 5),
    "native_mpich": Style(GREY, 0.9, "-", "", 0),
    "native_ompi": Style(GREY, 0.9, (0, (1.5, 1.5)), "", 0),
}


@dataclass(frozen=True)
class Axis:
    title: str
    scale: str                 # "log", "linear"; "near_zero": logarithmic, and linear down to 0
    ticks: tuple[float, ...]
    names: tuple[str, ...]
    linear_to: float = 0       # of near_zero


ACROSS = {
    "work": Axis("ms of work", "near_zero", (0, 1, 2, 5, 10, 20, 50, 200),
                 ("0", "1", "2", "5", "10", "20", "50", "200"), 1),
    "size": Axis("bytes of a message", "log", (16, 256, 4096, 65536, 1048576),
                 ("16", "256", "4 K", "64 K", "1 M")),
    "short": Axis("bytes of a message", "log", (4, 16, 64, 256, 512),
                  ("4", "16", "64", "256", "512")),
}
UP = {
    "us": Axis("us", "log", tuple(10.0 ** n for n in range(-2, 6)),
               ("0.01", "0.1", "1", "10", "100", "1,000", "10,000", "100,000")),
    "wait": Axis("ms to wait", "near_zero", (0, 0.01, 0.1, 1, 10, 100, 1000),
                 ("0", "0.01", "0.1", "1", "10", "100", "1000"), 0.01),
    "latency": Axis("us", "log", tuple(10.0 ** n for n in range(-2, 7)),
                    ("0.01", "0.1", "1", "10", "100", "1,000", "10,000", "100,000", "1,000,000")),
    "rate": Axis("MB/s", "log", tuple(10.0 ** n for n in range(-2, 7)),
                 ("0.01", "0.1", "1", "10", "100", "1,000", "10,000", "100,000", "1,000,000")),
    "share": Axis("% of the layer below", "linear", tuple(range(0, 2001, 20)),
                  tuple(str(n) for n in range(0, 2001, 20))),
}

WIDTH, HEIGHT = 684, 288                         # points
LEFT, BOTTOM, TOP, LABELS = 42, 40, 66, 112      # margins of a panel; labels are on its right
MARGIN = 12                                      # left of the titles
TEXT, LINE = 8.5, 11.0                           # size of letters, and of a line of a label
SETTINGS = {
    "svg.fonttype": "none", "svg.hashsalt": "margay", "font.family": "DejaVu Sans",
    "font.size": TEXT, "text.color": INK, "axes.labelcolor": QUIET, "xtick.color": QUIET,
    "ytick.color": QUIET, "path.simplify": False, "axes.unicode_minus": False,
}
FONTS = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"


def svg(drawn: Drawn) -> bytes:
    """One picture. Curves are in drawn.points; a panel without any is not in drawn.picture."""
    picture = drawn.picture
    with matplotlib.rc_context(SETTINGS):
        figure = Figure(figsize=(WIDTH / 72, HEIGHT / 72), facecolor=BACKGROUND)
        FigureCanvasSVG(figure)
        figure.text(MARGIN / WIDTH, 1 - 22 / HEIGHT, picture.title, fontsize=11, weight="bold",
                    gid="title")
        share = WIDTH / len(picture.panels)
        every = [point for points in drawn.points.values() for point in points]
        bounds = (*sides(every, ACROSS[picture.x]), *heights(every, UP[picture.y]))
        for at, panel in enumerate(picture.panels):
            left, width = at * share + LEFT, share - LEFT - LABELS
            axes = figure.add_axes([left / WIDTH, BOTTOM / HEIGHT, width / WIDTH,
                                    (HEIGHT - BOTTOM - TOP) / HEIGHT])
            axes.set_gid(f"panel-{at + 1}")
            prepare(axes, panel, ACROSS[picture.x], UP[picture.y], bounds, width)
            for curve in panel.curves:
                draw(axes, curve, drawn.points[curve.name])
            if picture.y == "share":
                axes.axhline(100, color=INK, linewidth=0.8, gid="line-100")
            label(axes, panel, drawn.points, width)
        made = io.StringIO()
        figure.savefig(made, format="svg", metadata={"Date": None, "Creator": None,
                                                     "Title": picture.title})
    return finished(made.getvalue()).encode()


def sides(points: list[Point], across: Axis) -> tuple[float, float]:
    """The range of the x axis, from its ticks and the data; the same in all panels."""
    first = min(across.ticks[0], *(point.x for point in points))
    last = max(across.ticks[-1], *(point.x for point in points))
    return (first / 1.3 if across.scale == "log" else first - 0.12), last * 1.15


def heights(points: list[Point], up: Axis) -> tuple[float, float]:
    """The range of the y axis, the same in all panels."""
    high = max(point.high if point.high is not None else point.y for point in points)
    if up.scale == "log":
        return min((point.y for point in points if point.y > 0), default=1) / 1.6, high * 1.6
    return 0, max(110, high * 1.05) if up.scale == "linear" else max(1, high * 1.8)


def set_scale(axes: Axes, which: str, axis: Axis) -> None:
    set_it = getattr(axes, f"set_{which}scale")
    if axis.scale == "near_zero":
        set_it("symlog", linthresh=axis.linear_to, linscale=0.5)
    else:
        set_it(axis.scale)


def prepare(axes: Axes, panel: Panel, across: Axis, up: Axis,
            bounds: tuple[float, float, float, float], width: float) -> None:
    """Sets scales, ticks, grid and titles: no frame, only light horizontal lines."""
    set_scale(axes, "x", across)
    set_scale(axes, "y", up)
    axes.axis(bounds)
    for axis, ticks in ((axes.xaxis, across), (axes.yaxis, up)):
        shown = [(tick, name) for tick, name in zip(ticks.ticks, ticks.names)
                 if axis is axes.xaxis or bounds[2] <= tick <= bounds[3]]
        axis.set_major_locator(FixedLocator([tick for tick, _ in shown]))
        axis.set_minor_locator(NullLocator())
        axis.set_ticklabels([name for _, name in shown])
    axes.tick_params(length=0, pad=5)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.patch.set_visible(False)
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(QUIET)
        spine.set_linewidth(0.8)
    axes.set_xlabel(across.title, labelpad=5)
    height = HEIGHT - BOTTOM - TOP
    left = (MARGIN - LEFT) / width
    axes.text(left, 1 + 23 / height, panel.title, weight="bold", transform=axes.transAxes)
    axes.text(left, 1 + 10 / height, up.title, color=QUIET, transform=axes.transAxes)


def draw(axes: Axes, curve: Curve, points: tuple[Point, ...]) -> None:
    """Draws a line through the points; our curves also have bars from the minimum to the
    maximum."""
    style = STYLES[curve.style]
    drawable = [point for point in points if point.y > 0 or axes.get_yscale() != "log"]
    for at, point in enumerate(drawable):
        if style.ours and point.low is not None and point.high is not None:
            low = max(point.low, axes.get_ylim()[0])
            axes.plot([point.x, point.x], [low, point.high], color=style.colour, alpha=0.45,
                      linewidth=style.width, gid=f"spread-{curve.name}-{at}", clip_on=False)
    alone = len(drawable) == 1 and not style.marker
    axes.plot([point.x for point in drawable], [point.y for point in drawable],
              color=style.colour, linewidth=style.width, linestyle=style.dashes,
              marker="_" if alone else style.marker, markersize=10 if alone else style.size,
              markeredgecolor=style.colour if alone else BACKGROUND, markeredgewidth=0.8,
              zorder=4 if style.ours else 3, gid=f"curve-{curve.name}", clip_on=False)


def label(axes: Axes, panel: Panel, points: dict[str, tuple[Point, ...]], width: float) -> None:
    """Writes the curves' names right of the panel, at the height of their ends or as near as
    possible; a thin line joins a curve's end with its name."""
    height = HEIGHT - BOTTOM - TOP
    to_axes = axes.transData + axes.transAxes.inverted()
    ends = []
    for curve in panel.curves:
        last = points[curve.name][-1]
        ends.append((*to_axes.transform((last.x, last.y)), curve))
    ends.sort(key=lambda end: (end[1], end[2].name))
    tall = [(curve.label.count("\n") + 1) * LINE + 3 for _, _, curve in ends]
    for (x, y, curve), middle in zip(ends, spread([y * height for _, y, _ in ends], tall, height)):
        style = STYLES[curve.style]
        place = middle / height
        axes.plot([x + 4 / width, 1 + 6 / width, 1 + 13 / width], [y, place, place],
                  color=style.colour, linewidth=0.6, transform=axes.transAxes, clip_on=False,
                  gid=f"leader-{curve.name}")
        lines = curve.label.split("\n")
        for at, text in enumerate(lines):
            down = (at - (len(lines) - 1) / 2) * LINE + 3
            axes.text(1 + 16 / width, (middle - down) / height, text, color=style.colour,
                      weight="bold" if style.ours else "normal", transform=axes.transAxes,
                      gid=f"label-{curve.name}" + (f"-{at + 1}" if at else ""))


def spread(wanted: list[float], tall: list[float], height: float) -> list[float]:
    """The heights of labels in ascending order, close to the wanted ones but without overlaps."""
    places = list(wanted)
    floor = -6.0
    for at, want in enumerate(wanted):
        places[at] = max(want, floor + tall[at] / 2)
        floor = places[at] + tall[at] / 2
    roof = height + 6.0
    for at in reversed(range(len(places))):
        places[at] = min(places[at], roof - tall[at] / 2)
        roof = places[at] - tall[at] / 2
    return places


def finished(text: str) -> str:
    """Adds the colours of dark pages, and the fonts that a reader's machine has."""
    rules = "".join(f'[style*="{what}: {light}"]{{{what}:{dark} !important}}'
                    for light, dark in DARK.items() for what in ("fill", "stroke"))
    text = text.replace("</style>", f"@media (prefers-color-scheme: dark){{{rules}}}</style>", 1)
    text = text.replace("'DejaVu Sans'", FONTS)
    return re.sub(r"[ \t]+$", "", text, flags=re.M)
