"""Fast Messages: the calls of both generations, their guarantees, over each kind of link."""
from __future__ import annotations

import random
import re
import signal

import pytest

pytestmark = [pytest.mark.messages, pytest.mark.own_link]

LOSS = ("--link", "virtio", "--faults", "seed=11,loss=1%")
LINKS: dict[str, tuple[str, ...]] = {"shm": (), "virtio": ("--link", "virtio"), "loss": LOSS}
OVER = pytest.mark.parametrize("over", list(LINKS))

CANCELS = "received ignored late".split()
CALLS = "sizes pieces limit discarded interleaved direct one answered reused arguments".split()

MATCH = "posted early any ordered cut probed arguments".split()
SOCKETS = "echoed streams held closed refused many arguments".split()
# Seconds until the rank to be killed has ended its last put. One that is killed in the middle of a
# put over shared memory leaves its target without Portals.
IDLE = 0.2
LAYERS = pytest.mark.parametrize("layer", ["fm_match1", "fm_match2"])

# What, nodes, count over shared memory, and over cards.
FLOODS = [("sleeper", 16, 300, 40), ("sleeper", 4, 2000, 300), ("all", 2, 2000, 300),
          ("all", 5, 400, 60), ("all", 1, 5000, 0), ("answers", 2, 5000, 500),
          ("answers", 4, 1500, 150), ("answers", 8, 300, 0), ("headers", 2, 5000, 500),
          ("headers", 3, 1000, 200), ("cycle", 3, 1, 1), ("cycle", 5, 1, 0), ("long", 2, 60, 10),
          ("long", 3, 20, 5), ("silent", 2, 1, 0), ("silent", 4, 1, 0)]


def cases(margay, app, over: str, nodes: int, name: str, wanted: list[str], *args: object) -> None:
    """Rank 0 prints a line for each case that all ranks have passed."""
    run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", app(name), *args).ok()
    assert run.lines == [f"ok {case}" for case in wanted]


def done(margay, *args: object, timeout: float = 120) -> None:
    assert margay("run", "--no-prefix", *args, timeout=timeout).ok().lines == ["done"]


@OVER
@pytest.mark.parametrize("nodes", [1, 2, 3, 8])
def test_calls(margay, app, over, nodes):
    if nodes > (3 if over != "shm" else 8) or (over != "shm" and nodes == 1):
        pytest.skip("over cards two and three nodes are enough")
    cases(margay, app, over, nodes, "fm_calls", CALLS)


@OVER
@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_abandoned_messages(margay, app, over, nodes):
    if over != "shm" and nodes == 1:
        pytest.skip("over shared memory only")
    wanted = CANCELS + (["unreadable"] if over == "shm" else [])
    cases(margay, app, over, nodes, "fm_cancel", wanted)


@OVER
@pytest.mark.parametrize("what", ["kept", "ended"])
def test_a_packet_that_its_handler_has_not_read(margay, app, over, what):
    done(margay, *LINKS[over], "-n", 3, app("fm_held"), what)


@pytest.mark.parametrize("nodes", [2, 34])
def test_the_most_open_messages(margay, app, nodes):
    done(margay, "-n", nodes, "--mem", 32, app("fm_flow"), "open")


def test_no_message_comes_after_the_next_begin(margay, app):
    """A frame that is sent again after the barrier belongs to what was closed."""
    done(margay, "--link", "virtio", "--faults", "loss=20%,seed=3", "-n", 4, "--mem", 32,
         app("fm_reopen"), 40)


@OVER
def test_a_handler_waits_when_all_is_closed(margay, app, over):
    done(margay, *LINKS[over], "-n", 2, app("fm_reopen"), 6, "keep")


@OVER
@pytest.mark.parametrize("what, nodes, near, far", FLOODS)
def test_floods(margay, app, over, what, nodes, near, far):
    """Nothing is lost, whether the receiver sleeps, or all send before they extract."""
    count = near if over == "shm" else far
    if not count:
        pytest.skip("over shared memory only")
    done(margay, *LINKS[over], "-n", nodes, app("fm_flow"), what, count)


@OVER
@pytest.mark.parametrize("nodes, seed", [(1, 1), (2, 2), (3, 3), (5, 4), (8, 5)])
def test_random_messages(margay, app, over, nodes, seed):
    if over != "shm" and nodes in (1, 8):
        pytest.skip("over shared memory only")
    done(margay, *LINKS[over], "-n", nodes, app("fm_random"), seed, 200 if over == "shm" else 50)


