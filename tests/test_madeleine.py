"""Madeleine: packs and modes, flow, copies, detected mistakes, the end of a node; on Portals
over shared memory, a card, and a card that loses frames; and on MPI."""
from __future__ import annotations

import random
import signal
import subprocess
from pathlib import Path

import pytest

from harness import BUILD, ROOT
from mpi_apps import with_mpi

pytestmark = [pytest.mark.messages, pytest.mark.own_link]

LOSS = ("--link", "virtio", "--faults", "seed=7,loss=1%")
LINKS: dict[str, tuple[str, ...]] = {"shm": (), "virtio": ("--link", "virtio"), "loss": LOSS}
OVER = pytest.mark.parametrize("over", list(LINKS))
BUILDS = pytest.mark.parametrize("build", ["", "debug"])
CASES = [f"ok {case}" for case in ("modes", "kinds", "strings", "pieces", "mixed")]

# The mistake, and the message of both libraries.
WRONG = {
    "early": "sendbuf_init: mad_init was not called",
    "closed": "sendbuf_pack_int: there is no message: call sendbuf_init",
    "unopened": "sendbuf_send: there is no message: call sendbuf_init",
    "node": "sendbuf_init: there is no node 2 of 2",
    "self": "sendbuf_send: a message to oneself must be short: at most 256 bytes",
    "twice": "sendbuf_init: the message before was not sent",
    "mode": "sendbuf_pack_int: mode 0x40 is none",
    "exclusive": "sendbuf_pack_int: SND_SAFER and SND_LATER exclude each other",
    "null": "sendbuf_pack_int: 1 elements at",
    "negative": "sendbuf_pack_int: -1 elements at",
    "string": "sendbuf_pack_str: there is no string",
    "pieces": "sendbuf_pack_int: a message has at most 256 pieces",
    "unfinished": "recvbuf_receive: the handler has not called recvbuf_receive_data",
    "nested": "recvbuf_receive: a handler may not receive another message",
    "after": "recvbuf_unpack_int: no message is being unpacked",
    "unpack": "recvbuf_unpack_int: no message is being unpacked",
    "data": "recvbuf_receive_data: no message is being unpacked",
    "handler": "recvbuf_receive: there is no handler",
}
# Mistakes that the debug library detects earlier, and those that only it detects.
SIZES = {
    "less": "recvbuf_receive_data: node 0 has packed 1 bytes more than were unpacked",
    "more": "recvbuf_unpack_byte: 1001 bytes are unpacked, node 0 has packed 1000",
}
MIRROR = {
    "less": "recvbuf_unpack_byte: unpack 1 is 999 of byte, its pack was 1000 of byte",
    "second": "recvbuf_unpack_byte: unpack 2 is 999 of byte, its pack was 1000 of byte",
    "more": "recvbuf_unpack_byte: unpack 1 is 1001 of byte, its pack was 1000 of byte",
    "kind": "recvbuf_unpack_int: unpack 1 is 250 of int, its pack was 1000 of byte",
    "number": "recvbuf_unpack_byte: unpack 1 is 500 of byte, its pack was 1000 of byte",
    "modes": "recvbuf_unpack_byte: unpack 1 has mode 0x1, its pack had 0x0",
    "express": "recvbuf_unpack_byte: unpack 1 has mode 0x10, its pack had 0x0",
    "again": "sendbuf_pack_byte: this memory was packed before with another mode",
}


def image(name: str, build: str = "") -> Path:
    return BUILD / "tests" / build / f"{name}.elf"


@OVER
@pytest.mark.parametrize("build, nodes", [("", 2), ("", 3), ("", 8), ("debug", 2), ("debug", 3)])
def test_packs_and_modes(margay, over, build, nodes):
    run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", image("mad_messages", build)).ok()
    assert run.lines == CASES


@OVER
@BUILDS
def test_nothing_is_copied_but_headers(margay, over, build):
    """SND_CHEAPER with RECV_CHEAPER, by the counter of both sides: over cards, bodies of up to 64 KB
    are copied once on either side."""
    run = margay("run", *LINKS[over], "-n", 2, "--no-prefix", image("mad_flow", build), "zerocopy",
                 3, *([] if over == "shm" else [65536])).ok()
    assert run.lines == ["done"]


@OVER
@BUILDS
def test_the_longest_body_that_travels_with_its_header(margay, over, build):
    run = margay("run", *LINKS[over], "-n", 3, "--no-prefix", image("mad_flow", build), "edges",
                 2).ok()
    assert run.lines == ["done"]


@OVER
@pytest.mark.parametrize("nodes, count", [(2, 500), (4, 200), (8, 80)])
def test_nothing_is_lost_while_the_receiver_sleeps(margay, over, nodes, count):
    count = count if over == "shm" else count // 4
    run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", image("mad_flow"), "sleeper",
                 count).ok()
    assert run.lines == ["done"]


@OVER
def test_fifteen_senders_and_a_sleeper(margay, over):
    run = margay("run", *LINKS[over], "-n", 16, "--no-prefix", image("mad_flow"), "sleeper",
                 200 if over == "shm" else 20).ok()
    assert run.lines == ["done"]


