"""`margay cc`, `margay c++` ...: the host's compiler with the nodes' headers, libraries,
kernel and linker script.

plan() sorts the arguments and refuses what cannot work. compile_and_link() runs the compiler.
"""
from __future__ import annotations

import os
import sys

from . import VERSION
from .errors import MargayError
from .image import finish_image
from .languages import (ARCHIVES, C, CPLUSPLUS, FORTRAN, OPENMP, Language, built_before, files,
                        headers, library, of_dialect, of_file)
from .libraries import (HOST_VARIABLES, TOO_FAR, answer, explain, resolve, sysroot,
                        without_host_headers)
from .paths import BUILD, ROOT, built

COMPILE_FLAGS = [
    "-O2", "-g", "-fno-omit-frame-pointer", "-fno-pic", "-fno-pie", "-mcmodel=small",
    "-fstack-clash-protection",   # no stack frame skips the guard page
    "-fno-stack-protector", "-fcf-protection=none", "-U_FORTIFY_SOURCE", "-U__linux__",
    "-U__linux", "-U__gnu_linux__", "-Ulinux", "-D__margay__", "-nostdinc",
]
# Libraries may have main too: crt0.o, which calls it, comes after them.
LINK_FLAGS = ["-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none",
              "-Wl,-z,max-page-size=4096", "-Wl,--no-warn-rwx-segments", "-Wl,--gc-sections",
              "-Wl,-u,_start,-u,main", "-Wl,--compress-debug-sections=zlib"]
TABLES = "-Wl,--eh-frame-hdr"      # the unwinder finds a function's table by it
# Debug data names static functions too; -Wl,--discard-none keeps their symbols, because addr2line
# takes C++ and Fortran names from the symbols anyway.
NO_LOCALS = ["-Wl,--discard-all"]
# ld's warnings about an object that makes code on the stack, as pointers to nested functions do,
# and about assembly that does not say whether it does.
CODE_ON_STACK = b"requires executable stack"
STACK_WARNINGS = (CODE_ON_STACK, b"missing .note.GNU-stack section",
                  b"NOTE: This behaviour is deprecated and will be removed")
LIBRARIES = ("libmargay.a", "sysroot/lib/libc.a")
LINKER_SCRIPT = ROOT / "linker.ld"
# Files that every link has anyway.
OWN_FILES = frozenset(os.path.realpath(path) for path in (
    LINKER_SCRIPT, *(BUILD / name for name in ("crt0.o", "kernel.o", *LIBRARIES))))

# gcc's options whose value is the next argument
VALUED = frozenset((
    "-o", "-I", "-D", "-U", "-L", "-l", "-include", "-imacros", "-isystem", "-idirafter",
    "-iquote", "-iprefix", "-iwithprefix", "-isysroot", "-MF", "-MT", "-MQ", "-x", "-Xlinker",
    "-Xassembler", "-Xpreprocessor", "-J", "-T", "-u", "-z", "-e", "-B", "--param", "-aux-info",
    "-dumpbase", "-dumpdir", "-wrapper", "-specs"))
