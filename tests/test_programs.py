"""Existing programs on nodes: a short subset of `make programs`."""
from __future__ import annotations

import hashlib
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


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[pytest.mark.languages] if name in programs.LANGUAGES else [])
    for name in programs.SHORT])
def test_short(tmp_path, name):
    """Their sources exist, as `make check` fetches them first."""
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
    """At least 95 of 100 tests must pass, even if all failures have a known reason."""
    outcome = common.Outcome(programs.program("bzip2"), passed=["good"] * 19, failed=[("bad", "why")])
    assert not programs.complaints([outcome])
    outcome.failed.append(("worse", "why"))
    assert programs.complaints([outcome])
    assert "bzip2: failed: worse: why" in programs.table([outcome])


@pytest.mark.parametrize("name", programs.NAMES)
def test_descriptions(name):
    tests = programs.program(name).tests
    assert len({test.name for test in tests}) == len(tests) > 9


def test_compiler_that_is_not_there(tmp_path, monkeypatch):
    """Reported before anything is unpacked, with the cure."""
    monkeypatch.setenv("PATH", str(tmp_path))
    for name, package in (("lapack", "gfortran"), ("eigen", r"g\+\+")):
        with pytest.raises(RuntimeError, match=f"built with {package}: apt install {package}$"):
            common.run_program(programs.program(name), 1, where=tmp_path / "work")
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize("node, host, good", [
    ("x 1.5 -2.0\nn 3\n# rounding 1e-16\n", "x 1.5 -2.0\nn 3\n# rounding 3e-16\n", True),
    ("x 1.0 1e-13\n", "x 1.0 2e-13\n", True),            # small compared with the largest
    ("x 1.5 -2.0\n", "x 1.5 -2.00000001\n", False),
    ("x 1.5\n", "x 1.5 2.5\n", False),
    ("x 1.5\n", "x 1.5\ny 1.5\n", False),
    ("x 1.5\n", "y 1.5\n", False),
    ("x 1.5 3\n", "x 1.5 4\n", False),
    ("x nan\n", "x nan\n", False),
    ("x inf 1.0\n", "x inf 1.0\n", False),
    ("x 0.0\n", "x 0.0\n", True),
    ("x 1e-300\n", "x 0.0\n", False),
    ("", "", False),
])
def test_values_of_node_and_host(tmp_path, node, host, good):
    (tmp_path / "node").write_text(node)
    (tmp_path / "host").write_text(host)
    done = subprocess.run([PROGRAMS / "eigen" / "compare.py", "node", "host"], cwd=tmp_path,
                          capture_output=True, text=True)
    assert done.returncode == (0 if good else 1), done
    assert ("values agree" in done.stdout) == good and bool(done.stderr) != good


PASSED = " All tests for DGE routines passed the threshold (   3653 tests run)\n"
END = " End of tests\n Total time used =        {}.93 seconds\n"


@pytest.mark.parametrize("text, says", [
    (PASSED + END, "3653 tests, 0 failed"),
    (PASSED + " DGB:      2 out of  28938 tests failed to pass the threshold\n" + END,
     "32591 tests, 2 failed"),
    (PASSED, "wrong: it did not come to its end"),
    (END, "wrong: no test ran"),
    (PASSED + "     routines were not tested\n" + END, "3653 tests, 0 failed"),
    (PASSED + " DGE routines were not tested\n" + END, "wrong: DGE routines"),
    (PASSED + " Error in DTRSYL: RMAX =   0.1D+02\n" + END, "wrong: Error in DTRSYL"),
    (PASSED + " *** Error code from DGESV = 3\n" + END, "wrong: *** Error code from DGESV"),
    (" total number of examples tested        =   13\n"
     " value of largest test error            =    0.000D+00\n" + END, "13 tests, 0 failed"),
    (" total number of examples tested        =   13\n"
     " value of largest test error            =    0.100D+09\n" + END, "wrong: value of largest"),
    (" total number of examples tested        =   13\n"
     " number of examples where info is not 0 =    2\n" + END, "wrong: number of examples"),
    (" DGEMV  PASSED THE COMPUTATIONAL TESTS (  3461 CALLS)\n END OF TESTS\n",
     "1 tests, 0 failed"),
    (" DGEMV  COMPLETED THE COMPUTATIONAL TESTS (  3461 CALLS)\n ******* BUT WITH MAXIMUM TEST "
     "RATIO  99.0 - SUSPECT *******\n END OF TESTS\n", "wrong: ******* BUT"),
    (" Test of subprogram number 13            DSDOT\n ----- PASS -----\n", "1 tests, 0 failed"),
    (" Test of subprogram number 13            DSDOT\n   FAIL\n", "wrong: FAIL"),
])
def test_verdict_of_lapack(tmp_path, text, says):
    """Different times are not a difference."""
    (tmp_path / "node").write_text(text.format(12))
    (tmp_path / "host").write_text(text.format(1))
    run = [PROGRAMS / "lapack" / "verdict.py", "node", "host"]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True)
    assert says in done.stdout and not done.stderr
    assert done.returncode == (0 if says.endswith(" 0 failed") else 1)
    (tmp_path / "host").write_text(text.format(1) + " one more line\n")
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "not as on the host" in done.stdout


