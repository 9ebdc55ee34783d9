"""The pictures of Fast Messages: lib/fm/README.md and docs/ are of the committed data."""
from __future__ import annotations

import re
import sys

import pytest

from harness import ROOT

sys.path.insert(0, str(ROOT / "tests" / "bench"))

import fm  # noqa: E402
import fm_figures  # noqa: E402
import mpi  # noqa: E402
from core import Bench  # noqa: E402

pytestmark = pytest.mark.bench
TAKEN = (fm_figures.TOP / fm_figures.FM).exists()
taken = pytest.mark.skipif(not TAKEN, reason=f"{fm_figures.FM} is not there: {fm_figures.MEASURE}")
DEBIAN_12 = "3.6.3"                              # matplotlib's version, by which they are drawn


class Recording(Bench):
    """Measures nothing; records the names of figures."""

    def margay(self, *args: str, cpu: int | None = None) -> dict[str, float]:
        return {"MBps": 1.0}


def test_every_curve_is_of_figures_that_are_measured():
    bench = Recording(1, "")
    fm.streams(bench, "shm", "fm.elf", {1: "match1.elf", 2: "match2.elf"})
    mpi.streams(bench, "mpi.elf", "shm")
    for picture in fm_figures.PICTURES.values():
        for panel in picture.panels:
            for curve in panel.curves:
                found = [name for name in bench.figures
                         if re.fullmatch(curve.sources[0].pattern, name)]
                sizes = mpi.STREAMS if curve.name.startswith("mpi") else fm.SIZES
                assert len(found) == len(sizes), curve.name


def test_aims():
    assert [fm.least(fm.OF_PUTS, size) for size in (512, 1024, 4096)] == [None, 85, 85]
    assert [fm.least(fm.OF_TWO, size) for size in (16, 256, 512)] == [70, 70, 90]


@taken
def test_the_page_shows_the_pictures_of_the_data():
    text = fm_figures.PAGE.read_text()
    assert fm_figures.page_of(text, fm_figures.FmData()) == text, "make figures"
    for name in fm_figures.PICTURES:
        assert f"](../../docs/{name}.svg)" in text


@taken
@pytest.mark.parametrize("name", fm_figures.PICTURES)
def test_committed_pictures_are_of_the_committed_data(name):
    matplotlib = pytest.importorskip("matplotlib")
    if matplotlib.__version__ != DEBIAN_12:
        pytest.skip(f"matplotlib {matplotlib.__version__} may draw other bytes than {DEBIAN_12}")
    import drawing
    drawn = fm_figures.FmData().draw(fm_figures.PICTURES[name], name)
    assert drawing.svg(drawn) == (fm_figures.DOCS / f"{name}.svg").read_bytes(), "make figures"
