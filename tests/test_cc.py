"""`margay cc` and tools/mpicc: compile and link like mpicc, refuse what cannot run."""
from __future__ import annotations

import pytest

from harness import ROOT

pytestmark = pytest.mark.launcher

MAIN = '#include <stdio.h>\nint helper(int);\nint main(void) { printf("%d\\n", helper(20)); }\n'
HELPER = '#ifndef ADD\n#define ADD 0\n#endif\nint helper(int x) { return x + ADD; }\n'


@pytest.fixture
def sources(tmp_path):
    (tmp_path / "main.c").write_text(MAIN)
    (tmp_path / "helper.c").write_text(HELPER)
    return tmp_path


def test_several_sources(margay, sources):
    margay("cc", "main.c", "helper.c", "-DADD=2", "-o", "job.elf").ok()
    assert margay("run", "job.elf").ok().stdout == "22\n"


def test_default_name(margay, sources):
    margay("cc", "main.c", "helper.c").ok()
    assert margay("run", "./a.out").ok().stdout == "20\n"


def test_objects_and_libraries(margay, sources):
    """-c, -I, -L and -l, and mpicc as the same command in one word."""
    mpicc = ROOT / "tools" / "mpicc"
    (sources / "inc").mkdir()
    (sources / "inc" / "add.h").write_text("#define ADD 7\n")
    (sources / "helper.c").write_text('#include "add.h"\n' + HELPER)
    margay("-c", "-O3", "-g", "-Iinc", "helper.c", "-o", "helper.o", program=mpicc).ok()
    margay("rcs", "libhelper.a", "helper.o", program="/usr/bin/ar").ok()
    margay("main.c", "-L.", "-lhelper", "-lm", "-o", "job.elf", program=mpicc).ok()
    assert margay("run", "job.elf").ok().stdout == "27\n"


@pytest.mark.parametrize("show", ["-show", "--show"])
def test_show(margay, sources, show):
    run = margay("cc", show, "main.c", "-o", "job.elf").ok()
    assert "gcc" in run.stdout and "main.c" in run.stdout
    assert not (sources / "job.elf").exists()


def test_compiler_errors_pass_through(margay, sources):
    (sources / "main.c").write_text("int main(void) { return undeclared; }\n")
    run = margay("cc", "main.c")
    assert run.returncode == 1
    run.says("main.c:1:.*undeclared")


def test_gap_in_the_file(margay, tmp_path):
    """Loaders take the file in one piece: an image that would be torn apart is not made."""
    (tmp_path / "main.c").write_text(
        '__attribute__((section("mine"))) _Alignas(0x200000) int x = 5;\n'
        "int main(void) { return x; }\n")
    run = margay("cc", "main.c", "-o", "job.elf").status(125)
    run.says("gap in the file")
    assert not (tmp_path / "job.elf").exists()


def test_undefined_symbol(margay, sources):
    run = margay("cc", "main.c", "-o", "job.elf")
    assert run.returncode == 1 and not (sources / "job.elf").exists()
    run.says("undefined reference to .helper'")


@pytest.mark.parametrize("option", ["-pthread", "-fopenmp"])
def test_threads_are_refused(margay, sources, option):
    run = margay("cc", option, "main.c", "helper.c", "-o", "job.elf")
    assert run.returncode != 0
    run.says("thread")


@pytest.mark.parametrize("name", ["job.cc", "job.cpp", "job.C", "job.f", "job.f90"])
def test_other_languages_are_refused(margay, sources, name):
    (sources / name).write_text("\n")
    run = margay("cc", name)
    assert run.returncode != 0
    run.says(r"C\+\+|Fortran")


def test_not_linux(margay, sources):
    """The compiler does not pretend to compile for Linux."""
    (sources / "main.c").write_text("#if defined(__linux__) || !defined(__margay__)\n"
                                    "#error wrong\n#endif\nint main(void) { return 3; }\n")
    margay("cc", "main.c", "-o", "job.elf").ok()
    margay("run", "job.elf").status(3)


def test_constructors_and_thread_locals(margay, sources):
    (sources / "main.c").write_text("""
#include <stdio.h>
static _Thread_local int local = 41;
static int made;
__attribute__((constructor)) static void make(void) { made = ++local; }
__attribute__((destructor)) static void unmake(void) { puts("gone"); }
int main(void) { printf("%d %d\\n", local, made); return 0; }
""")
    margay("cc", "main.c", "-o", "job.elf").ok()
    assert margay("run", "job.elf").ok().stdout == "42 42\ngone\n"
