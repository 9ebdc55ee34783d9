"""MPI moves the right data: collectives against a serial model, messages and one-sided
operations whose every byte is checked, also over links that lose, repeat and reorder; many ranks."""
from __future__ import annotations

import json

import pytest

from faulty import COUNTED
from mpi_apps import mpi_app, with_mpi

pytestmark = [pytest.mark.mpi, pytest.mark.messages, pytest.mark.spin(2), pytest.mark.own_link, with_mpi]

LONG = 600.0                   # a deadline that only detects a hang


def run(margay, name: str, ranks: int, *args: object, options: tuple = (), timeout: float = 150):
    return margay("run", "-n", ranks, "--no-prefix", *options, mpi_app("tests", name), *args,
                  timeout=timeout).ok()


@pytest.mark.parametrize("link, ranks, rounds", [("shm", 8, 2), ("shm", 3, 4), ("virtio", 4, 2)])
def test_collectives(margay, link, ranks, rounds):
    said = run(margay, "collectives", ranks, rounds, ranks, 400, options=("--link", link))
    assert said.lines == [f"collectives: {rounds} rounds"]


@pytest.mark.long
@pytest.mark.timeout(LONG)
@pytest.mark.parametrize("seed", range(5))
def test_collectives_of_64(margay, seed):
    """100 rounds in five runs."""
    run(margay, "collectives", 64, 20, seed, 200, options=("--mem", 32), timeout=LONG)


@pytest.mark.long
@pytest.mark.timeout(LONG)
@pytest.mark.parametrize("link", ["shm", "virtio"])
@pytest.mark.parametrize("ranks", range(1, 17))
def test_collectives_of_all_sizes(margay, link, ranks):
    run(margay, "collectives", ranks, 20, 50 + ranks, 2000, options=("--link", link),
        timeout=LONG)


@pytest.mark.parametrize("link", ["shm", "virtio"])
def test_messages(margay, link):
    said = run(margay, "messages", 3, 5, 1, 100000, options=("--link", link))
    assert said.lines == ["messages: 5 rounds"]


@pytest.mark.parametrize("link", ["shm", "virtio"])
@pytest.mark.parametrize("seed", [1, 2])
def test_elements(margay, link, seed):
    """Derived datatypes of several basic types: received without an error, and counted."""
    said = run(margay, "elements", 2, 400, seed, options=("--link", link))
    assert said.lines == ["elements: 400 rounds"]


@pytest.mark.parametrize("seed", [1, 2])
def test_distributed_arrays(margay, seed):
    """All kinds of distribution, and both orders: the elements that the definition gives."""
    said = run(margay, "darrays", 1, 1000, seed)
    assert said.lines == ["darrays: 1000 rounds"]


@pytest.mark.parametrize("link", ["shm", "virtio"])
@pytest.mark.parametrize("ranks", [2, 5])
def test_neighbors_of_unequal_number(margay, link, ranks):
    said = run(margay, "neighbors", ranks, 60, ranks, options=("--link", link))
    assert said.lines == ["neighbors: 60 rounds"]


@pytest.mark.parametrize("link, ranks", [("shm", 2), ("shm", 3), ("shm", 8), ("virtio", 4)])
def test_persistent_collectives(margay, link, ranks):
    """Each start moves the data of this start."""
    said = run(margay, "persistent", ranks, 60, ranks, options=("--link", link))
    assert said.lines == ["persistent: 60 rounds"]


def test_receives_from_no_process(margay):
    said = run(margay, "requests", 2)
    assert said.lines == ["requests: ok"]


def test_error_handlers_outside_of_sessions(margay):
    said = run(margay, "requests", 1, "session")
    assert said.lines == ["session: 2 process sets, 1 calls"]


def test_joined_errors_have_an_end_and_name_both(margay):
    said = margay("run", "-n", 1, "--no-prefix", mpi_app("tests", "errors"), timeout=30).ok()
    assert said.lines == ["before", "after", "same", "apart", "classes", "chain"]


def over_faults(margay, tmp_path, kind: str, name: str, seed: int, rounds: int) -> None:
    report = tmp_path / "run.json"
    run(margay, name, 3, rounds, seed, 20000 if name == "messages" else 300, timeout=LONG, options=(
        "--link", "virtio", "--faults", f"seed={seed},{kind}=5%", "--json", report))
    ports = json.loads(report.read_text())["switch"]["ports"]
    assert sum(port[COUNTED[kind]] for port in ports) > 0


@pytest.mark.parametrize("kind", ["loss", "dup", "reorder"])
@pytest.mark.parametrize("name", ["collectives", "messages"])
def test_faulty_links(margay, tmp_path, kind, name):
    over_faults(margay, tmp_path, kind, name, 1, 3)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["loss", "dup", "reorder"])
@pytest.mark.parametrize("name", ["collectives", "messages"])
@pytest.mark.parametrize("seed", range(10, 20))
def test_faulty_links_more(margay, tmp_path, kind, name, seed):
    over_faults(margay, tmp_path, kind, name, seed, 20)


@pytest.mark.parametrize("link", ["shm", "virtio"])
def test_accumulates(margay, link):
    """Without atomic operations in the kernel, long and short ones do not lose each other's changes
    of the same elements (docs/mpi.md)."""
    said = run(margay, "accumulates", 3, 1000,
               options=("--link", link, "--env", "MPIR_CVAR_CH4_OFI_ENABLE_ATOMICS=0"))
    assert said.lines == ["accumulates: 1000 rounds"]


@pytest.mark.parametrize("link", ["shm", "virtio"])
def test_active_messages_overtake_receives_in_pieces(margay, link):
    """Receives in pieces that wait for messages use up what the kernel has for pieces."""
    said = run(margay, "waiting", 2, options=("--link", link), timeout=60)
    assert said.lines == ["waiting: 1200 accumulates"]


@pytest.mark.long
@pytest.mark.nodes(128)
def test_128_ranks(margay):
    said = run(margay, "many", 128, options=("--mem", 32), timeout=LONG)
    assert said.lines == ["many: 128 ranks"]


# ---- unsupported features ----

def test_clocks(margay):
    """MPI_WTIME_IS_GLOBAL is false, as each node has its own clock."""
    assert run(margay, "limits", 3, "clocks").lines == ["global: 0"]


def test_windows_that_are_not_freed(margay):
    run(margay, "limits", 2, "windows").ok()


def test_spawn(margay):
    said = run(margay, "limits", 2, "spawn")
    assert said.lines == ["refused"]
    said.says("^margay: a process cannot start another: each has its own node")


def test_connections(margay):
    """Errors that say why, of MPI_Comm_accept too, which would wait for ever."""
    said = run(margay, "limits", 2, "connections")
    for call in ("MPI_Comm_accept", "MPI_Comm_connect", "MPI_Open_port"):
        said.prints(rf"{call}\(.*: There is no other process to connect to; all processes of a job")
    said.prints(r"MPI_Comm_join\(\d+\).*: Descriptor 0 is no socket: nodes have none")


def test_shared_memory(margay):
    """Ranks share no memory: the only shared windows are those of a rank with itself."""
    run(margay, "limits", 2, "shared").prints(
        r"^MPI_Win_allocate_shared\(\d+\).*: Memory cannot be shared by 2 ranks: each has its own")


def test_puts_outside_a_window(margay):
    """The job ends with MPICH's error, which gives the provider's reason."""
    said = margay("run", "-n", 2, "--no-prefix", mpi_app("tests", "limits"), "outside")
    assert said.returncode, said.describe()
    said.says(r"MPI_Win_flush.* failed")
    said.says(r"no region of the target grants this range and access")
