"""The Wireshark dissector (tools/wireshark/margay.lua), run by tshark on captures: every field
against frames.py, conversations, frames sent again, checksums and tags, the Info column."""
from __future__ import annotations

import json
import random
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

import frames
from frames import BULK, GRANT, MSG, RESET, Frame
from harness import BUILD, HANG, ROOT, cores
from test_wire import right_frames

pytestmark = [pytest.mark.host, pytest.mark.skipif(
    not shutil.which("tshark"), reason="tshark is not installed (Debian package tshark)")]

SCRIPT = ROOT / "tools" / "wireshark" / "margay.lua"
KEY = bytes(range(16))
PLAIN = [name for name, _, _ in frames.FIELDS]
HEADER = ["margay.message." + name for name, _, _ in frames.MESSAGE_FIELDS]
SHORT = frames.short(pt_index=4, cookie=1, match_bits=7, offset=64, hdr_data=9)
BIT6 = ("over", "ordinary", "puts")            # one bit, by kind


def tshark(capture: Path, names: list[str], *options: str) -> list[dict[str, list[str]]]:
    """The values of each frame's fields, as text."""
    wanted = [part for name in names for part in ("-e", name)]
    done = subprocess.run(
        ["tshark", "-X", f"lua_script:{SCRIPT}", *options, "-r", str(capture), "-T", "fields",
         "-E", "occurrence=a", "-E", "separator=/t", "-E", "aggregator=;", *wanted],
        capture_output=True, text=True, timeout=HANG)
    assert done.returncode == 0 and "Lua" not in done.stderr, done.stderr[-3000:]
    return [{name: value.split(";") if value else [] for name, value in
             zip(names, line.split("\t"))} for line in done.stdout.splitlines()]


def shown(tmp_path: Path, data: list[bytes], names: list[str], *options: str):
    path = tmp_path / "capture.pcap"
    frames.write_capture(path, data)
    rows = tshark(path, ["_ws.col.Info", *names], *options)
    assert len(rows) == len(data)
    return rows


def number(values: list[str]) -> int | None:
    return int(values[0], 0) if values else None


def told_of(frame: Frame, header: bytes, data: bytes) -> dict[str, int]:
    """The fields of a message header, and of a short one also what follows from the frame."""
    known = {"operation": 1, "ack_request": 0, "source_nid": frame.sender, "target_nid": frame.to,
             "length": len(data)} if frame.puts else {}
    return known | {name: int.from_bytes(header[at:at + size], "little") for name, at, size in (
        frames.PUT_FIELDS if frame.puts else frames.MESSAGE_FIELDS)}


@settings(max_examples=10, deadline=None)
@given(st.lists(right_frames(), min_size=20, max_size=60), st.booleans())
def test_every_field(tmp_path_factory, sent, keyed):
    """For frames with any values."""
    key = KEY if keyed else None
    data = [frame.encode(key) for frame in sent]
    names = ["kind", "announce", "lane", "again", *BIT6, "version", "behind", "offset",
             "part_bytes", "length", "messages", "refused", "reach", "part", "parts",
             "from", "from_card", "to", "to_card", "payload", "payload_crc", "bad",
             "crc.status", "tag.status", *PLAIN]
    rows = shown(tmp_path_factory.mktemp("fields"), data,
                 ["margay." + name for name in names] + HEADER, "-o", f"margay.key:{KEY.hex()}")
    for frame, raw, row in zip(sent, data, rows):
        def value(name):
            return number(row["margay." + name])
        for name in [*PLAIN, "kind", "announce", "lane", "again"]:
            assert value(name) == getattr(frame, name), name
        bit6 = {MSG: "puts", GRANT: "ordinary"}.get(frame.kind, "over")
        assert {name: value(name) for name in BIT6} == {
            name: frame.puts | frame.over if name == bit6 else None for name in BIT6}
        assert value("version") == 3 + keyed
        assert (value("from"), value("from_card")) == (frame.sender, frame.sender_card)
        assert (value("to"), value("to_card")) == (frame.to, frame.card)
        assert not row["margay.bad"], row
        assert (value("crc.status"), value("tag.status")) == ((None, 1) if keyed else (1, None))
        messages = (frames.unbatch(frame) if frame.messages > 1 else
                    [(frame.message, frame.payload)])
        assert "".join(row["margay.payload"]) == b"".join(data for _, data in messages).hex()
        if frame.messages > 1:
            assert [int(value) for value in row["margay.length"]] == [
                len(data) for _, data in messages]
            assert [int(value) for value in row["margay.offset"]] == [0] * frame.messages
        grant, message = frame.kind == GRANT, frame.messages > 0
        refused = frame.kind == MSG and frame.again and not message
        want = {
            "behind": len(raw) - frames.HEADER, "reach": frame.reach if grant else None,
            "offset": frame.offset if message and not frame.announce else None,
            "messages": frame.messages if frame.kind == MSG and not refused else None,
            "part_bytes": frame.offset if frame.announce else None,
            "length": frame.length if message else None,
            "part": frame.part if frame.kind in frames.WITH_PART else None,
            "parts": frame.parts if grant else None,
            "refused": frame.refused if refused else None,
            "payload_crc": None if keyed else int.from_bytes(raw[20:24], "little")}
        assert {name: value(name) for name in want} == want
        told = [told_of(frame, *one) for one in messages if message]
        for name, _, _ in frames.MESSAGE_FIELDS:
            assert [int(value, 0) for value in row["margay.message." + name]] == [
                values[name] for values in told if name in values], name


