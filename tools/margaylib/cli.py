"""The margay command: picks the subcommand, prints help, turns errors into exit statuses."""
from __future__ import annotations

import errno
import io
import os
import sys

from . import VERSION
from .errors import OWN_ERROR, MargayError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .options import Row

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
NO_DESCRIPTORS = (errno.EMFILE, errno.ENFILE)
USAGE = """\
usage: margay COMMAND [options] ...

  run   boot nodes and run an application on them     margay run -n 4 APP [arguments]
  cc    compile and link an application in C          margay cc -O2 -o APP.elf APP.c
  c++   the same for C++                              margay c++ -O2 -o APP.elf APP.cc
  fortran   the same for Fortran                      margay fortran -O2 -o APP.elf APP.f90
  gdb   run with one rank under gdb                   margay gdb -n 2 --rank 1 APP
  iso   make a disc that boots an application         margay iso APP -n 4 -o APP.iso
  pxe   make a folder to boot it over the network     margay pxe APP -n 4 -o FOLDER

  margay COMMAND --help     a command's options
  margay --version
"""
RUN_TEXT = """\
usage: margay run [options] APP [arguments]

Boots N nodes under QEMU, runs APP (linked by margay cc) on each as ranks 0 to
N-1, prints their output, and leaves nothing behind.

"""
OWN_TEXT = "\nfor tests and benchmarks of margay itself:\n"
RUN_END = """
Sizes are in MB, or carry a unit: 512K, 2G. Standard input goes to rank 0 (--stdin).
mpiexec.margay (in a checkout tools/mpiexec, mpirun) is this command with --no-prefix;
its option -l prints the rank before lines.
Ctrl-C ends the job, a second one at once. SIGQUIT (Ctrl-\\) prints every rank's
backtrace and what it waits for. A rank under gdb: margay gdb --rank K [options] APP.

exit status: 0 if all ranks returned 0, else the first failing rank's;
  128 + signal after a fault or a machine's death (134 after abort); 124 timeout;
  130 Ctrl-C; 143 SIGTERM; 125 margay's own errors.
environment: MARGAY_QEMU (QEMU to use), MARGAY_BOOT_SECONDS (time to reach main),
  MARGAY_BUILD (build folder), XDG_CACHE_HOME (where margay keeps whether KVM works here),
  MARGAY_RUN_OPTIONS (options that come before those of the command line).
"""
CC_TEXT = """\
usage: margay cc [options] FILES...

Compiles C sources and links them into an application for margay run, with the
host's gcc, musl and the node's kernel. Takes gcc's options (-c -o -I -D -O -g
-W... -std=... -l -L -Wl,... -S -E); without -O it uses -O2.

  -show      print the command and run nothing; -showme:compile, -showme:link: what
             is added to compile and to link
  --mpi      with MPI, as mpicc does it (docs/mpi.md)
  --runnable   for makefiles and configure scripts that run what they have built: -o NAME
             makes a script NAME that runs the image, NAME.elf, on a node (docs/programs.md)
  --selftests  link the kernel that holds the self-tests (margay run --selftest)
  --version, --help

x86_64-margay-gcc is the same command in one word; mpicc.margay (in a checkout tools/mpicc)
is margay cc --mpi, and takes options of MPICH's wrappers as well: -echo, -compile_info,
-link_info, -showme:incdirs, --prepare, --where (docs/mpi.md). One thread: pthread_create
fails, mutexes and the like work, -fopenmp has a team of one (docs/languages.md): with it
--prepare only builds the OpenMP library, and --where prints its folder. Nothing of the host
is linked or included: -lm, -lpthread, -lrt and so on are in the nodes' library.

environment: MARGAY_CC (the compiler), XDG_CACHE_HOME (where the libraries of OpenMP and MPI
  are kept, and their sources).
"""
CXX_TEXT = """\
usage: margay c++ [options] FILES...

Compiles C++ and links it into an application for margay run, with the host's g++, the
C++ library of that compiler built for nodes, and what margay cc links. Takes g++'s
options; without -O it uses -O2. See docs/languages.md.

  -show      print the command and run nothing; -showme:compile, -showme:link: what
             is added to compile and to link
  --prepare    only build the C++ library, if it has not been built, and print its folder
  --where      print that folder; the status is 1 if the library has not been built
  --mpi      with MPI, as mpicxx does it (docs/mpi.md)
  --runnable   for makefiles and configure scripts that run what they have built: -o NAME
             makes a script NAME that runs the image, NAME.elf, on a node (docs/programs.md)
  --selftests  link the kernel that holds the self-tests (margay run --selftest)
  --version, --help

x86_64-margay-g++ is the same command in one word; mpicxx.margay (in a checkout
tools/mpicxx) is margay c++ --mpi. The first use builds the library from Debian's
gcc-12-source, in about a minute, and keeps it in the cache. One thread: std::thread throws
system_error, std::mutex and the like work.

environment: MARGAY_CC and MARGAY_CXX (compilers, of one version), XDG_CACHE_HOME (where the
  C++ library is kept, and the source).
"""
FORTRAN_TEXT = """\
usage: margay fortran [options] FILES...

Compiles Fortran (.f90 .f .for .f03 .f08 ..., with a preprocessor .F90 .F ...) and links it
into an application for margay run, with the host's gfortran, the Fortran library of that
compiler built for nodes, and what margay cc links. Takes gfortran's options; without -O it
uses -O2. See docs/languages.md.

  -show      print the command and run nothing; -showme:compile, -showme:link: what
             is added to compile and to link
  --prepare    only build the Fortran library, if it has not been built, and print its folder
  --where      print that folder; the status is 1 if the library has not been built
  --mpi      with MPI, as mpifort does it (docs/mpi.md)
  --runnable   for makefiles and configure scripts that run what they have built: -o NAME
             makes a script NAME that runs the image, NAME.elf, on a node (docs/programs.md)
  --selftests  link the kernel that holds the self-tests (margay run --selftest)
  --version, --help

x86_64-margay-gfortran is the same command in one word; mpifort.margay (in a checkout
tools/mpifort) is margay fortran --mpi. The first use builds the library from Debian's
gcc-12-source, in about two minutes, and keeps it in the cache. -fopenmp: OpenMP with one
thread; -fcoarray=single: one image.

environment: MARGAY_CC and MARGAY_FORTRAN (compilers, of one version), XDG_CACHE_HOME (where
  the Fortran library is kept, and the source).
"""
# The help of each command that compiles.
COMPILERS = {"cc": CC_TEXT, "c++": CXX_TEXT, "fortran": FORTRAN_TEXT}
COMMANDS = ("run", *COMPILERS, "gdb", "iso", "pxe")
GDB_TEXT = """\
usage: margay gdb [options] APP [arguments]

Like margay run, with one rank stopped in main under gdb (the variable MARGAY_GDB
names another one). Takes all options of margay run, and:

"""
ISO_TEXT = """\
usage: margay iso [options] APP [-- arguments]

Makes an image for discs and USB sticks, for BIOS and UEFI, with a menu entry per
node, which tells it its id, rank, the number of nodes and the link. A board that
--board names starts its entry at once; the others show the menu. See
docs/bare-metal.md.

"""
PXE_TEXT = """\
usage: margay pxe [options] APP [-- arguments]

Fills a folder for a TFTP server: margay.pxe is what a BIOS loads over the network,
margay.efi what UEFI loads. The rest is as for margay iso; see docs/bare-metal.md.

"""


