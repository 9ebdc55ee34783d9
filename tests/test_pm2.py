"""PM2: threads, remote procedure calls and migration, over shared memory, a card, and a card that
loses frames; and what happens when a node ends."""
from __future__ import annotations

import random

import pytest

from harness import let_time_pass

pytestmark = [pytest.mark.messages, pytest.mark.own_link]

LOSS = ("--link", "virtio", "--faults", "seed=7,loss=1%")
LINKS: dict[str, tuple[str, ...]] = {"shm": (), "virtio": ("--link", "virtio"), "loss": LOSS}
OVER = pytest.mark.parametrize("over", list(LINKS))

THREADS = ("yields,joins,detached,mutexes,conditions,sleeping,sleeper beside work,preempted,shared,"
           "alone,not preempted,C library,floating point,memory,arguments").split(",")
CALLS = "synchronous sizes asynchronous silent quick nested moving computing wrong".split()
TURNS = ["C library", "quick", "quick arrives", "beside a sleeper", "in the library"]
EDGES = "woken results quick".split()
MOVES = "around preemptive refused many".split()


def cases(margay, app, over: str, nodes: int, name: str, wanted: list[str], *args):
    """Rank 0 prints a line for each case that has passed."""
    run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", app(name), *args).ok()
    assert run.lines == [f"ok {case}" for case in wanted]
    return run


@pytest.mark.parametrize("nodes", [1, 2])
def test_threads(margay, app, nodes):
    """Turns, joins, mutexes, conditions, sleep, preemption, the C library under preemption."""
    cases(margay, app, "shm", nodes, "pm2_threads", THREADS)


@pytest.mark.parametrize("nodes", [1, 2])
def test_turns(margay, app, nodes):
    """A thread that computes does not keep others from running."""
    cases(margay, app, "shm", nodes, "pm2_turns", TURNS)


def test_a_long_call_on_a_slow_link_does_not_stop_the_node(margay, app):
    run = margay("run", "--link", "virtio", "--bandwidth", 5, "-n", 2, "--no-prefix",
                 app("pm2_slow")).ok()
    assert run.lines == ["ok sleeps", "ok computes"]


def test_ten_thousand_threads(margay, app):
    run = margay("run", "--mem", 512, app("pm2_threads"), 10000).ok()
    assert run.lines == ["ok 10000 threads"]


@OVER
@pytest.mark.parametrize("nodes", [1, 2, 3, 8])
def test_moves(margay, app, over, nodes):
    """By their own call and while they compute, with stack and heap; threads that may not
    migrate."""
    cases(margay, app, over, nodes, "pm2_move", MOVES, 500 if over == "shm" else 100)


def test_around_eight_nodes_ten_thousand_times(margay, app):
    cases(margay, app, "shm", 8, "pm2_move", ["around"], "around", 10000)


@OVER
@pytest.mark.parametrize("nodes", [2, 16])
def test_a_node_that_sleeps_loses_no_thread(margay, app, over, nodes):
    cases(margay, app, over, nodes, "pm2_move", ["flood"], "flood")


@OVER
@pytest.mark.parametrize("nodes", [1, 2, 3, 8])
def test_calls(margay, app, over, nodes):
    """Synchronous, asynchronous, quick, nested; services that migrate; a node that computes
    serves calls."""
    cases(margay, app, over, nodes, "pm2_calls", CALLS)


@OVER
@pytest.mark.parametrize("nodes", [2, 16])
def test_a_node_that_sleeps_loses_no_call(margay, app, over, nodes):
    cases(margay, app, over, nodes, "pm2_calls", ["flood"], "flood")


def others_end(run) -> None:
    """Ranks 0 and 2 of three have ended, rank 1 has not."""
    ended = sorted(line for line in run.lines if line.endswith("ended"))
    assert ended == ["[0] ended", "[2] ended"], run.describe()


@OVER
@pytest.mark.parametrize("nodes", [1, 2, 5])
def test_edges(margay, app, over, nodes):
    """Threads that were woken do not move before they run; a result moves with its service; quick
    services and preemption."""
    cases(margay, app, over, nodes, "pm2_edges", EDGES)
    cases(margay, app, over, nodes, "pm2_edges", ["alone"], "alone")


