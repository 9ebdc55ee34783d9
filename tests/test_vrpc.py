"""vRPC (lib/vmmc): Sun's remote procedure calls, with rpcgen's stubs and libtirpc's layers."""
from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess

import pytest

from harness import BUILD, ROOT

pytestmark = [pytest.mark.messages, pytest.mark.own_link]

LOSS = ("--link", "virtio", "--faults", "seed=13,loss=1%")
LINKS: dict[str, tuple[str, ...]] = {"shm": (), "virtio": ("--link", "virtio"), "loss": LOSS}
OVER = pytest.mark.parametrize("over", list(LINKS))

CASES = "values strings unknown versions controls timeouts batches authentication".split()
SIZES = (0, 1, 3, 4, 5, 40, 1000, 4096, 16300, 16384, 16400, 33000, 100000, 1 << 20, 4 << 20)


@OVER
@pytest.mark.parametrize("nodes", [2, 4])
def test_calculator(margay, app, over, nodes):
    """Results, and the standard errors: timeouts, unknown procedures, wrong versions."""
    run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", app("vrpc_calc"), "cases").ok()
    assert run.lines == [f"ok {case}" for case in CASES]


@OVER
@pytest.mark.parametrize("nodes", [2, 4])
def test_bulk(margay, app, over, nodes):
    """Opaque data of any size both ways, longer than the buffers as well."""
    largest = SIZES[-1] if over == "shm" else 100000
    run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", app("vrpc_bulk"), largest).ok()
    assert run.lines == [f"ok {size}" for size in SIZES if size <= largest]


@OVER
def test_types(margay, app, over):
    """Every kind of type that rpcgen knows, and values and messages that are refused."""
    run = margay("run", *LINKS[over], "-n", 2, "--mem", 400, "--no-prefix",
                 app("vrpc_types")).ok()
    assert run.lines == [f"ok {case}" for case in
                         ("unions", "lists", "records", "arrays", "errors")]


@pytest.mark.parametrize("over", ["shm", "virtio"])
def test_directory(margay, app, over, tmp_path):
    """The server's main is rpcgen's."""
    wanted = {".", ".."} | {f"file {number}" for number in range(200)}
    folder = tmp_path / "listed"
    folder.mkdir()
    for name in wanted - {".", ".."}:
        (folder / name).touch()
    run = margay("run", *LINKS[over], "-n", 3, "--no-prefix", app("vrpc_dir"), "listed")
    run.status(1).says("svc_run returned")      # as rpcgen's main prints
    assert set(run.lines) == wanted and len(run.lines) == len(wanted)


@pytest.mark.parametrize("over", ["shm", "virtio"])
def test_server_dies(margay, app, over):
    """Pending calls end with RPC_CANTRECV, later ones with RPC_CANTSEND."""
    live = margay.start("run", *LINKS[over], "-n", 3, app("vrpc_calc"), "waits")
    live.wait_for(r"^\[[12]\] running$", count=2)
    live.kill_node(0, random.Random(over).random() * 0.3)
    run = live.wait().status(128 + signal.SIGKILL)
    assert run.of_rank(1)[-1] == "failed" and run.of_rank(2)[-1] == "failed", run.describe()


@OVER
def test_server_leaves(margay, app, over):
    """The same when the server's process exits during a call."""
    run = margay("run", *LINKS[over], "-n", 3, app("vrpc_calc"), "leaves").ok()
    assert run.of_rank(1)[-1] == "failed" and run.of_rank(2)[-1] == "failed", run.describe()


@OVER
@pytest.mark.parametrize("nodes", [4, 16])
def test_a_server_that_sleeps_loses_no_call(margay, app, over, nodes):
    run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", app("vrpc_calc"), "sleeper").ok()
    assert run.lines == ["done"]


@OVER
def test_the_timeout_is_that_of_the_whole_call(margay, app, over):
    run = margay("run", *LINKS[over], "-n", 2, "--no-prefix", app("vrpc_calc"), "deadline").ok()
    assert run.lines == ["done"]


