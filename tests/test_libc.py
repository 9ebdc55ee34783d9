"""The C library in applications: musl, crt0, system calls, mathematics."""
from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from harness import BUILD, HANG, MARGAY, ROOT, let_time_pass

sys.path.insert(0, str(ROOT / "tools"))
from margaylib import machine  # noqa: E402

pytestmark = pytest.mark.libc

CLOCK_NS = 1_000_000           # by which a node's clock may be early
START = 4.0                    # seconds that QEMU needs to start in the test of the clock


def all_ok(run, number: int) -> None:
    """Every line is "ok", no test is repeated, and their number is right."""
    run.ok()
    lines = [line for line in run.lines if line.startswith(("ok ", "not ok "))]
    assert lines == run.lines and not [line for line in lines if not line.startswith("ok ")], (
        run.describe())
    twice = [line for line, count in Counter(lines).items() if count > 1]
    assert not twice and len(lines) == number, f"{len(lines)} lines, twice: {twice}"


def test_stdio(margay, app):
    all_ok(margay("run", "-n", 1, app("libc_stdio")), 44)


def test_language(margay, app):
    all_ok(margay("run", "-n", 1, app("libc_language")), 47)


def test_sections(margay, app):
    """Data and code in sections that linker.ld does not know, and large alignments."""
    all_ok(margay("run", "-n", 1, app("sections")), 14)


def test_system(margay, app):
    run = margay("run", "-n", 1, "--env", "COLOUR=blue green", app("libc_system"), 0, 1,
                 time.time(), margay.cwd)
    all_ok(run, 56)
    for name in ("pipe", "system"):
        assert len(re.findall(rf"^margay: .*\b{name}\b", run.stderr, re.M)) == 1, run.describe()


def test_posix(margay, app):
    """Functions that existing programs call; the program ends by err(3, ...)."""
    run = margay("run", "-n", 1, app("libc_posix")).status(3)
    assert len(run.lines) >= 83 and not [line for line in run.lines if not line.startswith("ok ")]
    run.says(r"libc_posix.*: a warning: No such file or directory\n")
    run.says(r"libc_posix.*: the end: No such file or directory\n")
    assert len(re.findall("pthread_create", run.stderr)) == 1


@pytest.mark.parametrize("folder", ["folder", "/tmp/folder"])
def test_what_others_call(margay, app, tmp_path, folder):
    """Functions and headers that existing programs need; every line is the same as on Linux."""
    program = tmp_path / "rest"
    subprocess.run(["cc", "-O1", "-w", "-o", program, ROOT / "tests" / "apps" / "posix_rest.c",
                    "-latomic"], check=True)
    (tmp_path / "host").mkdir()
    host = margay("folder", program=program, cwd=tmp_path / "host").status(3)
    run = margay("run", "--no-prefix", app("posix_rest"), folder).status(3)
    wanted = host.stdout.replace("\nftw folder", f"\nftw {folder}")
    assert len(wanted.splitlines()) > 95 and run.stdout == wanted
    assert run.stderr.splitlines()[:-1] == host.stderr.splitlines()


def test_lock_that_nothing_frees(margay, tmp_path):
    (tmp_path / "lock.c").write_text(
        "#include <pthread.h>\nint main(void) { pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;\n"
        "pthread_mutex_lock(&m); return pthread_mutex_lock(&m); }\n")
    margay("cc", "-pthread", "-o", tmp_path / "lock.elf", tmp_path / "lock.c").ok()
    margay("run", tmp_path / "lock.elf").status(134).says("waits for a lock")


def test_signal_of_a_timer_ends_a_read(margay, tmp_path):
    """A signal interrupts a read of standard input without data; with SA_RESTART the read
    continues, and the handler exits."""
    (tmp_path / "read.c").write_text("""
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>
static void ring(int number) { puts("alarm"); }
static void leave(int number) { puts("left"); exit(7); }
int main(void)
{
    struct sigaction action = { .sa_handler = ring };
    struct itimerval soon = { .it_value = { 0, 20000 } };
    char byte;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
    puts(read(0, &byte, 1) == -1 && errno == EINTR ? "interrupted" : "wrong");
    action = (struct sigaction){ .sa_handler = leave, .sa_flags = SA_RESTART };
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
    read(0, &byte, 1);
    return 0;
}
""")
    margay("cc", "-o", tmp_path / "read.elf", tmp_path / "read.c").ok()
    reader, writer = os.pipe()
    live = margay.start("-c", f'exec "$0" "$@" <&{reader}', MARGAY, "run", tmp_path / "read.elf",
                        program="/bin/bash", pass_fds=(reader,))
    run = live.wait().status(7)
    os.close(reader)
    os.close(writer)
    assert run.lines == ["alarm", "interrupted", "left"]