def verdict_of(program: str, text: str, *words: str) -> tuple[int, str]:
    """Status and last line of a program's verdict.py for this standard input."""
    run = [PROGRAMS / program / "verdict.py", *words]
    done = subprocess.run(run, input=text, capture_output=True, text=True)
    assert not done.stderr
    return done.returncode, done.stdout.splitlines()[-1]


@pytest.mark.parametrize("text, words, status, says", [
    ("icf8 1e-16 2e-16 0\nocb9 3e-16 1e-16 1e-16\n", ["2"], 0, "2 transforms, 0 failed"),
    ("icf8 1e-16 2e-16 0\n", ["2"], 1, "2 transforms, 1 failed"),          # one has no line
    ("icf8 1e-16 2e-16 0\nicf8 1e-16 2e-16 0\n", ["1"], 1, "1 transforms, 0 failed"),
    ("icf8 1e-16 2e-9 0\n", ["1"], 1, "1 transforms, 1 failed"),
    ("icf8 nan 2e-16 0\n", ["1"], 1, "1 transforms, 1 failed"),
    ("icf8 1e-16 -nan 0\n", ["1"], 1, "1 transforms, 1 failed"),
    ("Executing \"b --verbose=1   --verify 'icf8' --verify ']ocf9'\"\nicf8 1e-16 0 0\n"
     "]ocf9 0 0 0\n", [], 0, "2 transforms, 0 failed"),
    ("Executing \"b --verbose=1   --verify 'icf8' --verify ']ocf9'\"\nicf8 1e-16 0 0\n"
     "FAILED b: icf8\n", [], 1, "2 transforms, 1 failed"),
    ("", [], 1, "0 transforms, 0 failed"),
])
def test_verdict_of_fftw(text, words, status, says):
    assert verdict_of("fftw3", text, *words) == (status, says)


def section(name: str, body: str) -> str:
    return f"Begin of {name} section.\n{body}End of {name} section.\n"


HPL_PASSED = "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=        0.0059134 ...... PASSED\n"
HPL_COUNTS = ("         {} tests completed and passed residual checks,\n"
              "         {} tests completed and failed residual checks,\n")
WALL = "WALL   400   400  32  32   2   2     0.01 PASSED    0.123  0.00\n"
PTRANS_COUNTS = ("    {} tests completed and passed residual checks.\n"
                 "    {} tests completed and failed residual checks.\n")
TABLE = "Found {} errors in 131072 locations ({}).\n"


