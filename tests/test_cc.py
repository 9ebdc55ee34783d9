"""`margay cc` and tools/x86_64-margay-gcc: compile and link like mpicc, refuse what cannot run."""
from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest

from harness import BUILD, ROOT

pytestmark = pytest.mark.launcher

MPICC = ROOT / "tools" / "mpicc"
MPIEXEC = ROOT / "tools" / "mpiexec"

MAIN = '#include <stdio.h>\nint helper(int);\nint main(void) { printf("%d\\n", helper(20)); }\n'
HELPER = '#ifndef ADD\n#define ADD 0\n#endif\nint helper(int x) { return x + ADD; }\n'


@pytest.fixture
def sources(tmp_path):
    (tmp_path / "main.c").write_text(MAIN)
    (tmp_path / "helper.c").write_text(HELPER)
    return tmp_path


def test_several_sources(margay, sources):
    margay("cc", "main.c", "helper.c", "-DADD=2", "-o", "job.elf").ok()
    assert margay("run", "job.elf").ok().stdout == "22\n"


def test_default_name(margay, sources):
    margay("cc", "main.c", "helper.c").ok()
    assert margay("run", "./a.out").ok().stdout == "20\n"


def test_objects_and_libraries(margay, sources):
    """-c, -I, -L and -l, and the same command in one word."""
    gcc = ROOT / "tools" / "x86_64-margay-gcc"
    (sources / "inc").mkdir()
    (sources / "inc" / "add.h").write_text("#define ADD 7\n")
    (sources / "helper.c").write_text('#include "add.h"\n' + HELPER)
    margay("-c", "-O3", "-g", "-Iinc", "helper.c", "-o", "helper.o", program=gcc).ok()
    margay("rcs", "libhelper.a", "helper.o", program="/usr/bin/ar").ok()
    margay("main.c", "-L.", "-lhelper", "-lm", "-o", "job.elf", program=gcc).ok()
    assert margay("run", "job.elf").ok().stdout == "27\n"


def test_one_object_of_several(margay, sources):
    """-r makes one object, without the libraries."""
    margay("cc", "-c", "main.c", "helper.c").ok()
    margay("cc", "-r", "main.o", "helper.o", "-o", "both.o").ok()
    margay("cc", "both.o", "-o", "job.elf").ok()
    assert margay("run", "job.elf").ok().stdout == "20\n"


def test_main_in_a_library(margay, sources):
    """As in a library for tests or benchmarks, with main elsewhere."""
    margay("cc", "-c", "main.c").ok()
    margay("rcs", "libmain.a", "main.o", program="/usr/bin/ar").ok()
    margay("cc", "-DADD=3", "helper.c", "-L.", "-lmain", "-o", "job.elf").ok()
    assert margay("run", "job.elf").ok().stdout == "23\n"


@pytest.mark.parametrize("show", ["-show", "--show"])
def test_show(margay, sources, show):
    run = margay("cc", show, "main.c", "-o", "job.elf").ok()
    assert "gcc" in run.stdout and "main.c" in run.stdout
    assert not (sources / "job.elf").exists()


def test_compiler_errors_pass_through(margay, sources):
    (sources / "main.c").write_text("int main(void) { return undeclared; }\n")
    run = margay("cc", "main.c")
    assert run.returncode == 1
    run.says("main.c:1:.*undeclared")


def test_gap_in_the_file(margay, tmp_path):
    """Loaders load the file in one piece, so an image with gaps is refused."""
    (tmp_path / "main.c").write_text(
        '__attribute__((section("mine"))) _Alignas(0x200000) int x = 5;\n'
        "int main(void) { return x; }\n")
    run = margay("cc", "main.c", "-o", "job.elf").status(125)
    run.says("gap in the file")
    assert not (tmp_path / "job.elf").exists()


def test_undefined_symbol(margay, sources):
    run = margay("cc", "main.c", "-o", "job.elf")
    assert run.returncode == 1 and not (sources / "job.elf").exists()
    run.says("undefined reference to .helper'")


