"""HDF5 1.10.8, parallel: the tests of its testpar, on MPI-IO with the nodes' files and locks.

Its configure runs trial programs on nodes, and so does its Makefile with H5detect, which generates
a source. hdf5/verdict.py reads the tests' output.
"""
from common import Program, Source, Test, ranks
from program_zlib import LIBRARY

SAYS = r"^(\d+) tests, (\d+) failed"
PROGRAMS = ("t_mpi", "t_bigio", "testphdf5", "t_cache", "t_pread", "t_pshutdown",
            "t_prestart", "t_init_term", "t_shapesame", "t_filters_parallel", "t_pflush1",
            "t_pflush2")


def run(program: str, options: str = "") -> Test:
    """Its files are in the folder testpar."""
    return Test(f"{program} {options}".strip(),
                f"set -o pipefail; cd testpar && {ranks(4, options)} ./{program} 2>&1 | "
                f"../margay/verdict.py {program}", says=SAYS)


PROGRAM = Program(
    name="hdf5",
    source=Source("hdf5", "hdf5_1.10.8+repack1.orig.tar.gz",
                  "7b38e58ff83b13fd8959a90b13bf896bc318ba096c940ab0847abf3ad41a0b31",
                  "hdf5-1.10.8+repack1"),
    files="hdf5",
    options="--mem 1024",         # 256 is too little for LC_coll_MD_read of testphdf5
    libraries=[LIBRARY],
    build=["Z=$PWD/../zlib-1.2.13.dfsg && RUNPARALLEL=none ./configure --host=x86_64-linux-musl "
           "--enable-parallel --disable-shared --disable-hl --disable-fortran --disable-cxx "
           '--with-zlib=$Z,$Z CC="$MPICC" CFLAGS=-O1',
           "make -C src -j$JOBS", "make -C test -j$JOBS libh5test.la",
           f"make -C testpar -j$JOBS {' '.join(PROGRAMS)} testpflush.sh"],
    tests=[
        run("t_mpi"),
        run("testphdf5"),
        run("t_cache"),
        run("t_pread"),
        run("t_pshutdown"),
        run("t_prestart"),
        run("t_init_term"),
        run("t_shapesame"),
        run("t_filters_parallel"),
        run("t_bigio", options="--env HDF5TestExpress=0"),
        # Its first program deliberately ends without MPI_Finalize; only the second is judged.
        Test("testpflush.sh", f"set -o pipefail; cd testpar && {ranks(4)} sh testpflush.sh | "
             "../margay/verdict.py t_pflush2", says=SAYS),
        run("t_mpi", options="--link virtio"),
    ],
    left_out=[
        ("t_cache_image", "it skips itself where there is no fork"),
        ("the tests of one process (test/), tools, C++, Fortran, the high level", "no MPI in them"),
    ],
)
