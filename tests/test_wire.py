"""Frames by net/link/wire.c against their description in Python (frames.py): for any fields both
write the same bytes; for any bytes both read the same fields, or drop the frame for the same
reason. The C side runs under ASan and UBSan."""
from __future__ import annotations

import re
import subprocess
from dataclasses import fields, replace

import pytest
from hypothesis import given, settings, strategies as st

import frames
from frames import BULK, GRANT, MSG, RESET, Frame
from harness import BUILD, ROOT

pytestmark = pytest.mark.host

ORDER = ("to", "card", "sender", "sender_card", "kind", "lane", "announce", "again", "over",
         "puts", "source", "destination", "sequence", "ack", "selective", "window",
         "other_ack", "other_window", "messages", "offset", "length", "part", "parts", "reach",
         "refused")
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

    def split_aggregate(self, data: bytes) -> list[bytes]:
        *sizes, end = self.ask("T", text(data))
        each, at = [], 0
        for size in map(int, sizes):
            each.append(data[at:at + size])
            at += size
        assert (end == ".") == (at == len(data))
        return each


@pytest.fixture(scope="module")
def tool():
    one = Tool()
    yield one
    one.process.stdin.close()
    assert one.process.wait(30) == 0


def number(bits: int) -> st.SearchStrategy[int]:
    """Any value, extreme ones more often."""
    return st.one_of(st.integers(0, (1 << bits) - 1), st.sampled_from([0, 1, (1 << bits) - 1]))


HEADERS = st.binary(min_size=frames.MESSAGE, max_size=frames.MESSAGE)
SHORT_HEADERS = st.binary(min_size=frames.PUT, max_size=frames.PUT)
MESSAGES = ("none", "refused", "fragment", "announcement", "put", "batch")


def contents(draw, what: str) -> dict[str, object]:
    """The fields of a MSG with these contents."""
    if what == "none":
        return {}
    if what == "refused":
        return {"again": 1, "refused": draw(number(64))}
    if what == "put":
        return frames.one_put(draw(SHORT_HEADERS), draw(st.binary(max_size=frames.PUT_BYTES))) | {
            "crc": draw(st.booleans())}
    if what == "batch":
        return frames.batch(draw(st.lists(st.tuples(SHORT_HEADERS, st.binary(max_size=60)),
                                           min_size=2, max_size=10)))
    values = {"messages": 1, "message": draw(HEADERS), "crc": draw(st.booleans())}
    if what == "announcement":
        part = draw(st.integers(1, frames.MOST_PAYLOAD))
        more = min(draw(number(40)), part * (frames.MOST_FRAMES - 1))
        tail = draw(st.one_of(st.just(b""), st.binary(max_size=frames.TAIL_BYTES)))
        return values | {"announce": 1, "offset": part, "payload": tail,
                         "length": part + more + len(tail)}
    payload = draw(st.one_of(st.binary(max_size=300), st.binary(max_size=2000)))
    before = draw(number(47)) if payload else 0
    after = draw(number(40)) if payload else 0
    return values | {"payload": payload, "offset": before,
                     "length": before + len(payload) + after}


@st.composite
def right_frames(draw, kinds=tuple(frames.KINDS)) -> Frame:
    """A frame that every node accepts."""
    kind = draw(st.sampled_from(kinds))
    values = {name: draw(number(8 * size)) for name, _, size in frames.FIELDS}
    values |= {"kind": kind, "again": draw(st.integers(0, 1)),
               "over": 0 if kind == MSG else draw(st.integers(0, 1))}
    values["source"] = max(values["source"], 1)
    values["window"] = max(values["window"], 1)
    if kind == MSG:
        values |= contents(draw, draw(st.sampled_from(MESSAGES)))
        if not values.get("messages") and "refused" not in values:
            values["again"] = 0
    if kind in frames.WITH_PART:
        values |= {name: draw(number(32)) for name, _, _ in frames.PART_FIELDS}
    if kind == GRANT:
        values |= {name: draw(number(16)) for name, _, _ in frames.GRANT_FIELDS}
    if kind == BULK:
        values |= {"over": 0, "payload": draw(st.binary(min_size=1, max_size=2000)),
                   "crc": draw(st.booleans())}
    return Frame(to=draw(number(16)), sender=draw(number(16)), card=draw(number(8)),
                 sender_card=draw(number(8)), lane=0 if values.get("puts") else draw(
                     st.integers(0, 1)), **values)


