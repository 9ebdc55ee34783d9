"""Short puts that are sent several to a frame (net/link/batch.c), between booted nodes."""
from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.messages

CASES = ("order", "computes", "looks", "leaves")


@pytest.mark.every_link
@pytest.mark.spin(2)
@pytest.mark.parametrize("case", CASES)
def test_short_puts(margay, app, case):
    """Each arrives once, in order and soon, whatever the sender does afterwards."""
    assert margay("run", "-n", 2, "--no-prefix", app("ptl_batch"), case).ok().lines == [
        f"ok {case}"]


@pytest.mark.own_link
@pytest.mark.spin(2)
@pytest.mark.parametrize("options", [
    ("--control", "poll"), ("--control", "watchdog"), ("--auth",),
    ("--crc", "--faults", "loss=5%,dup=5%,reorder=5%,damage=2%,seed=11")],
    ids=["poll", "watchdog", "auth", "faults"])
@pytest.mark.parametrize("case", ["order", "looks"])
def test_short_puts_otherwise(margay, app, case, options):
    margay("run", "--link", "virtio", "-n", 2, "--no-prefix", *options, app("ptl_batch"),
           case).ok()


@pytest.mark.own_link
@pytest.mark.spin(2)
def test_a_burst_takes_few_frames(margay, app, tmp_path):
    report = tmp_path / "run.json"
    margay("run", "--link", "virtio", "--direct", "-n", 2, "--json", report, app("ptl_batch"),
           "order").ok()
    for rank in json.loads(report.read_text())["ranks"]:
        stats = rank["stats"]
        assert stats["batches"] > 0 and stats["batched"] > stats["messages"] / 2
        assert stats["frames_out"] < stats["messages"] / 2
