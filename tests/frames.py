"""The frame on the wire, described a second time and by itself: docs/wire.md in Python.

net/link/wire.c is compared with it (test_wire.py), the dissector's tests and the hostile ones
make their frames with it. Slow and simple on purpose.
"""
from __future__ import annotations

import struct
from dataclasses import dataclass, field, replace
from pathlib import Path

DATA, ACK, RESET, ANNOUNCE, GRANT, BULK, MARK, BUNDLE, TRAIN = range(1, 10)
KINDS = {DATA: "DATA", ACK: "ACK", RESET: "RESET", ANNOUNCE: "ANNOUNCE", GRANT: "GRANT",
         BULK: "BULK", MARK: "MARK", BUNDLE: "BUNDLE"}
WITH_MESSAGE, WITH_PAYLOAD, WITH_TURN = (DATA, ANNOUNCE, BUNDLE), (
    DATA, ANNOUNCE, BULK, BUNDLE), (GRANT, BULK, MARK)
WITH_WAITS = ACKNOWLEDGES = (DATA, ANNOUNCE, ACK, GRANT, BUNDLE)
HEADER, MESSAGE, DATA_HEADER = 64, 128, 192
ENTRY, BUNDLE_EACH, BUNDLE_BYTES = 8, 128, 2048
TRAIN_HEADER = 16
ETHERTYPE = 0x88B5
MOST_PAYLOAD, TAIL_BYTES = 65472, 1024

# Name, offset, bytes; little-endian. What only one kind has comes after its name.
FIELDS = (("source", 24, 4), ("destination", 28, 4), ("sequence", 32, 4), ("ack", 36, 4),
          ("selective", 40, 8), ("window", 48, 2))
DATA_FIELDS = (("offset", 52, 6), ("length", 58, 6))
TURN_FIELDS = (("turn", 52, 4), ("part", 56, 4), ("until", 60, 4))

# The message header (net/portals/message.h), from its own beginning.
OPERATIONS = ("NONE", "PUT", "GET", "ACK", "REPLY", "GETPUT", "ATOMIC", "FETCH_ATOMIC", "BARRIER")
MESSAGE_FIELDS = (
    ("operation", 0, 1), ("ack_request", 1, 1), ("fail", 2, 1), ("atomic_operation", 3, 1),
    ("datatype", 4, 1), ("source_nid", 8, 4), ("source_pid", 12, 4), ("target_nid", 16, 4),
    ("target_pid", 20, 4), ("uid", 24, 4), ("jid", 28, 4), ("pt_index", 32, 4), ("cookie", 36, 4),
    ("match_bits", 40, 8), ("offset", 48, 8), ("length", 56, 8), ("mlength", 64, 8),
    ("md_handle", 72, 8), ("eq_handle", 80, 8), ("op_handle", 88, 8), ("hdr_data", 96, 8),
    ("sequence", 104, 8), ("counter_handle", 112, 8), ("list_selector", 120, 4), ("link", 124, 4))


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


def checksum(header: bytes) -> int:
    """Of a header, or a whole bundle: its words, multiplied (net/link/wire.h)."""
    mask = (1 << 64) - 1
    words = [int.from_bytes(header[at:at + 8], "little") for at in range(0, len(header), 8)]
    product = 0x9E3779B97F4A7C15_B7E151628AED2A6B
    for low, high in zip(words[:DATA_HEADER // 8:2], words[1:DATA_HEADER // 8:2], strict=True):
        product = (product & mask ^ low) * (product >> 64 ^ high)
    state = (product ^ product >> 64) & mask
    for word in words[DATA_HEADER // 8:]:
        product = (state ^ word) * 0x9E3779B97F4A7C15
        state = (product ^ product >> 64) & mask
    return (state ^ state >> 32) & 0xFFFFFFFF


def siphash(key: bytes, data: bytes) -> int:
    """SipHash-2-4, 64 bits."""
    mask = (1 << 64) - 1

    def rotated(x: int, n: int) -> int:
        return (x << n | x >> 64 - n) & mask

    def rounds(n: int) -> None:
        nonlocal a, b, c, d
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

    low, high = struct.unpack("<QQ", key)
    a, b = low ^ 0x736F6D6570736575, high ^ 0x646F72616E646F6D
    c, d = low ^ 0x6C7967656E657261, high ^ 0x7465646279746573
    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 255])
    for (word,) in struct.iter_unpack("<Q", padded):
        d ^= word
        rounds(2)
        a ^= word
    c ^= 0xFF
    rounds(4)
    return a ^ b ^ c ^ d


def address(node: int, card: int = 0) -> bytes:
    return bytes([0x02, 0x4D, 0x47, card, node >> 8, node & 255])


def message(**fields: int) -> bytes:
    """A message header."""
    data = bytearray(MESSAGE)
    for name, at, size in MESSAGE_FIELDS:
        data[at:at + size] = fields.pop(name, 0).to_bytes(size, "little")
    assert not fields
    return bytes(data)


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 8)


