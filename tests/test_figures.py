"""`make figures`: curves and bytes of the pictures, captions, and data that cannot be drawn."""
from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml
from collections import defaultdict

import pytest

from harness import ROOT

sys.path.insert(0, str(ROOT / "tests" / "bench"))
import cards  # noqa: E402
import core  # noqa: E402
import figures  # noqa: E402
import mpi  # noqa: E402
import native  # noqa: E402
import tables  # noqa: E402

pytestmark = pytest.mark.bench

WITH_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None
drawing_wanted = pytest.mark.skipif(not WITH_MATPLOTLIB, reason="python3-matplotlib is not "
                                    "installed (make figures installs it)")
if WITH_MATPLOTLIB:
    import drawing
    import matplotlib
DEBIAN_12 = "3.6.3"            # of matplotlib; another version may write other bytes
WORKS = (0, 1, 10, 200)
SIZES = (16, 1024, 65536)


def row(median: float, unit: str, limit: float | None = None) -> dict:
    return {"median": median, "min": median * 0.9, "max": median * 1.1, "unit": unit, "runs": 3,
            "limit": limit}


def own() -> dict:
    """Our numbers: waits of 8, 4, 1 and 0 ms, and half of a put's bandwidth."""
    made = {}
    for link in ("shm", "virtio"):
        for work, wait in zip(WORKS, (8.0, 4.0, 1.0, 0.0)):
            made[f"mpi_{link}_bypass_50KB_wait_ms_{work}"] = row(wait, "ms")
        for size in SIZES:
            made[f"mpi_{link}_send_MBps_{size}"] = row(size / 100, "MB/s", size / 50)
    for work in WORKS:
        made[f"virtio_bypass_50KB_wait_ms_{work}"] = row(0.5, "ms")
    return {"machine": "a machine", "date": "2026-01-01", "commit": "abc",
            "command": "make bench ARGS='--runs 3'", "figures": made}


def peers() -> list[dict]:
    guests = {}
    for other in ("mpich", "ompi"):
        for work in (0, 10, 200):
            guests[f"{other}_bypass_50000B_work{work}ms_wait_med"] = {"value": 20000, "unit": "us"}
        for size in (1024, 65536):
            guests[f"{other}_bw_{size}B_med"] = {"value": size / 1000, "unit": "MB/s"}
    guests["ompi_rndv_bypass_50000B_work0ms_wait_med"] = {"value": 15000, "unit": "us"}
    guests["raw_tcpstream_1024B"] = {"value": 4.096, "unit": "MB/s"}
    guests["host_mpich_bw_1024B_med"] = {"value": 7, "unit": "MB/s"}
    native = {f"native_ompi_MBps_{size}": {"value": size, "unit": "MB/s"} for size in SIZES}
    said = {"machine": "theirs", "how": "measured"}
    return [{"what": "linux", "date": "2026-01-02", "figures": guests, **said},
            {"what": "native", "date": "2026-01-03", "figures": native, **said}]


@pytest.fixture
def data(tmp_path):
    """Makes the Data of two files, whose contents may be changed before."""
    def make(ours: object = None, others: object = None) -> figures.Data:
        paths = tmp_path / "own.json", tmp_path / "peers.json"
        for path, content in zip(paths, (own() if ours is None else ours,
                                         peers() if others is None else others)):
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        return figures.Data(*paths)
    return make


def points(data: figures.Data, picture: str, curve: str) -> list[tuple[float, float]]:
    return [(point.x, point.y) for point in data.drawn(picture).points[curve]]


# ---- what is drawn ----

def test_points_are_the_figures_in_the_units_of_the_picture(data):
    made = data()
    assert points(made, "wait", "mpi-virtio") == [(0, 8), (1, 4), (10, 1), (200, 0)]
    assert points(made, "wait", "put-virtio") == [(work, 0.5) for work in WORKS]
    assert points(made, "wait", "guest-mpich") == [(0, 20), (10, 20), (200, 20)]
    assert points(made, "bandwidth", "mpi-shm") == [(size, size / 100) for size in SIZES]
    assert points(made, "bandwidth", "put-shm") == [(size, size / 50) for size in SIZES]
    assert points(made, "share", "mpi-shm") == [(size, 50) for size in SIZES]
    assert points(made, "share", "guest-ompi") == [(1024, 25)]       # TCP has no other size
    first = made.drawn("bandwidth").points["mpi-shm"][0]
    assert (first.low, first.high) == (pytest.approx(0.144), pytest.approx(0.176))


