"""Standard input: which ranks read it, and how a program waits for it."""
from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from harness import HANG, MARGAY

pytestmark = pytest.mark.launcher

MB = 1 << 20


def of_ranks(folder: Path, nodes: int) -> list[bytes]:
    return [(folder / f"rank{rank}.out").read_bytes() for rank in range(nodes)]


# --- ranks that read

@pytest.mark.every_link
@pytest.mark.parametrize("ranks, readers", [
    ("2", {2}), ("0", {0}), ("all", {0, 1, 2, 3}), ("none", set()), ("0,2-3", {0, 2, 3})])
def test_ranks_that_read(margay, app, tmp_path, ranks, readers):
    """Each reading rank gets all input, the others none."""
    data = os.urandom(3 * MB + 17)
    run = margay("run", "-n", 4, "--stdin", ranks, "--output-dir", "out", app("output"), "cat",
                 input=data).ok()
    wanted = [data if rank in readers else b"" for rank in range(4)]
    assert of_ranks(tmp_path / "out", 4) == wanted, run.describe()


def test_as_mpich_has_it(margay, app):
    """-s all; without it, rank 0 alone."""
    run = margay("run", "-n", 3, "-s", "all", app("output"), "cat", input=b"for all\n").ok()
    assert sorted(run.lines) == [f"[{rank}] for all" for rank in range(3)]


def test_input_of_none_stays(margay, app):
    script = f'{MARGAY} run --stdin none --no-prefix {app("output")} cat; exec cat'
    run = margay("-c", script, program="/bin/bash", input="left alone\n").ok()
    assert run.lines == ["left alone"]


def test_a_reader_that_ends_delays_no_other(margay, app, tmp_path):
    """Rank 1 ends at once, and reads nothing of an input much longer than a ring."""
    data = os.urandom(12 * MB)
    margay("run", "-n", 3, "--stdin", "all", "--output-dir", "out", app("output"), "cat", "1",
           input=data).ok()
    assert of_ranks(tmp_path / "out", 3) == [data, b"", data]


def test_a_reader_that_dies_delays_no_other(margay, app, tmp_path):
    fifo = tmp_path / "input"
    os.mkfifo(fifo)
    shell = (f"exec {MARGAY} run -n 3 --stdin all --on-death continue --output-dir out "
             f"{app('output')} cat < {fifo}")
    live = margay.start("-c", shell, program=Path("/bin/sh"))
    data = os.urandom(4 * MB)
    with open(fifo, "wb") as to:
        to.write(data)
        to.flush()
        live.kill_node(1)
        to.write(data)
    live.wait()
    outputs = of_ranks(tmp_path / "out", 3)
    assert outputs[0] == outputs[2] == data + data and (data + data).startswith(outputs[1])


@pytest.mark.parametrize("words, cause, cure", [
    (("--stdin", "4"), "rank 4 is not there", "-n 5"), (("--stdin", "x"), "not ranks", "all or none"),
    (("--stdin", ""), "not ranks", "a rank"), (("--stdin", "-1"), "not ranks", "a rank"),
    (("--stdin", "0,,1"), "not ranks", "a rank"), (("-s", "3-1"), "names no rank", "1-3"),
    (("--stdin", "9" * 5000), "not ranks", "a rank"), (("--stdin=1-9",), "rank 9 is not", "-n 10")])
@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_ranks_that_are_none(margay, app, words, cause, cure, more):
    run = margay("run", "-n", 4, *words, *more, app("hello")).status(125)
    run.says(re.escape(cause))
    run.says(re.escape(cure))
    assert not run.lines


# --- waiting

@pytest.fixture(scope="session")
def awaits_on_host(tmp_path_factory) -> Path:
    made = tmp_path_factory.mktemp("host") / "awaits"
    subprocess.run(["cc", "-O1", "-w", "-o", made,
                    Path(__file__).parent / "apps" / "awaits.c"], check=True)
    return made


def converse(margay, tmp_path: Path, command: str) -> list[str]:
    """Runs awaits, with a line for each `more` and the end at `close`; returns its output."""
    fifo = tmp_path / "input"
    fifo.unlink(missing_ok=True)
    os.mkfifo(fifo)
    live = margay.start("-c", f"exec {command} < {fifo}", program=Path("/bin/sh"))
    with open(fifo, "w", encoding="ascii") as to:
        for number in range(1, 4):
            live.wait_for("^more$", HANG, number)
            to.write("one\n")
            to.flush()
        live.wait_for("^close$")
    return live.wait().ok().lines


@pytest.mark.every_link
def test_poll_and_select(margay, app, awaits_on_host, tmp_path, link):
    """They wait, halted, for input, its end, a signal or the timeout; files are ready, closed
    descriptors are reported. All as on Linux."""
    wanted = converse(margay, tmp_path, str(awaits_on_host))
    assert len(wanted) > 70 and "waited 1 halted 1 spun 0" in wanted
    node = converse(margay, tmp_path,
                    f"{MARGAY} run --link {link} --no-prefix {app('awaits')}")
    assert node == wanted


def test_poll_of_a_rank_without_input(margay, app):
    """Its input has ended, so it does not wait."""
    run = margay("run", "-n", 2, "--stdin", "none", app("output"), "poll").ok()
    assert sorted(run.lines) == ["[0] 1: 11", "[1] 1: 11"]
