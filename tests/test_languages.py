"""C++ on nodes: programs print the same as when the host's g++ compiles the same source.

Programs are tests/languages/NAME.cc. Each is compiled once for the host and once for nodes. make
check has built the library.
"""
from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Callable

import pytest

from harness import ROOT, Run, no_libraries, until

pytestmark = pytest.mark.languages

SOURCES = ROOT / "tests" / "languages"
INPUT = "41\n the last line"
WARNINGS = ("-Wall", "-Wextra", "-Werror")


def compiled(margay, output: Path, *words: object, command: str = "c++") -> Path:
    run = margay(command, *words, "-o", output).ok()
    assert not run.stderr, run.stderr
    return output


@pytest.fixture
def program(margay, tmp_path: Path) -> Callable[..., Path]:
    """The image of tests/languages/NAME.cc."""
    def image(name: str, *options: str) -> Path:
        return compiled(margay, tmp_path / f"{name}.elf", "-std=gnu++20", *WARNINGS, *options,
                        SOURCES / f"{name}.cc")
    return image


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Run]:
    """Compiles the same for the host, once, and runs it in a folder of its own."""
    folder = tmp_path_factory.mktemp("host")

    def run(name: str, *args: str) -> Run:
        file = folder / name
        if not file.exists():
            subprocess.run(["g++", "-std=gnu++20", "-O1", "-w", SOURCES / f"{name}.cc", "-o",
                            file, "-latomic"], check=True)
        done = subprocess.run([file, *args], input=INPUT.encode(), capture_output=True,
                              cwd=file.parent)
        return Run([str(file), *args], done.returncode, done.stdout, done.stderr, 0)
    return run


@pytest.mark.parametrize("name", ["streams", "throwing", "library", "twenty", "files", "threads",
                                  "ending", "names", "posix_names"])
def test_as_on_the_host(margay, program, host, name):
    expected = host(name)
    assert expected.stdout
    run = margay("run", program(name), input=INPUT).status(expected.returncode)
    assert run.stdout == expected.stdout
    assert [line for line in run.stderr.splitlines() if not line.startswith("margay: ")] == \
        expected.stderr.splitlines()


@pytest.mark.parametrize("options", [
    ("-O0", "-g"), ("-O3", "-flto", "-std=c++20"), ("-O2", "-static-libgcc", "-static-libstdc++"),
    ("-Os", "-D_GLIBCXX_ASSERTIONS", "-pthread", "-lstdc++", "-lm"),
    ("-O1", "-D_GLIBCXX_USE_CXX11_ABI=0"), ("-O1", "-Wl,--gc-sections", "-lstdc++fs"),
], ids=" ".join)
def test_options(margay, program, host, options):
    """Exceptions and run-time types, with various options. The old ABI has other names."""
    expected = host("throwing").stdout
    if "-D_GLIBCXX_USE_CXX11_ABI=0" in options:
        expected = expected.replace("std::__cxx11::", "std::")
    assert margay("run", program("throwing", *options)).status(3).stdout == expected


def test_files_in_memory(margay, program, host):
    """The same without a folder of the host: all of <filesystem> in memory."""
    run = margay("run", "--no-dir", program("files"), "/tmp").ok()
    assert run.stdout == host("files").stdout


def test_no_second_thread(margay, program):
    """Deadlocks of one thread end the program; std::async falls back to deferred."""
    run = margay("run", program("threads"), "node").status(134)
    assert run.lines[-1] == ("1 6 generic:11 Resource temporarily unavailable generic:11")
    run.says("the program waits for a lock, condition or semaphore that only another thread")
    run.says(r"#\d+ 0x\w+ std::timed_mutex::lock\(\) at ")


def test_quick_exit(margay, program, host):
    """No destructor runs."""
    run = margay("run", program("ending"), "1").status(4)
    assert run.stdout == host("ending", "1").stdout
    assert run.stdout.endswith("quick ") and "-mine" not in run.stdout


def test_uncaught(margay, program):
    image = program("uncaught")
    run = margay("run", image).status(134)
    assert run.stdout == "before\n"
    run.says("^terminate called after throwing an instance of 'std::runtime_error'$")
    run.says(r"^  what\(\):  the tank is empty$")
    run.says(r"#\d+ 0x\w+ rocket::stage::burn\(std::vector<int.*\) const at .*uncaught\.cc:12$")
    run.says(r"#\d+ 0x\w+ main at .*uncaught\.cc:\d+$")
    margay("run", image, "1").status(134).says("an instance of 'int'$")


