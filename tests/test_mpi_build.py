"""MPI's commands: their compilations and output, and how build systems find MPI.

Programs are tests/mpi/. They need MPI, which make mpi builds; without it only the tests of MPI's
build run.
"""
from __future__ import annotations

import fcntl
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from harness import BUILD, ROOT, no_libraries, until
from test_languages import opened

sys.path.insert(0, str(ROOT / "tools"))
from margaylib.languages import MPI  # noqa: E402

pytestmark = pytest.mark.mpi

TOOLS = ROOT / "tools"
SOURCES = ROOT / "tests/mpi"
CMAKE = Path("/usr/bin/cmake")
MPI_IS_THERE = subprocess.run([TOOLS / "mpicc", "--where"], capture_output=True).returncode == 0
with_mpi = pytest.mark.skipif(not MPI_IS_THERE, reason="MPI is not built: make mpi")
# The command, the source, and the start of the output.
PROGRAMS = [("mpicc", "hello.c", "C"), ("mpicxx", "hello.cc", "C++"), ("mpic++", "hello.cc", "C++"),
            ("mpifort", "mpif.f", "mpif.h"), ("mpif77", "mpif.f", "mpif.h"),
            ("mpifort", "use_mpi.f90", "mpi"), ("mpif90", "use_mpi_f08.f90", "mpi_f08"),
            ("mpifort", "use_mpi_f08.f90", "mpi_f08")]


def pi(name: str, ranks: int) -> str:
    return f"{name}, {ranks} ranks: 3.14159\n"


@with_mpi
@pytest.mark.spin(4)
@pytest.mark.parametrize("command, source, name", PROGRAMS)
def test_programs(margay, tmp_path, command, source, name):
    """Compiled and linked separately, then in one step. gfortran warns about calls with two
    types."""
    program = TOOLS / command
    warnings = ("-Wall", "-Wextra", "-Werror") if source.startswith("hello") else ()
    run = margay("-c", "-O1", *warnings, SOURCES / source, "-o", "part.o", program=program).ok()
    assert not run.stderr or source == "mpif.f", run.stderr
    margay("part.o", "-o", "job.elf", program=program).ok()
    assert margay("-n", 4, "./job.elf", program=TOOLS / "mpiexec").ok().stdout == pi(name, 4)
    margay(SOURCES / source, "-o", "job.elf", program=program).ok()
    assert margay("run", "-n", 2, "--no-prefix", "job.elf").ok().stdout == pi(name, 2)


@with_mpi
def test_threads(margay, tmp_path):
    """MPI_THREAD_MULTIPLE is not granted: there is one thread, and nothing is locked."""
    (tmp_path / "a.c").write_text(
        "#include <mpi.h>\nint main(int argc, char **argv)\n{\n\tint level;\n\n"
        "\tMPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);\n\tMPI_Finalize();\n"
        "\treturn level < MPI_THREAD_MULTIPLE ? 0 : 1;\n}\n")
    margay("-o", "job.elf", "a.c", program=TOOLS / "mpicc").ok()
    margay("run", "job.elf").ok()


@with_mpi
@pytest.mark.spin(3)
@pytest.mark.parametrize("code, status", [(5, 5), (0, 0), (256 + 9, 9)])
def test_abort(margay, tmp_path, code, status):
    margay("-o", "job.elf", SOURCES / "hello.c", program=TOOLS / "mpicc").ok()
    run = margay("run", "-n", 3, "job.elf", "abort", code).status(status)
    run.says(rf"application called MPI_Abort\(MPI_COMM_WORLD, {code}\) - process 2$")
    run.says(rf"^margay: rank 2 \(node 2\) ended the job with status {status}$")


@with_mpi
@pytest.mark.spin(2)
def test_a_rank_leaves_without_finalize(margay, tmp_path):
    margay("-o", "job.elf", SOURCES / "hello.c", program=TOOLS / "mpicc").ok()
    run = margay("run", "-n", 2, "job.elf", "leave", 0).status(1)
    run.says("margay: rank 0 ended with status 0 without MPI_Finalize$")


