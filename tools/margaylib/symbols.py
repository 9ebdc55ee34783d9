"""Backtrace lines of the kernel get function, file and line, by addr2line on the image.

Lines come in batches: one addr2line for all addresses that are not known yet.
"""
from __future__ import annotations

import os
import re
from itertools import groupby
from pathlib import Path

_FRAME = re.compile(r"#([0-9]{1,3})\s+0x([0-9a-fA-F]{1,16})\s*$")
DEADLINE = 10.0


class Symbols:
    """Looks up addresses of one image; answers are kept."""

    def __init__(self, image: Path) -> None:
        self.image = image
        self.known: dict[int, list[str]] = {}

    def annotate(self, lines: list[str]) -> list[str]:
        """The same lines with names; an inlined function's frame gets its own line."""
        frames = [_FRAME.search(line) for line in lines]
        wanted = {_lookup_address(frame) for frame in frames if frame}
        self._learn(sorted(wanted - self.known.keys()))
        named: list[str] = []
        for line, frame in zip(lines, frames):
            names = self.known[_lookup_address(frame)] if frame else []
            named += [f"{line.rstrip()} {name}" for name in names] or [line]
        return named

    def _learn(self, addresses: list[int]) -> None:
        if not addresses:
            return
        import subprocess
        try:
            done = subprocess.run(
                ["addr2line", "-a", "-f", "-i", "-C", "-e", str(self.image)],
                input="".join(f"{address:x}\n" for address in addresses),
                capture_output=True, text=True, errors="replace", timeout=DEADLINE,
                start_new_session=True)
        except (OSError, subprocess.TimeoutExpired):
            self.known.update({address: [] for address in addresses})
            return
        self.known.update(parse(done.stdout))
        for address in addresses:
            self.known.setdefault(address, [])


def _lookup_address(frame: re.Match[str]) -> int:
    """A return address belongs to the line after the call: look one byte before it."""
    address = int(frame[2], 16)
    return address - 1 if int(frame[1]) > 0 and address else address


def parse(text: str) -> dict[int, list[str]]:
    """addr2line's -a -f -i output: an address line, then pairs of function and file:line,
    innermost first. `f at a.c:3` for each; inlined functions are followed by their callers."""
    found: dict[int, list[str]] = {}
    address = -1
    names: list[str] = []
    function = None
    for line in [*text.splitlines(), "0x"]:
        if line.startswith("0x"):
            if names:                     # a recursion inlined into itself: shown once
                found[address] = [name for name, _ in groupby(names)]
            address, names, function = int(line[2:] or "0", 16), [], None
        elif function is None:
            function = line
        else:
            place = _place(line)
            if ".asm:" in place:
                names.append(f"at {place}")   # the image has no names for labels of assembly
            elif function != "??":
                names.append(f"{function} at {place}" if place else function)
            function = None
    return found


def _place(text: str) -> str:
    """file:line, relative if below the current folder; '' if unknown."""
    text = text.split(" (discriminator")[0]
    file, _, line = text.rpartition(":")
    if file in ("", "??") or file.endswith(".o"):       # a name from the symbol table
        return ""
    file = os.path.normpath(file)
    here = os.getcwd() + os.sep
    return f"{file.removeprefix(here)}:{line}" if line.isdigit() and line != "0" else \
        file.removeprefix(here)