def test_a_procedure_destroys_the_transport(margay, app):
    """Its reply arrives, and the transport can be made again."""
    run = margay("run", "-n", 2, "--no-prefix", app("vrpc_calc"), "closes").ok()
    assert run.lines == ["done"]


@OVER
def test_a_client_that_leaves_at_once(margay, app, over):
    """The server drops its call and serves the others."""
    run = margay("run", *LINKS[over], "-n", 3, app("vrpc_calc"), "once").ok()
    assert run.of_rank(2) == ["served"], run.describe()


@pytest.mark.parametrize("over", ["shm", "virtio"])
@pytest.mark.parametrize("victim", [0, 1])
def test_deaths_in_the_middle_of_long_messages(margay, app, over, victim):
    """Clients of a dead server get the standard errors; a server goes on without a dead client."""
    live = margay.start("run", *LINKS[over], "-n", 3, "--on-death", "continue", app("vrpc_bulk"),
                        "death")
    live.wait_for(r"^\[[12]\] running$", count=2)
    live.kill_node(victim, random.Random(f"{over} {victim}").random() * 0.2)
    run = live.wait()
    assert run.of_rank(2)[-1] == ("served" if victim else "failed"), run.describe()
    assert victim or run.of_rank(1)[-1] == "failed", run.describe()


@OVER
@pytest.mark.parametrize("side", ["server", "client", "both"])
def test_vmmc_is_opened_again(margay, app, over, side):
    """A new client works; calls of an old one end with the standard errors."""
    run = margay("run", *LINKS[over], "-n", 2, "--no-prefix", app("vrpc_lives"), side).ok()
    assert run.lines == ["ok"]


@pytest.mark.parametrize("link", ["virtio", "e1000"])
@pytest.mark.parametrize("victim", ["server", "client"])
def test_a_peer_is_restarted(margay, app, link, victim):
    """The same when a process is started again; a pending call ends with RPC_CANTRECV."""
    live = margay.start("run", "--link", link, "-n", 2, "--on-death", "restart",
                        app("vrpc_lives"), f"{victim}-dies")
    live.wait_for(r"^\[[01]\] running$", count=2)
    live.kill_node(0 if victim == "server" else 1)
    run = live.wait().ok()
    assert run.of_rank(1)[-1] == "ok", run.describe()


@pytest.mark.parametrize("over", ["shm", "virtio"])
def test_a_program_built_as_the_readme_says(margay, tmp_path, over):
    """rpcgen's files without a change, and the flags of pkg-config in a checkout."""
    sources = ROOT / "tests/lib/vmmc/rpc/message"
    for name in ("message.x", "message.c"):
        shutil.copy(sources / name, tmp_path)
    for option, made in (("-l", "message_clnt.c"), ("-h", "message.h"), ("-m", "message_svc.c")):
        subprocess.run(["rpcgen", option, "-o", made, "message.x"], cwd=tmp_path, check=True)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "vrpc"], check=True, text=True,
                           stdout=subprocess.PIPE, env={
                               **os.environ, "PKG_CONFIG_PATH": str(BUILD / "pkgconfig")})
    subprocess.run([ROOT / "tools/margay", "cc", "-w", "message.c", "message_clnt.c",
                    "message_svc.c", "-o", "message.elf", *flags.stdout.split()], cwd=tmp_path,
                   check=True)
    run = margay("run", *LINKS[over], "-n", 3, tmp_path / "message.elf").ok()
    assert sorted(run.of_rank(0)) == ["hello of rank 1", "hello of rank 2"]
    for rank in (1, 2):
        assert run.of_rank(rank) == ["16 characters; RPC: Program/version mismatch; "
                                     "RPC: Procedure unavailable"]


@pytest.mark.long
def test_calculator_of_64(margay, app):
    run = margay("run", "-n", 64, "--mem", 64, "--no-prefix", app("vrpc_calc"), "cases",
                 timeout=300).ok()
    assert run.lines == [f"ok {case}" for case in CASES]