@pytest.mark.parametrize("name, body, status, says", [
    ("HPL", HPL_PASSED * 2 + HPL_COUNTS.format(2, 0), 0, "3 checks, 0 failed"),
    ("HPL", HPL_PASSED + HPL_COUNTS.format(1, 0), 1, "3 checks, 2 failed"),
    ("HPL", HPL_PASSED * 2 + HPL_PASSED.replace("PASSED", "FAILED") + HPL_COUNTS.format(2, 1), 1,
     "3 checks, 2 failed"),
    ("PTRANS", WALL * 2 + PTRANS_COUNTS.format(2, 0), 0, "3 checks, 0 failed"),
    ("PTRANS", WALL + WALL.replace("PASSED", "FAILED") + PTRANS_COUNTS.format(1, 1), 1,
     "3 checks, 2 failed"),
    ("PTRANS", WALL + WALL.replace("PASSED", "BYPASS") + PTRANS_COUNTS.format(2, 0), 1,
     "3 checks, 1 failed"),
    ("MPIRandomAccess", TABLE.format(0, "passed"), 0, "1 checks, 0 failed"),
    ("MPIRandomAccess", TABLE.format(7000, "failed"), 1, "1 checks, 1 failed"),
    ("MPIRandomAccess", "Failed to allocate memory for the main table.\n", 1,
     "1 checks, 1 failed"),
    ("StarDGEMM", "Scaled residual: 0.0123\nNode(s) with error 0\n", 0, "2 checks, 0 failed"),
    ("StarDGEMM", "Scaled residual: 0.0123\nNode(s) with error 3\n", 1, "2 checks, 1 failed"),
    ("StarDGEMM", "Scaled residual: -nan\nNode(s) with error 0\n", 1, "2 checks, 1 failed"),
    ("MPIFFT", "max(|x-x0|): 1.234e-15\n", 0, "1 checks, 0 failed"),
    ("MPIFFT", "max(|x-x0|): 1.234e-09\n", 1, "1 checks, 1 failed"),
    ("MPIFFT", "max(|x-x0|): 2.100e-14\n", 1, "1 checks, 1 failed"),
    ("MPIFFT", "max(|x-x0|): nan\n", 1, "1 checks, 1 failed"),
    ("MPIFFT", "", 1, "1 checks, 1 failed"),
    ("StarSTREAM", "Node(s) with error 0\nSolution Validates: avg error less than 1e-13\n", 0,
     "2 checks, 0 failed"),
    ("StarSTREAM", "Node(s) with error 0\nFailed Validation on array a[]\n", 1,
     "2 checks, 1 failed"),
    ("SingleSTREAM", "Node(s) with error 0\n", 0, "1 checks, 0 failed"),
    ("SingleSTREAM", "Node(s) with error 1\n", 1, "1 checks, 1 failed"),
    ("LatencyBandwidth", "Benchmark conditions:\n", 0, "1 checks, 0 failed"),
    ("LatencyBandwidth", "[2]: ERROR: expected 1 and 2\nBenchmark conditions:\n", 1,
     "1 checks, 1 failed"),
    ("Summary", "Success=1\nMPIRandomAccess_LCG_ErrorsFraction=0\n"
     "MPIRandomAccess_ErrorsFraction=0\n", 0, "3 checks, 0 failed"),
    ("Summary", "Success=0\nMPIRandomAccess_LCG_ErrorsFraction=0\n"
     "MPIRandomAccess_ErrorsFraction=0.001\n", 1, "3 checks, 2 failed"),
])
def test_verdict_of_hpcc(tmp_path, name, body, status, says):
    """For one section; without its last line, or with an invalid input, it fails."""
    (tmp_path / "out").write_text(section(name, body))
    assert verdict_of("hpcc", "", str(tmp_path / "out"), "2", "2", name) == (status, says)
    (tmp_path / "out").write_text("Error in line 33 of the input file.\n" + section(name, body))
    assert verdict_of("hpcc", "", str(tmp_path / "out"), "2", "2", name)[0] == 1
    (tmp_path / "out").write_text(section(name, body).rpartition("End")[0])
    assert verdict_of("hpcc", "", str(tmp_path / "out"), "2", "2", name)[0] == 1
    assert verdict_of("hpcc", "", str(tmp_path / "out"), "2", "2")[0] == 1


TESTED = "Testing  -- fapl_mpio duplicate (mpiodup) \n"
PHDF5 = "PHDF5 tests finished with no errors\n"


