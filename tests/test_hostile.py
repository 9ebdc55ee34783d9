"""Hostile frames against booted nodes, from a port of the switch that the test holds: the job is
not affected, and the frames are counted.

tests/host/test_link_hostile.c does the same, and more, with simulated nodes.
"""
from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Callable, Iterator

import pytest

import frames
from frames import BULK, GRANT, MSG, RESET, Frame
from ports import LIFE, Port

pytestmark = [pytest.mark.nic, pytest.mark.nodes(3), pytest.mark.spin(2)]

NODES = 3
CAPTURE = "capture.pcap"
LARGEST = 4 << 20              # bytes of the job's messages
Makes = Callable[[random.Random], Iterator[bytes]]


class Outcome:
    """The counters of a job that was attacked."""

    def __init__(self, report: dict, sent: int) -> None:
        self.nodes = [rank["stats"] for rank in report["ranks"]]
        self.ports = {(one["node"], one["card"]): one for one in report["switch"]["ports"]}
        self.sent = sent

    def sum(self, counter: str) -> int:
        return sum(node[counter] for node in self.nodes)


def attacked(margay, app, tmp_path: Path, port: Port, where: str, makes: Makes, *options: object,
             batch: int = 20, most: int = 20_000, least: int = 1000, ahead: int = 0) -> Outcome:
    """Runs a job that compares every byte, and sends it the frames that `makes` yields (b"": none
    yet), the first `ahead` of them made before. The job ends when `least` frames were sent."""
    report, enough = tmp_path / "run.json", tmp_path / "enough"
    seed = random.randrange(1 << 31)
    print(f"seed {seed}")
    source = makes(random.Random(seed))
    made = [next(source) for _ in range(ahead)]
    live = margay.start("run", "-n", NODES, "--link", "virtio", "--json", report, "--test-port",
                        f"{port.far.fileno()}:{where}", *options, app("ptl_bulk"), LARGEST,
                        enough.name, pass_fds=(port.far.fileno(),))
    port.far.close()           # the launcher and the switch own it
    sent = 0
    while live.process.poll() is None and sent < most:
        now = made[sent:sent + batch] or [next(source) for _ in range(batch)]
        now = [one for one in now if one]
        if not port.send(now):
            break
        if sent < least <= sent + len(now):
            enough.touch()
        sent += len(now)
    run = live.wait().ok()
    assert [line.removeprefix("[0] ") for line in run.lines[:2]] == ["ok transfers", "ok order"]
    outcome = Outcome(json.loads(report.read_text()), sent)
    # No peer was given up, and no message was about the job's own nodes.
    assert outcome.sum("peers_lost") == 0, outcome.nodes
    return outcome


def plausible(rng: random.Random, sender: int, to: int) -> Frame:
    """A plausible next frame of that node: the first of a lane, or a later one."""
    what = rng.choice(["whole", "whole", "put", "batch", "none", "announcement", "reset", "grant",
                       "bulk", "again"])
    kind = {"reset": RESET, "grant": GRANT, "bulk": BULK, "again": BULK}.get(what, MSG)
    frame = Frame(to=to, sender=sender, kind=kind, lane=rng.randrange(2),
                  card=int(kind == BULK and rng.random() < 0.7),
                  source=rng.choice([LIFE, LIFE, LIFE + 1, 2 * LIFE]),
                  destination=rng.choice([LIFE, LIFE, 0]), ack=rng.randrange(64),
                  selective=rng.getrandbits(64), window=rng.choice([1, 64]),
                  other_ack=rng.randrange(64), other_window=rng.choice([0, 1, 64]))

    def message(length: int) -> bytes:
        return frames.message(operation=rng.randrange(1, 9), source_nid=sender, target_nid=to,
                              length=length, match_bits=rng.getrandbits(4))

    def short() -> bytes:
        return frames.short(pt_index=rng.randrange(8), cookie=rng.randrange(2),
                            match_bits=rng.getrandbits(4), offset=rng.randrange(64),
                            hdr_data=rng.getrandbits(64))
    if what == "whole":
        payload = rng.randbytes(rng.choice([0, 8, 100, 4000]))
        return replace(frame, sequence=rng.randrange(200), messages=1, payload=payload,
                       length=len(payload), message=message(len(payload)))
    if what == "put":
        return replace(frame, sequence=rng.randrange(200), **frames.one_put(
            short(), rng.randbytes(rng.randrange(frames.PUT_BYTES + 1))), lane=0)
    if what == "batch":
        payloads = [rng.randbytes(rng.randrange(65)) for _ in range(rng.randrange(2, 9))]
        return replace(frame, sequence=rng.randrange(200), **frames.batch(
            [(short(), data) for data in payloads]), lane=0)
    if what == "announcement":
        length, tail = rng.randrange(1 << 16, 1 << 20), rng.randbytes(64 * rng.randrange(2))
        return replace(frame, sequence=rng.randrange(200), messages=1, announce=1, payload=tail,
                       length=length, offset=rng.choice([8192, 65472]), message=message(length))
    if what == "none":
        return replace(frame, again=1, refused=rng.getrandbits(64))
    if what == "reset":
        return replace(frame, over=1, source=2 * LIFE)
    part = rng.randrange(16)
    frame = replace(frame, sequence=rng.randrange(200), part=part)
    if what == "grant":
        return replace(frame, again=rng.randrange(2), over=rng.randrange(2),
                       reach=rng.randrange(3), parts=rng.randrange(16))
    return replace(frame, again=int(what == "again"), payload=rng.randbytes(rng.choice([8, 800])))


