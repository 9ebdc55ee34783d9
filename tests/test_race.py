"""Many kernels deliver into one block while its owner attaches, unlinks, updates and polls.

On the host with threads as kernels, under TSan, and between nodes: MPI's race (rule 24), and a
stress test of all operations at once. The threads' history is replayed in the reference model
(histories.py).
"""
from __future__ import annotations

import os
import random
import re
import signal
import subprocess
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest

import histories
from harness import BUILD

pytestmark = pytest.mark.race


def threads(test: str, **settings: object) -> str:
    """Runs one test of tests/host under TSan; returns the line with its counts."""
    command = [str(BUILD / "host" / "check-tsan"), test]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600,
                          env={**os.environ, **{key: str(value) for key, value in settings.items()}})
    *said, last = done.stdout.splitlines() or [""]
    assert done.returncode == 0 and last == "1 passed, 0 failed", (
        f"{settings} {' '.join(command)}\n{done.stdout[-3000:]}{done.stderr[-6000:]}")
    return said[-1]


def race(how: str, rounds: int, seed: int) -> None:
    said = threads(f"rule24_concurrent_{how}", RACE_ROUNDS=rounds, RACE_SEED=seed)
    found = re.fullmatch(r"race: seed (\d+), (\d+) messages, \d+ receives, (\d+) updates refused, "
                         r"(\d+) of them late", said)
    assert found and int(found.group(1)) == seed and int(found.group(2)) >= rounds - 2, said
    # The race occurred.
    assert int(found.group(3)) > rounds / 100 and int(found.group(4)) > 0, said


@pytest.mark.parametrize("how", ["race", "post"])
def test_mpi_race_of_threads(how):
    """Rule 24: receives are posted while messages for them arrive, in three steps or in one by
    PtlMEMDPost: each message is in the tested queue, or finds the receive."""
    race(how, 30_000, 1)


@pytest.mark.long
@pytest.mark.parametrize("how", ["race", "post"])
@pytest.mark.parametrize("seed", range(1, 12))
def test_mpi_race_of_threads_again(how, seed):
    race(how, 100_000, seed)


def replayed(steps: int, seed: int, path: Path) -> None:
    """Replays the history of concurrent threads in the model: the results must be equal."""
    threads("concurrent_history", HISTORY_STEPS=steps, HISTORY_SEED=seed, HISTORY_FILE=path)
    history = histories.load(path)
    assert sum(histories.invariants(history).values()) > steps / 10
    counts = histories.Replay().run(history)
    assert counts["end"] > steps / 10 and counts["md_update"] > steps / 20, counts


def test_history_of_threads(tmp_path):
    """Concurrent calls give the results of the same calls in the order of the lock."""
    replayed(6000, 1, tmp_path / "history")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 22))
def test_history_of_threads_again(tmp_path, seed):
    replayed(30_000, seed, tmp_path / "history")


# --- between nodes


RACED = r"race: seed (\d+), (\d+) messages, \d+ receives, (\d+) updates refused, (\d+) of them late"


def race_of_nodes(margay, app, nodes: int, messages: int, seed: int, how: str) -> None:
    messages = messages if margay.link == "shm" else messages // 3
    run = margay("run", "-n", nodes, "--no-prefix", app("ptl_race"), messages, seed, how,
                 timeout=200).ok()
    found = re.fullmatch(RACED, run.stdout.strip())
    assert found and int(found.group(2)) == (nodes - 1) * messages, run.describe()
    assert int(found.group(3)) > 0, run.describe()       # the race occurred


@pytest.mark.every_link
@pytest.mark.spin(2)
@pytest.mark.parametrize("nodes, messages, how", [(2, 30_000, "update"), (2, 30_000, "post"),
                                                  (3, 20_000, "update"), (3, 20_000, "post")])
def test_mpi_race_of_nodes(margay, app, nodes, messages, how):
    """Rule 24: by PtlMDUpdate, and by PtlMEMDPost."""
    race_of_nodes(margay, app, nodes, messages, 1, how)


@pytest.mark.long
@pytest.mark.spin(2)
@pytest.mark.parametrize("seed", range(20))
def test_mpi_race_of_nodes_again(margay, app, seed):
    nodes = 2 + seed % 4
    race_of_nodes(margay, app, nodes, 100_000 // (nodes - 1), seed,
                  "post" if seed % 8 < 4 else "update")


class Told(NamedTuple):
    """The output of the ranks of ptl_stress."""
    pairs: dict[tuple[int, int], dict[int, str]]    # (from, to) -> reporting rank -> text
    added: dict[int, int]                           # counter's rank -> sum of all additions
    counters: dict[int, int]
    tokens: dict[int, list[int]]                    # tokens of each rank
    dead: dict[int, set[int]]                       # rank -> ranks that it saw die
    unsure: set[int]                                # words whose exchange failed
    totals: list[int]                               # operations, accepted, updates, refused


