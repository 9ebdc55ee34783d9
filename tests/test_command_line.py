"""Options of margay and of the application, reports of several ranks, and errors of commands
that cannot work: options, packages, headers."""
from __future__ import annotations

import os
import re
import signal
import sys

import pytest

from harness import MARGAY, ROOT

sys.path.insert(0, str(ROOT / "tools"))
from margaylib import cli, console, grub, options  # noqa: E402
from margaylib.errors import MargayError  # noqa: E402

pytestmark = pytest.mark.launcher


@pytest.mark.parametrize("words, said", [
    (["app", "-n", "4"], True), (["app", "x", "-np", "4"], True), (["app", "--np", "2", "y"], True),
    (["--mem", "32", "app", "-n", "4"], True), (["--", "app", "-n", "4"], False),
    (["-n", "2", "app", "-n", "4"], False), (["-n2", "app", "-n", "4"], False),
    (["app", "-n", "four"], False), (["app", "-n"], False), (["app", "--stats"], False)])
def test_number_of_nodes_behind_the_application(words, said):
    parsed = options.parse(words)
    assert parsed.args == words[words.index("app") + 1:]
    assert any("margay run -n" in note for note in parsed.notes) is said


def test_hint_about_options_behind_the_application(margay, app):
    run = margay("run", app("output"), "args", "-n", "4").ok()
    assert run.lines == ["[-n]", "[4]"]
    run.says(rf"^margay: for 4 nodes: margay run -n 4 {app('output')}$")
    assert margay("run", "--", app("output"), "args", "-n", "4").ok().stderr == ""


def test_help_names_gdb(margay):
    margay("run", "--help").ok().prints(r"margay gdb --rank K \[options\] APP")


# --- reports

REPORT = re.compile(r"^margay: (?:rank (\d) \(node \d\): |\[(\d)\]  )")


def test_reports_do_not_interleave(margay, app):
    """All ranks fault at once; each report is contiguous, and each line has its rank."""
    run = margay("run", "-n", 4, app("fault"), "deep").status(128 + signal.SIGSEGV)
    ranks = [(match[1] or match[2]) for line in run.stderr.splitlines()
             if (match := REPORT.match(line))]
    lines = [line for line in run.stderr.splitlines() if "  #" in line or " rip " in line]
    assert len(lines) >= 5 and all(re.match(r"margay: \[\d\]  ", line) for line in lines)
    changes = sum(before != after for before, after in zip(ranks, ranks[1:]))
    assert changes == len(set(ranks)) - 1, run.describe(100)


def test_one_rank_has_no_mark(margay, app):
    run = margay("run", app("fault"), "deep").status(128 + signal.SIGSEGV)
    run.says(r"^margay:   #0 0x[0-9a-f]+ deep_two at")


def test_endless_recursion(margay, app):
    """The report shows ten frames and the number of further ones."""
    run = margay("run", app("fault"), "stack").status(128 + signal.SIGSEGV)
    run.says("stack overflow")
    frames = re.findall(r"^margay:   #(\d+) ", run.stderr, re.M)
    assert sorted(map(int, set(frames))) == list(range(10))
    assert int(run.says(r"^margay:   \.\.\. (\d+) more frames$")[1]) > 1000


def test_unknown_system_calls_are_said_once(margay, app):
    """By number and by name; control sequences are escaped."""
    run = margay("run", app("sys_names")).ok()
    assert sorted(run.stderr.splitlines()) == [
        r"margay: rank 0: \x1b[2Jbad\x0d\x0a\x9b: not available on this kernel (ENOSYS)",
        "margay: rank 0: system call 4711: no such system call (ENOSYS)",
        "margay: rank 0: system call 4712: no such system call (ENOSYS)"]


@pytest.mark.parametrize("line, shown", [
    ("margay: \x1b[2Jred\x07", "margay: \\x1b[2Jred\\x07"), ("plain é\t", "plain é\t"),
    ("a\x9b", "a\\x9b"), ("\x7f", "\\x7f")])
def test_escaped(line, shown):
    assert console.escaped(line) == shown


@pytest.mark.parametrize("line, taken", [
    ("puts 3", {"puts": 3}), ("puts 18446744073709551615", {"puts": (1 << 64) - 1}),
    ("puts 18446744073709551616", {}), ("puts -1", {}), ("puts 3 4", {}), ("puts ", {}), ("", {}),
    ("puts \u0663", {}), ("puts 99999999999999999999999", {}), ("PUTS 3", {}), ("puts 3\x00", {})])
