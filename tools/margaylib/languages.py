"""The languages that nodes' programs are written in, and the libraries of C++, Fortran and MPI.

A library is built at its first use, by languages/NAME.sh from the source of the host's compiler;
MPI by mpi/mpich.sh from MPICH's. It is kept in the user's cache, under a name made from its
sources, or under build/ if the cache cannot be written. An installed margay may have it beside its
other parts. library() gives its folder.
"""
from __future__ import annotations

import os
from pathlib import Path

from .errors import MargayError
from .paths import BUILD, ROOT, built, cache, program

HIDDEN = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEFILES")


class Language:
    """A subcommand that compiles: `margay WORD`."""

    def __init__(self, word: str, title: str, compiler: str, suffixes: str, dialects: str,
                 archives: str = "", package: str = "", sources: str = "") -> None:
        self.word = word                          # the subcommand
        self.title = title
        self.compiler = compiler                  # the host's
        self.variable = f"MARGAY_{word.upper()}" if word.isalpha() else "MARGAY_CXX"
        self.package = package or compiler        # Debian's, with the compiler
        self.suffixes = frozenset(suffixes.split())
        self.dialects = tuple(dialects.split())   # prefixes of -x arguments
        self.archives = tuple(archives.split())   # the library's archives, in link order
        # What builds it: a script, and what else of this repository it uses. Names may be patterns.
        self._sources = (sources or f"languages/{word}.sh").split()
        self.script = ROOT / self._sources[0]

    def sources(self) -> list[Path]:
        return [path for name in self._sources for path in sorted(ROOT.glob(name))]

    def host_compiler(self) -> str:
        return program(os.environ.get(self.variable) or self.compiler, self.package)


C = Language("cc", "C", "gcc", suffixes=".c .i .h", dialects="c cpp-output assembler none")
CPLUSPLUS = Language(
    "c++", "C++", "g++", suffixes=".cc .cpp .cxx .C .c++ .cp .CPP .ii .hpp .hh .hxx .H",
    dialects="c++ objective-c++", archives="stdc++ supc++ stdc++fs")
FORTRAN = Language(
    "fortran", "Fortran", "gfortran",
    suffixes=".f .f77 .f90 .f95 .f03 .f08 .for .ftn .F .F77 .F90 .F95 .F03 .F08 .FOR .FTN",
    dialects="f77 f95 fortran", archives="gfortran caf_single quadmath")
LANGUAGES = {language.word: language for language in (C, CPLUSPLUS, FORTRAN)}
# The unwinder calls these if pthread_key_create is linked, but does not make the linker pull them
# in.
UNWINDER_CALLS = ("pthread_once", "pthread_getspecific", "pthread_setspecific")
# Not a language, but its library is built and kept in the same way: what -fopenmp links.
OPENMP = Language("openmp", "OpenMP", "gcc", suffixes="", dialects="", archives="gomp")
# So is MPI's. Its Fortran binding needs only the compiler, its C++ binding the C++ library.
MPI = Language("mpi", "MPI", "gcc", suffixes="", dialects="", package="gcc g++ gfortran",
               sources="mpi/mpich.sh mpi/*.c lib/pmi/pmi.h lib/pmi/slurm/pmi.h")
# -lNAME to the language that has that library.
ARCHIVES = {name: language for language in (*LANGUAGES.values(), OPENMP)
            for name in language.archives}


def named(word: str) -> Language:
    """The language of a subcommand; raises if this margay does not have it."""
    language = LANGUAGES[word]
    if language.archives and not language.script.exists():
        raise MargayError(f"{language.title} is not there yet",
                          "nodes run programs in " + ", ".join(
                              other.title for other in LANGUAGES.values()
                              if not other.archives or other.script.exists()))
    return language


def of_file(name: str) -> Language | None:
    end = os.path.splitext(name)[1]
    return next((language for language in LANGUAGES.values() if end in language.suffixes), None)


def of_dialect(name: str) -> Language | None:
    """The language of gcc's -x NAME. C is tried last, as c++ begins with c."""
    return next((language for language in (CPLUSPLUS, FORTRAN, C)
                 if name.startswith(language.dialects)), None)


def built_before(language: Language) -> Path | None:
    """The folder of the library, if it has been built."""
    folder = library(language, build=False)
    return folder if (folder / "stamp").exists() else None


