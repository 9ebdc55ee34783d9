"""HPC Challenge 1.5.0: HPL, PTRANS, RandomAccess, FFT, DGEMM, STREAM, latency and bandwidth on MPI.

Its Makefile and one of its settings files are used unmodified, with the reference BLAS of
program_lapack.py. hpcc/ beside this file has the inputs; the suite checks each part itself, and
hpcc/verdict.py reads its output.
"""
from common import Program, Source, Test, ranks
from program_lapack import BLAS_LIBRARY

SAYS = r"^(\d+) checks, (\d+) failed"
SECTIONS = ("MPIRandomAccess", "StarRandomAccess", "SingleRandomAccess", "MPIRandomAccess_LCG",
            "StarRandomAccess_LCG", "SingleRandomAccess_LCG", "PTRANS", "StarDGEMM",
            "SingleDGEMM", "StarSTREAM", "SingleSTREAM", "MPIFFT", "StarFFT", "SingleFFT",
            "LatencyBandwidth", "HPL", "Summary")


def run(name: str, number: int, options: str = "") -> str:
    """Runs in its own folder, as the output's name is fixed."""
    folder = f"run-{name}{options.replace(' ', '')}"
    return (f"rm -rf {folder} && mkdir {folder} && cd {folder} && "
            f"cp ../margay/{name}.txt hpccinf.txt && {ranks(number, options)} ../hpcc")


def whole(name: str, number: int, hpl: int, ptrans: int, options: str = "") -> Test:
    """hpl and ptrans: the numbers of tests in the input; PTRANS does each five times."""
    return Test(f"{name} {options}".strip(), f"{run(name, number, options)} && "
                f"../margay/verdict.py hpccoutf.txt {hpl} {ptrans}", says=SAYS)


PROGRAM = Program(
    name="hpcc",
    source=Source("hpcc", "hpcc_1.5.0.orig.tar.gz",
                  "0a6fef7ab9f3347e549fed65ebb98234feea9ee18aea0c8f59baefbe3cf7ffb8",
                  "hpcc-1.5.0"),
    needs={"gfortran": "gfortran"},
    files="hpcc",
    options="--mem 128",
    libraries=[BLAS_LIBRARY],
    build=["cp hpl/setup/Make.Linux_PII_FBLAS hpl/",
           # HPL's own settings, except for commands and folders.
           'make -j$JOBS arch=Linux_PII_FBLAS TOPdir=../../.. CC="$MPICC" LINKER="$MPIFC" '
           "MPinc= MPlib= LAlib=$PWD/../lapack-3.11.0/librefblas.a"],
    tests=[
        Test("whole", run("whole", 4)),
        *(Test(f"whole, {section}", "cd run-whole && "
               f"../margay/verdict.py hpccoutf.txt 1 45 {section}", says=SAYS)
          for section in SECTIONS),
        whole("algorithms", 4, 432, 30),
        whole("three", 3, 4, 40),
        whole("whole", 4, 1, 45, "--link virtio"),
    ],
    left_out=[
        ("FFTW in place of its own FFT, alternatives of RandomAccess", "other builds"),
    ],
)
