"""Steps through code under gdb and counts the instructions by what they are compiled from.

For scripts that gdb runs (steps.py, steps_far.py). An instruction belongs to the innermost
function, also an inlined one, and to the source file that it comes from.
"""
from __future__ import annotations

from collections import Counter

import gdb

MOST_STEPS = 20_000


def chain(pc: int) -> list[tuple[str, str]]:
    """The functions around an instruction, the innermost first, each with its file; all but
    the last are inlined."""
    found = []
    block = gdb.block_for_pc(pc)
    while block and block.superblock and not block.is_static:
        if block.function:
            found.append((block.function.name, block.function.symtab.filename))
        block = block.superblock
    # The line knows best where the innermost is from, and all that is known of assembly.
    line = gdb.find_pc_line(pc)
    file = line.symtab.filename if line.symtab else "?"
    return [(found[0][0] if found else "?", file), *found[1:]]


def count(end: int, stack: int) -> Counter[tuple[tuple[str, str], ...]]:
    """Steps until `end` is reached with more on the stack than `stack` says."""
    counts: Counter[tuple[tuple[str, str], ...]] = Counter()
    known: dict[int, tuple[tuple[str, str], ...]] = {}
    for _ in range(MOST_STEPS):
        frame = gdb.selected_frame()
        pc = frame.pc()
        if pc == end and int(frame.read_register("rsp")) > stack:
            return counts
        if pc not in known:
            known[pc] = tuple(chain(pc))
        counts[known[pc]] += 1
        gdb.execute("stepi", to_string=True)
    raise gdb.GdbError(f"not back after {MOST_STEPS} instructions")


def count_call() -> Counter[tuple[tuple[str, str], ...]]:
    """From the first instruction of a function to its return."""
    stack = int(gdb.selected_frame().read_register("rsp"))
    memory = gdb.selected_inferior().read_memory(stack, 8)
    return count(int.from_bytes(memory.tobytes(), "little"), stack)


def stop_at(function: str, ignore: int = 0) -> gdb.Breakpoint:
    """A breakpoint at the first instruction, before the function's own frame is there."""
    symbol = gdb.lookup_global_symbol(function) or gdb.lookup_static_symbol(function)
    if not symbol:
        raise gdb.GdbError(f"there is no function {function}")
    address = int(symbol.value().address)
    stop = gdb.Breakpoint(f"*{address:#x}", internal=True)
    stop.silent = True
    stop.ignore_count = ignore
    return stop


def go() -> int:
    """Runs to the next breakpoint; the address where it stopped."""
    gdb.execute("continue", to_string=True)
    return gdb.selected_frame().pc()
