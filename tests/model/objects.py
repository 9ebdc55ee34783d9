"""The reference model, first half: one process's objects and the calls of their owner.

Plain Python from the rules (numbers in comments), without any of the engine's structures: lists are
lists, and a handle is a name that is never used twice (rule 17), so a name that is not in a
dictionary is an invalid handle. There is no time; each method is one call. The second half,
portals.py, carries out messages. Results are the engine's: 0 or the negative of a PTL_* error.
"""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Iterator, NamedTuple, Optional

if TYPE_CHECKING:
    from model.message import Record

BASE = 0x40000000          # first address of the segment
BYTES = 2560               # of it: the application may not write below DATA, and
DATA, HOLE, STACK = 600, 2304, 2432   # not access [HOLE, STACK), where the readers' words are
ANY = 0xffffffff           # every wildcard
SLOTS = 256                # event slots of all queues
PIECES = 24                # pieces of all iovec descriptors
INLINE_BYTES = 99          # the view's value, for its register

(OK, FAIL, NO_INIT, NO_SPACE, SEGV, AC_INDEX_INVALID, EQ_INVALID, HANDLE_INVALID, IFACE_INVALID,
 MD_INVALID, ME_INVALID, NI_INVALID, PID_INVALID, PROCESS_INVALID, PT_INDEX_INVALID,
 SR_INDEX_INVALID, MD_ILLEGAL, MD_IN_USE, MD_NO_UPDATE, ME_IN_USE, ME_LIST_TOO_LONG, PT_FULL,
 EQ_EMPTY, EQ_DROPPED, ATOMIC_INVALID) = (-number for number in range(25))

OP_PUT, OP_GET, MANAGE_REMOTE, TRUNCATE, ACK_DISABLE, IOVEC, MAX_SIZE, START_DISABLE, \
    END_DISABLE, EVENT_DROPPED, SPAN, UNLINK_DISABLE = (1 << bit for bit in range(12))
OPTIONS = 0xfff

(GET_START, GET_END, PUT_START, PUT_END, GETPUT_START, GETPUT_END, REPLY_START, REPLY_END,
 SEND_START, SEND_END, ACK_EVENT, UNLINK_EVENT) = range(12)
KINDS = ("GET_START", "GET_END", "PUT_START", "PUT_END", "GETPUT_START", "GETPUT_END",
         "REPLY_START", "REPLY_END", "SEND_START", "SEND_END", "ACK", "UNLINK")

# The counters of PtlNIStatus, in its order.
DROPPED, IN, OUT, BYTES_IN, BYTES_OUT, COPIED, BUSY, FAILED, REFUSED = range(9)


class Limits(NamedTuple):
    """The limits that PtlNIInit grants."""
    portals: int
    acs: int
    mes: int
    mds: int
    eqs: int
    me_list: int
    pieces: int


class Args(NamedTuple):
    """ptl_md_t."""
    start: int
    length: int
    threshold: int
    max_size: int
    options: int
    user_ptr: int
    eq: int


@dataclass(eq=False, slots=True)
class Entry:
    """A match entry."""
    name: int
    nid: int
    pid: int
    bits: int
    ignore: int
    unlink: int
    portal: list
    mds: list = field(default_factory=list)

    def sort(self) -> str:
        if self.ignore == 0 and ANY not in (self.nid, self.pid):
            return "one initiator's entry"
        return "everybody's entry" if self.ignore == 0 and self.nid == self.pid else "other entry"