def bundle(messages: list[tuple[bytes, bytes]]) -> dict[str, object]:
    """The fields of a BUNDLE of these headers and payloads."""
    (header, first), *others = messages
    return {"kind": BUNDLE, "offset": len(messages), "length": len(first), "message": header,
            "payload": padded(first) + b"".join(
                len(data).to_bytes(ENTRY, "little") + head + padded(data)
                for head, data in others)}


def unbundle(message: bytes, length: int, payload: bytes) -> list[tuple[bytes, bytes]] | None:
    """The messages of a BUNDLE; None: there is something between them."""
    messages, at, header = [], 0, message
    while length <= BUNDLE_EACH and at + len(padded(bytes(length))) <= len(payload):
        end = at + len(padded(bytes(length)))
        if any(payload[at + length:end]):
            break
        messages.append((header, payload[at:at + length]))
        at = end
        if at == len(payload):
            return messages
        length = int.from_bytes(payload[at:at + ENTRY], "little")
        header = payload[at + ENTRY:at + ENTRY + MESSAGE]
        at += ENTRY + MESSAGE
    return None


@dataclass(frozen=True)
class Frame:
    to: int                        # nodes
    sender: int
    kind: int = DATA
    card: int = 0                  # of the destination
    sender_card: int = 0
    lane: int = 0
    again: int = 0
    over: int = 0
    waits: int = 0
    source: int = 256              # incarnations
    destination: int = 256
    sequence: int = 0
    ack: int = 0
    selective: int = 0
    window: int = 8
    offset: int = 0                # DATA; ANNOUNCE: bytes of a part; BUNDLE: messages
    length: int = 0
    reach: int = 0                 # GRANT
    turn: int = 0                  # GRANT, BULK, MARK
    part: int = 0
    until: int = 0
    refused: int = 0               # ACK with again
    message: bytes = bytes(MESSAGE)
    payload: bytes = b""
    crc: bool = field(default=False, compare=False)   # with the payload's checksum

    def encode(self, key: bytes | None = None) -> bytes:
        data = bytearray(HEADER)
        data[0:6] = address(self.to, self.card)
        data[6:12] = address(self.sender, self.sender_card)
        data[12:14] = ETHERTYPE.to_bytes(2, "big")
        data[14] = 2 if key else 1
        data[15] = (self.kind | self.lane << 4 | self.again << 5 | self.over << 6 |
                    self.waits << 7)
        for name, at, size in FIELDS + (TURN_FIELDS if self.kind in WITH_TURN else DATA_FIELDS):
            data[at:at + size] = getattr(self, name).to_bytes(size, "little")
        data[50:52] = (self.reach if self.kind == GRANT else len(self.payload)).to_bytes(
            2, "little")
        if self.kind == ACK:
            data[52:60] = self.refused.to_bytes(8, "little")
        if self.kind in WITH_MESSAGE:
            data += self.message
        data += self.payload
        if self.crc:
            data[20:24] = crc32c(self.payload).to_bytes(4, "little")
        return sealed(bytes(data), key)


def header_of(data: bytes) -> int:
    return DATA_HEADER if data[15] & 15 in WITH_MESSAGE else HEADER


def sealed(data: bytes, key: bytes | None = None) -> bytes:
    """The frame with the right checksum of its header, or the right tag."""
    if key:
        return data[:16] + siphash(key, data[:16] + data[24:]).to_bytes(8, "little") + data[24:]
    end = len(data) if data[15] & 15 == BUNDLE else header_of(data)
    covered = data[:16] + bytes(4) + data[20:end]
    return data[:16] + checksum(covered).to_bytes(4, "little") + data[20:]


def is_sealed(data: bytes, key: bytes | None = None) -> bool:
    return data == sealed(data, key)


