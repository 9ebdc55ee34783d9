"""The locks of files in the shared folders, for all nodes: each node's file server knows only its
own.
A node asks by a record on its console ring (struct region_lock) and is answered in words of its
entry in the region. A lock belongs to a process (fcntl) or to one of its open files (F_OFD_SETLK,
flock). Locks of flock and the others do not conflict. Requests are not trusted: a node can only
take and free its own locks.
"""
from __future__ import annotations

import struct
from collections.abc import Callable
from errno import EAGAIN, EDEADLK, EINTR, EINVAL, ENOLCK

from .region import Region, fence

MOST = 10_000                 # ranges that one node may have locked
LAST = (1 << 63) - 1          # of bytes
SHARED, EXCLUSIVE, NONE = 0, 1, 2
GET, SET, WAIT, CANCEL = 0, 1, 2, 3
_REQUEST = struct.Struct("<IHHHHIIIQQQ")


class Lock:
    """Bytes `first` to `last` of a file, both included."""

    __slots__ = ("rank", "owner", "pid", "kind", "first", "last")

    def __init__(self, rank: int, owner: int, pid: int, kind: int, first: int, last: int) -> None:
        self.rank, self.owner, self.pid = rank, owner, pid
        self.kind, self.first, self.last = kind, first, last

    def stops(self, other: Lock) -> bool:
        return ((self.rank, self.owner) != (other.rank, other.owner)
                and self.first <= other.last and other.first <= self.last
                and EXCLUSIVE in (self.kind, other.kind))

    def part(self, first: int, last: int) -> Lock:
        return Lock(self.rank, self.owner, self.pid, self.kind, first, last)


File = tuple[int, int, int]   # 1 for the locks of flock(), the folder, the inode
# Called with a rank, the number of its request, an error, and the lock in the way.
Answer = Callable[[int, int, int, "Lock | None"], None]


class Locks:
    """answer(rank, number, error, conflicting lock or None) is called once for each request: at
    once, or when the lock is free."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.held: dict[File, list[Lock]] = {}         # by file
        self.waiting: dict[int, tuple[File, Lock, int]] = {}   # by rank: file, lock, number
        self.results: dict[int, int] = {}               # result of each rank's last wait

    def ask(self, rank: int, data: bytes) -> None:
        """Requests of one node; the rest of a damaged one is dropped."""
        for at in range(0, len(data) - _REQUEST.size + 1, _REQUEST.size):
            (number, call, kind, whole, folder, owner, pid, _, inode, first,
             last) = _REQUEST.unpack_from(data, at)
            file = (whole, folder, inode)
            lock = Lock(rank, owner, pid, kind, first, last)
            if call == CANCEL:
                self._cancel(rank, number)
            elif (call > CANCEL or kind > NONE - (call == GET) or first > last
                  or last > LAST):
                self.answer(rank, number, EINVAL, None)
            elif call == GET:
                self.answer(rank, number, 0, self._in_the_way(file, lock))
            else:
                self._set(file, lock, number, call == WAIT)

    def end(self, rank: int) -> None:
        """The node has ended: frees its locks."""
        self.waiting.pop(rank, None)
        for file in list(self.held):
            self._keep(file, [lock for lock in self.held[file] if lock.rank != rank])
        self._wake()

    def _in_the_way(self, file: File, lock: Lock) -> Lock | None:
        return next((held for held in self.held.get(file, ()) if held.stops(lock)), None)

    def _keep(self, file: File, locks: list[Lock]) -> None:
        if locks:
            self.held[file] = locks
        else:
            self.held.pop(file, None)

    def _set(self, file: File, lock: Lock, number: int, waits: bool) -> None:
        error = 0
        if lock.kind != NONE and self._in_the_way(file, lock):
            error = EAGAIN
            if waits and self._would_wait_for_itself(file, lock):
                error = EDEADLK
            elif waits:
                self.waiting[lock.rank] = (file, lock, number)
                return
        elif lock.kind != NONE and self._number_of(lock.rank) >= MOST:
            error = ENOLCK
        else:
            self._put(file, lock)
        self._result(lock.rank, number, error)
        self._wake()

    def _result(self, rank: int, number: int, error: int) -> None:
        self.results[rank] = error
        self.answer(rank, number, error, None)

    def _number_of(self, rank: int) -> int:
        return sum(lock.rank == rank for locks in self.held.values() for lock in locks)

    def _put(self, file: File, lock: Lock) -> None:
        """Replaces the owner's locks of these bytes by this one, or by none."""
        kept = []
        for old in self.held.get(file, ()):
            if ((old.rank, old.owner) != (lock.rank, lock.owner)
                    or old.last < lock.first - 1 or old.first > lock.last + 1):
                kept.append(old)
            elif old.kind == lock.kind:       # adjacent locks become one
                lock = lock.part(min(old.first, lock.first), max(old.last, lock.last))
            else:
                if old.first < lock.first:
                    kept.append(old.part(old.first, min(old.last, lock.first - 1)))
                if old.last > lock.last:
                    kept.append(old.part(max(old.first, lock.last + 1), old.last))
        self._keep(file, kept if lock.kind == NONE else [*kept, lock])

    def _wake(self) -> None:
        """Grants free locks to waiting nodes, first come, first served."""
        for rank, (file, lock, number) in list(self.waiting.items()):
            if not self._in_the_way(file, lock):
                del self.waiting[rank]
                self._put(file, lock)
                self._result(rank, number, 0)

    def _would_wait_for_itself(self, file: File, lock: Lock) -> bool:
        """Whether this wait would be a deadlock: a cycle of waiting nodes."""
        seen: set[int] = set()
        looking = [(file, lock)]
        while looking:
            file, wanted = looking.pop()
            for held in self.held.get(file, ()):
                if not held.stops(wanted):
                    continue
                if held.rank == lock.rank:
                    return True
                if held.rank in self.waiting and held.rank not in seen:
                    seen.add(held.rank)
                    looking.append(self.waiting[held.rank][:2])
        return False

    def _cancel(self, rank: int, number: int) -> None:
        if self.waiting.pop(rank, None):
            self._result(rank, number, EINTR)
        else:
            self.answer(rank, number, self.results.get(rank, 0), None)


def answer_in(region: Region, ring: Callable[[int], None]) -> Answer:
    """The `answer` of Locks: writes it into the region and rings the node."""
    at = {name: region.layout.at("region_node", name)
          for name in ("lock_answer", "lock_first", "lock_last", "lock_pid", "lock_type")}

    def answer(rank: int, number: int, error: int, lock: Lock | None) -> None:
        node = region.plan.node(rank)
        region.words[(node + at["lock_type"]) >> 2] = lock.kind if lock else NONE
        if lock:
            region.longs[(node + at["lock_first"]) >> 3] = lock.first
            region.longs[(node + at["lock_last"]) >> 3] = lock.last
            region.words[(node + at["lock_pid"]) >> 2] = lock.pid if not lock.owner else 0xffffffff
        fence()
        region.longs[(node + at["lock_answer"]) >> 3] = number << 32 | error
        ring(rank)

    return answer