def headers(language: Language, build: bool = True) -> list[str]:
    """Folders of headers that come before C's."""
    if language is not CPLUSPLUS:
        return []
    top = library(language, build) / "include/c++" / _version(language)
    return [str(top), str(top / "x86_64-margay-linux-musl"), str(top / "backward")]


def files(names: list[str], build: bool = True) -> list[str]:
    """The archives that -lNAME options mean, and those that they need."""
    found = [str(library(ARCHIVES[name], build) / "lib" / f"lib{name}.a") for name in names]
    return [*found, *(f"-Wl,-u,{name}" for name in UNWINDER_CALLS)] if found else []


# ---- the library of a language ----

def library(language: Language, build: bool = True) -> Path:
    """The library's folder, with include and lib; builds it if necessary."""
    name = _name(language)
    homes = _homes()
    for home in homes:
        if (home / name / "stamp").exists():
            return home / name
    if not build:
        return homes[-1] / name
    for home in reversed(homes):
        try:
            home.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(home, os.W_OK):
            _build(language, home / name)
            return home / name
    raise MargayError(f"there is no place for the {language.title} library: "
                      f"neither {homes[1]} nor {homes[0]} can be written",
                      "name a folder for it: XDG_CACHE_HOME=FOLDER")


def _homes() -> tuple[Path, Path]:
    """Where it may be: with the other built parts, or in the user's cache."""
    return BUILD / "languages", (cache() or Path("/nonexistent")) / "languages"


_known: dict[str, str] = {}


def _ask(compiler: str, question: str) -> str:
    import subprocess
    done = subprocess.run([compiler, question], capture_output=True, text=True)
    return done.stdout.strip()


def _version(language: Language) -> str:
    if language.word not in _known:
        version = _ask(language.host_compiler(), "-dumpfullversion")
        if version.count(".") != 2:
            raise MargayError(f"{language.host_compiler()} says no version of GCC",
                              f"install GCC's: apt install {language.package}")
        _known[language.word] = version
    return _known[language.word]


def _name(language: Language) -> str:
    """A name from all that the library depends on: source, scripts, flags, C library."""
    from hashlib import sha256
    from .compile import COMPILE_FLAGS
    version = _version(language)
    key = sha256(" ".join([version, *COMPILE_FLAGS]).encode())
    for path in (ROOT / "languages/common.sh", *language.sources(), built("sysroot") / "stamp"):
        key.update(path.read_bytes())
    return f"{language.word}-{version}-{key.hexdigest()[:16]}"


def _build(language: Language, place: Path) -> None:
    import subprocess
    import sys
    from shlex import join
    from .compile import CcPlan, compile_flags, link_flags
    steps = CcPlan(C)
    gcc = C.host_compiler()
    own = [word for word in compile_flags(steps, gcc) if word not in ("-O2", "-g")]
    env = {name: value for name, value in os.environ.items() if name not in HIDDEN}
    env.update(MARGAY_CC=join([gcc]), MARGAY_VERSION=_version(language),
               MARGAY_PACKAGES=language.package,
               MARGAY_COMPILE=join(own), MARGAY_LINK=join(link_flags(steps)))
    for other, variable in ((CPLUSPLUS, "MARGAY_CXX"), (FORTRAN, "MARGAY_FC")):
        if language in (other, MPI):
            env[variable] = join([other.host_compiler()])
            if _version(C) != _version(other):
                raise MargayError(
                    f"{gcc} is version {_version(C)}, {other.host_compiler()} {_version(other)}",
                    f"name two of one version: MARGAY_CC, {other.variable}")
    if language is MPI:
        folders = headers(CPLUSPLUS)
        env.update(MARGAY_CXX_LINK=join(link_flags(CcPlan(CPLUSPLUS))), MARGAY_CXX_HEADERS=join(
            ["-nostdinc++", *(word for folder in folders for word in ("-isystem", folder))]))
    sys.stderr.flush()
    done = subprocess.run(["/bin/sh", str(language.script), str(place)], env=env,
                          stdin=subprocess.DEVNULL)
    if done.returncode != 0 or not (place / "stamp").exists():
        raise MargayError(f"the {language.title} library could not be built",
                          "see above; a work folder that is left may be removed: "
                          f"{place}.work")
