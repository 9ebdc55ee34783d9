"""The libfabric provider by itself: its calls and guarantees, over each kind of link."""
from __future__ import annotations

import random
import re
import signal

import pytest

pytestmark = [pytest.mark.mpi, pytest.mark.messages, pytest.mark.own_link]

LOSS = ("--link", "virtio", "--faults", "seed=7,loss=1%")
LINKS: dict[str, tuple[str, ...]] = {"shm": (), "virtio": ("--link", "virtio"), "loss": LOSS}
OVER = pytest.mark.parametrize("over", list(LINKS))

INFO = ("offered hinted more_than_offered flags vectors names busy incomplete options peers events "
        "not_offered").split()

MESSAGES = ("posted early untagged matching vectors truncated injected arguments bad_memory "
            "unwritable cancelled peeked delivery").split()
COMPLETIONS = "selective formats waiting failure_in_order undirected inject_by_default".split()

MULTI = ("posted early cancelled cancelled_fetching arguments beyond_memory many_buffers "
         "released_at_once behind overtaking").split()

# Case, nodes, messages of each rank: over shared memory, and over cards.
FLOODS = [("early", 4, 10000, 1000), ("self", 1, 20000, 0), ("all", 4, 2000, 300),
          ("all", 8, 200, 30), ("reverse", 2, 3000, 500), ("onesided", 4, 10000, 1000),
          ("long", 2, 1000, 600), ("long", 1, 1000, 0),
          ("longest", 3, 1000, 300), ("longest", 1, 3000, 0),
          ("scattered", 1, 400, 0), ("scattered", 2, 400, 200), ("receives", 2, 5000, 3000),
          ("everything", 2, 500, 500), ("steps", 3, 2000, 300), ("injects", 3, 1000, 100),
          ("entries", 2, 2000, 1000), ("unread", 4, 300, 0)]
MANY_FLOODS = [("steps", 64, 200), ("injects", 64, 50), ("all", 64, 10), ("early", 64, 1000),
               ("early", 16, 100000), ("self", 1, 300000), ("onesided", 16, 20000)]

PROGRESS = "fresh posted early many onesided busy learned patient window".split()

RMA = "sizes pieces injected refused registered closed_soon ordered delivered counted".split()

ATOMIC = ("int8 uint16 int32 uint64 floats doubles compared pieces refused sums "
          "overwritten growing delivered").split()


def cases(margay, app, over: str, nodes: int, name: str, wanted: list[str], *args: object) -> None:
    """Rank 0 prints a line for each case that all ranks have passed."""
    run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", app(name), *args).ok()
    assert run.lines == [f"ok {case}" for case in wanted]


@OVER
@pytest.mark.parametrize("size, count", [(8, 3000), (1000, 60), (4096, 600)])
def test_injected_messages_outlive_their_endpoint(margay, app, over, size, count):
    """fi_close waits for messages without credit; memory that is still being read is not reused."""
    margay("run", *LINKS[over], "-n", 2, "--no-prefix", app("ofi_close"), size, count).ok().prints(
        "^ok$")


@OVER
def test_a_message_to_a_closed_endpoint_names_the_cause(margay, app, over):
    margay("run", *LINKS[over], "-n", 2, "--no-prefix", app("ofi_close"), "late",
           *([] if over == "shm" else ["card"])).ok().prints("^ok$")


@OVER
def test_long_messages_that_a_closed_endpoint_has_not_fetched(margay, app, over):
    margay("run", *LINKS[over], "-n", 2, "--no-prefix", app("ofi_close"), "unread").ok().prints("^ok$")


def test_what_is_offered(margay, app):
    cases(margay, app, "shm", 1, "ofi_info", INFO)


@OVER
@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_messages(margay, app, over, nodes):
    """Sends and receives around a ring of ranks."""
    cases(margay, app, over, nodes, "ofi_messages", MESSAGES)


@OVER
def test_completions(margay, app, over):
    cases(margay, app, over, 2, "ofi_completions", COMPLETIONS)


@OVER
@pytest.mark.parametrize("nodes", [1, 2])
def test_buffers_of_many_messages(margay, app, over, nodes):
    cases(margay, app, over, nodes, "ofi_multi", MULTI)


@OVER
@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_reads_and_writes(margay, app, over, nodes):
    cases(margay, app, over, nodes, "ofi_rma", RMA)


@OVER
@pytest.mark.parametrize("nodes", [1, 3])
def test_atomic_operations(margay, app, over, nodes):
    cases(margay, app, over, nodes, "ofi_atomic", ATOMIC)


