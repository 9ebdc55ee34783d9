"""Messages over network cards: control modes, ends, and faults of the wire."""
from __future__ import annotations

import pytest

pytestmark = [pytest.mark.messages, pytest.mark.own_link]

CARDS = ("--link", "virtio")
BAD_WIRE = "loss=10%,dup=5%,reorder=5%,damage=2%,seed=11"


def ok(margay, app, name, *args, options=()):
    run = margay("run", *CARDS, "-n", 2, "--no-prefix", *options, app(name), *args).ok()
    assert run.lines == [f"ok {args[0] if args else name.removeprefix('ptl_')}"]


@pytest.mark.spin(2)
@pytest.mark.parametrize("control", ["interrupt", "watchdog"])
def test_target_computes(margay, app, control):
    """Rank 1 makes no call; puts to it and gets from it continue."""
    ok(margay, app, "ptl_bypass", options=("--control", control))


@pytest.mark.spin(2)
@pytest.mark.parametrize("control", ["interrupt", "poll", "watchdog"])
def test_polling_is_enough(margay, app, control):
    """A program that polls for an event finds it, even without interrupts."""
    ok(margay, app, "ptl_frames", "looks", options=("--control", control))


@pytest.mark.parametrize("control, word", [("interrupt", "0"), ("poll", "1"), ("watchdog", "1")])
def test_a_polling_program_is_told_to_call(margay, app, control, word):
    ok(margay, app, "ptl_frames", "calls", word, options=("--control", control))


def test_a_polling_program_need_not_call_over_shared_memory(margay, app):
    margay("run", "-n", 2, app("ptl_frames"), "calls", "none").ok()


def test_what_the_link_counts_is_shown(margay, app):
    """Timeouts, early frames, and the peak use of its pools."""
    run = margay("run", *CARDS, "-n", 2, "--stats", "--no-bulk", "--faults", "loss=5%,seed=3",
                 app("ptl_bulk"), 1 << 20).ok()
    for name in ("timeouts", "retransmissions", "pool_sends_high", "pool_parts_high"):
        assert max(map(int, run.says(rf"\b{name} +(\d+) +(\d+)").groups())) > 0, name
    for name in ("frames_early", "frames_refused", "card_full", "pool_early_high"):
        run.says(rf"\b{name} +\d+ +\d+")


@pytest.mark.spin(2)
@pytest.mark.parametrize("link", ["virtio", "e1000", "e1000e"])
@pytest.mark.parametrize("control", ["interrupt", "poll", "watchdog"])
def test_a_node_that_computes_is_not_interrupted(margay, app, control, link):
    """Neither the card nor the timer interrupts."""
    ok(margay, app, "ptl_frames", "quiet", options=("--control", control, "--link", link))


@pytest.mark.spin(2)
@pytest.mark.parametrize("link", ["virtio", "e1000", "e1000e"])
def test_what_the_card_interrupts_while_one_polls(margay, app, link):
    """Forty messages, each sent after the answer to the one before. The watchdog's limit is
    longer than any time without a poll. One interrupt may be late: the card raised it for the
    previous halt, which had ended by polling the frame."""
    def arrivals(*control) -> int:
        run = margay("run", *CARDS, "-n", 2, "--no-prefix", "--link", link, "--control", *control,
                     app("ptl_frames"), "asked").ok()
        return int(run.prints(r"^arrivals (\d+)$").group(1))

    assert arrivals("poll") <= 1
    assert arrivals("interrupt") >= 20
    assert arrivals("watchdog", "--kernel", "watchdog_us=1000000000") <= 2
    assert arrivals("watchdog", "--kernel", "watchdog_us=1") >= 10


@pytest.mark.parametrize("case", ["unlink", "leaves", "stays"])
@pytest.mark.parametrize("faults", ["", BAD_WIRE])
def test_ends(margay, app, case, faults):
    """A descriptor is unlinked or a node exits right after a put, and the put still arrives."""
    ok(margay, app, "ptl_frames", case,
       options=("--faults", faults, "--crc") if faults else ())
