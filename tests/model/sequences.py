"""The generator of steps, for both drivers: weighted random steps that use the model's state.

`Sequence(world, below)` makes steps; `below(n)` gives a number from 0 to n - 1, from a seeded
generator or from Hypothesis. Most steps should succeed; the rest have one error. Smaller numbers
are the simpler choices, so that Hypothesis shrinks towards them.
"""
from __future__ import annotations

import collections.abc
from typing import Any, Callable, Iterable, Iterator

from model import message as messages
from model import objects
from model.objects import ANY, BASE, BYTES, DATA, HOLE, IOVEC, STACK, Descriptor
from model.message import (
    ACK, ATOMIC, CSWAP, FETCH_ATOMIC, GET, GETPUT, NI_DROPPED, NI_FAIL, NI_OK, PUT, REPLY, WHOLE,
    Message)
from model.portals import Process
from model.world import HARD, OWN, World

WEIGHTS = {
    "begin": 14, "inline": 12, "end": 14, "data": 7, "copy": 3, "eq_get": 14, "initiate": 9,
    "exchange": 4, "answer": 9, "sent": 7, "md_attach": 9, "md_insert": 4, "md_bind": 5,
    "md_update": 5, "post_entry": 4, "me_attach": 6, "me_attach_any": 2, "me_insert": 6,
    "eq_alloc": 2, "read": 3, "eq_handled": 3, "md_unlink": 2, "me_unlink": 2,
    "eq_free": 2, "ac_set": 2, "died": 1,
    "refuse": 1, "unanswered": 1, "restart": 1, "other": 2,
}
WHILE_CLOSED = ("begin", "inline", "end", "sent", "answer", "data", "read", "copy", "died", "other")


