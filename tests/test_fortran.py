"""Fortran on nodes: programs print the same as when the host's gfortran compiles the same source.

Programs are tests/languages/NAME.f90. Each is compiled once for the host and once for nodes. make
check has built the library.
"""
from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Callable

import pytest

from harness import BUILD, ROOT, Run, no_libraries

pytestmark = pytest.mark.languages

SOURCES = ROOT / "tests" / "languages"
INPUT = "41 2.5\n the last line"
ARGUMENTS = ("one", "two words", "")
OPTIONS = ("-g", "-fcoarray=single")


@pytest.fixture
def program(margay, tmp_path: Path) -> Callable[..., Path]:
    """The image of tests/languages/NAME.f90."""
    def image(name: str, *options: str) -> Path:
        margay("fortran", *OPTIONS, *options, "-J", tmp_path, SOURCES / f"{name}.f90",
               "-o", f"{name}.elf").ok()
        return tmp_path / f"{name}.elf"
    return image


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Run]:
    """Compiles the same for the host, once, and runs it in a folder of its own."""
    folder = tmp_path_factory.mktemp("host")

    def run(name: str, *args: str) -> Run:
        file = folder / name
        if not file.exists():
            subprocess.run(["gfortran", "-w", "-fcheck=all", *OPTIONS, "-J", folder,
                            SOURCES / f"{name}.f90", "-o", file], check=True)
        done = subprocess.run([file, *args], input=INPUT.encode(), capture_output=True,
                              cwd=folder, env={**os.environ, "TASTE": "sour"})
        return Run([str(file), *args], done.returncode, done.stdout, done.stderr, 0)
    return run


def words_of_the_program(run: Run) -> list[str]:
    return [line for line in run.stderr.splitlines() if not line.startswith("margay: ")]


@pytest.mark.parametrize("options", ["-O0", "-O2", "-O3 -flto"])
@pytest.mark.parametrize("name", ["records", "kinds", "objects", "process"])
def test_as_on_the_host(margay, program, host, name, options):
    expected = host(name, *ARGUMENTS)
    assert expected.returncode == 0 and len(expected.lines) > 10
    run = margay("run", "--env", "TASTE=sour", program(name, *options.split()), *ARGUMENTS,
                 input=INPUT).ok()
    assert run.stdout == expected.stdout
    assert words_of_the_program(run) == expected.stderr.splitlines()


def test_files_in_memory(margay, program, host):
    """The same without a folder of the host."""
    run = margay("run", "--no-dir", program("records"), input=INPUT).ok()
    assert run.stdout == host("records").stdout


def test_pointers_to_internal_procedures(margay, tmp_path):
    """gcc makes a trampoline on the stack for nested functions that use their host's variables;
    images without them have a non-executable stack (tests/test_faults.py)."""
    (tmp_path / "main.f90").write_text("""
program main
  implicit none
  integer :: factor
  do factor = 1, 3
    print '(i0)', sum_of(times)
  end do
contains
  integer function times(n)
    integer, intent(in) :: n
    times = n * factor
  end function
  integer function sum_of(f)
    interface
      integer function f(n)
        integer, intent(in) :: n
      end function
    end interface
    sum_of = f(1) + f(10)
  end function
end program
""")
    for options in (["-O0"], ["-O1", "-fno-inline", "-fno-ipa-cp"]):
        run = margay("fortran", *options, "main.f90", "-o", "job.elf").ok()
        assert not run.stderr
        assert margay("run", "job.elf").ok().stdout == "11\n22\n33\n"


def test_fixed_form_and_a_preprocessor(margay, tmp_path):
    margay("fortran", SOURCES / "fixed.f", "-o", "job.elf").ok()
    assert margay("run", "job.elf").ok().lines == ["   1.50   7"]
    (tmp_path / "with.F90").write_text("#if !defined(__margay__) || defined(__linux__)\n#error wrong"
                                       "\n#endif\nprint *, ANSWER\nend\n")
    run = margay("fortran", "-DANSWER=42", "with.F90", "-o", "job.elf")
    assert run.returncode == 0, run.describe()
    assert margay("run", "job.elf").ok().stdout.split() == ["42"]


