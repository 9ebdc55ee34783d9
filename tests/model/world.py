"""Steps on the model, and the lines that the engine must print for them.

A step is a tuple: a command of engine.c, the process, and numbers; objects are named by the number
of the step that made them. So a step depends on no result of a run, and stays valid when earlier
ones are removed.
"""
from __future__ import annotations

import zlib
from collections import Counter
from typing import Any, Callable, Iterable, Optional

from model import objects
from model.message import ATOMIC, D_STALE, FETCHES, REPLY, Flight, Message
from model.objects import DATA, HOLE, IOVEC, STACK, Limits
from model.portals import Process

HARD = Limits(portals=8, acs=4, mes=20, mds=20, eqs=4, me_list=20, pieces=256)
OPERATIONS = 6
OWN = 10000                # an inline payload from here on is in the target's own segment
PATTERN = bytes(((i * i * 7 + i * 13 + i // 256 * 101) & 0xffffffff) >> 2 & 255
                for i in range(8192))

# Index of a descriptor's options in a step's numbers.
OPTIONS_AT = {"md_attach": 6, "md_insert": 6, "md_bind": 5, "md_update": 7, "post_entry": 13}


def numbers(values: Iterable[object]) -> str:
    return "".join(f" {value}" for value in values)


class LeftOut(Exception):
    """The step depends on one that was removed."""


class World:
    """Two processes that carry out steps, the expected results, and the state so far."""

    def __init__(self) -> None:
        self.processes = [Process(nid, 1000 + nid, 7, HARD, OPERATIONS, usable=(DATA, HOLE, STACK))
                          for nid in (0, 1)]
        self.flights: dict[int, tuple[int, Flight]] = {}   # begun but not ended
        self.ended: list[tuple[int, int]] = []             # (process, name)
        self.unsent: dict[int, tuple[int, Flight]] = {}
        self.initiated: dict[int, tuple[int, Message]] = {}
        self.requests: list[Message] = []                  # that may be delivered
        self.answers: list[Message] = []
        self.seen: Counter = Counter()

    def apply(self, step: tuple) -> str:
        """Carry out a step; returns the line that the engine must print."""
        command, p, *rest = step
        process = self.processes[p]
        process.news.clear()
        process.rung = False
        result = getattr(self, "do_" + command)(process, *rest)
        head = numbers(result if isinstance(result, tuple) else (result,))[1:]
        outcome = int(head.split(" ", 1)[0])
        self.seen[command, outcome] += 1
        if command in OPTIONS_AT and outcome == 0:
            for bit in range(11):
                if rest[OPTIONS_AT[command]] >> bit & 1:
                    self.seen["option", bit] += 1
        return head + self.state(process)

    def state(self, process: Process) -> str:
        news = ""
        for queue, number, event in sorted(process.news):
            self.seen["event", event[0], event[-1]] += 1
            known = process.eqs.get(queue)
            if known and number >= known.next - known.count:
                news += numbers((queue, number, *event)) + ","
        memory = memoryview(process.memory)
        crc = zlib.crc32(memory[STACK:], zlib.crc32(memory[:HOLE]))
        return f";{news};{numbers(process.status())}; {process.pending()} {crc}"

    # ---- commands that are methods of the model ------------------------------

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if not name.startswith("do_"):
            raise AttributeError(name)
        return lambda process, *rest: getattr(process, name[3:])(*rest)

    def do_open(self, process: Process, *limits: int) -> int:
        self.forget(process)
        return process.open(*limits)

    def forget(self, process: Process) -> None:
        """Its block is formatted again: none of its operations are pending any more."""
        for name, (p, _) in list(self.flights.items()):
            if p == process.nid:
                del self.flights[name]
                self.ended.append((p, name))

    def do_poke(self, process: Process, at: int, count: int, *words: int) -> int:
        return process.poke(at, *words)

    def do_eq_alloc(self, process: Process, name: int, count: int, word: int,
                    handler: int) -> tuple:
        if any(queue.word == word for queue in process.eqs.values()):
            raise LeftOut                       # the step that freed the other queue
        return process.eq_alloc(name, count, word, handler)

    def do_eq_get(self, process: Process, handle: int) -> tuple:
        queue = process.eqs.get(handle)
        unread = queue.left(queue.word_read) if queue else objects.EQ_INVALID
        unhandled = process.eq_unhandled(handle)
        result, *event = process.eq_get(handle)
        return result, unread, unhandled, *event

    # ---- messages ------------------------------------------------------------

    def upcall(self, process: Process) -> int:
        """Whether an event was recorded that has a handler."""
        return int(process.rung)

    def started(self, process: Process, name: int, result: int, message: Message,
                flight: Optional[Flight]) -> tuple:
        if result:
            return (result,)
        self.requests.append(message)
        self.initiated[name] = process.nid, message
        if flight is None:
            return result, *message
        self.unsent[name] = process.nid, flight
        return result, *message, flight.count, len(process.news), self.upcall(process)

    def do_initiate(self, process: Process, name: int, *rest: int) -> tuple:
        return self.started(process, name, *process.initiate(name, *rest))

    def do_exchange(self, process: Process, name: int, *rest: int) -> tuple:
        return self.started(process, name, *process.exchange(name, *rest))

    def do_sent(self, process: Process, name: int, fail: int) -> tuple:
        _, flight = self.unsent.pop(name)
        return process.sent(flight, fail), len(process.news), self.upcall(process)

    def do_unanswered(self, process: Process, name: int) -> int:
        return process.unanswered(self.initiated[name][1])

    def granted(self, process: Process, result: int, count: int,
                answer: Optional[Message]) -> tuple:
        self.answered(answer)
        return result, count, len(process.news), self.upcall(process), *(answer or ())

    def do_begin(self, process: Process, name: int, runner: int, *fields: int) -> tuple:
        message = Message(*fields)
        result, flight = process.begin(name, runner, message)
        if flight.record:
            self.flights[name] = process.nid, flight
        answer = None if flight.ack else flight.answer
        return self.granted(process, result, flight.count, answer)

    def do_data(self, process: Process, name: int, at: int, count: int, seed: int) -> int:
        _, flight = self.range_of(name)
        if flight.operation == ATOMIC:
            return process.apply(flight, at, PATTERN[seed:seed + count])
        process.data(flight, at, PATTERN[seed:seed + count])
        return 0

    def range_of(self, name: int) -> tuple[int, Flight]:
        """The range that may be accessed: none once its runner's death has ended it."""
        if name in self.unsent:
            return self.unsent[name]
        p, flight = self.flights[name]
        if flight.record.name not in self.processes[p].records:
            raise LeftOut
        return p, flight

    def do_copy(self, process: Process, name: int, q: int, source_name: int) -> int:
        """Copies from range to range, like a link that maps both."""
        _, flight = self.range_of(name)
        _, source = self.range_of(source_name)
        if q == process.nid and len(source.pieces) + len(flight.pieces) > 2:
            raise LeftOut                       # what overlaps then is not specified
        self.processes[q].copies_to(source, process, flight)
        return 0

    def do_inline(self, process: Process, name: int, seed: int, *fields: int) -> tuple:
        message = Message(*fields)
        payload = PATTERN[seed:seed + 128]
        if seed >= OWN:
            if any(md.args.options & IOVEC for md in process.mds.values()):
                raise LeftOut                   # as for copy
            payload = bytes(process.memory[seed - OWN:seed - OWN + 128])
        result, flight, fetched = process.inline(message, payload)
        if result or message.operation not in FETCHES:
            fetched = b"\xee" * 64              # the result is not changed
        answer = None if message.operation == REPLY else flight.answer
        return (*self.granted(process, result, 0, None), zlib.crc32(fetched),
                *self.answered(answer))

    def answered(self, answer: Optional[Message]) -> tuple:
        if answer:
            self.answers.append(answer)
        return answer or ()

    def do_read(self, process: Process, name: int, at: int, count: int) -> tuple:
        _, flight = self.range_of(name)
        count = max(0, min(count, flight.count - at))
        return 0, zlib.crc32(process.read(flight.pieces, flight.at + at, count))

    def do_end(self, process: Process, name: int, fail: int) -> tuple:
        if (process.nid, name) in self.ended:
            return D_STALE, 0, 0, 0
        _, flight = self.flights.pop(name)
        self.ended.append((process.nid, name))
        result, answer = process.end(flight, fail)
        return self.granted(process, result, 0, answer)

    def do_died(self, process: Process, nid: int) -> tuple:
        ended = process.died(nid)
        return ended, len(process.news)

    def do_barrier(self, process: Process) -> tuple:
        return tuple(process.barrier)

    def do_refuse(self, process: Process, fail: int, *fields: int) -> tuple:
        answer = process.refuse(Message(*fields), fail)
        return (1, *answer) if answer else (0,)