def test_info_column(tmp_path):
    """The one-line summary of each kind."""
    put = frames.message(operation=1, source_nid=3, target_nid=5, length=1 << 20)
    one = Frame(to=5, sender=3, sequence=17, messages=1, length=1 << 20, message=put,
                payload=bytes(64), ack=4, other_ack=7)
    ack = Frame(to=3, sender=5, ack=18)
    cases = [
        (one, "PUT 3 -> 5 seq 17 at 0/1048576 ack 4 other 7"),
        (replace(one, sequence=18, offset=64, selective=10, other_window=0),
         "PUT 3 -> 5 seq 18 at 64/1048576 ack 4 sack 5, 7"),
        (replace(ack, window=9), "ack 5 -> 3 requests ack 18 window 9 other 0"),
        (replace(ack, lane=1, selective=0x800000000000000E, again=1, refused=1, other_window=0),
         "ack 5 -> 3 answers ack 18 window 8 sack 19-21, 81 again 18"),
        (Frame(to=3, sender=5, kind=RESET, source=512), "reset 5 -> 3 incarnation 512"),
        (Frame(to=3, sender=5, kind=RESET, source=513, over=1),
         "reset 5 -> 3 incarnation 513 over")]
    cases += [(Frame(to=1, sender=2, lane=1, messages=1, message=frames.message(operation=code),
                     sequence=code), f"{name} 2 -> 1 seq {code} at 0/0 ack 0 other 0")
              for code, name in enumerate(frames.OPERATIONS)]
    cases.append((Frame(to=1, sender=2, sequence=99, messages=1,
                        message=frames.message(operation=77)),
                  "operation 77 2 -> 1 seq 99 at 0/0 ack 0 other 0"))
    long = replace(one, announce=1, sequence=19, offset=65472, payload=b"", selective=1)
    grant = Frame(to=3, sender=5, kind=GRANT, sequence=19, ack=20, part=2, parts=6, reach=1)
    cases += [
        (long, "PUT 3 -> 5 seq 19 announced 0/1048576 parts of 65472 ack 4 sack 4 other 7"),
        (grant, "grant 5 -> 3 seq 19 part 2 to seq 20 part 6 ack 20 other 0"),
        (replace(grant, over=1, parts=3, reach=0, other_window=0),
         "grant 5 -> 3 seq 19 part 2 to seq 19 part 5 to the ordinary card ack 20"),
        (replace(grant, again=1), "grant again 5 -> 3 seq 19 part 2 to seq 20 part 6 ack 20 other 0"),
        (Frame(to=5, sender=3, kind=BULK, sequence=19, part=2, payload=b"x"),
         "bulk 3 -> 5 seq 19 part 2"),
        (Frame(to=5, sender=3, kind=BULK, sequence=19, part=2, again=1, payload=b"x"),
         "bulk again 3 -> 5 seq 19 part 2 [sent before in 21]"),
        (Frame(to=5, sender=3, sequence=21, ack=4, **frames.batch([(SHORT, b"eight by")] * 3)),
         "PUT and 2 more 3 -> 5 seq 21 ack 4 other 0"),
        (Frame(to=5, sender=3, sequence=22, ack=4, **frames.one_put(SHORT, b"eight by")),
         "PUT 3 -> 5 seq 22 at 0/8 ack 4 other 0")]
    rows = shown(tmp_path, [frame.encode() for frame, _ in cases], ["margay.arrived"])
    assert [row["_ws.col.Info"][0] for row in rows] == [info for _, info in cases]
    assert rows[3]["margay.arrived"] == ["19", "20", "21", "81"]


