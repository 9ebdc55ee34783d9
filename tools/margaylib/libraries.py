"""The libraries and headers of `margay cc`: the sysroot's and the user's, never the host's.

resolve() turns -lNAME into files; explain() says what margay knows about errors of gcc and ld;
answer() answers gcc's -print-... options.
"""
from __future__ import annotations

import os
import re

from .errors import MargayError
from .paths import BUILD, ROOT, built

# All of these are in our libc.a; -lgcc and the like are the compiler's own.
OURS = frozenset("c m pthread rt dl util crypt resolv xnet atomic margay".split())
COMPILERS = frozenset(("gcc", "gcc_eh"))
# Names of MPICH's libraries in makefiles, those of older versions and of Debian too, and the
# archive that has the contents here.
MPI_ARCHIVES = {**dict.fromkeys("mpi mpich pmpich mpl opa".split(), "mpi"),
                **dict.fromkeys("mpicxx mpichcxx".split(), "mpicxx"),
                **dict.fromkeys("mpifort mpichfort mpichf90 fmpich".split(), "mpifort")}
LINK_MPI = "link with: mpicc, mpicxx or mpifort, or the option --mpi"
HOST_LIBRARIES = ("/usr/lib", "/lib", "/usr/lib64", "/lib64", "/usr/lib32", "/lib32")
HOST_FOLDERS = ("/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib")
HOST_HEADERS = ("/usr/local/include", "/usr/include/x86_64-linux-gnu", "/usr/include")
# Environment variables that make gcc search more folders of the host.
HOST_VARIABLES = ("LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH",
                  "OBJC_INCLUDE_PATH", "COMPILER_PATH")
BUILD_IT = 'build it for nodes, with CC="margay cc", and name its folder with '

_INCLUDES = ("-I", "-isystem", "-idirafter", "-iquote")
_HEADER = re.compile(r"fatal error: ([\w./+-]+): No such file or directory")
_UNDEFINED = re.compile(r"undefined reference to [`']([A-Za-z_][A-Za-z0-9_]*)'")

TOO_FAR = "relocation truncated to fit"
# Functions that the C library lacks, why, and what to do instead.
ABSENT = (
    ("(posix_spawn\\w*|forkpty|wordexp|clone)",
     "a node runs one process", "start what runs side by side as ranks: margay run -n N"),
    ("(socket(pair)?|bind|listen|accept4?|connect|shutdown|sendto|sendm?msg|recvfrom|recvm?msg"
     "|send|recv|[gs]etsockopt|getsockname|getpeername|getaddrinfo|freeaddrinfo|getnameinfo"
     "|gethostby\\w+|getservby\\w+|getprotoby\\w+|if_\\w+|getifaddrs|freeifaddrs|res_\\w+"
     "|sockatmark)",
     "there are no sockets", "ranks exchange messages by <portals3.h>"),
    ("(shm(get|at|dt|ctl|_open|_unlink)|sem(get|op|ctl|timedop|_open|_close|_unlink)"
     "|msg(get|snd|rcv|ctl)|mq_\\w+|ftok)",
     "a node has one process: nothing is shared between processes",
     "ranks exchange messages by <portals3.h>"),
    ("(aio_\\w+|lio_listio|timer_\\w+|pthread_cancel)",
     "a node has one thread", "use the calls that wait, or more nodes (ranks)"),
    ("(P?MPI_\\w+|MPI::\\w+)", "this is MPI", LINK_MPI),
    ("p?mpi_\\w+_", "this is MPI in Fortran", "link with: mpifort, or mpicc ... -lmpifort"),
    ("(GOMP_\\w+|omp_\\w+)", "this is OpenMP", "link with: -fopenmp"),
    ("(__gxx_personality_v0|__cxa_\\w+)", "this is C++", "link with: margay c++"),
    ("_gfortran_\\w+", "this is Fortran", "link with: margay fortran"),
    ("(openlog|v?syslog|closelog|setlogmask)", "there is no log of the system",
     "print to stderr, which margay run shows with the rank"),
)


def sysroot() -> str:
    return str(built("sysroot"))


def _is_host(path: str) -> bool:
    real = os.path.realpath(path)

    def below(folder: str) -> bool:
        return real == folder or real.startswith(folder + "/")

    return any(map(below, HOST_LIBRARIES)) and not below(str(ROOT))    # /usr/lib/margay


def _find(name: str, folders: list[str]) -> str | None:
    """The archive for -lNAME in these folders, found as ld does."""
    file = name[1:] if name.startswith(":") else f"lib{name}.a"
    for folder in folders:
        path = os.path.join(folder, file)
        if os.path.exists(path):
            return path
    return None