# ---- ends ----

def comparable(line: str) -> str:
    """Without names of scratch files, and with one name for an error that C libraries name
    differently."""
    return line.split("gfortrantmp")[0].replace("Cannot allocate memory", "Out of memory")


@pytest.mark.parametrize("how", [
    "none", "stop", "stop 3", "stop text", "error stop", "error stop 4", "error stop text", "exit",
    "bounds", "unallocated", "memory", "end of file", "bad number"])
def test_ends_as_on_the_host(margay, program, host, how):
    """Status, output and message; the backtrace is the kernel's."""
    expected = host("ends", how)
    run = margay("run", program("ends", "-fcheck=all"), how).status(expected.returncode)
    assert run.stdout == expected.stdout
    messages = [comparable(line) for line in expected.stderr.splitlines()
                if line and not line.startswith(("#", "\t"))]
    assert [comparable(line) for line in words_of_the_program(run) if line] == messages


def test_a_run_time_error_says_where(margay, program):
    run = margay("run", program("ends", "-fcheck=all", "-O0"), "bounds").status(2)
    run.says(r"^Fortran runtime error: Index '4' of dimension 1 of array 'values' above upper")
    run.says(r"^margay: rank 0 \(node 0\): backtrace$")
    found = [line.split(" ", 5)[-1] for line in run.stderr.splitlines() if "ends.f90" in line
             and "#" in line]
    assert [line.rsplit(":", 1)[-1] for line in found[:2]] == ["9", "38"], run.describe()
    assert "deeper" in found[0] and "MAIN__" in found[1]


def test_backtrace_and_abort(margay, program):
    image = program("ends")
    run = margay("run", image, "backtrace").ok()
    assert run.lines == ["before", "after"]
    run.says(r"#\d+ 0x\w+ MAIN__ at .*ends\.f90:54$")
    run = margay("run", image, "abort").status(134)
    run.says("ended by abort, raise or kill, signal 6")
    run.says(r"#\d+ 0x\w+ MAIN__ at .*ends\.f90:52$")


def test_no_command_is_started(margay, program):
    run = margay("run", program("ends"), "command").status(2)
    run.says("^Fortran runtime error: EXECUTE_COMMAND_LINE: a node runs one process and starts no")


def test_two_ranks(margay, program):
    """Each has its own run-time library, which identifies the error."""
    run = margay("run", "-n", 2, program("ends"), "error stop 4").status(4)
    run.says(r"^margay: rank [01] \(node [01]\): backtrace$")


# ---- three languages ----

@pytest.fixture
def objects(margay) -> None:
    margay("fortran", "-c", SOURCES / "mixed.f90", "-o", "fortran.o").ok()
    margay("fortran", "-c", SOURCES / "mixed_main.f90", "-o", "main_fortran.o").ok()
    margay("cc", "-c", "-Wall", "-Wextra", "-Werror", SOURCES / "mixed_c.c", "-o", "c.o").ok()
    margay("c++", "-c", SOURCES / "mixed_cxx.cc", "-o", "plus.o").ok()
    margay("c++", "-c", "-DMAIN", SOURCES / "mixed_cxx.cc", "-o", "main_plus.o").ok()


LINKS = {"fortran": ("main_fortran.o", "plus.o", "-lstdc++"), "c++": ("main_plus.o", "-lgfortran"),
         "cc": ("main_plus.o", "-lstdc++", "-lgfortran", "-lquadmath", "-lm")}


@pytest.mark.every_link
@pytest.mark.spin(2)
@pytest.mark.parametrize("command", LINKS)
def test_three_languages(margay, objects, command, link):
    """Each of the commands links them if the other libraries are named. Fortran passes an array
    to C, C++ throws below it, and messages go around the ranks."""
    margay(command, "fortran.o", "c.o", *LINKS[command], "-o", "job.elf").ok()
    run = margay("run", "-n", 2, "--no-prefix", "job.elf").ok()
    numbers = "313 5   2.50  2.0  4.0  3.0  4.0 10.0 12.0"
    assert sorted(run.lines) == [f"rank {rank} of 2 got {101 - rank}:0 {numbers}"
                                 for rank in (0, 1)]