def test_conversations_and_frames_sent_again(tmp_path):
    """By lane, direction and lives of both; a source may learn the other's life later."""
    one = Frame(to=5, sender=3, destination=0, messages=1)
    announced = replace(one, destination=512, announce=1, sequence=9, offset=64, length=640)
    bulk = replace(one, destination=512, kind=BULK, messages=0, sequence=9, payload=b"x")
    cases = [
        (one, 0, None), (replace(one, sequence=1), 0, None),
        (replace(one, to=3, sender=5, destination=256), 1, None),
        (replace(one, destination=256, sequence=1, ack=1), 0, 2),    # learnt, and again
        (replace(one, destination=256, sequence=2), 0, None),
        (replace(one, lane=1, destination=256), 2, None),            # another lane
        (replace(one, destination=512), 3, None),                    # it has restarted
        (replace(one, destination=256, sequence=2), 0, 5),           # late
        (replace(one, destination=512), 3, 7),
        (replace(one, source=512, destination=512), 4, None),        # both
        (replace(one, messages=0, destination=512), 3, None),
        (replace(one, messages=0, destination=512), 3, None),        # these have no sequence number
        (replace(one, destination=512), 3, 7),
        (announced, 3, None),
        (replace(bulk, part=1), 3, None), (replace(bulk, part=2), 3, None),
        (replace(bulk, part=1), 3, 15), (announced, 3, 14)]
    rows = shown(tmp_path, [frame.encode() for frame, _, _ in cases],
                 ["margay.stream", "margay.retransmission"])
    assert [(number(row["margay.stream"]), number(row["margay.retransmission"])) for row in rows] \
        == [(stream, before) for _, stream, before in cases]
    assert rows[3]["_ws.col.Info"][0].endswith(" [sent before in 2]")


