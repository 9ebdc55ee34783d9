"""An independent second description of the frame on the wire: docs/wire.md in Python.

test_wire.py compares net/link/wire.c with it; the tests of the dissector and of hostile frames make
frames with it. Deliberately slow and simple.
"""
from __future__ import annotations

import struct
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

MSG, GRANT, BULK, RESET = range(1, 5)
KINDS = {MSG: "MSG", GRANT: "GRANT", BULK: "BULK", RESET: "RESET"}
ACKNOWLEDGES, WITH_PART = (MSG, GRANT), (GRANT, BULK)
HEADER, ENTRY, MESSAGE, PUT = 64, 16, 112, 32
DATA_HEADER = HEADER + ENTRY + MESSAGE         # of MSG with messages: bytes before the payload
PUT_HEADER = HEADER + ENTRY + PUT              # the same if its messages are plain puts (PUTS)
PUT_BYTES, BATCH_BYTES = 64, 2048              # payload of a plain put; a batch's after its header
ETHERTYPE = 0x88B5
MOST_PAYLOAD, MOST_FRAGMENT, TAIL_BYTES = 65472, 65344, 1024
MOST_FRAMES = 1 << 30           # of one message; or parts
MOST_LENGTH = (1 << 48) - 1

# Name, offset, bytes; little-endian. Fields of some kinds only are listed by kind.
FIELDS = (("source", 24, 4), ("destination", 28, 4), ("sequence", 32, 4), ("ack", 36, 4),
          ("selective", 40, 8), ("other_ack", 48, 4), ("window", 52, 1), ("other_window", 53, 1))
BEHIND = ("behind", 54, 2)                     # bytes after the first 64
MSG_FIELDS = (("messages", 56, 8),)
REFUSED_FIELDS = (("refused", 56, 8),)         # MSG without messages
ENTRY_FIELDS = (("length", 64, 8), ("offset", 72, 8))    # of the first message
PART_FIELDS = (("part", 56, 4),)
GRANT_FIELDS = (("parts", 60, 2), ("reach", 62, 2))

# The message header (net/portals/message.h), with offsets from its own beginning.
OPERATIONS = ("NONE", "PUT", "GET", "ACK", "REPLY", "GETPUT", "ATOMIC", "FETCH_ATOMIC", "BARRIER")
MESSAGE_FIELDS = (
    ("operation", 0, 1), ("ack_request", 1, 1), ("fail", 2, 1), ("atomic_operation", 3, 1),
    ("datatype", 4, 1), ("link", 7, 1), ("source_nid", 8, 4), ("source_pid", 12, 4),
    ("target_nid", 16, 4), ("target_pid", 20, 4), ("uid", 24, 4), ("jid", 28, 4),
    ("pt_index", 32, 4), ("cookie", 36, 4), ("match_bits", 40, 8), ("offset", 48, 8),
    ("length", 56, 8), ("mlength", 64, 8), ("md_handle", 72, 8), ("eq_handle", 80, 8),
    ("op_handle", 88, 8), ("hdr_data", 96, 8), ("sequence", 104, 8))
# The short one of a plain put.
PUT_FIELDS = (("pt_index", 0, 4), ("cookie", 4, 4), ("match_bits", 8, 8), ("offset", 16, 8),
              ("hdr_data", 24, 8))


def crc_table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