def _library(name: str, folders: list[str]) -> list[str]:
    if name in OURS:
        return []
    if name in COMPILERS:
        return ["-l" + name]
    path = _find(name, folders)
    if path:
        return [path]
    if name in MPI_ARCHIVES:
        raise MargayError(f"-l{name}: this is MPI", LINK_MPI)
    for folder in folders:
        if os.path.exists(os.path.join(folder, f"lib{name}.so")):
            raise MargayError(f"-l{name}: {folder} has only a shared library of it",
                              "nodes have no shared libraries: make a static one (.a)")
    host = _find(name, list(HOST_FOLDERS)) or _find(f":lib{name}.so", list(HOST_FOLDERS))
    if host:
        raise MargayError(f"-l{name}: {host} is a library of the host, for Linux",
                          BUILD_IT + "-L")
    where = ", ".join(folders) if folders else "no folder was named with -L"
    raise MargayError(f"-l{name}: there is no lib{name}.a ({where})", BUILD_IT + "-L")


def resolve(words: list[str]) -> list[str]:
    """The arguments of a link, with files instead of -lNAME and without the host's folders."""
    folders, result = [], []
    pairs = iter(words)
    for word in pairs:
        if word.startswith("-L"):
            folder = word[2:] or next(pairs, "")
            if not _is_host(folder):
                folders.append(folder)
        else:
            result.append(word)
    words, result = result, []
    for word in words:
        if word.startswith("-l"):
            result += _library(word[2:], folders)
        elif word.startswith("-Wl,") and ",-l" in word:
            for part in word.split(",")[1:]:
                result += _library(part[2:], folders) if part.startswith("-l") else ["-Wl," + part]
        else:
            if word.endswith((".a", ".o", ".so")) and _is_host(word):
                raise MargayError(f"{word} is a library of the host, for Linux", BUILD_IT + "-L")
            result.append(word)
    return [*(f"-L{folder}" for folder in folders), *result]


def without_host_headers(words: list[str]) -> list[str]:
    """Drops the host's own header folders; folders below them may be for nodes. Folders that come
    anyway keep their order, which `pkg-config --cflags margay` does not know."""
    left_out = (*HOST_HEADERS, *(os.path.realpath(f"{top}/include") for top in (sysroot(), ROOT)))
    result = []
    pairs = iter(words)
    for word in pairs:
        option = next((name for name in _INCLUDES if word.startswith(name)), None)
        if not option:
            result.append(word)
            continue
        folder = word[len(option):]
        joined = [word]
        if not folder:
            folder = next(pairs, "")
            joined.append(folder)
        if os.path.realpath(folder) not in left_out:
            result += joined
    return result


def explain(errors: str) -> str:
    """What margay knows about missing headers and names, as lines for the user; '' if nothing."""
    lines = []
    for header in dict.fromkeys(_HEADER.findall(errors)):
        if header == "mpi.h":
            lines += ["error: <mpi.h>: this is MPI", "compile with: mpicc, or margay cc --mpi"]
            continue
        for folder in HOST_HEADERS:
            path = os.path.join(folder, header)
            if os.path.exists(path):
                lines += [f"error: {path} is a header of the host, for Linux", BUILD_IT + "-I"]
                break
    if TOO_FAR in errors:
        lines += ["error: program and static data take more than 1 GB, which is the most that they "
                  "may take", "get large arrays by malloc, and run with a larger --mem"]
    names = sorted(set(_UNDEFINED.findall(errors)))
    for pattern, cause, cure in ABSENT:
        matched = [name for name in names if re.fullmatch(pattern, name)]
        if matched:
            lines += [f"error: {cause}: " + ", ".join(matched), cure]
    return "".join(f"margay: {line}\n" for line in lines)


def answer(words: list[str], gcc: str) -> str | None:
    """The answer to gcc's question about files; None: gcc itself may answer it."""
    import subprocess

    def ask(word: str) -> str:
        done = subprocess.run([gcc, word], capture_output=True, text=True)
        return done.stdout.rstrip("\n")

    for word in words:
        word = word[1:] if word.startswith("--print-") else word
        if word == "-print-sysroot":
            return sysroot()
        if word == "-print-search-dirs":
            kept = [line for line in ask(word).splitlines() if not line.startswith("libraries:")]
            return "\n".join([*kept, f"libraries: ={sysroot()}/lib/:{BUILD}/"])
        if word.startswith("-print-file-name="):
            name = word.partition("=")[2]
            for folder in (os.path.join(sysroot(), "lib"), str(BUILD)):
                if os.path.exists(os.path.join(folder, name)):
                    return os.path.join(folder, name)
            path = ask(word)
            own = os.path.dirname(ask("-print-libgcc-file-name"))
            return path if os.path.dirname(path) == own else name
    return None
