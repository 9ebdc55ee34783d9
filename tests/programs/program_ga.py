"""Global Arrays 5.9.2: arrays distributed over all ranks, by MPI messages (MPI_2SIDED).

Its CMakeLists build it with Margay's toolchain file and its own BLAS, and name its tests and their
ranks. ga/verdict.py reads their output. The source is from Debian 13, as Debian 12 lacks this
version.
"""
from common import Program, Source, Test

SAYS = r"^(\d+) checks, (\d+) failed"
BUILT = "build"
TESTING = "global/testing"
# As in global/testing/CMakeLists.txt: on one rank, on two, on four.
ONE = "mulmatpatchc nga-patch ngatest".split()
TWO = ["nga-onesided"]
C = ("elempatch getmem mtest normc matrixc ntestc nbtestc ntestfc packc print scan_addc scan_copyc "
     "testc testmultrect gemmtest read_only unpackc ga-mpi lock comm_init patch_enumc "
     "simple_groups_commc").split()
FORTRAN = ("bin blktest g2test g3test ghosts jacobi mulmatpatch nbtest nb2test ndim patch patch2 "
           "patch_enumf pg2test pgtest scan sparse test testsolve overlay testeig simple_groups "
           "simple_groups_comm nga-periodic nga-scatter nga-util").split()
CPP = "elempatch_cpp mtest_cpp ntestc_cpp testc_cpp".split()


def run(name: str, ranks: int = 4, folder: str = TESTING, memory: int = 512,
        options: str = "") -> Test:
    return Test(f"{name} {options}".strip(),
                f"set -o pipefail; cd {BUILT}/{folder} && "
                f"mpiexec -n {ranks} --mem {memory} {options} ./{name}.x 2>&1 | "
                f"../../{'../' * folder.count('/')}margay/verdict.py {name}", says=SAYS)


PROGRAM = Program(
    name="ga",
    source=Source("ga", "ga_5.9.2.orig.tar.gz",
                  "6ccae41744e0a293be2ccd56b698c3919098c001c52fda489716d2cff0b44c02", "ga-5.9.2",
                  suite="trixie"),
    needs={"cmake": "cmake", "m4": "m4", "gfortran": "gfortran", "g++": "g++"},
    files="ga",
    # The toolchain file knows the compilers. A C program that calls Fortran is linked with
    # libgfortran, which the project looks for by itself.
    build=["fortran=$(margay fortran --prepare) && cmake -S . -B " + BUILT +
           " -DCMAKE_TOOLCHAIN_FILE=$(dirname $(command -v margay))/../cmake/margay.cmake "
           "-DBUILD_SHARED_LIBS=OFF -DGA_RUNTIME=MPI_2SIDED "
           "-Dgfortran_LIBRARY=$fortran/lib/libgfortran.a",
           f"make -C {BUILT} -j$JOBS"],
    tests=[
        *(run(name, ranks=1) for name in ONE),
        *(run(name, ranks=2) for name in TWO),
        *(run(name) for name in C + FORTRAN), run("stride", memory=1024),
        *(run(name, folder="ga++") for name in CPP),
        run("elempatch", options="--link virtio"),
        run("patch", options="--link virtio"),
    ],
    left_out=[
        ("perf, perfmod, perform, perf2, mir_perf2, ga_shift, lennard", "they measure"),
        ("testmatmult, testmatmultc, testmult, testmult_cpp, mmatrix, cache_test, sprsmatmult",
         "products of large matrices: without KVM many minutes each"),
        ("threadsafec, thread-safe_cpp, thread_perf_contig, thread_perf_strided",
         "a build without OpenMP makes them end at once"),
        ("testf, test-coalesce, test-inquire", "of the allocator, in one process; no verdict"),
        ("other runtimes: progress ranks, MPI's one-sided calls, threads", "other builds"),
    ],
)