TABLE = crc_table()


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def checksum(data: bytes, header: int) -> int:
    """The checksum of a header of so many bytes, or of a whole batch that begins with it, by
    multiplication (net/link/wire.h)."""
    mask = (1 << 64) - 1
    words = [int.from_bytes(data[at:at + 8], "little") for at in range(0, len(data), 8)]
    product = 0x9E3779B97F4A7C15_B7E151628AED2A6B
    for low, high in zip(words[:header // 8:2], words[1:header // 8:2], strict=True):
        product = (product & mask ^ low) * (product >> 64 ^ high)
    state = (product ^ product >> 64) & mask
    for word in words[header // 8:]:
        product = (state ^ word) * 0x9E3779B97F4A7C15
        state = (product ^ product >> 64) & mask
    return (state ^ state >> 32) & 0xFFFFFFFF


def siphash(key: bytes, data: bytes) -> int:
    """SipHash-2-4, 64 bits."""
    mask = (1 << 64) - 1

    def rotated(x: int, n: int) -> int:
        return (x << n | x >> 64 - n) & mask

    def rounds(a: int, b: int, c: int, d: int, n: int) -> tuple[int, int, int, int]:
        for _ in range(n):
            a = a + b & mask
            b = rotated(b, 13) ^ a
            a = rotated(a, 32)
            c = c + d & mask
            d = rotated(d, 16) ^ c
            a = a + d & mask
            d = rotated(d, 21) ^ a
            c = c + b & mask
            b = rotated(b, 17) ^ c
            c = rotated(c, 32)
        return a, b, c, d

    low, high = struct.unpack("<QQ", key)
    a, b = low ^ 0x736F6D6570736575, high ^ 0x646F72616E646F6D
    c, d = low ^ 0x6C7967656E657261, high ^ 0x7465646279746573
    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 255])
    for (word,) in struct.iter_unpack("<Q", padded):
        d ^= word
        a, b, c, d = rounds(a, b, c, d, 2)
        a ^= word
    c ^= 0xFF
    a, b, c, d = rounds(a, b, c, d, 4)
    return a ^ b ^ c ^ d


def address(node: int, card: int = 0) -> bytes:
    return bytes([0x02, 0x4D, 0x47, card, node >> 8, node & 255])


def filled(length: int, described: tuple[tuple[str, int, int], ...],
           fields: dict[str, int]) -> bytes:
    data = bytearray(length)
    for name, at, size in described:
        data[at:at + size] = fields.pop(name, 0).to_bytes(size, "little")
    assert not fields
    return bytes(data)


def message(**fields: int) -> bytes:
    """A message header."""
    return filled(MESSAGE, MESSAGE_FIELDS, fields)


def short(**fields: int) -> bytes:
    """The short message header of a plain put."""
    return filled(PUT, PUT_FIELDS, fields)


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)


def one_put(header: bytes, data: bytes) -> dict[str, object]:
    """The fields of a MSG with one plain put: its short header and its payload."""
    return {"kind": MSG, "puts": 1, "messages": 1, "length": len(data), "message": header,
            "payload": data}


def batch(messages: list[tuple[bytes, bytes]]) -> dict[str, object]:
    """The fields of a MSG with several plain puts: their short headers and payloads."""
    (header, first), *others = messages
    return one_put(header, first) | {
        "messages": len(messages), "payload": padded(first) + b"".join(
            struct.pack("<QQ", len(data), 0) + head + padded(data) for head, data in others)}


def unbatch(frame: Frame) -> list[tuple[bytes, bytes]] | None:
    """The messages of a batch, or None if there are bytes between them."""
    messages, at, header, payload = [], 0, frame.message, frame.payload
    length, offset = frame.length, frame.offset
    while length <= PUT_BYTES and offset == 0 and at + len(padded(bytes(length))) <= len(payload):
        end = at + len(padded(bytes(length)))
        if any(payload[at + length:end]):
            break
        messages.append((header, payload[at:at + length]))
        at = end
        if at == len(payload):
            return messages
        if len(payload) - at < ENTRY + PUT:
            break
        length, offset = struct.unpack_from("<QQ", payload, at)
        header = payload[at + ENTRY:at + ENTRY + PUT]
        at += ENTRY + PUT
    return None


