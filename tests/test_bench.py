"""Each group of `make bench` over network cards runs and prints what it should; no figure is judged."""
from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from harness import BUILD, ROOT

pytestmark = [pytest.mark.bench, pytest.mark.spin(2)]

SHARES = ("order", "buffers", "faults", "frame", "portals", "call")
GROUPS = {
    "link_latency": ("virtio_raw_half_rtt_us", "virtio_put_8B_half_rtt_us",
                     "virtio_put_1024B_blocking_us"),
    "link_streams": ("virtio_raw_MBps", "virtio_raw_copied_MBps", "virtio_raw_rate_per_s",
                     "virtio_put_rate_8B_per_s",
                     *(f"virtio_put_MBps_{size}" for size in (1024, 4096, 65536, 1048576))),
    "link_copies": ("virtio_copied_tx_per_byte", "virtio_copied_rx_per_byte",
                    "virtio_peer_bytes", "virtio_peer_bytes_silent"),
    "link_losses": ("virtio_put_MBps_1048576_loss_0.1", "virtio_put_MBps_1048576_loss_1"),
    "link_incast": ("virtio_raw_incast15_MBps", "virtio_incast15_MBps",
                    "virtio_incast15_slowest_share"),
    "link_bypass": tuple(f"virtio_bypass_{size}KB_{what}_ms_{work}" for size in (50, 500)
                         for what in ("wait", "post") for work in (0, 1)),
    "link_controls": ("virtio_watchdog_put_8B_half_rtt_us", "virtio_watchdog_bypass_50KB_wait_ms_20",
                      "virtio_watchdog_put_MBps_1024"),
    "far_division": ("insn_put_far", "insn_arrival_far", "insn_tx_8B_driver", *(
        f"insn_{way}{share}" for way in ("tx_8B", "rx_8B", "rx_ack")
        for share in ("", *(f"_{share}" for share in SHARES)))),
}
MAY_BE_ZERO = re.compile("copied|silent|insn_.*_(buffers|order|call|portals)")


def bench(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run(["/usr/bin/python3", str(ROOT / "tests" / "bench" / "bench.py"), "--quick",
                           "--runs", "1", "--markdown", *words],
                          capture_output=True, text=True, check=False)


@pytest.fixture(scope="module", autouse=True)
def made():
    assert (BUILD / "bench" / "far.elf").exists(), "make bench-apps"


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_prints_its_figures(group, tmp_path):
    output = tmp_path / "bench.json"
    done = bench("--group", group, "--link", "virtio", "--output", str(output))
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(output.read_text())["figures"]
    for name in GROUPS[group]:
        figure = figures[name]
        assert figure["median"] > 0 or (figure["median"] == 0 and MAY_BE_ZERO.search(name)), name
        assert figure["min"] <= figure["median"] <= figure["max"] and figure["runs"] >= 1
        assert f"|{name}|" in done.stdout


def test_a_group_that_is_not_there(tmp_path):
    output = tmp_path / "bench.json"
    done = bench("--group", "no_such_group", "--output", str(output))
    assert done.returncode == 2 and "invalid choice" in done.stderr and not output.exists()


def test_every_link_of_the_launcher_with_cards_is_measured():
    names = subprocess.run(
        ["/usr/bin/python3", "-c",
         f"import sys; sys.path[:0] = [{str(ROOT / 'tests/bench')!r}, {str(ROOT / 'tools')!r}]\n"
         "import cards; from margaylib.links import CARDS; print(set(cards.LINKS) == set(CARDS))"],
        capture_output=True, text=True, check=True)
    assert names.stdout == "True\n"


def test_figures_come_into_the_pages():
    """`make bench-pages`: every place is known, and is filled with what was measured."""
    sys.path.insert(0, str(ROOT / "tests" / "bench"))
    import tables
    figure = {"median": 41.5, "min": 40.0, "max": 45.25, "unit": "us", "runs": 5, "limit": None,
              "aim": "<= 1"}
    names = [*(f"{link}_{row}" for link in tables.LINKS for row in tables.LINK_ROWS),
             "virtio_bypass_50KB_wait_ms_10", "virtio_put_MBps_1048576_loss_1", "insn_tx_8B",
             "virtio_poll_put_MBps_1024", "virtio_interrupt_put_MBps_1024", "shm_put_MBps_16",
             "e1000e_raw_MBps_9014_switch_2"]
    report = {"date": "2026-01-01", "machine": "a machine", "commit": "abc",
              "figures": dict.fromkeys(names, figure)}
    places = set()
    for page in tables.PAGES:
        text = page.read_text()
        places |= {name for _, name, _ in tables.PLACE.findall(text)}
        made = tables.rewritten(text, report)
        assert made.count("2026-01-01, a machine, commit abc:\n\n") == len(tables.PLACE.findall(text))
        assert tables.rewritten(made, report) == made
        assert tables.rewritten(text, {**report, "figures": {}}) == text
    assert places == set(tables.TABLES)
    assert "|put_8B_half_rtt_us|41.5 (40 to 45.2)|" in tables.links(report["figures"])
    front = tables.front(report["figures"])
    assert "|shm_put_MBps_16|41.5|40|45.2|us||<= 1|" in front and "setups" not in front
    assert "_switch_2" not in front and "poll" not in front