ONLY_COMPILES = frozenset(("-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "-r"))
ASKS_GCC = ("-v", "-###", "-dumpversion", "-dumpfullversion", "-dumpmachine", "-print-", "--print-",
            "-dumpspecs", "--target-help")
SHOW = ("-show", "--show", "-showme", "--showme")
SHOW_PART = {"-showme:compile": "compile", "--showme:compile": "compile",
             "-compile-info": "compile", "-compile_info": "compile",
             "-showme:link": "link", "--showme:link": "link",
             "-link-info": "link", "-link_info": "link"}
# Options whose code needs a library of Linux. Start of the option, cause, cure
RUN_ON_LINUX = "check the program on Linux with the host's gcc, and leave it out here"
UNSUPPORTED = (
    (("--coverage", "-fprofile-arcs", "-ftest-coverage", "-lgcov"),
     "nodes cannot write coverage data", RUN_ON_LINUX),
    (("-fprofile-generate", "-pg"), "nodes cannot write profiles", RUN_ON_LINUX),
    (("-fsanitize=",), "gcc's sanitizers have no library for nodes",
     RUN_ON_LINUX + ", or add -fsanitize-undefined-trap-on-error to -fsanitize=undefined"),
    (("-fsplit-stack",), "a node's stack is one piece", "give it its size: margay run --stack MB"),
    (("-m32", "-mx32", "-m16"), "nodes run 64-bit code", "leave it out"),
    (("-fopenacc",), "nodes have no accelerators", "leave it out: its directives are then comments"),
)
DEEPEST = 50                  # response files that include one another
LONGEST_LINE = 1 << 17        # bytes of gcc's arguments; Linux passes 2 MB, and 128 KB in one of them
TRAPS = "-fsanitize-undefined-trap-on-error"
# Options that make gcc link OpenMP.
WITH_OPENMP = ("-fopenmp", "-lgomp", "-ftree-parallelize-loops")


class CcPlan:
    """The plan of one call: gcc's arguments from the user, and whether to link."""

    def __init__(self, language: Language = C) -> None:
        self.language = language
        self.user: list[str] = []
        self.inputs: list[str] = []
        self.output = "a.out"
        self.links = True
        self.show = False
        self.show_part = ""       # show only what is added to "compile" or to "link"
        self.kernel = "kernel.o"
        self.libraries = list(language.archives)   # of other languages than C
        self.asks_library = ""    # only say where the library is: --where, or --prepare it
        self.runnable = False     # the output is a script that runs the image
        self.asks_gcc = False     # prints something about the compiler, compiles nothing


def plan(args: list[str], language: Language = C) -> CcPlan:
    """Sorts the arguments; raises a MargayError for what nodes cannot run."""
    result = CcPlan(language)
    args = [word for word in expand(args) if not _is_own(word)]
    _refuse(args)
    words = iter(args)
    for word in words:
        if word == "--selftests":
            result.kernel = "kernel-selftests.o"
            continue
        if word == "--runnable":
            result.runnable = True
            continue
        if word in ("--prepare", "--where"):
            result.asks_library = word
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
                raise MargayError(f"{word} needs a value",
                                  f"see: margay {language.word} --help")
            if word == "-x":
                _dialect(value, language)
            if word == "-o":
                result.output = value
            if word == "-l":
                word, value = "-l" + value, None
        else:
            value = None
        if word.startswith(WITH_OPENMP) and word != "-fopenmp-simd":
            result.libraries += OPENMP.archives
        if word.startswith("-l") and word[2:] in ARCHIVES:
            result.libraries += ARCHIVES[word[2:]].archives
        else:
            result.user += [word] if value is None else [word, value]
        if word in ONLY_COMPILES:
            result.links = False
        elif word.startswith("-x") and len(word) > 2:
            _dialect(word[2:], language)
        elif word.startswith("-o") and len(word) > 2:
            result.output = word[2:]
        elif word == "-shared":
            raise MargayError("-shared: nodes have no shared libraries",
                              "link everything into the one image; make a library with ar")
        elif word.startswith(ASKS_GCC):
            result.asks_gcc = True
        elif word == "-" or not word.startswith("-"):
            _suffix(word, language)
            result.inputs.append(word)
    if result.asks_library:
        return result
    if not result.inputs:
        if not result.asks_gcc and not result.show_part:
            raise MargayError("no input files", f"usage: margay {language.word} [options] "
                              "-o APP.elf FILES...")
        result.links = False
    else:
        result.asks_gcc = False
    if result.inputs:
        result.user = without_host_headers(result.user)
    if result.links:
        result.user = resolve(result.user)
        if result.runnable:
            from .runnable import image_instead, may_be_script
            result.runnable = may_be_script(result.output)
        if result.runnable:
            result.user = image_instead(result.user, result.output)
    return result


def _is_own(word: str) -> bool:
    """Is this a file that every link has anyway? `pkg-config --libs margay` names them too."""
    path = word.removeprefix("-Wl,-T,")
    return path.endswith((".o", ".a", ".ld")) and os.path.realpath(path) in OWN_FILES


def _refuse(args: list[str]) -> None:
    """Refuses options that would end in pages of linker errors."""
    for word in args:
        for starts, cause, cure in UNSUPPORTED:
            if word == "-fsanitize=undefined" and TRAPS in args:
                continue
            if word.startswith(starts) or (word == "-p" and "-pg" in starts):
                raise MargayError(f"{word}: {cause}", cure)


def expand(args: list[str], depth: int = 0) -> list[str]:
    """Replaces @FILE by the arguments in it, as gcc does."""
    words: list[str] = []
    for word in args:
        if not word.startswith("@") or not os.path.isfile(word[1:]):
            words.append(word)
            continue
        from shlex import split
        if depth == DEEPEST:
            raise MargayError(f"{word}: response files include each other without end",
                              "leave it out of the files that it includes")
        try:
            with open(word[1:], encoding="utf-8", errors="surrogateescape") as file:
                inner = split(file.read())
        except OSError as error:
            raise MargayError(f"{word}: {error.strerror}", "name a file that you may read") from None
        except ValueError:
            raise MargayError(f"{word}: a quotation mark or backslash at its end is not complete",
                              "write \\ before quotation marks that are part of a name") from None
        words += expand(inner, depth + 1)
    return words


def _dialect(name: str, language: Language) -> None:
    """-x NAME"""
    _other(f"-x {name}", of_dialect(name), language)


def _suffix(name: str, language: Language) -> None:
    _other(name, of_file(name), language)


def _other(what: str, found: Language | None, language: Language) -> None:
    """Refuses files of another language. The compilers of C++ and Fortran take C as well."""
    if found is not None and found not in (language, C):
        raise MargayError(f"{what} is {found.title}",
                          f"compile it with: margay {found.word}")


def gcc_arguments(steps: CcPlan, gcc: str) -> list[str]:
    """All arguments of the compiler. Raises if the build lacks a part."""
    if steps.show_part == "compile":
        return compile_flags(steps, gcc)
    if steps.show_part == "link":
        return link_flags(steps)
    line = [*_own_flags(steps), *steps.user, *_headers(steps, gcc)]
    if not steps.links:
        return line
    # First, so that the user's options, which come later, win.
    return [*_symbols(steps), *line, "-x", "none", *_link(steps)]


def compile_flags(steps: CcPlan, gcc: str) -> list[str]:
    return [*_own_flags(steps), *_headers(steps, gcc)]


def _own_flags(steps: CcPlan) -> list[str]:
    """gfortran takes -nostdinc for its own modules too; --sysroot leaves out the host's headers."""
    return [word for word in COMPILE_FLAGS if word != "-nostdinc" or steps.language is not FORTRAN]


def link_flags(steps: CcPlan) -> list[str]:
    return [*_symbols(steps), *_link(steps)]


def _symbols(steps: CcPlan) -> list[str]:
    return [] if steps.libraries else NO_LOCALS


def _headers(steps: CcPlan, gcc: str) -> list[str]:
    root = sysroot()
    folders = (*headers(steps.language, not steps.show), f"{root}/include", _gcc_include(gcc),
               str(ROOT / "include"))
    plus = ["-nostdinc++"] if steps.language is CPLUSPLUS else []
    return [*plus, f"--sysroot={root}",
            *(word for folder in folders for word in ("-isystem", folder))]


def _link(steps: CcPlan) -> list[str]:
    more = files(list(dict.fromkeys(steps.libraries)), not steps.show)
    # gcc itself adds the libraries of -fopenmp after all this: -lgomp and -ldl.
    folders = [f"-L{os.path.dirname(name)}" for name in more if name.endswith("/libgomp.a")]
    folders += [f"-L{sysroot()}/lib"] if folders else []
    return [*LINK_FLAGS, *([TABLES] if more else []), f"-Wl,-T,{LINKER_SCRIPT}",
            str(built("crt0.o")), str(built(steps.kernel)), "-Wl,--start-group",
            *(str(built(name)) for name in LIBRARIES), *more, "-lgcc", "-lgcc_eh",
            "-Wl,--end-group", *folders]


def _say_libraries(steps: CcPlan) -> int:
    """Prints the libraries' folders; --prepare builds missing ones. 1 if one is missing."""
    folders = []
    for owner in dict.fromkeys(ARCHIVES[name] for name in steps.libraries):
        folders.append(built_before(owner) if steps.asks_library == "--where" else library(owner))
        print(folders[-1] or f"the {owner.title} library is not built yet")
    if not folders:
        raise MargayError(f"{steps.asks_library}: C needs no library but its own",
                          "ask margay c++ or margay fortran, or name -fopenmp as well")
    return 0 if all(folders) else 1


def compile_and_link(args: list[str], language: Language = C) -> int:
    """The exit status of gcc, or 1 if the link failed for a reason that is explained."""
    if "--version" in args or "-V" in args:
        print(f"margay {language.word} {VERSION}")
        sys.stdout.flush()
        args = ["--version"]
        steps = CcPlan(language)
        steps.user, steps.asks_gcc = args, True
    else:
        steps = plan(args, language)
    if steps.asks_library:
        return _say_libraries(steps)
    gcc = language.host_compiler()
    for name in HOST_VARIABLES:
        os.environ.pop(name, None)
    if steps.asks_gcc:
        text = answer(steps.user, gcc)
        if text is not None:
            print(text)
            return 0
        os.execv(gcc, [gcc, *steps.user])
    line = [gcc, *gcc_arguments(steps, gcc)]
    if steps.show:
        from shlex import join
        print(join(line[1:] if steps.show_part else line))
        return 0
    return _run(line, steps)


def _run(line: list[str], steps: CcPlan) -> int:
    """Runs gcc, and adds margay's explanations to its errors."""
    import subprocess
    if sys.stderr.isatty():
        line.insert(1, "-fdiagnostics-color=always")
    line, fds = _fitting(line)
    done = subprocess.run(line, stderr=subprocess.PIPE, pass_fds=fds)
    error = b"".join(line for line in done.stderr.splitlines(keepends=True)
                     if not any(warning in line for warning in STACK_WARNINGS))
    said = error.decode("utf-8", "replace")
    if TOO_FAR not in said or "undefined reference" in said:    # else it is a page without information
        sys.stderr.buffer.write(error)
        sys.stderr.flush()
    if done.returncode != 0:
        sys.stderr.write(explain(said))
    elif steps.links:
        if steps.runnable:
            from .runnable import IMAGE, write_script
            finish_image(steps.output + IMAGE, CODE_ON_STACK in done.stderr)
            write_script(steps.output)
        else:
            finish_image(steps.output, CODE_ON_STACK in done.stderr)
    return done.returncode


def _fitting(line: list[str]) -> tuple[list[str], list[int]]:
    """The same command; if it is too long, a response file without a name, and its descriptor."""
    words = [os.fsencode(word) for word in line[1:]]
    if sum(len(word) + 1 for word in words) < LONGEST_LINE:
        return line, []
    import re
    fd = os.memfd_create("arguments")
    with open(fd, "wb", closefd=False) as file:
        for word in words:
            file.write((re.sub(rb"([\s\\'\"])", rb"\\\1", word) or b'""') + b"\n")
    return [line[0], f"@/dev/fd/{fd}"], [fd]


def _gcc_include(gcc: str) -> str:
    """The folder of gcc's own headers: stddef.h, immintrin.h. Names that begin with @ stand for it."""
    import subprocess
    if gcc.startswith("@"):
        return gcc
    done = subprocess.run([gcc, "-print-file-name=include"], capture_output=True, text=True)
    path = done.stdout.strip()
    if not os.path.isabs(path):
        raise MargayError(f"{gcc} does not know where its own headers are",
                          "install the compiler again: apt install --reinstall gcc")
    return path