def rows_of(page: str, heading: str) -> set[tuple[int, int]]:
    """Offset and bytes of each row of the first table behind a heading of docs/wire.md."""
    table = page.split(heading)[1].split("| at | bytes |")[1].split("\n\n")[0]
    return {(int(at), int(size)) for at, size in re.findall(r"(?m)^\| (\d+) \| (\d+) \|", table)}


def test_the_page_has_the_same_fields():
    """docs/wire.md's tables have the same offsets as this description, and so as
    net/link/wire.c."""
    page = (ROOT / "docs" / "wire.md").read_text(encoding="utf-8")
    common = {(0, 6), (6, 6), (12, 2), (14, 1), (15, 1), (16, 4), (20, 4), (16, 8)}
    described = {(at, size) for _, at, size in (
        *frames.FIELDS, frames.BEHIND, *frames.MSG_FIELDS, *frames.REFUSED_FIELDS,
        *frames.PART_FIELDS, *frames.GRANT_FIELDS)}
    assert rows_of(page, "# Frames") == common | described
    entry = {(at - 64, size) for _, at, size in frames.ENTRY_FIELDS}
    assert rows_of(page, "### Messages") == entry | {(16, 112), (16, 32)}
    assert rows_of(page, "### Plain puts") == {(at, size) for _, at, size in frames.PUT_FIELDS}


def test_the_short_header_has_fields_of_the_message_header():
    """With the same sizes, in the same order, without gaps."""
    whole = {name: (at, size) for name, at, size in frames.MESSAGE_FIELDS}
    assert [size for _, _, size in frames.PUT_FIELDS] == [
        whole[name][1] for name, _, _ in frames.PUT_FIELDS]
    places = [whole[name][0] for name, _, _ in frames.PUT_FIELDS]
    assert places == sorted(places)
    ends = [at + size for _, at, size in frames.PUT_FIELDS]
    assert [at for _, at, _ in frames.PUT_FIELDS] == [0, *ends[:-1]] and ends[-1] == frames.PUT


def test_known_values():
    assert frames.crc32c(b"123456789") == 0xE3069283
    assert frames.siphash(bytes(range(16)), bytes(range(15))) == 0xA129CA6149BE45E5


def test_the_example_of_the_documentation():
    """docs/wire.md, An example: each byte shown, except those of checksum and payload."""
    section = (ROOT / "docs" / "wire.md").read_text().split("### An example")[1].split("\n## ")[0]
    lines = [line.strip() for line in section.splitlines() if line.startswith("    ")]
    told = " ".join(re.match(r"(?:(?:[0-9a-f]{2}|xx)\s+)+", line).group() for line in lines)
    data = Frame(to=5, sender=3, source=65536, destination=65536, sequence=17, ack=4, other_ack=7,
                 window=64, other_window=64, **frames.one_put(frames.short(
                     pt_index=4, match_bits=7, offset=64), bytes(8))).encode()
    shown = told.split()
    assert len(shown) == len(data) == 120
    others = [at for at in range(120) if shown[at] != f"{data[at]:02x}"]
    assert others == [*range(16, 20), *range(112, 120)]       # checksum and payload
    assert {shown[at] for at in others} == {"xx"}


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
    """The frame after a random change."""
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
        places = [(14, 1), (15, 1), (20, 4), (0, 6), (6, 6), (12, 2)] + [
            (at, size) for _, at, size in
            frames.FIELDS + (frames.BEHIND,) + frames.MSG_FIELDS + frames.ENTRY_FIELDS +
            frames.PART_FIELDS + frames.GRANT_FIELDS]
        at, size = draw(st.sampled_from([one for one in places if one[0] < len(work)]))
        work[at:at + size] = draw(number(8 * size)).to_bytes(size, "little")
    return bytes(work)


