"""PMI, MPI's interface to its job, without MPI; and how it ends a job."""
from __future__ import annotations

from pathlib import Path

import pytest

from harness import BUILD, ROOT

pytestmark = [pytest.mark.mpi, pytest.mark.launcher]


@pytest.fixture
def pmi(margay, tmp_path: Path) -> Path:
    image = tmp_path / "pmi.elf"
    margay("cc", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/lib/pmi", ROOT / "tests/lib/pmi/pmi.c",
           BUILD / "lib/libpmi.a", "-o", image).ok()
    return image


@pytest.mark.every_link
@pytest.mark.spin(4)
@pytest.mark.parametrize("nodes", [1, 4])
def test_calls(margay, pmi, nodes):
    run = margay("run", "-n", nodes, pmi).ok()
    assert len(run.lines) == nodes, run.describe()
    assert run.stderr.count("a process cannot start another") == nodes


@pytest.mark.parametrize("status", [5, 255, 0])
def test_abort(margay, pmi, status):
    """The job has this status, also 0; the other ranks, which wait for each other, end with it."""
    run = margay("run", "-n", 3, pmi, "abort", status).status(status)
    run.says(rf"^margay: rank 2 \(node 2\) ended the job with status {status}$")
    run.says("^margay: ended ranks 0 and 1: still running then$")
    assert "without MPI_Finalize" not in run.stderr and run.of_rank(2)[-1] == "in a buffer"


@pytest.mark.parametrize("status, ends", [(0, 1), (3, 3)])
def test_an_end_without_finalize(margay, pmi, status, ends):
    run = margay("run", pmi, "unfinished", status).status(ends)
    run.says(rf"^margay: rank 0 ended with status {status} without MPI_Finalize$")


def test_one_rank_ends_without_finalize(margay, pmi):
    run = margay("run", "-n", 3, pmi, "unfinished-1").status(1)
    assert run.stderr.count("without MPI_Finalize") == 1
    run.says(r"margay: rank 1 ended with status 0 without MPI_Finalize$")


# ---- <margay.h>: the calls below PMI ----

@pytest.mark.every_link
@pytest.mark.parametrize("status, ends, ender", [(7, 7, 0), (0x107, 7, 2), (0, 0, 1)])
def test_margay_end_job(margay, app, status, ends, ender):
    run = margay("run", "-n", 3, app("ends_job"), "job", status, ender).status(ends)
    run.says(rf"^margay: rank {ender} \(node {ender}\) ended the job with status {ends}$")
    run.prints(f"rank {ender} ends it$")


@pytest.mark.parametrize("way, status, ends, printed", [
    ("return", 3, 13, ["atexit", "handler 3"]), ("exit", 0, 10, ["atexit", "handler 0"]),
    ("_exit", 1, 11, ["handler 1"]), ("exit", 5, 6, ["atexit", "handler 5"]),
    ("abort", 0, 134, []), ("end-job", 4, 4, []), ("removed", 8, 8, ["atexit"])])
def test_margay_at_end(margay, app, way, status, ends, printed):
    assert margay("run", app("ends_job"), way, status).status(ends).lines == printed
