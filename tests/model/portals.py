"""The reference model, second half: what messages do to a process.

See objects.py for the first half and for what a model is. A message under way
is a Flight from its begin to its end; `data` may move its bytes in any pieces
between the two. Rule numbers are those of PORTALS.md.
"""
from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Optional

from model.objects import (
    ACK_DISABLE, ACK_EVENT, ANY, BUSY, BYTES_IN, BYTES_OUT, DROPPED, END_DISABLE, FAILED, GETPUT_START,
    GET_START, IN, MANAGE_REMOTE, MAX_SIZE, MD_ILLEGAL, MD_INVALID, NO_SPACE, OK, OP_GET, OP_PUT,
    OUT, PROCESS_INVALID, PUT_START, REPLY_START, SEND_START, START_DISABLE, TRUNCATE,
    Descriptor, Owner, Queue)

(NONE, PUT, GET, ACK, REPLY, GETPUT, ATOMIC, FETCH_ATOMIC, BARRIER) = range(9)
REQUESTS = (PUT, GET, GETPUT, ATOMIC, FETCH_ATOMIC)
NI_OK, NI_FAIL, NI_DROPPED = range(3)
# deliver_begin's results
D_OK, D_DROPPED, D_BUSY, D_CLOSED, D_DAMAGED, D_STALE = (-number for number in range(6))
WHOLE = (1 << 64) - 1
INLINE = 64                # bytes that deliver_inline carries

# The operation's name among event kinds, and what its target's descriptor must allow (rule 4).
STARTS = {PUT: PUT_START, GET: GET_START, ATOMIC: PUT_START, GETPUT: GETPUT_START,
          FETCH_ATOMIC: GETPUT_START}
NEEDS = {PUT: OP_PUT, GET: OP_GET, ATOMIC: OP_PUT, GETPUT: OP_PUT | OP_GET,
         FETCH_ATOMIC: OP_PUT | OP_GET}


class Message(NamedTuple):
    """The header (net/portals/message.h); handles are names."""
    operation: int = 0
    ack_request: int = 0
    fail: int = 0
    atomic_operation: int = 0
    datatype: int = 0
    source_nid: int = 0
    source_pid: int = 0
    target_nid: int = 0
    target_pid: int = 0
    uid: int = 0
    jid: int = 0
    pt_index: int = 0
    cookie: int = 0
    match_bits: int = 0
    offset: int = 0
    length: int = 0
    mlength: int = 0
    md_handle: int = 0
    eq_handle: int = 0
    op_handle: int = 0
    hdr_data: int = 0
    sequence: int = 0


@dataclass(eq=False, slots=True)
class Record:
    """An operation record: one begun operation, or one awaited answer."""
    name: int
    number: int                     # which of the pool's records
    waiting: bool
    kind: int                       # ACK, REPLY: awaited; PUT, GET, REPLY: under way
    runner: int                     # the node that ends it
    md: Optional[Descriptor]
    message: Message                # the request (or the answer that is carried out)
    link: int
    local: int = 0                  # REPLY: where in the descriptor it goes
    count: int = 0                  # REPLY: bytes there
    mlength: int = 0
    offset: int = 0
    queue: Optional[Queue] = None   # where the rest of its events goes
    reserved: int = 0               # slots there that are kept for them


@dataclass(eq=False, slots=True)
class Flight:
    """What the runner holds between begin and end (struct grant)."""
    operation: int                  # of the message
    record: Optional[Record]
    pieces: list                    # the descriptor's memory
    at: int = 0                     # where in the descriptor, as one buffer
    count: int = 0
    answer: Optional[Message] = None
    ack: bool = False


def fits(value: int, wanted: int) -> bool:
    return wanted in (ANY, value)