def test_counter_lines(line, taken):
    stats: dict[str, int] = {}
    console.Console._count(stats, line)
    assert stats == taken


def test_counters_are_bounded():
    stats: dict[str, int] = {}
    for at in range(5000):
        console.Console._count(stats, f"name{at} 1")
    assert len(stats) == console.MOST_COUNTERS


# --- what is missing

def test_all_missing_packages_at_once(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(grub, "FOLDER", tmp_path)
    with pytest.raises(MargayError) as caught:
        grub.tools(("grub-mkrescue", "grub-common"), ("xorriso", "xorriso"), ("mformat", "mtools"))
    assert caught.value.cause == ("not installed: grub-mkrescue, xorriso, mformat, GRUB for BIOS "
                                  "machines, GRUB for UEFI machines")
    assert caught.value.cure == ("apt install grub-common xorriso mtools grub-pc-bin "
                                 "grub-efi-amd64-bin")


def test_mpi_header(margay, tmp_path):
    (tmp_path / "m.c").write_text("#include <mpi.h>\nint main(void) { return 0; }\n")
    run = margay("cc", "m.c").status(1)
    run.says("^margay: error: <mpi.h>: this is MPI$")


def test_too_large_data(margay, tmp_path):
    """One line instead of the linker's page."""
    (tmp_path / "b.c").write_text("static char big[3L << 30];\n"
                                  "int main(int n, char **v)\n"
                                  "{ big[n] = 1; return v[0][0] + big[n + 1]; }\n")
    run = margay("cc", "b.c").status(1)
    assert run.stderr.startswith("margay: error: program and static data take more than 1 GB")
    assert len(run.stderr.splitlines()) == 2


@pytest.mark.parametrize("option", ["--coverage", "-fprofile-arcs", "-pg", "-p",
                                    "-fsanitize=address", "-fsanitize=undefined",
                                    "-fprofile-generate", "-m32"])
def test_options_that_need_linux(margay, tmp_path, option):
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n")
    run = margay("cc", option, "a.c").status(125)
    assert run.stderr.startswith(f"margay: error: {option}: ") and len(run.stderr.splitlines()) == 2


def test_sanitizer_that_traps(margay, tmp_path):
    (tmp_path / "a.c").write_text("volatile int most = 0x7fffffff;\n"
                                  "int main(void) { return most + 1; }\n")
    margay("cc", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error", "a.c", "-o",
           "a.elf").ok()
    margay("run", "a.elf").status(128 + signal.SIGILL)


# --- --dry-run

def test_dry_run_can_be_pasted(margay, app):
    """A shell can run the line unchanged, without the launcher."""
    line = margay("run", "--dry-run", app("output"), "args", "it's $HOME", "").ok().stdout
    run = margay("-c", line + "true", program="/bin/bash").ok()
    assert "[it's $HOME]" in run.lines and "[]" in run.lines


def test_dry_run_of_nodes_with_cards(margay, app):
    """Pasted into two terminals, the nodes exchange messages. Here with a separate multicast
    group, as other machines may be started from such lines at the same time."""
    run = margay("run", "--dry-run", "-n", 2, "--link", "virtio", app("ring"), 3).ok()
    first, second = run.stdout.replace(":26996", f":{20000 + os.getpid() % 40000}").splitlines()
    both = margay("-c", f"{first} & {second}; wait; true", program="/bin/bash").ok()
    both.prints("3 laps over 2 ranks")
    run.says("by multicast")


def test_dry_run_over_shared_memory_says_what_is_missing(margay, app):
    run = margay("run", "--dry-run", "-n", 2, app("hello")).ok()
    run.says("^margay: pasted, each line boots its node alone: shared memory needs the launcher$")
    pasted = margay("-c", run.lines[1] + "; true", program="/bin/bash").ok()
    assert "hello from rank 1 of 2 on node1" in pasted.stdout


@pytest.mark.parametrize("command", ["run", "gdb", "iso", "pxe"])
def test_an_application_without_a_name(command):
    """As when a shell's variable is not set: `margay run "$APP"`."""
    with pytest.raises(MargayError, match="the application's name is empty") as caught:
        options.parse(["", "-n", "2"], command)
    assert caught.value.cure.startswith("usage: margay ")


def test_names_that_are_not_utf8(monkeypatch, tmp_path):
    """They are printed as they are, whatever the locale."""
    with open(tmp_path / "out", "w", encoding="utf-8") as out:
        monkeypatch.setattr(sys, "stdout", out)
        assert cli.main("margay", ["cc", "-show", "a\udcff.c"]) == 0
    assert b" 'a\xff.c' " in (tmp_path / "out").read_bytes()


def test_a_preset_that_asks_for_help(margay, app):
    run = margay("run", app("hello"), env={"MARGAY_RUN_OPTIONS": "--help"}).status(125)
    assert "did you mean --help" not in run.stderr
    run.says("^margay: write margay run --help$")


def test_a_preset_with_quotation_marks(margay, app):
    run = margay("run", app("hello"), env={"MARGAY_RUN_OPTIONS": '--env "A=b c"'}).status(125)
    run.says("quotation marks join none")


@pytest.mark.parametrize("port", ["99:2", "0:2", f"{10 ** 20}:2"])
def test_a_test_port_that_is_no_socket(margay, app, port):
    run = margay("run", "-n", 2, "--link", "virtio", "--test-port", port, app("hello")).status(125)
    run.says(f"^margay: error: --test-port {port}: descriptor {port[:-2]} is no open socket$")


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "abc"])
def test_time_to_boot_that_is_none(margay, app, seconds):
    run = margay("run", app("hello"), env={"MARGAY_BOOT_SECONDS": seconds}).status(125)
    run.says(f"^margay: error: MARGAY_BOOT_SECONDS={seconds}: not a time$")


