"""The reference model, second half: the effects of messages on a process.

See objects.py for the first half and the nature of the model, message.py for the terms. A pending
message is a Flight from its begin to its end; `data` may move its bytes in any pieces between the
two. Rule numbers are those of docs/portals.md section 11.
"""
from __future__ import annotations

from typing import Any, Optional

from model.message import (
    ACK, ACKED, ATOMIC, BARRIER, CSWAP, D_BUSY, D_CLOSED, D_DAMAGED, D_DROPPED, D_OK, D_STALE,
    FETCH_ATOMIC, FETCHES, GET, INLINE, NEEDS, NI_DROPPED, NI_FAIL, NI_OK, PUT, REPLY, REQUESTS, STARTS,
    STEP, WHOLE, WRITES, Flight, Message, Record, atomic_apply, atomic_valid, element, fits)
from model.objects import (
    ACK_DISABLE, ACK_EVENT, ANY, ATOMIC_INVALID, BUSY, BYTES_IN, BYTES_OUT, DROPPED, END_DISABLE,
    EVENT_DROPPED, FAILED, IN, MANAGE_REMOTE, MAX_SIZE, MD_ILLEGAL, MD_INVALID, NO_SPACE, OK, OUT,
    PROCESS_INVALID, REFUSED, REPLY_START, SEGV, SEND_START, SPAN, START_DISABLE, TRUNCATE,
    UNLINK_DISABLE, Descriptor, Limits, Owner, Queue)


LONG = 4                   # the tests count a list of more entries as long