@pytest.mark.parametrize("program, text, status, says", [
    ("testphdf5", TESTED * 4 + TESTED.replace("dup", "x") + PHDF5, 0,
     "2 tests, 0 failed, 0 skipped"),
    ("testphdf5", TESTED * 2, 1, "1 tests, 1 failed, 0 skipped"),
    ("testphdf5", PHDF5, 1, "0 tests, 0 failed, 0 skipped"),
    ("testphdf5", TESTED + "Proc 2: *** Parallel ERROR ***\n" + PHDF5, 1,
     "1 tests, 1 failed, 0 skipped"),
    ("testphdf5", TESTED + "***PHDF5 tests detected 1 errors***\n", 1,
     "1 tests, 2 failed, 0 skipped"),
    ("t_cache", TESTED + PHDF5, 1, "0 tests, 1 failed, 0 skipped"),
    ("t_pshutdown", "Testing proper shutdown of HDF5 library       PASSED\n", 0,
     "1 tests, 0 failed, 0 skipped"),
    ("t_pshutdown", "Testing proper shutdown of HDF5 library      *FAILED*\n", 1,
     "0 tests, 1 failed, 0 skipped"),
    ("t_pshutdown", "Testing proper shutdown of HDF5 library  *** Hint ***\n PASSED\n", 0,
     "1 tests, 0 failed, 0 skipped"),
    ("t_bigio", "Testing Dataset1 write by ROW\n\nRead Testing Dataset1 by COL\n", 0,
     "2 tests, 0 failed, 0 skipped"),
    ("t_bigio", "Read Testing Dataset1 by COL\n4 errors found in verify_data\n", 1,
     "1 tests, 1 failed, 0 skipped"),
    ("t_bigio", "Testing Dataset1 write by ROW\n***Several tests are skipped\n", 0,
     "1 tests, 0 failed, 1 skipped"),
    ("t_pshutdown", "", 1, "0 tests, 0 failed, 0 skipped"),
])
def test_verdict_of_hdf5(program, text, status, says):
    assert verdict_of("hdf5", text, program) == (status, says)


