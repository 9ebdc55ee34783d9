"""Histories of concurrent runs, replayed in the reference model.

tests/host/test_concurrent_history.c writes what several threads did to one block, numbered in the
order in which they held its lock (tests/host/history.h). If the engine is linearisable, the same
steps in sequence give the same results, grants, answers and events in the model, and the same
memory at the end. The model uses the engine's handles as names, as no two objects ever have the
same one.
"""
from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Callable, NamedTuple

from model import objects
from model.message import Flight, Message
from model.portals import Process

MASK = (1 << 64) - 1
FIELDS = ("operation ack_request fail source_nid source_pid target_nid target_pid uid jid pt_index "
          "cookie match_bits offset length mlength md_handle eq_handle op_handle hdr_data "
          "sequence").split()
# The values of a step that are handles: unsigned, 64 bits.
HANDLES = {"me_attach": (0,), "me_insert": (0, 1), "me_unlink": (0,), "md_attach": (0, 1),
           "md_insert": (0, 1), "md_bind": (0,), "md_unlink": (0,), "md_update": (0, 8),
           "eq_alloc": (0,), "eq_free": (0,), "read": (0,), "initiate": (2, 9)}
SEGMENT = 1 << 16
LIMITS = objects.Limits(portals=2, acs=4, mes=64, mds=64, eqs=3, me_list=64, pieces=1)
RECORDS = 16
SLOTS = 3 * 512


class Step(NamedTuple):
    """A line of the history; see history.h."""
    number: int
    thread: int
    word: str
    values: list[int]


def load(path: Path) -> list[Step]:
    """The steps in the order of the lock; steps without the lock come right before their
    thread's next one."""
    steps: list[tuple[tuple, Step]] = []
    waiting: list[Step] = []
    for row in path.read_text(encoding="ascii").splitlines():
        number, thread, word, *words = row.split()
        values = [int(value) for value in words]
        for i in HANDLES.get(word, ()):
            values[i] &= MASK
        step = Step(int(number), int(thread), word, values)
        waiting.append(step)
        if step.number:
            steps += [((step.number, i), each) for i, each in enumerate(waiting, -len(waiting))
                      ] if step.word != "answer" else [((step.number, 1), step)]
            waiting = []
    assert not waiting, "steps behind the last one under the lock"
    return [step for _, step in sorted(steps, key=lambda pair: pair[0])]