def test_readv_takes_what_is_there(margay, tmp_path):
    """It waits for the first byte only."""
    (tmp_path / "readv.c").write_text("""
#include <stdio.h>
#include <sys/uio.h>
int main(void)
{
    char a[4], b[4];
    struct iovec parts[] = { { a, 4 }, { b, 4 } };
    for (int i = 0; i < 3; i++) {
        printf("%zd\\n", readv(0, parts, 2));
        fflush(stdout);
    }
}
""")
    margay("cc", "-o", tmp_path / "readv.elf", tmp_path / "readv.c").ok()
    reader, writer = os.pipe()
    live = margay.start("-c", f'exec "$0" "$@" <&{reader}', MARGAY, "run", tmp_path / "readv.elf",
                        program="/bin/bash", pass_fds=(reader,))
    os.close(reader)
    os.write(writer, b"four")
    live.wait_for("^4$")
    os.write(writer, b"sixsix")
    live.wait_for("^6$")
    os.close(writer)
    live.wait_for("^0$")
    live.wait().ok()


@pytest.mark.parametrize("mem", [24, 256])
def test_memory(margay, app, mem):
    """Random calls of malloc and related functions, with and without enough memory; mappings
    twice."""
    run = margay("run", "-n", 1, "--mem", mem, app("libc_memory"), 4711)
    run.ok()
    assert len(run.lines) == 35 and all(line.startswith("ok ") for line in run.lines)


def test_free_of_what_is_no_block(margay, tmp_path):
    (tmp_path / "twice.c").write_text("#include <stdlib.h>\n"
                                      "int main(void) { void *volatile p = malloc(argc); free(p);"
                                      " free(p); }\n".replace("argc", "9"))
    margay("cc", "-Wno-use-after-free", "-o", tmp_path / "twice.elf", tmp_path / "twice.c").ok()
    margay("run", tmp_path / "twice.elf").status(134).says("it was freed before")


def test_realtime_is_the_hosts(margay, app, tmp_path):
    """However long QEMU takes to start, the application's clock is between the host's times of
    the question and of the answer. It may be late by the time for which the launcher had no
    processor, but not by QEMU's start, which is long here."""
    fifo, gate, slow = tmp_path / "input", tmp_path / "gate", tmp_path / "qemu"
    os.mkfifo(fifo)
    os.mkfifo(gate)
    slow.write_text(f'#!/bin/sh\nread -r line <{gate}\nexec {machine.PROGRAM} "$@"\n')
    slow.chmod(0o755)
    live = margay.start("-c", f"exec {MARGAY} run --accel tcg {app('clock')} tell < {fifo}",
                        program=Path("/bin/sh"), env={"MARGAY_QEMU": str(slow)})
    with open(fifo, "w", encoding="ascii") as to, open(gate, "r+b", buffering=0) as starts:
        let_time_pass(START)
        starts.write(b"\n")
        for count in range(1, 51):
            asked = time.time_ns()
            to.write("tell\n")
            to.flush()
            said = int(live.wait_for(r"(\d+) ns$", count=count)[count - 1].group(1))
            assert asked - START / 2 * 1e9 < said <= time.time_ns() + CLOCK_NS
    live.wait().ok()


@pytest.mark.every_link
def test_names_on_two_nodes(margay, app):
    """Each node has its own rank and node name, and the size."""
    run = margay("run", "-n", 3, app("hello")).ok()
    assert sorted(run.lines) == [f"[{rank}] hello from rank {rank} of 3 on node{rank}"
                                 for rank in range(3)]


