"""mypy and flake8 on the Python, clang-tidy on the C; each one's exceptions are in its
configuration (mypy.ini, .flake8, .clang-tidy), with a reason."""
from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness import BUILD, ROOT

pytestmark = pytest.mark.rules

# mypy's options outside the launcher. Tables of tests hold values from JSON and gdb; a pipe or a
# match that is None fails the test at its line, as it should.
HELPERS = ("--allow-any-generics", "--no-warn-return-any", "--implicit-reexport",
           "--disable-error-code=union-attr")
# A test names its fixtures, whose types are in conftest.py, and passes stubs.
CASES = (*HELPERS, "--allow-untyped-defs", "--allow-incomplete-defs", "--allow-untyped-calls",
         *(f"--disable-error-code={code}" for code in (
             "arg-type", "dict-item", "index", "list-item", "operator", "var-annotated")))

# The compiler's options by folder, for clang-tidy. Files that need headers of MPI, Fortran or
# libtirpc, which make all does not build, are left out.
KERNEL = ("-ffreestanding", "-mgeneral-regs-only", "-Iinclude", "-I.")
HOST = ("-Iinclude", "-I.", "-Itests/host", "-Itests/drivers", "-Itests/fuzz")
NODE = ("--sysroot=build/sysroot", "-D_GNU_SOURCE", "-DMARGAY_VERSION=\"0\"",
        "-isystem", "build/sysroot/include", "-isystem", "build/libfabric/include", "-Iinclude",
        "-I.", "-Iapps", "-Itests/apps", "-Itests/lib/nx", "-Ilib/pmi",
        *(f"-Ilib/{name}/include" for name in ("fm", "madeleine", "nx", "pm2", "vertex", "vmmc")))
TIDY = {
    "kernel": (KERNEL, ("net", "kernel", "drivers")),
    "host": (HOST, ("host", "tools", "tests/host", "tests/drivers", "tests/fuzz", "tests/model",
                    "tests/netsim", "tests/wire")),
    "nodes": (NODE, ("lib", "libc-glue", "apps", "tests/apps", "tests/bench", "tests/languages",
                     "tests/lib")),
}
LEFT_OUT = ("apps/mpi/", "mpi/", "tests/mpi/", "tests/languages/mixed_c.c", "lib/madeleine/mpi.c",
            "lib/vmmc/vrpc", "tests/lib/vmmc/rpc/", "tests/bench/programs/mpi", "libc-glue/musl/",
            "tests/apps/sections.c",             # of gcc: clang takes no such initialiser
            "tests/languages/openmp.c")          # clang finds no header of OpenMP
AT_ONCE = 12                                     # files per clang-tidy process


def tracked(*patterns: str) -> list[str]:
    files = subprocess.run(["git", "-C", str(ROOT), "ls-files", *patterns], capture_output=True,
                           text=True, check=True).stdout.split()
    return [name for name in files if (ROOT / name).exists()]


def run(*command: str) -> str:
    """A checker's findings, or ''."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    return done.stdout + done.stderr[-2000:] or f"{command[0]} ended with {done.returncode}"


def python_of(group: str) -> list[str]:
    if group == "launcher":
        return tracked("tools/*.py")
    return [name for name in tracked("tests/*.py", "apps/*.py")
            if Path(name).name.startswith("test_") == (group == "cases")]


@pytest.mark.parametrize("group, options", [("launcher", ()), ("helpers", HELPERS),
                                            ("cases", CASES)])
def test_mypy(group, options):
    files = python_of(group)
    assert len(files) > 30
    assert not run("mypy", f"--cache-dir={BUILD / 'mypy' / group}", *options, *files)


def test_mypy_finds(tmp_path):
    source = tmp_path / "probe.py"
    source.write_text("def next(count: int) -> int:\n    return str(count)\n")
    assert "return-value" in run("mypy", f"--cache-dir={tmp_path}", *CASES, str(source))


def test_flake8():
    scripts = [name for name in tracked("tools") if (ROOT / name).is_file() and "python" in
               (ROOT / name).read_bytes()[:40].decode("latin-1").partition("\n")[0]]
    assert "tools/margay" in scripts
    assert not run("flake8", *scripts, *tracked("*.py"))


def c_files(folders: tuple[str, ...]) -> list[str]:
    return [name for folder in folders for name in tracked(f"{folder}/*.c")
            if not name.startswith(LEFT_OUT)]


@pytest.mark.parametrize("group", TIDY)
def test_clang_tidy(group):
    options, folders = TIDY[group]
    files = c_files(folders)
    assert len(files) > 100
    for at in range(0, len(files), AT_ONCE):
        assert not run("clang-tidy", "--quiet", *files[at:at + AT_ONCE], "--", "-std=gnu17",
                       *options)


def test_clang_tidy_reads_all():
    """Each source is in one group, or left out by name."""
    grouped = [name for _, folders in TIDY.values() for name in c_files(folders)]
    alone = [name for name in tracked("*.c") if not name.startswith(LEFT_OUT)]
    assert sorted(grouped) == sorted(alone)


def test_clang_tidy_finds(tmp_path):
    source = tmp_path / "probe.c"
    source.write_text("double half(int n) { return n / 2; }\n")
    found = run("clang-tidy", "--quiet", f"--config-file={ROOT / '.clang-tidy'}", str(source), "--")
    assert "bugprone-integer-division" in found