def payload(key: int, count: int) -> bytes:
    """payload_fill of tests/host/threads.c."""
    words = bytearray()
    for i in range((count + 7) // 8):
        x = (key + i + 1) * 0x9e3779b97f4a7c15 & MASK
        words += (x ^ x >> 29).to_bytes(8, "little")
    return bytes(words[:count])


def message(values: list[int], **more: int) -> Message:
    return Message(**{name: value & MASK for name, value in zip(FIELDS, values)}, **more)


class Replay:
    """The model and its state so far."""

    def __init__(self) -> None:
        self.process = Process(0, 1000, 7, LIMITS, RECORDS, SEGMENT, SLOTS)
        self.process.open(*LIMITS)
        self.process.memory[:] = bytes(SEGMENT)
        self.flights: dict[int, Flight] = {}
        self.answers: dict[int, object] = {}
        self.requests: dict[int, Message] = {}
        self.sends: dict[int, tuple] = {}      # messages to itself, not yet sent
        self.counts: Counter = Counter()
        self.memory = bytearray()

    def run(self, steps: list[Step]) -> Counter:
        for i, step in enumerate(steps):
            self.process.news.clear()
            try:
                getattr(self, "do_" + step.word)(step, step.values)
            except AssertionError as error:
                near = "\n".join(map(str, steps[max(0, i - 12):i + 1]))
                raise AssertionError(f"{error}\n{near}") from None
            self.counts[step.word] += 1
        return self.counts

    # ---- the owner's calls

    def made(self, call: Callable, values: list[int], name: int) -> None:
        """A call that makes an object; the last value is its result."""
        result = call(name, *(value & MASK for value in values[1:-1]))
        same(result, values[-1])
        if result == 0:
            self.counts["made"] += 1

    def do_me_attach(self, step: Step, v: list[int]) -> None:
        self.made(self.process.me_attach, v, v[0])

    def do_me_insert(self, step: Step, v: list[int]) -> None:
        self.made(self.process.me_insert, v, v[0])

    def do_me_unlink(self, step: Step, v: list[int]) -> None:
        same(self.process.me_unlink(v[0]), v[1])

    def descriptor(self, v: list[int]) -> list[int]:
        start, length, threshold, *rest = v
        return [start, length, threshold, *(value & MASK for value in rest)]

    def do_md_attach(self, step: Step, v: list[int]) -> None:
        same(self.process.md_attach(v[0], v[1], *self.descriptor(v[2:9]), v[9]), v[10])

    def do_md_insert(self, step: Step, v: list[int]) -> None:
        same(self.process.md_insert(v[0], v[1], *self.descriptor(v[2:9]), v[9], v[10]), v[11])

    def do_md_bind(self, step: Step, v: list[int]) -> None:
        same(self.process.md_bind(v[0], *self.descriptor(v[1:8]), v[8]), v[9])

    def do_md_unlink(self, step: Step, v: list[int]) -> None:
        same(self.process.md_unlink(v[0]), v[1])

    def do_md_update(self, step: Step, v: list[int]) -> None:
        result, *old = self.process.md_update(v[0], 1, 1, *self.descriptor(v[1:8]), v[8])
        same(result, v[9])
        if old:
            same(old[2], v[10], "the old threshold")

    def do_eq_alloc(self, step: Step, v: list[int]) -> None:
        same(self.process.eq_alloc(v[0], v[1], objects.BASE, 0)[0], v[2])

    def do_eq_free(self, step: Step, v: list[int]) -> None:
        same(self.process.eq_free(v[0]), v[1])

    def do_read(self, step: Step, v: list[int]) -> None:
        result, number, *event = self.process.eq_get(v[0])
        same((result, number), (0, v[1]))
        event[16] &= MASK
        wanted = [value & MASK for value in v[2:]]
        same([value & MASK for value in event], wanted, "an event")

    # ---- messages

    def do_begin(self, step: Step, v: list[int]) -> None:
        flight, m, (result, count, offset, events, answers) = v[0], message(v[1:21]), v[21:]
        got, self.flights[flight] = self.process.begin(flight_name(step), step.thread, m)
        same(got, result)
        self.events(events)
        self.requests[flight] = m
        if got == 0:
            same(self.flights[flight].count, count, "bytes granted")
            if count:
                first = next(iter(self.process.ranges(
                    self.flights[flight].pieces, self.flights[flight].at, count)))
                same(first, (offset, count), "the range granted")
        self.answer(flight, self.flights[flight].answer
                    if not self.flights[flight].ack else None, answers)

    def do_end(self, step: Step, v: list[int]) -> None:
        flight, fail, result, events, answers = v
        got, answer = self.process.end(self.flights[flight], fail)
        same(got, result)
        self.events(events)
        self.answer(flight, answer, answers)

    def do_inline(self, step: Step, v: list[int]) -> None:
        m = message(v[1:21], atomic_operation=v[21], datatype=v[22])
        result, events, answers, wanted = v[23:]
        got, flight, reply = self.process.inline(m, payload(m.hdr_data, 128))
        same(got, result)
        self.events(events)
        digest = 0
        for byte in reply:
            digest = (digest * 31 + byte) & 0xffffffff
        same(digest, wanted, "the bytes of the reply")
        self.answer(v[0], flight.answer, answers)

    def events(self, count: int) -> None:
        same(len(self.process.news), count, "events recorded")

    def answer(self, flight: int, answer: object, wanted: int) -> None:
        same(int(answer is not None), wanted, "whether it answers")
        self.answers[flight] = answer

    def do_answer(self, step: Step, v: list[int]) -> None:
        same(self.answers[v[0]], message(v[1:]), "the answer")

    def do_payload(self, step: Step, v: list[int]) -> None:
        self.process.data(self.flights[v[0]], 0, payload(v[1], v[2]))

    def do_fetched(self, step: Step, v: list[int]) -> None:
        flight, count, *bytes_read = v
        got = self.process.read(self.flights[flight].pieces, self.flights[flight].at, count)
        same([got[0], got[count // 2], got[-1]], bytes_read, "bytes that a get read")

    # ---- the owner's messages to itself

    def do_initiate(self, step: Step, v: list[int]) -> None:
        flight, operation, md, pt, ack, bits, offset, hdr, result, op = v
        got, m, sent = self.process.initiate(op, operation, md, 0, MASK, 0, 1, pt, 0, ack, bits,
                                             offset, hdr, 0, 0)
        same(got, result)
        self.sends[flight] = m, sent

    def do_moved(self, step: Step, v: list[int]) -> None:
        flight, source, count = v
        self.process.data(self.flights[flight], 0,
                          bytes(self.process.memory[source:source + count]))

    def do_sent(self, step: Step, v: list[int]) -> None:
        self.process.sent(self.sends[v[0]][1], 0)

    def do_sent_unanswered(self, step: Step, v: list[int]) -> None:
        self.do_sent(step, v)
        self.process.unanswered(self.sends[v[0]][0])

    # ---- the end

    def do_memory(self, step: Step, v: list[int]) -> None:
        at = len(self.memory)
        for value in v:
            self.memory += (value & MASK).to_bytes(8, "little")
        same(bytes(self.memory[at:]).hex(), bytes(self.process.memory[at:len(self.memory)]).hex(),
             f"memory from {at} on")


def flight_name(step: Step) -> int:
    """The name of a begin's operation record, which no object has."""
    return -1 - step.number


def same(is_: object, wanted: object, what: str = "the result") -> None:
    assert is_ == wanted, f"{what}: the model has {is_}, the engine had {wanted}"


def invariants(steps: list[Step]) -> Counter:
    """Invariants of any history, independent of the model: a START before its END, each once; in
    one queue only acks of a descriptor after its UNLINK, and the events of one sender in the
    order of its messages."""
    counts: Counter = Counter()
    open_: dict[tuple, int] = {}
    gone: set[tuple] = set()
    last: dict[tuple, int] = defaultdict(lambda: -1)
    for step in steps:
        if step.word != "read":
            continue
        queue, _, kind, nid = step.values[:4]
        md, hdr, link = step.values[12], step.values[20], step.values[21]
        counts[objects.KINDS[kind]] += 1
        assert (queue, md) not in gone or kind == objects.ACK_EVENT, f"behind its UNLINK: {step}"
        if kind == objects.UNLINK_EVENT:
            gone.add((queue, md))
        elif kind == objects.ACK_EVENT:
            continue
        elif kind % 2 == 0:
            assert (md, link) not in open_, f"two STARTs: {step}"
            open_[md, link] = kind
        elif (md, link) in open_:
            assert open_.pop((md, link)) == kind - 1, f"START and END differ: {step}"
        if kind == objects.PUT_END and nid:
            number = hdr & ((1 << 48) - 1)
            assert number > last[nid, queue], f"order of one sender: {step}"
            last[nid, queue] = number
    return counts
