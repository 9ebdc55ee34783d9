"""Steps on the model, and what the engine has to print for them.

A step is a tuple: a command of engine.c, the process, and numbers; objects are
named by the number of the step that made them. So a step needs nothing that a
run finds out, and stays legal when others before it are left out.
"""
from __future__ import annotations

import zlib
from collections import Counter
from typing import Optional

from model import objects, portals
from model.objects import BYTES, WORDS, Limits
from model.portals import Flight, Message, Process

HARD = Limits(portals=8, acs=4, mes=12, mds=16, eqs=4, me_list=100, pieces=256)
OPERATIONS = 6
MEMORY = Message._fields
PATTERN = bytes(((i * i * 7 + i * 13 + i // 256 * 101) & 0xffffffff) >> 2 & 255
                for i in range(8192))
# Names of the results of each command, for the coverage table.
ERRORS = {number: name for name, number in vars(objects).items()
          if name.isupper() and isinstance(number, int) and -25 < number <= 0 and name not in (
              "GET_START", "DROPPED")}
DELIVERED = {0: "OK", -1: "DROPPED", -2: "BUSY", -3: "CLOSED", -5: "STALE"}


def numbers(values) -> str:
    return "".join(f" {value}" for value in values)


class LeftOut(Exception):
    """The step makes no sense without one that was left out."""


class World:
    """Two processes that get steps; what they must answer; what has happened so far."""

    def __init__(self) -> None:
        self.processes = [Process(nid, 1000 + nid, 7, HARD, OPERATIONS) for nid in (0, 1)]
        self.flights: dict[int, tuple[int, Flight]] = {}   # begun and not ended
        self.ended: list[tuple[int, int]] = []             # (process, name)
        self.unsent: dict[int, tuple[int, Message, Flight]] = {}
        self.initiated: dict[int, tuple[int, Message]] = {}
        self.requests: list[Message] = []                  # that somebody may deliver
        self.answers: list[Message] = []
        self.seen: Counter = Counter()

    def apply(self, step: tuple) -> str:
        """Carry out a step: the line that the engine must print."""
        command, p, *rest = step
        process = self.processes[p]
        process.news.clear()
        result = getattr(self, "do_" + command)(process, *rest)
        head = numbers(result if isinstance(result, tuple) else (result,))[1:]
        self.seen[command, int(head.split(" ", 1)[0])] += 1
        return head + self.state(process)

    def state(self, process: Process) -> str:
        news = ""
        for queue, number, event in sorted(process.news):
            self.seen["event", event[0], event[-1]] += 1
            known = process.eqs.get(queue)
            if known and number >= known.next - known.count:
                news += numbers((queue, number, *event)) + ","
        crc = zlib.crc32(memoryview(process.memory)[WORDS:BYTES])
        return f";{news};{numbers(process.status())}; {process.pending()} {crc}"

    # ---- commands that are methods of the model ------------------------------

    def __getattr__(self, name: str):
        if not name.startswith("do_"):
            raise AttributeError(name)
        return lambda process, *rest: getattr(process, name[3:])(*rest)

    def do_open(self, process: Process, *limits: int) -> int:
        self.forget(process)
        return process.open(*limits)

    def forget(self, process: Process) -> None:
        """Its block is formatted again: nothing of it is under way any more."""
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
        unread = min(queue.next - queue.read, queue.count) if queue else objects.EQ_INVALID
        result, *event = process.eq_get(handle)
        return result, unread, *event

    # ---- messages ------------------------------------------------------------

    def do_initiate(self, process: Process, name: int, operation: int, *rest: int) -> tuple:
        result, message, flight = process.initiate(name, operation, *rest)
        if result:
            return (result,)
        self.requests.append(message)
        self.initiated[name] = process.nid, message
        if flight is None:
            return result, *message
        self.unsent[name] = process.nid, message, flight
        return result, *message, flight.count

    def do_sent(self, process: Process, name: int, fail: int) -> tuple:
        _, message, flight = self.unsent.pop(name)
        return (process.sent(message, fail),)

    def do_unanswered(self, process: Process, name: int) -> int:
        return process.unanswered(self.initiated[name][1])

    def granted(self, process: Process, result: int, count: int,
                answer: Optional[Message]) -> tuple:
        if answer:
            self.answers.append(answer)
        return result, count, len(process.news), *(answer or ())

    def do_begin(self, process: Process, name: int, runner: int, *fields: int) -> tuple:
        message = Message(*fields)
        result, flight = process.begin(name, runner, message)
        if flight.record:
            self.flights[name] = process.nid, flight
        answer = None if flight.ack else flight.answer
        return self.granted(process, result, flight.count, answer)

    def do_data(self, process: Process, name: int, at: int, count: int, seed: int) -> int:
        _, flight = self.flights[name]
        process.data(flight, at, PATTERN[seed:seed + count])
        return 0

    def do_read(self, process: Process, name: int, at: int, count: int) -> tuple:
        flight = self.unsent[name][2] if name in self.unsent else self.flights[name][1]
        count = max(0, min(count, flight.count - at))
        return 0, zlib.crc32(process.read(flight.pieces, flight.at + at, count))

    def do_end(self, process: Process, name: int, fail: int) -> tuple:
        if (process.nid, name) in self.ended:
            return portals.D_STALE, 0, 0
        _, flight = self.flights.pop(name)
        self.ended.append((process.nid, name))
        result, answer = process.end(flight, fail)
        return self.granted(process, result, 0, answer)

    def do_died(self, process: Process, nid: int) -> tuple:
        ended = process.died(nid)
        return ended, len(process.news)

    def do_refuse(self, process: Process, fail: int, *fields: int) -> tuple:
        answer = process.refuse(Message(*fields), fail)
        return (1, *answer) if answer else (0,)