def test_what_is_wrong_is_marked(tmp_path):
    """An invalid frame belongs to no conversation, as its receiver drops it."""
    good = Frame(to=5, sender=3, messages=1, payload=b"some bytes", length=10, crc=True)
    data = good.encode()
    signed = replace(good, crc=False).encode(KEY)
    wrong = bytes(16)
    batch = Frame(to=5, sender=3, **frames.batch([(SHORT, b"one"), (SHORT, b"two")]))
    put = Frame(to=5, sender=3, **frames.one_put(SHORT, bytes(8)))
    long = {"puts": 0, "message": bytes(112)}
    none = frames.sealed(put.encode()[:56] + bytes(8) + put.encode()[64:])
    grant = Frame(to=5, sender=3, kind=GRANT).encode()
    cases = [(data, ""), (data[:40] + b"\1" + data[41:], "wrong checksum of the header"),
             (data[:5] + b"\7" + data[6:], "wrong checksum of the header"),
             (data[:-1] + b"!", "wrong checksum of the payload"), (data[:-1], "not as long as it says"),
             (data + b"!", "not as long as it says"), (data[:63], "shorter than a header"),
             (data[:14] + b"\5" + data[15:], "unknown version or kind"),
             (data[:15] + b"\17" + data[16:], "unknown version or kind"),
             (grant, ""), (grant[:63] + b"!", "wrong checksum of the header"),
             (grant[:54] + b"\x10\0" + grant[56:], "not as long as it says"),
             (put.encode()[:54] + b"\x10\0" + put.encode()[56:80], "not as long as it says"),
             (batch.encode(), ""), (replace(batch, messages=3).encode(), "messages that cannot be"),
             (replace(batch, offset=8).encode(), "messages that cannot be"),
             (replace(batch, **long).encode(), "messages that cannot be"),
             (batch.encode()[:170] + b"!" + batch.encode()[171:], "wrong checksum of the header"),
             (put.encode(), ""), (put.encode()[:112] + b"x" * 8, ""),
             (put.encode()[:111] + b"!" + put.encode()[112:], "wrong checksum of the header"),
             (replace(put, crc=True).encode()[:-1] + b"!", "wrong checksum of the payload"),
             (put.encode()[:111], "not as long as it says"),
             (none, "messages that cannot be"),
             (replace(put, messages=0, payload=b"").encode(), "messages that cannot be"),
             *((replace(put, **wrong).encode(), "messages that cannot be") for wrong in (
                 {"announce": 1}, {"lane": 1}, {"offset": 1}, {"length": 7}, {"payload": b""},
                 {"length": 65, "payload": bytes(65)})),
             (signed, ""), (signed[:-1] + b"!", "wrong tag"),
             (replace(good, crc=False).encode(wrong), "wrong tag")]
    rows = shown(tmp_path, [raw for raw, _ in cases], ["margay.bad", "margay.stream"],
                 "-o", f"margay.key:{KEY.hex()}")
    assert ["".join(row["margay.bad"]) for row in rows] == [why for _, why in cases]
    assert [bool(row["margay.stream"]) for row in rows] == [not why for _, why in cases]
    # Unknown without the key.
    rows = shown(tmp_path, [raw for raw, _ in cases[-3:]], ["margay.bad", "margay.tag.status"])
    assert [(row["margay.bad"], row["margay.tag.status"]) for row in rows] == [([], ["2"])] * 3


def test_aggregates(tmp_path):
    """Each frame of an aggregate is shown as if it were alone, and invalid rests are marked."""
    one = Frame(to=5, sender=3, sequence=4, messages=1, message=frames.message(operation=3), lane=1)
    each = [Frame(to=5, sender=3, ack=9).encode(), one.encode(), replace(one, sequence=5).encode()]
    again, aggregate = replace(one, sequence=5).encode(), b"".join(each)
    stranger = replace(one, to=6).encode()
    cases = [aggregate, again, aggregate[:-1], aggregate + b"!", each[0] + stranger,
             each[0][:-1] + b"!" + each[1]]
    rows = shown(tmp_path, cases, ["margay.kind", "margay.sequence", "margay.stream",
                                   "margay.retransmission", "margay.bad"])
    assert rows[0]["_ws.col.Info"] == [
        "ack 3 -> 5 requests ack 9 window 8 other 0 | ACK 3 -> 5 seq 4 at 0/0 ack 0 other 0 | "
        "ACK 3 -> 5 seq 5 at 0/0 ack 0 other 0"]
    assert rows[0]["margay.kind"] == [str(MSG)] * 3
    assert rows[0]["margay.sequence"] == ["0", "4", "5"]
    assert rows[0]["margay.stream"] == ["0", "1", "1"]
    assert rows[1]["margay.retransmission"] == ["1"]
    assert [row["margay.bad"] for row in rows] == [
        [], [], ["not as long as it says"], ["no frame that can follow"],
        ["no frame that can follow"],
        ["wrong checksum of the header", "behind what cannot be read"]]


def test_others_with_this_ethertype_are_left_alone(tmp_path):
    stranger = b"\2MG\0\0\5" + bytes(6) + b"\x88\xb5" + bytes(100)
    assert shown(tmp_path, [stranger], ["margay.kind"])[0]["margay.kind"] == []


def test_filters(tmp_path):
    sent = [Frame(to=to, sender=sender, messages=1) for to, sender in ((1, 2), (2, 1), (3, 1), (2, 3))]
    path = tmp_path / "capture.pcap"
    frames.write_capture(path, [frame.encode() for frame in sent])
    rows = tshark(path, ["margay.from", "margay.to"], "-Y", "margay.node == 3")
    assert [(row["margay.from"], row["margay.to"]) for row in rows] == [(["1"], ["3"]),
                                                                       (["3"], ["2"])]


