"""`margay cc`: the host's gcc with the nodes' headers, libraries, kernel and linker script.

plan() sorts the arguments and refuses what cannot work. compile_and_link() runs gcc.
"""
from __future__ import annotations

import os
import sys

from . import VERSION
from .errors import MargayError
from .image import check_contiguous
from .libraries import (HOST_VARIABLES, TOO_FAR, answer, explain, resolve, sysroot,
                        without_host_headers)
from .paths import BUILD, ROOT, built, program

COMPILE_FLAGS = [
    "-O2", "-g", "-fno-omit-frame-pointer", "-fno-pic", "-fno-pie", "-mcmodel=small",
    "-fstack-clash-protection",   # no frame steps over the guard page under the stack
    "-fno-stack-protector", "-fcf-protection=none", "-U_FORTIFY_SOURCE", "-U__linux__",
    "-U__linux", "-U__gnu_linux__", "-Ulinux", "-D__margay__", "-nostdinc",
]
LINK_FLAGS = ["-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none",
              "-Wl,-z,max-page-size=4096", "-Wl,-z,noexecstack", "-Wl,--no-warn-rwx-segments",
              "-Wl,--gc-sections", "-Wl,-u,_start", "-Wl,--compress-debug-sections=zlib"]
# Debug data names static functions too; -Wl,--discard-none keeps their symbols.
NO_LOCALS = "-Wl,--discard-all"
LIBRARIES = ("libmargay.a", "sysroot/lib/libc.a")
LINKER_SCRIPT = ROOT / "linker.ld"
# What a link names anyway.
OWN_FILES = frozenset(os.path.realpath(path) for path in (
    LINKER_SCRIPT, *(BUILD / name for name in ("crt0.o", "kernel.o", *LIBRARIES))))

# gcc's options whose value is the next argument
VALUED = frozenset((
    "-o", "-I", "-D", "-U", "-L", "-l", "-include", "-imacros", "-isystem", "-idirafter",
    "-iquote", "-iprefix", "-iwithprefix", "-isysroot", "-MF", "-MT", "-MQ", "-x", "-Xlinker",
    "-Xassembler", "-Xpreprocessor", "-T", "-u", "-z", "-e", "-B", "--param", "-aux-info",
    "-dumpbase", "-dumpdir", "-wrapper", "-specs"))
ONLY_COMPILES = frozenset(("-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"))
ASKS_GCC = ("-v", "-###", "-dumpversion", "-dumpfullversion", "-dumpmachine", "-print-", "--print-",
            "-dumpspecs", "--target-help")
SHOW = ("-show", "--show", "-showme", "--showme")
SHOW_PART = {"-showme:compile": "compile", "--showme:compile": "compile",
             "-compile-info": "compile", "-compile_info": "compile",
             "-showme:link": "link", "--showme:link": "link",
             "-link-info": "link", "-link_info": "link"}
CPLUSPLUS = (".cc", ".cpp", ".cxx", ".C", ".c++", ".cp", ".CPP", ".ii")
FORTRAN = (".f", ".f77", ".f90", ".f95", ".f03", ".f08", ".for", ".ftn", ".F", ".F90", ".F95",
           ".F03", ".F08", ".FOR")
# Options whose code calls a library of Linux processes. start of the option, cause, cure
RUN_ON_LINUX = "check the program on Linux with the host's gcc, and leave it out here"
UNSUPPORTED = (
    (("--coverage", "-fprofile-arcs", "-ftest-coverage", "-lgcov"),
     "nodes cannot write coverage data", RUN_ON_LINUX),
    (("-fprofile-generate", "-pg"), "nodes cannot write profiles", RUN_ON_LINUX),
    (("-fsanitize=",), "gcc's sanitizers have no library for nodes",
     RUN_ON_LINUX + ", or add -fsanitize-undefined-trap-on-error to -fsanitize=undefined"),
    (("-fsplit-stack",), "a node's stack is one piece", "give it its size: margay run --stack MB"),
    (("-m32", "-mx32", "-m16"), "nodes run 64-bit code", "leave it out"),
)
TRAPS = "-fsanitize-undefined-trap-on-error"
THREADS = ("-fopenmp", "-lgomp", "-ftree-parallelize-loops")


