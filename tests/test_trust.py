"""Forged answers at booted nodes: node 2 of a job answers requests of node 0 to node 1. It has the
job's key, reads the operations from the wire, and answers first, as node 1 is stopped.
tests/host/test_answer_trust.c and test_frames_trust.c do the same field by field.

Also BARRIER messages that no correct node in its place would send; tests/host/test_barrier.c tests
each of them.
"""
from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Iterator

import pytest

import frames
from frames import MSG, Frame
from harness import stop, until
from ports import LIFE, Port
from test_hostile import NODES

pytestmark = [pytest.mark.nic, pytest.mark.nodes(3), pytest.mark.spin(2)]

KEY = "00112233445566778899aabbccddeeff"
PUT, GET, ACK, REPLY, GETPUT, ATOMIC, BARRIER = 1, 2, 3, 4, 5, 6, 8
NI_OK, NI_FAIL, NI_DROPPED = range(3)
NO_ACK = 1                     # message.link: nothing is acknowledged
DROPS = 2000                   # forged answers, at least
BARRIERS = 500                 # forged messages of a barrier, at least
LONG = 1000                    # bytes of the longer get
FLUSH = 9000                   # bytes that flush the capture's buffer


def fields_of(message: bytes) -> dict[str, int]:
    return {name: int.from_bytes(message[at:at + size], "little")
            for name, at, size in frames.MESSAGE_FIELDS}


def messages_of(captured: list[bytes]) -> Iterator[dict[str, int]]:
    """The messages that are alone in their frame, with the whole header."""
    for frame in captured:
        for data in frames.split_aggregate(frame):
            # Not announced, and no plain puts.
            if data[15] & 0x4F == MSG and len(data) > frames.HEADER:
                yield fields_of(data[frames.HEADER + frames.ENTRY:frames.DATA_HEADER])


def sort_of(request: dict[str, int]) -> tuple[int, bool]:
    """The kind of this request, among the five of ptl_trust."""
    return request["operation"], request["length"] == LONG


class Requests:
    """Unanswered requests of node 0 to node 1, by operation record. Node 1 is stopped meanwhile and
    given up after some seconds, so what was read once is not read again."""

    def __init__(self, capture: frames.Capture) -> None:
        self.capture, self.asked, self.answered = capture, {}, set()

    def unanswered(self) -> dict[int, dict[str, int]]:
        for message in messages_of(self.capture.new()):
            way = message["source_nid"], message["target_nid"]
            if way == (0, 1) and message["op_handle"]:
                self.asked[message["op_handle"]] = message
            elif way == (1, 0) and message["operation"] in (ACK, REPLY):
                self.answered.add(message["op_handle"])
        return {op: message for op, message in self.asked.items() if op not in self.answered}


class Node2:
    """Node 2: its second card sends answers that its first card does not."""

    def __init__(self, port: Port, key: bytes | None, capture: frames.Capture) -> None:
        self.port, self.key, self.capture, self.said, self.flushes = port, key, capture, [], 0

    def frame(self, sequence: int, message: bytes, payload: bytes) -> bytes:
        return Frame(to=0, sender=2, sender_card=9, lane=1, source=LIFE, destination=LIFE,
                     sequence=sequence, window=64, messages=1, message=message,
                     payload=payload, length=len(payload)).encode(self.key)

    def answers(self, request: dict[str, int], **wrong: int) -> None:
        """The correct answer, except for the sender and these fields."""
        fetches = request["operation"] in (GET, GETPUT)
        fields = {**request, "operation": REPLY if fetches else ACK, "ack_request": 0,
                  "atomic_operation": 0, "datatype": 0, "cookie": 0, "source_nid": 2,
                  "source_pid": request["target_pid"], "target_nid": 0,
                  "target_pid": request["source_pid"], "mlength": request["length"], **wrong}
        payload = b"\xee" * fields["mlength"] if fields["operation"] == REPLY else b""
        self.said.append(self.frame(len(self.said), frames.message(**fields), payload))

    def lies(self, request: dict[str, int]) -> None:
        """Every forged answer that could end node 0's operation, or write into its memory."""
        self.answers(request)
        self.answers(request, fail=NI_FAIL, mlength=0)
        self.answers(request, fail=NI_DROPPED, mlength=0)
        self.answers(request, link=NO_ACK)
        self.answers(request, operation=ACK)
        self.answers(request, operation=ACK, link=NO_ACK)
        self.answers(request, operation=REPLY, mlength=16)
        self.answers(request, op_handle=0)
        self.answers(request, op_handle=0, operation=REPLY, mlength=16)
        self.answers(request, op_handle=0, operation=REPLY, mlength=LONG)
        self.answers(request, op_handle=0, operation=ACK)
        self.answers(request, op_handle=request["op_handle"] + (1 << 20))

    def flush(self) -> None:
        """Waits until the switch has forwarded all earlier frames, and the capture has them: sends a
        long frame to node 1, and waits until the capture has its beginning."""
        self.flushes += 1
        mark = f"flush {self.flushes};".encode()
        self.port.send([Frame(to=1, sender=2, sender_card=9, source=1, messages=1, length=FLUSH,
                              payload=mark.ljust(FLUSH, b"."))
                        .encode(self.key)])
        until(lambda: mark in self.capture.tail())

    def speak(self, first: int) -> None:
        """Sends again all frames that node 0 may have missed; it accepts each once."""
        for at in range(first, len(self.said), 20):
            self.port.send(self.said[at:at + 20])


