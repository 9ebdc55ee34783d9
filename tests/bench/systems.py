"""The group `systems`: what the libraries in lib/ reach beside what lies below each of them. Every
library has a module of its own, and figures whose names begin with its name:
`make bench ARGS='--group systems --only nx'`."""
from __future__ import annotations

from collections.abc import Callable

from core import Bench
from fm import fm
from madeleine import madeleine
from nx import nx
from pm2 import pm2
from vmmc import vmmc

LIBRARIES: tuple[Callable[[Bench], None], ...] = (fm, madeleine, nx, pm2, vmmc)


def systems(bench: Bench) -> None:
    """Those whose figures are wanted."""
    for library in LIBRARIES:
        name = library.__name__
        if bench.only.startswith(name) or name.startswith(bench.only):
            library(bench)