def test_the_host_itself_is_the_own_measurement_or_the_peers(data):
    made = data()
    assert points(made, "bandwidth", "native-ompi") == [(size, size) for size in SIZES]
    assert points(made, "bandwidth", "native-mpich") == [(1024, 7)]


def test_a_curve_without_figures_is_left_out_and_named(data):
    others = peers()
    del others[0]["figures"]["ompi_rndv_bypass_50000B_work0ms_wait_med"]
    made = data(others=others)
    drawn = made.drawn("wait")
    assert drawn.left_out == ("Open MPI on Linux, rendezvous (virtio-net)",
                              "MPICH on the host itself (shared memory)",
                              "Open MPI on the host itself (shared memory)")
    assert "guest-ompi-rndv" not in drawn.points
    said = figures.caption("wait", drawn, made, front=False)
    assert "Not measured and so not drawn: Open MPI on Linux, rendezvous (virtio-net), MPICH" in said
    assert not data().drawn("share").left_out


def test_a_link_that_was_not_measured_has_no_panel_of_its_own(data):
    ours = own()
    ours["figures"] = {name: value for name, value in ours["figures"].items() if "shm" not in name}
    drawn = data(ours, peers()[:1]).drawn("wait")
    assert [panel.title for panel in drawn.picture.panels] == ["virtio-net"]
    assert "MPI on Margay (shared memory)" in drawn.left_out


class Recording(core.Bench):
    """Measures nothing; records the commands and the names of figures."""

    def __init__(self) -> None:
        super().__init__(3, "", ("virtio",))
        self.commands: list[tuple[str, ...]] = []

    def margay(self, *args: str, cpu: int | None = None) -> dict[str, float]:
        self.commands.append(args)
        return defaultdict(lambda: 1.0)


def test_every_curve_is_of_figures_that_are_measured(monkeypatch):
    """By make bench, by make bench-peers ARGS=--native, or once by the peers."""
    bench = Recording()
    for link in mpi.LINKS:
        mpi.streams(bench, "mpi.elf", link)
    mpi.bypass(bench, "mpi.elf")
    cards.link_bypass(bench)
    monkeypatch.setattr(native, "run", lambda *words: defaultdict(lambda: 1.0))
    names = {"ours": list(bench.figures),
             "native": [name for kind in native.COMMANDS for name in native.one_pass(kind, None)],
             "guests": list(tables.kept_peers()["figures"])}
    for picture in figures.PICTURES.values():
        for panel in picture.panels:
            for curve in panel.curves:
                source = curve.sources[0]
                found = [name for name in names[source.which]
                         if re.fullmatch(source.pattern, name)]
                assert len(found) >= 3, (curve.name, source.pattern)
    assert len(bench.figures["mpi_virtio_send_MBps_1024"].limits) == 1
    # Over a card MPI and puts use the same set-up as the peers' guests: no switch.
    assert all("--direct" in words for words in bench.commands if "virtio" in words)


def shapes(text: bytes) -> dict[str, xml.Element]:
    return {name: one for one in xml.fromstring(text).iter() if (name := one.get("id"))}


@drawing_wanted
@pytest.mark.parametrize("name", figures.PICTURES)
def test_a_picture_has_its_curves_and_labels(data, name):
    drawn = data().drawn(name)
    found = shapes(drawing.svg(drawn))
    assert {key.removeprefix("curve-") for key in found if key.startswith("curve-")} == \
        set(drawn.points)
    for panel in drawn.picture.panels:
        for curve in panel.curves:
            line = next(one for one in found[f"curve-{curve.name}"].iter()
                        if one.tag.endswith("path"))
            assert len(re.findall("[ML]", line.get("d"))) == len(drawn.points[curve.name])
            lines = [one for key, one in found.items()
                     if re.fullmatch(rf"label-{curve.name}(-\d)?", key)]
            assert "\n".join("".join(one.itertext()).strip() for one in lines) == curve.label
    assert "".join(found["title"].itertext()).strip() == drawn.picture.title


