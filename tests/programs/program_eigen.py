"""Eigen 3.4.0, a library of headers: dense factorisations, eigenvalue problems and sparse solvers.

Our programs in eigen/ are compiled by margay c++ for nodes and by g++ for the host. Each checks its
residuals, and the two results must agree within 1e-10.
"""
from common import Program, Source, Test

FLAGS = "-std=c++17 -O1 -isystem usr/include/eigen3"
DENSE = ("partial-lu", "full-lu", "cholesky", "ldlt", "qr", "column-qr", "orthogonal", "rank",
         "least-squares", "singular-values")
VALUES = ("self-adjoint", "hermitian", "generalised", "general")
SPARSE = ("cholesky", "ldlt", "lu", "qr", "gradients", "bicgstab")


def build(program: str) -> list[str]:
    """Two steps, as a failure of the host's compiler is not one of margay c++."""
    return [f"g++ {FLAGS} -o {program}-host margay/{program}.cc",
            f"$CXX {FLAGS} -o {program} margay/{program}.cc"]


def case(program: str, name: str, size: int, short: bool = False) -> Test:
    files = [f"{program}-{name}.{where}" for where in ("node", "host")]
    return Test(f"{program} {name}", f"./{program}-host {name} {size} >{files[1]} && "
                f"./{program} {name} {size} >{files[0]} && cat {files[0]} | cut -c 1-200 && "
                f"margay/compare.py {' '.join(files)}", says="^[0-9]+ values agree", short=short)


PROGRAM = Program(
    name="eigen",
    source=Source("libeigen3-dev", "libeigen3-dev_3.4.0-4_all.deb",
                  "1a167bb381acb90c1d8450a8f3e66a09d216dbc64b33ac8a082a0912513ef939",
                  "eigen-3.4.0"),
    needs={"g++": "g++", "dpkg-deb": "dpkg"},
    files="eigen",
    build=[step for program in ("dense", "values", "sparse") for step in build(program)],
    short_build=build("sparse"),
    tests=[
        *(case("dense", name, 60) for name in DENSE),
        *(case("values", name, 50) for name in VALUES),
        *(case("sparse", name, 24, short=True) for name in SPARSE),
    ],
    left_out=[
        ("Eigen's own tests", "they are in its source package and not in the one of headers, and "
         "compiling them takes hours"),
    ],
)