@pytest.fixture
def mixed(margay, tmp_path: Path) -> Path:
    """One program of C and C++, with Portals from each."""
    margay("cc", "-c", *WARNINGS, SOURCES / "portals_c.c", "-o", "portals_c.o").ok()
    return compiled(margay, tmp_path / "mixed.elf", *WARNINGS, SOURCES / "portals.cc",
                    "portals_c.o")


@pytest.mark.every_link
@pytest.mark.spin(3)
@pytest.mark.parametrize("nodes", [1, 3])
def test_c_and_portals(margay, mixed, nodes):
    run = margay("run", "-n", nodes, "--no-prefix", mixed).ok()
    assert sorted(run.lines) == sorted(line for rank in range(nodes) for line in (
        f'rank {rank} got "from rank {(rank - 1) % nodes}", caught 5',
        f"rank {rank}: PtlEQAlloc: 3"))


def test_an_exception_in_an_event_handler(margay, mixed):
    """It ends the rank, though main has a catch: the handler runs between two instructions."""
    run = margay("run", mixed, "throw").status(134)
    run.says("an instance of 'std::domain_error'$")
    run.says(r"^margay:   in an event handler \(upcall\)$")
    run.says(r"#\d+ 0x\w+ handler\(ptl_event_t\*\).* at .*portals\.cc:\d+$")
    assert not run.stdout


def test_c_main_with_objects_of_cplusplus(margay, tmp_path):
    """margay cc links them with -lstdc++, and without it names the missing option."""
    (tmp_path / "part.cc").write_text(
        '#include <string>\nextern "C" int part(int n) {\n'
        "  try { throw std::string(n, 'x'); } catch (std::string &s) { return s.size(); } }\n")
    (tmp_path / "main.c").write_text("int part(int);\nint main(void) { return part(37); }\n")
    margay("c++", "-c", "part.cc").ok()
    margay("cc", "main.c", "part.o", "-o", "job.elf").status(1).says("link with: margay c\\+\\+")
    margay("cc", "main.c", "part.o", "-lstdc++", "-o", "job.elf").ok()
    margay("run", "job.elf").status(37)


# ---- GCC's own tests ----