class CcPlan:
    """What to do: gcc's arguments from the user, and whether to link."""

    def __init__(self) -> None:
        self.user: list[str] = []
        self.inputs: list[str] = []
        self.output = "a.out"
        self.links = True
        self.show = False
        self.show_part = ""       # show only what is added to "compile" or to "link"
        self.kernel = "kernel.o"
        self.runnable = False     # the output is a script that runs the image
        self.asks_gcc = False     # prints something about the compiler, compiles nothing


def plan(args: list[str]) -> CcPlan:
    """Sorts the arguments; raises a MargayError for what nodes cannot run."""
    result = CcPlan()
    threads = ""
    args = [word for word in _expand(args) if not _is_own(word)]
    _refuse(args)
    words = iter(args)
    for word in words:
        if word == "--selftests":
            result.kernel = "kernel-selftests.o"
            continue
        if word == "--runnable":
            result.runnable = True
            continue
        if word in SHOW:
            result.show = True
            continue
        if word in SHOW_PART:
            result.show, result.show_part = True, SHOW_PART[word]
            continue
        if word in VALUED:
            value = next(words, None)
            if value is None:
                raise MargayError(f"{word} needs a value", "see: margay cc --help")
            if word == "-x":
                _language(value)
            if word == "-o":
                result.output = value
            if word == "-l":
                word, value = "-l" + value, None
            result.user += [word] if value is None else [word, value]
        else:
            result.user.append(word)
        if word in ONLY_COMPILES:
            result.links = False
        elif word.startswith("-x") and len(word) > 2:
            _language(word[2:])
        elif word.startswith("-o") and len(word) > 2:
            result.output = word[2:]
        elif word.startswith(THREADS) and word != "-fopenmp-simd":
            threads = word
        elif word == "-shared":
            raise MargayError("-shared: nodes have no shared libraries",
                              "link everything into the one image; make a library with ar")
        elif word in ("-lstdc++", "-lgfortran"):
            _language("c++" if word == "-lstdc++" else "f95")
        elif word.startswith(ASKS_GCC):
            result.asks_gcc = True
        elif word == "-" or not word.startswith("-"):
            _suffix(word)
            result.inputs.append(word)
    if not result.inputs:
        if not result.asks_gcc and not result.show_part:
            raise MargayError("no input files", "usage: margay cc [options] -o APP.elf FILES...")
        result.links = False
    else:
        result.asks_gcc = False
    if threads and result.links:
        raise MargayError(f"{threads}: there are no threads yet",
                          "a node has one CPU and runs one thread: use more nodes (ranks), "
                          f"and link without {threads}")
    if result.inputs:
        result.user = without_host_headers(result.user)
    if result.links:
        result.user = resolve(result.user)
        if result.runnable:
            from .runnable import image_instead
            result.user = image_instead(result.user, result.output)
    return result


def _is_own(word: str) -> bool:
    """Is this a file that is linked anyway? `pkg-config --libs margay` names them too."""
    path = word.removeprefix("-Wl,-T,")
    return path.startswith("/") and path.endswith((".o", ".a", ".ld")) \
        and os.path.realpath(path) in OWN_FILES


def _refuse(args: list[str]) -> None:
    """Options that would end in pages of errors by the linker."""
    for word in args:
        for starts, cause, cure in UNSUPPORTED:
            if word.startswith(starts) and not (word == "-fsanitize=undefined" and TRAPS in args):
                raise MargayError(f"{word}: {cause}", cure)


def _expand(args: list[str]) -> list[str]:
    """Replaces @FILE by the arguments in it, as gcc does."""
    words: list[str] = []
    for word in args:
        if word.startswith("@") and os.path.isfile(word[1:]):
            from shlex import split
            with open(word[1:], encoding="utf-8", errors="surrogateescape") as file:
                words += split(file.read())
        else:
            words.append(word)
    return words


