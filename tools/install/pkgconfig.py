"""Writes the pkg-config file: pkgconfig.py FILE ROOT BUILD

ROOT and BUILD are the folders that hold include/ and what make has built, as the file
shall name them. The flags are those that `margay cc` itself gives to gcc. Called by
install.sh, and by make for the checkout.
"""
from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from margaylib import VERSION  # noqa: E402
from margaylib.compile import gcc_arguments, plan  # noqa: E402
from margaylib.paths import BUILD, ROOT  # noqa: E402

GCC_OWN = "@gcc"              # gcc finds its own headers, where it lies today
TEXT = """\
# For programs on nodes. With the host's gcc the flags do what margay cc does by itself;
# margay cc takes them too. `pkg-config --variable=cc margay` names margay cc, cxx and fc the
# commands for C++ and Fortran.
root={root}
build={build}
bindir=${{root}}/tools
includedir=${{root}}/include
sysroot=${{build}}/sysroot
cc=${{bindir}}/mpicc
cxx=${{bindir}}/mpicxx
fc=${{bindir}}/mpifort
launcher=${{bindir}}/margay run

Name: Margay
Description: Parallel programs on nodes with a kernel of their own
Version: {version}
Cflags: {cflags}
Libs: {libs}
"""


def flags(part: str) -> str:
    """What margay cc adds to compile or to link, with the folders as variables."""
    words = gcc_arguments(plan([f"-showme:{part}"]), GCC_OWN)
    if part == "compile":
        at = words.index(GCC_OWN)
        del words[at - 1:at + 1]                 # -isystem and its folder
        words.remove("-nostdinc")                # --sysroot leaves out the host's
        words = [word for word in words if word not in ("-O2", "-g")]    # the user's choice
    return " ".join(word.replace(str(BUILD), "${build}").replace(str(ROOT), "${root}")
                    for word in words)


def main() -> int:
    target, root, build = sys.argv[1:]
    Path(target).write_text(TEXT.format(root=root, build=build, version=VERSION,
                                        cflags=flags("compile"), libs=flags("link")),
                            encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
