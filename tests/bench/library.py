"""The C library's functions beside the host's, which run under qemu-user: the same program, in
nanoseconds of processor time. The emulator of a whole machine looks up pages on each access;
qemu-user does not.
"""
from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from core import TOP, Bench, app

EMULATOR = "qemu-x86_64"
AIM, AIM_OF_PRINTF = "<= 1.5 times qemu_user", "<= 3 times qemu_user"


def c_library(bench: Bench) -> None:
    if not shutil.which(EMULATOR):
        sys.exit(f"bench: {EMULATOR} is not installed: apt install qemu-user")
    milliseconds = bench.number(20)
    with tempfile.TemporaryDirectory() as folder:
        own = str(Path(folder, "libc"))
        subprocess.run(["gcc", "-O2", "-o", own, TOP / "tests" / "bench" / "libc.c"], check=True)
        for _ in range(bench.runs):
            done = subprocess.run([EMULATOR, own, milliseconds], capture_output=True, text=True,
                                  check=True)
            limits = dict(line.split() for line in done.stdout.splitlines())
            got = bench.margay("-n", "1", app("libc"), milliseconds)
            for name, limit in limits.items():
                bench.add(f"libc_{name}", got[name], "ns",
                          AIM_OF_PRINTF if "printf" in name else AIM, float(limit))
