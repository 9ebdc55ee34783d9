"""ScaLAPACK 2.2.1: linear algebra on matrices that are distributed over all ranks, in four precisions.

Its CMakeLists build it with Margay's toolchain file, and the reference LAPACK and BLAS of
program_lapack.py. They name its tests, which check residuals, and run them on four ranks.
scalapack/verdict.py reads their output.
"""
from common import Library, Program, Source, Test
from program_lapack import CONFIGURE, PRECISIONS
from program_lapack import SOURCE as LAPACK

SAYS = r"^(\d+) checks, (\d+) failed"
BUILT = "build"
LIBRARIES = "$PWD/../lapack-3.11.0"
# As in TESTING/CMakeLists.txt; each name follows the letter of a precision.
LINEAR = "lu dblu dtlu gblu llt pbllt ptllt inv qr ls".split()
EIGEN = "brd hrd trd sep gsep nep".split()
OF_SOME = "xssvd xdsvd xcevc xzevc xssyevr xdsyevr xcheevr xzheevr xshseqr xdhseqr".split()


def run(name: str, folder: str = "TESTING", options: str = "") -> Test:
    return Test(f"{name} {options}".strip(),
                f"set -o pipefail; cd {BUILT}/{folder} && "
                f"mpiexec -n 4 {options} ./{name} 2>&1 | "
                f"{'../' * (folder.count('/') + 2)}margay/verdict.py {name}", says=SAYS)


def blacs(name: str) -> Test:
    """Ends with MPI_Abort, as its last part tests that."""
    return Test(name, f"cd {BUILT}/BLACS/TESTING && mpiexec -n 4 ../../TESTING/{name} 2>&1 | "
                f"../../../margay/verdict.py {name}", says=SAYS)


PROGRAM = Program(
    name="scalapack",
    source=Source("scalapack", "scalapack_2.2.1.orig.tar.gz",
                  "4aede775fdb28fa44b331875730bcd5bab130caaec225fadeccf424c8fcb55aa",
                  "scalapack-2.2.1"),
    needs={"cmake": "cmake", "gfortran": "gfortran"},
    files="scalapack",
    options="--mem 512",
    libraries=[Library(LAPACK, [CONFIGURE, "make -j$JOBS blaslib", "make -j$JOBS lapacklib"],
                       ("librefblas.a", "liblapack.a"))],
    # It is linked by the commands of MPI, as its CMakeLists name no MPI there. They call cmake for a
    # trial program, which gets the toolchain file only by the environment.
    build=["export CMAKE_TOOLCHAIN_FILE=$(dirname $(command -v margay))/../cmake/margay.cmake "
           f"LDFLAGS=--runnable && cmake -S . -B {BUILT} "
           "-DCMAKE_C_COMPILER=mpicc -DCMAKE_Fortran_COMPILER=mpifort -DSCALAPACK_BUILD_TESTING=ON "
           f'"-DLAPACK_LIBRARIES={LIBRARIES}/liblapack.a;{LIBRARIES}/librefblas.a" '
           f"-DBLAS_LIBRARIES={LIBRARIES}/librefblas.a",
           f"make -C {BUILT} -j$JOBS"],
    tests=[
        blacs("xCbtest"), blacs("xFbtest"),
        *(run(f"{precision}pb{level}tst", "PBLAS/TESTING")
          for level in (1, 2, 3) for precision in PRECISIONS),
        *(run(f"x{precision}{name}") for name in LINEAR + EIGEN for precision in PRECISIONS),
        *(run(name) for name in OF_SOME),
        run("dpb3tst", "PBLAS/TESTING", "--link virtio"), run("xdlu", options="--link virtio"),
    ],
    left_out=[
        ("REDIST/TESTING", "its CMakeLists do not run them"),
        ("EXAMPLE", "no verdict"),
    ],
)
