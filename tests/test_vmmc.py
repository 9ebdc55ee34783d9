"""Virtual memory-mapped communication (lib/vmmc): its calls, protection, notifications."""
from __future__ import annotations

import random
import re
import signal
import subprocess

import pytest

from harness import ROOT, stop

pytestmark = [pytest.mark.messages, pytest.mark.own_link]

LOSS = ("--link", "virtio", "--faults", "seed=11,loss=1%")
LINKS: dict[str, tuple[str, ...]] = {"shm": (), "virtio": ("--link", "virtio"), "loss": LOSS}
OVER = pytest.mark.parametrize("over", list(LINKS))

CALLS = ("names arguments refused sizes reused waits spins order async revoked tables reopened "
         "closed").split()
NOTIFICATIONS = "computing mixed blocked credits answered ended late again".split()
DEATHS = "sends long async notify waits speaks imports fences".split()


def cases(margay, app, over: str, nodes: int, name: str, wanted: list[str]) -> None:
    """Rank 0 prints a line for each case that all ranks have passed."""
    run = margay("run", *LINKS[over], "-n", nodes, "--mem", 32, "--no-prefix", app(name)).ok()
    assert run.lines == [f"ok {case}" for case in wanted]


@OVER
@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_calls(margay, app, over, nodes):
    """Exports, imports and sends around a ring of ranks, and refused calls."""
    cases(margay, app, over, nodes, "vmmc_calls", CALLS)


def test_no_message_comes_after_the_next_init(margay, app):
    """An answer or a revocation that is sent again after vmmc_fini belongs to what was closed."""
    run = margay("run", "--link", "virtio", "--faults", "seed=3,loss=20%", "-n", 4, "--mem", 32,
                 "--no-prefix", app("vmmc_reopen"), 60).ok()
    assert run.lines == ["done"]


@OVER
@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_notifications(margay, app, over, nodes):
    cases(margay, app, over, nodes, "vmmc_notify", NOTIFICATIONS)


@pytest.mark.parametrize("program", ["steps", "turns"])
def test_orders_that_need_unlucky_times(tmp_path, program):
    """On the host: a handler interrupts a send before each of its instructions, when both want the
    last credit; requests come among notifications."""
    made = tmp_path / program
    subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-mno-red-zone", f"-I{ROOT}/include",
                    f"-I{ROOT}/lib/vmmc/include", ROOT / f"tests/lib/vmmc/host/{program}.c", "-o",
                    made], check=True)
    run = subprocess.run([made], capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout) == (0, "done\n"), run


@OVER
def test_protection(margay, app, over):
    """Messages sent by Portals, not by the library, change no memory that is not imported."""
    run = margay("run", *LINKS[over], "-n", 3, "--mem", 32, "--no-prefix", app("vmmc_guard")).ok()
    assert run.lines == ["ok"]


@OVER
@pytest.mark.parametrize("nodes, seed", [(1, 1), (2, 2), (4, 3), (8, 4)])
def test_random_calls(margay, app, over, nodes, seed):
    run = margay("run", *LINKS[over], "-n", nodes, "--mem", 32, "--no-prefix",
                 app("vmmc_random"), seed, 5 if over == "shm" else 2).ok()
    assert run.lines == ["done"]


@pytest.mark.long
@OVER
@pytest.mark.parametrize("seed", range(100, 140))
def test_random_calls_of_many_seeds(margay, app, over, seed):
    run = margay("run", *LINKS[over], "-n", 1 + seed % 8, "--mem", 32, "--no-prefix",
                 app("vmmc_random"), seed, 10).ok()
    assert run.lines == ["done"]


@OVER
@pytest.mark.parametrize("what, nodes, near, far", [
    ("plain", 16, 2000, 100), ("notify", 16, 300, 20), ("long", 4, 200, 20)])
def test_a_receiver_that_sleeps(margay, app, over, what, nodes, near, far):
    """All others send to a rank that sleeps for a second: nothing is lost."""
    run = margay("run", *LINKS[over], "-n", nodes, "--mem", 32, "--no-prefix", app("vmmc_flood"),
                 what, near if over == "shm" else far).ok()
    assert run.lines == ["done"]


@pytest.mark.long
@pytest.mark.parametrize("what, count", [("plain", 2000), ("notify", 200)])
def test_a_receiver_that_sleeps_of_64(margay, app, what, count):
    run = margay("run", "-n", 64, "--mem", 32, "--no-prefix", app("vmmc_flood"), what, count,
                 timeout=300).ok()
    assert run.lines == ["done"]


@pytest.mark.parametrize("over", ["shm", "virtio"])
@pytest.mark.parametrize("what", DEATHS)
def test_peer_dies(margay, app, over, what):
    """All operations with a rank that dies end with an error. Over shared memory the death may
    damage one other rank."""
    live = margay.start("run", *LINKS[over], "-n", 3, "--mem", 32, app("vmmc_death"), what)
    live.wait_for(r"^\[[02]\] running$", count=2)
    live.kill_node(1, random.Random(what + over).random() * 0.2)
    run = live.wait().status(128 + signal.SIGKILL)
    run.says(r"margay: .*rank 1\b.*died")
    ends = [run.of_rank(rank)[-1] for rank in (0, 2)]
    may_damage = over == "shm" and what in ("imports", "speaks")
    assert ends.count("damaged") <= may_damage and set(ends) <= {"failed", "damaged"}, run.describe()


@pytest.mark.parametrize("what", ["importer", "exporter"])
def test_peer_is_restarted(margay, app, what):
    """Its next life imports and can be imported from; old imports do not reach it."""
    live = margay.start("run", "--link", "virtio", "-n", 2, "--mem", 32, "--on-death", "restart",
                        app("vmmc_lives"), what)
    live.wait_for(r"^\[[01]\] running$", count=2)
    live.kill_node(1)
    run = live.wait().ok()
    assert run.of_rank(0) == ["running", "ok"], run.describe()


def test_a_dead_peer_comes_back(margay, app, tmp_path):
    live = margay.start("run", "--link", "virtio", "-n", 2, "--mem", 32, "--on-death", "restart",
                        app("vmmc_lives"), "waiter")
    live.wait_for(r"^\[[01]\] running$", count=2)
    stop(live.nodes()[1])
    (tmp_path / "stopped").touch()
    live.wait_for(r"^\[0\] pings$")                 # a ping is under way until the death
    live.kill_node(1)
    run = live.wait().ok()
    assert run.of_rank(0) == ["running", "pings", "ok"], run.describe()


@OVER
@pytest.mark.parametrize("nodes", [1, 2, 5])
def test_halo(margay, app, over, nodes):
    """The example: no heat is lost between the ranks, and it spreads as on one."""
    run = margay("run", *LINKS[over], "-n", nodes, app("vmmc_halo"), 300).ok()
    parts = [re.search(r"heat ([\d.]+), first cell ([\d.]+)", line) for line in run.lines]
    assert len(parts) == nodes and all(parts)
    heat = sum((float(part[1]) for part in parts), 0.0)
    assert abs(heat - 1000) < 1e-4
    first = re.search(r"first cell ([\d.]+)", run.of_rank(0)[0] if nodes > 1 else run.lines[0])
    assert abs(float(first[1]) - 65.01169) < 1e-4


@OVER
@pytest.mark.parametrize("nodes", [2, 5])
def test_mailbox(margay, app, over, nodes):
    run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", app("vmmc_mailbox"), 9).ok()
    letters = 9 * (nodes - 1)
    assert run.lines == [f"{letters} letters, {letters * len('letter 1 of rank 1')} characters"]