def told(run) -> Told:
    pairs, added, counters, tokens, dead = defaultdict(dict), defaultdict(int), {}, {}, {}
    unsure: set[int] = set()
    totals = [0] * 4
    for line in run.lines:
        found = re.fullmatch(r"\[(\d+)\] (\w+) ([\da-f ]+)", line)
        if not found:
            continue
        rank, word, values = int(found.group(1)), found.group(2), found.group(3).split()
        if word == "pair":
            source, target = int(values[0]), int(values[1])
            who = "self" if source == target and rank in pairs[source, target] else rank
            pairs[source, target][who] = " ".join(values[2:])
        elif word == "sum":
            added[int(values[1])] += int(values[2])
        elif word == "sums":
            counters[rank] = int(values[1])
        elif word == "token":
            tokens[rank] = [int(value) for value in values[1:]]
        elif word == "dead":
            dead.setdefault(rank, set()).add(int(values[0]))
        elif word == "unsure":
            unsure.add(int(values[0]))
        elif word == "done":
            totals = [a + int(b) for a, b in zip(totals, values)]
    return Told(pairs, added, counters, tokens, dead, unsure, totals)


def stress(margay, app, mode: str, nodes: int, operations: int, seed: int) -> None:
    operations = margay.rounds(operations)
    run = margay("run", "-n", nodes, "--mem", 16, app("ptl_stress"), mode, operations, seed,
                 timeout=200).ok()
    said = told(run)
    for pair, both in said.pairs.items():
        assert len(both) == 2, f"{pair}: {both}\n{run.describe()}"
        assert len(set(both.values())) == 1, (
            f"{pair}: what was sent is not what came: {both}")
    assert len(said.pairs) == nodes * nodes
    assert said.added == said.counters, "an atomic operation was lost or done twice"
    held = sorted(token for tokens in said.tokens.values() for token in tokens)
    assert held == [1000 * (rank + 1) + i for rank in range(nodes) for i in range(9)], (
        "an exchanged word was lost or doubled")
    done, accepted, updates, refused = said.totals
    assert done == operations * (nodes if mode == "all" else nodes - 1)
    assert accepted > done / 20 and updates > 0, said.totals


@pytest.mark.every_link
@pytest.mark.spin(2)
@pytest.mark.parametrize("mode", ["one", "all"])
def test_stress(margay, app, mode):
    stress(margay, app, mode, 2, 20_000, 1)


@pytest.mark.long
@pytest.mark.spin(2)
@pytest.mark.parametrize("mode", ["one", "all"])
@pytest.mark.parametrize("nodes", [2, 4, 8])
@pytest.mark.parametrize("seed", range(5))
def test_stress_of_many(margay, app, mode, nodes, seed):
    stress(margay, app, mode, nodes, 20_000, seed)


def stress_with_a_death(margay, app, nodes: int, seed: int) -> None:
    """One node is killed during the run: the others lose no messages between each other, and
    end, however long that takes on a busy host."""
    rng = random.Random(seed)
    victim = rng.randrange(nodes)
    live = margay.start("run", "-n", nodes, "--mem", 16, "--on-death", "continue", app("ptl_stress"),
                        "all", 10_000_000, seed)
    live.wait_for(r"^\[\d\] running$", count=nodes)
    live.kill_node(victim, rng.random() * 0.3)
    run = live.wait().status(128 + signal.SIGKILL)
    said = told(run)
    broken = run.broken({victim}, margay.link)     # it is lost as well
    alive = set(said.tokens)
    assert alive | broken == set(range(nodes)) - {victim}, run.describe()
    for rank in alive:
        assert victim in said.dead.get(rank, set()) <= broken | {victim}, said.dead
        assert said.counters[rank] >= said.added[rank], said.counters
    for (source, target), both in said.pairs.items():
        if source in alive and target in alive:
            assert len(both) == 2 and len(set(both.values())) == 1, (
                f"{(source, target)}: {both}\n{run.describe()}")
    # A word in an exchange with the dying node may have arrived there and been passed on.
    held = Counter(token for rank in alive for token in said.tokens[rank])
    doubled = {token for token, times in held.items() if times > 1}
    assert held.total() == 9 * len(alive) and doubled <= said.unsure, (
        f"{doubled} doubled, {said.unsure} unsure\n{run.describe()}")


@pytest.mark.every_link
@pytest.mark.spin(2)
@pytest.mark.parametrize("nodes, seed", [(3, 1), (4, 2)])
def test_stress_with_a_death(margay, app, nodes, seed):
    stress_with_a_death(margay, app, nodes, seed)


@pytest.mark.long
@pytest.mark.spin(2)
@pytest.mark.parametrize("seed", range(10, 40))
def test_stress_with_a_death_again(margay, app, seed):
    stress_with_a_death(margay, app, 3 + seed % 4, seed)
