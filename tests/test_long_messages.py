"""Long messages over virtio cards: the second card of each node puts their payload where it
belongs (net/link/bulk.c). Copied bytes, correct contents, and the effect of faults."""
from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.messages

PART = 65472                   # bytes of a part that is not the last


def send_counted(margay, app, tmp_path, nodes: int, size: int, count: int,
                 *options: object) -> list[dict]:
    """All ranks' counters after each of the others has sent `count` messages to rank 0."""
    report = tmp_path / "run.json"
    run = margay("run", "--link", "virtio", "-n", nodes, "--json", report, "--no-prefix", *options,
                 app("ptl_long"), size, count).ok()
    assert run.lines == [f"took {(nodes - 1) * count}"]
    return [rank["stats"] for rank in json.loads(report.read_text())["ranks"]]


def send_long(*arguments: object) -> dict:
    """The same, rank 0's."""
    return send_counted(*arguments)[0]


@pytest.mark.parametrize("joined", [["--direct"], []], ids=["direct", "switch"])
def test_megabytes_arrive_without_a_copy(margay, app, tmp_path, joined):
    """On a busy host a node may be stopped for longer than its peer waits, and then a part is
    sent again. No other part is moved. Retransmitted parts show in the bytes of frames, as all
    headers together are shorter than a part."""
    counters, sender = send_counted(margay, app, tmp_path, 2, 1 << 20, 30, *joined)
    assert sender["copied_out"] == 0 and sender["bytes_out"] > 29 << 20
    moved = counters["parts_pulled"] + counters["parts_moved"]
    assert counters["copied_in"] <= 0.02 * counters["bytes_in"] + moved * PART
    assert counters["parts_placed"] + moved >= 16 * 30
    is_sent_again = sender["frame_bytes_out"] - sender["bytes_out"] > PART
    assert moved == 0 or is_sent_again


@pytest.mark.parametrize("options", [["--no-bulk"], ["--link", "e1000"], ["--link", "e1000e"]],
                         ids=["virtio", "e1000", "e1000e"])
def test_without_a_second_card_there_is_one_copy(margay, app, tmp_path, options):
    """One copy at the receiver, none at the sender."""
    counters, sender = send_counted(margay, app, tmp_path, 2, 1 << 20, 10, *options)
    assert counters["parts_placed"] == 0
    assert 0.95 < counters["copied_in"] / counters["bytes_in"] <= 1
    assert sender["copied_out"] == 0 and sender["bytes_out"] > 9 << 20


@pytest.mark.parametrize("control", ["interrupt", "poll", "watchdog"])
def test_whatever_tells_of_arrivals(margay, app, tmp_path, control):
    counters = send_long(margay, app, tmp_path, 3, 200_000, 20, "--control", control)
    assert counters["parts_placed"] > 0


@pytest.mark.nodes(16)
def test_fifteen_send_to_one(margay, app, tmp_path):
    counters = send_long(margay, app, tmp_path, 16, 262_144, 8, "--mem", 32)
    assert counters["copied_in"] <= 0.1 * counters["bytes_in"]


FAULTS = ["loss=1%", "dup=2%", "reorder=2%", "damage=1%", "delay=1%:3000us",
          "loss=5%,dup=5%,reorder=5%,damage=2%,delay=2%:3000us"]


@pytest.mark.parametrize("faults", FAULTS)
@pytest.mark.parametrize("sum_of", ["--crc", "--auth"])
def test_right_to_the_byte_whatever_the_wire_does(margay, app, tmp_path, faults, sum_of):
    counters = send_long(margay, app, tmp_path, 2, 500_000, 15, sum_of, "--faults",
                         f"{faults},seed=5")
    assert counters["parts_placed"] + counters["parts_pulled"] > 0


def test_instructions_of_a_received_byte(margay, app):
    """Without a copy a node executes fewer instructions. With --icount an instruction takes 1
    ns."""
    def instructions(*words: object) -> float:
        run = margay("run", "-n", 2, "--icount", "--link", "virtio", "--direct", "--no-prefix", *words,
                     app("received"), 1 << 20, 40).ok()
        return float(run.prints(r"^busy_ns_per_byte ([0-9.]+)$").group(1))

    placed, copied = instructions("--cards", 2, "--kernel", "bulk=1"), instructions("--cards", 1)
    print(f"instructions per byte: {placed} placed, {copied} copied")
    assert placed < 0.1 and placed < copied / 3