def test_files(margay, app, tmp_path):
    (tmp_path / "data").write_bytes(bytes(range(256)) * 1000)
    run = margay("run", "-n", 1, "--file", tmp_path / "data", "--out", tmp_path / "result",
                 app("libc_files"), input="first line\n4711\n")
    all_ok(run, 31)
    assert (tmp_path / "result").read_text() == "".join(f"line {i}\n" for i in range(1000))


def test_out_file_behind_many_files(margay, app, tmp_path):
    names = [f"in{i}" for i in range(70)]
    for name in names:
        (tmp_path / name).write_text(f"this is {name}\n")
    options = [word for name in names for word in ("--file", tmp_path / name)]
    margay("run", *options, "--out", tmp_path / "result", app("output"), "copy", "in69",
           "result").ok()
    assert (tmp_path / "result").read_text() == "this is in69\n"


@pytest.mark.parametrize("way, status, printed", [
    (("return", 7), 7, "before\nno newline\n"),
    (("return", 0), 0, "before\nno newline\n"),
    (("exit", 300), 44, "before\nno newline\n"),
    (("exit", 255), 255, "before\nno newline\n"),
    (("_exit", 5), 5, "before\n"),
    (("quick", 6), 6, "before\n"),
    (("abort",), 134, "before\n"),
    (("assert",), 134, "before\n"),
    (("raise", 15), 143, "before\n"),
    (("raise", 9), 137, "before\n"),
    (("raise", 35), 163, "before\n"),
    (("raise", 64), 192, "before\n"),
    (("caught-abort",), 134, "before\nno newlinecaught 6\n"),
], ids=lambda value: "-".join(map(str, value)) if isinstance(value, tuple) else None)
def test_end(margay, app, way, status, printed):
    run = margay("run", "-n", 1, app("libc_end"), *way).status(status)
    assert run.stdout.rstrip("\n") == printed.rstrip("\n")


def test_end_by_a_timer(margay, app):
    run = margay("run", "-n", 1, app("libc_end"), "timer").status(142)
    run.says(r"ended by alarm or a timer, as it has no handler, signal 14 \(SIGALRM\)$")


def test_assert_names_the_place(margay, app):
    run = margay("run", "-n", 1, app("libc_end"), "assert").status(134)
    run.says(r"Assertion failed: argc == 99 \(.*libc_end\.c: main: \d+\)")


def parse(text: str) -> str | int:
    """The value of a printed number, times 2 to the 20000; zeros, infinities and NaNs as text."""
    sign = "-" if text.startswith("-") else ""
    text = text.lstrip("-")
    if "nan" in text:
        return "nan"
    if "inf" in text:
        return sign + "inf"
    if not text.startswith("0x"):
        return int(sign + text) << 20000
    digits, exponent = text[2:].split("p")
    whole, _, fraction = digits.partition(".")
    value = int(whole + fraction, 16) << (int(exponent) - 4 * len(fraction) + 20000)
    return (-value if sign else value) or sign + "0"


LEAST = {24: -149, 53: -1074, 64: -16445}       # exponents of the smallest numbers


def apart(a: str | int, b: str | int, bits: int = 64) -> int:
    """The difference in units of the last place of a long double, or of a type with so many bits;
    a large number if the kinds differ."""
    if a == b:
        return 0
    if isinstance(a, str) or isinstance(b, str):
        if {"inf", "-inf", "nan"} & {a, b} or isinstance(a, str) and isinstance(b, str):
            return 1 << 64
        a, b = (0 if isinstance(value, str) else value for value in (a, b))
    unit = max(max(abs(a), abs(b)).bit_length() - bits, 20000 + LEAST[bits])
    return -(-abs(a - b) >> unit)


EXACT = {"sqrtl", "floorl", "ceill", "truncl", "rintl", "nearbyintl", "roundl", "logbl", "fabsl",
         "fmodl", "remainderl", "copysignl", "nextafterl", "nexttowardl", "fmaxl", "fminl",
         "fdiml", "fmal", "frexpl", "frexpl-exponent", "modfl", "modfl-whole", "ldexpl",
         "scalbnl", "scalblnl", "lrintl", "llrintl", "lroundl", "llroundl", "ilogbl", "remquol",
         "remquol-bits", "nexttoward", "nexttowardf"}