def test_openmp_is_asked_for_at_the_link(margay, sources):
    """An object with OpenMP needs -fopenmp or -lgomp at the link too, and the error says so."""
    (sources / "main.c").write_text("""
#include <stdio.h>
int main(void)
{
	int sum = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : sum)
	for (int at = 0; at < 10; at++)
		sum += at;
	printf("%d\\n", sum);
}
""")
    margay("cc", "-c", "-fopenmp", "main.c").ok()
    run = margay("cc", "main.o", "-o", "job.elf").status(1)
    run.says("this is OpenMP: GOMP_")
    run.says("link with: -fopenmp$")
    for words in (("-fopenmp", "main.o"), ("main.o", "-lgomp"), ("-fopenmp-simd", "main.c"),
                  ("-ftree-parallelize-loops=4", "-O3", "-fopenmp", "main.c")):
        margay("cc", *words, "-o", "job.elf").ok()
        assert margay("run", "job.elf").ok().stdout == "45\n"


def test_once(margay, tmp_path):
    """pthread_once, which an exception may leave, also links in C."""
    (tmp_path / "once.c").write_text("""
#include <pthread.h>
#include <stdio.h>
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void say(void) { puts("once"); }
int main(void) { return pthread_once(&once, say) || pthread_once(&once, say); }
""")
    margay("cc", "once.c", "-o", "once.elf").ok()
    assert margay("run", "--no-prefix", "once.elf").ok().stdout == "once\n"


def test_accelerators_are_refused(margay, sources):
    margay("cc", "-fopenacc", "main.c", "helper.c").status(125).says("no accelerators")


def test_libraries_of_the_system_are_ours(margay, sources):
    """These libraries are parts of the C library; one found with -L is the user's."""
    margay("cc", "main.c", "helper.c", "-pthread", "-lm", "-lc", "-lpthread", "-lrt", "-ldl",
           "-lutil", "-lcrypt", "-lresolv", "-Wl,--start-group,-lm,--end-group",
           "-L/usr/lib/x86_64-linux-gnu", "-o", "job.elf").ok()
    assert margay("run", "job.elf").ok().stdout == "20\n"


@pytest.mark.parametrize("words, says", [
    (("-lanl",), "is a library of the host"),
    (("-l", "nowhere"), "-lnowhere: there is no libnowhere.a"),
    (("/usr/lib/x86_64-linux-gnu/libm.a",), "is a library of the host"),
], ids=["host", "nowhere", "file"])
def test_no_library_of_the_host(margay, sources, words, says):
    run = margay("cc", "main.c", "helper.c", *words, "-o", "job.elf").status(125)
    run.says(says)
    assert not (sources / "job.elf").exists()


def test_no_header_of_the_host(margay, sources):
    """Linux's headers exist on every host, but are not for nodes."""
    (sources / "main.c").write_text("#include <linux/version.h>\n" + MAIN)
    for words in ((), ("-I/usr/include",), ("-isystem", "/usr/include")):
        run = margay("cc", "-c", "main.c", *words).status(1)
        run.says("/usr/include/linux/version.h is a header of the host")


def test_questions_of_build_systems(margay, sources):
    root = str(BUILD / "sysroot")
    assert margay("cc", "-print-sysroot").ok().stdout.strip() == root
    assert margay("cc", "-print-file-name=libc.a").ok().stdout.strip() == f"{root}/lib/libc.a"
    assert margay("cc", "-print-file-name=libz.a").ok().stdout.strip() == "libz.a"
    assert margay("cc", "-print-file-name=libgcc.a").ok().stdout.startswith("/usr/lib/gcc/")
    libraries = margay("cc", "-print-search-dirs").ok().stdout.partition("libraries: =")[2]
    assert libraries.startswith(f"{root}/lib/") and "/usr/lib" not in libraries
    run = margay("cc", "-E", "-v", "main.c").ok()
    used = run.stderr.partition("search starts here:")[2].partition("End of search")[0]
    assert f"{root}/include" in used and "/usr/include" not in used


@pytest.mark.parametrize("command, name, says", [
    ("cc", "job.cc", r"c\+\+"), ("cc", "job.cpp", r"c\+\+"), ("cc", "job.C", r"c\+\+"),
    ("cc", "job.f", "fortran"), ("cc", "job.f90", "fortran"), ("c++", "job.f90", "fortran")])
def test_other_languages_have_their_own_command(margay, sources, command, name, says):
    (sources / name).write_text("\n")
    run = margay(command, name).status(125)
    run.says(rf"{name} is (C\+\+|Fortran)$")
    run.says(rf"compile it with: margay {says}$")


def test_not_linux(margay, sources):
    """The compiler does not define Linux's macros."""
    (sources / "main.c").write_text("#if defined(__linux__) || !defined(__margay__) || "
                                    "!defined(__unix__)\n"
                                    "#error wrong\n#endif\nint main(void) { return 3; }\n")
    margay("cc", "main.c", "-o", "job.elf").ok()
    margay("run", "job.elf").status(3)


