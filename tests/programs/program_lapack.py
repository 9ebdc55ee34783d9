"""LAPACK 3.11.0 with its reference BLAS: the test programs of its Makefiles, in four precisions.

The same objects are also linked for the host by gfortran: a test's output must be the same there,
except for times, and no test may have failed (lapack/verdict.py).
"""
from common import Library, Program, Source, Test

PRECISIONS = "sdcz"
# The inputs of TESTING/Makefile: of all precisions, and one for each.
EIG_OF_ALL = "nep sep se2 svd glm gqr gsv csd lse".split()
EIG_OF_ONE = "ec ed gg gd sb sg bal bak gbal gbak bb".split()

# Tests that fail, as they do on the host.
WHY = {"sbal": "the largest error is Infinity, on the host too: schkbl.f divides by the larger of two "
       "signed elements, which is next to nothing if both are negative"}

CONFIGURE = ('sed -e "s/^FC = .*/FC = $FC/" -e "s/^CC = .*/CC = $CC/" make.inc.example '
             '>make.inc && grep -q "FC = margay" make.inc')


def for_both(folder: str, programs: str) -> list[str]:
    """Makes programs for nodes, then links their objects for the host, as NAME-host."""
    return [f"make -C {folder} -j$JOBS {programs}",
            f"cd {folder} && for name in {programs}; do mv $name $name.node; done && "
            f'make FC="gfortran -no-pie" {programs} && '
            f"for name in {programs}; do mv $name $name-host && mv $name.node $name; done"]


def names(pattern: str) -> str:
    return " ".join(pattern.format(precision) for precision in PRECISIONS)


def blas(level: int, precision: str, short: bool = False) -> Test:
    """Level 1 writes to standard output, the others into the file that their input names."""
    name = f"{precision}blat{level}"
    program = f"./xblat{level}{precision}"
    run = (f"{program} >{name}.node && {program}-host >{name}.out" if level == 1 else
           f"rm -f {name}.out && {program} <{name}.in && mv {name}.out {name}.node && "
           f"{program}-host <{name}.in")
    return Test(program[2:], f"cd BLAS/TESTING && {run} && "
                f"../../margay/verdict.py {name}.node {name}.out",
                says=r"^(\d+) tests, (\d+) failed", short=short)


def lapack(program: str, name: str, output: str = "") -> Test:
    """TESTING/Makefile's run of one input."""
    output = output or name
    return Test(f"{program.partition('/')[2]} {name}.in", f"cd TESTING && "
                f"./{program} <{name}.in >{output}.node 2>&1 && "
                f"./{program}-host <{name}.in >{output}.host 2>&1 && "
                f"../margay/verdict.py {output}.node {output}.host",
                says=r"^(\d+) tests, (\d+) failed", why=WHY.get(name, ""))


def eig(precision: str) -> list[Test]:
    program = f"EIG/xeigtst{precision}"
    return [*(lapack(program, name, precision + name) for name in EIG_OF_ALL),
            *(lapack(program, precision + name) for name in EIG_OF_ONE)]


SOURCE = Source("lapack", "lapack_3.11.0.orig.tar.gz",
                "4b9ba79bfd4921ca820e83979db76ab3363155709444a787979e81c22285ffa9",
                "lapack-3.11.0")
# Libraries for other programs.
BLAS_LIBRARY = Library(SOURCE, [CONFIGURE, "make -j$JOBS blaslib"], ("librefblas.a",))

BLAS = " ".join(f"xblat{level}{precision}" for precision in PRECISIONS for level in (1, 2, 3))
LIN = f"{names('xlintst{}')} {names('xlintstrf{}')} xlintstds xlintstzc"

PROGRAM = Program(
    name="lapack",
    source=SOURCE,
    needs={"gfortran": "gfortran"},
    files="lapack",
    options="--mem 512",
    build=[*BLAS_LIBRARY.build, "make -j$JOBS lapacklib", "make -j$JOBS tmglib",
           *for_both("BLAS/TESTING", BLAS),
           *for_both("TESTING/EIG", names("xeigtst{}")),
           *for_both("TESTING/LIN", LIN)],
    short_build=[CONFIGURE, "make -C BLAS/SRC -j$JOBS double",
                 *for_both("BLAS/TESTING", "xblat1d xblat2d")],
    tests=[
        *(blas(level, precision, short=precision == "d" and level < 3)
          for precision in PRECISIONS for level in (1, 2, 3)),
        *(lapack(f"LIN/xlintst{precision}", f"{precision}test") for precision in PRECISIONS),
        *(lapack(f"LIN/xlintstrf{precision}", f"{precision}test_rfp") for precision in PRECISIONS),
        lapack("LIN/xlintstds", "dstest"), lapack("LIN/xlintstzc", "zctest"),
        *(test for precision in PRECISIONS for test in eig(precision)),
    ],
    left_out=[
        ("CBLAS, LAPACKE", "interfaces for C to the same routines"),
        ("SRC/VARIANTS", "other orders of the loops of three routines"),
        ("INSTALL", "its programs measure the machine and print what they find"),
    ],
)