def test_long_double(margay, app, tmp_path):
    """Every long double function on thousands of arguments, against the host's C library."""
    host = tmp_path / "libc_long_double"
    subprocess.run(["gcc", "-O1", "-fno-builtin", "-o", host,
                    ROOT / "tests" / "apps" / "libc_long_double.c", "-lm"], check=True)
    wanted = subprocess.run([host], check=True, capture_output=True, text=True).stdout.splitlines()
    got = margay("run", "-n", 1, app("libc_long_double")).ok().lines
    assert len(got) == len(wanted) > 10000
    wrong = []
    for ours, theirs in zip(got, wanted):
        name, *arguments, _, result = ours.split()
        other, *their_arguments, _, reference = theirs.split()
        assert name == other
        assert [parse(word) for word in arguments] == [parse(word) for word in their_arguments]
        distance = apart(parse(result), parse(reference))
        if distance > (0 if name in EXACT else 4):
            wrong.append(f"{ours}; expected {reference}")
    assert not wrong, f"{len(wrong)} wrong, the first:\n" + "\n".join(wrong[:10])


def without_sign(value: str | int) -> str | int:
    """Of a zero or an infinity; a number keeps it."""
    return value.lstrip("-") if isinstance(value, str) else value


def test_complex(margay, app, tmp_path):
    """Every complex function against the host's. The sign of a zero or an infinity beside a NaN is
    anything; a power's error grows with the size of its logarithm."""
    host = tmp_path / "libc_complex"
    source = ROOT / "tests" / "apps" / "libc_complex.c"
    subprocess.run(["gcc", "-O1", "-fno-builtin", "-o", host, source, "-lm"], check=True)
    wanted = subprocess.run([host], check=True, capture_output=True, text=True).stdout.splitlines()
    got = margay("run", "-n", 1, app("libc_complex")).ok().lines
    assert len(got) == len(wanted) > 30000
    wrong = []
    for ours, theirs in zip(got, wanted):
        name, *words = ours.split()
        other, *their_words = theirs.split()
        x, y, *results = [parse(word) for word in words if word != "="]
        their_x, their_y, *references = [parse(word) for word in their_words if word != "="]
        assert (name, x, y) == (other, their_x, their_y)
        bits = 24 if name.endswith("f") else 64 if name.endswith("l") else 53
        if "nan" in references or theirs.startswith("cexp") and references[0] in ("0", "-0"):
            results = [without_sign(value) for value in results]
            references = [without_sign(value) for value in references]
        if any(apart(result, reference, bits) > (1024 if name == "cpowl" else 8)
               for result, reference in zip(results, references)):
            wrong.append(f"{ours}; expected {theirs.split('=')[1]}")
    assert not wrong, f"{len(wrong)} wrong, the first:\n" + "\n".join(wrong[:10])


def test_signs_and_flags(margay, tmp_path):
    """Of gamma at negative numbers, and of acosh of what is no number."""
    (tmp_path / "signs.c").write_text("""
#include <fenv.h>
#include <math.h>
#include <stdio.h>
int main(void)
{
    volatile double none = NAN;
    for (int i = 12 * 8 + 1; i < 40 * 8; i++) {
        volatile long double x = i / -8.0L;
        printf("%d %d ", i % 8 && signbit(tgammal(x)), i % 8 && signbit(tgamma((double)x)));
    }
    feclearexcept(FE_ALL_EXCEPT);
    printf("%d ", isnan(acosh(none)) && isnan(acoshf(none)) && isnan(acoshl(none)));
    printf("%d ", fetestexcept(FE_INVALID) != 0);
    printf("%d %d\\n", isnan(acosh(none + -1 > 0 ? 2 : 0.5)), fetestexcept(FE_INVALID) != 0);
}
""")
    subprocess.run(["gcc", "-O1", "-fno-builtin", "-o", tmp_path / "signs", tmp_path / "signs.c",
                    "-lm"], check=True)
    wanted = subprocess.run([tmp_path / "signs"], check=True, capture_output=True, text=True).stdout
    margay("cc", "-O1", "-fno-builtin", "-o", tmp_path / "signs.elf", tmp_path / "signs.c").ok()
    assert margay("run", tmp_path / "signs.elf").ok().stdout == wanted


