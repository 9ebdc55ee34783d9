"""The machine's switch, driven through its sockets: forwarding, faults, isolation."""
from __future__ import annotations

import fcntl
import json
import os
import random
import select
import signal
import socket
import struct
import subprocess
import termios
import time
from collections import Counter
from itertools import accumulate
from pathlib import Path
from typing import Iterator

import pytest
from hypothesis import given, settings, strategies as st

from harness import BUILD, states, until

pytestmark = pytest.mark.switch

SWITCH = BUILD / "tools" / "switch"
EVERYBODY = b"\xff" * 6
DEADLINE = 30.0
LOOKS = 3


def address(node: int, card: int = 0) -> bytes:
    return bytes([0x02, 0x4D, 0x47, card, node >> 8, node & 255])


def frame(source: int, target: int, payload: bytes) -> bytes:
    return address(target) + address(source) + b"\x88\xb5" + payload


def wire(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


class Switch:
    """A switch with `n` nodes; `.ports[i]` is the far end of node i's socket."""

    def __init__(self, n: int, *options: str, cards: int = 1, control: bool = False) -> None:
        pairs = [socket.socketpair() for _ in range(n * cards)]
        self.ports = [far for far, _ in pairs]
        stats, stats_end = os.pipe()
        self.stats_fd = stats
        self.control, stdin = socket.socketpair() if control else (None, None)
        names = [f"{near.fileno()}:{i % n}.{i // n}" for i, (_, near) in enumerate(pairs)]
        self.process = subprocess.Popen(
            [str(SWITCH), "--stats", str(stats_end), *options, *names], stdin=stdin or subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            pass_fds=[near.fileno() for _, near in pairs] + [stats_end])
        os.close(stats_end)
        for end in [near for _, near in pairs] + ([stdin] if stdin else []):
            end.close()
        self.rest = [b""] * len(self.ports)
        self.said: list[str] = []       # lines of its standard output, after its end

    def send(self, port: int, *frames: bytes) -> None:
        self.ports[port].sendall(b"".join(wire(data) for data in frames))

    def replace(self, port: int) -> None:
        """A new socket for a port, as for a restarted node."""
        self.ports[port].close()
        self.ports[port], near = socket.socketpair()
        self.rest[port] = b""
        socket.send_fds(self.control, [struct.pack("=I", port)], [near.fileno()])
        near.close()

    def has(self, port: int) -> bool:
        """A whole frame for this port was read but not yet taken."""
        rest = self.rest[port]
        return len(rest) >= 4 and len(rest) >= 4 + struct.unpack(">I", rest[:4])[0]

    def take(self, port: int) -> bytes:
        """The next frame for this port."""
        while True:
            rest = self.rest[port]
            if self.has(port):
                length = struct.unpack(">I", rest[:4])[0]
                self.rest[port] = rest[4 + length:]
                return rest[4:4 + length]
            ready, _, _ = select.select([self.ports[port]], [], [], DEADLINE)
            assert ready, f"no frame for port {port}"
            more = self.ports[port].recv(1 << 20)
            assert more, f"port {port} was closed"
            self.rest[port] = rest + more

    def take_until(self, port: int, last: bytes) -> list[bytes]:
        """All frames up to `last`, without it."""
        frames = []
        while (got := self.take(port)) != last:
            frames.append(got)
        return frames

    def end(self, status: int = 0) -> dict[tuple[int, int], dict[str, int]]:
        """Close everything; the counters by node and card."""
        for end in [*self.ports, self.control]:
            if end:
                end.close()
        with os.fdopen(self.stats_fd) as stats:
            report = json.load(stats)
        assert self.process.wait(DEADLINE) == status, self.process.stderr.read()
        if self.process.stdin:
            self.process.stdin.close()
        self.said = self.process.stdout.read().decode().splitlines()
        self.process.stdout.close()
        self.process.stderr.close()
        return {(port["node"], port["card"]): port for port in report["ports"]}


@pytest.fixture
def switch() -> Iterator:
    started: list[Switch] = []

    def start(n: int, *options: str, **more) -> Switch:
        started.append(Switch(n, *options, **more))
        return started[-1]
    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


def test_a_frame_goes_to_its_address_and_nowhere_else(switch):
    net = switch(3)
    net.send(0, frame(0, 2, b"hello"), frame(0, 1, b"other"))
    assert net.take(2) == frame(0, 2, b"hello")
    assert net.take(1) == frame(0, 1, b"other")
    counters = net.end()
    assert [counters[n, 0]["frames_out"] for n in range(3)] == [0, 1, 1]
    assert counters[0, 0]["frames_in"] == 2


def test_broadcast_reaches_all_others(switch):
    net = switch(4)
    data = EVERYBODY + address(1) + b"\x88\xb5all"
    net.send(1, data)
    assert [net.take(n) for n in (0, 2, 3)] == [data] * 3
    assert net.end()[1, 0]["frames_out"] == 0


def test_each_card_has_its_address(switch):
    net = switch(2, cards=2)
    data = address(1, 1) + address(0, 1) + b"\x88\xb5bulk"
    net.send(2, data)
    assert net.take(3) == data
    assert net.end()[1, 1]["frames_out"] == 1


def test_a_forged_source_is_refused(switch):
    net = switch(3)
    net.send(0, frame(2, 1, b"not mine"), frame(0, 1, b"mine"))
    assert net.take(1) == frame(0, 1, b"mine")
    assert net.end()[0, 0]["forged"] == 1


def test_refusal_can_be_switched_off(switch):
    net = switch(3, "--accept-forged")
    net.send(0, frame(2, 1, b"not mine"))
    assert net.take(1) == frame(2, 1, b"not mine")
    assert net.end()[0, 0]["forged"] == 1


def test_unknown_addresses_and_short_frames_are_counted(switch):
    net = switch(2)
    net.send(0, frame(0, 7, b""), b"short", b"", frame(0, 1, b"end"))
    assert net.take(1) == frame(0, 1, b"end")
    counters = net.end()[0, 0]
    assert (counters["unknown"], counters["malformed"]) == (1, 2)


def test_a_length_that_cannot_be_closes_only_its_port(switch):
    net = switch(3)
    net.ports[0].sendall(b"\xff\xff\xff\xff" + b"x" * 100)
    assert net.ports[0].recv(1) == b""
    net.send(1, frame(1, 0, b"to nobody"), frame(1, 2, b"still there"))
    assert net.take(2) == frame(1, 2, b"still there")
    counters = net.end()
    assert counters[0, 0]["malformed"] == counters[0, 0]["gone"] == 1
    assert len(net.said) == 1 and net.said[0].startswith("card 0 of node 0 sent a frame longer")


@settings(max_examples=20, deadline=None)
@given(sizes=st.lists(st.integers(14, 69632), min_size=1, max_size=12), seed=st.integers(0, 999))
def test_any_sizes_in_any_chunks(sizes, seed):
    dice = random.Random(seed)
    net = Switch(2)
    frames = [frame(0, 1, dice.randbytes(size - 14)) for size in sizes]
    stream = b"".join(map(wire, frames))
    try:
        got, at = [], 0
        while at < len(stream):
            step = dice.choice((1, 3, 100, 5000, 200000))
            net.ports[0].sendall(stream[at:at + step])
            at += step
            while len(got) < len(frames) and select.select([net.ports[1]], [], [], 0)[0]:
                got.append(net.take(1))
        while len(got) < len(frames):
            got.append(net.take(1))
        assert got == frames
    finally:
        net.end()


def test_a_port_that_does_not_read_stalls_no_other(switch):
    """Node 2 does not read: frames to it are dropped, the others' frames pass."""
    net = switch(3)
    big = frame(0, 2, b"x" * 60000)
    for i in range(400):
        net.send(0, big, frame(0, 1, struct.pack("<I", i)))
        assert net.take(1) == frame(0, 1, struct.pack("<I", i))
    net.send(1, frame(1, 0, b"end"))
    assert net.take(0) == frame(1, 0, b"end")
    got = 0
    for i in range(400):                # until there is space for one after all the others
        net.send(1, frame(1, 2, b"end"))
        while select.select([net.ports[2]], [], [], 0.05)[0] or net.rest[2]:
            data = net.take(2)
            assert data in (big, frame(1, 2, b"end"))    # whole frames only
            got += data == big
            if data != big:
                break
        else:
            continue
        break
    counters = net.end()
    assert counters[2, 0]["overflow"] >= 400 - got > 0


@pytest.mark.parametrize("known", [True, False])
def test_a_closed_port_stalls_no_other(switch, known):
    """The switch notices it before it reads the frames, or when it writes them."""
    net = switch(3)
    if known:
        net.ports[1].close()
    else:
        net.process.send_signal(signal.SIGSTOP)
    net.send(0, *[frame(0, 1, b"x" * 1000)] * 50, frame(0, 2, b"end"))
    net.ports[1].close()
    net.process.send_signal(signal.SIGCONT)
    assert net.take(2) == frame(0, 2, b"end")
    counters = net.end()
    assert (counters[1, 0]["gone"], counters[1, 0]["frames_out"]) == (50, 0)


@pytest.mark.parametrize("taken", [0, 12345, 700_000])
def test_what_a_port_that_closes_had_not_got_is_counted(switch, taken):
    """Only whole frames: every byte of `frames_out` was written."""
    net = switch(3)
    sizes = [60_000, 14, 333, 5000]
    frames = [frame(0, 1, b"x" * sizes[i % 4]) for i in range(200)]      # 3.3 MB
    net.send(0, *frames, frame(0, 2, b"end"))
    assert net.take(2) == frame(0, 2, b"end")
    left = taken
    while left:
        left -= len(net.ports[1].recv(left))
    for _ in range(3):                  # the switch has noticed that there is space again
        net.send(0, frame(0, 2, b"end"))
        assert net.take(2) == frame(0, 2, b"end")
    left = taken + struct.unpack("i", fcntl.ioctl(net.ports[1], termios.FIONREAD, bytes(4)))[0]
    net.ports[1].close()
    whole = 0
    while left >= len(wire(frames[whole])):
        left -= len(wire(frames[whole]))
        whole += 1
    assert 0 < whole < 200
    while True:                         # until the switch has noticed it
        net.send(0, frame(0, 1, b""), frame(0, 2, b"end"))
        assert net.take(2) == frame(0, 2, b"end")
        if not unread(net.ports[0]):
            break
    counters = net.end()
    assert counters[1, 0]["frames_out"] == whole
    assert counters[1, 0]["bytes_out"] == sum(map(len, frames[:whole]))
    assert counters[0, 0]["frames_in"] == (counters[2, 0]["frames_out"] + whole
                                           + counters[1, 0]["gone"])


COUNT = 4000


def numbered(source: int, target: int, count: int) -> list[bytes]:
    return [frame(source, target, struct.pack("<II", i, i) + b"." * 56) for i in range(count)]


def unread(port: socket.socket) -> int:
    """Bytes from this port that the switch has not yet read."""
    return struct.unpack("i", fcntl.ioctl(port, termios.TIOCOUTQ, bytes(4)))[0]


def through(net: Switch, frames: list[bytes]) -> list[bytes]:
    """Sends from 0 to 1 in batches; returns the frames in the order of arrival. A last frame
    through node 2 cannot mark the end, so the end is a silence after the switch has read
    everything. It takes several polls, as a stopped host is silent too, while the switch must
    not be waiting for a core."""
    got = []
    for i in range(0, len(frames), 50):
        net.send(0, *frames[i:i + 50])
        while select.select([net.ports[1]], [], [], 0.002)[0]:
            got.append(net.take(1))
            while net.has(1):
                got.append(net.take(1))
    silent = 0
    while silent < LOOKS:
        if select.select([net.ports[1]], [], [], 0.15)[0] or net.rest[1]:
            got.append(net.take(1))
            silent = 0
        elif unread(net.ports[0]) or set(states(net.process.pid)) - {"S"}:
            silent = 0
        else:
            silent += 1
    return got


@pytest.mark.parametrize("fault, counter", [
    ("loss=5%", "lost"), ("dup=5%", "duplicated"), ("reorder=5%", "reordered"),
    ("damage=5%", "damaged"), ("delay=5%:300us", "delayed")])
def test_each_fault_happens_as_often_as_it_is_counted(switch, fault, counter):
    sent = numbered(0, 1, COUNT)
    net = switch(2, "--faults", f"{fault},seed=5")
    got = through(net, sent)
    happened = net.end()[0, 0][counter]
    assert COUNT * 0.03 < happened < COUNT * 0.07
    whole, copies = set(sent), Counter(got)
    if counter == "lost":
        assert got == [f for f in sent if copies[f]] and len(got) == COUNT - happened
    elif counter == "duplicated":
        assert len(got) == COUNT + happened and set(got) == whole
    elif counter == "damaged":
        assert sum(f not in whole for f in got) == happened and len(got) == COUNT
    else:
        assert sorted(got) == sorted(sent)
        swapped = sum(a > b for a, b in zip(map(number_of, got), map(number_of, got[1:])))
        assert swapped > 0 if counter == "delayed" else swapped >= happened * 0.8


def number_of(data: bytes) -> int:
    return struct.unpack("<I", data[14:18])[0]


def test_equal_seeds_meet_equal_faults(switch):
    def lost(seed: int) -> list[bytes]:
        net = switch(2, "--faults", f"loss=10%,seed={seed}")
        got = through(net, numbered(0, 1, 500))
        net.end()
        return got
    assert lost(3) == lost(3) != lost(4)


def test_latency_delays_and_keeps_the_order(switch):
    net = switch(2, "--latency", "20000")
    frames = numbered(0, 1, 100)
    before = time.monotonic()
    net.send(0, *frames)
    assert [net.take(1) for _ in frames] == frames
    assert time.monotonic() - before >= 0.02     # the minimum
    net.end()


def big(source: int, target: int) -> bytes:
    return frame(source, target, b"x" * 39_986)          # 40,000 bytes


@pytest.mark.parametrize("bandwidth, source, targets, least", [
    ("10", 0, [1], 0.1),                 # each target gets 1 MB
    ("10", 0, [1, 2], 0.2),              # both share the sender's own link
    ("1000,1:10", 0, [1], 0.1), ("0:5", 0, [1], 0.2), ("5:10", 0, [5], 0.1)])
def test_bandwidth_is_a_limit(switch, bandwidth, source, targets, least):
    net = switch(6, "--bandwidth", bandwidth)
    before = time.monotonic()
    net.send(source, *[big(source, target) for _ in range(25) for target in targets])
    for target in targets:
        assert [net.take(target) for _ in range(25)] == [big(source, target)] * 25
    assert time.monotonic() - before >= least            # the minimum
    net.end()


@pytest.mark.parametrize("options", [("--bandwidth", "1000,2:1"), ("--latency", "2:2000000"),
                                     ("--latency", "5,2:2000000", "--bandwidth", "100000,2:10")])
def test_a_slow_sender_delays_no_other(switch, options):
    """Frames of node 2 arrive after later frames of another node to the same target."""
    net = switch(3, *options)
    net.send(2, *[big(2, 1)] * 50)
    until(lambda: not unread(net.ports[2]))
    net.send(0, frame(0, 1, b"fast"))
    before = net.take_until(1, frame(0, 1, b"fast"))
    assert set(before) <= {big(2, 1)} and len(before) < 50
    assert [net.take(1) for _ in range(50 - len(before))] == [big(2, 1)] * (50 - len(before))
    net.end()


@pytest.mark.parametrize("slow, target", [(0, 1), (1, 1), (0, 7)])
def test_what_overflows_takes_no_time_of_a_link(switch, slow, target):
    """200 MB, also to no node, over a link of 10 MB/s that holds a sixth of it: a frame behind
    that comes before the end of 30 MB that another link needs 15 s for."""
    net = switch(4, "--bandwidth", f"{slow}:10,2:2")
    net.send(3, *[big(3, 2)] * 750, frame(3, 2, b"last"))
    for _ in range(50):
        net.send(0, *[big(0, target)] * 100)
    until(lambda: not unread(net.ports[0]))
    ends = [frame(0, 1, b"behind"), frame(3, 2, b"last")]
    got: list[bytes] = []
    while not set(ends) & set(got):
        net.send(0, ends[0])             # the first one for which there is space again
        ready, _, _ = select.select(net.ports[1:3], [], [], DEADLINE)
        assert ready
        got = []
        for port in [net.ports.index(end) for end in ready]:
            got.append(net.take(port))
            while net.has(port):
                got.append(net.take(port))
    assert ends[0] in got
    assert net.end()[slow, 0]["overflow"] > 0


def test_reordering_happens_on_slow_links_too(switch):
    net = switch(2, "--latency", "50", "--faults", "reorder=5%")
    sent = numbered(0, 1, COUNT)
    got = through(net, sent)
    assert sorted(got) == sorted(sent)
    numbers = [number_of(data) for data in got]
    overtaken = sum(map(int.__lt__, numbers, accumulate(numbers, max)))
    assert overtaken >= net.end()[0, 0]["reordered"] * 0.8 > 0


def test_a_cut_link_loses_everything_until_it_is_healed(switch):
    net = switch(3, "--faults", "cut=0-1:0-1500")
    net.send(0, frame(0, 1, b"lost"), frame(0, 2, b"other link"))
    assert net.take(2) == frame(0, 2, b"other link")
    got, i = b"", 0
    while not got:
        net.send(0, frame(0, 1, b"%d" % i))
        i += 1
        if select.select([net.ports[1]], [], [], 0.01)[0]:
            got = net.take(1)
    assert got != frame(0, 1, b"lost")
    assert net.end()[0, 0]["cut"] >= 2


def test_a_stopped_port_gets_its_frames_afterwards(switch):
    net = switch(3, "--faults", "stop=1:0-300")
    frames = numbered(0, 1, 50)
    net.send(0, *frames)
    net.send(0, frame(0, 2, b"meanwhile"))
    assert net.take(2) == frame(0, 2, b"meanwhile")
    assert [net.take(1) for _ in frames] == frames
    net.end()


def card_frame(source: int, target: int, card: int, payload: bytes) -> bytes:
    return address(target, card) + address(source, card) + b"\x88\xb5" + payload


def test_cuts_are_between_nodes_whichever_their_cards(switch):
    """Ports by card: 0 to 2 are the nodes' first cards, 3 to 5 their second ones."""
    net = switch(3, "--faults", "cut=0-2:0-100000", cards=2)
    net.send(0, card_frame(0, 2, 0, b"lost"), card_frame(0, 1, 0, b"first"))
    net.send(3, card_frame(0, 2, 1, b"lost"), card_frame(0, 1, 1, b"second"))
    net.send(5, card_frame(2, 0, 1, b"lost"), card_frame(2, 1, 1, b"back"))
    assert net.take(1) == card_frame(0, 1, 0, b"first")
    assert {net.take(4), net.take(4)} == {card_frame(0, 1, 1, b"second"),
                                          card_frame(2, 1, 1, b"back")}
    counters = net.end()
    assert [counters[of]["cut"] for of in ((0, 0), (0, 1), (2, 1))] == [1, 1, 1]


def test_a_stopped_node_is_given_nothing_on_any_card(switch):
    net = switch(3, "--faults", "stop=1:0-100000", cards=2)
    for card in range(2):
        net.send(3 * card, card_frame(0, 1, card, b"held"), card_frame(0, 2, card, b"through"))
        assert net.take(2 + 3 * card) == card_frame(0, 2, card, b"through")
    assert not select.select([net.ports[1], net.ports[4]], [], [], 0.1)[0]
    net.end()


def test_pcap_holds_what_was_sent(switch, tmp_path: Path):
    capture = tmp_path / "net.pcap"
    net = switch(2, "--pcap", str(capture))
    frames = numbered(0, 1, 20)
    net.send(0, *frames)
    assert [net.take(1) for _ in frames] == frames
    net.end()
    data = capture.read_bytes()
    assert struct.unpack("<IHH", data[:8]) == (0xA1B23C4D, 2, 4)
    at, seen = 24, []
    while at < len(data):
        length = struct.unpack("<I", data[at + 8:at + 12])[0]
        seen.append(data[at + 16:at + 16 + length])
        at += 16 + length
    assert seen == frames


@pytest.mark.parametrize("why, cure", [("No space left on device", "make room"),
                                       ("Broken pipe", "keep the reader")])
def test_a_capture_ends_when_it_cannot_be_written(switch, tmp_path, why, cure):
    place = "/dev/full" if "space" in why else str(tmp_path / "pipe")
    if place != "/dev/full":
        os.mkfifo(place)
    reader = os.open(place, os.O_RDONLY | os.O_NONBLOCK)
    net = switch(2, "--pcap", place)
    first, *frames = numbered(0, 1, 500)
    assert through(net, [first]) == [first]          # the switch has opened the pipe
    os.close(reader)
    assert through(net, frames) == frames
    net.end(status=3)
    assert len(net.said) == 2 and f"{place}: {why}" in net.said[0] and cure in net.said[1]


@pytest.mark.parametrize("options, seed", [(("--faults", "loss=1%"), 1),
                                           (("--faults", "seed=0x10,loss=1%"), 16)])
def test_the_seed_of_the_faults_is_said(switch, options, seed):
    net = switch(2, *options)
    net.end()
    assert net.said == [f"faults from seed {seed}"]


def test_it_ends_with_its_control_pipe(switch):
    net = switch(2)
    net.process.stdin.close()
    assert net.process.wait(DEADLINE) == 0
    os.close(net.stats_fd)


@pytest.mark.parametrize("options, says", [
    (["--faults", "loss=200%"], "percentage"), (["--faults", "rain=1%"], "faults are"),
    (["--faults", "cut=1"], "NODE-NODE"), (["--faults", "loss"], "NAME=VALUE"),
    (["--latency", "soon"], "number"), (["--faults", "delay=1%"], "RATE:MOSTus"), ([], "ports"),
    (["--pcap", "/nowhere/f"], "--pcap /nowhere/f: No such file or directory\nname a file"),
    (["--faults", "cut=0-3:1-2", "0:0", "1:2"], "take numbers"),
    (["--faults", "stop=1:1-2", "0:0"], "there is no node 1\n"),
    (["--faults", "delay=1%:-5us"], "RATE:MOST"), (["--faults", "cut=4294967296-1:1-2"], "NODE-NODE"),
    (["--faults", "loss=0.00001%"], "from 0.0001% to 100%"), (["--faults", ""], "NAME=VALUE"),
    (["--latency", ""], "'' needs"), (["--latency", "0"], "'0' needs a number from 1"),
    (["--latency", "1000000001"], "from 1 to 1000000000"), (["--latency", "-1"], "'-1' needs"),
    (["--latency", "20,3"], "'3' is for all links, which comes first\ngive a number for all"),
    (["--latency", "1:2,5"], "comes first"), (["--latency", "x:2"], "'x:2' is not NODE:NUMBER"),
    (["--bandwidth", "1:2,1:3"], "second time"), (["--bandwidth", "1:"], "'1:' needs a number"),
    (["--bandwidth", "10,,1:3"], "'' needs"), (["--bandwidth", "9x"], "'9x' needs a number"),
    (["--bandwidth", "10,2:5", "0:0"], "--bandwidth: there is no node 2\nNODE:NUMBER takes"),
    (["--latency", ",".join(f"{i}:1" for i in range(257))], "more than a switch has ports")])
def test_bad_options_name_cause_and_cure(options, says):
    done = subprocess.run([str(SWITCH), *options], input="", capture_output=True, text=True,
                          timeout=DEADLINE)
    assert done.returncode == 2 and says in done.stderr


def test_a_new_socket_behind_a_port(switch):
    """A restarted node begins with empty streams in both directions; others continue."""
    net = switch(3, control=True)
    net.ports[1].sendall(wire(frame(1, 0, bytes(5000)))[:3000])   # it dies within a frame
    net.send(0, *[frame(0, 1, bytes(60000))] * 20)                  # which are unread
    net.send(0, frame(0, 2, b"all are through"))
    assert net.take(2) == frame(0, 2, b"all are through")
    net.replace(1)
    while True:                       # the switch has the new socket once an answer arrives
        net.send(1, frame(1, 0, b"second life"))
        if select.select([net.ports[0]], [], [], 0.1)[0]:
            break
    assert net.take(0) == frame(1, 0, b"second life")
    net.send(0, frame(0, 1, b"welcome"))
    assert net.take(1) == frame(0, 1, b"welcome")
    net.replace(1)
    net.replace(2)
    net.send(1, frame(1, 2, b"third"))
    assert net.take(2) == frame(1, 2, b"third")
    assert net.end()[1, 0]["malformed"] == 0


def test_nonsense_on_the_control_socket(switch):
    """Messages without a descriptor, with an invalid port, or cut short have no effect."""
    net = switch(2, control=True)
    net.control.sendall(b"\0\0\0\0")
    for word in (struct.pack("=I", 2), struct.pack("=I", 1 << 31), b"x"):
        near, far = socket.socketpair()
        socket.send_fds(net.control, [word], [far.fileno()])
        far.close()
        near.settimeout(DEADLINE)
        assert near.recv(1) == b"", "the switch closes what it cannot use"
        near.close()
    net.send(0, frame(0, 1, b"as before"))
    assert net.take(1) == frame(0, 1, b"as before")
    net.end()


def test_a_controlled_switch_outlives_its_ports(switch):
    net = switch(2, control=True)
    net.replace(0)
    net.ports[1].close()
    net.ports[0].close()
    net.ports[0], net.ports[1] = socket.socketpair()     # not the switch's
    assert not select.select([net.stats_fd], [], [], 0.3)[0]
    net.end()
