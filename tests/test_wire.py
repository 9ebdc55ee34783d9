"""Frames by net/link/wire.c against their description in Python (frames.py): whatever the
fields, both write the same bytes; whatever the bytes, both read the same fields or drop them
for the same reason. The C side runs under ASan and UBSan."""
from __future__ import annotations

import subprocess
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings, strategies as st

import frames
from frames import ACK, ANNOUNCE, BULK, BUNDLE, DATA, GRANT, Frame
from harness import BUILD

pytestmark = pytest.mark.host

ORDER = ("to", "card", "sender", "sender_card", "kind", "lane", "again", "over", "waits", "source",
         "destination", "sequence", "ack", "selective", "window", "offset", "length", "reach",
         "turn", "part", "until", "refused")
KEYS = st.one_of(st.none(), st.binary(min_size=16, max_size=16))


def text(data: bytes | None) -> str:
    return data.hex() if data else "-"


class Tool:
    """build/host/wire: one question, one answer."""

    def __init__(self) -> None:
        self.process = subprocess.Popen([str(BUILD / "host" / "wire")], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def ask(self, *words: object) -> list[str]:
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, "the program has ended: see its message"
        return answer.split()

    def encode(self, frame: Frame, key: bytes | None) -> bytes:
        crc = frames.crc32c(frame.payload) if frame.crc else 0
        return bytes.fromhex(self.ask("W", text(key), *(getattr(frame, name) for name in ORDER),
                                      crc, text(frame.message), text(frame.payload))[0])

    def decode(self, data: bytes, node: int, key: bytes | None) -> tuple[str, Frame | None]:
        result, *values = self.ask("R", text(key), node, text(data))
        if not values:
            return result, None
        frame = Frame(**{name: int(value) for name, value in zip(ORDER, values)})
        if values[-2] != "-":
            frame = replace(frame, message=bytes.fromhex(values[-2]))
        if values[-1] != "-":
            frame = replace(frame, payload=bytes.fromhex(values[-1]))
        return result, frame


    def untrain(self, data: bytes, node: int, key: bytes | None) -> list[int] | None:
        *sizes, end = self.ask("T", text(key), node, text(data))
        return [int(size) for size in sizes] if end == "." else None


@pytest.fixture(scope="module")
def tool():
    one = Tool()
    yield one
    one.process.stdin.close()
    assert one.process.wait(30) == 0


def number(bits: int) -> st.SearchStrategy[int]:
    """Any, and those at the ends more often."""
    return st.one_of(st.integers(0, (1 << bits) - 1), st.sampled_from([0, 1, (1 << bits) - 1]))


@st.composite
def right_frames(draw, kinds=tuple(frames.KINDS)) -> Frame:
    """A frame that every node takes."""
    kind = draw(st.sampled_from(kinds))
    again = draw(st.integers(0, 1))
    values = {name: draw(number(8 * size)) for name, _, size in frames.FIELDS}
    values["source"] = max(values["source"], 1)
    values["window"] = max(values["window"], 1)
    if kind == DATA:
        payload = draw(st.one_of(st.binary(max_size=300), st.binary(max_size=2000)))
        before = draw(number(47)) if payload else 0
        after = draw(number(40)) if payload else 0
        values |= {"payload": payload, "offset": before, "message": draw(
            st.binary(min_size=128, max_size=128)), "length": before + len(payload) + after,
                   "crc": draw(st.booleans())}
    elif kind == ACK and again:
        values["refused"] = draw(number(64))
    elif kind == BUNDLE:
        values |= frames.bundle(draw(st.lists(st.tuples(
            st.binary(min_size=128, max_size=128), st.binary(max_size=60)), min_size=2,
            max_size=10)))
        del values["kind"]
    elif kind == ANNOUNCE:
        part = draw(st.integers(1, frames.MOST_PAYLOAD))
        tail = draw(st.one_of(st.just(b""), st.binary(max_size=frames.TAIL_BYTES)))
        values |= {"offset": part, "length": part + draw(number(40)) + len(tail), "message": draw(
            st.binary(min_size=128, max_size=128)), "payload": tail, "crc": draw(st.booleans())}
    elif kind in frames.WITH_TURN:
        values |= {name: draw(number(32)) for name, _, _ in frames.TURN_FIELDS}
        if kind == GRANT:
            values["reach"] = draw(number(16))
        if kind == BULK:
            values |= {"payload": draw(st.binary(min_size=1, max_size=2000)),
                       "crc": draw(st.booleans())}
    if kind in frames.WITH_WAITS and len(kinds) > 3:
        values["waits"] = draw(st.integers(0, 1))
    return Frame(to=draw(number(16)), sender=draw(number(16)), card=draw(number(8)),
                 sender_card=draw(number(8)), kind=kind, lane=draw(st.integers(0, 1)), again=again,
                 over=draw(st.integers(0, 1)), **values)


def test_known_values():
    assert frames.crc32c(b"123456789") == 0xE3069283
    assert frames.siphash(bytes(range(16)), bytes(range(15))) == 0xA129CA6149BE45E5


@settings(max_examples=200, deadline=None)
@given(frame=right_frames(), key=KEYS)
def test_what_is_written_is_read(tool, frame, key):
    if key:
        frame = replace(frame, crc=False)
    data = frame.encode(key)
    assert tool.encode(frame, key) == data
    assert tool.decode(data, frame.to, key) == ("OK", frame)
    assert frames.decode(data, frame.to, key) == ("OK", frame)


@st.composite
def changed(draw, data: bytes) -> bytes:
    """The frame after something was done to it."""
    how = draw(st.sampled_from(["nothing", "cut", "longer", "bits", "bytes", "field"]))
    if how == "cut":
        return data[:draw(st.integers(0, len(data)))]
    if how == "longer":
        return data + draw(st.binary(min_size=1, max_size=300))
    work = bytearray(data)
    if how == "bits":
        for bit in draw(st.lists(st.integers(0, 8 * len(work) - 1), min_size=1, max_size=3)):
            work[bit // 8] ^= 1 << bit % 8
    elif how == "bytes":
        at = draw(st.integers(0, len(work) - 1))
        new = draw(st.binary(min_size=1, max_size=16))[:len(work) - at]
        work[at:at + len(new)] = new
    elif how == "field":
        places = [(14, 1), (15, 1), (20, 4), (50, 2), (0, 6), (6, 6), (12, 2)] + [
            (at, size) for _, at, size in
            frames.FIELDS + frames.DATA_FIELDS + frames.TURN_FIELDS]
        at, size = draw(st.sampled_from(places))
        work[at:at + size] = draw(number(8 * size)).to_bytes(size, "little")
    return bytes(work)


@settings(max_examples=600, deadline=None)
@given(st.data(), right_frames(), KEYS, st.booleans(), st.booleans())
def test_what_is_wrong_is_dropped_for_the_same_reason(tool, data, frame, key, seal, other_key):
    """Also with the right checksum or tag over what is wrong."""
    wrong = data.draw(changed(frame.encode(key)))
    if seal and len(wrong) >= frames.header_of(wrong.ljust(16, b"\0")):
        wrong = frames.sealed(wrong, key)
    if other_key:
        key = data.draw(KEYS)
    want = frames.decode(wrong, frame.to, key)
    assert tool.decode(wrong, frame.to, key) == want


@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=400), key=KEYS)
def test_any_bytes(tool, data, key):
    assert tool.decode(data, 5, key) == frames.decode(data, 5, key)