@settings(max_examples=600, deadline=None)
@given(st.data(), right_frames(), KEYS, st.booleans(), st.booleans())
def test_what_is_wrong_is_dropped_for_the_same_reason(tool, data, frame, key, seal, other_key):
    """Also with the correct checksum or tag over wrong fields."""
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


def test_the_longest_frames(tool):
    most = bytes(range(256)) * 255 + bytes(192)
    for frame, size in ((Frame(to=1, sender=2, messages=1, length=1 << 47, offset=65472),
                         frames.MOST_FRAGMENT),
                        (Frame(to=1, sender=2, kind=BULK), frames.MOST_PAYLOAD)):
        frame = replace(frame, payload=most[:size])
        assert tool.decode(frame.encode(), 1, None) == ("OK", frame)
        longer = replace(frame, payload=frame.payload + b"x")
        assert tool.decode(longer.encode(), 1, None) == ("NONSENSE", None)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(SHORT_HEADERS, st.binary(max_size=70)), min_size=2, max_size=40),
       st.data(), KEYS)
def test_batches_at_their_limits(tool, messages, data, key):
    """One message, too many, too long ones, a wrong count, bytes between them."""
    frame = Frame(to=1, sender=2, **frames.batch(messages))
    if data.draw(st.booleans()):
        frame = replace(frame, messages=data.draw(st.one_of(
            st.integers(1, 40), st.sampled_from([2049, 1 << 32, 1 << 32 | len(messages)]))))
    if data.draw(st.booleans()):
        frame = replace(frame, offset=data.draw(number(64)))
    if data.draw(st.booleans()):
        frame = replace(frame, payload=data.draw(changed(frame.payload + bytes(80)))[
            :len(frame.payload) + data.draw(st.integers(-3, 3))])
    encoded = frame.encode(key)
    right = (all(len(part) <= frames.PUT_BYTES for _, part in messages) and
             len(frame.payload) <= frames.BATCH_BYTES and frames.unbatch(frame) is not None)
    result = tool.decode(encoded, 1, key)
    assert result == frames.decode(encoded, 1, key)
    assert (result[0] == "NONSENSE" or right or
            frame.payload != frames.batch(messages)["payload"])


PUT = Frame(to=1, sender=2, **frames.one_put(bytes(32), bytes(8)))
BATCH = Frame(to=1, sender=2, **frames.batch([(bytes(32), b"x")] * 2))
FRAGMENT = Frame(to=1, sender=2, messages=1, length=8, payload=bytes(8))


def long_batch() -> bytes:
    """The payload of a batch of messages with long headers."""
    return b"x" + bytes(7) + (1).to_bytes(16, "little") + bytes(112) + b"x" + bytes(7)


