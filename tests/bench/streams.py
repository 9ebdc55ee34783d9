"""The speed of standard output and standard input of one rank.

Output goes to /dev/null, with --no-prefix: this measures the node, the console ring and the
launcher. Input is a file, then a pipe.
"""
from __future__ import annotations

import subprocess
import sys
import tempfile
from typing import IO

from core import MARGAY, Bench, app

BYTES = 100_000_000
PIECE = bytes(1_000_000)


def standard_streams(bench: Bench) -> None:
    """Lines of 100 bytes are written one by one, as on a terminal; blocks are 64 KB."""
    size = int(bench.number(BYTES))
    for _ in range(bench.runs):
        bench.add("stdout_lines_MBps", measured("lines", size), "MB/s", ">= 100")
        bench.add("stdout_blocks_MBps", measured("blocks", size), "MB/s", ">= 100")
        with tempfile.TemporaryFile() as data:
            data.write(PIECE * (size // len(PIECE)))
            data.seek(0)
            bench.add("stdin_file_MBps", measured("input", size, data), "MB/s", ">= 50")
            data.seek(0)
            with subprocess.Popen(["cat"], stdin=data, stdout=subprocess.PIPE) as cat:
                bench.add("stdin_pipe_MBps", measured("input", size, cat.stdout), "MB/s", ">= 50")


def measured(kind: str, size: int, data: int | IO[bytes] | None = subprocess.DEVNULL) -> float:
    """MB/s, from the program's standard error; checks that all bytes have arrived."""
    done = subprocess.run(
        [str(MARGAY), "run", "--accel", "tcg", "--no-prefix", "--timeout", "300",
         app("stream"), kind, str(size)],
        stdin=data, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    said = dict(line.split(" ", 1) for line in done.stderr.splitlines() if " " in line)
    if done.returncode != 0 or int(said.get("bytes", 0)) < size:
        sys.exit(f"bench: stream {kind}: status {done.returncode}\n{done.stderr[-2000:]}")
    return float(said["MBps"])