def aggregate(rng: random.Random, sender: int, to: int, key: bytes | None = None) -> bytes:
    """Several of these in one aggregate."""
    each = [replace(plausible(rng, sender, to), card=0).encode(key)
            for _ in range(rng.randrange(1, 5))]
    fitting = [data for data in each if len(data) % 8 == 0 and len(data) < 10_000]
    return b"".join([*fitting, Frame(to=to, sender=sender, sequence=1, messages=1).encode(key)])


def two(rng: random.Random) -> tuple[int, int]:
    sender = rng.randrange(NODES)
    return sender, (sender + rng.randrange(1, NODES)) % NODES


def spoilt(rng: random.Random, data: bytes) -> bytes:
    """Cut, longer, or with other bytes."""
    how = rng.randrange(4)
    if how == 0:
        return data[:rng.randrange(14, len(data))]
    if how == 1:
        return data + rng.randbytes(rng.choice([1, 60, 1500, 60_000]))
    at = rng.randrange(12, len(data))
    return data[:at] + rng.randbytes(rng.choice([1, 4, 50])) + data[at + 1:]


def test_the_switch_refuses_other_nodes_names(margay, app, tmp_path, port):
    """A port whose number is no node of the job: its frames are foreign."""
    def makes(rng):
        while True:
            sender, to = two(rng)
            yield plausible(rng, sender, to).encode()
            yield plausible(rng, NODES, to).encode()
            yield spoilt(rng, plausible(rng, NODES, to).encode())
            yield aggregate(rng, NODES, to)
            yield b"\xff" * 6 + plausible(rng, NODES, to).encode()[6:]
    got = attacked(margay, app, tmp_path, port, f"{NODES}", makes, ahead=2000)
    mine = got.ports[NODES, 0]
    assert mine["forged"] > 100 and abs(mine["forged"] - got.sent / 5) < 100
    assert got.sum("frames_bad") > 100
    assert got.sum("forged") + got.sum("ghosts") == 0, got.nodes


def test_frames_that_cannot_be_in_a_nodes_own_name(margay, app, tmp_path, port):
    """A second card of node 2: frames that no correct sender sends are dropped, from any node."""
    def makes(rng):
        while True:
            to = rng.randrange(2)
            put = Frame(to=to, sender=2, sender_card=9, source=LIFE, destination=LIFE,
                        messages=1, payload=bytes(64), length=64)
            none = replace(put, messages=0, payload=b"", length=0)
            late = replace(put, destination=LIFE - 1)
            # Outside the window; and of an earlier life, to a node that knows this one.
            yield replace(put, sequence=1000 + rng.getrandbits(24)).encode()
            yield replace(put, source=1 + rng.randrange(LIFE - 1)).encode()
            yield replace(none, ack=1 + rng.getrandbits(30)).encode()
            yield replace(none, other_ack=1000 + rng.getrandbits(30)).encode()
            yield replace(none, announce=1).encode()
            yield late.encode()
            yield replace(put, length=63).encode()
            yield frames.sealed(put.encode())[:-1]
            yield replace(put, length=63).encode() + b"x" * 60_000
            yield replace(none, puts=1).encode()
            one = frames.one_put(bytes(frames.PUT), bytes(8))
            yield replace(put, **one | {"announce": 1}).encode()
            yield replace(put, **one | {"lane": 1}).encode()
            yield replace(put, **one | {"offset": 3}).encode()
            yield replace(put, **one | {"length": rng.choice([7, 9, 1 << 47])}).encode()
            yield replace(put, **one | {"length": 65, "payload": bytes(65)}).encode()
            two = frames.batch([(bytes(frames.PUT), bytes(8))] * 2)
            yield replace(put, messages=2).encode()
            yield replace(put, **two | {"messages": rng.choice([3, 1 << 32 | 2])}).encode()
            yield replace(put, **two | {"offset": 3}).encode()
            yield replace(put, **two | {"announce": 1}).encode()
            yield replace(put, **two | {"payload": two["payload"][:-8]}).encode()
            yield replace(put, **two | {"payload": two["payload"] + bytes(8)}).encode()
            yield replace(put, **two | {"length": 1 << 47}).encode()
            yield replace(put, length=1 << 48).encode()
            grant = replace(none, kind=GRANT, part=rng.getrandbits(32))
            yield replace(grant, ack=1 + rng.getrandbits(30), parts=3).encode()
            yield replace(grant, source=1 + rng.randrange(LIFE - 1), over=1).encode()
            yield replace(grant, payload=bytes(8)).encode()
            announced = replace(put, announce=1, length=1 << 20, payload=b"", offset=65472)
            yield replace(announced, sequence=1000 + rng.getrandbits(24)).encode()
            yield replace(announced, offset=rng.choice([0, 65473])).encode()
            yield replace(announced, length=64, offset=64, payload=bytes(64)).encode()
            part = replace(grant, kind=BULK, payload=bytes(8))
            yield replace(part, payload=b"").encode()
            yield replace(part, over=1).encode()
            yield replace(part, announce=1).encode()
            yield replace(none, kind=RESET, announce=1).encode()
            yield replace(grant, kind=rng.choice([0, 5, 6, 7]),
                          announce=rng.randrange(2)).encode()
            yield replace(put, length=63).encode() * 2
            # An acceptable frame, followed by one for another node, or by a piece of one.
            yield late.encode() + replace(put, to=1 - to, length=63).encode()
            yield late.encode() + rng.randbytes(rng.randrange(1, 64))
            # Of no real message, to the bulk card: they use up buffers of real ones.
            bulk = replace(grant, kind=BULK, sequence=1000 + rng.getrandbits(24))
            yield replace(bulk, payload=rng.randbytes(8)).encode()
            if rng.random() < 0.3:
                yield replace(bulk, card=1, payload=rng.randbytes(65472)).encode()
                yield replace(part, card=1, over=1).encode()
                yield replace(put, card=1, length=63).encode()
            damaged = replace(put, crc=True).encode()
            yield damaged[:-1] + bytes([damaged[-1] ^ 1])
    got = attacked(margay, app, tmp_path, port, "2.9", makes, ahead=2000)
    for node in got.nodes[:2]:
        assert node["frames_bad"] > 10 and node["ghosts"] > 10 and node["damaged"] > 10, node
    assert got.sum("parts_misplaced") > 0, got.nodes


