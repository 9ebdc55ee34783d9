"""Nodes that die while the job goes on without them, or start again with the same id."""
from __future__ import annotations

import json
import random
import re
import signal
from dataclasses import replace

import pytest

from frames import Frame
from harness import stop, until
from ports import LIFE, Port

pytestmark = [pytest.mark.death, pytest.mark.spin(2), pytest.mark.own_link]

# Old frames are in flight for longer than the others need to learn of a death.
LATE_US = 300_000
LONG = 240.0                  # a deadline that only detects a hang
GHOSTS = 20                   # frames of life 1 that the test sends in life 2


def conversation(margay, app, tmp_path, nodes: int, lives: int, seed: int, *options: str,
                 rounds: int = 20, port: Port | None = None):
    """Rank 1 is killed in the middle of its talk with rank 0, in all its lives but the last. With a
    port of the switch that the test holds, frames of life 1 come while life 2 talks."""
    rng = random.Random(seed)
    live = margay.start("run", "--link", "virtio", "-n", nodes, "--mem", 16, "--on-death", "restart",
                        "--json", tmp_path / "run.json", *options, app("ptl_restart"), lives, rounds,
                        pass_fds=(port.far.fileno(),) if port else ())
    for life in range(1, lives):
        live.wait_for(rf"life {life} talks$")
        if port and life == 2:
            late = Frame(to=0, sender=1, sender_card=9, source=LIFE, destination=LIFE, messages=1,
                         payload=bytes(64), length=64)
            port.send([replace(late, sequence=at).encode() for at in range(GHOSTS)])
        live.kill_node(1, rng.random() * 0.2)
    run = live.wait(LONG).ok()
    data = json.loads((tmp_path / "run.json").read_text())
    said = [f"life {life} talks" for life in range(1, lives + 1)] + ["ok"]
    assert run.of_rank(0) == said, run.describe()
    assert len(re.findall(r"^margay: node 1 is started again", run.stderr, re.M)) == lives - 1
    assert [rank["lives"] for rank in data["ranks"]] == [1, lives] + [1] * (nodes - 2)
    return data


@pytest.mark.parametrize("nodes, lives, seed", [(2, 2, 1), (3, 3, 2), (4, 4, 3)])
def test_restarted_node(margay, app, tmp_path, nodes, lives, seed):
    conversation(margay, app, tmp_path, nodes, lives, seed)


@pytest.mark.parametrize("nodes, lives, seed", [(2, 3, 4), (3, 3, 5)])
def test_frames_of_an_earlier_life_are_not_believed(margay, app, tmp_path, port, nodes, lives, seed):
    """Delayed frames may arrive before or during the second life; the test's frames arrive
    during it."""
    data = conversation(margay, app, tmp_path, nodes, lives, seed, "--faults",
                        f"delay=10%:{LATE_US}us,seed={seed}", "--test-port",
                        f"{port.far.fileno()}:1.9", port=port)
    assert data["ranks"][0]["stats"]["ghosts"] >= GHOSTS


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_restarted_node_many_times(margay, app, tmp_path, seed):
    options = ("--faults", f"loss=2%,dup=2%,reorder=5%,delay=10%:{LATE_US}us,seed={seed}") if seed % 2 else ()
    conversation(margay, app, tmp_path, 2 + seed % 3, 2 + seed % 3, seed, *options)


@pytest.mark.parametrize("nodes", [2, 3, 7])
def test_barriers_end_with_the_first_restart(margay, app, nodes):
    """With seven, some ranks send rank 1 nothing in a barrier, and receive nothing from it."""
    live = margay.start("run", "--link", "virtio", "-n", nodes, "--mem", 16, "--on-death", "restart",
                        app("ptl_lives"), "barrier")
    live.wait_for(r"waits$")
    live.kill_node(1)
    run = live.wait().ok()
    for rank in range(nodes):
        assert run.of_rank(rank)[-1] == "no barrier any more", run.describe()


def test_what_is_sent_after_a_restart_arrives(margay, app, tmp_path):
    live = margay.start("run", "--link", "virtio", "-n", 2, "--on-death", "restart",
                        app("ptl_lives"), "put")
    live.wait_for(r"talks$")
    stop(live.nodes()[1])
    (tmp_path / "stopped").touch()                # from here on rank 0's messages stay in flight
    live.wait_for(r"under way$")
    live.kill_node(1)
    assert live.wait().ok().of_rank(0) == ["talks", "under way", "arrived"]


def test_restarts_are_bounded(margay, app):
    live = margay.start("run", "--link", "virtio", "-n", 2, "--on-death", "restart", "--restarts", 1,
                        app("ptl_restart"), 9, 1)
    for life in (1, 2):
        live.wait_for(rf"life {life} talks$")
        live.kill_node(1)
    run = live.wait().status(128 + signal.SIGKILL)
    run.says("node 1 is started again: life 2 of at most 2$")
    run.says("node 1 is not started again: --restarts 1 is used up$")


def test_rank_0_comes_back(margay, app):
    """Its output continues, and so does the job."""
    live = margay.start("run", "--link", "virtio", "-n", 2, "--on-death", "restart", app("waits"),
                        "sleep")
    live.wait_for(r"rank \d waits$", count=2)
    live.kill_node(0)
    live.wait_for(r"^\[0\] rank 0 waits$", count=2)
    live.signal(signal.SIGTERM)
    live.wait().status(143).says("node 0 is started again: life 2 of at most 4$")


def killed_early(margay, app, nodes: int, seed: int) -> None:
    """A node dies 0 to 400 ms after its QEMU has started: no other one waits forever."""
    rng = random.Random(seed)
    victim, moment = rng.randrange(nodes), rng.random() * 0.4
    print(f"seed {seed}: node {victim} dies after {moment * 1000:.0f} ms")
    live = margay.start("run", "-n", nodes, "--mem", 16, "--on-death", "continue",
                        app("ptl_early"), victim)
    until(lambda: victim in live.nodes() or live.process.poll() is not None)
    live.kill_node(victim, moment)
    run = live.wait().status(128 + signal.SIGKILL)
    for rank in range(nodes):
        assert run.of_rank(rank) == (["through"] if rank != victim else []), run.describe()


@pytest.mark.parametrize("link", ["shm", "virtio"], indirect=True)
@pytest.mark.parametrize("seed", range(10))
def test_an_early_death_hangs_no_node(margay, app, link, seed):
    killed_early(margay, app, 3, seed)


@pytest.mark.long
@pytest.mark.parametrize("link", ["shm", "virtio", "e1000", "e1000e"], indirect=True)
@pytest.mark.parametrize("seed", range(100, 300, 10))
def test_early_deaths_hang_no_node(margay, app, link, seed):
    for one in range(seed, seed + 10):
        killed_early(margay, app, 2 + one % 3, one)


@pytest.mark.parametrize("link", ["shm", "virtio"], indirect=True)
def test_the_job_continues_without_the_dead(margay, app, link):
    """All others end by themselves, before the launcher's deadline."""
    live = margay.start("run", "-n", 4, "--mem", 16, "--on-death", "continue", app("traffic"))
    live.wait_for(r"^\[0\] running$")
    live.kill_node(2)
    run = live.wait().status(128 + signal.SIGKILL)
    run.says(r"^margay: rank 2 \(node 2\) died")
    assert "still running" not in run.stderr, run.describe()