@OVER
@pytest.mark.parametrize("case, nodes, near, far", FLOODS)
def test_floods(margay, app, over, case, nodes, near, far):
    """More messages than slots, credit and memory: none is lost or stuck."""
    count = near if over == "shm" else far
    if not count:
        pytest.skip("over shared memory only")
    run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", app("ofi_flow"), case, count).ok()
    assert run.lines == ["done"]


@OVER
def test_injected_messages_leave_the_program_memory(margay, app, over):
    """100 MB of them in nodes of 64 MB, while the receiver sleeps."""
    run = margay("run", *LINKS[over], "-n", 2, "--mem", 64, "--no-prefix", app("ofi_flow"), "memory",
                 100000).ok()
    assert run.lines == ["done"]


@OVER
def test_a_flood_that_memory_does_not_hold(margay, app, over):
    """The receiver says how many messages it has. 20 MB of them in a node of 32 MB."""
    run = margay("run", *LINKS[over], "-n", 3, "--mem", 32, "--no-prefix", app("ofi_flow"), "hoard",
                 20000).status(1)
    said = run.says(r"^margay: rank 0: out of memory with (\d+) messages that came before"
                    r" their receive; give nodes more: --mem$")
    run.says(r"^margay: rank 0 \(node 0\) ended with status 1$")
    assert 10000 < int(said[1]) < 40000


@pytest.mark.long
@pytest.mark.parametrize("case, nodes, count", MANY_FLOODS)
def test_floods_of_many(margay, app, case, nodes, count):
    memory = 128 if nodes == 64 else 1024 if case == "early" else 256
    run = margay("run", "-n", nodes, "--mem", memory, "--no-prefix", app("ofi_flow"), case, count,
                 timeout=300).ok()
    assert run.lines == ["done"]


@OVER
def test_progress_without_calls(margay, app, over):
    """Both sides compute and only poll their memory."""
    cases(margay, app, over, 2, "ofi_progress", PROGRESS)


@OVER
@pytest.mark.parametrize("nodes, seed", [(1, 1), (2, 2), (4, 3), (8, 4)])
def test_random_messages(margay, app, over, nodes, seed):
    run = margay("run", *LINKS[over], "-n", nodes, "--mem", 32, "--no-prefix", app("ofi_random"),
                 seed, 4 if over == "shm" else 2).ok()
    assert run.lines == ["done"]


@pytest.mark.long
@OVER
@pytest.mark.parametrize("seed", range(100, 160))
def test_random_messages_of_many_seeds(margay, app, over, seed):
    run = margay("run", *LINKS[over], "-n", 1 + seed % 8, "--mem", 32, "--no-prefix",
                 app("ofi_random"), seed, 10).ok()
    assert run.lines == ["done"]


@pytest.mark.long
def test_random_messages_of_64(margay, app):
    run = margay("run", "-n", 64, "--mem", 32, "--no-prefix", app("ofi_random"), 5, 3,
                 timeout=300).ok()
    assert run.lines == ["done"]


def peer_dies(margay, app, over: str, what: str, seed: int = 0) -> None:
    """Each operation with it fails, though the job goes on. If the death damaged the queues of a
    rank, which happens only over shared memory, a wait ends this rank."""
    live = margay.start("run", *LINKS[over], "-n", 3, "--on-death", "continue", app("ofi_death"),
                        what)
    for rank in (0,) if what in ("receives", "open") else (0, 2):
        live.wait_for(rf"^\[{rank}\] running$")
    live.kill_node(1, random.Random(f"{what}{over}{seed}").random() * 0.2)
    run = live.wait().status(128 + signal.SIGKILL)
    run.says(r"margay: .*rank 1\b.*died")
    damaged = re.findall(r"^\[(\d)\] margay: rank \1: another rank died while it changed this one's "
                         "queues", run.stderr, re.M)
    assert len(damaged) <= (over == "shm"), run.describe()
    for rank in (0,) if what == "receives" else (0, 2):
        assert str(rank) in damaged or run.of_rank(rank)[-1:] == ["failed"], run.describe()


@pytest.mark.parametrize("over", ["shm", "virtio"])
@pytest.mark.parametrize("what", ["sends", "writes", "reads", "receives", "open"])
def test_peer_dies(margay, app, over, what):
    peer_dies(margay, app, over, what)


@pytest.mark.long
@pytest.mark.parametrize("what", ["sends", "writes", "reads", "receives"])
@pytest.mark.parametrize("seed", range(1, 31))
def test_peer_dies_many_times(margay, app, what, seed):
    """About one death in 20 comes while the peer changes the queues of another rank."""
    peer_dies(margay, app, "shm", what, seed)
