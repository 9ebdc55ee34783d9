"""Builds the benchmarks of the libraries in lib/, tests/bench/programs/NAME.c."""
from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from core import BUILD, MARGAY, TOP


def built(folder: Path, source: str, *libraries: str, more: tuple[str, ...] = ()) -> str:
    """The image, linked with these libraries; `more` is passed to gcc."""
    image = folder / f"{source}.elf"
    flags = [f"-I{TOP}/lib/{name}/include" for name in libraries]
    links = [f"-L{BUILD}/lib", *(f"-l{name}" for name in libraries)]
    done = subprocess.run([str(MARGAY), "cc", "-O2", *flags, *more,
                           str(TOP / "tests/bench/programs" / f"{source}.c"), "-o", str(image),
                           *links], check=False)
    if done.returncode != 0:
        sys.exit(f"bench: {source}.c could not be built")
    return str(image)