@pytest.mark.parametrize("count, lines", [
    (5000, 2000), pytest.param(100000, 10000, marks=pytest.mark.long)])
def test_numbers(margay, app, tmp_path, count, lines):
    """Exact to the last digit: text and back, and the host's digits at any precision."""
    host = tmp_path / "libc_numbers"
    subprocess.run(["gcc", "-O1", "-o", host, ROOT / "tests" / "apps" / "libc_numbers.c"],
                   check=True)
    wanted = subprocess.run([host, str(count), str(lines)], check=True, capture_output=True,
                            text=True).stdout.splitlines()
    got = margay("run", app("libc_numbers"), count, lines, timeout=4 * HANG).ok().lines
    assert wanted[0] == "0 wrong" and len(got) == lines + 1
    assert not [(ours, theirs) for ours, theirs in zip(got, wanted) if ours != theirs][:5]


@pytest.mark.parametrize("call, says", [
    ("posix_spawnp(0, 0, 0, 0, 0, 0)", "a node runs one process: posix_spawnp"),
    ("socket(1, 2, 3)", "there are no sockets: socket"),
    ('shm_open("x", 0, 0)', "a node has one process: .*: shm_open"),
    ("timer_delete(0)", "a node has one thread: timer_delete"),
], ids=lambda value: value.partition("(")[0])
def test_refused_at_the_link(margay, tmp_path, call, says):
    """Functions that a node cannot have are in the headers but not in the library: the link
    reports why."""
    (tmp_path / "program.c").write_text(
        "#include <spawn.h>\n#include <sys/mman.h>\n#include <sys/socket.h>\n"
        "#include <time.h>\n#include <unistd.h>\n"
        f"int main(void) {{ return {call} == 0; }}\n")
    run = margay("cc", "-o", tmp_path / "program.elf", tmp_path / "program.c").status(1)
    run.says(says)


PROCESSES = r"""
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void is(const char *name, int result)
{
	printf("%s %d %s\n", name, result, errno == ENOSYS ? "ENOSYS" : errno == ECHILD ? "ECHILD" : "?");
	errno = 0;
}

int main(void)
{
	char *none[] = { NULL };

	is("fork", fork());
	is("vfork", vfork());
	is("daemon", daemon(0, 0));
	is("popen", popen("ls", "r") != NULL);
	is("pclose", pclose(NULL));
	is("execv", execv("/bin/sh", none));
	is("execve", execve("/bin/sh", none, none));
	is("execvp", execvp("sh", none));
	is("execl", execl("/bin/sh", "sh", NULL));
	is("execlp", execlp("sh", "sh", NULL));
	is("wait", wait(NULL));
	is("waitpid", waitpid(1, NULL, 0));
	return 0;
}
"""


def test_calls_of_other_processes_link_with_a_warning_and_fail(margay, tmp_path):
    """Programs that could do without them run; a check that takes warnings for errors finds that
    they are missing."""
    (tmp_path / "program.c").write_text(PROCESSES)
    run = margay("cc", "-o", tmp_path / "program.elf", tmp_path / "program.c").ok()
    for name in ("fork", "popen", "execlp", "waitpid"):
        run.says(f"warning: {name} always fails: a node runs one process")
    lines = margay("run", "--no-prefix", tmp_path / "program.elf").ok().stdout.splitlines()
    assert [line for line in lines if " -1 ENOSYS" in line or " -1 ECHILD" in line
            or line == "popen 0 ENOSYS"] == lines and len(lines) == 12
    margay("cc", "-Wl,--fatal-warnings", "-o", tmp_path / "program.elf",
           tmp_path / "program.c").status(1)


def test_a_program_may_have_its_own_fork(margay, tmp_path):
    (tmp_path / "program.c").write_text(
        "#include <stdio.h>\n#include <unistd.h>\npid_t fork(void) { return 7; }\n"
        'int main(void) { printf("%d\\n", fork()); return 0; }\n')
    run = margay("cc", "-o", tmp_path / "program.elf", tmp_path / "program.c").ok()
    assert "warning" not in run.stderr
    assert margay("run", "--no-prefix", tmp_path / "program.elf").ok().stdout == "7\n"


