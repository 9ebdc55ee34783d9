"""Raw frames between the network cards of two nodes: the driver, the wire, the launcher."""
from __future__ import annotations

import json
import os
import re
import signal

import pytest

pytestmark = [pytest.mark.nic, pytest.mark.nodes(2), pytest.mark.spin(2)]

RUN = ("run", "-n", 2, "--accel", "tcg")
QUICK = (*RUN, "--link", "virtio", "--selftest", "framesizes")
WHOLE = (*RUN, "--link", "virtio", "--selftest", "frames")
LINKS = ("virtio", "e1000", "e1000e")
SIZES = {"virtio": (1514, 9014, 60014), "e1000": (1514, 9014, 16124),
         "e1000e": (1514, 9014, 32960)}
# On a wire without faults no frame is lost, but on a busy host it may be late: the self-tests'
# streams wait until the test's own deadline.
SURE = ("--kernel", "late=60")
HOSTILE = "loss=5%,dup=5%,reorder=5%,damage=5%,delay=2%:2000us,seed=11"


def figures(run) -> dict[str, float]:
    found = (line.split() for line in run.of_rank(0) if re.match(r"frames_|\w+_raw_", line))
    return {name: float(value) for name, value in found}


def loses_nothing(run) -> None:
    """No raw frame was lost."""
    lost = {name: value for name, value in figures(run.ok()).items()
            if re.search("_raw_.*lost", name)}
    assert lost and not any(lost.values()), f"{lost}\n{run.describe()}"


def whole(run, cards: int = 1) -> None:
    """Every frame of every size arrived over every card, and none for other addresses."""
    got = figures(run.ok())
    for card in range(cards):
        assert got[f"frames_{card}_sent"] > 40, got
        assert got[f"frames_{card}_good"] == got[f"frames_{card}_sent"], got
        assert got[f"frames_{card}_bad"] == 0, got
    assert got["frames_strangers"] == 0, got
    assert any("hello from rank 1" in line for line in run.of_rank(1))


@pytest.mark.parametrize("machine", ["microvm", "q35", "pc"])
@pytest.mark.parametrize("link", LINKS)
def test_frames_of_all_sizes_over_the_switch(margay, app, tmp_path, link, machine):
    report = tmp_path / "run.json"
    run = margay(*RUN, "--link", link, "--selftest", "framesizes", "--machine", machine,
                 "--json", report, app("hello"))
    whole(run)
    ports = json.loads(report.read_text())["switch"]["ports"]
    assert [port["node"] for port in ports] == [0, 1]
    assert ports[0]["unknown"] == 10 and ports[0]["forged"] == 0
    assert ports[1]["frames_out"] >= figures(run)["frames_0_sent"]


@pytest.mark.parametrize("link", LINKS)
def test_frames_without_a_switch_meet_the_cards_filter(margay, app, link):
    """Joined directly, a card also sees frames for others, and must drop them."""
    whole(margay(*RUN, "--link", link, "--selftest", "framesizes", "--direct", app("hello")))


@pytest.mark.parametrize("longest, steps", [(9230, 45), (16380, 50), (32960, 66), (65532, 76)])
def test_frames_as_long_as_a_boards_card_takes_and_as_the_emulated_one(margay, app, longest, steps):
    """Lengths grow by an eighth each, so the number of frames shows the longest."""
    run = margay(*RUN, "--link", "e1000e", "--selftest", "framesizes", "--kernel",
                 f"longest={longest}", app("hello"))
    whole(run)
    assert figures(run)["frames_0_sent"] == steps


@pytest.mark.parametrize("link, longest, why", [
    ("e1000e", 65533, "longest= must be 1514 to 65532 bytes"), ("e1000", 1513, "longest= must be"),
    ("virtio", 9230, "it reports its longest frame itself; longest= needs Intel's cards")])
def test_a_longest_frame_that_cannot_be(margay, app, link, longest, why):
    run = margay(*RUN, "--link", link, "--kernel", f"longest={longest}", app("hello"))
    assert run.returncode != 0
    run.says(f"kernel panic: network card 0 cannot be used: {why}")


@pytest.mark.parametrize("link", LINKS)
def test_several_cards(margay, app, tmp_path, link):
    report = tmp_path / "run.json"
    whole(margay(*RUN, "--link", link, "--selftest", "framesizes", "--cards", 4, "--json", report,
                 app("hello")), 4)
    ports = json.loads(report.read_text())["switch"]["ports"]
    assert [(port["node"], port["card"]) for port in ports] == [
        (node, card) for node in range(2) for card in range(4)]
    assert all(port["frames_out"] > 40 for port in ports if port["node"] == 1)