@dataclass(eq=False, slots=True)
class Descriptor:
    """A memory descriptor: one logical buffer of pieces of memory (rule 10)."""
    name: int
    args: Args
    pieces: list                    # (first byte in the segment, bytes)
    unlink: int
    entry: Optional[Entry]
    threshold: int = 0
    room: int = 0                   # bytes of all pieces
    local: int = 0                  # offset of the next locally managed operation
    inactive: bool = False          # less than max_size remains
    leaving: bool = False           # off its list, removed with its last operation
    pending: int = 0                # operations begun but not ended
    unlink_reserved: bool = False   # a slot is reserved for its UNLINK (rule 22)

    def set(self, args: Args, pieces: list) -> None:
        self.args, self.pieces, self.threshold = args, pieces, args.threshold
        self.room = sum(count for _, count in pieces)
        self.local, self.inactive = 0, False

    def active(self) -> bool:
        return self.threshold != 0 and not self.inactive and not self.leaving

    def state(self) -> Args:
        return self.args._replace(threshold=self.threshold)


@dataclass(eq=False, slots=True)
class Queue:
    """An event queue. Event number n is the n-th ever; the last `count` are there (rule 20)."""
    name: int
    count: int
    word: int                       # address of the reader's word
    handler: int                    # 1: for each event; 2: when it fills (rule 37)
    next: int = 0                   # number of the next event
    read: int = 0                   # number of the reader's next event
    word_read: int = 0              # the same in the application's word
    handled: int = 0                # number of the handler's next event, in its word
    filled: int = 0                 # changes each time the queue becomes three quarters full
    told: int = 0                   # its value when the handler was called
    reserved: int = 0               # slots reserved for begun replies (rule 22)
    slots: dict = field(default_factory=dict)

    def room(self, needed: int) -> bool:
        unseen = self.left(self.handled if self.handler == 1 else self.word_read)
        return unseen + self.reserved + needed <= self.count

    def left(self, word: int) -> int:
        """The events from that number on; all of them if the number is invalid."""
        return min((self.next - word) % (1 << 64), self.count)


@dataclass(eq=False, slots=True)
class Control:
    """An access control entry."""
    nid: int
    pid: int
    uid: int
    jid: int
    pt: int


