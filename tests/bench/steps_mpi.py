"""Counts the instructions of MPI's calls, in user mode and in the kernel; run by gdb.

    margay gdb --batch --ex "source tests/bench/steps_mpi.py" -n 2 mpi_insn.elf

mpi.py starts it with its program mpi_insn, whose rank 0 sends to itself. One of each call is
stepped through from its first instruction to its return, after many warm-up calls. Lines on stdout,
NAME as mpi_insn has it:

    insn_mpi_NAME_8B_user COUNT     in user mode: MPICH, lib/ofi, the library of Portals
    insn_mpi_NAME_8B_kernel COUNT   in the kernel

`--ex "python DETAIL=True"` before lists the source files as well; MPICH's are not known.
"""
from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path


sys.path.insert(0, str(Path(__file__).resolve().parent))
from stepping import chain, go, run_call, stop_at  # noqa: E402

APP_BASE = 0x4000_0000                   # kernel/base/layout.h
# mpi_insn makes each call this often in each of two rounds: first all receives, then all sends,
# then a wait for each of both in turn. The last but one of the second round is measured; the number
# is how many calls of this name to skip before it, after those measured before.
ROUNDS = 63
CALLS = (("irecv", "MPI_Irecv", 2 * ROUNDS - 2), ("isend", "MPI_Isend", ROUNDS - 2),
         ("wait_recv", "MPI_Wait", 2 * (ROUNDS - 2)), ("wait_send", "MPI_Wait", 0))


def main() -> None:
    for name, function, before in CALLS:
        stop = stop_at(function, before)
        go()
        stop.delete()
        ran = run_call()
        users = sum(pc >= APP_BASE for pc in ran)
        print(f"insn_mpi_{name}_8B_user {users}")
        print(f"insn_mpi_{name}_8B_kernel {len(ran) - users}")
        if globals().get("DETAIL"):
            files = Counter(chain(pc)[0][1] for pc in ran)
            for file, count in files.most_common():
                print(f"{count:5} {file}")


main()
