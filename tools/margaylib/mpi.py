"""`mpicc`, `mpicxx`, `mpifort`: margay cc, c++ and fortran with MPI; `mpiexec`: margay run.

They add MPI's folder and libraries to the arguments, and answer like MPICH's commands: -show,
-compile_info and the like print what is added to a margay command. MPI is built at its first use
(languages.py).
"""
from __future__ import annotations

import sys
from pathlib import Path

from .compile import SHOW, SHOW_PART, CcPlan, compile_and_link, expand, plan
from .languages import CPLUSPLUS, FORTRAN, MPI, Language, built_before, library
from .libraries import MPI_ARCHIVES
from .paths import COMMAND, built

OPTION = "--mpi"
ECHO = "-echo"                           # prints the margay command, and runs it
# The subcommand of each name, and the libraries of the language's binding.
COMPILERS = {"cc": "gcc", "c++": "g++", "fortran": "gfortran"}
BINDINGS = {CPLUSPLUS.word: ["mpicxx"], FORTRAN.word: ["mpifort"]}
PARTS = ("libfabric.a", "libpmi.a")      # linked with each program, but not part of MPICH
# Programs that include MPI's Fortran header call one procedure with several types.
FORTRAN_FLAGS = ["-fallow-argument-mismatch"]
# Questions of FindMPI, and of programs that know Open MPI.
FOLDERS = {"-showme:incdirs": "include", "--showme:incdirs": "include",
           "-showme:libdirs": "lib", "--showme:libdirs": "lib"}


def mpi(args: list[str], language: Language) -> int:
    """The exit status of the compiler, or 0 if a question was answered."""
    args = _joined(expand(args))
    words = [part for word in args if word not in (OPTION, ECHO) for part in _apart(word)]
    question = next((word for word in words if word in SHOW_PART or word in FOLDERS), "")
    if question:
        print(_answer(question, language))
        return 0
    if "--version" in words or "-V" in words:
        return compile_and_link(words, language)
    show = any(word in SHOW for word in words)
    words = [word for word in words if word not in SHOW]
    if show and all(word.startswith("-") for word in words):
        print(_shown(words, language, True))          # without a file: shows a link
        return 0
    steps = plan([word for word in words if not _archive(word)], language)
    if steps.asks_library:
        return _say_library(steps)
    if show:
        print(_shown(words, language, steps.links))
        return 0
    if ECHO in args:
        print(_shown(words, language, steps.links and bool(steps.inputs)), file=sys.stderr)
    if not steps.inputs:
        return compile_and_link(words, language)
    libraries = []
    if steps.links:
        words = _named(words, True)
        libraries = ["-x", "none", *_libraries(language, True)]
    return compile_and_link([*_flags(language), *words, *_includes(True), *libraries], language)


def _flags(language: Language) -> list[str]:
    return FORTRAN_FLAGS if language is FORTRAN else []


def _archive(word: str) -> str:
    return MPI_ARCHIVES.get(word[2:], "") if word.startswith("-l") else ""


def _joined(words: list[str]) -> list[str]:
    """-l NAME as -lNAME."""
    pairs = iter(words)
    return [word + next(pairs, "") if word == "-l" else word for word in pairs]


def _apart(word: str) -> list[str]:
    """An option for the linker that names a library of MPI, as -Wl,-lmpi, in separate words."""
    parts = word.split(",")[1:] if word.startswith("-Wl,") else []
    if not any(_archive(part) for part in parts):
        return [word]
    return [part if _archive(part) else f"-Wl,{part}" for part in parts]


def _named(words: list[str], build: bool) -> list[str]:
    """The arguments of a link, with MPI's archives instead of -lmpi and the like: makefiles name
    MPICH's libraries, and its own commands find them without -L. An archive stays in its place,
    because a profiling library may have to come behind Fortran's binding."""
    folder = library(MPI, build) / "lib"
    return [str(folder / f"lib{_archive(word)}.a") if _archive(word) else word for word in words]


def _includes(build: bool) -> list[str]:
    return [f"-I{library(MPI, build)}/include"]


def _libraries(language: Language, build: bool) -> list[str]:
    """By name, so that a link without -L finds them."""
    folder = library(MPI, build) / "lib"
    return [*(str(folder / f"lib{name}.a") for name in (*BINDINGS.get(language.word, ()), "mpi")),
            *(str(built(f"lib/{name}")) for name in PARTS)]


def _answer(question: str, language: Language) -> str:
    """Asking for flags builds MPI, as the next step compiles with it."""
    from shlex import join
    if question in FOLDERS:
        return str(library(MPI, False) / FOLDERS[question])
    if SHOW_PART[question] == "compile":
        return join([*_flags(language), *_includes(True)])
    return join(_libraries(language, True))


def _shown(words: list[str], language: Language, links: bool) -> str:
    from shlex import join
    compiler = str(Path(COMMAND).with_name(f"x86_64-margay-{COMPILERS[language.word]}"))
    words = _named(words, False) if links else words
    return join([compiler, *_flags(language), *words, *_includes(False),
                 *(_libraries(language, False) if links else [])])


def _say_library(steps: CcPlan) -> int:
    folder = built_before(MPI) if steps.asks_library == "--where" else library(MPI)
    print(folder or "the MPI library is not built yet")
    return 0 if folder else 1