class Owner:
    """One process: its memory, its objects, and its own calls."""

    def __init__(self, nid: int, uid: int, jid: int, hard: Limits, operations: int,
                 memory: int = BYTES, slots: int = SLOTS, usable: tuple = (0, 0, 0)):
        self.nid, self.pid, self.uid, self.jid = nid, 1, uid, jid
        self.hard, self.operations = hard, operations
        self.slots = slots
        self.usable = usable
        self.memory = bytearray((i * 7 + i // 251 + nid * 85 + 1) & 255 for i in range(memory))
        self.reached: Counter = Counter()      # (rule, case) that occurred, for coverage
        self.opened = False
        self.started = self.delivered = 0  # operations ever: links are never reused
        self.format(hard)

    def format(self, limits: Limits) -> None:
        """Resets everything."""
        self.limits = limits
        self.portals: list[list[Entry]] = [[] for _ in range(limits.portals)]
        self.acs: list[Optional[Control]] = [None] * limits.acs
        self.acs[0] = Control(ANY, ANY, ANY, self.jid, ANY)            # rule 27
        if limits.acs > 1:
            self.acs[1] = Control(ANY, ANY, ANY, 0, ANY)
        self.mes: dict[int, Entry] = {}
        self.mds: dict[int, Descriptor] = {}
        self.eqs: dict[int, Queue] = {}
        self.records: dict[int, Record] = {}
        self.free = list(range(self.operations))[::-1]
        self.sends = 0                     # puts started but not yet sent
        self.pieces_used = 0
        self.counters = [0] * 9
        self.high = [0] * 5
        self.news: list[tuple] = []        # events recorded by this call,
        self.rung = False                  # one of them has a handler

    def open(self, *wanted: int) -> int:
        """PtlNIInit: a limit of 0, or above the maximum, means the maximum."""
        granted = [want if 0 < want <= most else most for want, most in zip(wanted, self.hard)]
        granted[1] = granted[1] if granted[1] >= 2 else self.hard.acs
        self.format(Limits(*granted))
        self.opened = True
        return OK

    def close(self) -> int:
        self.opened = False
        return OK

    def reach(self, rule: int, case: str) -> Any:
        """Counts that a case of a rule was reached; returns None, for callers that return that."""
        self.reached[rule, case] += 1
        return None

    def ranges(self, pieces: list, at: int, count: int) -> Iterator[tuple[int, int]]:
        """The memory of bytes [at, at + count) of a logical buffer (rule 10)."""
        for first, length in pieces:
            here = min(count, length - at) if at < length else 0
            if here > 0:
                yield first + at, here
            at, count = max(at - length, 0), count - max(here, 0)
            if count <= 0:
                return

    # ---- shared by the objects -------------------------------------

    def used(self) -> tuple:
        return len(self.mes), len(self.mds), len(self.eqs), len(self.records), self.pieces_used

    def status(self) -> list:
        """The registers of PtlNIStatus."""
        used = self.used()
        self.high = [max(pair) for pair in zip(used, self.high)]
        pools = [value for pair in zip(used, self.high) for value in pair]
        return [*self.counters, *pools[:8], self.nid, self.pid, self.uid, self.jid, *pools[8:],
                self.slots, INLINE_BYTES]

    def register(self, index: int) -> tuple:
        registers = self.status()
        return (OK, registers[index]) if index < len(registers) else (SR_INDEX_INVALID,)

    def alive(self, handle: int) -> int:
        """PtlNIHandle finds an interface."""
        return int(handle in self.mes or handle in self.mds or handle in self.eqs)

    def holds(self, address: int, count: int) -> bool:
        """Rule 33."""
        return count == 0 or (address >= BASE and address + count <= BASE + len(self.memory))

    def may_use(self, address: int, count: int, write: bool) -> bool:
        """The same for the application's own access: not the hole, and text is read-only."""
        data, guard, stack = (BASE + offset for offset in self.usable)
        in_hole = address < stack and address + count > guard
        return count == 0 or (self.holds(address, count) and not in_hole
                              and not (write and address < min(data, stack)))

    def may_fill(self, md: Descriptor, at: int, count: int) -> bool:
        """All of it, as the reply to a fetch does."""
        return all(self.may_use(BASE + first, here, True)
                   for first, here in self.ranges(md.pieces, at, count))

    def spans(self, md: Descriptor, at: int, count: int, write: bool) -> bool:
        """Rule 35: the application may access these bytes, if the operation is the one to check."""
        if not md.args.options & SPAN:
            return True
        first = md.args.start + at
        may = self.may_use(first, count, write)
        self.reach(35, "usable" if may else
                  "not writable" if self.may_use(first, count, False) else "not usable")
        return may

    def record(self, md: Optional[Descriptor], queue: Optional[Queue], kind: int, head: tuple,
               hdr: int, link: int, fail: int) -> None:
        """An event, unless the descriptor disables its kind (rule 19)."""
        if queue is None:
            return
        if md is not None and kind not in (ACK_EVENT, UNLINK_EVENT):
            if md.args.options & (END_DISABLE if kind & 1 else START_DISABLE):
                self.reach(19, "END disabled" if kind & 1 else "START disabled")
                return
        state = tuple(md.state()) if md else (0,) * 7
        event = (kind, *head, *state, hdr, link & 0xffffffff, fail)
        queue.slots[queue.next] = event
        queue.slots.pop(queue.next - queue.count, None)
        self.news.append((queue.name, queue.next, event))
        queue.next += 1
        if queue.handler == 1:
            self.rung = True
        if queue.handler == 2 and (queue.next - queue.word_read) % (1 << 64) == \
                queue.count - queue.count // 4:
            self.reach(37, "full again" if queue.filled else "full")
            queue.filled, self.rung = queue.next, True

    def unlist(self, md: Descriptor) -> None:
        """Rule 8: removed from the entry's list, with the entry if that leaves it empty."""
        entry, md.entry = md.entry, None
        if entry is not None:
            entry.mds.remove(md)
            if entry.mds:
                self.reach(8, "the next descriptor is the first")
            elif entry.unlink:
                self.reach(8, "the entry goes too")
                entry.portal.remove(entry)
                del self.mes[entry.name]

    def destroy(self, md: Descriptor) -> None:
        self.unlist(md)
        self.pieces_used -= self.counted(md.args)
        del self.mds[md.name]

    @staticmethod
    def counted(args: Args) -> int:
        return args.length if args.options & IOVEC else 0

    def depart(self, md: Descriptor) -> None:
        """Rule 8: removed from its list now, and deleted when nothing is pending."""
        md.leaving = True
        self.unlist(md)

    def spend(self, md: Descriptor) -> None:
        """Rule 7: one operation."""
        if md.threshold > 0:
            md.threshold -= 1
            if md.threshold == 0 and md.unlink and not md.leaving:
                self.reach(8, "threshold is used up")
                self.depart(md)
        else:
            self.reach(7, "spends nothing")

    def reap(self, md: Descriptor) -> None:
        if md.leaving and md.pending == 0:
            if md.args.options & UNLINK_DISABLE:         # rule 19
                self.reach(19, "no UNLINK")
            else:
                queue = self.eqs.get(md.args.eq)
                if queue:
                    queue.reserved -= md.unlink_reserved
                self.record(md, queue, UNLINK_EVENT,
                            (self.nid, self.pid, self.uid, self.jid, 0, 0, 0, 0, 0, md.name),
                            0, 0, 0)
            self.destroy(md)

    def unpin(self, md: Descriptor) -> None:
        md.pending -= 1
        self.reap(md)

    # ---- match entries -------------------------------------------------------

    def new_entry(self, name: int, portal: list, at: int, fields: tuple) -> int:
        if len(self.mes) >= self.limits.mes:             # rule 34
            return NO_SPACE
        if len(portal) >= self.limits.me_list:
            return ME_LIST_TOO_LONG
        entry = Entry(name, *(*fields, portal))
        portal.insert(at, entry)
        self.mes[name] = entry
        return OK

    def me_attach(self, name: int, pt: int, nid: int, pid: int, bits: int, ignore: int,
                  unlink: int, after: int) -> int:
        if pt >= self.limits.portals:
            return PT_INDEX_INVALID
        portal = self.portals[pt]
        return self.new_entry(name, portal, len(portal) if after else 0,
                              (nid, pid, bits, ignore, unlink))

    def me_attach_any(self, name: int, nid: int, pid: int, bits: int, ignore: int,
                      unlink: int) -> tuple:
        empty = [pt for pt, portal in enumerate(self.portals) if not portal]
        if not empty:
            return (PT_FULL,)
        result = self.new_entry(name, self.portals[empty[0]], 0, (nid, pid, bits, ignore, unlink))
        return (result, empty[0]) if result == OK else (result,)

    def me_insert(self, name: int, base: int, nid: int, pid: int, bits: int, ignore: int,
                  unlink: int, after: int) -> int:
        entry = self.mes.get(base)
        if entry is None:
            return ME_INVALID
        return self.new_entry(name, entry.portal, entry.portal.index(entry) + bool(after),
                              (nid, pid, bits, ignore, unlink))

    def me_unlink(self, handle: int) -> int:
        entry = self.mes.get(handle)
        if entry is None:
            return ME_INVALID
        if any(md.pending for md in entry.mds):          # rule 25
            return ME_IN_USE
        entry.unlink = 0
        for md in list(entry.mds):
            self.destroy(md)
        entry.portal.remove(entry)
        del self.mes[handle]
        return OK

    # ---- memory descriptors --------------------------------------------------

    def check(self, args: Args) -> tuple[int, list]:
        """Arguments of a descriptor (rule 33), and its pieces of memory."""
        pieces = []
        if args.options & ~OPTIONS or args.threshold < -1:
            return MD_ILLEGAL, []
        if args.options & IOVEC:
            if args.length > self.limits.pieces or args.options & SPAN:
                return MD_ILLEGAL, []
            if args.length and (args.start % 8
                                or not self.may_use(args.start, 16 * args.length, False)):
                return SEGV, []
            for i in range(args.length):
                at = args.start - BASE + 16 * i
                address = int.from_bytes(self.memory[at:at + 8], "little")
                count = int.from_bytes(self.memory[at + 8:at + 16], "little")
                if not self.may_use(address, count, bool(args.options & OP_PUT)):
                    return SEGV, []
                pieces.append((address - BASE, count))
        elif args.options & SPAN:
            if args.start + args.length > 1 << 64:
                return SEGV, []
            pieces = [(args.start - BASE, args.length)]
        elif not self.may_use(args.start, args.length, bool(args.options & OP_PUT)):
            return SEGV, []
        else:
            pieces = [(args.start - BASE, args.length)]
        if args.eq != 0 and args.eq not in self.eqs:
            return EQ_INVALID, []
        return OK, pieces

    def new_md(self, name: int, entry: Optional[Entry], at: int, args: Args, unlink: int) -> int:
        error, pieces = self.check(args)
        if error:
            return error
        if len(self.mds) >= self.limits.mds or not self.pieces_left(args):
            return NO_SPACE
        md = Descriptor(name, args, pieces, unlink, entry)
        md.set(args, pieces)
        self.pieces_used += self.counted(args)
        self.mds[name] = md
        if entry is not None:
            entry.mds.insert(at, md)
        return OK

    def pieces_left(self, args: Args) -> bool:
        return self.pieces_used + self.counted(args) <= PIECES

    def md_attach(self, name: int, handle: int, *rest: int) -> int:
        entry = self.mes.get(handle)
        if entry is None:
            return ME_INVALID
        if entry.mds:                                    # rule 26
            return ME_IN_USE
        return self.new_md(name, entry, 0, Args(*rest[:7]), rest[7])

    def md_insert(self, name: int, base: int, *rest: int) -> int:
        md = self.mds.get(base)
        if md is None or md.entry is None:
            return MD_INVALID
        at = md.entry.mds.index(md) + bool(rest[8])
        return self.new_md(name, md.entry, at, Args(*rest[:7]), rest[7])

    def md_bind(self, name: int, *rest: int) -> int:
        return self.new_md(name, None, 0, Args(*rest[:7]), rest[7])

    def md_unlink(self, handle: int) -> int:
        md = self.mds.get(handle)
        if md is None:
            return MD_INVALID
        if md.pending:                                   # rule 25
            return MD_IN_USE
        self.destroy(md)
        return OK

    def md_update(self, handle: int, want_old: int, given: int, *rest: int) -> tuple:
        """Rule 24."""
        md, args, test = self.mds.get(handle), Args(*rest[:7]), rest[7]
        if md is None or md.leaving:
            return (MD_INVALID,)
        pieces: list = []
        if given:
            error, pieces = self.check(args)
            if error:
                return (error,)
        queue = self.eqs.get(test)
        if test != 0 and queue is None:
            return (EQ_INVALID,)
        old = tuple(md.state()) if want_old else ()
        if not given:
            return (OK, *old)
        refused = "pending" if md.pending else queue and (
            "unread" if queue.left(queue.word_read) else "owed" if self.owed(queue) else "")
        if refused:
            self.reach(24, refused)
            return (MD_NO_UPDATE, *old)
        if not self.pieces_left(args):                   # the old ones are freed last
            return (NO_SPACE, *old)
        self.pieces_used += self.counted(args)
        self.status()
        self.pieces_used -= self.counted(md.args)
        md.set(args, pieces)
        return (OK, *old)

    def post_entry(self, name: int, md_name: int, base: int, *rest: int) -> int:
        """PtlMEMDPost: the entry, its descriptor and rule 24's test, all or nothing."""
        fields, after, args, unlink, test = rest[:5], rest[5], Args(*rest[6:13]), rest[13], rest[14]
        entry = self.mes.get(base)
        if entry is None:
            return ME_INVALID
        if len(self.mes) >= self.limits.mes:
            return NO_SPACE
        if len(entry.portal) >= self.limits.me_list:
            return ME_LIST_TOO_LONG
        error, _ = self.check(args)
        queue = self.eqs.get(test)
        if error:
            return error
        if test != 0 and queue is None:
            return EQ_INVALID
        refused = queue and ("unread" if queue.left(queue.word_read) else
                             "owed" if self.owed(queue) else "")
        if refused:
            self.reach(24, f"post: {refused}")
            return MD_NO_UPDATE
        if len(self.mds) >= self.limits.mds or not self.pieces_left(args):
            return NO_SPACE
        made = self.me_insert(name, base, *(*fields, after))
        return made or self.md_attach(md_name, name, *args, unlink)

    def owed(self, queue: Queue) -> bool:
        """Whether a begun operation has still to record an event in it (rule 24)."""
        raise NotImplementedError

    # ---- event queues --------------------------------------------------------

    def eq_alloc(self, name: int, count: int, word: int, handler: int) -> tuple:
        if word % 8 or not self.holds(word, 8 + 8 * handler):
            return (SEGV,)
        if count == 0 or count > self.slots or len(self.eqs) >= self.limits.eqs:
            return (NO_SPACE,)
        size = 1
        while size < count:
            size *= 2
        self.eqs[name] = Queue(name, size, word, handler)
        return OK, size

    def eq_free(self, handle: int) -> int:
        return OK if self.eqs.pop(handle, None) else EQ_INVALID

    def eq_get(self, handle: int) -> tuple:
        """The reader: rules 20 and 21."""
        queue = self.eqs.get(handle)
        if queue is None:
            return (EQ_INVALID,)
        queue.word_read = queue.read
        if queue.read == queue.next:
            return (EQ_EMPTY,)
        result = OK
        if queue.next - queue.read > queue.count:
            result, queue.read = EQ_DROPPED, queue.next - queue.count
            self.reach(20, "overtaken")
        queue.read += 1
        queue.word_read = queue.read
        return result, queue.read - 1, *queue.slots[queue.read - 1]

    def eq_unhandled(self, handle: int) -> int:
        queue = self.eqs.get(handle)
        if queue and queue.handler == 2:
            return int(queue.filled != queue.told)
        return queue.left(queue.handled) if queue and queue.handler else 0

    def eq_scribble(self, handle: int, which: int, value: int) -> int:
        """The application writes any value into a word of its reader (rule 33)."""
        queue = self.eqs.get(handle)
        if queue is None or which > queue.handler:
            return EQ_INVALID
        if which and queue.handler == 2:
            queue.filled = value
        elif which:
            queue.handled = value
        else:
            queue.word_read = value
        return OK

    def eq_handled(self, handle: int) -> int:
        """The handler has been called for one more event, or because the queue has filled."""
        queue = self.eqs.get(handle)
        if queue and queue.handler == 2:
            called, queue.told = queue.filled != queue.told, queue.filled
            return OK if called else EQ_INVALID
        if queue is None or not queue.handler or queue.handled == queue.next:
            return EQ_INVALID
        queue.handled = queue.next - queue.left(queue.handled) + 1
        return OK

    # ---- access control ------------------------------------------------------

    def ac_set(self, index: int, nid: int, pid: int, uid: int, jid: int, pt: int) -> int:
        if index >= self.limits.acs:
            return AC_INDEX_INVALID
        if pt != ANY and pt >= self.limits.portals:
            return PT_INDEX_INVALID
        self.acs[index] = Control(nid, pid, uid, jid, pt)
        return OK

    def poke(self, at: int, *words: int) -> int:
        """The application writes its own memory: 64-bit words, for iovec arrays."""
        for i, word in enumerate(words):
            self.memory[at + 8 * i:at + 8 * i + 8] = word.to_bytes(8, "little")
        return OK