# ---- the commands' output ----

@pytest.mark.parametrize("command, compiler, libraries", [
    ("mpicc", "gcc", ["mpi", "fabric", "pmi"]),
    ("mpicxx", "g++", ["mpicxx", "mpi", "fabric", "pmi"]),
    ("mpifort", "gfortran", ["mpifort", "mpi", "fabric", "pmi"])])
def test_show(margay, tmp_path, command, compiler, libraries):
    """The underlying margay command, for which nothing is built."""
    program = TOOLS / command
    file = "a.f90" if command == "mpifort" else "a.c"
    line = shlex.split(margay("-show", file, "-O3", "-o", "a.elf", program=program).ok().stdout)
    first = ["-fallow-argument-mismatch"] if command == "mpifort" else []
    assert line[:-1 - len(libraries)] == [str(TOOLS / f"x86_64-margay-{compiler}"), *first, file,
                                          "-O3", "-o", "a.elf"]
    assert line[-1 - len(libraries)].startswith("-I/")
    assert [Path(word).name for word in line[-len(libraries):]] == [
        f"lib{name}.a" for name in libraries]
    assert ".a" not in margay("-show", "-c", file, program=program).ok().stdout
    assert "libmpi.a" in margay("-show", program=program).ok().stdout


@with_mpi
def test_echo(margay, tmp_path):
    """It prints the command of -show, and runs it."""
    shown = margay("-show", "-c", SOURCES / "hello.c", program=TOOLS / "mpicc").ok().stdout
    run = margay("-echo", "-c", SOURCES / "hello.c", program=TOOLS / "mpicc").ok()
    assert run.stderr == shown and not run.stdout
    assert (tmp_path / "hello.o").exists()


@with_mpi
def test_flags_are_enough(margay, tmp_path):
    """margay cc with the options of -compile_info and -link_info makes the same program as
    mpicc."""
    flags = {name: margay(f"-{name}_info", program=TOOLS / "mpicc").ok().stdout.split()
             for name in ("compile", "link")}
    assert flags["compile"] == margay("-showme:compile", program=TOOLS / "mpicc").ok().stdout.split()
    assert flags["link"] == margay("-showme:link", program=TOOLS / "mpicc").ok().stdout.split()
    folder = Path(margay("--where", program=TOOLS / "mpicc").ok().stdout.strip())
    assert flags["compile"] == [f"-I{folder}/include"]
    for name in ("include", "lib"):
        asked = "-showme:incdirs" if name == "include" else "-showme:libdirs"
        assert margay(asked, program=TOOLS / "mpicc").ok().stdout.strip() == str(folder / name)
    margay("cc", "-c", *flags["compile"], SOURCES / "hello.c", "-o", "part.o").ok()
    margay("cc", "part.o", *flags["link"], "-o", "job.elf").ok()
    margay("cc", "--mpi", SOURCES / "hello.c", "-o", "other.elf").ok()
    assert abs((tmp_path / "job.elf").stat().st_size - (tmp_path / "other.elf").stat().st_size) < 9000


@with_mpi
def test_mpis_libraries_may_be_named(margay, tmp_path):
    """As makefiles do for MPICH, without -L. They keep their place: -lprofile behind -lmpifort
    counts the sends of a program in Fortran."""
    for words in (["-lmpi"], ["-lmpich", "-lmpl", "-lopa", "-lpthread"], ["-lpmpich", "-lmpich"],
                  ["-Wl,--no-relax,-lmpi"]):
        margay(SOURCES / "hello.c", *words, "-o", "job.elf", program=TOOLS / "mpicc").ok()
    margay(SOURCES / "hello.cc", "-lmpichcxx", "-lmpich", "-o", "job.elf",
           program=TOOLS / "mpicxx").ok()
    (tmp_path / "count.c").write_text(
        "#include <mpi.h>\n#include <stdio.h>\n"
        "int MPI_Barrier(MPI_Comm c) { printf(\"counted\\n\"); return PMPI_Barrier(c); }\n")
    (tmp_path / "a.f90").write_text("use mpi\ninteger e\ncall mpi_init(e)\n"
                                    "call mpi_barrier(MPI_COMM_WORLD, e)\n"
                                    "call mpi_finalize(e)\nend\n")
    margay("-c", "count.c", program=TOOLS / "mpicc").ok()
    subprocess.run(["ar", "rcs", "libprofile.a", "count.o"], cwd=tmp_path, check=True)
    margay("a.f90", "-lmpichfort", "-L.", "-lprofile", "-lmpich", "-o", "job.elf",
           program=TOOLS / "mpifort").ok()
    assert margay("job.elf", program=TOOLS / "mpiexec").ok().lines == ["counted"]
    shown = margay("-show", "a.c", "-lmpich", program=TOOLS / "mpicc").ok().stdout
    assert "-lmpich" not in shown and shown.count("/libmpi.a") == 2
    assert "-lmpich" in margay("-show", "-c", "a.c", "-lmpich", program=TOOLS / "mpicc").ok().stdout