def test_configure_scripts_find_no_processes(margay, tmp_path):
    """As autoconf's AC_CHECK_FUNC asks: the macro of each function that always fails is there."""
    source = (ROOT / "libc-glue/processes.c").read_text()
    names = re.findall(r"^ALWAYS_FAILS\((\w+)\)\n[\w *]*?\b(\w+)\(", source, re.MULTILINE)
    assert len(names) == 19 and all(name == function for name, function in names)
    (tmp_path / "check.c").write_text("#include <limits.h>\n" + "".join(
        f"#ifndef __stub_{name}\n#error {name}\n#endif\n" for name, _ in names))
    margay("cc", "-c", "-o", tmp_path / "check.o", tmp_path / "check.c").ok()


def test_types_of_glibc(margay, tmp_path):
    (tmp_path / "types.c").write_text(
        "#include <sys/types.h>\n_Static_assert(sizeof(__int8_t) == 1 && sizeof(__uint64_t) == 8 &&"
        " (__int16_t)-1 < 0 && (__uint32_t)-1 > 0, \"\");\nint main(void) { return 0; }\n")
    margay("cc", "-o", tmp_path / "types.elf", tmp_path / "types.c").ok()


def defined(archive) -> Counter:
    """The names that an archive defines, without weak ones."""
    out = subprocess.run(["nm", "--defined-only", "--extern-only", archive], check=True,
                         capture_output=True, text=True).stdout
    return Counter(line.split()[2] for line in out.splitlines()
                   if len(line.split()) == 3 and line.split()[1] not in "VvWw")


def test_no_name_is_defined_twice():
    """Our functions replace musl's, which are removed from its archive."""
    names = sum((defined(BUILD / name) for name in ("sysroot/lib/libc.a", "libmargay.a",
                                                   "crt0.o")), Counter())
    assert len(names) > 1500
    assert not [name for name, count in names.items() if count > 1]


def test_nothing_is_missing():
    """All references of the archives' members are defined in them, in linker.ld, libgcc or
    libgcc_eh."""
    wanted, there = set(), set()
    for name in ("sysroot/lib/libc.a", "libmargay.a", "crt0.o"):
        out = subprocess.run(["nm", BUILD / name], check=True, capture_output=True, text=True)
        for words in map(str.split, out.stdout.splitlines()):
            if len(words) == 2 and words[0] == "U":
                wanted.add(words[1])
            elif len(words) == 3:
                there.add(words[2])
    rest = {name for name in wanted - there
            if not re.search(rf"\b{name} = ", (ROOT / "linker.ld").read_text())}
    assert rest <= {"main", "__divti3", "__udivti3", "__muldc3", "__mulsc3", "__mulxc3",
                    "_Unwind_Resume", "__gcc_personality_v0"}


def test_clock_runs_at_the_right_speed(margay, tmp_path):
    """The node's clock against the host's. A busy host sees ticks late but never early, so the
    earliest of ten ticks counts at both ends; the rest is the clock's own error."""
    source = tmp_path / "ticks.c"
    source.write_text("""
#include <stdio.h>
#include <time.h>
int main(void)
{
    for (int i = 0; i < 20; i++) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        printf("%lld%09ld\\n", (long long)now.tv_sec, now.tv_nsec);
        nanosleep(&(struct timespec){ .tv_nsec = i == 9 ? 999999999 : 50000000 }, NULL);
    }
}
""")
    margay("cc", "-o", tmp_path / "ticks.elf", source).ok()
    live = margay.start("run", "-n", 1, tmp_path / "ticks.elf")
    seen = []
    for count in range(1, 21):
        live.wait_for(r"^\d+$", count=count)
        seen.append(time.monotonic())
    ticks = [int(line) * 1e-9 for line in live.wait().ok().lines]
    late = [host - tick for host, tick in zip(seen, ticks)]
    error = min(late[10:]) - min(late[:10])
    assert abs(error) < 0.2 * (ticks[10] - ticks[0]), (error, ticks, seen)
