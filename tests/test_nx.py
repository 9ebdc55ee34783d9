"""NX and Vertex: their calls, order, flow, handlers and global operations, over shared memory, a
card, and a card that loses frames; and what happens when a node ends."""
from __future__ import annotations

import random
import signal

import pytest

pytestmark = [pytest.mark.messages, pytest.mark.own_link]

LOSS = ("--link", "virtio", "--faults", "seed=7,loss=1%")
LINKS: dict[str, tuple[str, ...]] = {"shm": (), "virtio": ("--link", "virtio"), "loss": LOSS}
OVER = pytest.mark.parametrize("over", list(LINKS))

MESSAGES = ("blocking,posted,ordered,selectors,forced,exchanged,broadcast,from_one,ignored,"
            "cancelled,parts cancelled,arguments").split(",")
HANDLERS = "received sent server beside forced answers broadcast masked info".split()
GLOBAL = ("gsync gdsum gdprod gdhigh gdlow gssum gsprod gshigh gslow gisum giprod gihigh gilow "
          "same_bits collected users beside_messages arguments").split()
VERTEX = "identity messages chosen to_all arguments".split()

# Case, nodes, messages of each rank: over shared memory, and over cards.
FLOODS = [("early", 4, 3000, 500), ("early", 8, 1000, 200), ("early", 16, 300, 40),
          ("self", 1, 5000, 0), ("self", 3, 3000, 500), ("all", 4, 200, 100), ("all", 8, 100, 30),
          ("reverse", 2, 900, 600), ("long", 4, 100, 30), ("mixed", 4, 300, 60)]
MANY_FLOODS = [("early", 64, 300), ("mixed", 64, 60), ("all", 64, 20), ("long", 16, 100)]


def cases(margay, app, over: str, nodes: int, name: str, wanted: list[str]):
    """Rank 0 prints a line for each case that all ranks have passed."""
    run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", app(name)).ok()
    said = [line for line in run.lines if line.startswith("ok ")]
    assert said == [f"ok {case}" for case in wanted]
    return run


@OVER
@pytest.mark.parametrize("nodes", [1, 2, 3, 8])
def test_messages(margay, app, over, nodes):
    """Sends, receives, probes and ids around a ring of ranks."""
    cases(margay, app, over, nodes, "nx_messages", MESSAGES)


@OVER
@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_handlers(margay, app, over, nodes):
    cases(margay, app, over, nodes, "nx_handlers", HANDLERS)


@OVER
@pytest.mark.parametrize("nodes", [1, 2, 5, 8])
def test_global_operations(margay, app, over, nodes):
    cases(margay, app, over, nodes, "nx_global", GLOBAL)


@pytest.mark.parametrize("nodes", [3, 8])
def test_sums_are_the_same_in_every_run(margay, app, nodes):
    sums = {next(line for line in cases(margay, app, over, nodes, "nx_global", GLOBAL).lines
                 if line.startswith("bits")) for over in ("shm", "virtio", "shm")}
    assert len(sums) == 1


@OVER
def test_progress_without_calls(margay, app, over):
    """Both sides compute and only poll their memory."""
    cases(margay, app, over, 2, "nx_progress", "posted many early fetched".split())


@pytest.mark.parametrize("over", ["virtio", "loss"])
@pytest.mark.parametrize("nodes", [2, 3])
def test_long_sends_over_cards_do_not_wait_for_the_receive(margay, app, over, nodes):
    run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", app("nx_flow"), "kept", 20).ok()
    assert run.lines == ["done"]


@OVER
def test_receives_that_find_no_match_entry_stay_in_order(margay, app, over):
    assert margay("run", *LINKS[over], "--no-prefix", app("nx_room")).ok().lines == ["done"]


@OVER
@pytest.mark.parametrize("case, nodes, near, far", FLOODS)
def test_floods(margay, app, over, case, nodes, near, far):
    """More messages than slots, to receivers that sleep or receive in another order."""
    count = near if over == "shm" else far
    if not count:
        pytest.skip("over shared memory only")
    run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", app("nx_flow"), case, count).ok()
    assert run.lines == ["done"]


@pytest.mark.long
@pytest.mark.parametrize("case, nodes, count", MANY_FLOODS)
def test_floods_of_many(margay, app, case, nodes, count):
    run = margay("run", "-n", nodes, "--mem", 64, "--no-prefix", app("nx_flow"), case, count,
                 timeout=300).ok()
    assert run.lines == ["done"]


@OVER
@pytest.mark.parametrize("nodes, seed", [(1, 1), (2, 2), (4, 3), (8, 4)])
def test_random_messages(margay, app, over, nodes, seed):
    run = margay("run", *LINKS[over], "-n", nodes, "--mem", 64, "--no-prefix", app("nx_random"),
                 seed, 2 if over == "shm" else 1).ok()
    assert run.lines == ["done"]


@pytest.mark.long
@OVER
@pytest.mark.parametrize("seed", range(100, 130))
def test_random_messages_of_many_seeds(margay, app, over, seed):
    run = margay("run", *LINKS[over], "-n", 1 + seed % 8, "--mem", 64, "--no-prefix",
                 app("nx_random"), seed, 5, timeout=200).ok()
    assert run.lines == ["done"]


