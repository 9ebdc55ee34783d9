"""The reference model: messages, pending operations, and atomic operations."""
from __future__ import annotations

import ctypes
import math
import struct
from dataclasses import dataclass
from typing import NamedTuple, Optional

from model.objects import (
    ANY, GETPUT_START, GET_START, OP_GET, OP_PUT, PUT_START, Descriptor, Queue)

(NONE, PUT, GET, ACK, REPLY, GETPUT, ATOMIC, FETCH_ATOMIC, BARRIER) = range(9)
REQUESTS = (PUT, GET, GETPUT, ATOMIC, FETCH_ATOMIC)
NI_OK, NI_FAIL, NI_DROPPED = range(3)
# deliver_begin's results
D_OK, D_DROPPED, D_BUSY, D_CLOSED, D_DAMAGED, D_STALE = (-number for number in range(6))
WHOLE = (1 << 64) - 1
INLINE = 64                # largest payload of deliver_inline
LONGEST = 16384            # most bytes that an ATOMIC with one operand changes
STEP = 512                 # most operand bytes of deliver_apply

# The operation's event kind, and the option that its target's descriptor needs (rule 4).
STARTS = {PUT: PUT_START, GET: GET_START, ATOMIC: PUT_START, GETPUT: GETPUT_START,
          FETCH_ATOMIC: GETPUT_START}
NEEDS = {PUT: OP_PUT, GET: OP_GET, ATOMIC: OP_PUT, GETPUT: OP_PUT | OP_GET,
         FETCH_ATOMIC: OP_PUT | OP_GET}


FETCHES = (GET, GETPUT, FETCH_ATOMIC)                  # answered by a REPLY
WRITES = (PUT, REPLY, GETPUT, ATOMIC, FETCH_ATOMIC)    # change their receiver's memory
ACKED = (PUT, ATOMIC)                                  # answered by an ACK, on request


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


# MIN MAX SUM BOR BAND BXOR SWAP CSWAP PROD LOR LAND LXOR NOOP: of old value, operand, new value
ATOMICS = (lambda there, given, new: min(there, given),
           lambda there, given, new: max(there, given),
           lambda there, given, new: there + given,
           lambda there, given, new: there | given,
           lambda there, given, new: there & given,
           lambda there, given, new: there ^ given,
           lambda there, given, new: given,
           lambda there, given, new: new if there == given else there,
           lambda there, given, new: there * given,
           lambda there, given, new: int(there != 0 or given != 0),
           lambda there, given, new: int(there != 0 and given != 0),
           lambda there, given, new: int((there != 0) != (given != 0)),
           lambda there, given, new: there)
MIN, MAX, SUM, BOR, BAND, BXOR, SWAP, CSWAP, PROD, LOR, LAND, LXOR, NOOP = range(13)
FLOAT, DOUBLE, TYPES = range(8, 11)


@dataclass(eq=False, slots=True)
class Record:
    """An operation record: one begun operation, or one awaited answer."""
    name: int
    number: int                     # index in the pool
    waiting: bool
    kind: int                       # ACK, REPLY: awaited; PUT, GET, REPLY: under way
    runner: int                     # the node that ends it
    md: Optional[Descriptor]
    message: Message                # the request (or the answer that is carried out)
    link: int
    local: int = 0                  # REPLY: offset in the descriptor
    count: int = 0                  # REPLY: its length there
    mlength: int = 0
    offset: int = 0
    queue: Optional[Queue] = None   # for the rest of its events
    reserved: int = 0               # slots reserved there for them
    reports_dropped: bool = False   # ACK: EVENT_DROPPED, when the put started


@dataclass(eq=False, slots=True)
class Flight:
    """The runner's data between begin and end (struct grant)."""
    operation: int                  # of the message
    record: Optional[Record]
    pieces: list                    # the descriptor's memory
    at: int = 0                     # offset in the logical buffer
    count: int = 0
    answer: Optional[Message] = None
    ack: bool = False


def fits(value: int, wanted: int) -> bool:
    return wanted in (ANY, value)


def element(datatype: int) -> tuple[int, bool]:
    """Bytes of an atomic operation's element, and whether it has a sign."""
    if datatype >= FLOAT:
        return 4 if datatype == FLOAT else 8, False
    return 1 << datatype // 2, datatype % 2 == 0


def atomic_valid(m: Message) -> bool:
    longest = LONGEST if m.operation == ATOMIC and m.atomic_operation != CSWAP else INLINE
    return (m.atomic_operation < len(ATOMICS) and m.datatype < TYPES and m.length <= longest
            and m.length % element(m.datatype)[0] == 0
            and not (m.datatype >= FLOAT and m.atomic_operation in (BOR, BAND, BXOR))
            and (m.atomic_operation != NOOP or m.operation == FETCH_ATOMIC))


def real(bits: int, size: int) -> float:
    return struct.unpack("<f" if size == 4 else "<d", bits.to_bytes(size, "little"))[0]


def bits_of(value: float, size: int) -> int:
    """Rounded to nearest; too large a value becomes infinite."""
    raw = ctypes.c_float(value) if size == 4 else ctypes.c_double(value)
    return int.from_bytes(bytes(raw), "little")


def calculate(operation: int, there: int, given: int, size: int) -> int:
    """A floating-point operation, from bits to bits. A sum or a product of two floats, calculated as
    a double, rounds to the right float."""
    a, b = real(there, size), real(given, size)
    if operation in (LOR, LAND, LXOR):
        return bits_of(float(ATOMICS[operation](a, b, 0)), size)
    if math.isnan(a):
        return there
    if math.isnan(b):
        quiet = 1 << (22 if size == 4 else 51)
        return there if operation in (MIN, MAX) else given | quiet
    if operation in (MIN, MAX):
        return given if (b < a if operation == MIN else b > a) else there
    made = a * b if operation == PROD else a + b
    if math.isnan(made):                       # infinities without a sum, 0 times infinity
        return 0xffc00000 if size == 4 else 0xfff8 << 48
    return bits_of(made, size)


def atomic_apply(m: Message, old: bytes, operands: bytes) -> bytes:
    """The target's new bytes; the payload of compare-and-swap has the compared values, then the
    new ones."""
    size, signed = element(m.datatype)
    result = b""
    for at in range(0, len(old), size):
        there, given, new = (int.from_bytes(source[first:first + size], "little", signed=signed)
                             for source, first in ((old, at), (operands, at),
                                                   (operands, m.length + at)))
        if m.datatype >= FLOAT and m.atomic_operation not in (SWAP, CSWAP, NOOP):
            value = calculate(m.atomic_operation, there, given, size)
        else:
            value = ATOMICS[m.atomic_operation](there, given, new) % (1 << 8 * size)
        result += value.to_bytes(size, "little")
    return result
