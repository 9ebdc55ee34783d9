"""The examples of apps/mpi: their results equal those of one rank, and of Python."""
from __future__ import annotations

import array
import random
from pathlib import Path

import pytest

from mpi_apps import mpi_app, with_mpi

pytestmark = [pytest.mark.mpi, pytest.mark.messages, pytest.mark.spin(2), pytest.mark.own_link, with_mpi]

PLACES = pytest.mark.parametrize("over, ranks", [("shm", 1), ("shm", 2), ("shm", 4),
                                                 ("virtio", 2), ("virtio", 4)])
HEAD = "%%MatrixMarket matrix coordinate real symmetric\n"


def run(margay, over: str, ranks: int, name: str, *args: object):
    return margay("run", "--link", over, "-n", ranks, "--no-prefix", mpi_app("apps", name), *args)


def matrix(side: int, seed: int) -> str:
    """The five-point operator on a square grid, plus a random diagonal: positive definite."""
    rng = random.Random(seed)
    elements = []
    for i in range(1, side * side + 1):
        elements.append((i, i, 4 + rng.random()))
        elements += [(i, i - 1, -1)] if i % side != 1 else []
        elements += [(i, i - side, -1)] if i > side else []
    rng.shuffle(elements)
    return (f"{HEAD}% a comment\n{side * side} {side * side} {len(elements)}\n"
            + "".join(f"{row} {column} {value:.15g}\n" for row, column, value in elements))


@PLACES
def test_cg(margay, tmp_path, over, ranks):
    (tmp_path / "a.mtx").write_text(matrix(15, ranks))
    run(margay, over, ranks, "cg", "a.mtx").ok().prints(
        r"^cg: \d\d steps, error \d\.\de-1\d, alone \d\d steps$")


def test_cg_of_fewer_rows_than_ranks(margay, tmp_path):
    (tmp_path / "a.mtx").write_text(f"{HEAD}1 1 1\n1 1 0.5\n")
    run(margay, "shm", 3, "cg", "a.mtx").ok().prints(r"^cg: 1 steps, error 0")


@pytest.mark.parametrize("text, why", [
    (None, "is not there"), ("x\n", "no symmetric matrix"), (HEAD, "no size"),
    (HEAD + "2 2 2\n1 1 1\n", "a wrong element"), (HEAD + "2 2 1\n1 2 1\n", "a wrong element")])
@pytest.mark.spin(1)
def test_cg_refuses(margay, tmp_path, text, why):
    if text is not None:
        (tmp_path / "a.mtx").write_text(text)
    run(margay, "shm", 1, "cg", "a.mtx").status(1).says(f"^cg: .*{why}")


@PLACES
def test_jacobi(margay, over, ranks):
    """The heat that has spread; it would converge to a quarter of the border's."""
    said = run(margay, over, ranks, "jacobi", 20, 300).ok().prints(
        r"^jacobi: 300 steps, middle (0\.\d+), 0 points differ from one rank's$")
    assert 0.2 < float(said[1]) < 0.25


def test_jacobi_on_blocks_of_one_row(margay):
    run(margay, "shm", 5, "jacobi", 5, 20).ok().prints(" 0 points differ")


def sorts(margay, folder: Path, over: str, ranks: int, numbers: list[int]) -> None:
    (folder / "from").write_bytes(array.array("Q", numbers).tobytes())
    (folder / "to").write_bytes(b"longer than what is written" * 100)
    run(margay, over, ranks, "sort", "from", "to").ok().prints(
        rf"^sort: {len(numbers)} numbers, 0 differ from one rank's$")
    assert (folder / "to").read_bytes() == array.array("Q", sorted(numbers)).tobytes()


@PLACES
def test_sort(margay, tmp_path, over, ranks):
    rng = random.Random(ranks)
    sorts(margay, tmp_path, over, ranks, [rng.getrandbits(64) for _ in range(20011)])


@pytest.mark.parametrize("numbers", [[], [3, 1, 2], [5] * 1000, [0, 2 ** 64 - 1] * 500],
                         ids=["none", "three", "equal", "extremes"])
def test_sort_of_odd_files(margay, tmp_path, numbers):
    sorts(margay, tmp_path, "shm", 3, numbers)


def test_sort_says_what_is_wrong(margay, tmp_path):
    run(margay, "shm", 2, "sort", "nothing", "to").status(1).says("^sort: nothing cannot be opened$")
    run(margay, "shm", 2, "sort", "nothing").status(2).says("^usage: sort FROM TO")