@drawing_wanted
@pytest.mark.parametrize("name", figures.PICTURES)
def test_more_is_higher(data, name):
    """The points of a curve correspond to its figures (y grows downwards in a picture)."""
    drawn = data().drawn(name)
    found = shapes(drawing.svg(drawn))
    for curve, known in drawn.points.items():
        line = next(one for one in found[f"curve-{curve}"].iter() if one.tag.endswith("path"))
        at = [tuple(map(float, pair))
              for pair in re.findall(r"[ML] ([\d.]+) ([\d.]+)", line.get("d"))]
        for (x, y), (next_x, next_y), one, other in zip(at, at[1:], known, known[1:]):
            assert next_x > x
            assert (next_y - y) * (other.y - one.y) < 0 or other.y == pytest.approx(one.y)


@drawing_wanted
@pytest.mark.parametrize("name", figures.PICTURES)
def test_unusual_figures_stay_within_the_picture(data, name):
    """Sizes and works beyond the ticks, waits of seconds, bandwidths of 0, one point alone."""
    ours, others = own(), peers()
    for link in ("shm", "virtio"):
        ours["figures"] |= {
            f"mpi_{link}_bypass_50KB_wait_ms_5000": row(30000, "ms"),
            f"mpi_{link}_send_MBps_1": {**row(0.5, "MB/s", 0.1), "min": 0},
            f"mpi_{link}_send_MBps_2": row(0, "MB/s", 0.1),
            f"mpi_{link}_send_MBps_{1 << 30}": row(1e6, "MB/s", 1e4)}
    drawn = data(ours, others).drawn(name)
    for key, group in shapes(drawing.svg(drawn)).items():
        if re.match("curve|spread|leader", key):
            for line in (one for one in group.iter() if one.tag.endswith("path")):
                if line.get("clip-path") or line.get("id"):
                    continue                     # a marker's own shape is around its middle
                for x, y in re.findall(r"[ML] ([-\d.]+) ([-\d.]+)", line.get("d")):
                    assert 0 <= float(x) <= 684 and 0 <= float(y) <= 288, key


@drawing_wanted
def test_every_colour_has_a_second_one_for_dark_pages(data):
    for name in figures.PICTURES:
        text = drawing.svg(data().drawn(name)).decode()
        body = text.partition("</style>")[2]
        used = set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", body))
        assert used and used <= set(drawing.DARK)
        for colour in used:
            assert f'[style*="fill: {colour}"]' in text and f'[style*="stroke: {colour}"]' in text
        for group in shapes(text.encode()).values():            # no text is black by default
            for one in group.iter("{http://www.w3.org/2000/svg}text"):
                assert "fill: #" in one.get("style")


SAME = """
import sys, hashlib
sys.path.insert(0, sys.argv[1])
import drawing, figures, pathlib
data = figures.Data(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
for name in figures.PICTURES:
    print(hashlib.sha256(drawing.svg(data.drawn(name))).hexdigest())
"""


@drawing_wanted
def test_same_data_gives_the_same_bytes(data, tmp_path):
    """In this process and in others, whatever order their sets have."""
    made = data()
    here = [hashlib.sha256(drawing.svg(made.drawn(name))).hexdigest() for name in figures.PICTURES]
    for seed in ("1", "2"):
        done = subprocess.run([sys.executable, "-c", SAME, str(ROOT / "tests/bench"),
                               str(tmp_path / "own.json"), str(tmp_path / "peers.json")],
                              env={**os.environ, "PYTHONHASHSEED": seed}, check=True,
                              capture_output=True, text=True)
        assert done.stdout.split() == here


@drawing_wanted
def test_labels_do_not_cover_each_other():
    for wanted in ([0, 0, 0, 0], [170, 171, 172], [-5, 90, 91, 400], [80]):
        tall = [25.0] * len(wanted)
        places = drawing.spread([float(want) for want in wanted], tall, 190)
        assert all(after - before >= 24.9 for before, after in zip(places, places[1:]))
        assert -7 <= places[0] - 12.5 and places[-1] + 12.5 <= 197