@dataclass(frozen=True)
class Frame:
    to: int                        # nodes
    sender: int
    kind: int = MSG
    card: int = 0                  # of the destination
    sender_card: int = 0
    lane: int = 0
    announce: int = 0              # MSG
    again: int = 0
    over: int = 0                  # RESET; GRANT: to the ordinary card. The same bit as puts
    puts: int = 0                  # MSG: its messages are plain puts with short headers
    source: int = 256              # incarnations
    destination: int = 256
    sequence: int = 0
    ack: int = 0
    selective: int = 0
    window: int = 8
    other_ack: int = 0
    other_window: int = 8
    messages: int = 0              # MSG; the next two are of the first
    offset: int = 0                # with announce: bytes of a part
    length: int = 0
    part: int = 0                  # GRANT, BULK
    parts: int = 0                 # GRANT
    reach: int = 0
    refused: int = 0               # MSG without messages, with again
    message: bytes = bytes(MESSAGE)                   # with puts: PUT bytes
    payload: bytes = b""           # of a batch: all after the first message's header
    crc: bool = field(default=False, compare=False)   # with the payload's checksum

    def encode(self, key: bytes | None = None) -> bytes:
        bit6 = self.puts | self.over
        header = header_by(self.kind, bit6, self.kind == MSG and self.messages > 0)
        data = bytearray(header)
        data[0:6] = address(self.to, self.card)
        data[6:12] = address(self.sender, self.sender_card)
        data[12:14] = ETHERTYPE.to_bytes(2, "big")
        data[14] = 4 if key else 3
        data[15] = (self.kind | self.announce << 3 | self.lane << 4 | self.again << 5 |
                    bit6 << 6)
        for name, at, size in FIELDS + fields_of(self.kind, header, self.again):
            data[at:at + size] = getattr(self, name).to_bytes(size, "little")
        data[54:56] = (header - HEADER + len(self.payload)).to_bytes(2, "little")
        if carries(self.kind, header):
            assert len(self.message) == header - HEADER - ENTRY
            data[HEADER + ENTRY:] = self.message
        data += self.payload
        if self.crc:
            data[20:24] = crc32c(self.payload).to_bytes(4, "little")
        return sealed(bytes(data), key)


def carries(kind: int, header: int) -> bool:
    """Whether a frame with a header of so many bytes carries messages."""
    return kind == MSG and header > HEADER


def fields_of(kind: int, header: int, again: int) -> tuple[tuple[str, int, int], ...]:
    """The fields of a frame with a header of so many bytes that not all kinds have."""
    if kind == MSG:
        if carries(kind, header):
            return MSG_FIELDS + ENTRY_FIELDS
        return REFUSED_FIELDS if again else ()
    return {GRANT: PART_FIELDS + GRANT_FIELDS, BULK: PART_FIELDS}.get(kind, ())


def header_by(kind: int, bit6: int, more: bool) -> int:
    """The header's length of a frame of this kind, with or without `more` behind the first 64."""
    if kind == MSG and more:
        return PUT_HEADER if bit6 else DATA_HEADER
    return HEADER


def header_of(data: bytes) -> int:
    """The length of this frame's header."""
    return header_by(data[15] & 7, data[15] >> 6 & 1, len(data) > HEADER)


def is_several(data: bytes) -> bool:
    """Whether the header marks a batch, or at least not exactly one plain put."""
    return header_of(data) == PUT_HEADER and int.from_bytes(data[56:64], "little") != 1


def sealed(data: bytes, key: bytes | None = None) -> bytes:
    """The frame with the correct checksum of its header, or the correct tag."""
    if key:
        return data[:16] + siphash(key, data[:16] + data[24:]).to_bytes(8, "little") + data[24:]
    header = header_of(data)
    covered = data[:16] + bytes(4) + data[20:len(data) if is_several(data) else header]
    return data[:16] + checksum(covered, header).to_bytes(4, "little") + data[20:]


def is_sealed(data: bytes, key: bytes | None = None) -> bool:
    return data == sealed(data, key)