def main(program: str, args: list[str]) -> int:
    """The exit status; messages go to standard error, prefixed with the program's name."""
    _open_standard_descriptors()
    try:
        status = _command(args)
        sys.stdout.flush()
        return status
    except MargayError as error:
        _complain(error.text(program))
        return error.status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _discard_output()
        return 141
    except Exception as error:
        if isinstance(error, OSError) and error.errno in NO_ROOM and error.filename is None:
            _discard_output()
            _complain(MargayError(f"standard output: {error.strerror}",
                                  "make room there, or write elsewhere").text(program))
            return OWN_ERROR
        if isinstance(error, OSError) and error.errno in NO_DESCRIPTORS:
            _complain(MargayError(f"{error.strerror}", "this user may open too few: raise the limit "
                                  "(`ulimit -n 1024`)").text(program))
            return OWN_ERROR
        if isinstance(error, FileNotFoundError) and _here_is_gone():
            _complain(MargayError("the current folder has been removed",
                                  "start margay in a folder that is there").text(program))
            return OWN_ERROR
        import traceback
        _complain(traceback.format_exc() + f"{program}: error: this is a fault of margay itself\n")
        return OWN_ERROR


def _raise_interrupts() -> None:
    """Lets Ctrl-C unwind, so that temporary files are removed."""
    import signal
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _here_is_gone() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _open_standard_descriptors() -> None:
    """Opens 0, 1 and 2 if they are closed: else the next file would get their number."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)
    sys.stderr = sys.stderr or open(2, "w", closefd=False)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="surrogateescape")     # names of files may be any bytes


def _discard_output() -> None:
    """Standard output cannot be written: drops what is left, so that the exit does not try again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _complain(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        pass


def _command(args: list[str]) -> int:
    word, rest = (args[0], args[1:]) if args else ("", [])
    if word != "run":             # it has nothing to remove until it has handlers of its own
        _raise_interrupts()
    if word in ("", "-h", "-help", "--help", "help"):
        if word == "help" and rest and rest[0] not in COMMANDS:
            raise _unknown(rest[0])
        text = help_text(rest[0]) if word == "help" and rest else USAGE
        (sys.stdout if word else sys.stderr).write(text)
        return 0 if word else OWN_ERROR
    if word in ("-V", "-version", "--version", "version"):
        print(f"margay {VERSION}")
        return 0
    if word in COMPILERS:
        if _wants(rest, ("--help", "-help"), rest):
            sys.stdout.write(COMPILERS[word])
            return 0
        from .languages import named
        if "--mpi" in rest:
            from .mpi import mpi
            return mpi(rest, named(word))
        from .compile import compile_and_link
        return compile_and_link(rest, named(word))
    if word == "gdb-relay":
        from .gdb import relay
        return relay(int(rest[0]))
    if word not in ("run", "gdb", "iso", "pxe"):
        raise _unknown(word)
    if _wants(rest, ("--help", "-h", "-help"), _before_app(word, rest)):
        sys.stdout.write(help_text(word))
        return 0
    if _wants(rest, ("--version", "-V", "-version"), _before_app(word, rest)):
        print(f"margay {VERSION}")
        return 0
    if word == "run":
        from .run import run
        return run(rest)
    if word == "gdb":
        from .gdb import gdb
        return gdb(rest)
    if word == "iso":
        from .iso import iso
        return iso(rest)
    from .pxe import pxe
    return pxe(rest)


def _wants(args: list[str], names: tuple[str, ...], where: list[str]) -> bool:
    return any(name in where for name in names) if args else False


def _before_app(word: str, args: list[str]) -> list[str]:
    """The options before the application: a --help after it belongs to the application."""
    from . import options
    table = {"run": options.TABLE + options.OWN_TABLE,
             "gdb": options.TABLE + options.OWN_TABLE + options.GDB_TABLE,
             **options.GRUB_TABLES}[word]
    valued = {name for row in table for name in row[0] if options.takes_word(row)}
    found: list[str] = []
    at = 0
    while at < len(args) and args[at].startswith("-") and args[at] != "--":
        found.append(args[at])
        at += 2 if args[at] in valued else 1
    return found


def help_text(word: str) -> str:
    from . import options
    if word in COMPILERS:
        return COMPILERS[word]
    if word == "run":
        return RUN_TEXT + _rows(options.TABLE) + OWN_TEXT + _rows(options.OWN_TABLE) \
            + RUN_END
    if word == "gdb":
        return GDB_TEXT + _rows(options.GDB_TABLE)
    if word in options.GRUB_TABLES:
        return (ISO_TEXT if word == "iso" else PXE_TEXT) + _rows(options.GRUB_TABLES[word])
    return USAGE


def _rows(table: tuple[Row, ...]) -> str:
    from .options import takes_word
    cells = [(", ".join(name for name in row[0] if name not in ("--np", "-c"))
              + (" " if takes_word(row) else "") + row[1], row[3]) for row in table]
    width = max(len(left) for left, _ in cells)
    return "".join(f"  {left.ljust(width)}  {text}\n" for left, text in cells)


def _unknown(word: str) -> MargayError:
    from difflib import get_close_matches
    near = get_close_matches(word, COMMANDS, 1, 0.5)
    if near:
        cure = f"did you mean margay {near[0]}?"
    elif word.startswith("-") or os.path.isfile(word):
        cure = "to run an application: margay run -n N APP"
    else:
        cure = f"commands: {', '.join(COMMANDS)}; see margay --help"
    return MargayError(f"unknown command {word}", cure)
