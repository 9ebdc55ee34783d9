"""The generator of steps, for both drivers: weighted random, aimed by the model's state.

`Sequence(world, below)` makes steps; `below(n)` gives a number from 0 to n - 1,
from a seeded generator or from Hypothesis. Most steps are aimed at something
that works; the rest has one thing wrong with it. Smaller numbers are the
simpler choices, so that Hypothesis shrinks towards them.
"""
from __future__ import annotations

from typing import Callable, Iterator

from model import objects, portals
from model.objects import ANY, BASE, BYTES, IOVEC, MAX_SIZE, OP_GET, OP_PUT, WORDS
from model.portals import ACK, GET, NI_DROPPED, NI_FAIL, NI_OK, PUT, REPLY, WHOLE, Message
from model.world import HARD, World

WEIGHTS = {
    "begin": 16, "end": 16, "data": 8, "eq_get": 14, "initiate": 9, "answer": 9, "sent": 5,
    "md_attach": 10, "me_attach": 6, "me_insert": 4, "md_bind": 5, "eq_alloc": 3, "read": 3,
    "md_unlink": 3, "me_unlink": 2, "eq_free": 1, "died": 1, "refuse": 1, "unanswered": 1,
    "restart": 1,
}


class Sequence:
    """Steps for one world."""

    def __init__(self, world: World, below: Callable[[int], int]):
        self.world, self.below = world, below
        self.made = 0
        self.gone: list[int] = []               # names that objects had
        self.kinds = [kind for kind, weight in WEIGHTS.items() for _ in range(weight)]

    # ---- choices -------------------------------------------------------------

    def chance(self, percent: int) -> bool:
        return self.below(100) >= 100 - percent

    def pick(self, things):
        return things[self.below(len(things))]

    def handle(self, live) -> int:
        """A name from `live`; sometimes of something that is gone, or a forgery."""
        live = list(live)
        if live and not self.chance(6):
            return self.pick(live)
        bad = self.below(8)
        if bad < 4 and self.gone:
            return self.gone[-1 - self.below(min(40, len(self.gone)))]
        if bad < 6 and live:
            return -10 - 4 * self.pick(live) - self.below(4)
        return self.pick((0, -1))

    def new(self) -> int:
        self.made += 1
        self.gone.append(self.made)             # may be used only after it has gone, or before
        return self.made

    # ---- steps ---------------------------------------------------------------

    def next(self) -> list[tuple]:
        """The next step, or a few that belong together."""
        while True:
            p = int(self.chance(25))
            process = self.world.processes[p]
            kind = self.kinds[self.below(len(self.kinds))]
            if not process.opened and kind not in ("begin", "end", "sent", "answer", "data",
                                                   "read", "died"):
                kind = "restart"
            elif len(process.records) >= 5 and self.chance(40):
                kind = self.pick(("end", "answer"))
            steps = list(getattr(self, kind)(p, process))
            if steps:
                return steps

    def me_fields(self) -> tuple:
        nid = ANY if self.chance(50) else self.below(4)
        pid = ANY if self.chance(70) else 1 + self.below(2)
        bits = self.below(4) | (self.below(16) << 60 if self.chance(10) else 0)
        ignore = self.pick((0, 0, 0, 1, 2, 3, 15 << 60, (1 << 64) - 1))
        return nid, pid, bits, ignore, self.below(2)

    def me_attach(self, p, process) -> Iterator[tuple]:
        limit = process.limits.portals
        pt = self.pick((limit - 1, limit, limit + 1, 8, ANY)) if self.chance(12) \
            else self.below(min(3, limit))
        yield "me_attach", p, self.new(), pt, *self.me_fields(), self.below(2)

    def me_insert(self, p, process) -> Iterator[tuple]:
        yield "me_insert", p, self.new(), self.handle(process.mes), *self.me_fields(), self.below(2)

    def me_unlink(self, p, process) -> Iterator[tuple]:
        yield "me_unlink", p, self.handle(process.mes)

    def memory(self) -> tuple[int, int]:
        """Start and length; sometimes against the segment's end, or beyond."""
        length = self.pick((8, 0, 1, 7, 16, 33, 64, 65, 100, 200, 300))
        start = BASE + WORDS + self.below(BYTES - WORDS - length)
        if not self.chance(12):
            return start, length
        return self.pick((
            (BASE + BYTES - length, length), (BASE + BYTES - length, length + 1),
            (BASE + BYTES, 0), (BASE + BYTES, 1), (BASE - 1, 1), (BASE - 1, 0), (0, 0),
            (BASE - 1, WHOLE), (BASE + WORDS, WHOLE), (BASE + 1, WHOLE - BASE), (WHOLE, 1),
            (WHOLE - 7, 16), (0, BASE + BYTES)))

    def args(self, process, target: bool) -> tuple:
        start, length = self.memory()
        options = 0
        for bit, percent in ((objects.OP_PUT, 75), (objects.OP_GET, 65),
                             (objects.MANAGE_REMOTE, 35), (objects.TRUNCATE, 40),
                             (objects.ACK_DISABLE, 15), (objects.MAX_SIZE, 25),
                             (objects.START_DISABLE, 15), (objects.END_DISABLE, 15)):
            options |= bit * self.chance(percent)
        if self.chance(2):
            options |= 1 << (9 + self.below(23))
        threshold = self.pick((-1, -1, -1, 1, 1, 1, 2, 2, 3, 5, 0, -2 if self.chance(20) else 4))
        queue = self.handle(process.eqs) if self.chance(85) else 0
        return start, length, threshold, self.below(length + 2), options, self.below(1000), queue

    def md_attach(self, p, process) -> Iterator[tuple]:
        bare = [name for name, entry in process.mes.items() if not entry.mds]
        entry = self.handle(bare if bare and not self.chance(8) else process.mes)
        yield ("md_attach", p, self.new(), entry, *self.args(process, True), self.below(2))

    def md_bind(self, p, process) -> Iterator[tuple]:
        yield "md_bind", p, self.new(), *self.args(process, False), self.below(2)

    def md_unlink(self, p, process) -> Iterator[tuple]:
        yield "md_unlink", p, self.handle(process.mds)

    def eq_alloc(self, p, process) -> Iterator[tuple]:
        count = self.pick((0, 257, 1 << 40, WHOLE)) if self.chance(10) \
            else self.pick((4, 1, 2, 3, 5, 8, 13, 16))
        name = self.new()
        word = next(word for word in range(BASE, BASE + WORDS, 16)
                    if all(queue.word != word for queue in process.eqs.values()))
        if self.chance(8):
            word = self.pick((BASE - 8, BASE + BYTES, BASE + 4, BASE + BYTES - 4, 0, WHOLE - 7))
        yield "eq_alloc", p, name, count, word, 0

    def eq_free(self, p, process) -> Iterator[tuple]:
        yield "eq_free", p, self.handle(process.eqs)

    def eq_get(self, p, process) -> Iterator[tuple]:
        full = [name for name, queue in process.eqs.items() if queue.next != queue.read]
        name = self.handle(full if full and self.chance(90) else process.eqs)
        for _ in range(1 + self.below(4)):
            yield "eq_get", p, name

    # ---- operations ----------------------------------------------------------

    def initiate(self, p, process) -> Iterator[tuple]:
        active = [name for name, md in process.mds.items() if md.active()]
        handle = self.handle(active if active and not self.chance(10) else process.mds)
        md = process.mds.get(handle)
        room = md.room if md else 10
        local, length = self.below(room + 1), 0
        length = self.pick((room - local, 0, room - local + 1, WHOLE - local, WHOLE - 1)) \
            if self.chance(40) else self.below(room - local + 1)
        if self.chance(35):
            local, length = self.below(4), WHOLE
        nid = ANY if self.chance(3) else self.below(4)
        pid = ANY if self.chance(3) else 1 + self.chance(10)
        yield ("initiate", p, self.new(), self.pick((PUT, GET)), handle, local, length, nid, pid,
               self.below(3), self.below(2), self.below(2), self.below(4), self.below(40),
               self.below(1 << 16))

    def sent(self, p, process) -> Iterator[tuple]:
        mine = [name for name, (q, *_) in self.world.unsent.items() if q == p]
        if mine:
            yield "sent", p, self.pick(mine), self.pick((NI_OK, NI_OK, NI_OK, NI_FAIL))

    def aimed(self, process) -> Message:
        """A request that some descriptor should take."""
        ready = [entry for portal in process.portals for entry in portal
                 if entry.mds and entry.mds[0].active()]
        entry = self.pick(ready) if ready else None
        md = entry.mds[0] if entry else None
        allowed = [kind for kind, need in portals.NEEDS.items() if kind in (PUT, GET)
                   and (md is None or md.args.options & need == need)]
        kind = self.pick(allowed or (PUT, GET))
        nid = entry.nid if entry and entry.nid != ANY else self.below(4)
        pid = entry.pid if entry and entry.pid != ANY else 1 + self.below(2)
        bits = entry.bits ^ (self.below(1 << 64) & entry.ignore) if entry else self.below(4)
        pt = next(pt for pt, portal in enumerate(process.portals) if entry in portal) \
            if entry else self.below(3)
        managed = md and md.args.options & objects.MANAGE_REMOTE
        room = md.room if md else 10
        offset = self.below(room + 1) if managed else self.below(300)
        left = max(0, room - (offset if managed else md.local if md else 0))
        length = self.below(left + 1) if self.chance(60) else self.pick((left, left + 1, left + 40))
        ack = kind == PUT and self.chance(50)
        return Message(kind, int(ack), 0, 0, 0, nid, pid, process.nid, process.pid, 1000 + nid,
                       7, pt, 0, bits, offset, length, 0, 100 + self.below(3), 200, 300,
                       self.below(1 << 32) if kind == PUT else 0, self.below(1 << 32))

    def spoiled(self, m: Message) -> Message:
        """The same with one field wrong, or just different."""
        field, values = self.pick((
            ("source_nid", (0, 1, 2, 3, 9)), ("source_pid", (1, 2, 3)), ("target_pid", (0, 2, ANY)),
            ("target_nid", (2, ANY)), ("uid", (0, 1000)), ("jid", (0, 8, ANY)),
            ("pt_index", (0, 1, 7, 8, 9, ANY)), ("cookie", (1, 2, 3, 4, 5, ANY)),
            ("match_bits", (0, 1, 2, 3, 1 << 63)), ("offset", (0, 1, 250, WHOLE, WHOLE - 3)),
            ("length", (0, 1, 64, 500, WHOLE, 1 << 63)), ("operation", (PUT, GET, 0, 9, 255)),
        ))
        return m._replace(**{field: self.pick(values)})

    def begin(self, p, process) -> Iterator[tuple]:
        waiting = [m for m in self.world.requests if m.target_nid == p]
        if waiting and self.chance(30):
            m = self.pick(waiting)
            self.world.requests.remove(m)
        else:
            m = self.aimed(process)
        if self.chance(12):
            m = self.spoiled(m)
        yield "begin", p, self.new(), m.source_nid & 3, *m

    def answer(self, p, process) -> Iterator[tuple]:
        """An ack or a reply arrives: one that was made, one that is awaited, or neither."""
        arrived = [m for m in self.world.answers if m.target_nid == p]
        waiting = [record for record in process.records.values() if record.waiting]
        if waiting and not self.chance(30):
            record = self.pick(waiting)
            m = process.answer(record.message, record.kind, NI_OK, self.below(record.count + 1)
                               if record.kind == REPLY else record.message.length)
            m = m._replace(uid=1000 + m.source_nid, jid=7)
            if self.chance(15):
                m = m._replace(mlength=self.pick((m.length + 1, 400, WHOLE)))
            if self.chance(15):
                m = m._replace(fail=self.pick((NI_FAIL, NI_DROPPED)), mlength=0)
        elif arrived:
            m = self.pick(arrived)
            if not self.chance(20):
                self.world.answers.remove(m)        # else it comes twice
        else:
            return
        if self.chance(6):
            m = m._replace(op_handle=self.handle(process.records))
        if self.chance(3):
            m = m._replace(operation=self.pick((ACK, REPLY)))
        yield "begin", p, self.new(), m.source_nid & 3, *m

    def unanswered(self, p, process) -> Iterator[tuple]:
        waiting = [record.name for record in process.records.values()
                   if record.waiting and record.kind == ACK]
        old = [name for name, (q, _) in self.world.initiated.items() if q == p]
        if waiting and not self.chance(20):
            yield "unanswered", p, self.pick(waiting)
        elif old:
            yield "unanswered", p, self.pick(old)

    def under_way(self, p: int, kinds: tuple) -> list[int]:
        return [name for name, (q, flight) in self.world.flights.items()
                if q == p and flight.operation in kinds]

    def data(self, p, process) -> Iterator[tuple]:
        names = self.under_way(p, (PUT, REPLY))
        if not names:
            return
        name = self.pick(names)
        count = self.world.flights[name][1].count
        seed = self.below(2048)
        if self.chance(60):
            yield "data", p, name, 0, count + self.below(9), seed
        else:
            at = self.below(count + 3)
            yield "data", p, name, at, self.below(count + 9), seed

    def read(self, p, process) -> Iterator[tuple]:
        names = self.under_way(p, (GET,))
        names += [name for name, (q, *_) in self.world.unsent.items() if q == p]
        if names:
            yield "read", p, self.pick(names), self.below(20), self.below(400)

    def end(self, p, process) -> Iterator[tuple]:
        names = self.under_way(p, (PUT, GET, REPLY))
        fail = self.pick((NI_OK,) * 7 + (NI_FAIL,))
        old = [name for q, name in self.world.ended if q == p]
        if old and self.chance(3):
            yield "end", p, old[-1 - self.below(min(20, len(old)))], fail
        elif names:
            yield "end", p, self.pick(names), fail

    def died(self, p, process) -> Iterator[tuple]:
        if self.chance(30):
            yield "died", p, self.below(4)

    def refuse(self, p, process) -> Iterator[tuple]:
        yield "refuse", p, self.pick((NI_FAIL, NI_DROPPED)), *self.spoiled(self.aimed(process))

    def restart(self, p, process) -> Iterator[tuple]:
        """Close; open again when nothing is pending."""
        if process.opened:
            if self.chance(10):
                yield "close", p
        elif process.pending() == 0:
            yield "open", p, *HARD