class Process(Owner):
    """One process with its messages."""

    def __init__(self, *fields: Any, **more: Any) -> None:
        self.barrier = [0] * 18            # messages of each round ever, and other counters
        super().__init__(*fields, **more)

    def format(self, limits: Limits) -> None:
        super().format(limits)
        self.unsent: list[Flight] = []

    # ---- memory --------------------------------------------------------------

    def read(self, pieces: list, at: int, count: int) -> bytes:
        return b"".join(self.memory[first:first + here]
                        for first, here in self.ranges(pieces, at, count))

    def write(self, pieces: list, at: int, data: bytes) -> None:
        done = 0
        for first, here in self.ranges(pieces, at, len(data)):
            self.memory[first:first + here] = data[done:done + here]
            done += here

    # ---- records -------------------------------------------------------------

    def take(self, name: int, **fields: Any) -> Record:
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
        """How many operations may still write here: 0 before the block may be formatted again."""
        return self.sends + len([record for record in self.records.values()
                                 if self.opened or not record.waiting])

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
        """Rules 16 and 22: the answer to a discarded request."""
        if m.operation in FETCHES:
            return cls.answer(m, REPLY, fail, 0)
        if m.operation in ACKED and m.ack_request:
            return cls.answer(m, ACK, fail, 0)
        return None

    def discard(self, m: Message, result: int) -> tuple[int, Flight]:
        self.counters[DROPPED] += 1
        flight = Flight(m.operation, None, [])
        flight.answer = self.signed(self.refuse(m, NI_DROPPED))
        if m.operation in REQUESTS:
            self.reach(16, "answered" if flight.answer else "silent")
        return result, flight

    def signed(self, answer: Optional[Message]) -> Optional[Message]:
        """Rule 28: an answer carries the answering process's identity."""
        return answer and answer._replace(uid=self.uid, jid=self.jid)

    # ---- the target ----------------------------------------------------------

    def admits(self, m: Message) -> bool:
        """Rule 2."""
        if m.pt_index >= self.limits.portals:
            return self.refuses("portal")
        if m.cookie >= self.limits.acs:
            return self.refuses("cookie")
        ac = self.acs[m.cookie]
        if ac is None:
            return self.refuses("entry admits nobody")
        for name, value, wanted in (
                ("nid", m.source_nid, ac.nid), ("pid", m.source_pid, ac.pid), ("uid", m.uid, ac.uid),
                ("jid", m.jid, ac.jid), ("entry's portal", m.pt_index, ac.pt)):
            if not fits(value, wanted):
                return self.refuses(name)
        return True

    def refuses(self, case: str) -> bool:
        self.reach(2, case)
        return False

    def place(self, md: Descriptor, m: Message) -> Optional[tuple[int, int]]:
        """Rules 4 and 5: offset and manipulated length, or None if it rejects."""
        needed = NEEDS[m.operation]
        if md.args.options & needed != needed:
            return self.reach(4, "operation")
        if not md.active():
            return self.reach(4, "inactive" if md.threshold else "threshold 0")
        remote = md.args.options & MANAGE_REMOTE
        offset = m.offset if remote else md.local
        left = max(md.room - offset, 0)
        if m.length <= left:
            self.reach(5, "remote offset" if remote else "local offset")
            return offset, m.length
        if not md.args.options & TRUNCATE:
            return self.reach(4, "too long")
        if m.operation in (ATOMIC, FETCH_ATOMIC):        # whole elements only
            left -= left % element(m.datatype)[0]
        self.reach(5, "cut" if left else "cut to nothing")
        return offset, left

    def find(self, m: Message) -> Optional[tuple[Descriptor, int, int]]:
        """Rule 3."""
        case = "first entry"
        for entry in self.portals[m.pt_index]:
            if (fits(m.source_nid, entry.nid) and fits(m.source_pid, entry.pid)
                    and not (entry.bits ^ m.match_bits) & ~entry.ignore and entry.mds):
                place = self.place(entry.mds[0], m)
                if place and not self.spans(entry.mds[0], *place, m.operation != GET):
                    return None
                if place:
                    self.reach(3, case)
                    if len(self.portals[m.pt_index]) > LONG:
                        self.reach(3, entry.sort() + " in a long list")
                    return entry.mds[0], *place
                case = "after one that rejects"
            elif case == "first entry":
                case = "after one that does not match"
        return self.reach(3, "end of list")

    def use(self, md: Descriptor, mlength: int) -> None:
        """Rules 5 to 8: the effect of an accepted operation on the target's descriptor."""
        if not md.args.options & MANAGE_REMOTE:
            md.local += mlength
            if md.args.options & MAX_SIZE and md.room - md.local < md.args.max_size:
                md.inactive = True
                self.reach(6, "unlinked" if md.unlink else "inactive")
                if md.unlink:
                    self.depart(md)
        elif md.args.options & MAX_SIZE:
            self.reach(6, "switched off by MANAGE_REMOTE")
        self.spend(md)

    def is_open_for(self, m: Message) -> bool:
        """Rule 1. An answer that names another process is refused by rule 17."""
        return self.opened and (m.operation in (ACK, REPLY) or m.target_pid == self.pid)

    def begin(self, name: int, runner: int, m: Message) -> tuple[int, Flight]:
        if m.operation == BARRIER:
            return self.arrive_barrier(m)
        if m.operation not in (PUT, GET, ACK, REPLY) and not (
                m.operation == ATOMIC and m.length > INLINE and atomic_valid(m)):
            return self.discard(m, D_DROPPED)
        if not self.is_open_for(m):
            return self.discard(m, D_CLOSED)
        if m.operation == ACK:
            return self.begin_ack(m)
        if m.operation == REPLY:
            return self.begin_reply(runner, m, m.mlength)
        found = self.find(m) if self.admits(m) else None
        if not found:
            return self.discard(m, D_DROPPED)
        if self.busy():
            return D_BUSY, Flight(m.operation, None, [])
        record = self.take(name, waiting=False, kind=m.operation, runner=runner, md=found[0],
                           message=m, link=0)
        return D_OK, self.accept(record, *found)

    def arrive_barrier(self, m: Message) -> tuple[int, Flight]:
        """PtlNIBarrier's message: counted, whether the interface is open or not."""
        flight = Flight(m.operation, None, [])
        if m.pt_index >= len(self.barrier):
            self.counters[DROPPED] += 1
            return D_DROPPED, flight
        self.barrier[m.pt_index] += 1
        return D_OK, flight

    def accept(self, record: Record, md: Descriptor, offset: int, mlength: int) -> Flight:
        """START, and the answer that will be sent."""
        m = record.message
        self.counters[IN] += 1
        record.link = self.delivered * 2 + 1
        self.delivered += 1
        md.pending += 1
        self.use(md, mlength)
        record.mlength, record.offset = mlength, offset
        self.record(md, self.eqs.get(md.args.eq), STARTS[m.operation],
                    self.head(m, mlength, offset, md.name), m.hdr_data, record.link, NI_OK)
        flight = Flight(m.operation, record, list(md.pieces), offset, mlength)
        if m.operation in FETCHES:
            flight.answer = self.answer(m, REPLY, NI_OK, mlength)
        elif m.ack_request and not md.args.options & ACK_DISABLE:       # rule 12
            flight.answer, flight.ack = self.answer(m, ACK, NI_OK, mlength), True
            self.reach(12, "acknowledged")
        elif m.ack_request:
            self.reach(12, "acks disabled")
        flight.answer = self.signed(flight.answer)
        return flight

    def inline(self, m: Message, payload: bytes) -> tuple[int, Flight, bytes]:
        """Begin, data and end in one, without a record; also the bytes of a reply."""
        if m.operation in (BARRIER, ACK):
            return *self.begin(0, 0, m), b""
        if m.operation not in (REPLY, *REQUESTS):
            return *self.discard(m, D_DROPPED), b""
        if m.operation != REPLY and m.length > INLINE:
            return *self.discard(m, D_DROPPED), b""
        if m.operation in (ATOMIC, FETCH_ATOMIC) and not atomic_valid(m):
            return *self.discard(m, D_DROPPED), b""
        if not self.is_open_for(m):
            return *self.discard(m, D_CLOSED), b""
        if m.operation == REPLY:
            result, flight = self.begin_reply(0, m, INLINE)
            if flight.record is None:
                return result, flight, b""
            self.data(flight, 0, payload)
            self.give(flight.record)
            self.finish(flight, flight.record, NI_OK)
            return result, flight, b""
        found = self.find(m) if self.admits(m) else None
        if not found:
            return *self.discard(m, D_DROPPED), b""
        record = Record(0, -1, False, m.operation, 0, found[0], m, 0)
        flight = self.accept(record, *found)
        fetched = self.read(flight.pieces, flight.at, flight.count)
        if m.operation in (ATOMIC, FETCH_ATOMIC):
            self.write(flight.pieces, flight.at, atomic_apply(m, fetched, payload))
        elif m.operation != GET:
            self.data(flight, 0, payload)
        self.finish(flight, record, NI_OK)
        return D_OK, flight, fetched if m.operation in FETCHES else b""

    @staticmethod
    def head(m: Message, mlength: int, offset: int, md: int) -> tuple:
        return (m.source_nid, m.source_pid, m.uid, m.jid, m.pt_index, m.match_bits, m.length,
                mlength, offset, md)

    def data(self, flight: Flight, at: int, payload: bytes) -> None:
        """Rule 9: bytes [at, ...) of the payload; bytes beyond the grant are left out."""
        count = max(0, min(flight.count - at, len(payload)))
        self.write(flight.pieces, flight.at + at, payload[:count])

    def apply(self, flight: Flight, at: int, operands: bytes) -> int:
        """A step of a long atomic operation: operand bytes [at, ...) of the message."""
        m = flight.record.message
        size = element(m.datatype)[0]
        if len(operands) > STEP or at % size or len(operands) % size:
            return D_DAMAGED
        count = max(0, min(flight.count - at, len(operands)))
        old = self.read(flight.pieces, flight.at + at, count)
        self.write(flight.pieces, flight.at + at, atomic_apply(m, old, operands))
        return D_OK

    def copies_to(self, source: Flight, target: Process, flight: Flight) -> None:
        """Copies as many bytes as both ranges have, as if through a third buffer (rule 34)."""
        data = self.read(source.pieces, source.at, min(source.count, flight.count))
        target.write(flight.pieces, flight.at, data)

    def end(self, flight: Flight, fail: int) -> tuple[int, Optional[Message]]:
        record = flight.record
        if record is None:
            return D_OK, None
        if self.records.get(record.name) is not record or record.waiting:
            return D_STALE, None
        self.give(record)
        return self.finish(flight, record, fail)

    def finish(self, flight: Flight, record: Record, fail: int) -> tuple[int, Optional[Message]]:
        """END, then UNLINK (rules 8 and 18)."""
        m, md = record.message, record.md
        if fail == NI_OK and record.kind in WRITES:
            self.counters[BYTES_IN] += record.mlength
        if fail == NI_OK and record.kind in FETCHES:
            self.counters[BYTES_OUT] += record.mlength
        if fail == NI_OK:
            fail = m.fail
        self.count_end(fail)
        kind = REPLY_START if record.kind == REPLY else STARTS[record.kind]
        queue = record.queue
        if queue:
            queue.reserved -= record.reserved
        self.record(md, self.eqs.get(md.args.eq), kind + 1,
                    self.head(m, record.mlength, record.offset, md.name), m.hdr_data, record.link,
                    fail)
        self.unpin(md)
        answer = flight.answer if flight.ack else None
        if answer and fail != NI_OK:
            answer = answer._replace(fail=fail, mlength=0)
        return D_OK, answer

    # ---- acks and replies (rules 11 to 17) -----------------------------------

    def count_end(self, fail: int) -> None:
        if fail != NI_OK:
            self.counters[FAILED if fail == NI_FAIL else REFUSED] += 1

    def awaited(self, m: Message) -> tuple[Optional[Record], Message]:
        """Rule 17: the record that waits for this answer, and from its sender, or None. And the
        trusted fields: by rule 15 the initiator itself knows its request."""
        record = self.records.get(m.op_handle)
        if record is None or not record.waiting:
            return self.reach(17, "nothing waits"), m
        asked = record.message
        for case, said, wanted in (
                ("other kind", m.operation, record.kind), ("other node", m.source_nid, asked.target_nid),
                ("other process", m.source_pid, asked.target_pid),
                ("other initiator", m.target_pid, self.pid),
                ("other descriptor", m.md_handle, asked.md_handle),
                ("other queue", m.eq_handle, asked.eq_handle if record.kind == ACK else m.eq_handle)):
            if said != wanted:
                return self.reach(17, case), m
        believed = self.answer(asked, m.operation, m.fail, m.mlength)
        return record, believed._replace(uid=m.uid, jid=m.jid)

    def begin_ack(self, m: Message) -> tuple[int, Flight]:
        record, m = self.awaited(m)
        if record is None:
            return self.discard(m, D_DROPPED)
        self.give(record)
        self.count_end(m.fail)
        if m.fail == NI_DROPPED and not record.reports_dropped:
            self.reach(16, "ends silently")
            return D_OK, Flight(m.operation, None, [])
        queue, md = self.eqs.get(m.eq_handle), self.mds.get(m.md_handle)
        if queue is None:
            self.reach(13, "no queue")
            return self.discard(m, D_DROPPED)
        self.counters[IN] += 1
        if m.fail == NI_DROPPED:
            self.reach(16, "told")
        if md:
            self.spend(md)
        self.reach(13, "recorded" if md else "the descriptor is gone")
        self.record(md, queue, ACK_EVENT,
                    self.head(m, min(m.mlength, m.length), m.offset, m.md_handle),
                    m.hdr_data, m.sequence, m.fail)
        if md:
            self.reap(md)
        return D_OK, Flight(m.operation, None, [])

    def begin_reply(self, runner: int, m: Message, most: int) -> tuple[int, Flight]:
        record, m = self.awaited(m)
        if record is None:
            return self.discard(m, D_DROPPED)
        md = self.mds[m.md_handle]                       # a fetch pins it
        queue = self.eqs.get(md.args.eq)
        start, end, unlink = self.reply_events(md)
        if queue and not queue.room(max(1, start + end + unlink)):
            self.reach(14, "no room")
            self.give(record)
            self.unpin(md)
            return self.discard(m, D_DROPPED)
        self.counters[IN] += 1
        if queue and unlink:
            md.unlink_reserved = True
            queue.reserved += 1
        self.spend(md)
        record.waiting, record.runner, record.message = False, runner, m
        record.mlength = min(m.mlength, record.count, most)
        self.reach(14, "whole" if m.mlength <= record.count else "cut")
        record.offset, record.link = m.offset, m.sequence
        self.record(md, queue, REPLY_START, self.head(m, record.mlength, m.offset, md.name),
                    m.hdr_data, record.link, NI_OK)
        record.queue, record.reserved = queue, end
        if queue:
            queue.reserved += end
        return D_OK, Flight(m.operation, record, list(md.pieces), record.local, record.mlength)

    @staticmethod
    def reply_events(md: Descriptor) -> tuple[int, int, int]:
        """Slots that a reply needs for START, END and UNLINK (rule 22). UNLINK's is reserved once,
        for the last reply to end."""
        goes = not md.args.options & UNLINK_DISABLE and not md.unlink_reserved and (
            md.leaving or (md.unlink and md.threshold == 1))
        return (int(not md.args.options & START_DISABLE),
                int(not md.args.options & END_DISABLE), int(goes))

    # ---- the initiator -------------------------------------------------------

    @staticmethod
    def region(md: Descriptor, local: int, length: int) -> Optional[tuple[int, int]]:
        if length == WHOLE:
            return 0, md.room
        return (local, length) if local + length <= md.room else None

    def initiate(self, name: int, operation: int, handle: int, local: int, length: int, nid: int,
                 pid: int, pt: int, cookie: int, ack: int, bits: int, offset: int, hdr: int,
                 atomic: int, datatype: int) -> tuple[int, Any, Any]:
        """PtlPut[Region], PtlGet[Region], PtlAtomic: (result, message, flight)."""
        md = self.mds.get(handle)
        m = Message(operation, 0, 0, atomic, datatype, self.nid, self.pid, nid, pid, self.uid,
                    self.jid, pt, cookie, bits, offset, length, 0, handle, 0, 0,
                    0 if operation == GET else hdr, self.started * 2)
        if operation != ATOMIC:
            m = m._replace(atomic_operation=0, datatype=0)
        elif not atomic_valid(m):
            return ATOMIC_INVALID, None, None
        if md is None or not md.active():
            return MD_INVALID, None, None
        factor = 2 if operation == ATOMIC and atomic == CSWAP else 1
        region = self.region(md, local, length if length == WHOLE else length * factor)
        if region is None:
            return MD_ILLEGAL, None, None
        if ANY in (nid, pid):
            return PROCESS_INVALID, None, None
        if not self.spans(md, *region, False):
            return SEGV, None, None
        m = m._replace(length=region[1] // factor)
        queue = self.eqs.get(md.args.eq)
        if operation == GET:
            if not self.may_fill(md, *region):
                return SEGV, None, None
            if self.busy():
                return NO_SPACE, None, None
            return OK, self.await_reply(name, m, md, *region), None
        if ack and not queue:
            self.reach(12, "no queue, no ack")
        if ack and queue:
            if self.busy():
                return NO_SPACE, None, None
            m = m._replace(ack_request=1, eq_handle=md.args.eq, op_handle=name)
            self.take(name, waiting=True, kind=ACK, runner=nid, md=None, message=m, link=0,
                      reports_dropped=bool(md.args.options & EVENT_DROPPED))
        self.count_start()
        return OK, m, self.send(m, md, *region)

    def count_start(self) -> None:
        self.started += 1
        self.counters[OUT] += 1

    def await_reply(self, name: int, m: Message, md: Descriptor, at: int, count: int) -> Message:
        m = m._replace(eq_handle=md.args.eq, op_handle=name)
        self.count_start()
        md.pending += 1
        self.take(name, waiting=True, kind=REPLY, runner=m.target_nid, md=md, message=m, link=0,
                  local=at, count=count)
        return m

    def send(self, m: Message, md: Descriptor, at: int, count: int) -> Flight:
        """The half of a put: SEND_START."""
        md.pending += 1
        self.sends += 1
        self.spend(md)
        self.record(md, self.eqs.get(md.args.eq), SEND_START,
                    self.head(m, m.length, m.offset, md.name), m.hdr_data, m.sequence, NI_OK)
        flight = Flight(PUT, Record(0, -1, False, PUT, 0, md, m, 0), list(md.pieces), at, count)
        self.unsent.append(flight)
        return flight

    def exchange(self, name: int, operation: int, handle: int, local: int, length: int, nid: int,
                 pid: int, pt: int, cookie: int, bits: int, offset: int, hdr: int,
                 put_handle: int, put_local: int, atomic: int, datatype: int,
                 most: int) -> tuple[int, Any, Any]:
        """PtlGetPut and PtlFetchAtomic: (result, message, flight)."""
        fetch = operation == FETCH_ATOMIC
        m = Message(operation, 0, 0, atomic if fetch else 0, datatype if fetch else 0, self.nid,
                    self.pid, nid, pid, self.uid, self.jid, pt, cookie, bits, offset, length, 0,
                    handle, 0, 0, hdr, self.started * 2)
        if fetch and not atomic_valid(m):
            return ATOMIC_INVALID, None, None
        md, put_md = self.mds.get(handle), self.mds.get(put_handle)
        if md is None or put_md is None or not md.active() or not put_md.active():
            return MD_INVALID, None, None
        factor = 2 if fetch and atomic == CSWAP else 1
        sent = self.region(put_md, put_local, length if length == WHOLE else length * factor)
        if sent is None or local > md.room or (fetch and local + length > md.room):
            return MD_ILLEGAL, None, None
        m = m._replace(length=sent[1] // factor)
        if m.length > (most or INLINE):
            return MD_ILLEGAL, None, None
        if ANY in (nid, pid):
            return PROCESS_INVALID, None, None
        room = length if fetch else md.room - local
        if md.args.options & SPAN:
            room = min(room, m.length)
        if not self.spans(put_md, *sent, False) or not self.may_fill(md, local, room):
            return SEGV, None, None
        if self.busy():
            return NO_SPACE, None, None
        m = self.await_reply(name, m, md, local, room)
        return OK, m, self.send(m, put_md, *sent)

    def sent(self, flight: Flight, fail: int) -> int:
        """The message was sent, or never will be."""
        m, md = flight.record.message, flight.record.md
        self.sends -= 1
        if fail == NI_OK:
            self.counters[BYTES_OUT] += flight.count
        else:
            self.counters[FAILED] += 1
        self.record(md, self.eqs.get(md.args.eq), SEND_START + 1,
                    self.head(m, m.length, m.offset, md.name), m.hdr_data, m.sequence, fail)
        self.unsent.remove(flight)
        self.unpin(md)
        return OK

    def owed(self, queue: Queue) -> bool:
        """END of begun or unsent operations, UNLINK of descriptors being unlinked (rule 24)."""
        begun = [record.md for record in self.records.values() if not record.waiting]
        begun += [flight.record.md for flight in self.unsent]
        ends = [md for md in begun if not md.args.options & END_DISABLE]
        leaving = [md for md in self.mds.values()
                   if md.leaving and not md.args.options & UNLINK_DISABLE]
        return any(self.eqs.get(md.args.eq) is queue for md in ends + leaving)

    def unanswered(self, m: Message) -> int:
        """The target sends no ack: its descriptor disables them."""
        record = self.records.get(m.op_handle)
        if record and record.waiting and record.kind == ACK:
            self.give(record)
        return OK

    # ---- the death of a peer (rule 22) ---------------------------------------

    def died(self, nid: int) -> int:
        """Every operation that the peer would have ended ends now, in the order of the records."""
        doomed = [record for record in self.records.values() if record.runner == nid]
        for record in sorted(doomed, key=lambda record: record.number):
            if record.waiting:
                lost = self.refuse(record.message, NI_FAIL)
                _, flight = self.begin(record.name, self.nid, lost)
                self.end(flight, NI_OK)
            else:
                self.end(Flight(record.kind, record, []), NI_FAIL)
        return len(doomed)
