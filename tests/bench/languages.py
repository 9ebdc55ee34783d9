"""Costs of C++ and Fortran: the sizes of images, their start, the time of a throw."""
from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from core import MARGAY, Bench

SOURCES = Path(__file__).resolve().parent / "programs"
IMAGES = {"cxx": "plain.cc", "iostream": "streams.cc", "fortran": "hello.f90"}
THROWS = 20_000


def languages(bench: Bench) -> None:
    """Sizes of images without symbols and the library's line numbers; the time from QEMU's exec
    to main; a throw that the caller catches, and one through ten more frames, each with a
    destructor."""
    with tempfile.TemporaryDirectory() as folder:
        for name, source in IMAGES.items():
            image = built(Path(folder), source)
            bench.add(f"image_{name}_bytes", image.stat().st_size, "bytes")
            for _ in range(bench.runs):
                got = bench.margay("-n", "1", "--stats", str(image))
                bench.add(f"boot_{name}_ms", got["main_s"] * 1e3, "ms")
        throws = built(Path(folder), "throws.cc")
        for _ in range(bench.runs):
            got = bench.margay("-n", "1", str(throws), bench.number(THROWS))
            bench.add("throw_ns", got["throw_ns"], "ns")
            bench.add("throw_10_frames_ns", got["throw_10_frames_ns"], "ns")


def built(folder: Path, source: str) -> Path:
    image = folder / f"{source}.elf"
    word = "fortran" if source.endswith(".f90") else "c++"
    done = subprocess.run([str(MARGAY), word, "-O2", str(SOURCES / source), "-o", str(image)],
                          check=False)
    if done.returncode != 0:
        sys.exit(f"bench: {source} could not be built with margay {word}")
    return image
