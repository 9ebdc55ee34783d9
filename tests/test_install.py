"""`make install` and `make deb`: the installed files work alone, for an ordinary user."""
from __future__ import annotations

import gzip
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Callable, Iterator

import pytest

from harness import BUILD, ROOT, Margay, Run

sys.path.insert(0, str(ROOT / "tools"))

from margaylib import VERSION, cli, options  # noqa: E402

pytestmark = pytest.mark.launcher

NOBODY = 65534
COMMANDS = ("run", "cc", "c++", "fortran", "gdb", "iso", "pxe")
PROGRAM = """
#include <margay.h>
#include <math.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	printf("rank %d of %d: %g\\n", margay_rank(), margay_size(), sqrt(argc + 1));
	return 0;
}
"""
FORTRAN = """
subroutine tell() bind(c)
  use omp_lib
  use, intrinsic :: iso_c_binding
  use, intrinsic :: ieee_arithmetic
  implicit none
  real(16) :: x
  interface
    integer(c_int) function margay_rank() bind(c)
      import
    end function
    integer(c_int) function margay_size() bind(c)
      import
    end function
  end interface
  x = sqrt(2.0_16)
  if (ieee_is_finite(x) .and. omp_get_max_threads() == 1) &
    print '("rank ", i0, " of ", i0, ": ", f0.5)', margay_rank(), margay_size(), x
  flush(6)
end subroutine
#ifndef PART
program third
  interface
    subroutine tell() bind(c)
    end subroutine
  end interface
  call tell
end program
#endif
"""
PLUS = """
#include <iostream>
#include <stdexcept>
#include <margay.h>
int main()
{
	try {
		throw std::runtime_error("1.41421");
	} catch (const std::exception &error) {
		std::cout << "rank " << margay_rank() << " of " << margay_size() << ": " << error.what()
			  << std::endl;
	}
}
"""
# Runs a command as an ordinary user, with the checkout hidden.
HIDDEN = ('mount -t tmpfs none "$0" && '
          f'exec setpriv --reuid {NOBODY} --regid {NOBODY} --clear-groups -- "$@"')


def make(*words: str) -> subprocess.CompletedProcess[str]:
    """A separate make, not a part of the one that runs the tests."""
    env = {name: value for name, value in os.environ.items()
           if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "MARGAY_READY")}
    return subprocess.run(["make", "-C", str(ROOT), "--no-print-directory", *words], env=env,
                          capture_output=True, text=True)