def decode(data: bytes, node: int, key: bytes | None = None) -> tuple[str, Frame | None]:
    """What node `node` makes of it: OK and the frame, or why it is dropped."""
    if len(data) < HEADER:
        return "SHORT", None
    if (data[0:3] != address(0)[:3] or data[4:6] != address(node)[4:] or
            data[6:9] != address(0)[:3] or data[12:14] != ETHERTYPE.to_bytes(2, "big") or
            data[14] != (2 if key else 1)):
        return "FOREIGN", None
    kind, payload_bytes, reach = data[15] & 15, int.from_bytes(data[50:52], "little"), 0
    if kind == GRANT:
        payload_bytes, reach = 0, payload_bytes
    if len(data) != header_of(data) + payload_bytes or (kind == BUNDLE and len(data) % 8):
        return "SHORT", None
    if not is_sealed(data, key):
        return ("FORGED" if key else "DAMAGED"), None
    values = {name: int.from_bytes(data[at:at + size], "little")
              for name, at, size in FIELDS + (TURN_FIELDS if kind in WITH_TURN else DATA_FIELDS)}
    frame = Frame(to=node, sender=data[10] << 8 | data[11], kind=kind, card=data[3],
                  sender_card=data[9], lane=data[15] >> 4 & 1, again=data[15] >> 5 & 1,
                  over=data[15] >> 6 & 1, waits=data[15] >> 7, reach=reach, **values)
    payload = data[header_of(data):]
    if (frame.source == 0 or (frame.window == 0 and kind in ACKNOWLEDGES) or
            kind not in KINDS or (frame.waits and kind not in WITH_WAITS) or
            (payload and kind not in WITH_PAYLOAD) or payload_bytes > MOST_PAYLOAD or
            not sound(replace(frame, message=data[HEADER:DATA_HEADER], payload=payload),
                      payload_bytes)):
        return "NONSENSE", None
    carried = int.from_bytes(data[20:24], "little")
    if not key and kind in (DATA, ANNOUNCE, BULK) and carried and carried != crc32c(payload):
        return "DAMAGED", None
    if kind in WITH_MESSAGE:
        return "OK", replace(frame, message=data[HEADER:DATA_HEADER], payload=payload)
    refused = int.from_bytes(data[52:60], "little") if kind == ACK and frame.again else 0
    return "OK", replace(frame, refused=refused, offset=0, length=0, payload=payload)


def sound(frame: Frame, payload_bytes: int) -> bool:
    """What the fields of one kind must keep."""
    if frame.kind == DATA:
        return (frame.offset + payload_bytes <= frame.length and
                (payload_bytes > 0 or frame.length == 0))
    if frame.kind == ANNOUNCE:
        return (payload_bytes <= min(TAIL_BYTES, frame.length - 1) and
                0 < frame.offset <= min(frame.length - payload_bytes, MOST_PAYLOAD))
    if frame.kind == BUNDLE:
        messages = unbundle(frame.message, frame.length, frame.payload)
        return (payload_bytes <= BUNDLE_BYTES and messages is not None and
                1 < len(messages) == frame.offset)
    return frame.kind != BULK or payload_bytes > 0


def train(each: list[bytes]) -> bytes:
    """These frames, all of one node for another, in one."""
    return each[0][:15] + bytes([TRAIN]) + b"".join(each)


def untrain(data: bytes) -> list[bytes] | None:
    """The frames of a TRAIN; None: it is none, or does not consist of frames."""
    at, each = TRAIN_HEADER, []
    if len(data) <= at or data[15] != TRAIN:
        return None
    while at < len(data):
        rest = data[at:]
        if len(rest) < HEADER or rest[:15] != data[:15] or rest[15] & 15 == TRAIN:
            return None
        size = header_of(rest) + (0 if rest[15] & 15 == GRANT else
                                  int.from_bytes(rest[50:52], "little"))
        if size > len(rest) or (size % 8 and size < len(rest)):
            return None
        each.append(rest[:size])
        at += size
    return each


def write_capture(path: Path, frames: list[bytes]) -> None:
    """A capture like the switch's, a frame each microsecond."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 17, 1))
        for number, data in enumerate(frames):
            file.write(struct.pack("<IIII", 0, 1000 * number, len(data), len(data)) + data)


def read_capture(path: Path) -> list[bytes]:
    """The frames of a capture, which somebody may still be writing."""
    data, at, read = path.read_bytes(), 24, []
    while at + 16 <= len(data):
        length = struct.unpack_from("<8xI", data, at)[0]
        if at + 16 + length > len(data):
            break
        read.append(data[at + 16:at + 16 + length])
        at += 16 + length
    return read