# ---- data that cannot be drawn ----

def changed(make, **changes) -> dict:
    made = make()
    made.update(changes)
    return made


def with_figure(name: str, value: object) -> dict:
    made = own()
    made["figures"][name] = value
    return made


@pytest.mark.parametrize("ours, why", [
    ("{", "is no JSON"), ("[]", "is no table"), (changed(own, date=""), "does not say its date"),
    (changed(own, command=None), "does not say its command"),
    (changed(own, figures=[]), "has no figures"),
    (changed(own, figures={}), "has no figure mpi_virtio_bypass_50KB"),
    (with_figure("mpi_shm_bypass_50KB_wait_ms_5", row(1, "us")), "is not in ms"),
    (with_figure("mpi_shm_bypass_50KB_wait_ms_5", 7), "is not in ms"),
    (with_figure("mpi_shm_bypass_50KB_wait_ms_5", {"unit": "ms", "median": "much"}),
     "median of mpi_shm_bypass_50KB_wait_ms_5 is 'much', which is no figure"),
    (with_figure("mpi_shm_bypass_50KB_wait_ms_5", row(-1, "ms")), "is -1, which is no figure"),
    (with_figure("mpi_shm_bypass_50KB_wait_ms_5", row(float("nan"), "ms")), "is nan, which is no")])
def test_our_bad_data_is_refused(data, ours, why):
    with pytest.raises(figures.FiguresError, match=re.escape(why)) as error:
        data(ours).drawn("wait")
    assert "make bench ARGS='--runs 3', then make figures ARGS=--take" in error.value.args[1]


@pytest.mark.parametrize("others, why", [
    ("nothing", "is no JSON"), ("{}", "is no list"), ([7], "is no list"),
    ([{"what": "linux", "figures": {}}], "does not say its machine"),
    ([changed(lambda: peers()[0], figures={"mpich_bypass_50000B_work0ms_wait_med":
                                           {"value": 1, "unit": "ms"}})], "is not in us")])
def test_bad_data_of_peers_is_refused(data, others, why):
    with pytest.raises(figures.FiguresError, match=re.escape(why)) as error:
        data(None, others).drawn("wait")
    assert "make bench-peers" in error.value.args[1]


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(figures.FiguresError, match="is not there") as error:
        figures.Data(tmp_path / "none.json")
    assert "make bench" in error.value.args[1]