@pytest.mark.parametrize("frame, wrong", [
    (Frame(to=1, sender=2), {"window": 0}),
    (Frame(to=1, sender=2), {"announce": 1}),
    (Frame(to=1, sender=2), {"source": 0}),
    (Frame(to=1, sender=2, messages=1), {"length": 1}),
    (Frame(to=1, sender=2, messages=1), {"offset": 1}),
    (Frame(to=1, sender=2, messages=1), {"announce": 1}),
    (Frame(to=1, sender=2, messages=1), {"messages": 2049}),
    (Frame(to=1, sender=2, messages=1), {"messages": 1 << 32 | 1}),
    (Frame(to=1, sender=2, messages=1, length=8, payload=bytes(8)), {"length": 7}),
    (Frame(to=1, sender=2, messages=1, length=8, payload=bytes(8)), {"offset": 1 << 63}),
    (Frame(to=1, sender=2, messages=1, length=8, payload=bytes(8)), {"length": 1 << 48}),
    (Frame(to=1, sender=2, messages=1, length=80, offset=64, announce=1), {"offset": 0}),
    (Frame(to=1, sender=2, messages=1, length=80, offset=64, announce=1), {"offset": 81}),
    (Frame(to=1, sender=2, messages=1, length=1 << 20, offset=64, announce=1), {"offset": 65473}),
    (Frame(to=1, sender=2, messages=1, length=1 << 20, offset=64, announce=1),
     {"payload": bytes(1025)}),
    (Frame(to=1, sender=2), {"puts": 1}),
    (PUT, {"messages": 0, "payload": b""}),
    (PUT, {"lane": 1}),
    (PUT, {"announce": 1}),
    (PUT, {"announce": 1, "length": 80, "offset": 64, "payload": bytes(8)}),
    (PUT, {"offset": 1}),
    (PUT, {"offset": 1, "length": 9}),
    (PUT, {"length": 7}),
    (PUT, {"length": 9}),
    (PUT, {"length": 0}),
    (PUT, {"payload": b""}),
    (PUT, {"length": 65, "payload": bytes(65)}),
    (PUT, {"length": 1 << 32 | 8}),
    (PUT, {"messages": 2049}),
    (PUT, {"messages": 1 << 32 | 1}),
    (BATCH, {"messages": 3}),
    (BATCH, {"messages": 1}),
    (BATCH, {"offset": 1}),
    (BATCH, {"length": 65}),
    (BATCH, {"announce": 1}),
    (BATCH, {"lane": 1}),
    (BATCH, {"puts": 0, "message": bytes(112)}),
    (BATCH, {"puts": 0, "message": bytes(112), "payload": long_batch()}),
    (Frame(to=1, sender=2, kind=GRANT), {"window": 0}),
    (Frame(to=1, sender=2, kind=GRANT), {"announce": 1}),
    (Frame(to=1, sender=2, kind=GRANT), {"payload": bytes(8)}),
    (Frame(to=1, sender=2, kind=BULK, payload=b"x"), {"over": 1}),
    (Frame(to=1, sender=2, kind=BULK, payload=b"x"), {"announce": 1}),
    (Frame(to=1, sender=2, kind=BULK, payload=b"x"), {"payload": b""}),
    (Frame(to=1, sender=2, kind=RESET), {"announce": 1}),
    (Frame(to=1, sender=2, kind=RESET), {"payload": b"x"}),
    *((Frame(to=1, sender=2), {"kind": kind}) for kind in (0, 5, 6, 7))])
def test_what_no_sender_writes(tool, frame, wrong):
    """Each kind's fields one by one: the frame is accepted, but not with this value."""
    assert tool.decode(frame.encode(), 1, None) == ("OK", frame)
    forged = replace(frame, **wrong).encode()
    assert frames.decode(forged, 1) == ("NONSENSE", None)
    assert tool.decode(forged, 1, None) == ("NONSENSE", None)


@pytest.mark.parametrize("frame", [PUT, BATCH], ids=["put", "batch"])
def test_puts_without_messages(tool, frame):
    """Their number is 0, though a message follows: the checksum covers all of it."""
    data = frame.encode()
    none = frames.sealed(data[:56] + bytes(8) + data[64:])
    assert frames.decode(none, 1) == tool.decode(none, 1, None) == ("NONSENSE", None)


@pytest.mark.parametrize("frame, size", [
    (Frame(to=1, sender=2, **frames.one_put(bytes(32), b"")), 112), (PUT, 120),
    (Frame(to=1, sender=2, **frames.one_put(bytes(32), bytes(64))), 176),
    (BATCH, 64 + 2 * (16 + 32 + 8)),
    (Frame(to=1, sender=2, **frames.batch([(bytes(32), bytes(8))] * 37)), 64 + 37 * 56),
    (FRAGMENT, 200)])
def test_sizes_of_frames_with_messages(tool, frame, size):
    data = frame.encode()
    assert len(data) == size and tool.encode(frame, None) == data
    assert tool.decode(data, 1, None) == frames.decode(data, 1) == ("OK", frame)


def shortened(frame: Frame, size: int) -> bytes:
    """Its first bytes, as a frame that says this length."""
    data = frame.encode()[:size]
    return data[:54] + (size - 64).to_bytes(2, "little") + data[56:]