def test_the_longest_frame(tool):
    frame = Frame(to=1, sender=2, payload=bytes(range(256)) * 255 + bytes(192), length=1 << 47,
                  offset=65472)
    assert len(frame.payload) == frames.MOST_PAYLOAD
    assert tool.decode(frame.encode(), 1, None) == ("OK", frame)
    longer = replace(frame, payload=frame.payload + b"x")
    assert tool.decode(longer.encode(), 1, None) == ("NONSENSE", None)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.binary(min_size=128, max_size=128), st.binary(max_size=140)),
                min_size=1, max_size=18), st.data(), KEYS)
def test_bundles_at_their_limits(tool, messages, data, key):
    """One message, too many, too long ones, a wrong count, dirt between them."""
    frame = Frame(to=1, sender=2, **frames.bundle(messages))
    if data.draw(st.booleans()):
        frame = replace(frame, offset=data.draw(st.integers(0, 20)))
    if data.draw(st.booleans()):
        frame = replace(frame, payload=data.draw(changed(frame.payload + bytes(80)))[
            :len(frame.payload) + data.draw(st.integers(-3, 3))])
    encoded = frame.encode(key)
    right = (1 < len(messages) and all(len(part) <= 128 for _, part in messages) and
             len(frame.payload) <= frames.BUNDLE_BYTES and
             frames.unbundle(frame.message, frame.length, frame.payload) is not None)
    result = tool.decode(encoded, 1, key)
    assert result == frames.decode(encoded, 1, key)
    assert result[0] == "NONSENSE" or right or frame.payload != frames.bundle(messages)["payload"]


def test_every_field_is_compared():
    """Frame knows no field that the comparison leaves out."""
    assert {one.name for one in fields(Frame)} == set(ORDER) | {"message", "payload", "crc"}


@settings(max_examples=200, deadline=None)
@given(each=st.lists(right_frames(), min_size=1, max_size=5), key=KEYS, data=st.data())
def test_trains(tool, each, key, data):
    """Frames of one node for another, and what is left of them after something was done."""
    first = each[0]
    sent = [replace(frame, to=first.to, card=first.card, sender=first.sender, crc=False,
                    sender_card=first.sender_card).encode(key) for frame in each]
    whole = [one for one in sent[:-1] if len(one) % 8 == 0] + sent[-1:]
    train = frames.train(whole)
    assert frames.untrain(train) == whole
    assert tool.untrain(train, first.to, key) == [len(one) for one in whole]
    assert tool.untrain(train[:frames.TRAIN_HEADER], first.to, key) is None     # none in it
    wrong = data.draw(changed(train))
    if wrong[:15] == train[:15]:
        found = frames.untrain(wrong)
        assert tool.untrain(wrong, first.to, key) == (found and [len(one) for one in found])