@pytest.mark.long
@OVER
@pytest.mark.parametrize("seed", range(100, 130))
def test_random_messages_of_many_seeds(margay, app, over, seed):
    done(margay, *LINKS[over], "-n", 1 + seed % 8, app("fm_random"), seed, 200, timeout=300)


@pytest.mark.long
@pytest.mark.parametrize("program, args", [
    ("fm_random", (6, 60)), ("fm_flow", ("all", 20)), ("fm_flow", ("answers", 40)),
    ("fm_flow", ("sleeper", 200)), ("fm_flow", ("silent",)),
])
def test_64(margay, app, program, args):
    done(margay, "-n", 64, "--mem", 48, app(program), *args, timeout=600)


@pytest.mark.parametrize("ranks, most", [(1, 65536), (256, 4096), (257, 2048)])
def test_small_pieces_fill_no_more_than_a_packet(margay, app, ranks, most):
    """Which is shorter than what is gathered at most, in jobs of more than 256 ranks."""
    run = margay("run", "--no-prefix", app("fm_packets"), ranks).ok()
    assert run.lines == [f"packets of {most} bytes"], run.describe()


@pytest.mark.parametrize("ranks", [256, 257, 512])
def test_credits_of_requests_and_answers_find_slots(margay, app, ranks):
    done(margay, app("fm_control"), ranks)


@pytest.mark.parametrize("over", ["shm", "virtio"])
@pytest.mark.parametrize("what", ["credit", "handler", "rest", "speaks", "barrier", "credit busy",
                                  "handler busy", "rest busy", "barrier busy", "polls"])
def test_peer_dies(margay, app, over, what):
    """Calls that wait for the dead node end with an error, also if others send all the time."""
    live = margay.start("run", *LINKS[over], "-n", 3, "--on-death", "continue", app("fm_death"),
                        *what.split())
    live.wait_for(r"^\[0\] running$")
    live.kill_node(1, IDLE + random.Random(what + over).random() * 0.1)
    run = live.wait().status(128 + signal.SIGKILL)
    assert run.of_rank(0) == ["running", "failed"], run.describe()
    if what == "barrier":
        assert run.of_rank(2) == ["running", "failed"], run.describe()


def test_a_wait_ends_although_a_rank_does_not_answer(margay, app):
    done(margay, "--link", "virtio", "--control", "poll", "-n", 2, app("fm_waits"), "still")


def test_control_messages_that_are_lost_are_told(margay, app):
    """They are credits and grants: without them the job could wait for ever."""
    run = margay("run", "-n", 2, app("fm_waits"), "lost").status(1)
    run.says("fm: rank 0: more credits and grants came than its queue holds")


@OVER
def test_an_extract_tells_that_a_handler_has_gone_on(margay, app, over):
    done(margay, *LINKS[over], "-n", 2, app("fm_waits"), "late")


@OVER
def test_a_message_of_a_rank_that_has_ended(margay, app, over):
    """It was complete, so it is received, although the receiver knows of the end."""
    run = margay("run", *LINKS[over], "-n", 3, app("fm_death"), "whole").ok()
    assert run.of_rank(0) == ["running", "whole"], run.describe()


def test_a_peer_that_dies_ends_the_job(margay, app):
    """The others end by their calls' errors, or are ended by the launcher: none has another error."""
    live = margay.start("run", "-n", 3, app("fm_death"), "rest")
    live.wait_for(r"^\[0\] running$")
    live.kill_node(1, IDLE)
    run = live.wait().status(128 + signal.SIGKILL)
    run.says(r"margay: .*rank 1\b.*died")
    if not re.search(r"^margay: ended rank.*\b0\b.*: still running", run.stderr, re.M):
        assert run.of_rank(0) == ["running", "failed"], run.describe()
    assert not re.search(r"^\[\d\]|status", run.stderr, re.M), run.describe()


@pytest.mark.parametrize("how", [(), ("sparse",)])
def test_a_stack_that_overflows_is_told(margay, app, how):
    run = margay("run", "-n", 1, app("fm_overflow"), *how).status(1)
    run.says(r"fm: rank 0: handler 7 needs more than its stack of 16384 bytes")
    assert not run.lines