@pytest.mark.parametrize("link", LINKS)
def test_figures(margay, app, link):
    """The figures that `make bench` reads exist, and a wire without faults loses nothing. The
    card wakes halted nodes."""
    run = margay(*RUN, "--link", link, "--selftest", "frames", *SURE, "--stats", app("hello"))
    loses_nothing(run)
    got = figures(run)
    assert got[f"{link}_raw_half_rtt_us"] > 0 and got[f"{link}_raw_rate_per_s"] > 0
    for size in SIZES[link]:
        assert got[f"{link}_raw_MBps_{size}"] > 0 and got[f"{link}_raw_lost_{size}"] == 0
    largest = SIZES[link][-1]
    for way in ("copied", "64K", "64K_copied"):
        assert got[f"{link}_raw_{way}_MBps_{largest}"] > 0
        assert got[f"{link}_raw_{way}_lost_{largest}"] == 0
    woken = re.search(r"card_interrupts +(\d+) +(\d+)", run.stderr)
    assert woken and int(woken[1]) > 10 and int(woken[2]) > 10


def test_raw_frames_over_the_bulk_card(margay, app, tmp_path):
    """Frames land in posted buffers, and none is lost; then the card places messages."""
    report = tmp_path / "run.json"
    run = margay(*RUN, "--link", "virtio", "--direct", "--selftest", "framestreams", *SURE,
                 "--json", report, app("ptl_long"), 500_000, 20)
    loses_nothing(run)
    assert json.loads(report.read_text())["ranks"][0]["stats"]["parts_placed"] > 0
    got = figures(run)
    for memory in ("", "64K_"):
        assert got[f"virtio_raw_{memory}bulk_MBps_59968"] > 0
        assert got[f"virtio_raw_{memory}bulk_lost_59968"] == 0


def test_a_card_without_an_interrupt_line(margay, app):
    """An 82540EM on microvm, which has no interrupt line for it: the node reports that and polls
    by a timer."""
    run = margay(*RUN, "--link", "e1000", "--machine", "microvm", app("pingpong"))
    run.ok().says("its interrupt line is not connected; a timer polls it")


@pytest.mark.parametrize("link, control", [("virtio", "interrupt"), ("virtio", "poll"),
                                           ("e1000", "interrupt"), ("e1000e", "interrupt")])
def test_messages_go_over_the_card_that_a_self_test_had(margay, app, link, control):
    run = margay("run", "-n", 2, "--accel", "tcg", "--link", link, "--direct", "--control",
                 control, "--selftest", "framehalves", app("ring"), 3).ok()
    assert figures(run)[f"{link}_raw_half_rtt_halted_us"] > 0
    assert "frames_0_sent" not in figures(run)


@pytest.mark.nodes(5)
def test_raw_frames_of_all_nodes_to_one(margay, app):
    """No node sends more than its credit, so no frame is lost; then messages work."""
    run = margay("run", "-n", 5, "--accel", "tcg", "--link", "virtio", "--selftest", "incast",
                 *SURE, app("ring"), 3)
    loses_nothing(run)
    got = figures(run)
    assert got["virtio_raw_incast_MBps"] > 0 and got["virtio_raw_incast_lost"] == 0


@pytest.mark.parametrize("words", [["-n", 2, "--link", "virtio"], ["-n", 3]])
def test_incast_needs_cards_and_three_nodes(margay, app, words):
    run = margay("run", "--accel", "tcg", *words, "--selftest", "incast", app("hello"))
    assert run.returncode != 0
    run.says("incast needs 3 nodes with network cards")


@pytest.mark.parametrize("link", ["e1000", "e1000e"])
def test_a_node_that_computes_is_interrupted(margay, app, link):
    """Its interrupts, by line or by message, reach the processor repeatedly while it makes no
    call."""
    run = margay(*RUN, "--link", link, "--no-prefix", "--stats", app("ptl_bypass"))
    assert run.ok().lines == ["ok bypass"]
    woken = re.search(r"card_interrupts +(\d+) +(\d+)", run.stderr)
    assert woken and int(woken[2]) > 100


@pytest.mark.parametrize("link, control", [("virtio", "interrupt"), ("virtio", "poll"),
                                           ("e1000", "interrupt"), ("e1000e", "interrupt")])
def test_a_node_that_hears_nothing_is_not_interrupted(margay, app, link, control):
    """While it computes, neither card nor timer interrupts it."""
    run = margay(*RUN, "--link", link, "--control", control, "--no-prefix", app("quiet"))
    assert run.ok().lines == ["ok quiet"]