def test_forged_frames_against_a_key(margay, app, tmp_path, port):
    """The switch forwards everything; the job's key authenticates the nodes."""
    def makes(rng):
        key = rng.randbytes(16)
        while True:
            frame = plausible(rng, *two(rng))
            yield frame.encode(key)
            yield frame.encode()
            yield spoilt(rng, frame.encode(key))
            yield aggregate(rng, *two(rng), key)
    got = attacked(margay, app, tmp_path, port, f"{NODES}", makes, "--accept-forged", "--auth",
                   ahead=2000)
    assert got.sum("forged") > 100 and got.sum("frames_bad") > 100
    assert got.sum("ghosts") + got.sum("damaged") == 0, got.nodes
    assert got.ports[NODES, 0]["forged"] > 100


@pytest.mark.parametrize("auth", [[], ["--auth"]], ids=["plain", "auth"])
def test_replayed_frames(margay, app, tmp_path, port, auth):
    """Any frames of the nodes are replayed to them, with or without a key."""
    capture = tmp_path / CAPTURE

    def makes(rng):
        said: list[bytes] = []
        known = 0
        while True:
            size = capture.stat().st_size if capture.exists() else 0
            if size > 1.2 * known:
                said, known = frames.read_capture(capture)[-5000:], size
            yield rng.choice(said) if said else b""
    got = attacked(margay, app, tmp_path, port, f"{NODES}", makes, "--accept-forged", "--pcap",
                   capture, *auth, least=300)
    # A few of the nodes' own frames have wrong tags: see docs/wire.md.
    assert got.sum("duplicates") > 100 and got.sum("forged") < got.sent / 100


def test_replayed_frames_of_another_job(margay, app, tmp_path, port):
    """They have correct numbers and incarnations, but another key."""
    capture = tmp_path / CAPTURE
    key = "00112233445566778899aabbccddeeff"
    margay("run", "-n", NODES, "--link", "virtio", f"--auth={key}", "--pcap", capture,
           app("ptl_bulk"), 1 << 20).ok()
    said = frames.read_capture(capture)
    each = [one for aggregate in said for one in frames.split_aggregate(aggregate)]
    assert len(each) > 500 and all(frames.is_sealed(one, bytes.fromhex(key)) for one in each[:50])

    def makes(rng):
        while True:
            yield from said
    got = attacked(margay, app, tmp_path, port, f"{NODES}", makes, "--accept-forged", "--auth")
    assert got.sum("forged") > 100 and got.sum("ghosts") == 0


@pytest.mark.parametrize("size", [60, 8000])
def test_floods(margay, app, tmp_path, port, size):
    """More frames than the job's own, of any content, in large batches."""
    def makes(rng):
        garbage = [frames.address(to) + frames.address(NODES) + b"\x88\xb5" + rng.randbytes(size)
                   for to in (0, 1) for _ in range(100)]
        while True:
            yield from garbage
    got = attacked(margay, app, tmp_path, port, f"{NODES}", makes, batch=200, most=40_000,
                   least=5000)
    assert got.sum("frames_bad") > 1000
