"""Steps through code under gdb and counts instructions by their source.

For scripts that gdb runs (steps.py, steps_far.py). An instruction belongs to the innermost
function, also an inlined one, and to the source file that it comes from.
"""
from __future__ import annotations

from collections import Counter

import gdb

MOST_STEPS = 20_000


def chain(pc: int) -> list[tuple[str, str]]:
    """The functions that contain an instruction, innermost first, each with its file; all but
    the last are inlined."""
    found = []
    block = gdb.block_for_pc(pc)
    while block and block.superblock and not block.is_static:
        if block.function:
            found.append((block.function.name, block.function.symtab.filename))
        block = block.superblock
    # The line table gives the innermost function's file best, and is the only source for assembly.
    line = gdb.find_pc_line(pc)
    file = line.symtab.filename if line.symtab else "?"
    return [(found[0][0] if found else "?", file), *found[1:]]


def text_of(pc: int) -> str:
    """The disassembly of an instruction."""
    return str(gdb.selected_frame().architecture().disassemble(pc)[0]["asm"])


def run_call() -> list[int]:
    """The address of each instruction executed from a function's first one to its return."""
    stack = int(gdb.selected_frame().read_register("rsp"))
    memory = gdb.selected_inferior().read_memory(stack, 8)
    end = int.from_bytes(memory.tobytes(), "little")
    ran: list[int] = []
    while len(ran) < MOST_STEPS:
        frame = gdb.selected_frame()
        pc = int(frame.pc())
        if pc == end and int(frame.read_register("rsp")) > stack:
            return ran
        ran.append(pc)
        gdb.execute("stepi", to_string=True)
    raise gdb.GdbError(f"not back after {MOST_STEPS} instructions")


def by_function(ran: list[int]) -> Counter[tuple[tuple[str, str], ...]]:
    """Groups instructions by their functions, innermost first."""
    counts: Counter[tuple[tuple[str, str], ...]] = Counter()
    for pc, n in Counter(ran).items():
        counts[tuple(chain(pc))] += n
    return counts


def count_call() -> Counter[tuple[tuple[str, str], ...]]:
    return by_function(run_call())


def stop_at(function: str, ignore: int = 0) -> gdb.Breakpoint:
    """Sets a breakpoint at the first instruction, before the function makes its frame."""
    symbol = gdb.lookup_global_symbol(function) or gdb.lookup_static_symbol(function)
    # A library without debug information has only an address.
    address = int(symbol.value().address if symbol else
                  gdb.parse_and_eval(f"(unsigned long)&{function}"))
    stop = gdb.Breakpoint(f"*{address:#x}", internal=True)
    stop.silent = True
    stop.ignore_count = ignore
    return stop


def go() -> int:
    """Runs to the next breakpoint and returns its address."""
    gdb.execute("continue", to_string=True)
    return int(gdb.selected_frame().pc())
