"""Other people's programs on nodes: a short subset of `make programs`."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness import ROOT

PROGRAMS = ROOT / "tests" / "programs"
sys.path.append(str(PROGRAMS))

import common  # noqa: E402
import programs  # noqa: E402

pytestmark = pytest.mark.programs


@pytest.mark.parametrize("name", programs.SHORT)
def test_short(tmp_path, name):
    """Their sources are there: `make check` gets them before."""
    outcome = common.run_program(programs.program(name), 1, short=True, where=tmp_path)
    assert not outcome.wrong, "\n".join(outcome.wrong)
    assert outcome.passed and not outcome.failed


@pytest.mark.parametrize("status, says, text, why, passed, cases, wrong", [
    (0, "", "", "", True, 0, False),
    (1, "", "", "", False, 0, True),
    (1, "", "", "a reason", False, 0, False),
    (0, "", "", "a reason", True, 0, True),
    (0, "^done", "not done\n", "", False, 0, True),
    (0, r"^Ran (\d+), (\d+) bad", "Ran 3, 0 bad\nRan 7, 0 bad\n", "", True, 7, False),
    (0, r"^Ran (\d+), (\d+) bad", "Ran 7, 2 bad\n", "", False, 7, True),
])
def test_verdicts(status, says, text, why, passed, cases, wrong):
    outcome = common.Outcome(programs.program("bzip2"))
    common.judge(common.Test("a test", "command", says, why), status, f"$ done\n{text}", outcome)
    assert (bool(outcome.passed), outcome.cases, bool(outcome.wrong)) == (passed, cases, wrong)
    assert outcome.tests == 1


def test_most_must_pass():
    """A reason on file is no licence: 95 of 100 tests pass."""
    outcome = common.Outcome(programs.program("bzip2"), passed=["good"] * 19, failed=[("bad", "why")])
    assert not programs.complaints([outcome])
    outcome.failed.append(("worse", "why"))
    assert programs.complaints([outcome])
    assert "bzip2: failed: worse: why" in programs.table([outcome])


@pytest.mark.parametrize("name", programs.NAMES)
def test_descriptions(name):
    tests = programs.program(name).tests
    assert len({test.name for test in tests}) == len(tests) > 9


def test_source_that_debian_does_not_have(tmp_path):
    """The wrong bytes are not taken from the cache, and the message says what to do."""
    cache = tmp_path / "margay"
    cache.mkdir()
    (cache / "none_1.tar.gz").write_text("not this")
    script = tmp_path / "tools" / "debian-source.sh"
    script.parent.mkdir()
    script.write_bytes((ROOT / "tools" / "debian-source.sh").read_bytes())
    apt = tmp_path / "bin" / "apt-get"
    apt.parent.mkdir()
    apt.write_text("#!/bin/sh\necho E: no network >&2\nexit 100\n")
    apt.chmod(0o755)
    script.chmod(0o755)
    done = subprocess.run([script, "none", "none_1.tar.gz", "0" * 64, tmp_path / "out"],
                          env={"PATH": f"{apt.parent}:/usr/bin:/bin",
                               "XDG_CACHE_HOME": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 1
    assert "E: no network" in done.stderr
    assert f"put none_1.tar.gz into {cache}" in done.stderr
    assert not list(Path(tmp_path / "out").iterdir())
