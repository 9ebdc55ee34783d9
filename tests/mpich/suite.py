"""MPICH's tests: unpacked from Debian's source of MPICH, configured for nodes, and built.

MPICH's own configure script and makefiles build them, with mpicc, mpicxx and mpifort. The script
takes half a minute, once; the programs are kept too, and linked again when one of their libraries
is newer.
"""
from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from hashlib import sha256
from pathlib import Path
from typing import Any, Iterable, Iterator

from lists import Entry

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("MARGAY_BUILD") or ROOT / "build")
TOOLS = ROOT / "tools"
WORK = BUILD / "mpich"
VERSION = "4.0.2"
TARBALL = f"mpich_{VERSION}.orig.tar.xz"
SUM = "b27039f964afeb6b8a3e009c56b441cbe368c26d6d6476ad3bb7190996875860"
SUITE = WORK / f"mpich-{VERSION}/test/mpi"
# configure reads MPI's version in its header.
PARTS = ("test/mpi", "src/include/mpi.h.in", "maint/version.m4")
# As in MPICH's own build, which also runs the tests of its extensions.
SETTINGS = {"FROM_MPICH": "yes", "MPICH_ENABLE_FC": "yes", "MPICH_ENABLE_CXX": "yes",
            "MPI_NO_SPAWN": "yes", "MPI_SIZEOF_AINT": "8", "MPI_SIZEOF_OFFSET": "8",
            "WRAPPER_FFLAGS": "-fallow-argument-mismatch",
            "WRAPPER_FCFLAGS": "-fallow-argument-mismatch"}
# Two names for one machine, so that configure only links and runs nothing.
OPTIONS = ["--build=amd64-margay-linux-musl", "--host=x86_64-margay-linux-musl",
           f"--bindir={TOOLS}", "--with-device=ch4:ofi", "--enable-fortran=all",
           "--enable-threads=single", "--with-thread-package=none", "--disable-shared",
           "--disable-dependency-tracking", "--disable-maintainer-mode"]
# In front of a command: it ends when this program does, however that ends.
WITH_US = ("setpriv", "--pdeathsig", "TERM")
# The shared code fills and checks buffers of up to 1 GB, so it is optimized. The programs have no
# options, as in MPICH's own build.
SHARED = ("CFLAGS=-O2",)
COMMANDS = {"CC": "mpicc", "CXX": "mpicxx", "F77": "mpif77", "FC": "mpifort"}


def mpi() -> Path | None:
    """The folder of MPI's library, if it is built."""
    done = subprocess.run([TOOLS / "mpicc", "--where"], capture_output=True, text=True)
    return Path(done.stdout.strip()) if done.returncode == 0 else None


def environment() -> dict[str, str]:
    """The environment without the variables of a calling make."""
    hidden = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEFILES", "CFLAGS", "CPPFLAGS", "LDFLAGS",
              "CXXFLAGS", "FFLAGS", "FCFLAGS", "LIBS", "V", "TESTLIST")
    return {name: value for name, value in os.environ.items() if name not in hidden} | {
        "LC_ALL": "C"}


def logged(name: str, command: list[Any], **more: Any) -> int:
    """Runs a command with its output in a file; returns its status."""
    with open(WORK / f"{name}.log", "ab") as log:
        log.write((" ".join(map(str, command)) + "\n").encode())
        log.flush()
        return subprocess.run([*WITH_US, *command], stdin=subprocess.DEVNULL, stdout=log,
                              stderr=subprocess.STDOUT, check=False, **more).returncode


@contextmanager
def alone() -> Iterator[None]:
    """Other calls wait here: they use the same folder."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with open(BUILD / "mpich.lock", "w") as lock:
        flock(lock, LOCK_EX)
        yield


@alone()
def prepare(jobs: int) -> None:
    """Unpacks, configures and builds the tests' shared code, once for each MPI library."""
    library = mpi()
    if library is None:
        raise RuntimeError("MPI is not built: make mpi")
    # Its name has a sum of what it is built from; a link to it will do as well.
    key = sha256(repr((SUM, OPTIONS, SETTINGS, SHARED, library.name)).encode()).hexdigest()
    stamp = WORK / "stamp"
    if stamp.exists() and stamp.read_text() == key:
        return
    print("mpich: unpacking and configuring the tests", flush=True)
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    subprocess.run([TOOLS / "debian-source.sh", "mpich", TARBALL, SUM, WORK], check=True)
    subprocess.run(["tar", "-xf", TARBALL, "--no-same-owner",
                    *(f"mpich-{VERSION}/{part}" for part in PARTS)], cwd=WORK, check=True)
    (WORK / TARBALL).unlink()
    env = environment() | SETTINGS | {name: str(TOOLS / tool) for name, tool in COMMANDS.items()}
    for name, command in (("configure", ["./configure", *OPTIONS]),
                          ("make-util", ["make", f"-j{jobs}", *SHARED, "-C", "util"]),
                          ("make-dtpools", ["make", f"-j{jobs}", *SHARED, "-C", "dtpools"])):
        if logged(name, command, cwd=SUITE, env=env if name == "configure" else environment()):
            raise RuntimeError(f"{' '.join(command[:1])} failed, see {WORK / name}.log")
    stamp.write_text(key)


def newest_library() -> float:
    """The time of the newest file with which programs are linked."""
    library = mpi()
    files = [*(library or WORK).glob("lib/*.a"), *(BUILD / "lib").glob("*.a"),
             *(BUILD / "sysroot/lib").glob("*.a"), BUILD / "libmargay.a", BUILD / "crt0.o"]
    return max(file.stat().st_mtime for file in files if file.exists())


@alone()
def build(entries: Iterable[Entry], jobs: int) -> dict[str, str]:
    """Builds the programs of these entries; returns the error of each that could not be built."""
    wanted: dict[str, set[str]] = {}
    for one in entries:
        wanted.setdefault(one.folder, set()).add(one.program)
    oldest = newest_library()
    failed = {}
    for folder, programs in wanted.items():
        missing = []
        for program in sorted(programs):
            path = SUITE / folder / program
            if path.exists() and path.stat().st_mtime < oldest:
                path.unlink()
            if not path.exists():
                missing.append(program)
        if missing:
            print(f"mpich: building {len(missing)} programs of {folder}", flush=True)
            name = "make-" + folder.replace("/", "-")
            logged(name, ["make", "-k", f"-j{jobs}", *missing], cwd=SUITE / folder,
                   env=environment())
        for program in missing:
            if not (SUITE / folder / program).exists():
                failed[f"{folder}/{program}"] = why(folder, program)
    return failed


def why(folder: str, program: str) -> str:
    done = subprocess.run(["make", program], cwd=SUITE / folder, env=environment(), text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, errors="replace",
                          check=False)
    lines = (done.stderr + done.stdout).splitlines()
    chosen = [line for line in lines if "rror" in line or "undefined" in line] or lines
    return chosen[0][:200] if chosen else f"make says nothing, status {done.returncode}"