@pytest.mark.long
def test_all_calls_on_64(margay, app):
    cases(margay, app, "shm", 64, "nx_messages", MESSAGES)
    cases(margay, app, "shm", 64, "nx_handlers", HANDLERS)
    cases(margay, app, "shm", 64, "nx_global", GLOBAL)
    cases(margay, app, "shm", 64, "vertex_messages", VERTEX)
    run = margay("run", "-n", 64, "--mem", 64, "--no-prefix", app("nx_random"), 5, 2,
                 timeout=300).ok()
    assert run.lines == ["done"]


@OVER
def test_sends_to_a_node_that_has_ended(margay, app, over):
    run = margay("run", *LINKS[over], "-n", 2, "--no-prefix", app("nx_ends"), "exits").ok()
    assert run.lines == ["refused"]


WAITS = pytest.mark.parametrize("what", ["sends", "named", "probes", "gsync"])


@pytest.mark.parametrize("over", ["shm", "virtio"])
@WAITS
def test_waits_for_a_node_that_has_ended(margay, app, over, what):
    """They fail, although another rank sends all the time."""
    run = margay("run", *LINKS[over], "-n", 3, app("nx_ends"), what, "exits").ok()
    assert run.of_rank(0) == ["running", "refused"], run.describe()


@pytest.mark.parametrize("over", ["shm", "virtio"])
@WAITS
def test_waits_for_a_node_that_has_died(margay, app, over, what):
    live = margay.start("run", *LINKS[over], "-n", 3, "--on-death", "continue", app("nx_ends"), what)
    live.wait_for(r"^\[0\] running$")
    live.kill_node(1, 0.2)
    run = live.wait().status(128 + signal.SIGKILL)
    assert run.of_rank(0) == ["running", "refused"], run.describe()


@OVER
def test_a_wait_for_a_node_that_has_ended_and_a_handler_that_asks(margay, app, over):
    run = margay("run", *LINKS[over], "-n", 3, "--no-prefix", app("nx_asks")).ok()
    assert run.lines == ["refused"]


@OVER
def test_messages_of_a_node_that_has_ended(margay, app, over):
    run = margay("run", *LINKS[over], "-n", 2, "--no-prefix", app("nx_ends"), "kept").ok()
    assert run.lines == ["refused"]


def test_a_send_ends_after_its_node_and_its_id_is_used_again(margay, app):
    run = margay("run", "-n", 3, "--link", "virtio", "--latency", "20,1:300000", "--no-prefix",
                 app("nx_ends"), "reused").ok()
    assert run.lines == ["done"]


def test_a_call_that_fails(margay, app):
    run = margay("run", "-n", 2, app("nx_ends"), "error").status(1)
    run.says(r"\(node 0\) csend: this type is not allowed")


@pytest.mark.parametrize("over", ["shm", "virtio"])
@pytest.mark.parametrize("what", ["killed", "receives"])
def test_a_node_dies(margay, app, over, what):
    """The job ends. A receive from any node does not fail by itself: the launcher ends it."""
    live = margay.start("run", *LINKS[over], "-n", 3, app("nx_ends"), what)
    live.wait_for(r"^\[0\] running$")
    live.kill_node(1, random.Random(what + over).random() * 0.2)
    run = live.wait()
    by_itself = r"^\[(\d)\] \(node \1\) csendrecv: the other process has ended$"
    run.ends_after_a_death(r"0 and 2", by_itself if what != "receives" else "")


@OVER
@pytest.mark.parametrize("nodes", [1, 2, 5])
def test_vertex(margay, app, over, nodes):
    cases(margay, app, over, nodes, "vertex_messages", VERTEX)


@OVER
@pytest.mark.parametrize("nodes", [4, 16])
def test_vertex_and_a_receiver_that_sleeps(margay, app, over, nodes):
    run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", app("vertex_messages"), "sleeper",
                 200 if over == "shm" else 40).ok()
    assert run.lines == ["ok identity", "ok sleeper"]


@OVER
@pytest.mark.parametrize("nodes", [1, 4])
def test_examples(margay, app, over, nodes):
    run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", app("nx_pi"), 100000).ok()
    run.prints(r"^pi is about 3\.14159265\d\d, wrong by ")
    run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", app("nx_farm"), 300).ok()
    assert run.lines == ["300 tasks, 14167 steps"]
    run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", app("vertex_ring"), 20).ok()
    run.prints(rf"^dimension \d: the token is {20 * sum(range(nodes))}$")


@OVER
@pytest.mark.parametrize("nodes", [1, 4, 7])
def test_a_sum_on_a_cube(margay, app, over, nodes):
    run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", app("vertex_sum"), 1001).ok()
    dimension = (nodes - 1).bit_length()
    assert sorted(run.lines) == [f"node {node} of a cube of dimension {dimension}: 500500"
                                 for node in range(nodes)]


def test_example_usage(margay, app):
    margay("run", "-n", 2, app("nx_pi"), -1).status(2).says("usage: nx_pi")