def test_what_is_not_named_at_the_link(margay, objects):
    run = margay("cc", "main_fortran.o", "fortran.o", "c.o", "plus.o", "-o", "job.elf").status(1)
    run.says("this is Fortran: _gfortran_")
    run.says("link with: margay fortran$")


# ---- GCC's own tests ----

def test_a_sample_of_gccs_own(margay, tmp_path):
    """The same 40 each time; make gcc-check runs all of them."""
    done = subprocess.run(["/usr/bin/python3", ROOT / "tests/gcc/gfortran.py", "--sample", "40",
                           "--seed", "15"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "of 40 passed, 0 without a reason" in done.stdout


def test_gccs_own_tests_are_judged(tmp_path):
    """Distinguishes a wrong status, a program that must fail, and one for other machines."""
    sys.path.insert(0, str(ROOT / "tests/gcc"))
    from gfortran import Test

    def judged(text: str) -> Test:
        (tmp_path / "one.f90").write_text(text)
        return Test(tmp_path / "one.f90")

    assert "status 3" in judged("! { dg-do run }\nstop 3\nend\n").check()
    assert "compiling" in judged("! { dg-do run }\nwrong\nend\n").check()
    assert judged("! { dg-do run }\n! { dg-shouldfail \"x\" }\nstop 3\nend\n").check() == ""
    assert "status 0" in judged("! { dg-do run }\n! { dg-shouldfail \"x\" }\nend\n").check()
    assert judged("! { dg-do run \"xfail *-*-*\" }\nstop 3\nend\n").check() == ""
    test = judged("! { dg-do run }\n! { dg-options \"-O1 -DX\" }\n"
                  "! { dg-additional-options \"-g\" { target mingw* } }\nend\n")
    assert test.runs() and test.options() == ["-O1", "-DX"]
    assert not judged("! { dg-do run { target powerpc*-*-* } }\nend\n").runs()
    assert not judged("! { dg-do compile }\nend\n").runs()


# ---- the command ----

HELLO = "print '(a, f0.3)', 'hello ', sqrt(2.0_16)\nend\n"


def test_names_of_build_systems(margay, tmp_path):
    (tmp_path / "hello.f90").write_text(HELLO)
    gfortran = ROOT / "tools" / "x86_64-margay-gfortran"
    margay("-c", "hello.f90", "-o", "hello.o", program=gfortran).ok()
    margay("hello.o", "-o", "hello.elf", program=gfortran).ok()
    assert margay("run", "hello.elf").ok().stdout == "hello 1.414\n"
    margay("fortran", "--runnable", "hello.f90", "-o", "hello").ok()
    assert margay(program=tmp_path / "hello").ok().stdout == "hello 1.414\n"


def test_nothing_is_the_hosts(margay, tmp_path):
    (tmp_path / "hello.F90").write_text(HELLO)
    line = margay("fortran", "-show", "-fopenmp", "hello.F90").ok().stdout
    assert "libgfortran.a" in line and "lib/libgomp.a" in line
    run = margay("fortran", "-E", "-v", "hello.F90").ok()
    used = run.stderr.partition("search starts here:")[2].partition("End of search")[0]
    assert f"{BUILD}/sysroot/include" in used and "/usr/include" not in used
    (tmp_path / "sines.f90").write_text(
        "subroutine sines(a)\nreal(8) :: a(1000)\na = sin(a)\nend\n")
    margay("fortran", "-c", "-Ofast", "-mavx2", "sines.f90").ok()     # not libmvec's
    symbols = margay("-u", "sines.o", program=Path("/usr/bin/nm")).ok().stdout
    assert symbols.split() == ["U", "sin"]
    assert margay("fortran", "--version").ok().lines[0].startswith("margay fortran ")


def test_where_the_library_is(margay, tmp_path):
    folder = Path(margay("fortran", "--where").ok().stdout.strip())
    for file in ("lib/libgfortran.a", "lib/libquadmath.a", "COPYING.RUNTIME"):
        assert (folder / file).exists()
    margay("fortran", "--where", env=no_libraries(tmp_path)).status(1)