def test_qemu_that_is_a_folder(margay, app, tmp_path):
    run = margay("run", app("hello"), env={"MARGAY_QEMU": str(tmp_path)}).status(125)
    run.says(f"^margay: error: {tmp_path} cannot be executed$")


def test_relative_cache(margay, app, tmp_path):
    """XDG's specification says that a relative one is to be ignored."""
    env = {"XDG_CACHE_HOME": "relative", "HOME": str(tmp_path / "home")}
    margay("run", app("hello"), env=env).ok()
    margay("c++", "--where", env=env)
    assert not (tmp_path / "relative").exists()


@pytest.mark.parametrize("words", [
    ["run", "--no-dir", "--output-dir", "o"], ["run", "--no-dir", "--file", "f"], ["run", "--dir", "."],
    ["iso", "-o", "a.iso"]], ids=" ".join)
def test_current_folder_that_was_removed(margay, app, words):
    command = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    run = margay("-c", command, "sh", MARGAY, *words, app("hello"), program="/bin/sh").status(125)
    run.says("^margay: error: the current folder has been removed$")


def test_names_in_errors_that_are_not_utf8(margay):
    command = "exec \"$0\" run \"$(printf 'a\\377')\""
    run = margay("-c", command, MARGAY, program="/bin/sh").status(125)
    assert b"a\xff: No such file" in run.err


def test_help_of_a_command_that_is_not_there(margay):
    assert margay("help", "run").ok().stdout.startswith("usage: margay run ")
    margay("help", "rum").status(125).says("^margay: did you mean margay run\\?$")


def test_an_image_is_not_written_to_a_pipe(margay, app, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    run = margay("iso", app("hello"), "-o", "pipe").status(125)
    run.says("^margay: error: -o pipe cannot be written$")


@pytest.mark.parametrize("name", ["margay", "mpicc"])
def test_interrupts_while_modules_are_read(margay, tmp_path, name):
    """They end the process at once: an exception in a destructor would be lost."""
    command = tmp_path / name
    command.write_bytes((ROOT / "tools" / name).read_bytes())
    (tmp_path / "margaylib").mkdir()
    (tmp_path / "margaylib" / "__init__.py").touch()
    (tmp_path / "margaylib" / "cli.py").write_text(
        "import os, signal\n"
        "class Last:\n"
        "    def __del__(self):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "Last()\n"
        "def main(*args):\n"
        "    print('went on')\n")
    run = margay(str(command), program="/usr/bin/python3")
    assert run.returncode == 130 and run.stdout == "", run.describe()