def test_without_matplotlib_the_package_is_named():
    done = subprocess.run([sys.executable, "-c", "import sys\nsys.modules['matplotlib'] = None\n"
                           f"sys.path.insert(0, {str(ROOT / 'tests/bench')!r})\n"
                           "sys.argv = ['figures.py']\nimport runpy\n"
                           f"runpy.run_path({str(ROOT / 'tests/bench/figures.py')!r}, "
                           "run_name='__main__')"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == ("figures: python3-matplotlib is not installed\n"
                           "figures: as root: apt-get install python3-matplotlib\n")


# ---- taking a run ----

def report(**changes) -> dict:
    made = changed(own, **changes)
    for name, value in made["figures"].items():
        value["aim"] = "<= 1"
    made["figures"]["shm_raw_half_rtt_us"] = {**row(1, "us"), "min": 0.99, "max": 1.01, "aim": None}
    made["figures"]["image_bytes"] = {**row(1, "bytes"), "aim": None}
    return made


def test_a_quiet_run_is_taken(data, tmp_path):
    source, target = tmp_path / "bench.json", tmp_path / "figures.json"
    source.write_text(json.dumps(report()))
    figures.take(source, target, "odd")
    taken = json.loads(target.read_text())
    assert taken == {**own(), "note": "odd"}     # no figure or key that is not drawn
    assert data(taken).drawn("wait") == data().drawn("wait")


@pytest.mark.parametrize("spoil, why", [
    (lambda made: made.update(commit="abc-dirty"), "abc-dirty.*commit, and measure anew"),
    (lambda made: made["figures"]["shm_raw_half_rtt_us"].update(max=1.2),
     "nothing is written.*shm_raw_half_rtt_us was 1 .*on a quiet machine"),
    (lambda made: made["figures"].pop("shm_raw_half_rtt_us"), "no raw figure was measured")])
def test_a_run_that_says_little_is_not_taken(tmp_path, spoil, why):
    source, target = tmp_path / "bench.json", tmp_path / "figures.json"
    target.write_text("old")
    made = report()
    spoil(made)
    source.write_text(json.dumps(made))
    with pytest.raises(SystemExit, match=f"(?s){why}"):
        figures.take(source, target)
    assert target.read_text() == "old"


def test_a_run_without_mpi_is_not_taken(tmp_path):
    source, target = tmp_path / "bench.json", tmp_path / "figures.json"
    made = report()
    made["figures"] = {name: value for name, value in made["figures"].items()
                       if not name.startswith("mpi_")}
    source.write_text(json.dumps(made))
    with pytest.raises(figures.FiguresError, match="has no figure of MPI") as error:
        figures.take(source, target)
    assert "the group mpi" in error.value.args[1] and not target.exists()
    made = report()
    del made["command"]
    source.write_text(json.dumps(made))
    with pytest.raises(figures.FiguresError, match="does not say with which command"):
        figures.take(source, target)
    with pytest.raises(SystemExit, match="is not there: make bench"):
        figures.take(tmp_path / "nowhere.json", target)


# ---- pages ----

def test_captions_say_what_is_drawn_from_which_run(data):
    made = data()
    page = "before\n<!-- picture: bandwidth -->\nold\n<!-- end of picture -->\nafter\n"
    drawn = {name: made.drawn(name) for name in figures.PICTURES}
    whole = figures.rewritten(page, drawn, made, front=False)
    assert "(bandwidth.svg)" in whole and "old" not in whole
    assert whole.startswith("before\n") and whole.endswith("after\n")
    said = " ".join(whole.split())
    for text in ("2026-01-01, a machine, commit abc, `make bench ARGS='--runs 3'`; medians of 3",
                 "Linux: 2026-01-02, theirs, measured.", "host itself: 2026-01-03, theirs, measured."):
        assert text in said
    assert "not of one machine" in said and "not of one machine" in figures.rewritten(
        page, drawn, made, front=True)
    assert all(len(line) <= 100 for line in whole.split("\n"))
    assert figures.rewritten(whole, drawn, made, front=False) == whole
    assert "(docs/bandwidth.svg)" in figures.rewritten(page, drawn, made, front=True)
    here = [changed(lambda: one, machine="a machine; QEMU") for one in peers()]
    same = data(changed(own, machine="a machine; QEMU", note="Half of it."), here)
    whole = figures.rewritten(page, drawn, same, front=False)
    assert "not of one machine" not in whole and "largest. Half of it." in " ".join(whole.split())
    assert "Half of it." in " ".join(figures.rewritten(page, drawn, same, front=True).split())
    with pytest.raises(figures.FiguresError, match="picture 'none', which is not known"):
        figures.rewritten(page.replace("bandwidth", "none"), drawn, made, front=True)


def test_pages_show_the_pictures_of_the_data():
    """The README has two of them; the captions are those that `make figures` writes from the two
    files."""
    made = figures.Data()
    drawn = {name: made.drawn(name) for name in figures.PICTURES}
    shown = {}
    for page in tables.PAGES:
        text = page.read_text()
        shown[page.name] = [name for _, name, _ in figures.PLACE.findall(text)]
        assert figures.rewritten(text, drawn, made, page.parent == ROOT) == text, \
            f"{page.name} is not of {figures.OWN} and {figures.PEERS}: make figures"
    assert shown == {"README.md": ["wait", "bandwidth"], "measurements.md": list(figures.PICTURES)}


@drawing_wanted
@pytest.mark.parametrize("name", figures.PICTURES)
def test_committed_pictures_are_of_the_committed_data(name):
    if matplotlib.__version__ != DEBIAN_12:
        pytest.skip(f"matplotlib {matplotlib.__version__} may draw other bytes than {DEBIAN_12}")
    assert drawing.svg(figures.Data().drawn(name)) == (figures.DOCS / f"{name}.svg").read_bytes(), \
        f"docs/{name}.svg is not of {figures.OWN} and {figures.PEERS}: make figures"