class Sequence:
    """Steps for one world."""

    def __init__(self, world: World, below: Callable[[int], int]):
        self.world, self.below = world, below
        self.made = 0
        self.mood = None
        self.first: list[tuple] = []            # steps needed before the next one
        self.gone: list[int] = []               # names of removed objects
        self.kinds = [kind for kind, weight in WEIGHTS.items() for _ in range(weight)]

    # ---- choices -------------------------------------------------------------

    def chance(self, percent: int) -> bool:
        return self.below(100) >= 100 - percent

    def pick(self, things: collections.abc.Sequence[Any]) -> Any:
        return things[self.below(len(things))]

    def handle(self, live: Iterable[int]) -> int:
        """A name from `live`; sometimes of a removed object, or a forgery."""
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
        self.gone.append(self.made)             # may be used only after it was removed, or before
        return self.made

    # ---- steps ---------------------------------------------------------------

    def next(self) -> list[tuple]:
        """The next step, or a group of steps."""
        while True:
            p = int(self.chance(25))
            process = self.world.processes[p]
            kind = self.mended(process, self.kinds[self.below(len(self.kinds))])
            self.first = []
            steps = list(getattr(self, kind)(p, process))
            if steps:
                return self.first + steps

    def mended(self, process: Process, kind: str) -> str:
        """A replacement where the drawn step would have little effect in this state.

        About every 60 steps the mode changes: then operations are not ended, or events not read,
        or objects not removed."""
        if self.made % 60 == 0:
            self.mood = self.pick((None, None, "end", "eq_get", "remove"))
        if not process.opened:
            return kind if kind in WHILE_CLOSED and self.chance(40) else "restart"
        if len(process.records) >= 4 and self.mood != "end" and self.chance(50):
            return self.pick(("end", "answer"))
        if kind in ("end", "eq_get") and kind == self.mood and not self.chance(10):
            return "inline"
        if kind.startswith("md_") and kind not in ("md_unlink", "md_update") \
                and len(process.mds) >= process.limits.mds and self.mood != "remove":
            return self.pick(("md_unlink", "me_unlink", "md_update")) if self.chance(90) else kind
        if kind in ("me_attach", "me_insert", "me_attach_any", "post_entry") and self.mood != "remove" \
                and len(process.mes) >= min(17, process.limits.mes):
            return "me_unlink" if self.chance(90) else kind
        if not process.eqs and self.chance(60):
            return "eq_alloc"
        if kind in ("begin", "inline") and self.chance(70) and not any(
                entry.mds and entry.mds[0].active()
                for portal in process.portals for entry in portal):
            return self.pick(("md_attach", "me_attach", "md_update"))
        return kind

    def me_fields(self) -> tuple:
        """An entry's match criteria: from one message to all."""
        bits = self.below(4) | (self.below(16) << 60 if self.chance(10) else 0)
        sort = self.below(5)
        if sort < 2:
            return self.below(4), 1 + self.below(2), bits, 0, self.below(2)
        if sort == 2:
            return ANY, ANY, bits, 0, self.below(2)
        nid = ANY if self.chance(50) else self.below(4)
        pid = ANY if self.chance(70) else 1 + self.below(2)
        ignore = self.pick((0, 1, 2, 3, 15 << 60, WHOLE))
        return nid, pid, bits, ignore, self.below(2)

    def me_attach(self, p: int, process: Process) -> Iterator[tuple]:
        limit = process.limits.portals
        pt = self.pick((limit - 1, limit, limit + 1, 8, ANY)) if self.chance(12) \
            else self.pick((0, 0, 0, 1, 2)) % limit
        yield "me_attach", p, self.new(), pt, *self.me_fields(), self.below(2)

    def me_attach_any(self, p: int, process: Process) -> Iterator[tuple]:
        yield "me_attach_any", p, self.new(), *self.me_fields()

    def me_insert(self, p: int, process: Process) -> Iterator[tuple]:
        yield "me_insert", p, self.new(), self.handle(process.mes), *self.me_fields(), self.below(2)

    def me_unlink(self, p: int, process: Process) -> Iterator[tuple]:
        bare = [name for name, entry in process.mes.items() if not entry.mds]
        yield "me_unlink", p, self.handle(bare if bare and self.chance(50) else process.mes)

    def memory(self) -> tuple[int, int]:
        """Start and length; sometimes against the segment's end, or beyond."""
        length = self.pick((8, 0, 1, 7, 16, 33, 64, 65, 100, 200, 300))
        start = BASE + DATA + self.below(HOLE - DATA - length)
        if not self.chance(12):
            return start, length
        return self.pick((
            (BASE, length), (BASE + DATA - 1, length), (BASE + HOLE - length, length),
            (BASE + HOLE - 1, length), (BASE + HOLE - length // 2, length + STACK - HOLE),
            (BASE + STACK - 1, length), (BASE + STACK, min(length, 128)),
            (BASE + BYTES - length, length), (BASE + BYTES - length, length + 1),
            (BASE + BYTES, 0), (BASE + BYTES, 1), (BASE - 1, 1), (BASE - 1, 0), (0, 0),
            (BASE - 1, WHOLE), (BASE + DATA, WHOLE), (BASE + 1, WHOLE - BASE), (WHOLE, 1),
            (WHOLE - 7, 16), (0, BASE + BYTES)))

    def span(self) -> tuple[int, int]:
        """Start and length of more than the application's memory, or against its edges."""
        return self.pick((
            (BASE, BYTES), (0, WHOLE), (1, WHOLE), (2, WHOLE), (BASE, WHOLE - BASE),
            (BASE + DATA - 50, 100), (BASE + HOLE - 50, 100), (BASE + HOLE - 50, 50),
            (BASE + STACK, BYTES - STACK), (BASE + STACK - 1, 20), (BASE + HOLE, STACK - HOLE),
            (BASE + BYTES - 20, 40)))

    def iovec(self, p: int) -> tuple[int, int]:
        """An array of pieces in the application's memory: address and count."""
        count = self.pick((2, 0, 1, 3, 4, 5, 9))
        at = 8 * self.below(HOLE // 8 - 2 * count)
        pieces = []
        for _ in range(count):
            length = self.pick((8, 0, 1, 5, 16, 31, 60))
            pieces += [BASE + DATA + self.below(HOLE - DATA - length), length]
        if pieces and self.chance(6):
            pieces[-2:] = self.memory()
        self.first.append(("poke", p, at, len(pieces), *pieces))
        if not self.chance(6):
            return BASE + at, count
        return self.pick(((BASE + at + 4, count), (BASE + BYTES - 16 * count + 8, count + 1),
                          (BASE + at, 257), (BASE + at, WHOLE), (1, 0), (WHOLE, 1),
                          (WHOLE - 7, 2)))

    def args(self, process: Process) -> tuple:
        start, length = self.memory()
        options = 0
        if self.chance(25):
            start, length = self.iovec(process.nid)
            options = IOVEC
        for bit, percent in ((objects.OP_PUT, 75), (objects.OP_GET, 65),
                             (objects.MANAGE_REMOTE, 30), (objects.TRUNCATE, 40),
                             (objects.ACK_DISABLE, 15), (objects.MAX_SIZE, 35),
                             (objects.START_DISABLE, 15), (objects.END_DISABLE, 15),
                             (objects.EVENT_DROPPED, 50),
                             (objects.UNLINK_DISABLE, 15)):
            options |= bit * self.chance(percent)
        if self.chance(4 if options & IOVEC else 15):
            options |= objects.SPAN
            if not options & IOVEC and self.chance(70):
                start, length = self.span()
        if self.chance(2):
            options |= 1 << (11 + self.below(21))
        threshold = self.pick((-1, -1, -1, 1, 1, 1, 2, 2, 3, 5, 0, -2 if self.chance(20) else 4))
        queue = self.handle(process.eqs) if self.chance(85) else 0
        return start, length, threshold, self.below(min(length, 300) + 2), options, self.below(1000), queue

    def md_attach(self, p: int, process: Process) -> Iterator[tuple]:
        bare = [name for name, entry in process.mes.items() if not entry.mds]
        entry = self.handle(bare if bare and not self.chance(12) else process.mes)
        yield ("md_attach", p, self.new(), entry, *self.args(process), self.below(2))

    def md_insert(self, p: int, process: Process) -> Iterator[tuple]:
        listed = [name for name, md in process.mds.items() if md.entry]
        base = self.handle(listed if listed and not self.chance(8) else process.mds)
        yield ("md_insert", p, self.new(), base, *self.args(process), self.below(2),
               self.below(2))

    def md_update(self, p: int, process: Process) -> Iterator[tuple]:
        idle = [name for name, md in process.mds.items() if not md.pending and not md.leaving]
        md = self.handle(idle if idle and not self.chance(20) else process.mds)
        test = self.test(process)
        yield ("md_update", p, md, self.below(2), int(not self.chance(15)), *self.args(process),
               test)

    def test(self, process: Process) -> int:
        """The queue that rule 24 tests, often an empty one."""
        if not self.chance(70):
            return 0
        calm = [name for name, queue in process.eqs.items() if queue.next == queue.read]
        return self.handle(calm if calm and not self.chance(20) else process.eqs)

    def post_entry(self, p: int, process: Process) -> Iterator[tuple]:
        yield ("post_entry", p, self.new(), self.new(), self.handle(process.mes),
               *self.me_fields(), self.below(2), *self.args(process), self.below(2),
               self.test(process))

    def md_bind(self, p: int, process: Process) -> Iterator[tuple]:
        yield "md_bind", p, self.new(), *self.args(process), self.below(2)

    def md_unlink(self, p: int, process: Process) -> Iterator[tuple]:
        used = [name for name, md in process.mds.items() if not md.active()]
        yield "md_unlink", p, self.handle(used if used and self.chance(60) else process.mds)

    def eq_alloc(self, p: int, process: Process) -> Iterator[tuple]:
        count = self.pick((0, 257, 1 << 40, WHOLE)) if self.chance(10) \
            else self.pick((4, 1, 2, 3, 5, 8, 13, 16))
        name = self.new()
        word = next(word for word in range(BASE + HOLE, BASE + STACK - 23, 24)
                    if all(queue.word != word for queue in process.eqs.values()))
        if self.chance(8):
            word = self.pick((BASE - 8, BASE + BYTES, BASE + HOLE + 4, BASE + BYTES - 4, 0, WHOLE - 7))
        yield "eq_alloc", p, name, count, word, self.pick((0, 0, 0, 1, 2))

    def eq_handled(self, p: int, process: Process) -> Iterator[tuple]:
        handled = [name for name, queue in process.eqs.items() if queue.handler]
        name = self.handle(handled if handled else process.eqs)
        for _ in range(1 + self.below(4)):
            yield "eq_handled", p, name

    def eq_free(self, p: int, process: Process) -> Iterator[tuple]:
        yield "eq_free", p, self.handle(process.eqs)

    def eq_get(self, p: int, process: Process) -> Iterator[tuple]:
        full = [name for name, queue in process.eqs.items() if queue.next != queue.read]
        name = self.handle(full if full and self.chance(90) else process.eqs)
        queue = process.eqs.get(name)
        there = min(queue.next - queue.read, queue.count) if queue else 0
        for _ in range(1 + self.below(there + 1)):
            yield "eq_get", p, name

    # ---- operations ----------------------------------------------------------

    def initiate(self, p: int, process: Process) -> Iterator[tuple]:
        active = [name for name, md in process.mds.items() if md.active()]
        handle = self.handle(active if active and not self.chance(10) else process.mds)
        md = process.mds.get(handle)
        room = md.room if md else 10
        local, length = self.below(room + 1), 0
        length = self.pick((room - local, 0, room - local + 1, WHOLE - local, WHOLE - 1)) \
            if self.chance(40) else self.below(room - local + 1)
        if self.chance(35):
            local, length = self.below(4), WHOLE
        elif md and md.args.options & objects.SPAN and self.chance(90):
            local, length = self.within(md), self.below(60)
        nid = ANY if self.chance(3) else self.below(4)
        pid = ANY if self.chance(3) else 1 + self.chance(10)
        kind = self.pick((PUT, GET, ATOMIC))
        atomic, datatype = self.operation()
        pt, bits = self.somewhere(nid)
        if kind == ATOMIC:
            length = self.atomic_length(datatype)
            local = self.within(md) if md and md.args.options & objects.SPAN \
                else self.below(max(1, room - length * 2))
            if atomic != CSWAP and self.chance(10):
                length = WHOLE
        yield ("initiate", p, self.new(), kind, handle, local, length, nid, pid, pt,
               int(self.chance(10)), int(self.chance(65)), bits, self.below(40),
               self.below(1 << 16), atomic, datatype)

    def within(self, md: Descriptor) -> int:
        """An offset of a descriptor that is in the segment, if there is one."""
        return max(0, min(md.room, BASE + self.below(BYTES) - md.args.start))

    def somewhere(self, nid: int) -> tuple[int, int]:
        """A portal and match bits; those of an entry that accepts something, if nid has one."""
        entries = [(pt, entry.bits) for pt, portal in enumerate(self.world.processes[nid].portals)
                   for entry in portal if entry.mds and entry.mds[0].active()] if nid < 2 else []
        return self.pick(entries) if entries else (self.below(3), self.below(4))

    def operation(self) -> tuple[int, int]:
        """An atomic operation and its datatype."""
        if self.chance(3):
            return self.pick(((13, 0), (255, 0), (0, 10), (0, 255)))
        return self.below(13), self.below(10)

    def atomic_length(self, datatype: int) -> int:
        if self.chance(8):
            return self.pick((1, 3, 63, 64, 65, 72, 128, messages.LONGEST, messages.LONGEST + 8))
        size = messages.element(datatype)[0] if datatype < messages.TYPES else 1
        if self.chance(25):
            return size * self.below(BYTES // 4 // size)
        return size * self.below(min(64 // size, 3 if self.chance(60) else 64) + 1)

    def exchange(self, p: int, process: Process) -> Iterator[tuple]:
        active = [name for name, md in process.mds.items() if md.active()]
        small = [name for name in active if process.mds[name].room <= 64]
        live = active if active and not self.chance(10) else process.mds
        get_md, put_md = self.handle(live), self.handle(small or live)
        kind = self.pick((GETPUT, FETCH_ATOMIC))
        atomic, datatype = self.operation()
        length, local, put_local = WHOLE, 0, 0
        if kind == FETCH_ATOMIC:
            length = self.atomic_length(datatype)
        if self.chance(30):
            local, put_local = self.below(20), self.below(20)
        md, put = process.mds.get(get_md), process.mds.get(put_md)
        if md and md.args.options & objects.SPAN and self.chance(80):
            local = self.within(md)
        if put and put.args.options & objects.SPAN and self.chance(80):
            put_local = self.within(put)
        nid = ANY if self.chance(3) else self.below(4)
        pt, bits = self.somewhere(nid)
        yield ("exchange", p, self.new(), kind, get_md, local, length, nid, 1, pt,
               int(self.chance(10)), bits, self.below(40), self.below(1 << 16), put_md,
               put_local, atomic, datatype, self.pick((0, 0, 64, 8)))

    def sent(self, p: int, process: Process) -> Iterator[tuple]:
        mine = [name for name, (q, *_) in self.world.unsent.items() if q == p]
        if mine:
            yield "sent", p, self.pick(mine), self.pick((NI_OK, NI_OK, NI_OK, NI_FAIL))

    def aimed(self, process: Process, kinds: tuple = (PUT, GET)) -> Message:
        """A request that some descriptor should accept."""
        ready = [entry for portal in process.portals for entry in portal
                 if entry.mds and entry.mds[0].active()]
        entry = self.pick(ready) if ready else None
        md = entry.mds[0] if entry else None
        allowed = [kind for kind, need in messages.NEEDS.items() if kind in kinds
                   and (md is None or md.args.options & need == need)]
        kind = self.pick(allowed or kinds)
        nid = entry.nid if entry and entry.nid != ANY else self.below(4)
        pid = entry.pid if entry and entry.pid != ANY else 1 + self.below(2)
        bits = entry.bits ^ (self.below(1 << 64) & entry.ignore) if entry else self.below(4)
        pt = next(pt for pt, portal in enumerate(process.portals) if entry in portal) \
            if entry else self.below(3)
        managed = md and md.args.options & objects.MANAGE_REMOTE
        room = md.room if md else 10
        offset = self.below(room + 1) if managed else self.below(300)
        if managed and md.args.options & objects.SPAN and self.chance(90):
            offset = self.within(md)
        left = max(0, room - (offset if managed else md.local if md else 0))
        length = self.below(min(left, 2 * BYTES) + 1)
        if md and md.args.options & objects.SPAN and self.chance(80):
            length = self.below(min(left, 80) + 1)
        elif self.chance(40 if md and md.args.options & objects.TRUNCATE else 15):
            length = min(self.pick((left, left + 1, left + 40)), WHOLE)
        atomic, datatype = 0, 0
        if kind in (ATOMIC, FETCH_ATOMIC):
            atomic, datatype = self.operation()
            length = self.atomic_length(datatype)
            if GETPUT not in kinds and self.chance(85):
                length = 8 * (9 + self.below(60))
        if GETPUT in kinds and not self.chance(5):
            length = min(length, 64)
        ack = kind in messages.ACKED and self.chance(50)
        return Message(kind, int(ack), 0, atomic, datatype, nid, pid, process.nid, process.pid,
                       1000 + nid, 7, pt, self.cookie(process, nid, pid, pt), bits, offset,
                       length, 0, 100 + self.below(3), 200, 300,
                       0 if kind == GET else self.below(1 << 32), self.below(1 << 32))

    def cookie(self, process: Process, nid: int, pid: int, pt: int) -> int:
        """An access control entry that admits this, if there is one."""
        open_to = [index for index, ac in enumerate(process.acs) if ac
                   and messages.fits(nid, ac.nid) and messages.fits(pid, ac.pid)
                   and messages.fits(1000 + nid, ac.uid) and messages.fits(7, ac.jid)
                   and messages.fits(pt, ac.pt)]
        return self.pick(open_to) if open_to else self.below(4)

    def ac_set(self, p: int, process: Process) -> Iterator[tuple]:
        if self.chance(15):
            yield "ac_set", p, 0, ANY, ANY, ANY, ANY, ANY     # all are admitted again
            return
        index = self.pick((1, 2, 3, 3, 4, 5, ANY)) if self.chance(90) else 0
        yield ("ac_set", p, index, self.pick((ANY, ANY, 0, 1, 2)), self.pick((ANY, ANY, 1, 2)),
               self.pick((ANY, ANY, 1000, 1002)), self.pick((ANY, 7, 7, 0)),
               self.pick((ANY, ANY, 0, 1, 7, 8, 9)))

    def spoiled(self, m: Message) -> Message:
        """The same with one field wrong or different."""
        field, values = self.pick((
            ("source_nid", (0, 1, 2, 3, 9)), ("source_pid", (1, 2, 3)), ("target_pid", (0, 2, ANY)),
            ("target_nid", (2, ANY)), ("uid", (0, 1000)), ("jid", (0, 8, ANY)),
            ("pt_index", (0, 1, 7, 8, 9, ANY)), ("cookie", (1, 2, 3, 4, 5, ANY)),
            ("match_bits", (0, 1, 2, 3, 1 << 63)), ("offset", (0, 1, 250, WHOLE, WHOLE - 3)),
            ("length", (0, 1, 64, 65, 500, WHOLE, 1 << 63)),
            ("operation", (PUT, GET, 0, 9, 255, GETPUT, ATOMIC, FETCH_ATOMIC)),
            ("atomic_operation", (7, 12, 13, 255)),
            ("datatype", (7, 9, 10, 255)), ("ack_request", (0, 1)),
        ))
        return m._replace(**{field: self.pick(values)})

    def arriving(self, p: int, process: Process, kinds: tuple) -> Message:
        waiting = [m for m in self.world.requests if m.target_nid == p and m.operation in kinds]
        if waiting and self.chance(30):
            m = self.pick(waiting)
            self.world.requests.remove(m)
        else:
            m = self.aimed(process, kinds)
        return self.spoiled(m) if self.chance(12) else m

    def begin(self, p: int, process: Process) -> Iterator[tuple]:
        m = self.arriving(p, process, (PUT, GET, ATOMIC))
        yield "begin", p, self.new(), m.source_nid & 3, *m

    def inline(self, p: int, process: Process) -> Iterator[tuple]:
        m = self.arriving(p, process, messages.REQUESTS)
        yield "inline", p, self.new(), self.seed(process), *m

    def seed(self, process: Process) -> int:
        """Payload: of the pattern, or in the target's own segment."""
        if any(md.args.options & IOVEC for md in process.mds.values()) or not self.chance(50):
            return self.below(2048)
        return OWN + self.below(HOLE - 128)

    def answer(self, p: int, process: Process) -> Iterator[tuple]:
        """An ack or a reply arrives: a real one, an expected one, or neither."""
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
                self.world.answers.remove(m)        # otherwise it arrives twice
        else:
            return
        if self.chance(20):
            m = m._replace(**self.pick((
                {"op_handle": self.handle(process.records)}, {"op_handle": 0},
                {"md_handle": self.handle(process.mds)}, {"eq_handle": self.handle(process.eqs)},
                {"eq_handle": 0},
                {"source_nid": self.below(4)}, {"source_pid": 1 + self.below(2)},
                {"operation": self.pick((ACK, REPLY))})))
        if self.chance(6):                          # refused or not read
            m = m._replace(**self.pick(({"pt_index": 9}, {"match_bits": WHOLE}, {"offset": 5},
                                        {"length": 3}, {"hdr_data": 6}, {"sequence": 7},
                                        {"target_pid": 2}, {"uid": 0}, {"jid": ANY})))
        if m.mlength <= 64 and self.chance(50) or self.chance(5):
            yield "inline", p, self.new(), self.seed(process), *m
        else:
            yield "begin", p, self.new(), m.source_nid & 3, *m

    def unanswered(self, p: int, process: Process) -> Iterator[tuple]:
        waiting = [record.name for record in process.records.values()
                   if record.waiting and record.kind == ACK]
        old = [name for name, (q, _) in self.world.initiated.items() if q == p]
        if waiting and not self.chance(20):
            yield "unanswered", p, self.pick(waiting)
        elif old:
            yield "unanswered", p, self.pick(old)

    def under_way(self, p: int, kinds: tuple) -> list[int]:
        return [name for name, (q, flight) in self.world.flights.items()
                if q == p and flight.operation in kinds
                and flight.record.name in self.world.processes[q].records]

    def data(self, p: int, process: Process) -> Iterator[tuple]:
        names = self.under_way(p, (PUT, REPLY, ATOMIC))
        if not names:
            return
        name = self.pick(names)
        flight = self.world.flights[name][1]
        count = flight.count
        seed = self.below(2048)
        if flight.operation == ATOMIC and self.chance(90):
            size = messages.element(flight.record.message.datatype)[0]
            yield ("data", p, name, size * self.below(count // size + 2),
                   size * self.below(messages.STEP // size + 1), seed)
            return
        if self.chance(60):
            yield "data", p, name, 0, count + self.below(9), seed
        else:
            at = self.below(count + 3)
            yield "data", p, name, at, self.below(count + 9), seed

    def copy(self, p: int, process: Process) -> Iterator[tuple]:
        """From a send or a get, here or at the other process, to a put or a reply."""
        names, world = self.under_way(p, (PUT, REPLY)), self.world
        sources = [*self.under_way(0, (GET,)), *self.under_way(1, (GET,)), *world.unsent]
        if not names or not sources:
            return
        name, source = self.pick(names), self.pick(sources)
        q, range_ = world.range_of(source)
        if q == p and len(range_.pieces) + len(world.flights[name][1].pieces) > 2:
            return                              # the result of this overlap is unspecified
        yield "copy", p, name, q, source

    def other(self, p: int, process: Process) -> Iterator[tuple]:
        live = [*process.mes, *process.mds, *process.eqs]
        live += self.gone[-len(live):]
        barrier = Message(messages.BARRIER, target_nid=p, target_pid=1,
                          pt_index=self.pick((0, 1, 15, 16, 17, 18, ANY)))
        queue = self.handle(process.eqs)
        next_ = process.eqs[queue].next if queue in process.eqs else 0
        word = next_ + self.pick((-1, 0, 1, 100, -100, -17, 1 << 63, -1 << 62))
        yield self.pick((("eq_scribble", p, queue, self.below(2), word % (1 << 64)),
                         ("alive", p, self.handle(live)),
                         ("register", p, self.pick((0, 8, 21, 22, 23, 24, 25, ANY, WHOLE))),
                         ("begin", p, self.new(), 1, *barrier),
                         ("inline", p, self.new(), 0, *barrier), ("barrier", p)))

    def read(self, p: int, process: Process) -> Iterator[tuple]:
        names = self.under_way(p, (GET,))
        names += [name for name, (q, *_) in self.world.unsent.items() if q == p]
        if names:
            yield "read", p, self.pick(names), self.below(20), self.below(400)

    def end(self, p: int, process: Process) -> Iterator[tuple]:
        names = [name for name, (q, _) in self.world.flights.items() if q == p]
        fail = self.pick((NI_OK,) * 7 + (NI_FAIL,))
        old = [name for q, name in self.world.ended if q == p]
        if old and self.chance(3):
            yield "end", p, old[-1 - self.below(min(20, len(old)))], fail
        elif names:
            yield "end", p, self.pick(names), fail

    def died(self, p: int, process: Process) -> Iterator[tuple]:
        if self.chance(30):
            yield "died", p, self.below(4)

    def refuse(self, p: int, process: Process) -> Iterator[tuple]:
        yield "refuse", p, self.pick((NI_FAIL, NI_DROPPED)), \
            *self.spoiled(self.aimed(process, messages.REQUESTS))

    def restart(self, p: int, process: Process) -> Iterator[tuple]:
        """Close; open again when nothing is pending."""
        if process.opened:
            if self.chance(15):
                yield "close", p
        elif process.pending() == 0:
            yield "open", p, *self.limits()

    def limits(self) -> tuple:
        """The limits that PtlNIInit requests: often all."""
        if not self.chance(50):
            return tuple(HARD)
        limits = [self.pick((most, most, 0, most + 1, 1 + self.below(most))) for most in HARD]
        if self.chance(50):
            limits[-2:] = 1 + self.below(4), 1 + self.below(5)
        return tuple(limits)
