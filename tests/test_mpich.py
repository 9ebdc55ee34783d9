"""MPICH's own tests: a sample on nodes, and the reading of lists and judging of results.

make mpich-check runs all of them (tests/mpich/). The sample needs MPI, which make mpi builds.
"""
from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

from harness import ROOT, until

sys.path.insert(0, str(ROOT / "tests/mpich"))

import mpich  # noqa: E402
import suite  # noqa: E402
from judge import judged  # noqa: E402
from lists import Entry, all_of, entry, out_of_scope  # noqa: E402

pytestmark = pytest.mark.mpi


# Together they take more than two minutes, by thousands of collective writes of one element each.
SLOW = ("cxx/io/writeordx 4", "f90/io/writeshf90 4", "cxx/io/writeallnosx 4")

with_mpi = pytest.mark.skipif(suite.mpi() is None, reason="MPI is not built: make mpi")


def passes(results: Path, *options: str) -> None:
    """MPICH's tests that these options choose pass, or there is a reason on file."""
    done = subprocess.run(["/usr/bin/python3", ROOT / "tests/mpich/mpich.py", "-j", "2",
                           "--results", results, *options],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 without a reason on file" in done.stdout.splitlines()[-1]


@with_mpi
@pytest.mark.timeout(1200)
def test_a_sample_of_mpichs_own(tmp_path):
    """The same 80 each time. The results of `make mpich-check` stay."""
    passes(tmp_path / "results", "--lists", "testlist", "--sample", "80", "--seed", "18",
           *(word for name in SLOW for word in ("--skip", name)))


@with_mpi
@pytest.mark.long
@pytest.mark.timeout(1200)
def test_mpichs_slow_ones(tmp_path):
    passes(tmp_path / "results", *(word for name in SLOW for word in ("--only", name)))


def test_results_need_a_folder(tmp_path):
    """Without it the runs would end with their results lost, so none starts."""
    done = subprocess.run(["/usr/bin/python3", ROOT / "tests/mpich/mpich.py", "--results",
                           tmp_path / "no/results"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and f"there is no folder {tmp_path}/no" in done.stderr


# ---- verdicts ----

GOOD = " No Errors\n"


@pytest.mark.parametrize("passes, text, status", [
    (True, GOOD, 0), (True, "No errors\n", 0), (True, "Test Passed\n" + GOOD, 0),
    (True, "FORTRAN STOP\n" + GOOD, 0), (True, "margay: switch: faults from seed 5\n" + GOOD, 0),
    (False, "", 0), (False, GOOD, 1), (False, GOOD + GOOD, 0), (False, "Found 1 errors\n", 0),
    (False, "debug\n" + GOOD, 0), (False, GOOD + "\n", 0), (False, GOOD, 124), (False, GOOD, 125),
])
def test_by_output(passes, text, status):
    assert (judged("", text, status, False) == "") is passes


@pytest.mark.parametrize("verdict, passes, text, status, waits", [
    ("TestStatus", True, "killed\n", 1, False), ("TestStatus", False, "", 0, False),
    ("TestStatus", False, "", 124, True), ("TestStatus", False, "", 125, False),
    ("TestErrFatal", True, "anything\n", 134, False), ("TestErrFatal", False, GOOD, 0, False),
    # init/timeout is a program that never ends.
    ("TestErrFatal", True, "", 124, True), ("TestErrFatal", False, "", 124, False),
    ("TestStatusNoErrors", True, GOOD, 9, False), ("TestStatusNoErrors", False, GOOD, 0, False),
    ("TestStatusNoErrors", False, "", 9, False),
])
def test_by_status(verdict, passes, text, status, waits):
    assert (judged(verdict, text, status, waits) == "") is passes


# ---- lists ----

@pytest.mark.parametrize("line, expected", [
    ("", None), ("# a word", None), ("!../util:all", None),
    ("red 4", Entry("coll", "red", 4)),
    ("red", Entry("coll", "red", 2)),
    ("red 4 # mem=3", Entry("coll", "red", 4)),
    ("red 4 arg=-count=10 arg=x env=A=b=c", Entry("coll", "red", 4, ["-count=10", "x"],
                                                  ["A=b=c"])),
    ("red 1 resultTest=TestStatus timeLimit=10 mem=6.5 xfail=ticket1 strict=false",
     Entry("coll", "red", 1, verdict="TestStatus", seconds=10, memory=6.5, xfail="ticket1")),
    ("below/red 3", Entry("coll/below", "red", 3)),
])
def test_lines_are_read(line, expected):
    assert entry("coll", line) == expected


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    """A folder of lists, with subfolders."""
    for name, text in {"coll/testlist": "red 4\nred 4\nnb\n", "coll/testlist.dtp": "red 4 arg=1\n",
                       "coll/testlist.gpu": "red 4\n", "coll/nb/testlist": "one 1\n",
                       "errors/testlist": "spawn\ncoll\n", "errors/spawn/testlist": "far 2\n",
                       "errors/coll/testlist": "bad 2\n", "threads/testlist": "a 2\nb 2\npt\n",
                       "threads/pt/testlist": "c 2\n"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_lists_of_folders(lists):
    assert [one.name for one in all_of(lists)] == [
        "coll/red 4", "coll/red 4 (2)", "coll/nb/one 1", "coll/red 4 1", "errors/coll/bad 2"]
    assert out_of_scope(lists) == {"threads": 3, "spawn": 1}


def test_the_reasons_on_file_are_of_tests():
    """If the lists exist, each line of reasons is for at least one test."""
    if not (suite.SUITE / "testlist").exists():
        pytest.skip("MPICH's tests are not there: make mpich-check ARGS=--fetch")
    assert mpich.File(mpich.REASONS).unknown(all_of(suite.SUITE)) == []


def test_what_is_not_as_on_file_is_told(tmp_path):
    file = tmp_path / "reasons.txt"
    file.write_text("# a word\ncoll/red: it is slow\ncoll/b* 4*: sometimes: it is late\n")
    results = mpich.Results(tmp_path / "results.json", resume=False)
    entries = [Entry("coll", "red", 4), Entry("coll", "red", 5), Entry("coll", "bar", 4),
               Entry("coll", "bar", 5), Entry("coll", "good", 2), Entry("coll", "x", 1)]
    for one, why in zip(entries, ("wrong", "", "wrong", "wrong", "", "MPICH fails it")):
        results.add(one, {"outcome": "failed" if why else "passed", "why": why})
    results.known["coll/x 1"]["outcome"] = "skipped"
    assert mpich.surprises(entries, results, mpich.File(file)) == [
        "coll/red 5: passes, but has a reason not to", "coll/bar 5: wrong"]
    assert "2 of 6 passed (33.3 %), 3 failed, 0 not built, 1 skipped, 2 without" in mpich.summary(
        entries, results, 2, 60.0)


def test_a_sample_has_others_in_place_of_those_skipped():
    entries = [Entry("coll", name, 2) for name in "abcdefgh"]

    def sample(*skip: str) -> list[str]:
        return [one.program for one in mpich.chosen_of(entries, argparse.Namespace(
            folder=[], lists=[], only=[], sample=3, seed=7, skip=list(skip)))]

    usual = sample()
    other = sample(f"coll/{usual[1]} 2")
    assert len(usual) == len(other) == 3
    assert set(usual) - set(other) == {usual[1]}


def test_a_run_gets_the_memory_that_the_list_says():
    assert mpich.node_memory(Entry("a", "b", 4)) == 3072
    assert mpich.node_memory(Entry("a", "b", 16)) == 768
    assert mpich.node_memory(Entry("a", "b", 72)) == 170
    assert mpich.node_memory(Entry("a", "b", 1, memory=6.4)) == 8192


def test_a_run_has_a_folder_of_its_own(monkeypatch, tmp_path):
    """The folder contains only the program, which some tests read, and the options are the
    entry's."""
    (tmp_path / "suite/io").mkdir(parents=True)
    (tmp_path / "suite/io/reads").write_text("program")
    margay = tmp_path / "margay"
    margay.write_text(f'#!/bin/sh\nls >{tmp_path}/seen\necho "$@" >>{tmp_path}/seen\n'
                      'echo " No Errors"\n')
    margay.chmod(0o755)
    monkeypatch.setattr(mpich, "MARGAY", margay)
    monkeypatch.setattr(suite, "SUITE", tmp_path / "suite")
    monkeypatch.setattr(suite, "WORK", tmp_path)
    chosen = argparse.Namespace(link="virtio", loss="1%", seed=7, limit=100)
    result = mpich.run(Entry("io", "reads", 4, ["-a"], ["B=c"], seconds=60), chosen)
    assert (result["outcome"], result["why"], result["status"]) == ("passed", "", 0)
    assert (tmp_path / "seen").read_text() == (
        "reads\nrun --no-prefix -n 4 --mem 3072 --link virtio --timeout 100 "
        "--faults loss=1%,seed=7 --env B=c ./reads -a\n")


def has_ended(pid: int) -> bool:
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return True


@pytest.mark.parametrize("what", ["mpich.run(Entry('a', 'b', 1, seconds=60), chosen)",
                                  "suite.logged('log', [mpich.MARGAY])"])
def test_what_was_started_ends_with_the_suite(tmp_path, what):
    """Whatever ends the suite's process, no run and no make of it goes on."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b").write_text("program")
    (tmp_path / "margay").write_text(f"#!/bin/sh\necho $$ >{tmp_path}/new\n"
                                     f"mv {tmp_path}/new {tmp_path}/pid\nexec sleep 1000\n")
    (tmp_path / "margay").chmod(0o755)
    (tmp_path / "suite.py").write_text(f"""
import argparse, sys
from pathlib import Path
sys.path.insert(0, {str(Path(mpich.__file__).parent)!r})
import mpich, suite
from lists import Entry
mpich.MARGAY = suite.SUITE = suite.WORK = Path({str(tmp_path)!r})
mpich.MARGAY /= "margay"
chosen = argparse.Namespace(link="shm", loss="", limit=0)
{what}
""")
    with subprocess.Popen([sys.executable, tmp_path / "suite.py"]) as process:
        until((tmp_path / "pid").exists, "the run has not begun")
        process.kill()
    pid = int((tmp_path / "pid").read_text())
    until(lambda: has_ended(pid), "the run goes on")
