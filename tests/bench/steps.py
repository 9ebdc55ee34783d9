"""Counts the instructions of a put to another node by purpose; run by gdb.

    margay gdb --batch --ex "source tests/bench/steps.py" -n 2 build/bench/cost.elf put

bench.py starts it. The fiftieth put of rank 0 is stepped through. Lines on stdout:

    insn_put_8B COUNT           between the ticks of cost.c around the call, less those of a tick:
                                with `-n 1 ... instructions` the same number as under icount
    insn_put_8B_locked COUNT    of them, locked: with a lock prefix, or xchg with memory
    insn_put_8B_fences COUNT    of them, mfence
    insn_put_8B_SHARE COUNT     from the first instruction of PtlPut to its return: each belongs
                                to the source file and the innermost (also inlined) function that
                                it was compiled from, and these to a share below
    insn_put_8B_stepped COUNT   the sum of the shares

`--ex "python DETAIL=True"` before lists the functions as well.
"""
from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import gdb

sys.path.insert(0, str(Path(__file__).resolve().parent))
from instructions import is_fence, is_locked  # noqa: E402
from stepping import by_function, chain, go, run_call, stop_at, text_of  # noqa: E402

WARM_PUTS = 50

# Innermost function -> share; else source file -> share. The division follows that of Active
# Messages on the CM-5 in the paper on Fast Messages (figure 2): by the services that a message
# needs.
FUNCTIONS = {
    "wake": "doorbell",
    "own_alias": "copy", "deliver_data": "copy", "deliver_span": "copy",
    "md_spend": "unlink", "md_unpin": "unlink", "md_depart": "unlink", "target_use": "unlink",
    "accepts": "match", "matches": "match", "md_has": "match",
    "view_holds": "access", "md_lookup": "access",
}
# The longest prefix of a file's name decides.
FILES = {
    "libc-glue/": "syscall", "lib/portals/": "syscall", "kernel/calls/entry.asm": "syscall",
    "include/": "syscall",
    "kernel/portals/portals_message.c": "syscall",
    "kernel/": "access", "net/shm/": "access", "net/portals/ac.": "access",
    "net/portals/process.h": "access",
    "net/portals/match.": "match", "net/portals/index.": "match", "net/portals/me.": "match",
    "net/portals/range.": "copy", "net/portals/data.": "copy",
    "net/portals/iovec.": "copy", "kernel/base/copy.c": "copy", "kernel/portals/port.c": "copy",
    "net/port.h": "copy",
    "net/portals/md.": "unlink",
    "net/portals/eq.": "event",
    "net/portals/op.": "record", "net/portals/pool.h": "record",
    "net/portals/": "header",
}
SHARES = ("syscall", "access", "match", "copy", "unlink", "event", "doorbell", "record", "header")


def of_file(file: str) -> str | None:
    fits = [prefix for prefix in FILES if file.removeprefix("./").startswith(prefix)]
    return FILES[max(fits, key=len)] if fits else None


def share_of(function: str, file: str) -> str:
    """The share of the function if it is in FUNCTIONS, else that of the line's file."""
    share = FUNCTIONS.get(function) or of_file(file)
    if not share:
        raise gdb.GdbError(f"tests/bench/steps.py knows no share for {function} in {file}")
    return share


def ticks_in(ran: list[int]) -> list[int]:
    """The three addresses where one_put of cost.c reads the clock."""
    found = [at for at, pc in enumerate(ran)
             if text_of(pc).startswith("rdtsc") and chain(pc)[0][0] == "ticks"]
    if len(found) != 3:
        raise gdb.GdbError(f"tests/bench/cost.c: one_put has {len(found)} ticks and not 3")
    return found


def body(ran: list[int]) -> list[int]:
    """The instructions that PtlPut executed, from its first one to its return."""
    inside = [at for at, pc in enumerate(ran) if "tests/bench/" not in chain(pc)[-1][1]]
    return ran[inside[0]:inside[-1] + 1]


def main() -> None:
    stop = stop_at("one_put", ignore=WARM_PUTS)
    go()
    stop.delete()
    ran = run_call()
    first, second, third = ticks_in(ran)
    texts = [text_of(pc) for pc in ran[second:third]]
    print(f"insn_put_8B {third - second - (second - first)}")
    print(f"insn_put_8B_locked {sum(map(is_locked, texts))}")
    print(f"insn_put_8B_fences {sum(map(is_fence, texts))}")
    shares: Counter[str] = Counter()
    functions: Counter[tuple[str, str]] = Counter()
    for ((function, file), *_), count in by_function(body(ran)).items():
        share = share_of(function, file)
        shares[share] += count
        functions[share, f"{function} ({file})"] += count
    if globals().get("DETAIL"):
        for (share, function), count in functions.most_common():
            print(f"{count:5} {share:9} {function}")
    for share in SHARES:
        print(f"insn_put_8B_{share} {shares[share]}")
    print(f"insn_put_8B_stepped {sum(shares.values())}")


main()