def test_cache_is_the_users(tmp_path, monkeypatch):
    """HOME is a folder of the build, but libraries in the user's cache are not built again."""
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/home/user")
    where = common.environment(programs.program("bzip2"), 1, tmp_path)
    assert (where["XDG_CACHE_HOME"], where["HOME"]) == ("/home/user/.cache", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    where = common.environment(programs.program("bzip2"), 1, tmp_path)
    assert where["XDG_CACHE_HOME"] == "/elsewhere"


def test_libraries_of_other_programs(tmp_path, monkeypatch):
    """They are built once; leftovers of an interrupted build do not count as built."""
    log = []
    monkeypatch.setattr(common, "unpack", lambda source, where: log.append(source.folder))
    program = programs.program("bzip2")
    steps = common.Steps(program, 1, tmp_path)
    folder = tmp_path / "part-1"
    folder.mkdir()
    library = common.Library(common.Source("part", "part.tar", "-", "part-1"),
                             ["touch one.a", "test -e bad && exit 3 || touch two.a"],
                             ("one.a", "two.a"))
    (folder / "bad").touch()
    with pytest.raises(RuntimeError, match="^bzip2: status 3 of: test -e bad"):
        common.make_library(library, steps, tmp_path)
    (folder / "bad").unlink()
    common.make_library(library, steps, tmp_path)
    common.make_library(library, steps, tmp_path)
    assert log == ["part-1"] * 2 and (folder / "two.a").exists()


def source_script(folder: Path) -> Path:
    """debian-source.sh in a checkout of its own: its lists are in build/ there."""
    script = folder / "tools" / "debian-source.sh"
    script.parent.mkdir()
    script.write_bytes((ROOT / "tools" / "debian-source.sh").read_bytes())
    script.chmod(0o755)
    (folder / "Makefile").touch()
    return script


def test_source_that_debian_does_not_have(tmp_path):
    """Wrong bytes in the cache are refused, with a message that names the cure."""
    cache = tmp_path / "margay"
    cache.mkdir()
    (cache / "none_1.tar.gz").write_text("not this")
    script = source_script(tmp_path)
    apt = tmp_path / "bin" / "apt-get"
    apt.parent.mkdir()
    apt.write_text("#!/bin/sh\necho E: no network >&2\nexit 100\n")
    apt.chmod(0o755)
    done = subprocess.run([script, "none", "none_1.tar.gz", "0" * 64, tmp_path / "out"],
                          env={"PATH": f"{apt.parent}:/usr/bin:/bin",
                               "XDG_CACHE_HOME": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 1
    assert "E: no network" in done.stderr
    assert f"put none_1.tar.gz into {cache}" in done.stderr
    assert not list(Path(tmp_path / "out").iterdir())


def test_source_of_an_older_version(tmp_path):
    """Where the newest version cannot be downloaded, another one that has the tarball is taken."""
    script = source_script(tmp_path)
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "apt-get").write_text(
        '#!/bin/sh\nshift 2\necho "$@" >>"${0%/*}/calls"\n'
        'case $* in *none=1-1) echo it >none_1.tar.gz ;; *) exit 100 ;; esac\n')
    stanza = "Package: none\nVersion: {}\nFiles:\n 0 3 none_{}.tar.gz\nPackage-List: \n\n"
    (folder / "apt-cache").write_text("#!/bin/sh\ncat <<END\n" + "".join(
        stanza.format(*pair) for pair in (("2-1", 2), ("1-1", 1), ("1-2", 1))) + "END\n")
    for name in "apt-get", "apt-cache":
        (folder / name).chmod(0o755)
    subprocess.run([script, "none", "none_1.tar.gz", hashlib.sha256(b"it\n").hexdigest(),
                    tmp_path / "out"], check=True, capture_output=True,
                   env={"PATH": f"{folder}:/usr/bin:/bin", "XDG_CACHE_HOME": str(tmp_path)})
    assert (tmp_path / "out" / "none_1.tar.gz").read_text() == "it\n"
    source = "source --download-only --tar-only none"
    assert (folder / "calls").read_text().splitlines() == [source, source + "=1-1"]


def test_package_of_headers(tmp_path):
    """It is fetched by apt-get download, after the lists of packages, and kept unchanged."""
    script = source_script(tmp_path)
    apt = tmp_path / "bin" / "apt-get"
    apt.parent.mkdir()
    apt.write_text('#!/bin/sh\n[ "$3 $4" = "download libnone-dev" ] && '
                   'echo it >libnone-dev_1_all.deb\n')
    apt.chmod(0o755)
    run = [script, "--package", "libnone-dev", "libnone-dev_1_all.deb",
           hashlib.sha256(b"it\n").hexdigest(), tmp_path / "out"]
    env = {"PATH": f"{apt.parent}:/usr/bin:/bin", "XDG_CACHE_HOME": str(tmp_path)}
    subprocess.run(run, env=env, check=True, capture_output=True)
    assert (tmp_path / "out" / "libnone-dev_1_all.deb").read_text() == "it\n"
    assert (tmp_path / "margay" / "libnone-dev_1_all.deb").exists()
    run[3] = "libnone-dev_2_all.deb"
    done = subprocess.run(run, env=env, capture_output=True, text=True)
    assert done.returncode == 1
    assert "Debian has another version of libnone-dev" in done.stderr


GA_END = " All tests successful \n"
TOO_LARGE = ("> Creating array 2262 by 2262 -- SHOULD FAIL\n  (need 40 and 30 bytes are left)\n\n"
             "   {}\n")


@pytest.mark.parametrize("program, text, status, says", [
    ("ndim", "   ga_put is OK\n" + GA_END, 0, "2 checks, 0 failed"),
    ("ndim", "   ga_put is OK\n", 1, "1 checks, 1 failed"),
    ("ndim", "   ga_put is not ok\n" + GA_END, 1, "1 checks, 1 failed"),
    ("jacobi", "   12  error=    1.18E-005\n" + GA_END, 0, "1 checks, 0 failed"),
    ("ndim", "0:ARMCI Malloc failed:Received an Error in Communication\n", 1,
     "0 checks, 2 failed"),
    ("test", TOO_LARGE.format("failure") + GA_END, 0, "1 checks, 0 failed"),
    ("test", TOO_LARGE.format("success") + GA_END, 1, "2 checks, 1 failed"),
    ("mtest", "OK\n\nSuccess\n", 0, "2 checks, 0 failed"),
    ("mtest", "OK\n" + GA_END, 1, "2 checks, 1 failed"),
    ("patch_enumf", "", 0, "0 checks, 0 failed"),
    ("patch_enumf", " at 3 value mismatch 1 .ne. 2\n", 1, "0 checks, 1 failed"),
])
def test_verdict_of_global_arrays(program, text, status, says):
    assert verdict_of("ga", text, program) == (status, says)


LU_END = ("Finished    3 tests, with the following results:\n"
          "    {} tests completed and passed residual checks.\n"
          "    {} tests completed and failed residual checks.\n"
          "    0 tests skipped because of illegal input values.\n\n\nEND OF TESTS.\n")
PBLAS_ROW = "  |  PDGEMM           16        {}        {}       0\n"
BLACS_ROW = "REAL SUM TESTS: 1152 TESTS;  864 PASSED,  288 SKIPPED,    {} FAILED.\n"
BLACS_ALL = "REAL AMX TESTS: PASSED ALL  5 TESTS.\n"
GRIDEXIT = " DONE BLACS_GRIDEXIT\n"


@pytest.mark.parametrize("program, text, status, says", [
    ("xdlu", LU_END.format(3, 0), 0, "3 checks, 0 failed"),
    ("xdlu", LU_END.format(2, 1), 1, "3 checks, 1 failed"),
    ("xdlu", LU_END.format(0, 0), 1, "0 checks, 0 failed"),
    ("xdlu", LU_END.format(3, 0).partition("END")[0], 1, "3 checks, 1 failed"),
    ("dpb3tst", PBLAS_ROW.format(16, 0) + "\n  End of Tests.\n", 0, "16 checks, 0 failed"),
    ("dpb3tst", PBLAS_ROW.format(15, 1) + "\n  End of Tests.\n", 1, "16 checks, 1 failed"),
    ("xCbtest", BLACS_ROW.format(0) + BLACS_ALL + GRIDEXIT, 0, "869 checks, 0 failed"),
    ("xCbtest", BLACS_ROW.format(2) + GRIDEXIT, 1, "866 checks, 2 failed"),
    ("xCbtest", BLACS_ROW.format(0), 1, "864 checks, 1 failed"),
    ("xdsvd", "Passed 0.1E-01    8   N\nEnd of tests    \n", 0, "1 checks, 0 failed"),
    ("xdsvd", "Passed 0.1E-01    8   N\n Test I =  3 has failed\nEnd of tests\n", 1,
     "2 checks, 1 failed"),
    ("xdhseqr", "  500  50    2    2    24.39 PASSED\n", 0, "1 checks, 0 failed"),
    ("xdhseqr", "  500  50    2    2    24.39 FAILED\n", 1, "1 checks, 1 failed"),
    ("xdhseqr", "", 1, "0 checks, 0 failed"),
])
def test_verdict_of_scalapack(program, text, status, says):
    assert verdict_of("scalapack", text, program) == (status, says)


def test_a_missing_source_leaves_out_its_program_alone(monkeypatch, capsys):
    def fetched(command, check):
        if "lua5.4" in command:
            raise subprocess.CalledProcessError(1, command)
    outcome = common.Outcome(programs.program("zlib"), passed=["all"])
    monkeypatch.setattr(common.subprocess, "run", fetched)
    monkeypatch.setattr(programs, "run_program", lambda *arguments: outcome)
    monkeypatch.setattr(sys, "argv", ["programs.py", "lua", "zlib"])
    assert programs.main() == 1
    output = capsys.readouterr()
    assert "zlib: 1 of 1 tests passed" in output.out and "lua: 0 of" not in output.out
    assert output.err == "programs: lua: there is no lua5.4_5.4.4.orig.tar.gz\n"
    monkeypatch.setattr(sys, "argv", ["programs.py", "--fetch", "zlib"])
    assert programs.main() == 0
    monkeypatch.setattr(sys, "argv", ["programs.py", "--fetch", "lua", "zlib"])
    assert programs.main() == 1


def test_suite_of_a_source(monkeypatch):
    """A source that this Debian lacks is fetched from another release."""
    commands = []
    monkeypatch.setattr(common.subprocess, "run", lambda command, check: commands.append(command))
    for name in ("ga", "hpcc"):
        common.fetch(programs.program(name))
    assert commands[0][1:4] == ["--suite", "trixie", "ga"]
    assert all("--suite" not in command for command in commands[1:])