@pytest.mark.parametrize("over", ["shm", "virtio"])
@pytest.mark.parametrize("what", ["call", "join", "move", "busy", "answers", "between", "end"])
def test_a_node_dies(margay, app, over, what):
    """Calls, joins, migrations and pm2_end end with PM2_EDEAD."""
    live = margay.start("run", *LINKS[over], "-n", 3, "--on-death", "continue", app("pm2_ends"),
                        what)
    live.wait_for(r"running$", count=3)
    live.kill_node(1, random.Random(what + over).random() * 0.3)
    others_end(live.wait())


@pytest.mark.parametrize("over", ["shm", "virtio"])
def test_threads_that_wait_for_credit_die_with_their_node(margay, app, over):
    """A thread that node 1 has not sent yet is not on node 2: its join ends."""
    live = margay.start("run", *LINKS[over], "-n", 3, "--on-death", "continue", app("pm2_ends"),
                        "queued")
    live.wait_for(r"^\[[12]\] ready$", count=2)
    (margay.cwd / "go").touch()
    live.wait_for(r"^\[1\] running$")
    live.kill_node(1)
    (margay.cwd / "on").touch()
    others_end(live.wait())


def late(margay, app, what: str, *link: object) -> None:
    """Node 1 is killed before node 0 looks."""
    live = margay.start("run", *link, "-n", 2, "--on-death", "continue", app("pm2_stays"), what)
    live.wait_for(r"^\[0\] running$")
    live.kill_node(1)
    let_time_pass(0.5)
    (margay.cwd / "go").touch()
    run = live.wait(60)
    assert run.of_rank(0) == ["running", "ended"], run.describe()


@pytest.mark.parametrize("over", ["shm", "virtio"])
def test_threads_that_migrate_to_a_dead_node_stay(margay, app, over):
    late(margay, app, "threads", *LINKS[over])


def test_a_call_to_a_node_whose_death_is_not_handled_yet(margay, app):
    late(margay, app, "call", "--link", "virtio", "--latency", 300000)


@pytest.mark.parametrize("over", ["shm", "virtio"])
def test_a_node_that_leaves(margay, app, over):
    others_end(margay("run", *LINKS[over], "-n", 3, app("pm2_ends"), "exits").ok())


@pytest.mark.long
def test_on_64_nodes(margay, app):
    way = ("run", "-n", 64, "--mem", 64, "--no-prefix")
    run = margay(*way, app("pm2_move"), "around", 2000, timeout=300).ok()
    assert run.lines == ["ok around"]
    run = margay(*way, app("pm2_calls"), timeout=300).ok()
    assert run.lines == [f"ok {case}" for case in CALLS]
    run = margay(*way, app("pm2_calls"), "flood", timeout=300).ok()
    assert run.lines == ["ok flood"]


def test_nodes_that_differ(margay, app):
    """Another size of the area on one node: the job ends with an error."""
    run = margay("run", "-n", 3, app("pm2_differs")).status(1)
    run.says(r"pm2: node 2 and node 0 differ in the size of the iso-address area: give pm2_init "
             r"the same configuration")
    run = margay("run", "-n", 3, app("pm2_differs"), "address").status(1)
    run.says(r"pm2: node 2 and node 0 differ in the address of the iso-address area: call pm2_init")


@pytest.mark.parametrize("what, says", [
    ("stack", "a thread needs more than its stack"),
    ("skip", "a thread needs more than its stack"),
    ("mutex", "a thread ends with a mutex locked"),
    ("quick", "pm2_thread_exit in a quick service"),
    ("deep", "a quick service needs more than its stack")])
def test_a_mistake_ends_the_job(margay, app, what, says):
    margay("run", app("pm2_differs"), what).status(1).says(rf"pm2: node 0: {says}")


@OVER
@pytest.mark.parametrize("nodes", [1, 4])
def test_examples(margay, app, over, nodes):
    run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", app("pm2_queens"), 8).ok()
    assert run.lines == [f"8 queens: 92 ways, 42 calls on {nodes} nodes"]
    for _ in range(5 if nodes > 1 else 1):      # on a busy host all may end before they move
        run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", app("pm2_balance"), 12).ok()
        moved = int(run.prints(r"^12 threads, (\d) moved: the sum is 266689391$")[1])
        if moved:
            break
    assert (moved > 0) == (nodes > 1)


def test_example_usage(margay, app):
    margay("run", "-n", 2, app("pm2_queens"), 1).status(2).says("usage: pm2_queens")
    margay("run", app("pm2_balance"), -1).status(2).says("usage: pm2_balance")