def _language(name: str) -> None:
    if name.startswith(("c++", "objective-c++")):
        raise MargayError("C++ is not there yet: nodes run C programs",
                          "write the program in C")
    if name.startswith(("f77", "f95", "fortran")):
        raise MargayError("Fortran is not there yet: nodes run C programs",
                          "write the program in C")


def _suffix(name: str) -> None:
    end = os.path.splitext(name)[1]
    language = "C++" if end in CPLUSPLUS else "Fortran" if end in FORTRAN else ""
    if language:
        raise MargayError(f"{name}: {language} is not there yet: nodes run C programs",
                          "write the program in C")


def gcc_arguments(steps: CcPlan, gcc_include: str) -> list[str]:
    """Everything behind gcc's name. Raises if the build lacks a part."""
    if steps.show_part == "compile":
        return [*COMPILE_FLAGS, *_headers(gcc_include)]
    if steps.show_part == "link":
        return [NO_LOCALS, *_link(steps.kernel)]
    line = [*COMPILE_FLAGS, *steps.user, *_headers(gcc_include)]
    if not steps.links:
        return line
    # First: an option of the user's comes later, and counts.
    return [NO_LOCALS, *line, "-x", "none", *_link(steps.kernel)]


def _headers(gcc_include: str) -> list[str]:
    root = sysroot()
    folders = (f"{root}/include", gcc_include, str(ROOT / "include"))
    return [f"--sysroot={root}", *(word for folder in folders for word in ("-isystem", folder))]


def _link(kernel: str) -> list[str]:
    return [*LINK_FLAGS, f"-Wl,-T,{LINKER_SCRIPT}", str(built("crt0.o")),
            str(built(kernel)), "-Wl,--start-group",
            *(str(built(name)) for name in LIBRARIES), "-lgcc", "-Wl,--end-group"]


def compile_and_link(args: list[str]) -> int:
    """The exit status of gcc, or 1 if the link failed for a reason that is explained."""
    if "--version" in args or "-V" in args:
        print(f"margay cc {VERSION}")
        sys.stdout.flush()
        args = ["--version"]
        steps = CcPlan()
        steps.user, steps.asks_gcc = args, True
    else:
        steps = plan(args)
    gcc = program(os.environ.get("MARGAY_CC") or "gcc", "gcc")
    for name in HOST_VARIABLES:
        os.environ.pop(name, None)
    if steps.asks_gcc:
        text = answer(steps.user, gcc)
        if text is not None:
            print(text)
            return 0
        os.execv(gcc, [gcc, *steps.user])
    line = [gcc, *gcc_arguments(steps, _gcc_include(gcc))]
    if steps.show:
        from shlex import join
        print(join(line[1:] if steps.show_part else line))
        return 0
    return _run(line, steps)


def _run(line: list[str], steps: CcPlan) -> int:
    """gcc, with what margay knows about its errors behind them."""
    import subprocess
    if sys.stderr.isatty():
        line.insert(1, "-fdiagnostics-color=always")
    done = subprocess.run(line, stderr=subprocess.PIPE)
    said = done.stderr.decode("utf-8", "replace")
    if TOO_FAR not in said or "undefined reference" in said:    # else a page that says nothing
        sys.stderr.buffer.write(done.stderr)
        sys.stderr.flush()
    if done.returncode != 0:
        sys.stderr.write(explain(said))
    elif steps.links:
        if steps.runnable:
            from .runnable import IMAGE, write_script
            check_contiguous(steps.output + IMAGE)
            write_script(steps.output)
        else:
            check_contiguous(steps.output)
    return done.returncode


def _gcc_include(gcc: str) -> str:
    """The folder of gcc's own headers: stddef.h, stdarg.h, immintrin.h."""
    import subprocess
    done = subprocess.run([gcc, "-print-file-name=include"], capture_output=True, text=True)
    path = done.stdout.strip()
    if not os.path.isabs(path):
        raise MargayError(f"{gcc} does not know where its own headers are",
                          "install the compiler again: apt install --reinstall gcc")
    return path
