"""GCC's own tests of libstdc++ on nodes: libstdcxx.py [--sample N] [--seed S] [-j JOBS] [NAME...]

Takes the tests of libstdc++-v3/testsuite that are to be run from the library's tarball, compiles
each with `margay c++` and its options, and runs it on a node beside the suite's data files, several
in parallel (dejagnu.py). A test is named by its path below that folder. tests/gcc/libstdcxx.txt has
a reason for each failure. Called by `make gcc-check`.

Tests that GCC itself omits on such a machine are left out: those that need a named locale, a shared
library, another dialect, debug mode, another process, or a second thread.
"""
from __future__ import annotations

import functools
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Iterator

import dejagnu
from dejagnu import FOLDER, MARGAY, unpacked

# Tests of a debugger, of a shared library's ABI and of speed are not for nodes.
FOLDERS = ["[0-9][0-9]_*", "std", "backward", "ext", "tr1", "tr2", "decimal", "experimental",
           "special_functions"]
DIALECTS = ["98", "11", "14", "17", "20", "23"]
SPELLINGS = {"03": "98", "0x": "11", "1y": "14", "1z": "17", "2a": "20", "2b": "23"}
DIALECT = re.compile(r"c\+\+(\w\w)(_only|_down)?$")
OPTION = re.compile(r"-std=(?:gnu|c)\+\+(\w\w)$")
# Features that tests require and a node lacks.
MISSING = {"namedlocale", "fork", "mkfifo", "sharedlib", "debug-mode", "parallel-mode",
           "profile-mode", "tbb_backend", "ia32", "ilp32", "dfp", "stacktrace", "net_ts_ip",
           "run_expensive_tests", "llp64", "lax_strtofp", "dummy_wcsftime", "broken_cplxf_arg",
           "newlib", "newlib_broken_long_double_io"}
# Tests of threads that work without a second thread are run.
THREADS = {"gthreads", "pthread", "gthreads-timed"}
STARTS = re.compile(r"\bstd::thread\b(?!::)|\bthread\s+\w+[({]|\bjthread\b|\basync\b|"
                    r"pthread_create|thread_pool")
SUPPORT = ["testsuite_abi", "testsuite_allocator", "testsuite_character", "testsuite_hooks"]


def suite() -> Path:
    return unpacked("libstdc++-v3/testsuite")


class Test(dejagnu.Test):
    """A program of libstdc++'s."""

    chosen = ""

    def dialect(self) -> str:
        """Decides by its options; a test for a given dialect must be for the compiler's default."""
        if not self.chosen:
            self.chosen = "17"
            given = [match[1] for word in self.options() if (match := OPTION.match(word))]
            self.chosen = SPELLINGS.get(given[-1], given[-1]) if given else "17"
        return self.chosen

    def knows(self, target: str) -> bool:
        match = DIALECT.match(target)
        if match:
            asked = DIALECTS.index(SPELLINGS.get(match[1], match[1]))
            own = DIALECTS.index(self.dialect())
            return own == asked if match[2] == "_only" else \
                own <= asked if match[2] else own >= asked
        if target in THREADS:
            return not STARTS.search(self.text)
        return target not in MISSING

    def runs(self) -> bool:
        """Tests without such a directive are run."""
        # The first reads from a terminal, the second has a matrix of flags and its own driver.
        if "_xin" in self.path.stem or self.name.startswith("experimental/simd/"):
            return False
        if not self.has("dg-do"):
            self.directives.append(("dg-do", ["run"]))
        return super().runs()

    def compiled(self, folder: str) -> list:
        for file in sorted((suite() / "data").iterdir()):
            if file.suffix in (".tst", ".txt"):
                shutil.copy(file, folder)
        return [MARGAY, "c++", "-O2", "-w", '-DLOCALEDIR="."', f"-I{suite() / 'util'}",
                *self.options(), self.path, support(), "-o", "test.elf"]


lock = threading.Lock()


def support() -> Path:
    """The archive of the tests' shared code, with a section per function, as it also has
    semaphores for several processes."""
    with lock:
        return archive()


@functools.lru_cache(maxsize=None)
def archive() -> Path:
    library = FOLDER / "libtestc++.a"
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        for name in SUPPORT:
            subprocess.run([MARGAY, "c++", "-O2", "-w", "-ffunction-sections", f"-I{suite() / 'util'}",
                            "-c", suite() / f"util/{name}.cc", "-o", f"{name}.o"], cwd=folder,
                           check=True)
        subprocess.run(["ar", "rc", "all.a", *(f"{name}.o" for name in SUPPORT)], cwd=folder,
                       check=True)
        Path(folder, "all.a").replace(library)
    return library


def found() -> Iterator[Test]:
    folder = suite()
    for pattern in FOLDERS:
        for top in sorted(folder.glob(pattern)):
            for path in sorted(top.rglob("*.cc")):
                test = Test(path, str(path.relative_to(folder)))
                if test.runs():
                    yield test


if __name__ == "__main__":
    sys.exit(dejagnu.main(Path(__file__), "libstdc++", found))