@pytest.mark.parametrize("link", LINKS)
def test_a_wire_with_all_faults(margay, app, tmp_path, link):
    """Lost, duplicate, late and damaged frames: no node hangs, and no card is reported faulty."""
    report = tmp_path / "run.json"
    run = margay(*RUN, "--link", link, "--selftest", "frames", "--faults", HOSTILE, "--json", report,
                 app("hello"), env={"MARGAY_BOOT_SECONDS": "100"}).ok()
    data = json.loads(report.read_text())
    faults = data["switch"]["ports"][0]
    assert all(faults[name] for name in ("lost", "duplicated", "reordered", "damaged"))
    assert all(rank["stats"][name] == 0 for rank in data["ranks"]
               for name in ("card_resets", "card_link_losses", "card_nonsense"))
    got = figures(run)
    assert got["frames_0_good"] > 0
    assert all(value < 1e6 for name, value in got.items() if "_lost_" in name), got


def test_the_switch_is_killed(margay, app):
    """It is reported once, and the nodes continue and finish, as each part of the test gives up
    after 2 to 4 s."""
    live = margay.start(*WHOLE, "--verbose", app("hello"), env={"MARGAY_BOOT_SECONDS": "100"})
    switch = int(live.wait_for(r"the switch is process (\d+)")[0].group(1))
    live.wait_for(r"frames_0_good")
    os.kill(switch, signal.SIGKILL)
    run = live.wait(120).ok()
    assert run.stderr.count("the switch has ended (signal 9)") == 1, run.describe()
    assert any("hello from rank 1" in line for line in run.of_rank(1))


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_nothing_is_left_behind(margay, app, number, status):
    """The switch ends with the launcher, however that ends (the fixture checks)."""
    live = margay.start(*WHOLE, app("hello"))
    live.wait_for(r"frames_0_good")
    live.signal(number)
    assert live.wait().returncode == status


def test_timeout(margay, app):
    margay(*WHOLE, "--timeout", 1, "--faults", "loss=90%", app("hello")).status(124)


def test_capture(margay, app, tmp_path):
    """The capture has the nodes' frames: an Ethernet header with our addresses and type."""
    capture = tmp_path / "frames.pcap"
    margay(*QUICK, "--pcap", capture, app("hello")).ok()
    assert bytes([2, 0x4d, 0x47, 0, 0, 1, 2, 0x4d, 0x47, 0, 0, 0, 0x88, 0xb5]) \
        in capture.read_bytes()


def test_what_the_switch_says_is_shown(margay, app):
    """The switch reports the seed of its faults, and once that the capture's disk is full; the
    job continues."""
    run = margay(*QUICK, "--pcap", "/dev/full", "--faults", "dup=1%", "--stats", app("hello"))
    run.status(125).prints("hello from rank 1")
    assert [line for line in run.stderr.splitlines() if line.startswith("margay: switch: ")] == [
        "margay: switch: faults from seed 1",
        "margay: switch: --pcap /dev/full: No space left on device; the capture ends here, the job "
        "goes on", "margay: switch: make room on the disk, or name a file elsewhere"]
    run.says(r"^margay: faults from seed +1$")


def test_dry_run_shows_the_cards(margay, app):
    """In the command lines to paste, nodes communicate by multicast, with a card each."""
    run = margay(*QUICK, "--cards", 2, "--faults", "loss=1%", "--dry-run", app("hello")).ok()
    run.says("meet by multicast .*, without switch and launcher")
    assert len(run.lines) == 2 and all("mcast=" in line for line in run.lines)
    assert "mac=02:4d:47:00:00:01" in run.lines[1] and "cards=1" in run.lines[1]


@pytest.mark.parametrize("words, why", [
    (["--cards", "2"], "--cards needs network cards"),
    (["--faults", "loss=1%"], "--faults needs network cards"),
    (["--link", "virtio", "--selftest", "frames", "--cards", "5"], "out of range"),
    (["--link", "virtio", "--selftest", "frames", "-n", "3", "--direct"], "joins two nodes"),
    (["--link", "virtio", "--selftest", "frames", "-n", "2", "--faults", "los=1%"], "los"),
    (["--link", "virtio", "--selftest", "frames", "-n", "2", "--pcap", "/nowhere/x"],
     "/nowhere/x")])
def test_errors_name_a_cause(margay, app, words, why):
    margay("run", "--accel", "tcg", *words, app("hello")).status(125).says(re.escape(why))


def test_selftest_without_cards(margay, app):
    run = margay("run", "-n", 2, "--accel", "tcg", "--selftest", "frames", app("hello"))
    assert run.returncode != 0
    run.says("the nodes have no network cards")