@pytest.mark.parametrize("auth", [0, 1])
def test_simulated_jobs(tmp_path, auth):
    """Frames of the link itself: the dissector understands all, and marks those that the link
    counts as sent again."""
    path, seed = tmp_path / "capture.pcap", random.randrange(1, 1 << 31)
    command = [str(BUILD / "host" / "netsim"), "4", "600", str(seed), f"auth={auth}", "loss=30000",
               "reorder=30000", "longest=4000", f"pcap={path}"]
    print(" ".join(command))
    with cores(1, BUILD / "test-cores"):
        done = subprocess.run(command, capture_output=True, text=True, timeout=HANG)
        assert done.stdout.endswith("ok\n"), done.stdout + done.stderr
        rows = tshark(path, ["margay.kind", "margay.messages", "margay.announce", "margay.bad",
                             "margay.crc.status", "margay.tag.status",
                             "margay.payload_crc.status", "margay.retransmission", "margay.stream",
                             "margay.from", "margay.to", "margay.lane"],
                      "-o", f"margay.key:{KEY.hex()}")
    resent = int(done.stdout.split(" resent")[0].split()[-1])
    assert resent > 0 and resent == sum(bool(row["margay.retransmission"]) for row in rows)
    assert not [row for row in rows if row["margay.bad"]]
    assert {kind for row in rows for kind in row["margay.kind"]} == {str(MSG)}
    messages = [int(n) for row in rows for n in row["margay.messages"]]
    assert {0, 1} < set(messages) and "1" not in {n for row in rows for n in row["margay.announce"]}
    status = "margay.tag.status" if auth else "margay.crc.status"
    assert {value for row in rows for value in row[status]} == {"1"}
    if not auth:
        assert "1" in {value for row in rows for value in row["margay.payload_crc.status"]}
    flows = {(row["margay.stream"][0], row["margay.from"][0], row["margay.to"][0],
              row["margay.lane"][0]) for row in rows}
    assert len(flows) == len({flow[0] for flow in flows}) == 4 * 3 * 2


@pytest.mark.nodes(2)
@pytest.mark.spin(2)
@pytest.mark.parametrize("options", [["--crc"], ["--auth"]], ids=["crc", "auth"])
def test_captures_of_jobs(margay, app, tmp_path, options):
    """The frames of booted nodes while the switch loses some."""
    path, report = tmp_path / "capture.pcap", tmp_path / "run.json"
    faults = f"loss=2%,reorder=2%,seed={random.randrange(1, 1 << 31)}"
    margay("run", "-n", 2, "--link", "virtio", "--faults", faults, "--pcap", path, "--json", report,
           *options, app("ptl_bulk"), 1 << 20).ok()
    rows = tshark(path, ["_ws.col.Info", "margay.kind", "margay.bad", "margay.retransmission",
                         "margay.from", "margay.to", "margay.message.operation", "margay.source"])
    said = json.loads(report.read_text())
    # A part that is granted again counts as a new one.
    resent = sum(bool(row["margay.retransmission"]) and row["margay.kind"] != [str(BULK)]
                 for row in rows)
    counted, left = (sum(rank["stats"][name] for rank in said["ranks"])
                     for name in ("retransmissions", "frames_out"))
    # A frame may be sent again while the application changes its bytes: docs/wire.md.
    bad = [row["_ws.col.Info"] for row in rows if row["margay.bad"]]
    assert len(bad) < len(rows) / 100, bad
    # A node may send a frame after its last count, or count one that is not sent; both may happen
    # in one run.
    assert resent > 10 and abs(resent - counted) <= len(bad) + abs(len(rows) - left) + 4, (
        resent, counted, len(bad), len(rows), left)
    assert {(row["margay.from"][0], row["margay.to"][0]) for row in rows} == {
        ("0", "1"), ("1", "0")}
    assert {row["margay.source"][0] for row in rows} == {"65536"}
    seen = {operation for row in rows for operation in row["margay.message.operation"]}
    assert seen >= {"1", "2", "3", "4"}