def test_mpis_libraries_need_its_command(margay, tmp_path):
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n")
    run = margay("cc", "a.c", "-lmpich").status(125)
    run.says("^margay: error: -lmpich: this is MPI$")
    run.says("^margay: link with: mpicc, mpicxx or mpifort, or the option --mpi$")


@with_mpi
def test_a_search_for_the_library(margay, tmp_path):
    """As in AC_SEARCH_LIBS: whether a function links without a library. It does not with other
    commands."""
    for name in ("MPI_Init", "MPI_File_open", "PMPI_Send", "MPI_Nothing"):
        (tmp_path / "conftest.c").write_text(f"char {name}(); int main() {{ return {name}(); }}\n")
        run = margay("-o", "conftest", "conftest.c", program=TOOLS / "mpicc")
        assert (run.returncode == 0) == (name != "MPI_Nothing"), run.describe()


def test_a_program_without_mpi_is_told(margay, tmp_path):
    """With margay cc, which does not link MPI by default."""
    (tmp_path / "a.c").write_text("int MPI_Init(int *, char ***);\n"
                                  "int main(void) { return MPI_Init(0, 0); }\n")
    run = margay("cc", "a.c").status(1)
    run.says("^margay: error: this is MPI: MPI_Init$")
    run.says("^margay: link with: mpicc, mpicxx or mpifort, or the option --mpi$")


def test_questions_about_the_compiler(margay, tmp_path):
    """As from configure, without a file: MPI is not needed, nor built."""
    empty = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert margay("-dumpmachine", program=TOOLS / "mpicc", env=empty).ok().stdout
    assert margay("--version", program=TOOLS / "mpicc", env=empty).ok().lines[0].startswith(
        "margay cc ")
    margay(program=TOOLS / "mpicc", env=empty).status(125).says("no input files")
    assert not (tmp_path / "cache").exists()


# ---- mpiexec ----

def test_mpiexec(margay, app, tmp_path):
    for name in ("mpiexec", "mpirun"):
        run = margay("-np", 2, app("hello"), program=TOOLS / name).ok()
        assert len(run.lines) == 2 and "[" not in run.stdout
        assert all(margay("-n", 2, "-l", app("hello"), program=TOOLS / name).ok().of_rank(rank)
                   for rank in range(2))
    run = margay("-n", 2, "--allow-run-as-root", app("hello"), "-l", program=TOOLS / "mpiexec").ok()
    assert "[" not in run.stdout, "-l is the application's"
    run = margay("-n", 2, "-env", "A", "b", "--mca", "btl", "self", "-l", app("output"), "env", "A",
                 program=TOOLS / "mpiexec").ok()
    assert all(run.of_rank(rank) == ["A=b"] for rank in range(2))


@pytest.mark.parametrize("words, says", [
    (("-ppn", "2"), "-ppn: a node runs one rank"), (("-hosts", "a,b"), "booted on this host"),
    (("-genvall",), "use --env NAME"), (("--enable-recovery",), "unknown option")])