def test_constructors_and_thread_locals(margay, sources):
    (sources / "main.c").write_text("""
#include <stdio.h>
static _Thread_local int local = 41;
static int made;
__attribute__((constructor)) static void make(void) { made = ++local; }
__attribute__((destructor)) static void unmake(void) { puts("gone"); }
int main(void) { printf("%d %d\\n", local, made); return 0; }
""")
    margay("cc", "main.c", "-o", "job.elf").ok()
    assert margay("run", "job.elf").ok().stdout == "42 42\ngone\n"


ECHO = ('#include <stdio.h>\nint main(int argc, char **argv) {\n'
        '  for (int at = 0; at < argc; at++) puts(argv[at]);\n'
        '  int bytes = 0;\n  while (getchar() != EOF) bytes++;\n  return bytes;\n}\n')


def test_runnable(margay, tmp_path):
    """A script that runs the image: arguments, input, status, name, and options by a variable."""
    (tmp_path / "echo.c").write_text(ECHO)
    (tmp_path / "sub").mkdir()
    margay("cc", "--runnable", "echo.c", "-o", "sub/an echo").ok()
    (tmp_path / "other").symlink_to("sub/an echo")
    run = margay("a  b", "$c", "-n", input="hello\n", program=tmp_path / "other").status(6)
    assert run.lines == [str(tmp_path / "other"), "a  b", "$c", "-n"]
    run = margay(program=tmp_path / "sub" / "an echo", env={"MARGAY_RUN_OPTIONS": "-n 2 --argv0 x"})
    assert run.ok().lines == ["x", "x"]
    assert margay("run", "sub/an echo.elf", "one").ok().lines == ["sub/an echo.elf", "one"]


def test_run_takes_a_runnable_script(margay, tmp_path):
    """`mpiexec -n 4 ./NAME` of a program's own tests names the script: its image runs, with its
    name. A damaged script, and one without its image, is refused."""
    (tmp_path / "echo.c").write_text(ECHO)
    (tmp_path / "sub").mkdir()
    margay("cc", "--runnable", "echo.c", "-o", "sub/an echo").ok()
    (tmp_path / "other").symlink_to("sub/an echo")
    for name in ("sub/an echo", "./other"):
        run = margay("run", "--no-prefix", "-n", "2", name, "a  b").ok()
        assert sorted(run.lines) == sorted([name, "a  b"] * 2)      # two ranks, in any order
    options = {"MARGAY_RUN_OPTIONS": "-n 3 --argv0 x"}
    for run in (margay("run", "--no-prefix", "-n", "2", "sub/an echo", env=options),
                margay("-n", "2", "sub/an echo", program=MPIEXEC, env=options)):
        assert run.ok().lines == ["x", "x"]
    run = margay("run", "sub/an echo", env={"MARGAY_RUN_OPTIONS": "--mem 64 sub"})
    assert "MARGAY_RUN_OPTIONS: sub is not an option" in run.status(125).stderr
    run = margay("run", "sub/an echo", env={"MARGAY_RUN_OPTIONS": "--men 64"}).status(125)
    assert "unknown option --men" in run.stderr and "MARGAY_RUN_OPTIONS adds: --men 64" in run.stderr
    script = (tmp_path / "sub" / "an echo").read_text(encoding="latin-1")
    for damaged in (script[:script.index("exec")], script.replace(".elf'", ".elf"),
                    script.replace(' "$@"', "")):
        (tmp_path / "damaged").write_text(damaged, encoding="latin-1")
        assert "damaged is a script" in margay("run", "damaged").status(125).stderr
    (tmp_path / "sub" / "an echo.elf").unlink()
    assert "an echo.elf: No such file" in margay("run", "sub/an echo").status(125).stderr


CMAKE = """\
cmake_minimum_required(VERSION 3.13)
project(echo C)
include(CheckCSourceRuns)
include(CheckTypeSize)
include(TestBigEndian)
check_c_source_runs("int main(void) { return 0; }" RUNS)
check_type_size(short SHORT)
test_big_endian(BIG_ENDIAN)
message("RUNS=${RUNS} SHORT=${SHORT} POINTER=${CMAKE_SIZEOF_VOID_P} BIG=${BIG_ENDIAN}")
add_executable(echo echo.c)
enable_testing()
add_test(NAME target COMMAND echo by-target)
add_test(NAME file COMMAND $<TARGET_FILE:echo> by-file)
add_test(NAME ranks COMMAND ${MPIEXEC_EXECUTABLE} -n 2 $<TARGET_FILE:echo> by-rank)
add_test(NAME shell COMMAND sh -c "$<TARGET_FILE:echo> by-shell | tail -n 1")
"""


