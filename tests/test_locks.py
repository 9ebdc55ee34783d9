"""Locks of files between ranks, and the launcher's table of them against a model."""
from __future__ import annotations

import random
import struct
import sys
from errno import EAGAIN, EDEADLK, EINTR, EINVAL, ENOLCK

import pytest

from harness import ROOT

sys.path.insert(0, str(ROOT / "tools"))

from margaylib import locks  # noqa: E402
from margaylib.locks import CANCEL, EXCLUSIVE, GET, LAST, NONE, SET, SHARED, WAIT  # noqa: E402

pytestmark = pytest.mark.files


# --- on nodes

@pytest.mark.nodes(2)
@pytest.mark.every_link
def test_rules(margay, app):
    margay("run", "-n", 2, app("file_locks"), "rules").ok()


@pytest.mark.nodes(4)
def test_count(margay, app):
    margay("run", "-n", 4, "--no-prefix", app("file_locks"), "count", 50).ok().prints("^counted 200$")


@pytest.mark.nodes(2)
def test_deadlock(margay, app):
    run = margay("run", "-n", 2, "--no-prefix", app("file_locks"), "deadlock").ok()
    assert sorted(run.lines) == ["deadlock", "locked"]


@pytest.mark.nodes(2)
def test_lock_of_a_node_that_ends(margay, app):
    run = margay("run", "-n", 2, "--no-prefix", app("file_locks"), "held").status(137)
    run.prints("^free$")


@pytest.mark.nodes(2)
def test_signal_of_a_timer_ends_a_wait(margay, app):
    run = margay("run", "-n", 2, "--no-prefix", app("file_locks"), "alarm").ok()
    assert run.lines == ["interrupted"]


@pytest.mark.nodes(2)
@pytest.mark.every_link
def test_messages_progress_while_a_lock_is_waited_for(margay, app):
    run = margay("run", "-n", 2, "--no-prefix", app("file_locks"), "meanwhile").ok()
    assert run.lines == ["arrived"]


# --- the launcher's table

class Table:
    """The table of locks, with the answers by rank."""

    def __init__(self) -> None:
        self.answers: dict[int, tuple] = {}
        self.locks = locks.Locks(self.answer)
        self.number = 0

    def answer(self, rank, number, error, lock) -> None:
        self.answers[rank] = (number, error, lock)

    def ask(self, rank, call, kind=EXCLUSIVE, first=0, last=LAST, owner=0, inode=1, whole=0):
        """The error of the request, or None if it waits."""
        self.number += 1
        self.locks.ask(rank, struct.pack("<IHHHHIIIQQQ", self.number, call, kind, whole, 0, owner,
                                         100 + rank, 0, inode, first, last))
        number, error, _ = self.answers.get(rank, (0, 0, None))
        return error if number == self.number else None


def test_a_lock_is_given_to_the_one_that_waited_longest():
    table = Table()
    assert table.ask(0, SET) == 0
    assert table.ask(1, WAIT) is None and table.ask(2, WAIT) is None
    first = table.number - 1
    assert table.ask(0, SET, NONE) == 0
    assert table.answers[1][:2] == (first, 0) and 2 not in table.answers
    table.locks.end(1)
    assert table.answers[2][:2] == (first + 1, 0)


def test_readers_share():
    table = Table()
    assert table.ask(0, SET, SHARED) == 0 and table.ask(1, SET, SHARED) == 0
    assert table.ask(0, SET, EXCLUSIVE) == EAGAIN
    assert table.ask(1, SET, NONE) == 0 and table.ask(0, SET, EXCLUSIVE) == 0
    assert table.ask(0, SET, SHARED) == 0 and table.ask(1, SET, SHARED) == 0


def test_a_chain_of_three_that_would_wait_for_ever():
    table = Table()
    for rank in range(3):
        assert table.ask(rank, SET, inode=rank) == 0
    assert table.ask(0, WAIT, inode=1) is None and table.ask(1, WAIT, inode=2) is None
    assert table.ask(2, WAIT, inode=0) == EDEADLK
    assert table.ask(2, SET, NONE, inode=2) == 0
    assert table.answers[1][1] == 0


def test_an_open_file_that_would_wait_for_its_own_process():
    table = Table()
    assert table.ask(0, SET, owner=1, whole=1) == 0
    assert table.ask(0, WAIT, owner=2, whole=1) == EDEADLK
    assert table.ask(0, SET, owner=0, whole=0) == 0, "flock does not meet the others"


def test_a_wait_that_is_cancelled():
    table = Table()
    table.ask(0, SET)
    assert table.ask(1, WAIT) is None
    assert table.ask(1, CANCEL) == EINTR
    table.ask(0, SET, NONE)
    assert table.ask(2, SET) == 0, "rank 1 does not wait any more"
    assert table.ask(1, WAIT) is None
    table.ask(2, SET, NONE)
    assert table.ask(1, CANCEL) == 0, "it was given meanwhile"


@pytest.mark.parametrize("words", [
    {"call": 7}, {"call": SET, "kind": 3}, {"call": GET, "kind": NONE}, {"call": SET, "first": 5, "last": 4},
    {"call": SET, "last": LAST + 1}])
def test_a_damaged_request(words):
    table = Table()
    assert table.ask(0, **words) == EINVAL
    table.locks.ask(0, b"short")
    assert table.ask(1, SET) == 0


def test_a_node_that_takes_too_many():
    table = Table()
    for at in range(locks.MOST):
        table.locks.held.setdefault((0, 0, 1), []).append(
            locks.Lock(0, 0, 100, SHARED, 2 * at, 2 * at))
    assert table.ask(0, SET, SHARED, 1 << 40, 1 << 40) == ENOLCK
    assert table.ask(1, SET, SHARED, 1 << 40, 1 << 40) == 0
    assert table.ask(0, SET, NONE) == 0 and table.ask(0, SET) == EAGAIN


@pytest.mark.parametrize("seed", range(20))
def test_against_a_byte_by_byte_model(seed):
    """Three owners, 12 bytes, requests that do not wait: compares the owners of each byte."""
    choose = random.Random(seed)
    table, model = Table(), [{} for _ in range(12)]
    for _ in range(300):
        rank, kind = choose.randrange(3), choose.choice((SHARED, EXCLUSIVE, NONE))
        first, last = sorted((choose.randrange(12), choose.randrange(12)))
        stopped = any(EXCLUSIVE in (kind, held)
                      for byte in model[first:last + 1]
                      for other, held in byte.items() if other != rank) and kind != NONE
        call = choose.choice((SET, SET, GET)) if kind != NONE else SET
        got = table.ask(rank, call, kind, first, last)
        if call == GET:
            assert (table.answers[rank][2] is not None) == stopped
            continue
        assert got == (EAGAIN if stopped else 0)
        for byte in model[first:last + 1] if not stopped else ():
            byte.pop(rank, None)
            if kind != NONE:
                byte[rank] = kind
    held = table.locks.held.get((0, 0, 1), [])
    for at, byte in enumerate(model):
        assert {lock.rank: lock.kind for lock in held if lock.first <= at <= lock.last} == byte
    assert len(held) <= 36, "neighbours of one kind are one lock"