@pytest.mark.timeout(1200)
def test_a_sample_of_gccs_own():
    """The same 40 each time; make gcc-check runs all of them."""
    done = subprocess.run(["/usr/bin/python3", ROOT / "tests/gcc/libstdcxx.py", "--sample", "40",
                           "--seed", "15"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "of 40 passed, 0 without a reason" in done.stdout


def test_gccs_own_tests_in_parts():
    """The parts together are all tests, each once; an impossible part is refused."""
    def suite(*arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run(["/usr/bin/python3", ROOT / "tests/gcc/gfortran.py", *arguments],
                              capture_output=True, text=True, check=False)

    whole = suite("--list").stdout.split()
    parts = [suite("--list", "--part", f"{number}/3").stdout.split() for number in (1, 2, 3)]
    assert len(whole) > 2000 and all(parts)
    assert sorted(whole) == sorted(sum(parts, []))
    for wrong in ("0/3", "4/3", "3", "a/b"):
        refused = suite("--part", wrong)
        assert refused.returncode == 2 and f"'{wrong}' is no part" in refused.stderr


@pytest.fixture
def judged(tmp_path: Path) -> Callable:
    """A test of libstdc++'s with these directives and this text."""
    sys.path.insert(0, str(ROOT / "tests/gcc"))
    from libstdcxx import Test

    def judge(*directives: str, text: str = "int main() {}"):
        (tmp_path / "one.cc").write_text(
            "".join(f"// {{ dg-{words} }}\n" for words in directives) + text + "\n")
        return Test(tmp_path / "one.cc")
    return judge


def test_gccs_own_tests_are_judged(judged):
    """Tests that pass, fail, and must fail; the suite's helpers and files are available."""
    fails = "int main() { return 3; }"
    assert judged("do run").check() == ""
    assert "status 3" in judged("do run", text=fails).check()
    assert "compiling: " in judged("do run", text="wrong").check()
    assert "status 134" in judged("do run", text="#include <testsuite_hooks.h>\n"
                                  "int main() { VERIFY(false); }").check()
    assert judged("do run { target c++11 xfail *-*-* }", text=fails).check() == ""
    assert "status 0" in judged("do run { xfail *-*-* }").check()
    assert "compiling: " in judged("do run { xfail *-*-* }", text="wrong").check()
    assert judged(text="""#include <fstream>
#include <testsuite_hooks.h>
int main() {
    __gnu_test::set_memory_limits();
    VERIFY(std::ifstream("cin_unget-1.txt") && !std::ifstream("cin_unget-2.txt"));
}""").check() == ""


@pytest.mark.parametrize("applies, directives", [
    (True, ()), (True, ("do run { target c++17 }",)), (False, ("do compile",)),
    (False, ("do run { target c++2a }",)),
    (True, ("do run { target c++2a }", 'options "-std=gnu++2a"')),
    (False, ("do run { target { ! c++17 } }",)),
    (True, ("do run { target { ! c++17 } }", 'options "-std=gnu++14"')),
    (False, ("do run { target { c++11_only || c++14_only } }",)),
    (True, ("do run { target { c++11_only || c++14_only } }", 'options "-std=c++11"')),
    (True, ("do run { target { c++11 && { ! c++20 } } }",)),
    (True, ("do run { target { *-*-linux* *-*-gnu* } }",)),
    (False, ("do run { target *-*-mingw* }",)),
    (False, ("do run", 'require-namedlocale "de_DE.UTF-8"')),
    (False, ("do run", "require-effective-target tbb_backend")),
    (True, ("do run", "require-effective-target cxx11_abi")),
    (False, ("do run", 'skip-if "" { *-*-* }')),
    (True, ("do run", 'skip-if "" { *-*-* } { "-std=c++*" }')),
    (False, ("do run", 'skip-if "" { *-*-* } { "-std=c++*" }', 'options "-std=c++17"')),
    (True, ("do run", 'require-gthreads ""')),
])
def test_which_of_gccs_own_apply(judged, applies, directives):
    assert judged(*directives).runs() == applies


def test_options_of_gccs_own(judged):
    """The last dg-options applies; other options are added, except other machines'."""
    test = judged("do run", 'options "-O0"', 'options "-std=gnu++20 -DA"',
                  'options "-DB" { target *-*-mingw* }',
                  'additional-options "-pthread" { target pthread }',
                  'additional-options "-DC" { target { ! simulator } }')
    assert test.options() == ["-std=gnu++20", "-DA", "-pthread"]
    assert not judged("do run", 'require-gthreads ""', text="std::thread second(run);").runs()


def test_reasons_of_gccs_own(judged, capsys):
    """A failure without a reason on file is an error, and so is a pass with one."""
    import dejagnu

    class Fake:
        def __init__(self, name: str, outcome: str) -> None:
            self.name, self.outcome = name, outcome

        def check(self) -> str:
            return self.outcome

    tests = [Fake("good", ""), Fake("known", "status 1"), Fake("new", "status 2: oh"),
             Fake("better", "")]
    reasons = {"known": "a node has none", "better": "it cannot"}
    assert dejagnu.verdicts("fakes", tests, reasons, 2) == 2
    said = capsys.readouterr().out.splitlines()
    assert sorted(said[:2]) == ["better: passes, but has a reason not to", "new: status 2: oh"]
    assert said[-1].startswith("fakes: 2 of 4 passed, 2 without a reason on file")
    assert dejagnu.verdicts("fakes", tests[:2], reasons, 2) == 0
    either = {"good": "sometimes: by the time", "known": "sometimes: by the load"}
    assert dejagnu.verdicts("fakes", tests[:2], either, 2) == 0


def test_a_launcher_that_gives_up_is_no_expected_failure(judged):
    import dejagnu
    assert not dejagnu.judged(0, "", False) and dejagnu.judged(0, "", True)
    assert not dejagnu.judged(125, "ERROR STOP 125\n", True)
    for said in ("margay: timeout: the job ran for 120 s\n", "margay: error: no such file\n"):
        assert dejagnu.judged(124 if "timeout" in said else 125, "x\n" + said, True)


# ---- the command ----

HELLO = ('#include <iostream>\n'
         'int main() { try { throw 5; } catch (int n) { std::cout << "hello " << n << "\\n"; } }\n')


@pytest.fixture
def hello(tmp_path: Path) -> Path:
    (tmp_path / "hello.cc").write_text(HELLO)
    return tmp_path


def test_names_of_build_systems(margay, hello):
    tools = ROOT / "tools"
    margay("-c", "hello.cc", "-o", "hello.o", program=tools / "x86_64-margay-g++").ok()
    margay("hello.o", "-o", "hello.elf", program=tools / "x86_64-margay-g++").ok()
    assert margay("run", "hello.elf").ok().stdout == "hello 5\n"
    margay("rcs", "libhello.a", "hello.o", program=tools / "x86_64-margay-ar").ok()
    margay("libhello.a", program=tools / "x86_64-margay-ranlib").ok()
    margay("-C", "hello.o", program=tools / "x86_64-margay-nm").ok().prints(r"std::ostream")
    margay("--strip-debug", "hello.elf", program=tools / "x86_64-margay-strip").ok()
    assert margay("run", "hello.elf").ok().stdout == "hello 5\n"
    (hello / "c.c").write_text("int main(void) { return 3; }\n")
    margay("c.c", "-o", "c.elf", program=tools / "x86_64-margay-gcc").ok()
    margay("run", "c.elf").status(3)


def test_it_is_not_linux_and_nothing_is_the_hosts(margay, hello):
    run = margay("c++", "-E", "-v", "hello.cc").ok()
    used = run.stderr.partition("search starts here:")[2].partition("End of search")[0]
    assert "/include/c++/" in used and "/usr/include" not in used
    assert "__linux__" not in margay("c++", "-dM", "-E", "-x", "c++", os.devnull).ok().stdout
    line = margay("c++", "-show", "hello.cc").ok().stdout
    assert "libstdc++.a" in line and "/usr/lib/gcc/x86_64-linux-gnu/12/libstdc++" not in line
    assert margay("c++", "--version").ok().lines[0].startswith("margay c++ ")


def test_where_the_library_is(margay, hello):
    folder = Path(margay("c++", "--where").ok().stdout.strip())
    assert (folder / "lib/libstdc++.a").exists() and (folder / "COPYING.RUNTIME").exists()
    empty = no_libraries(hello)
    margay("c++", "--where", env=empty).status(1).prints("the C\\+\\+ library is not built yet")
    margay("c++", "-show", "hello.cc", env=empty).ok()         # and still is not
    assert not (hello / "cache").exists()


def test_two_builders(margay, hello):
    """The second builder waits for the first, and uses its result."""
    where = margay("c++", "--where").ok().stdout.strip()
    home = hello / "cache/margay/languages"
    home.mkdir(parents=True)
    place = home / Path(where).name
    with open(f"{place}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        live = margay.start("c++", "--prepare", env=no_libraries(hello))
        until(lambda: opened(live.processes(), lock.name))
        place.symlink_to(where)
    run = live.wait().ok()
    assert run.stdout.strip() == str(place) and "building" not in run.stderr


def opened(processes: list[int], path: str) -> bool:
    """Whether one of them has the file open. A process that ends or closes a file meanwhile is asked
    again by the caller."""
    for pid in processes:
        with suppress(FileNotFoundError, ProcessLookupError):
            if any(os.readlink(fd) == path for fd in Path(f"/proc/{pid}/fd").iterdir()):
                return True
    return False


def test_compilers_of_two_versions(margay, hello):
    gcc = hello / "gcc"
    gcc.write_text('#!/bin/sh\n[ "$1" = -dumpfullversion ] && echo 12.9.9 && exit\nexec gcc "$@"\n')
    gcc.chmod(0o755)
    run = margay("c++", "hello.cc", env={**no_libraries(hello), "MARGAY_CC": str(gcc)}).status(125)
    run.says("is version 12.9.9, .*g\\+\\+ 12.2.0$")
    run.says("name two of one version: MARGAY_CC, MARGAY_CXX$")


def test_a_folder_with_a_space(margay, hello):
    """GCC's makefiles cannot handle it, which is reported at once."""
    run = margay("c++", "hello.cc", env=no_libraries(hello, "a cache")).status(125)
    run.says("cannot be built in a folder with a space in its name: .*/a cache/margay")


@pytest.mark.skipif(Path("/usr/src/gcc-12").exists(), reason="the source is on this machine")
def test_no_network(margay, hello):
    """The error names the cure, and no half-finished build stays."""
    (hello / "apt-get").write_text("#!/bin/sh\nexit 100\n")
    (hello / "apt-get").chmod(0o755)
    env = {**no_libraries(hello), "PATH": f"{hello}:{os.environ['PATH']}"}
    run = margay("c++", "hello.cc", env=env).status(125)
    run.says("^without a network put gcc-12.2.0-dfsg.tar.xz into .*/cache/margay, "
             "or install gcc-12-source$")
    run.says("the C\\+\\+ library could not be built$")
    assert not (hello / "a.out").exists() and not list((hello / "cache").rglob("stamp"))