def test_cmake_runs_runnable_programs(margay, tmp_path):
    """CMake's questions about sizes and the order of bytes, which it answers by text in a linked
    program. ctest's tests by a target's name, its file, mpiexec and a shell. All with --runnable."""
    (tmp_path / "CMakeLists.txt").write_text(CMAKE)
    (tmp_path / "echo.c").write_text(ECHO)
    cmake, ctest = Path("/usr/bin/cmake"), Path("/usr/bin/ctest")
    margay("-B", "out", f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/margay.cmake",
           "-DCMAKE_EXE_LINKER_FLAGS=--runnable", program=cmake
           ).ok().says("^RUNS=1 SHORT=2 POINTER=8 BIG=0$")
    margay("--build", "out", program=cmake).ok()
    run = margay("--test-dir", "out", "-V", program=ctest).ok()
    for way, times in (("target", 1), ("file", 1), ("rank", 2), ("shell", 1)):
        assert len(re.findall(f"^\\d: by-{way}$", run.stdout, re.M)) == times


def test_runnable_replaces_a_link_and_compiles_objects(margay, sources):
    """The file to which the name is a link is not changed; -c behaves as usual."""
    (sources / "precious").write_text("mine")
    (sources / "job").symlink_to("precious")
    margay("cc", "--runnable", "-c", "helper.c", "-o", "helper.o").ok()
    margay("cc", "--runnable", "-ojob", "main.c", "helper.o").ok()
    assert (sources / "precious").read_text() == "mine"
    assert margay(program=sources / "job").ok().stdout == "20\n"
    (sources / "main.c").write_text("int main(void) { return undeclared; }\n")
    assert margay("cc", "--runnable", "main.c", "-o", "broken").returncode == 1
    assert not (sources / "broken").exists()


def test_response_files(margay, sources):
    """They may include each other, name MPI's libraries, and be longer than Linux passes in a
    command: here 256 KB, by the limit of the stack."""
    (sources / "all").write_text("@other -o job.elf -lmpi -l mpich")
    (sources / "other").write_text("main.c 'a helper.c' -DADD=3")
    (sources / "helper.c").rename(sources / "a helper.c")
    margay("@all", program=MPICC).ok()
    assert margay("run", "job.elf").ok().stdout == "23\n"
    margay("cc", "-c", "main.c", "a helper.c").ok()
    margay("rcs", "helper.a", "a helper.o", program="/usr/bin/ar").ok()
    (sources / "long").write_text("main.o -o job.elf 'a helper.o'" + f"\n{'./' * 40}helper.a" * 4000)
    margay("--stack=1048576", ROOT / "tools/margay", "cc", "@long", program="/usr/bin/prlimit").ok()
    assert margay("run", "job.elf").ok().stdout == "20\n"


@pytest.mark.parametrize("text, says", [("main.c 'helper.c", "a quotation mark"), ("@bad", "without end")])
def test_bad_response_files(margay, sources, text, says):
    (sources / "bad").write_text(text)
    margay("cc", "@bad").status(125).says(f"error: @bad: .*{says}")


def test_runnable_replaces_no_device(margay, sources):
    """Configure scripts link into /dev/null. Only root could replace it: the test has its own."""
    device = sources / "null"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("only root makes devices")
    margay("cc", "--runnable", "main.c", "helper.c", "-o", "null").ok()
    assert device.is_char_device() and not Path(f"{device}.elf").exists()


def test_runnable_without_room(margay, sources):
    """The script is not whole: its beginning is removed, and the error names it."""
    (sources / "folder").mkdir()
    assert margay("cc", "--runnable", "main.c", "helper.c", "-o", "folder").returncode == 1
    margay("cc", "main.c", "helper.c", "-o", "job.elf").ok()
    size = (sources / "job.elf").stat().st_size
    run = margay(f"--fsize={size + 100}", ROOT / "tools/margay", "cc", "--runnable", "main.c", "helper.c",
                 "-o", "job", program="/usr/bin/prlimit").status(125)
    assert "error: job: File too large" in run.stderr and "fault of margay" not in run.stderr
    assert {path.name for path in sources.iterdir() if path.name.startswith("job")} == \
        {"job.elf"}