@OVER
@LAYERS
@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_tagged_messages(margay, app, over, layer, nodes):
    """The same program over 1.1 and over 2.x."""
    if over != "shm" and nodes != 2:
        pytest.skip("over cards two nodes are enough")
    cases(margay, app, over, nodes, layer, MATCH)


@OVER
@LAYERS
def test_tagged_messages_nested(margay, app, over, layer):
    done(margay, *LINKS[over], "-n", 2, app(layer), "nested")


@OVER
def test_tagged_messages_of_unreadable_memory(margay, app, over):
    done(margay, *LINKS[over], "-n", 2, app("fm_match2"), "unreadable")


@OVER
@LAYERS
@pytest.mark.parametrize("nodes, seed", [(2, 1), (4, 2), (8, 3)])
def test_random_tagged_messages(margay, app, over, layer, nodes, seed):
    if over != "shm" and nodes == 8:
        pytest.skip("over shared memory only")
    done(margay, *LINKS[over], "-n", nodes, app(layer), "random", seed)


@pytest.mark.long
@LAYERS
@pytest.mark.parametrize("seed", range(10, 30))
def test_random_tagged_messages_of_many_seeds(margay, app, layer, seed):
    done(margay, "-n", 1 + seed % 8, app(layer), "random", seed)


@OVER
@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_sockets(margay, app, over, nodes):
    if over != "shm" and nodes != 2:
        pytest.skip("over cards two nodes are enough")
    cases(margay, app, over, nodes, "fm_sockets", SOCKETS)


@pytest.mark.parametrize("over", ["shm", "virtio"])
def test_a_socket_whose_peer_ends_in_the_middle_of_a_message(margay, app, over):
    done(margay, *LINKS[over], "-n", 17, "--mem", 40, app("fm_sockets"), "leaves")


def test_a_socket_that_is_sent_unreadable_memory(margay, app):
    done(margay, "-n", 33, "--mem", 32, app("fm_sockets"), "breaks")


@OVER
def test_sockets_that_do_not_block_do_not_wait_for_credit(margay, app, over):
    done(margay, *LINKS[over], "-n", 2, app("fm_sockets"), "full")


@pytest.mark.parametrize("faults", ["", *(f"loss=20%,seed={seed}" for seed in (1, 2, 3))])
def test_last_bytes_of_ranks_that_end_at_once(margay, app, faults):
    """Frames are retransmitted after the rank's end is known: they come, and then the close."""
    words = ("--faults", faults) if faults else ()
    run = margay("run", "-n", 8, "--mem", 40, "--link", "virtio", *words,
                 app("fm_sockets"), "last").ok()
    assert run.of_rank(0) == ["done"], run.describe()


@pytest.mark.parametrize("layer", ["fm_match1", "fm_match2"])
def test_last_messages_of_ranks_that_end_at_once(margay, app, layer):
    """On a slow network the news of a rank's end comes before its last messages."""
    run = margay("run", "-n", 3, "--mem", 40, "--link", "virtio", "--latency", 150000,
                 app(layer), "last").ok()
    assert run.of_rank(0) == ["done"], run.describe()


@pytest.mark.parametrize("over", ["shm", "virtio"])
@pytest.mark.parametrize("program, how", [
    (layer, how) for layer in ("fm_match1", "fm_match2") for how in ("death", "tests", "probes")] + [
    ("fm_sockets", "death"), ("fm_sockets", "polls")])
def test_peer_of_a_layer_dies(margay, app, over, program, how):
    """Waits and tests end with an error, while another rank sends all the time."""
    live = margay.start("run", *LINKS[over], "-n", 3, "--on-death", "continue", app(program), how)
    live.wait_for(r"^\[0\] running$")
    live.kill_node(1, IDLE)
    run = live.wait().status(128 + signal.SIGKILL)
    assert run.of_rank(0) == ["running", "failed"], run.describe()


@pytest.mark.parametrize("over", ["shm", "virtio"])
@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_examples(margay, app, over, nodes):
    """apps/fm_table.c and apps/fm_fetch.c."""
    if over != "shm" and nodes == 1:
        pytest.skip("over shared memory only")
    run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", app("fm_table"), 300).ok()
    assert sorted(run.lines) == [f"rank {k}: 300 of 300 words are right" for k in range(nodes)]
    run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", app("fm_fetch"), 200000).ok()
    assert sorted(run.lines) == [f"rank {k}: 200000 bytes, 0 of them wrong"
                                 for k in range(1, nodes)]
