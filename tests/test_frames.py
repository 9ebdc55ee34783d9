"""Messages over network cards: control modes, ends, and what the wire does to frames."""
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
    """Rank 1 makes no call, and puts and gets go on all the same."""
    ok(margay, app, "ptl_bypass", options=("--control", control))


@pytest.mark.spin(2)
@pytest.mark.parametrize("control", ["interrupt", "poll", "watchdog"])
def test_looking_is_enough(margay, app, control):
    """Whoever looks for an event in a loop finds it, also where nothing interrupts him."""
    ok(margay, app, "ptl_frames", "looks", options=("--control", control))


@pytest.mark.parametrize("control, word", [("interrupt", "0"), ("poll", "1"), ("watchdog", "1")])
def test_who_looks_is_told_to_call(margay, app, control, word):
    ok(margay, app, "ptl_frames", "calls", word, options=("--control", control))


def test_who_looks_over_shared_memory_need_not_call(margay, app):
    margay("run", "-n", 2, app("ptl_frames"), "calls", "none").ok()


def test_poll_takes_no_interrupt_while_computing(margay, app):
    """With --control poll the card interrupts a halt, and nothing else."""
    run = margay("run", *CARDS, "-n", 2, "--stats", "--control", "poll", app("ptl_frames"),
                 "looks").ok()
    row = run.says(r"card_interrupts +(\d+) +(\d+)")
    halts = run.says(r"\bhalts +(\d+) +(\d+)")
    for rank in (1, 2):
        assert int(row.group(rank)) <= int(halts.group(rank)) + 2


@pytest.mark.parametrize("case", ["unlink", "leaves", "stays"])
@pytest.mark.parametrize("faults", ["", BAD_WIRE])
def test_ends(margay, app, case, faults):
    """A descriptor or a node may go right behind its put, and the put still arrives."""
    ok(margay, app, "ptl_frames", case, 
       options=("--faults", faults, "--crc") if faults else ())