class Process(Owner):
    """One process with its messages."""

    # ---- memory --------------------------------------------------------------

    def ranges(self, pieces: list, at: int, count: int):
        """The memory of bytes [at, at + count) of a logical buffer (rule 10)."""
        for first, length in pieces:
            here = min(count, length - at) if at < length else 0
            if here > 0:
                yield first + at, here
            at, count = max(at - length, 0), count - max(here, 0)
            if count <= 0:
                return

    def read(self, pieces: list, at: int, count: int) -> bytes:
        return b"".join(self.memory[first:first + here]
                        for first, here in self.ranges(pieces, at, count))

    def write(self, pieces: list, at: int, data: bytes) -> None:
        done = 0
        for first, here in self.ranges(pieces, at, len(data)):
            self.memory[first:first + here] = data[done:done + here]
            done += here

    # ---- records -------------------------------------------------------------

    def take(self, name: int, **fields) -> Record:
        record = Record(name=name, number=self.free.pop(), **fields)
        self.records[name] = record
        return record

    def give(self, record: Record) -> None:
        del self.records[record.name]
        self.free.append(record.number)

    def busy(self) -> bool:
        if self.free:
            return False
        self.counters[BUSY] += 1
        return True

    def pending(self) -> int:
        """Who may still write here: 0 before the process may be formatted again."""
        return self.sends + sum(1 for record in self.records.values()
                                if self.opened or not record.waiting)

    # ---- refusing ------------------------------------------------------------

    @staticmethod
    def answer(m: Message, operation: int, fail: int, mlength: int) -> Message:
        """Rule 15: the request's fields come back, source and target swapped."""
        return m._replace(operation=operation, ack_request=0, fail=fail, atomic_operation=0,
                          datatype=0, source_nid=m.target_nid, source_pid=m.target_pid,
                          target_nid=m.source_nid, target_pid=m.source_pid, cookie=0,
                          mlength=mlength)

    @classmethod
    def refuse(cls, m: Message, fail: int) -> Optional[Message]:
        """Rules 16 and 22: the answer to a request that is not carried out."""
        if m.operation in (GET, GETPUT, FETCH_ATOMIC):
            return cls.answer(m, REPLY, fail, 0)
        if m.operation in (PUT, ATOMIC) and m.ack_request:
            return cls.answer(m, ACK, fail, 0)
        return None

    def discard(self, m: Message, result: int) -> tuple[int, Flight]:
        self.counters[DROPPED] += 1
        flight = Flight(m.operation, None, [])
        flight.answer = self.signed(self.refuse(m, NI_DROPPED))
        return result, flight

    def signed(self, answer: Optional[Message]) -> Optional[Message]:
        """Rule 28: an answer carries the identity of who answers."""
        return answer and answer._replace(uid=self.uid, jid=self.jid)

    # ---- the target ----------------------------------------------------------

    def admits(self, m: Message) -> bool:
        """Rule 2."""
        if m.pt_index >= self.limits.portals or m.cookie >= self.limits.acs:
            return False
        ac = self.acs[m.cookie]
        return (ac is not None and fits(m.source_nid, ac.nid) and fits(m.source_pid, ac.pid)
                and fits(m.uid, ac.uid) and fits(m.jid, ac.jid) and fits(m.pt_index, ac.pt))

    @staticmethod
    def place(md: Descriptor, m: Message) -> Optional[tuple[int, int]]:
        """Rules 4 and 5: offset and manipulated length, or None: it rejects."""
        needed = NEEDS[m.operation]
        if not md.active() or md.args.options & needed != needed:
            return None
        offset = m.offset if md.args.options & MANAGE_REMOTE else md.local
        left = max(md.room - offset, 0)
        if m.length <= left:
            return offset, m.length
        return (offset, left) if md.args.options & TRUNCATE else None

    def find(self, m: Message) -> Optional[tuple[Descriptor, int, int]]:
        """Rule 3."""
        for entry in self.portals[m.pt_index]:
            if (fits(m.source_nid, entry.nid) and fits(m.source_pid, entry.pid)
                    and not (entry.bits ^ m.match_bits) & ~entry.ignore and entry.mds):
                place = self.place(entry.mds[0], m)
                if place:
                    return entry.mds[0], *place
        return None

    def use(self, md: Descriptor, mlength: int) -> None:
        """Rules 5 to 8: what an accepted operation does to the target's descriptor."""
        if not md.args.options & MANAGE_REMOTE:
            md.local += mlength
            if md.args.options & MAX_SIZE and md.room - md.local < md.args.max_size:
                md.inactive = True
                if md.unlink:
                    self.depart(md)
        self.spend(md)

    def begin(self, name: int, runner: int, m: Message) -> tuple[int, Flight]:
        if m.operation not in (PUT, GET, ACK, REPLY):
            return self.discard(m, D_DROPPED)
        if not self.opened or m.target_pid != self.pid:             # rule 1
            return self.discard(m, D_CLOSED)
        if m.operation == ACK:
            return self.begin_ack(m)
        if m.operation == REPLY:
            return self.begin_reply(name, runner, m)
        if not self.admits(m):
            return self.discard(m, D_DROPPED)
        found = self.find(m)
        if not found:
            return self.discard(m, D_DROPPED)
        if self.busy():
            return D_BUSY, Flight(m.operation, None, [])
        md, offset, mlength = found
        self.counters[IN] += 1
        link = self.delivered * 2 + 1
        self.delivered += 1
        md.pending += 1
        self.use(md, mlength)
        queue = self.eqs.get(md.args.eq)
        record = self.take(name, waiting=False, kind=m.operation, runner=runner, md=md, message=m,
                           link=link, mlength=mlength, offset=offset, queue=queue)
        self.record(md, queue, STARTS[m.operation], self.head(m, mlength, offset, md.name),
                    m.hdr_data, link, NI_OK)
        flight = Flight(m.operation, record, list(md.pieces), offset, mlength)
        if m.operation == GET:
            flight.answer = self.answer(m, REPLY, NI_OK, mlength)
        elif m.ack_request and not md.args.options & ACK_DISABLE:       # rule 12
            flight.answer, flight.ack = self.answer(m, ACK, NI_OK, mlength), True
        flight.answer = self.signed(flight.answer)
        return D_OK, flight

    @staticmethod
    def head(m: Message, mlength: int, offset: int, md: int) -> tuple:
        return (m.source_nid, m.source_pid, m.uid, m.jid, m.pt_index, m.match_bits, m.length,
                mlength, offset, md)

    def data(self, flight: Flight, at: int, payload: bytes) -> None:
        """Rule 9: bytes [at, ...) of the payload; what was not granted is left out."""
        count = max(0, min(flight.count - at, len(payload)))
        self.write(flight.pieces, flight.at + at, payload[:count])

    def end(self, flight: Flight, fail: int) -> tuple[int, Optional[Message]]:
        record = flight.record
        if record is None:
            return D_OK, None
        if self.records.get(record.name) is not record or record.waiting:
            return D_STALE, None
        m, md = record.message, record.md
        if fail == NI_OK and record.kind in (PUT, REPLY):
            self.counters[BYTES_IN] += record.mlength
        elif fail == NI_OK:
            self.counters[BYTES_OUT] += record.mlength
        if fail == NI_OK:
            fail = m.fail
        if fail == NI_FAIL:
            self.counters[FAILED] += 1
        kind = REPLY_START if record.kind == REPLY else STARTS[record.kind]
        queue = record.queue
        if queue:
            queue.reserved -= record.reserved
        self.record(md, self.eqs.get(md.args.eq), kind + 1,
                    self.head(m, record.mlength, record.offset, md.name), m.hdr_data, record.link,
                    fail)
        self.unpin(md)
        self.give(record)
        answer = flight.answer if flight.ack else None
        if answer and fail != NI_OK:
            answer = answer._replace(fail=fail, mlength=0)
        return D_OK, answer

    # ---- acks and replies (rules 11 to 17) -----------------------------------

    def awaited(self, m: Message) -> tuple[bool, Optional[Record]]:
        """Whether the answer is one that is awaited, or names no record at all (rule 17)."""
        record = self.records.get(m.op_handle)
        if m.op_handle == 0:
            return True, None
        return (record is not None and record.waiting and record.kind == m.operation
                and record.message.md_handle == m.md_handle), record

    def begin_ack(self, m: Message) -> tuple[int, Flight]:
        awaited, record = self.awaited(m)
        if not awaited:
            return self.discard(m, D_DROPPED)
        if record:
            self.give(record)
        if m.fail == NI_FAIL:
            self.counters[FAILED] += 1
        queue, md = self.eqs.get(m.eq_handle), self.mds.get(m.md_handle)
        if queue is None:                                # rule 13
            return self.discard(m, D_DROPPED)
        self.counters[IN] += 1
        if md:
            self.spend(md)
        self.record(md, queue, ACK_EVENT, self.head(m, m.mlength, m.offset, m.md_handle),
                    m.hdr_data, m.sequence, m.fail)
        if md:
            self.bury(md)
        return D_OK, Flight(m.operation, None, [])

    def begin_reply(self, name: int, runner: int, m: Message) -> tuple[int, Flight]:
        awaited, record = self.awaited(m)
        if not awaited:
            return self.discard(m, D_DROPPED)
        md = self.mds.get(m.md_handle)
        if md is None:                                   # rule 14
            return self.discard(m, D_DROPPED)
        queue = self.eqs.get(md.args.eq)
        start, rest = self.reply_events(md)
        if queue and not queue.room(max(1, start + rest)):
            if record:
                self.give(record)
                self.unpin(md)
            return self.discard(m, D_DROPPED)
        if record is None:                               # for the whole descriptor
            if self.busy():
                return D_BUSY, Flight(m.operation, None, [])
            record = self.take(name, waiting=True, kind=REPLY, runner=runner, md=md, message=m,
                               link=m.sequence, count=md.room)
            md.pending += 1
        self.counters[IN] += 1
        self.spend(md)
        record.waiting, record.runner, record.message = False, runner, m
        record.mlength = min(m.mlength, record.count)
        record.offset, record.link = m.offset, m.sequence
        self.record(md, queue, REPLY_START, self.head(m, record.mlength, m.offset, md.name),
                    m.hdr_data, record.link, NI_OK)
        record.queue, record.reserved = queue, rest
        if queue:
            queue.reserved += rest
        return D_OK, Flight(m.operation, record, list(md.pieces), record.local, record.mlength)

    @staticmethod
    def reply_events(md: Descriptor) -> tuple[int, int]:
        """Events that a reply records when it begins and later (rule 22)."""
        goes = md.leaving or (md.unlink and md.threshold == 1)
        return (int(not md.args.options & START_DISABLE),
                int(not md.args.options & END_DISABLE) + int(goes))

    # ---- the initiator -------------------------------------------------------

    def region(self, md: Descriptor, local: int, length: int) -> Optional[tuple[int, int]]:
        if length == WHOLE:
            return 0, md.room
        return (local, length) if local + length <= md.room else None

    def initiate(self, name: int, operation: int, handle: int, local: int, length: int, nid: int,
                 pid: int, pt: int, cookie: int, ack: int, bits: int, offset: int, hdr: int):
        """PtlPut[Region] and PtlGet[Region]: (result, message, flight)."""
        md = self.mds.get(handle)
        if md is None or not md.active():
            return MD_INVALID, None, None
        region = self.region(md, local, length)
        if region is None:
            return MD_ILLEGAL, None, None
        if ANY in (nid, pid):
            return PROCESS_INVALID, None, None
        queue = self.eqs.get(md.args.eq)
        ack = int(bool(operation == PUT and ack and queue))            # rule 12
        if (ack or operation == GET) and self.busy():
            return NO_SPACE, None, None
        link = self.started * 2
        self.started += 1
        self.counters[OUT] += 1
        at, count = region
        m = Message(operation, ack, 0, 0, 0, self.nid, self.pid, nid, pid, self.uid, self.jid, pt,
                    cookie, bits, offset, count, 0, handle,
                    md.args.eq if ack or operation == GET else 0,
                    name if ack or operation == GET else 0, hdr if operation == PUT else 0, link)
        if operation == GET:
            md.pending += 1
            self.take(name, waiting=True, kind=REPLY, runner=nid, md=md, message=m, link=link,
                      local=at, count=count)
            return OK, m, None
        if ack:
            self.take(name, waiting=True, kind=ACK, runner=nid, md=None, message=m, link=link)
        md.pending += 1
        self.sends += 1
        self.spend(md)
        self.record(md, queue, SEND_START, self.head(m, count, offset, handle), hdr, link, NI_OK)
        return OK, m, Flight(PUT, None, list(md.pieces), at, count)

    def sent(self, m: Message, fail: int) -> int:
        """The put's bytes have left, or never will."""
        md = self.mds[m.md_handle]
        self.sends -= 1
        if fail == NI_OK:
            self.counters[BYTES_OUT] += m.length
        else:
            self.counters[FAILED] += 1
        self.record(md, self.eqs.get(md.args.eq), SEND_START + 1,
                    self.head(m, m.length, m.offset, md.name), m.hdr_data, m.sequence, fail)
        self.unpin(md)
        return OK

    def unanswered(self, m: Message) -> int:
        """The target says nothing: its descriptor disables acks."""
        record = self.records.get(m.op_handle)
        if record and record.waiting and record.kind == ACK:
            self.give(record)
        return OK

    # ---- the death of a peer (rule 22) ---------------------------------------

    def died(self, nid: int) -> int:
        """Everything that it would have ended ends now, in the order of the records."""
        doomed = [record for record in self.records.values() if record.runner == nid]
        for record in sorted(doomed, key=lambda record: record.number):
            if record.waiting:
                lost = self.refuse(record.message, NI_FAIL)
                _, flight = self.begin(record.name, self.nid, lost)
                self.end(flight, NI_OK)
            else:
                self.end(Flight(record.kind, record, []), NI_FAIL)
        return len(doomed)
