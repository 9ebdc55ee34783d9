"""Writes a pkg-config file: pkgconfig.py .../margay.pc ROOT BUILD
                          pkgconfig.py .../mpich.pc MPI LIB
                          pkgconfig.py .../NAME.pc ROOT LIB [HEADERS]

ROOT and BUILD are the folders that hold include/ and what make has built, as the file shall name
them. The flags are those that `margay cc` itself gives to gcc. MPI is the folder of MPI, LIB the
folder of its further libraries. NAME is a library with headers in lib/NAME/include, or
in ROOT/HEADERS. Called by install.sh, and by make for the checkout.
"""
from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from margaylib import VERSION  # noqa: E402
from margaylib.compile import gcc_arguments, plan  # noqa: E402
from margaylib.languages import MPI, library  # noqa: E402
from margaylib.mpi import FORTRAN_FLAGS, PARTS  # noqa: E402
from margaylib.paths import BUILD, ROOT  # noqa: E402

GCC_OWN = "@gcc"              # stands for gcc's own headers, wherever gcc is
TEXT = """\
# For programs on nodes. The flags make the host's gcc do what margay cc does by itself;
# margay cc takes them too. `pkg-config --variable=cc margay` names margay cc, cxx and fc the
# commands for C++ and Fortran.
root={root}
build={build}
bindir=${{root}}/tools
includedir=${{root}}/include
sysroot=${{build}}/sysroot
cc=${{bindir}}/x86_64-margay-gcc
cxx=${{bindir}}/x86_64-margay-g++
fc=${{bindir}}/x86_64-margay-gfortran
launcher=${{bindir}}/margay run

Name: Margay
Description: Parallel programs on nodes with a kernel of their own
Version: {version}
Cflags: {cflags}
Libs: {libs}
"""

MPI_TEXT = """\
# For MPI programs on nodes: cxxlibs and fclibs come before the others in C++ and Fortran.
prefix={folder}
partsdir={parts}
libdir=${{prefix}}/lib
includedir=${{prefix}}/include
cxxlibs=${{libdir}}/libmpicxx.a
fflags={fortran}
fcflags=${{fflags}}
fclibs=${{libdir}}/libmpifort.a

Name: mpich
Description: MPI on nodes, MPICH over Portals
Version: {version}
Requires: margay
Cflags: -I${{includedir}}
Libs: {libs}
"""

LIBRARY_TEXT = """\
# A library of lib/ for programs on nodes: see lib/{name}/README.md.
root={root}
libdir={lib}

Name: {name}
Description: {description}
Version: {version}
Requires: {requires}
Cflags: {cflags}
Libs: -L${{libdir}} -l{name}
"""
# Name: description, and what it needs besides margay.
DESCRIPTIONS = {
    "fm": ("Fast Messages 1.1 and 2.x; tagged messages need -lfm_match1 or -lfm_match2 too", ""),
    "madeleine": ("Madeleine, messages for remote procedure calls", ""),
    "nx": ("NX, the message calls of Intel's Paragon", ""),
    "pm2": ("PM2, threads that move, and remote procedure calls by threads", ""),
    "vertex": ("Vertex, the message calls of the nCUBE", "nx"),
    "vmmc": ("virtual memory-mapped communication", ""),
    "vrpc": ("Sun's remote procedure calls over VMMC", "vmmc"),
}
# Libraries with their own folder for headers in an installation.
HEADERS = {"vrpc": "lib/vmmc/tirpc"}


def flags(part: str) -> str:
    """The flags that margay cc adds to compile or to link, with the folders as variables."""
    words = gcc_arguments(plan([f"-showme:{part}"]), GCC_OWN)
    if part == "compile":
        at = words.index(GCC_OWN)
        del words[at - 1:at + 1]                 # -isystem and its folder
        words.remove("-nostdinc")                # --sysroot leaves out the host's
        words = [word for word in words if word not in ("-O2", "-g")]    # the user's choice
    return " ".join(word.replace(str(BUILD), "${build}").replace(str(ROOT), "${root}")
                    for word in words)


def mpi_version() -> str:
    """MPICH's version, from its header."""
    header = library(MPI, False) / "include/mpi.h"
    return str(re.findall(r'MPICH_VERSION "(.*)"', header.read_text(encoding="utf-8"))[0])


def main() -> int:
    target, first, second, *folder = sys.argv[1:]
    if Path(target).name == "mpich.pc":
        libs = ["${libdir}/libmpi.a", *(f"${{partsdir}}/{name}" for name in PARTS)]
        text = MPI_TEXT.format(folder=first, parts=second, libs=" ".join(libs),
                               fortran=" ".join(FORTRAN_FLAGS),
                               version=mpi_version())
    elif (name := Path(target).stem) in DESCRIPTIONS:
        description, requires = DESCRIPTIONS[name]
        headers = folder[0] if folder else HEADERS.get(name, f"lib/{name}/include")
        text = LIBRARY_TEXT.format(name=name, root=first, lib=second, version=VERSION,
                                   description=description, requires=requires or "margay",
                                   cflags=f"-I${{root}}/{headers}")
    else:
        text = TEXT.format(root=first, build=second, version=VERSION, cflags=flags("compile"),
                           libs=flags("link"))
    Path(target).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
