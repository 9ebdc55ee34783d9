"""FFTW 3.3.10 with MPI: its mpi-bench verifies transforms of all kinds on one to seven ranks.

Each transform is compared in three ways: linearity, impulses, shifts. FFTW's own script of random
transforms, check.pl, runs with a fixed seed.
"""
from shlex import quote

from common import Program, Source, Test, ranks

# Letters of a problem: i, o in place or not; f, b forward or backward; c complex, r real, k real to
# real with a kind after each size; [ and ] transposed input and output; v a vector.
COMPLEX_1D = "icf1024 ocb1000 icb60 ocf997 icf4096v3 dobf720".split()
COMPLEX = "icf64x64 ocb30x42 icb128x3 ocf12x10x14 icf8x6x5x7 ocf13x11v2 dicb16x16x16".split()
REAL = "orf64x64 irf30x42 orb30x42 irb64x64 orf12x10x14 irb8x6x5x7 orf24x18v3 orf9x7".split()
KINDS = ("ik16e00x18o00 ok12e01x10o10 ik20e10x9o01 ok8e11x8o11 ik10hx12h ok10fx12b ik6fx8hx5e01 "
         "ok9o11x7e00x6o10").split()
TRANSPOSED = "ocf]24x36 icb[24x36 ocf[18x20x6 orf]30x28 orb[30x28 ik]12e00x10h".split()
BIG = "icf256x256 orf128x192 ocf32x32x32 icb16384".split()


def bench(name: str, problems: list[str], number: int = 4, options: str = "",
          run_options: str = "") -> Test:
    """By default mpi-bench measures to find the fastest plan."""
    words = " ".join(f"--verify {quote(problem)}" for problem in problems)
    return Test(name, f"set -o pipefail; {ranks(number, run_options)} mpi/mpi-bench --verbose=1 "
                f"{options} {words} | margay/verdict.py {len(problems)}",
                says=r"^(\d+) transforms, (\d+) failed")


def check(number: int, count: int, options: str = "") -> Test:
    """FFTW's `make check` with a fixed seed."""
    return Test(f"check.pl {options} on {number}".replace("  ", " "),
                f"set -o pipefail; {ranks(number)} perl -we "
                f"'srand {number}; do \"./tests/check.pl\"; die $@ if $@' -- --verbose "
                f"--random --maxsize=10000 -c={count} {options} --mpi "
                "mpi/mpi-bench | margay/verdict.py", says=r"^(\d+) transforms, (\d+) failed")


PROGRAM = Program(
    name="fftw3",
    source=Source("fftw3", "fftw3_3.3.10.orig.tar.gz",
                  "56c932549852cddcfafdab3820b0200c7742675be92179e59e6215b340e26467",
                  "fftw-3.3.10"),
    needs={"perl": "perl"},
    files="fftw3",
    options="--mem 128",
    build=['./configure --host=x86_64-linux-musl --enable-mpi --disable-fortran --disable-doc '
           '--disable-shared CC="$CC" MPICC="$MPICC" CFLAGS=-O1',
           "make -j$JOBS"],
    tests=[
        bench("complex, one dimension", COMPLEX_1D),
        bench("complex", COMPLEX),
        bench("real", REAL),
        bench("real to real", KINDS),
        bench("transposed", TRANSPOSED),
        bench("large", BIG, options="-oestimate --verify-rounds=1"),
        bench("patient", ["icf24x20", "orf18x16", "ocf144"], options="-opatient"),
        bench("7 ranks", [*COMPLEX[:3], *REAL[:3], "ocf900"], 7, "-oestimate"),
        bench("over virtio", [*COMPLEX[:3], *REAL[:3], "ocf900"], run_options="--link virtio"),
        *(check(number, 5) for number in (1, 2, 3, 4)),
        check(4, 8, "--estimate"),
    ],
    left_out=[
        ("the checks of one process (tests/bench)", "mpi-bench on one rank runs the same routines"),
        ("single and long double precision, OpenMP, threads", "other builds of the same sources"),
    ],
)
