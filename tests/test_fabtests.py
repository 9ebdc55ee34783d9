"""The unit programs of fabtests, which are libfabric's own tests, against our provider.

Debian's source of MPICH contains them. Those that need no sockets are run: av_test resolves the
addresses that it inserts through the network, and mr_cache_evict tests a cache of registered
memory, which the provider does not have. Fabtests' other programs connect two processes by sockets.
"""
from __future__ import annotations

import fcntl
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness import BUILD, ROOT

sys.path.insert(0, str(ROOT / "tests/mpich"))

import suite  # noqa: E402

pytestmark = [pytest.mark.mpi, pytest.mark.messages, pytest.mark.skipif(
    suite.mpi() is None, reason="its source comes with MPI's: make mpi")]

WORK = BUILD / "fabtests"
SOURCE = WORK / f"mpich-{suite.VERSION}/modules/libfabric/fabtests"
SHARED = ("unit/common.c", "common/shared.c", "common/hmem.c", "common/hmem_cuda.c",
          "common/hmem_rocr.c", "common/hmem_ze.c")
# The shared part's socket code is linked only if a program needs it.
FLAGS = ("-O1", "-w", "-D_GNU_SOURCE", '-DPACKAGE_VERSION="0"', "-ffunction-sections",
         f"-I{SOURCE}/include", f"-I{SOURCE}/include/unix", f"-I{BUILD}/libfabric/include")

# Program: arguments, number of tests, and tests of unsupported features: file descriptors to wait
# for, a waiting thread that another one wakes, and reads that precede later writes. dom opens and
# closes a domain, and prints nothing.
PROGRAMS = {
    "cntr": ((), 1, set()),
    "cq": ((), 3, {"cq_signal"}),
    "dom": ((), 0, set()),
    "eq": ((), 8, {"eq_wait_fd_poll", "eq_wait_fd_sread", "eq_wait_sread_peek"}),
    "getinfo": (("margay://0",), 37, {
        "getinfo_war_ordering1", "getinfo_war_ordering2", "getinfo_bad_war_ordering1"}),
    "mr": ((), 3, set()),
}


def unpack() -> None:
    """Also compiles the programs' shared part."""
    WORK.mkdir(parents=True, exist_ok=True)
    with open(WORK / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (WORK / "shared.a").exists():
            return
        subprocess.run([ROOT / "tools/debian-source.sh", "mpich", suite.TARBALL, suite.SUM, WORK],
                       check=True)
        subprocess.run(["tar", "-xf", suite.TARBALL, "--no-same-owner",
                        SOURCE.relative_to(WORK)], cwd=WORK, check=True)
        (WORK / suite.TARBALL).unlink()
        for name in SHARED:
            compile_one(SOURCE / name, "-c", "-o", WORK / f"{Path(name).stem}.o")
        subprocess.run(["ar", "rcs", "new.a", *(f"{Path(name).stem}.o" for name in SHARED)],
                       cwd=WORK, check=True)
        (WORK / "new.a").rename(WORK / "shared.a")


def compile_one(*command: object) -> None:
    subprocess.run([ROOT / "tools/margay", "cc", *FLAGS, *command], check=True)


@pytest.mark.parametrize("program", list(PROGRAMS))
def test_unit_program(margay, tmp_path, program):
    arguments, count, not_offered = PROGRAMS[program]
    unpack()
    image = tmp_path / f"{program}.elf"
    compile_one("-Wl,--gc-sections", "-o", image, SOURCE / f"unit/{program}_test.c",
                WORK / "shared.a", BUILD / "lib/libfabric.a")
    run = margay("run", "--no-prefix", image, *arguments).ok()
    ran = re.findall(r"^Running (\w+) \[.*?\]\.\.\.", run.stdout, re.M)
    skipped = set(re.findall(r"^Running (\w+) \[.*?\]\.\.\.skipped", run.stdout, re.M))
    assert run.lines[-1:] == ["Summary: all tests passed"][:count]
    assert len(ran) == count and skipped == not_offered
