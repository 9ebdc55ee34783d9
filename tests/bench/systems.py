"""The group `systems`: the libraries in lib/, each compared with the layer below it. Every
library has its own module, and figures whose names begin with its name: `make bench
ARGS='--group systems --only nx'`."""
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
    """Measures the libraries whose figures are wanted."""
    for library in LIBRARIES:
        name = library.__name__
        if bench.only.startswith(name) or name.startswith(bench.only):
            library(bench)
