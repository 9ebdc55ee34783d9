"""PnetCDF 1.12.3: parallel netCDF files on MPI-IO, in C, C++ and Fortran; its own tests.

`make check` runs each program on one rank, `make ptest` on four. ncvalidator, which then reads the
files, is built for the host, as PnetCDF does on all machines that compile for others.
"""
from common import Program, Source, Test

SAYS = r"^(\d+) runs, (\d+) failed"
# What automake prints of a program, and what the scripts of ptest do.
COUNT = ("awk '{ print } /^(PASS|XFAIL):|-- pass$/ { n++ } /^(FAIL|ERROR|XPASS):|-- fail/ { f++ } "
         "END { print n + 0 \" runs, \" f + 0 \" failed\"; exit !n || f }'")
ALONE = "C CXX F90 cdf_format nc_test nf90_test nf_test nonblocking testcases".split()
PARALLEL = "C CXX F90 cdf_format header nonblocking testcases".split()


def run(folder: str, target: str, options: str = "") -> Test:
    return Test(f"{folder} {target} {options}".strip(),
                f"set -o pipefail; make -C {folder} {target} "
                f"TESTMPIRUN='mpiexec -n NP --mem 512 {options}' 2>&1 | {COUNT}", says=SAYS)


PROGRAM = Program(
    name="pnetcdf",
    source=Source("pnetcdf", "pnetcdf_1.12.3.orig.tar.xz",
                  "8f54023ffbbd3c8137e5422b44e32324113d5690f1da0cb7ecd5842c2de850a9",
                  "pnetcdf-1.12.3"),
    needs={"autoreconf": "autoconf", "aclocal": "automake", "libtoolize": "libtool", "m4": "m4",
           "gcc": "gcc"},
    options="--mem 512",          # 64 is too little for t_nc and tst_nofill
    build=["autoreconf -i",
           './configure --host=x86_64-linux-musl --disable-shared MPICC="$MPICC" '
           'MPICXX="$MPICXX" MPIF77="$MPIFC" MPIF90="$MPIFC"',
           "make -j$JOBS tests"],
    tests=[
        *(run(f"test/{folder}", "check") for folder in ALONE),
        *(run(f"test/{folder}", "ptest") for folder in PARALLEL),
        run("examples", "ptest"),
        run("benchmarks", "ptest"),
        run("test/testcases", "ptest", options="--link virtio"),
    ],
    left_out=[
        ("burst buffers, subfiles, ADIOS, netCDF-4", "other builds"),
        ("test/largefile", "its files take 4 GB and more"),
    ],
)