@pytest.mark.parametrize("frame, header", [(PUT, 112), (BATCH, 112), (FRAGMENT, 192)])
def test_less_than_a_header_is_short(tool, frame, header):
    for size in (65, header - 8, header - 1):
        data = shortened(frame, size)
        assert frames.decode(data, 1) == tool.decode(data, 1, None) == ("SHORT", None)
    data = shortened(frame, header)
    assert frames.decode(data, 1)[0] == tool.decode(data, 1, None)[0] == "DAMAGED"


@pytest.mark.parametrize("frame", [PUT, replace(PUT, payload=bytes(64), length=64), BATCH])
def test_what_the_checksum_of_puts_covers(tool, frame):
    """Of one put the first 112 bytes, of a batch every byte."""
    data = frame.encode()
    covered = len(data) if frame.messages > 1 else frames.PUT_HEADER
    for at in range(16, len(data)):
        if at not in range(54, 56):               # the frame's length is checked before
            wrong = data[:at] + bytes([data[at] ^ 64]) + data[at + 1:]
            want = "DAMAGED" if at < covered else "OK"
            assert frames.decode(wrong, 1)[0] == tool.decode(wrong, 1, None)[0] == want, at


def test_every_field_is_compared():
    """The comparison covers every field of Frame."""
    assert {one.name for one in fields(Frame)} == set(ORDER) | {"message", "payload", "crc"}


@settings(max_examples=200, deadline=None)
@given(each=st.lists(right_frames(), min_size=1, max_size=5), key=KEYS, data=st.data())
def test_aggregates(tool, each, key, data):
    """Frames from one node to another, and the accepted ones after a change."""
    first = each[0]
    sent = [replace(frame, to=first.to, card=first.card, sender=first.sender, crc=False,
                    sender_card=first.sender_card).encode(key) for frame in each]
    whole = [one for one in sent[:-1] if len(one) % 8 == 0] + sent[-1:]
    aggregate = b"".join(whole)
    assert frames.split_aggregate(aggregate) == whole
    assert tool.split_aggregate(aggregate) == whole
    other = whole[-1][:5] + bytes([whole[-1][5] ^ 1]) + whole[-1][6:]          # for another node
    if len(whole) > 1:
        assert tool.split_aggregate(b"".join(whole[:-1]) + other) == whole[:-1]
    wrong = data.draw(changed(aggregate))
    assert tool.split_aggregate(wrong) == frames.split_aggregate(wrong)


STATES = (ROOT / "net" / "link" / "flow_state.h").read_text(encoding="utf-8")


def rows(table: str) -> list[list[str]]:
    """The rows of a table of net/link/flow_state.h: the arguments of each X()."""
    body = STATES[STATES.index(f"#define {table}(X)"):].split("\n\n", 1)[0]
    body = re.sub(r'"\s*\\\s*"', "", body)         # a text in several lines
    found = re.findall(r'X\(([^"]*)"(.*?)"\)', body)
    return [[*(word.strip() for word in words.split(",")[:-1]), said] for words, said in found]


@pytest.mark.parametrize("table, columns", [("FLOW_STATES", 2), ("FLOW_TRANSITIONS", 4)])
def test_page_has_the_states_of_a_flow(table, columns):
    found = rows(table)
    assert len(found) > columns and all(len(row) == columns for row in found)
    page = (ROOT / "docs" / "wire.md").read_text(encoding="utf-8")
    assert "".join(f"| {' | '.join(row)} |\n" for row in found) in page


def test_drawing_has_the_states_of_a_flow():
    """The arrows drawn in flow_state.h are the rows of its table that lead to another state."""
    drawn = {(state, event, after)
             for state, events, after in re.findall(r"(?m)^ \* +(\w+) +-- (.*) --> (\w+)$", STATES)
             for event in events.split(", ")}
    assert drawn == {(state, event, after) for state, event, after, _ in rows("FLOW_TRANSITIONS")
                     if state != after}
