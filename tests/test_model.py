"""The engine against the reference model of tests/model: the same random steps on both.

tests/model/objects.py, message.py and portals.py are the model, sequences.py makes the steps,
build/host/model-engine is the engine under ASan and UBSan. This file lists the cases that must
occur in a long run, so that a generator that no longer reaches one fails. `make soak` continues
with other seeds.
"""
from __future__ import annotations

from typing import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from model import objects
from model.compare import Comparison, Difference, Engine
from model.sequences import Sequence
from model.soak import PROGRAM, run, shortest

pytestmark = pytest.mark.host

SEED = 1
STEPS = 100_000
EXAMPLES, EXAMPLE_STEPS = 100, 50

# Results other than 0 that each command must have returned in a long run.
ERRORS = {
    "me_attach": ("PT_INDEX_INVALID", "ME_LIST_TOO_LONG", "NO_SPACE"),
    "me_attach_any": ("PT_FULL", "NO_SPACE"),
    "me_insert": ("ME_INVALID", "ME_LIST_TOO_LONG", "NO_SPACE"),
    "me_unlink": ("ME_INVALID", "ME_IN_USE"),
    "md_attach": ("ME_INVALID", "ME_IN_USE", "MD_ILLEGAL", "SEGV", "EQ_INVALID", "NO_SPACE"),
    "md_insert": ("MD_INVALID", "MD_ILLEGAL", "SEGV", "EQ_INVALID", "NO_SPACE"),
    "md_bind": ("MD_ILLEGAL", "SEGV", "EQ_INVALID", "NO_SPACE"),
    "md_unlink": ("MD_INVALID", "MD_IN_USE"),
    "md_update": ("MD_INVALID", "MD_ILLEGAL", "SEGV", "EQ_INVALID", "MD_NO_UPDATE", "NO_SPACE"),
    "post_entry": ("ME_INVALID", "ME_LIST_TOO_LONG", "MD_ILLEGAL", "SEGV", "EQ_INVALID",
                   "MD_NO_UPDATE", "NO_SPACE"),
    "eq_alloc": ("SEGV", "NO_SPACE"),
    "eq_free": ("EQ_INVALID",),
    "eq_get": ("EQ_INVALID", "EQ_EMPTY", "EQ_DROPPED"),
    "ac_set": ("AC_INDEX_INVALID", "PT_INDEX_INVALID"),
    "register": ("SR_INDEX_INVALID",),
    "initiate": ("MD_INVALID", "MD_ILLEGAL", "PROCESS_INVALID", "NO_SPACE", "SEGV",
                 "ATOMIC_INVALID"),
    "exchange": ("MD_INVALID", "MD_ILLEGAL", "PROCESS_INVALID", "NO_SPACE", "SEGV",
                 "ATOMIC_INVALID"),
}
# The same for deliver: DROPPED, BUSY, CLOSED, STALE.
DELIVERED = {"begin": (0, -1, -2, -3), "inline": (0, -1, -3), "end": (0, -5)}
OTHERS = ("open", "close", "poke", "data", "copy", "read", "sent", "unanswered", "died", "refuse",
          "eq_handled", "eq_scribble", "alive", "barrier")
# Cases of the rules of docs/portals.md, by the model's names.
CASES = {
    2: ("portal", "cookie", "entry admits nobody", "nid", "pid", "uid", "jid", "entry's portal"),
    3: ("first entry", "after one that does not match", "after one that rejects", "end of list",
        "one initiator's entry in a long list", "everybody's entry in a long list",
        "other entry in a long list"),
    4: ("operation", "threshold 0", "inactive", "too long"),
    5: ("local offset", "remote offset", "cut", "cut to nothing"),
    6: ("inactive", "unlinked", "switched off by MANAGE_REMOTE"),
    7: ("spends nothing",),
    8: ("threshold is used up", "the entry goes too", "the next descriptor is the first"),
    12: ("acknowledged", "acks disabled", "no queue, no ack"),
    13: ("recorded", "the descriptor is gone", "no queue"),
    14: ("whole", "cut", "no room"),
    16: ("answered", "silent", "ends silently", "told"),
    17: ("nothing waits", "other kind", "other node", "other process", "other descriptor",
         "other queue"),
    19: ("START disabled", "END disabled"),
    20: ("overtaken",),
    24: ("pending", "unread", "owed", "post: unread", "post: owed"),
    35: ("usable", "not writable", "not usable"),
    37: ("full", "full again"),
}


@pytest.fixture(scope="module")
def engines() -> Iterator[list[Engine]]:
    """The running engine; a new one is started after a difference."""
    running: list[Engine] = []
    yield running
    for engine in running:
        engine.close()


@settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None,
          phases=[Phase.generate],
          suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_short_sequences(engines, data):
    """Few steps at a time. If they differ, steps are removed as long as they still do, which
    takes seconds; Hypothesis's own shrinking takes minutes."""
    if not engines:
        engines.append(Engine(PROGRAM))
    comparison = Comparison(engines[-1])
    sequence = Sequence(comparison.world, lambda n: data.draw(st.integers(0, n - 1)))
    try:
        while len(comparison.steps) < EXAMPLE_STEPS:
            for step in sequence.next():
                comparison.apply(step)
        comparison.settle()
    except Difference as difference:
        engines.pop().close()
        raise shortest(comparison.steps, 0, difference) from None


def test_long_sequences():
    """make soak, once; every result and case must occur in it."""
    seen = run(SEED, STEPS)
    assert seen["steps"] >= STEPS
    wanted: dict[tuple[object, ...], int] = {
        (command, getattr(objects, error)): 10
        for command, errors in ERRORS.items() for error in ("OK", *errors)}
    wanted |= {(command, result): 100 for command, results in DELIVERED.items()
               for result in results}
    wanted |= {(rule, case): 10 for rule, cases in CASES.items() for case in cases}
    wanted |= {("option", bit): 500 for bit in range(11)}
    wanted |= {("event", kind, 0): 200 for kind in range(12)}
    wanted |= {("event", kind, fail): 10 for kind, fail in (
        (objects.GET_END, 1), (objects.PUT_END, 1), (objects.SEND_END, 1), (objects.REPLY_END, 1),
        (objects.REPLY_END, 2), (objects.ACK_EVENT, 1), (objects.ACK_EVENT, 2))}
    missing = [f"{key}: {seen[key]} of {count}" for key, count in wanted.items()
               if seen[key] < count]
    missing += [command for command in OTHERS if not any(key[0] == command for key in seen
                                                         if isinstance(key, tuple))]
    assert not missing, "\n".join(missing)
