"""OpenMP with one thread: programs print the same as with the host's libgomp and one thread.

Programs are tests/languages/openmp.*, with every construct that gcc supports, in C, C++ and
Fortran.
"""
from __future__ import annotations

import os
import subprocess

import pytest

from harness import ROOT

pytestmark = pytest.mark.languages

SOURCES = ROOT / "tests" / "languages"
COMPILERS = {"c": ("gcc", "cc"), "cc": ("g++", "c++"), "f90": ("gfortran", "fortran")}
# Some constructs have different forms for values known when compiling and for others.
OPTIMIZED = ("-O0", "-O2")


def host(tmp_path, suffix: str, *options: str, **env: str) -> str:
    subprocess.run([COMPILERS[suffix][0], "-fopenmp", "-w", *options, SOURCES / f"openmp.{suffix}",
                    "-o", "host"], check=True, cwd=tmp_path)
    return subprocess.run(["./host"], check=True, capture_output=True, text=True, cwd=tmp_path,
                          env={**os.environ, "OMP_NUM_THREADS": "1", "OMP_THREAD_LIMIT": "1",
                               **env}).stdout


@pytest.mark.parametrize("options", OPTIMIZED)
@pytest.mark.parametrize("suffix", COMPILERS)
def test_as_on_the_host(margay, tmp_path, suffix, options):
    margay(COMPILERS[suffix][1], "-fopenmp", options, SOURCES / f"openmp.{suffix}",
           "-o", "job.elf").ok()
    run = margay("run", "job.elf").ok()
    expected = host(tmp_path, suffix, options)
    assert expected.count("\n") > 2 and run.stdout == expected
    assert run.stderr == ("\nlibgomp: error directive encountered: a warning\n" if suffix == "c" else "")


def test_cancellation(margay, tmp_path):
    """Only if the variable requests it."""
    margay("cc", "-fopenmp", SOURCES / "openmp.c", "-o", "job.elf").ok()
    run = margay("run", "--env", "OMP_CANCELLATION=true", "job.elf").ok()
    assert run.stdout == host(tmp_path, "c", OMP_CANCELLATION="true") != host(tmp_path, "c")


ENDS = {
    "omp_lock_t lock; omp_init_lock(&lock); omp_set_lock(&lock); omp_set_lock(&lock);":
        "waits for a lock, condition or semaphore that only another thread could free",
    "_Pragma(\"omp error at(execution) message(\\\"wrong\\\")\")":
        "^libgomp: fatal error: error directive encountered: wrong$",
    "omp_event_handle_t event;\n_Pragma(\"omp task detach(event)\") puts(\"ran\");\n"
    "_Pragma(\"omp taskwait\")":
        "waits for a lock, condition or semaphore that only another thread could free",
}


@pytest.mark.parametrize("code", ENDS, ids=["lock", "error", "never fulfilled"])
def test_what_would_never_go_on(margay, tmp_path, code):
    """A deadlock of one thread ends the program, with the cause."""
    (tmp_path / "main.c").write_text(
        f"#include <omp.h>\n#include <stdio.h>\nint main(void) {{\n{code}\nreturn 0; }}\n")
    margay("cc", "-fopenmp", "main.c", "-o", "job.elf").ok()
    margay("run", "job.elf").status(1 if "omp error" in code else 134).says(ENDS[code])


def test_the_environment_is_shown(margay, tmp_path):
    (tmp_path / "main.c").write_text("#include <omp.h>\nint main(void) {\n"
                                     "omp_display_env(1); omp_display_affinity(\"at %A of %N\"); }")
    margay("cc", "-fopenmp", "main.c", "-o", "job.elf").ok()
    run = margay("run", "--env", "OMP_CANCELLATION=TRUE", "job.elf").ok()
    run.says("^  OMP_NUM_THREADS = '1'$")
    run.says("^  OMP_CANCELLATION = 'TRUE'$")
    run.says("^at 0 of 1$")