def made(*words: str) -> None:
    done = make(*words)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder accessible to every user, unlike pytest's own."""
    path = Path(tempfile.mkdtemp(prefix="margay-install-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def installed(folder: Path) -> Path:
    made("install", f"DESTDIR={folder}/root", "PREFIX=/usr")
    return folder / "root/usr"


@pytest.fixture(scope="module")
def package(folder: Path) -> Path:
    """The Debian package, unpacked."""
    made("deb")
    root = folder / "unpacked"
    subprocess.run(["dpkg-deb", "-x", deb(), root], check=True)
    return root / "usr"


def deb() -> Path:
    return BUILD / f"margay_{VERSION}-1_amd64.deb"


@pytest.fixture
def home(folder: Path) -> Path:
    """An ordinary user's folder with a source, outside the checkout."""
    path = Path(tempfile.mkdtemp(dir=folder))
    (path / "tmp").mkdir()
    (path / "hello.c").write_text(PROGRAM)
    (path / "plus.cc").write_text(PLUS)
    (path / "third.F90").write_text(FORTRAN)
    path.chmod(0o777)
    (path / "tmp").chmod(0o777)
    return path


@pytest.fixture
def user(margay: Margay, home: Path) -> Callable[..., Run]:
    """Runs a program as an ordinary user who cannot see the checkout, if root can arrange that."""
    before: list[object] = []
    if os.geteuid() == 0:
        before = ["/usr/bin/setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--"]
        if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0:
            before = ["/usr/bin/unshare", "--mount", "sh", "-c", HIDDEN, ROOT]

    def run(*words: object, **env: str) -> Run:
        program, *rest = [*before, *words]
        return margay(*rest, program=Path(str(program)), cwd=home, env={
            "HOME": str(home), "TMPDIR": str(home / "tmp"), "XDG_CACHE_HOME": str(home / "cache"),
            **env})
    return run


def pkg_config(place: Path, name: str) -> list[str]:
    """pkg-config's answer about a library in lib/margay/pkgconfig."""
    return subprocess.run(["pkg-config", "--cflags", "--libs", name], check=True, text=True,
                          capture_output=True, env={
                              **os.environ, "PKG_CONFIG_PATH": f"{place}/lib/margay/pkgconfig"}
                          ).stdout.split()


def hello(run: Run, nodes: int) -> None:
    assert sorted(re.sub(r"^\[\d+\] ", "", line) for line in run.ok().lines) == [
        f"rank {rank} of {nodes}: 1.41421" for rank in range(nodes)], run.describe()


def tree(root: Path) -> dict[str, tuple[int, int]]:
    """All files below a folder, with size and time."""
    return {str(path.relative_to(root)): (path.lstat().st_size, path.lstat().st_mtime_ns)
            for path in root.rglob("*")}


@pytest.fixture(params=["installed", "package"])
def place(request: pytest.FixtureRequest) -> Path:
    return request.getfixturevalue(request.param)


def test_an_ordinary_user_compiles_and_runs(place, user):
    """Outside the checkout, which is hidden, and nothing is written into the tree."""
    before = tree(place)
    user(place / "bin/margay", "cc", "-O2", "-o", "hello.elf", "hello.c", "-lm").ok()
    hello(user(place / "bin/margay", "run", "-n", 2, "./hello.elf"), 2)
    hello(user(place / "bin/margay", "run", "-n", 2, "--link", "virtio", "./hello.elf"), 2)
    user(place / "bin/x86_64-margay-gcc", "-o", "again.elf", "hello.c").ok()
    hello(user(place / "bin/margay", "run", "again.elf"), 1)
    user(place / "bin/x86_64-margay-g++", "-o", "plus.elf", "plus.cc").ok()  # what is carried
    hello(user(place / "bin/margay", "run", "-n", 2, "plus.elf"), 2)
    user(place / "bin/x86_64-margay-gfortran", "-fopenmp", "-o", "third.elf", "third.F90").ok()
    hello(user(place / "bin/margay", "run", "-n", 2, "third.elf"), 2)
    user(place / "bin/x86_64-margay-objdump", "-h", "plus.elf").ok().prints(r"\.eh_frame_hdr")
    user(place / "bin/x86_64-margay-g++", "plus.f90").status(125).says("margay fortran$")
    assert user(place / "bin/margay", "--version").ok().stdout == f"margay {VERSION}\n"
    assert tree(place) == before


def test_roots_runs_write_nothing_into_the_tree(place, margay):
    before = tree(place)
    margay("--version", program=place / "bin/margay").ok()
    margay("cc", "-show", "a.c", program=place / "bin/margay").ok()
    assert tree(place) == before


def test_all_commands(installed, user, home):
    margay = installed / "bin/margay"
    user(margay, "cc", "-o", "hello.elf", "hello.c").ok()
    user(margay, "gdb", "--batch", "--ex", "info symbol $pc", "hello.elf").ok().prints("^main in ")
    user(margay, "iso", "hello.elf", "-o", "hello.iso").ok()
    hello(user(margay, "run", "--boot", "hello.iso", "hello.elf"), 1)
    user(margay, "pxe", "hello.elf", "-o", "boot").ok()
    assert (home / "boot/margay.efi").exists()


def test_examples(installed, user):
    own = dict(nx_pi="nx", mad_rpc="madeleine", vmmc_halo="vmmc", fm_table="fm", pm2_queens="pm2")
    for name in ("hello", "ring", "expose", "matched", "tickets", *own):
        source = installed / f"share/doc/margay/examples/{name}.c"
        libraries = pkg_config(installed, own[name]) if name in own else []
        user(installed / "bin/margay", "cc", "-o", f"{name}.elf", source, *libraries).ok()


def test_the_tree_does_not_name_the_checkout(place):
    """No file but debug data contains the path of the build folder: the tree may be moved."""
    texts = [path for path in place.rglob("*") if path.is_file() and not path.is_symlink()
             and path.suffix not in (".a", ".o", ".pyc", ".gz")]
    named = [str(path) for path in texts if str(ROOT).encode() in path.read_bytes()]
    assert not named, named
    for path in place.rglob("*"):
        assert not path.is_symlink() or path.resolve().is_relative_to(place), path


def test_permissions(place):
    for path in place.rglob("*"):
        mode = stat.S_IMODE(path.lstat().st_mode)
        if not path.is_symlink():
            assert mode in ((0o755,) if path.is_dir() else (0o644, 0o755)), (path, oct(mode))


def test_a_part_that_is_missing(installed, user, folder):
    copy = folder / "broken"
    shutil.copytree(installed, copy, symlinks=True)
    (copy / "lib/margay/crt0.o").unlink()
    user(copy / "bin/margay", "cc", "hello.c").status(125).says(
        "crt0.o is missing: margay is not completely installed")


def test_uninstall(folder, user):
    """Also of a tree in a folder with a space in its name."""
    root = folder / "to remove"
    made("install", f"DESTDIR={root}", "PREFIX=/opt/margay")
    user(root / "opt/margay/bin/margay", "cc", "-o", "hello.elf", "hello.c").ok()
    hello(user(root / "opt/margay/bin/margay", "run", "hello.elf"), 1)
    made("uninstall", f"DESTDIR={root}", "PREFIX=/opt/margay")
    left = [path for path in root.rglob("*") if not path.is_dir()]
    assert not left, left


def test_a_prefix_that_is_not_absolute(folder):
    done = make("install", f"DESTDIR={folder}/x", "PREFIX=usr")
    assert done.returncode != 0 and "PREFIX=usr is not an absolute path" in done.stderr
    assert not (folder / "x").exists() and not (folder / "xusr").exists()


# ---- the Debian package ----

def field(name: str) -> str:
    return subprocess.run(["dpkg-deb", "-f", deb(), name], check=True, capture_output=True,
                          text=True).stdout.strip()


def needs(name: str) -> set[str]:
    text = (ROOT / "tools/packages.txt").read_text()
    return {word for line in text.splitlines() if line.split()[:1] == [name]
            for word in line.split()[1:]}


def test_control_fields(package):
    assert (field("Package"), field("Version"), field("Architecture")) == (
        "margay", f"{VERSION}-1", "amd64")
    depends = {word.strip() for word in field("Depends").split(",")}
    assert {word for word in depends if "(" not in word} == needs("run") | needs("cc")
    assert [re.sub(r" \(>= [\d.]+\)$", "", word) for word in depends if "(" in word] == ["libc6"]
    assert needs("iso") | needs("gdb") <= {word.strip() for word in field("Suggests").split(",")}
    assert re.match(r".+ <.+@.+>$", field("Maintainer"))
    assert needs("languages") == {word.strip() for word in field("Recommends").split(",")}
    assert "gcc-12 (= " in field("Built-Using")
    size = sum(path.lstat().st_size for path in package.rglob("*") if path.is_file()) / 1024
    assert size * 0.9 < int(field("Installed-Size")) < size * 1.2 + 400


def test_files_of_the_package(package):
    listing = subprocess.run(["dpkg-deb", "-c", deb()], check=True, capture_output=True,
                             text=True).stdout.splitlines()
    assert {line.split()[1] for line in listing} == {"root/root"}
    assert not list(package.rglob("__pycache__"))            # postinst makes them
    licence = (package / "share/doc/margay/copyright").read_text()
    assert (ROOT / "LICENSE").read_text() in licence
    assert (BUILD / "sysroot/COPYRIGHT").read_text() in licence
    with gzip.open(package / "share/doc/margay/changelog.gz", "rt") as text:
        assert text.read() == (ROOT / "CHANGES.md").read_text()
    assert {path.name for path in (package / "share/man/man1").iterdir()} == {
        "margay.1.gz", *(f"margay-{word}.1.gz" for word in COMMANDS)}
    sums = subprocess.run(["dpkg-deb", "--ctrl-tarfile", deb()], check=True, capture_output=True)
    control = subprocess.run(["tar", "-xO", "./md5sums"], input=sums.stdout, check=True,
                             capture_output=True).stdout
    subprocess.run(["md5sum", "--check", "--quiet"], input=control, cwd=package.parent, check=True)


# ---- MPI ----

MPI_IS_THERE = subprocess.run([ROOT / "tools/mpicc", "--where"],
                              capture_output=True).returncode == 0
with_mpi = pytest.mark.skipif(not MPI_IS_THERE, reason="MPI is not built: make mpi")
MPI_COMMANDS = ("mpicc", "mpicxx", "mpifort", "mpiexec", "mpirun")
MPI_PROGRAM = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	int rank, size;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	printf("rank %d of %d: 1.41421\\n", rank, size);
	MPI_Finalize();
	return 0;
}
"""


def mpi_deb() -> Path:
    return BUILD / f"margay-mpi_{VERSION}-1_amd64.deb"


@pytest.fixture(scope="module")
def both_packages(package: Path, folder: Path) -> Path:
    root = folder / "both"
    for path in (deb(), mpi_deb()):
        subprocess.run(["dpkg-deb", "-x", path, root], check=True)
    return root / "usr"


@with_mpi
@pytest.mark.parametrize("name", ["installed", "both_packages"])
def test_mpi_is_carried(request, user, home, name):
    """For an ordinary user, whose cache is empty; and by pkg-config."""
    place = request.getfixturevalue(name)
    before = tree(place)
    (home / "m.c").write_text(MPI_PROGRAM)
    user(place / "bin/mpicc.margay", "-o", "m.elf", "m.c").ok()
    hello(user(place / "bin/mpiexec.margay", "-n", 2, "./m.elf"), 2)
    user("/usr/bin/gcc", "-O2", "m.c", "-o", "p.elf", *pkg_config(place, "mpich")).ok()
    hello(user(place / "bin/mpirun.margay", "-np", 2, "p.elf"), 2)
    assert tree(place) == before and not (home / "cache/margay/languages").exists()


@with_mpi
def test_the_package_of_mpi(package):
    """Only this package has its commands; each has a page, and is an alternative."""
    asked = subprocess.run(["dpkg-deb", "-f", mpi_deb(), "Package", "Depends"], check=True,
                           capture_output=True, text=True).stdout.splitlines()
    assert asked == ["Package: margay-mpi", f"Depends: margay (= {VERSION}-1)"]
    listing = subprocess.run(["dpkg-deb", "-c", mpi_deb()], check=True, capture_output=True,
                             text=True).stdout
    control = subprocess.run(["dpkg-deb", "--ctrl-tarfile", mpi_deb()], check=True,
                             capture_output=True).stdout
    postinst = subprocess.run(["tar", "-xO", "./postinst"], input=control, check=True,
                              capture_output=True).stdout.decode()
    for name in MPI_COMMANDS:
        assert f"./usr/bin/{name}.margay -> " in listing
        assert f"./usr/share/man/man1/{name}.margay.1.gz" in listing
        assert f" /usr/bin/{name}.margay" in postinst
        assert not (package / f"bin/{name}.margay").exists()
    assert not list((package / "lib/margay/languages").glob("mpi-*"))


# ---- pages ----

def visible(text: str) -> str:
    """The text of a man page, as one line."""
    done = subprocess.run(["groff", "-man", "-Tascii", "-P-cbou", "-rLL=400n", "-ww"], input=text,
                          capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return " ".join(done.stdout.split())


@pytest.mark.parametrize("word", COMMANDS)
def test_man_pages_say_what_help_says(installed, word):
    """Each word of `margay COMMAND --help` is on the page, and groff reports no error."""
    text = visible((installed / f"share/man/man1/margay-{word}.1").read_text())
    for line in cli.help_text(word).splitlines():
        for part in re.split(r"\s{2,}", line.removeprefix("usage: ").strip()):
            name, _, rest = part.partition(": ")
            if name in ("exit status", "environment"):
                assert name.upper() in text
                part = rest
            assert part.rstrip(":") in text, part
    for part in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLE", "SEE ALSO"):
        assert part in text


def test_the_front_page_names_the_commands(installed):
    text = visible((installed / "share/man/man1/margay.1").read_text())
    for word in COMMANDS:
        assert f"margay-{word}(1)" in text
    assert set(re.findall(r"^  ([\w+]+) ", cli.USAGE, re.M)) == set(COMMANDS) | {"margay"}


def complete(installed: Path, folder: Path, *words: str) -> set[str]:
    """The completions that bash offers for the last word."""
    script = ('source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _margay; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(
        ["bash", "--norc", "-uc", script, installed / "share/bash-completion/completions/margay",
         "margay", *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return set(done.stdout.split("\n")) - {""}


def test_completion_offers_all_options(installed, tmp_path):
    run = options.TABLE + options.OWN_TABLE
    for word, table in {"run": run, "gdb": run + options.GDB_TABLE,
                        **options.GRUB_TABLES}.items():
        names = {name for row in table for name in row[0]}
        assert complete(installed, tmp_path, word, "-") == names | {"--help"}
    assert complete(installed, tmp_path, "") == {*COMMANDS, "--help", "--version"}
    offered = complete(installed, tmp_path, "cc", "-")
    assert offered == {"-show", "--mpi", "--selftests", "--runnable", "--version", "--help"}


@pytest.mark.parametrize("words, offers", [
    (("run", "--li"), {"--link"}),
    (("run", "--link", ""), {"shm", "virtio", "e1000", "e1000e"}),
    (("run", "--link", "=", "e1"), {"e1000", "e1000e"}),
    (("run", "--link", "="), {"shm", "virtio", "e1000", "e1000e"}),
    (("run", "-n", "4", "a"), {"a job.elf", "add.c"}),
    (("run", "-n", ""), set()),
    (("run", "--crc", "--file", "a"), {"a job.elf", "add.c"}),
    (("run", "--output-dir", ""), {"results"}),
    (("run", "a job.elf", "--li"), set()),
    (("run", "--", "--li"), set()),
    (("run", "--link", "shm", "a job.elf", "a"), {"a job.elf", "add.c"}),
    (("iso", "a job.elf", "--pat"), {"--patience"}),
    (("cc", "ad"), {"add.c"}),
    (("gdb", "--ran"), {"--rank"}),
    (("unknown", ""), set()),
], ids=lambda value: " ".join(value) if isinstance(value, tuple) else None)
def test_completion(installed, tmp_path, words, offers):
    for name in ("a job.elf", "add.c"):
        (tmp_path / name).touch()
    (tmp_path / "results").mkdir()
    assert complete(installed, tmp_path, *words) == offers


# ---- build systems ----

CMAKE = """\
cmake_minimum_required(VERSION 3.13)
project(tiny C)
include(CheckFunctionExists)
include(CheckCSourceRuns)
find_library(M m)
find_library(Z z)
find_path(PORTALS portals3.h)
check_function_exists(getline HAVE_GETLINE)
check_function_exists(fork HAVE_FORK)
check_c_source_runs("int main(void) { return 0; }" RUNS)
message("M=${M} Z=${Z} PORTALS=${PORTALS} ${HAVE_GETLINE} ${HAVE_FORK} ${RUNS} ${UNIX}")
add_library(part STATIC part.c)
add_executable(tiny hello.c)
target_link_libraries(tiny part ${M})
enable_testing()
add_test(NAME one COMMAND tiny)
"""


CMAKE_PLUS = """\
cmake_minimum_required(VERSION 3.13)
project(plus C CXX)
set(CMAKE_CXX_STANDARD 20)
include(CheckCXXSourceRuns)
include(CheckIncludeFileCXX)
check_cxx_source_runs("int main() { try { throw 1; } catch (int) { return 0; } }" RUNS)
check_include_file_cxx(filesystem FILESYSTEM)
find_package(Threads)
message("RUNS=${RUNS} THREADS=${Threads_FOUND} FILESYSTEM=${FILESYSTEM}")
add_library(part STATIC part.c)
add_executable(plus plus.cc)
target_link_libraries(plus part Threads::Threads)
enable_testing()
add_test(NAME one COMMAND plus)
"""


@pytest.fixture(params=["installed", "checkout"])
def folders(request: pytest.FixtureRequest) -> tuple[Path, Path]:
    """The variables of the toolchain file and of the .pc file."""
    if request.param == "checkout":
        return ROOT / "cmake", BUILD / "pkgconfig"
    installed = request.getfixturevalue("installed")
    return installed / "lib/margay/cmake", installed / "lib/pkgconfig"


def test_cmake(margay, folders, tmp_path):
    toolchain, _ = folders
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    (tmp_path / "hello.c").write_text(PROGRAM)
    (tmp_path / "part.c").write_text("int part(void) { return 1; }\n")
    cmake = Path("/usr/bin/cmake")
    run = margay("-B", "out", f"-DCMAKE_TOOLCHAIN_FILE={toolchain}/margay.cmake",
                 program=cmake).ok()
    said = run.says(r"^M=(\S+)/sysroot/lib/libm\.a Z=Z-NOTFOUND PORTALS=(\S+)/include 1  1 1$")
    assert Path(said[2]) == toolchain.parent
    margay("--build", "out", program=cmake).ok()
    hello(margay("run", "-n", 2, "out/tiny"), 2)
    margay("--test-dir", "out", "-V", program=Path("/usr/bin/ctest")).ok().prints(
        "rank 0 of 1: 1.41421")


def test_cmake_of_two_languages(margay, folders, tmp_path):
    """C and C++ in one project, each compiled and linked by its own command."""
    toolchain, _ = folders
    (tmp_path / "CMakeLists.txt").write_text(CMAKE_PLUS)
    (tmp_path / "plus.cc").write_text(PLUS.replace('"1.41421"', "part()").replace(
        "int main", 'extern "C" const char *part(void);\nint main'))
    (tmp_path / "part.c").write_text('const char *part(void) { return "1.41421"; }\n')
    cmake = Path("/usr/bin/cmake")
    run = margay("-B", "out", f"-DCMAKE_TOOLCHAIN_FILE={toolchain}/margay.cmake",
                 program=cmake).ok()
    run.says("^RUNS=1 THREADS=TRUE FILESYSTEM=1$")
    margay("--build", "out", program=cmake).ok()
    hello(margay("run", "-n", 2, "out/plus"), 2)
    margay("--test-dir", "out", "-V", program=Path("/usr/bin/ctest")).ok().prints(
        "rank 0 of 1: 1.41421")


CMAKE_THIRD = """\
cmake_minimum_required(VERSION 3.13)
project(third C CXX Fortran)
find_package(OpenMP REQUIRED)
add_library(part STATIC part.F90)
target_link_libraries(part PUBLIC OpenMP::OpenMP_Fortran)
set_property(SOURCE part.F90 PROPERTY COMPILE_DEFINITIONS PART)
add_executable(third third.F90)
target_link_libraries(third OpenMP::OpenMP_Fortran)
add_executable(mixed mixed.cc)
target_link_libraries(mixed part OpenMP::OpenMP_CXX)
enable_testing()
add_test(NAME one COMMAND mixed)
"""


def test_cmake_of_three_languages(margay, folders, tmp_path):
    """Fortran with OpenMP, and in a program of C++ that CMake links by the command of C++."""
    toolchain, _ = folders
    (tmp_path / "CMakeLists.txt").write_text(CMAKE_THIRD)
    for name in ("third", "part"):
        (tmp_path / f"{name}.F90").write_text(FORTRAN)
    (tmp_path / "mixed.cc").write_text('extern "C" void tell();\nint main() { tell(); }\n')
    cmake = Path("/usr/bin/cmake")
    margay("-B", "out", f"-DCMAKE_TOOLCHAIN_FILE={toolchain}/margay.cmake", program=cmake).ok()
    margay("--build", "out", program=cmake).ok()
    for name in ("third", "mixed"):
        hello(margay("run", "-n", 2, f"out/{name}"), 2)
    margay("--test-dir", "out", "-V", program=Path("/usr/bin/ctest")).ok().prints(
        "rank 0 of 1: 1.41421")


MAKEFILE = """\
CC := @CC@
CFLAGS := -O2 $(shell pkg-config --cflags margay)
LDLIBS := $(shell pkg-config --libs margay)
hello.elf: hello.o
	$(CC) -o $@ $^ $(LDLIBS)
plus.elf: plus.cc
	$(shell pkg-config --variable=cxx margay) -O1 $(CFLAGS) -o $@ $^ $(LDLIBS)
third.elf: third.F90
	$(shell pkg-config --variable=fc margay) -fopenmp $(CFLAGS) -o $@ $^ $(LDLIBS)
"""


@pytest.mark.parametrize("compiler", ["gcc", "$(shell pkg-config --variable=cc margay)"],
                         ids=["gcc", "margay-cc"])
def test_pkg_config(margay, folders, compiler, tmp_path):
    _, path = folders
    (tmp_path / "Makefile").write_text(MAKEFILE.replace("@CC@", compiler))
    (tmp_path / "hello.c").write_text(PROGRAM)
    margay("hello.elf", program=Path("/usr/bin/make"),
           env={"PKG_CONFIG_PATH": str(path), "MAKEFLAGS": ""}).ok()
    hello(margay("run", "-n", 2, "hello.elf"), 2)
    (tmp_path / "plus.cc").write_text(PLUS)
    (tmp_path / "third.F90").write_text(FORTRAN)
    for name in ("plus.elf", "third.elf"):
        margay(name, program=Path("/usr/bin/make"),
               env={"PKG_CONFIG_PATH": str(path), "MAKEFLAGS": ""}).ok()
        hello(margay("run", "-n", 2, name), 2)
    margay("--modversion", "margay", program=Path("/usr/bin/pkg-config"),
           env={"PKG_CONFIG_PATH": str(path)}).ok().prints(f"^{re.escape(VERSION)}$")
