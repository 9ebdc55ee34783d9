"""The pictures of the libraries in lib/ are drawn from the committed data."""
from __future__ import annotations

import importlib.util
import json
import sys

import pytest

from harness import ROOT

sys.path.insert(0, str(ROOT / "tests" / "bench"))
import figures  # noqa: E402
import systems_figures as systems  # noqa: E402
from core import BenchError  # noqa: E402

pytestmark = pytest.mark.bench

WITH_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None
DEBIAN_12 = "3.6.3"            # of matplotlib; another version may write other bytes


@pytest.mark.parametrize("folder", systems.PICTURES)
@pytest.mark.skipif(not WITH_MATPLOTLIB, reason="python3-matplotlib is not installed (make figures "
                    "installs it)")
def test_pictures_and_captions_are_up_to_date(folder):
    import drawing
    import matplotlib
    if matplotlib.__version__ != DEBIAN_12:
        pytest.skip(f"matplotlib {matplotlib.__version__} may draw other bytes")
    data = figures.Data(systems.OWN)
    pictures = systems.drawn(folder, data)
    page = ROOT / "lib" / folder / "README.md"
    for name, picture in pictures.items():
        assert page.with_name(f"{name}.svg").read_bytes() == drawing.svg(picture)
    text = page.read_text(encoding="utf-8")
    assert figures.rewritten(text, pictures, data, False) == text
    assert all(f"]({name}.svg)" in text for name in pictures)


def test_data_of_other_libraries_stay(tmp_path, monkeypatch):
    row = {"median": 1.0, "min": 1.0, "max": 1.0, "unit": "us", "runs": 1, "limit": 1.0, "aim": None}
    report = {"machine": "m", "date": "d", "commit": "c", "command": "x",
              "figures": {"madeleine_shm_half_rtt_us_16": row, "nx_shm_gsync_2_us": row}}
    bench = tmp_path / "bench.json"
    monkeypatch.setattr(systems, "OWN", tmp_path / "systems.json")
    systems.OWN.write_text(json.dumps({"figures": {"older": row}}))
    bench.write_text(json.dumps(report))
    systems.take(bench, "a note")
    kept = json.loads(systems.OWN.read_text())
    assert set(kept["figures"]) == {"older", "madeleine_shm_half_rtt_us_16"}
    assert kept["note"] == "a note"
    bench.write_text(json.dumps({**report, "figures": {}}))
    with pytest.raises(BenchError, match="has no figure"):
        systems.take(bench, "")