def decode(data: bytes, node: int, key: bytes | None = None) -> tuple[str, Frame | None]:
    """The result at node `node`: OK and the frame, or the reason for dropping it."""
    if len(data) < HEADER or len(data) < header_of(data):
        return "SHORT", None
    if (data[0:3] != address(0)[:3] or data[4:6] != address(node)[4:] or
            data[6:9] != address(0)[:3] or data[12:14] != ETHERTYPE.to_bytes(2, "big") or
            data[14] != (4 if key else 3)):
        return "FOREIGN", None
    kind, header, again, bit6 = data[15] & 7, header_of(data), data[15] >> 5 & 1, data[15] >> 6 & 1
    if (len(data) != HEADER + int.from_bytes(data[54:56], "little") or
            (is_several(data) and len(data) % 8)):
        return "SHORT", None
    if not is_sealed(data, key):
        return ("FORGED" if key else "DAMAGED"), None
    values: dict[str, Any] = {name: int.from_bytes(data[at:at + size], "little")
              for name, at, size in FIELDS + fields_of(kind, header, again)}
    frame = Frame(to=node, sender=data[10] << 8 | data[11], kind=kind, card=data[3],
                  sender_card=data[9], lane=data[15] >> 4 & 1, announce=data[15] >> 3 & 1,
                  again=again, over=bit6 if kind != MSG else 0, puts=bit6 if kind == MSG else 0,
                  payload=data[header:], **values)
    if carries(kind, header):
        frame = replace(frame, message=data[HEADER + ENTRY:header])
    if (frame.source == 0 or (frame.window == 0 and kind in ACKNOWLEDGES) or
            (carries(kind, header) and not frame.messages) or not sound(frame)):
        return "NONSENSE", None
    carried = int.from_bytes(data[20:24], "little")
    if not key and frame.payload and not is_several(data) and carried not in (
            0, crc32c(frame.payload)):
        return "DAMAGED", None
    return "OK", frame


def sound(frame: Frame) -> bool:
    """The constraints on the fields of one kind."""
    size = len(frame.payload)
    if frame.kind == MSG and frame.length > MOST_LENGTH:
        return False
    if frame.kind == MSG and (frame.puts or frame.messages > 1):
        return sound_puts(frame)
    if frame.kind == MSG and frame.messages == 1 and frame.announce:
        return (size <= min(TAIL_BYTES, frame.length - 1) and
                0 < frame.offset <= min(frame.length - size, MOST_PAYLOAD) and
                (frame.length - size - 1) // frame.offset < MOST_FRAMES)
    if frame.kind == MSG and frame.messages == 1:
        return (size <= MOST_FRAGMENT and frame.offset + size <= frame.length and
                (size > 0 or frame.length == 0))
    if frame.announce or frame.kind not in KINDS:
        return False
    if frame.kind == BULK:
        return not frame.over and 0 < size <= MOST_PAYLOAD
    return size == 0


def sound_puts(frame: Frame) -> bool:
    """The same of a MSG with plain puts, which are requests; several messages are always such."""
    if not frame.puts or not frame.messages or frame.announce or frame.lane:
        return False
    if frame.messages == 1:
        return frame.offset == 0 and len(frame.payload) == frame.length <= PUT_BYTES
    messages = unbatch(frame)
    return (len(frame.payload) <= BATCH_BYTES and messages is not None and
            len(messages) == frame.messages)


def split_aggregate(data: bytes) -> list[bytes]:
    """The consecutive frames within one frame of the card. Bytes after a frame that cannot be
    another one are left out."""
    at, each = 0, []
    while at == 0 or (len(data) - at >= HEADER and data[at:at + 15] == data[:15]):
        rest = data[at:]
        size = len(rest)
        if size >= HEADER and rest[12:14] == ETHERTYPE.to_bytes(2, "big"):
            says = HEADER + int.from_bytes(rest[54:56], "little")
            size = size if says % 8 or says > size else says
        each.append(rest[:size])
        at += size
        if at == len(data):
            break
    return each


def write_capture(path: Path, frames: list[bytes]) -> None:
    """A capture like the switch's, a frame each microsecond."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 17, 1))
        for number, data in enumerate(frames):
            file.write(struct.pack("<IIII", 0, 1000 * number, len(data), len(data)) + data)


class Capture:
    """A capture that may still be written to."""

    def __init__(self, path: Path) -> None:
        self.path, self.at = path, 24             # behind the file's header

    def tail(self) -> bytes:
        """What `new` has not taken yet."""
        with self.path.open("rb") as file:
            file.seek(self.at)
            return file.read()

    def new(self) -> list[bytes]:
        """The frames since the last call."""
        data, at, read = self.tail(), 0, []
        while at + 16 <= len(data):
            length = struct.unpack_from("<8xI", data, at)[0]
            if at + 16 + length > len(data):
                break
            read.append(data[at + 16:at + 16 + length])
            at += 16 + length
        self.at += at
        return read


def read_capture(path: Path) -> list[bytes]:
    """All frames of a capture."""
    return Capture(path).new()