def test_mpiexec_refuses(margay, app, words, says):
    run = margay("-n", 2, *words, app("hello"), program=TOOLS / "mpiexec").status(125)
    run.says(f"^mpiexec: .*{says}")


# ---- build systems ----

CMAKE_LISTS = """\
cmake_minimum_required(VERSION 3.13)
project(all C CXX Fortran)
find_package(MPI REQUIRED)
enable_testing()
foreach(pair "c:hello.c:C" "cc:hello.cc:CXX" "mpif:mpif.f:Fortran" "f08:use_mpi_f08.f90:Fortran")
	string(REPLACE ":" ";" pair "${pair}")
	list(GET pair 0 name)
	list(GET pair 1 source)
	list(GET pair 2 language)
	add_executable(${name} @SOURCES@/${source})
	target_link_libraries(${name} MPI::MPI_${language})
	add_test(NAME ${name} COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 2 $<TARGET_FILE:${name}>)
endforeach()
message("VERSION=${MPI_C_VERSION} F08=${MPI_Fortran_HAVE_F08_MODULE} EXEC=${MPIEXEC_EXECUTABLE}")
"""


@with_mpi
@pytest.mark.spin(2)
@pytest.mark.timeout(300)
def test_cmake(margay, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(CMAKE_LISTS.replace("@SOURCES@", str(SOURCES)))
    run = margay("-B", "out", f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/margay.cmake", program=CMAKE).ok()
    run.says(rf"^VERSION=4\.0 F08=TRUE EXEC={TOOLS}/mpiexec$")
    margay("--build", "out", program=CMAKE).ok()
    done = margay("--test-dir", "out", "-V", program=Path("/usr/bin/ctest")).ok()
    for name in ("C", "C++", "mpif.h", "mpi_f08"):
        done.prints(re.escape(pi(name, 2).strip()))


CMAKE_WRAPPERS = """\
cmake_minimum_required(VERSION 3.13)
project(all C CXX Fortran)
add_executable(c @SOURCES@/hello.c)
add_executable(cc @SOURCES@/hello.cc)
add_executable(mpif @SOURCES@/mpif.f)
"""


@with_mpi
@pytest.mark.spin(2)
@pytest.mark.timeout(300)
def test_cmake_with_the_commands_of_mpi(margay, tmp_path):
    """A project that names no MPI is built by the compilers that the user names."""
    (tmp_path / "CMakeLists.txt").write_text(CMAKE_WRAPPERS.replace("@SOURCES@", str(SOURCES)))
    compilers = {"C": "mpicc", "CXX": "mpicxx", "Fortran": "mpifort"}
    margay("-B", "out", f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/margay.cmake",
           *(f"-DCMAKE_{language}_COMPILER={TOOLS / name}" for language, name in compilers.items()),
           program=CMAKE).ok()
    margay("--build", "out", program=CMAKE).ok()
    for name, says in (("c", "C"), ("cc", "C++"), ("mpif", "mpif.h")):
        assert margay("run", "-n", 2, "--no-prefix", f"out/{name}").ok().stdout == pi(says, 2)


CONFIGURE = """\
AC_INIT([hello], [1])
m4_include([/usr/share/aclocal/ax_mpi.m4])
AC_LANG([@LANGUAGE@])
AX_MPI([], [AC_MSG_ERROR([no MPI])])
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
"""


@with_mpi
@pytest.mark.spin(2)
@pytest.mark.parametrize("language, variable, source, says", [
    ("C", "MPICC", "hello.c", "C"), ("C++", "MPICXX", "hello.cc", "C++"),
    ("Fortran 77", "MPIF77", "mpif.f", "mpif.h"), ("Fortran", "MPIFC", "use_mpi_f08.f90", "mpi_f08")])
def test_autoconf(margay, tmp_path, language, variable, source, says):
    """AX_MPI of Debian's autoconf-archive finds MPI's commands in PATH."""
    (tmp_path / "configure.ac").write_text(CONFIGURE.replace("@LANGUAGE@", language))
    (tmp_path / "Makefile.in").write_text(
        f"job.elf:\n\t@{variable}@ {SOURCES / source} @MPILIBS@ -o job.elf\n")
    margay(program=Path("/usr/bin/autoconf")).ok()
    env = {"PATH": f"{TOOLS}:{os.environ['PATH']}"}
    margay("--host=x86_64-margay", program=tmp_path / "configure", env=env).ok()
    margay(program=Path("/usr/bin/make"), env=env).ok()
    assert margay("run", "-n", 2, "--no-prefix", "job.elf").ok().stdout == pi(says, 2)


@with_mpi
@pytest.mark.spin(2)
def test_pkg_config(margay, tmp_path):
    """With margay cc, and with the host's gcc by the flags of margay.pc."""
    subprocess.run(["make", "-C", ROOT, "--no-print-directory", "mpi"], check=True,
                   capture_output=True, env={name: value for name, value in os.environ.items()
                                             if not name.startswith("MAKE")})
    asked = subprocess.run(["pkg-config", "--cflags", "--libs", "mpich"], check=True, text=True,
                           capture_output=True, env={**os.environ, "PKG_CONFIG_PATH":
                                                     str(BUILD / "pkgconfig")}).stdout
    for program, name in (("/usr/bin/gcc", "gcc.elf"), (TOOLS / "x86_64-margay-gcc", "own.elf")):
        margay("-O2", SOURCES / "hello.c", *shlex.split(asked), "-o", name,
               program=Path(program)).ok()
        assert margay("run", "-n", 2, "--no-prefix", name).ok().stdout == pi("C", 2)


# ---- how MPI is built ----

@pytest.fixture
def without_mpi(margay, tmp_path: Path) -> dict[str, str]:
    """An environment with the C++ library, which is built first, but without MPI."""
    folder = Path(margay("c++", "--where").ok().stdout.strip())
    home = tmp_path / "cache/margay/languages"
    home.mkdir(parents=True)
    (home / folder.name).symlink_to(folder)
    return no_libraries(tmp_path)


def test_the_first_use(margay, without_mpi, tmp_path):
    """It tells how long it takes and, without a source, what to do. Nothing incomplete looks
    finished."""
    (tmp_path / "apt-get").write_text("#!/bin/sh\nexit 100\n")
    (tmp_path / "apt-get").chmod(0o755)
    env = {**without_mpi, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    margay("--where", program=TOOLS / "mpicc", env=env).status(1).prints(
        "the MPI library is not built yet")
    run = margay(SOURCES / "hello.c", program=TOOLS / "mpicc", env=env).status(125)
    run.says("^margay: building the MPI library for nodes, once: about six minutes$")
    run.says("^without a network put mpich_4.0.2.orig.tar.xz into .*/cache/margay$")
    run.says("^mpicc: error: the MPI library could not be built$")
    assert not list((tmp_path / "cache").rglob("mpi-*/stamp"))
    assert not (tmp_path / "a.out").exists()


def test_its_name_is_made_from_each_of_its_sources():
    """So a change in one of them builds MPI anew."""
    script = (ROOT / "mpi/mpich.sh").read_text()
    used = {ROOT / f"mpi/{name}.c" for name in re.findall(r"^replace (\w+)", script, re.MULTILINE)}
    assert used and used == set(ROOT.glob("mpi/*.c"))
    assert used | {ROOT / "mpi/mpich.sh", ROOT / "lib/pmi/pmi.h"} <= set(MPI.sources())


def test_two_builders(margay, without_mpi, tmp_path):
    """The second one waits for the first, and uses its result."""
    include = margay("-showme:incdirs", program=TOOLS / "mpicc",
                     env=without_mpi).ok().stdout.strip()
    place = Path(include).parent
    (tmp_path / "made").mkdir()
    (tmp_path / "made/stamp").touch()
    with open(f"{place}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        live = margay.start("--prepare", program=TOOLS / "mpicc",
                            env=without_mpi)
        until(lambda: opened(live.processes(), lock.name))
        place.symlink_to(tmp_path / "made")
    run = live.wait().ok()
    assert run.stdout.strip() == str(place) and "building" not in run.stderr