@pytest.mark.long
def test_all_of_it_on_64(margay):
    run = margay("run", "-n", 64, "--mem", 64, "--no-prefix", image("mad_messages"),
                 timeout=300).ok()
    assert run.lines == CASES
    for case, count in (("sleeper", 50), ("ring", 20)):
        run = margay("run", "-n", 64, "--mem", 64, "--no-prefix", image("mad_flow"), case, count,
                     timeout=300).ok()
        assert run.lines == ["done"]


@OVER
@pytest.mark.parametrize("nodes", [1, 2, 5])
def test_around_a_ring(margay, over, nodes):
    run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", image("mad_flow"), "ring",
                 200 if over == "shm" else 50).ok()
    assert run.lines == ["done"]


@pytest.mark.parametrize("build, what, says", [
    *(("", what, says) for what, says in {**WRONG, **SIZES}.items()),
    *(("debug", what, says) for what, says in MIRROR.items())])
def test_a_mistake_ends_the_job(margay, build, what, says):
    run = margay("run", "-n", 2, image("mad_wrong", build), what).status(1)
    run.says(rf"madeleine: rank \d: {says}")


@pytest.mark.parametrize("over", ["shm", "virtio"])
@pytest.mark.parametrize("what", ["short", "long"])
def test_a_send_to_a_node_that_has_ended(margay, over, what):
    run = margay("run", *LINKS[over], "-n", 2, image("mad_ends"), what).status(1)
    run.says(r"madeleine: rank 0: a message: node 1 has ended")


@pytest.mark.parametrize("over", ["shm", "virtio"])
@pytest.mark.parametrize("what", ["killed", "receives"])
def test_a_node_dies(margay, over, what):
    """The job ends. A receive from any node does not fail by itself: the launcher ends it."""
    live = margay.start("run", *LINKS[over], "-n", 3, image("mad_ends"), what)
    live.wait_for(r"^\[0\] running$")
    live.kill_node(1, random.Random(what + over).random() * 0.2)
    run = live.wait()
    by_itself = r"^\[(\d)\] madeleine: rank \1: a message: node 1 has ended$"
    run.ends_after_a_death(r"0 and 2", by_itself if what != "receives" else "")


def test_a_node_dies_while_its_header_arrives(margay):
    """Over a slow link, in many frames, so that most of the time one is on its way: the others'
    messages come."""
    live = margay.start("run", "--link", "e1000", "--bandwidth", "1000,1:1", "-n", 3, "--on-death",
                        "continue", image("mad_ends"), "header")
    live.wait_for(r"^\[0\] running$")
    live.kill_node(1, 0.5)
    run = live.wait().status(128 + signal.SIGKILL)
    assert run.of_rank(0) == ["running", "done"], run.describe()


@OVER
@pytest.mark.parametrize("nodes", [2, 4])
def test_examples(margay, app, over, nodes):
    run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", app("mad_rpc"), 20000).ok()
    run.prints(rf"^{nodes - 1} calls, 0 wrong; \d+ bytes copied$")
    run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", app("mad_strings")).ok()
    assert sorted(run.lines) == [
        f"{rank} received: greetings from node {(rank - 1) % nodes}, "
        f"with {(rank - 1) % nodes * 7} more words" for rank in range(nodes)]


def test_example_usage(margay, app):
    margay("run", "-n", 2, app("mad_rpc"), 0).status(2).says("usage: mad_rpc")


def on_mpi(name: str, folder: Path) -> Path:
    """The same program with the portability interface on MPI."""
    made = folder / f"{name}.elf"
    sources = [ROOT / "lib/madeleine" / f"{part}.c" for part in ("pack", "unpack", "mpi")]
    subprocess.run([ROOT / "tools/mpicc", "-O2", "-Wall", "-Wextra", "-Werror",
                    "-Wno-stringop-overflow", "-DMAD_ON_MPI", f"-I{ROOT}/lib/madeleine/include",
                    ROOT / f"tests/lib/madeleine/{name}.c", *sources, "-o", made], check=True)
    return made


@with_mpi
@pytest.mark.parametrize("over", ["shm", "virtio"])
def test_on_mpi(margay, tmp_path, over):
    """All packs and modes, nothing copied, a receiver that sleeps, a mistake."""
    messages, flow, wrong = (on_mpi(f"mad_{name}", tmp_path) for name in
                             ("messages", "flow", "wrong"))
    run = margay("run", *LINKS[over], "-n", 3, "--no-prefix", messages).ok()
    assert run.lines == CASES
    for nodes, case, count in ((2, "zerocopy", 2), (4, "sleeper", 60), (3, "ring", 50),
                               (1, "ring", 200)):
        run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", flow, case, count).ok()
        assert run.lines == ["done"]
    run = margay("run", *LINKS[over], "-n", 2, wrong, "more").status(1)
    run.says(f"madeleine: rank 1: {SIZES['more']}")


@with_mpi
@pytest.mark.long
@pytest.mark.nodes(2)
@pytest.mark.parametrize("port", ["portals", "mpi"])
def test_pieces_of_more_than_2_gib(margay, app, tmp_path, port):
    image = app("mad_long") if port == "portals" else on_mpi("mad_long", tmp_path)
    for count in (270_000_000, 540_000_000):          # bytes: 2^31 + 12 million, 2^32 + 25 million
        run = margay("run", "-n", 2, "--mem", 2100 if count < 300_000_000 else 4200,
                     "--no-prefix", image, count).ok()
        assert run.lines == ["done"]