@pytest.mark.parametrize("auth", [[], [f"--auth={KEY}"]], ids=["plain", "auth"])
def test_rule17_another_node_of_the_job_answers(margay, app, tmp_path, port, auth):
    capture = frames.Capture(tmp_path / "capture.pcap")
    live = margay.start("run", "-n", NODES, "--link", "virtio", "--pcap", capture.path, "--test-port",
                        f"{port.far.fileno()}:2.9", *auth, app("ptl_trust"), DROPS,
                        pass_fds=(port.far.fileno(),))
    port.far.close()           # the launcher and the switch own it
    live.wait_for(r"^\[0\] asks$")
    node1 = live.nodes()[1]
    node2 = Node2(port, bytes.fromhex(KEY) if auth else None, capture)
    requests = Requests(capture)
    seen: set[tuple[int, bool]] = set()
    request: dict[str, int] = {}
    while len(seen) < 5:
        stop(node1)
        node2.flush()
        first = len(node2.said)
        for request in requests.unanswered().values():
            if sort_of(request) not in seen or len(node2.said) < DROPS // 2:
                node2.lies(request)       # fewer than DROPS forgeries before all kinds were seen
            seen.add(sort_of(request))
        node2.speak(first)
        node2.flush()                             # now all are in flight to node 0
        os.kill(node1, signal.SIGCONT)
    assert seen == {(PUT, False), (ATOMIC, False), (GET, False), (GET, True), (GETPUT, False)}
    while len(node2.said) < DROPS:
        node2.answers(request, op_handle=0)
    while live.process.poll() is None:
        node2.speak(0)
    run = live.wait().ok()
    assert run.lines == ["[0] asks", f"[0] ok trust, {len(node2.said)} dropped"]


def pid_of(capture: Path) -> int:
    """The process id of all nodes of the job, from one's frames. The switch writes its buffer
    late."""
    first = until(lambda: next(messages_of(frames.read_capture(capture)), None), "no message was sent")
    assert first
    return first["source_pid"]


def forged_barriers() -> list[dict[str, int]]:
    """All messages that node 3 of six can send to node 0 about a barrier, though no round of
    node 0 waits for node 3: valid and invalid rounds, failures, questions, and nonsense."""
    news = [*range(20), 99, 1 << 31, (1 << 32) - 1]
    said = [{"pt_index": one} for one in news]
    return said + [{"pt_index": 0, "source_pid": 7}, {"pt_index": 1, "target_pid": 7}]


@pytest.mark.nodes(6)
@pytest.mark.parametrize("auth", [[], [f"--auth={KEY}"]], ids=["plain", "auth"])
def test_forged_barriers_at_a_booted_node(margay, app, tmp_path, port, auth):
    """They are dropped and counted; barriers meanwhile and later wait for all ranks."""
    capture = tmp_path / "capture.pcap"
    live = margay.start("run", "-n", 6, "--link", "virtio", "--pcap", capture, "--test-port",
                        f"{port.far.fileno()}:3.9", *auth, app("ptl_forged"), BARRIERS,
                        pass_fds=(port.far.fileno(),))
    port.far.close()
    live.wait_for(r"^\[0\] barriers$")
    pid = pid_of(capture)
    said = []
    while len(said) < BARRIERS:
        for fields in forged_barriers():
            fields = {"source_pid": pid, "target_pid": pid, **fields}
            message = frames.message(operation=BARRIER, source_nid=3, target_nid=0, **fields)
            said.append(Frame(to=0, sender=3, sender_card=9, lane=0, source=LIFE, destination=LIFE,
                              sequence=len(said), window=64, messages=1,
                              message=message).encode(bytes.fromhex(KEY) if auth else None))
    while live.process.poll() is None:
        for at in range(0, len(said), 20):         # each is accepted once
            port.send(said[at:at + 20])
    run = live.wait().ok()
    assert run.lines[0] == "[0] barriers"
    assert BARRIERS <= int(run.prints(r"^\[0\] ok forged, (\d+) dropped$").group(1)) <= len(said)
