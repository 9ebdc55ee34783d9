"""tools/margay as a command: output, files, exit status, signals, leftovers."""
from __future__ import annotations

import gzip
import json
import os
import re
import signal
import stat
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from harness import HANG, MARGAY, ROOT, until

sys.path.insert(0, str(ROOT / "tools"))
from margaylib import machine  # noqa: E402

pytestmark = pytest.mark.launcher


def waiting(margay, app, nodes: int = 2, how: str = "event", *options):
    live = margay.start("run", "-n", nodes, *options, app("waits"), how)
    live.wait_for(r"rank \d+ waits$", count=nodes)
    return live


@pytest.mark.parametrize("how", ["event", "sleep", "spin"])
@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signal_ends_the_job(margay, app, how, number, status):
    live = waiting(margay, app, 2, how)
    live.signal(number)
    live.wait().status(status)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT, signal.SIGHUP])
def test_signals_that_the_caller_ignores(margay, app, number):
    """As in a script that starts the job in the background: Ctrl-C is for what runs in front."""
    live = margay.start("-c", f"trap '' {number.name}; exec {MARGAY} run {app('waits')} event",
                        program="/bin/bash")
    live.wait_for(r"rank 0 waits$")
    status = Path(f"/proc/{live.process.pid}/status").read_text(encoding="ascii")
    ignored = int(re.search(r"SigIgn:\s+([0-9a-f]+)", status).group(1), 16)
    assert ignored >> (number - 1) & 1
    live.signal(signal.SIGTERM)
    live.wait().status(143)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_signal_while_the_nodes_boot(margay, app, number):
    live = margay.start("run", "--accel", "tcg", "-n", 8, app("waits"), "sleep")
    until(live.nodes)
    live.signal(number)
    live.wait().status(128 + number)


def test_ctrl_c_of_a_terminal(margay, app):
    """A terminal signals the whole foreground group, which must not kill a node."""
    live = waiting(margay, app, 2, "event")
    os.killpg(live.process.pid, signal.SIGINT)
    run = live.wait().status(130)
    assert "died" not in run.stderr


def test_second_ctrl_c_ends_at_once(margay, app):
    live = waiting(margay, app, 4, "spin")
    live.signal(signal.SIGINT)
    live.signal(signal.SIGINT)
    run = live.wait()
    # The second signal may arrive while Python exits, where it is no longer handled.
    assert run.returncode in (130, -signal.SIGINT) and "Traceback" not in run.stderr, run.describe()


def test_killed_launcher_leaves_nothing(margay, app):
    """SIGKILL of the launcher: its nodes end with it (the fixture checks)."""
    live = waiting(margay, app, 4, "spin")
    assert len(live.nodes()) == 4
    os.kill(live.process.pid, signal.SIGKILL)
    live.wait().status(-signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_while_a_reader_is_slow(margay, app, tmp_path, number):
    """The nodes have ended, and the rest of their output will not be read."""
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    live = margay.start("-c", f"exec {MARGAY} run {app('output')} lines 50000 >pipe", program="/bin/bash")
    until(live.nodes)
    until(lambda: not live.nodes())
    live.signal(number)
    live.wait().status(128 + number)
    os.close(reader)


def test_timeout(margay, app):
    run = margay("run", "-n", 2, "--timeout", 1, app("waits"), "event").status(124)
    run.says(r"margay: .*(1 s|time)")


def test_timeout_does_not_disturb_a_short_job(margay, app):
    margay("run", "--timeout", 50, app("hello")).ok()


def ask_until(live, *patterns: bytes) -> None:
    """Sends SIGQUIT, and again when something was answered, until standard error has a line of
    each: a rank's line comes a while before the rank is where it stays.
    """
    while not all(re.search(pattern, live.err, re.M) for pattern in patterns):
        before = len(live.err)
        live.signal(signal.SIGQUIT)
        until(lambda: len(live.err) > before)          # noqa: B023


def test_sigquit_prints_what_each_rank_does(margay, app):
    """Backtraces of all ranks, and what they wait for; the job continues."""
    live = waiting(margay, app, 2, "event")
    ask_until(live, *(rb"^margay: rank %d \(node %d\) waits for an event \(PtlEQWait\)$" % (rank, rank)
                      for rank in range(2)),
              *(rb"^margay: \[%d\] +#\d+ 0x[0-9a-f]+ wait_for_event at .*waits\.c:\d+$" % rank
                for rank in range(2)))
    assert live.process.poll() is None
    live.signal(signal.SIGTERM)
    live.wait().status(143)


def test_sigquit_while_a_rank_computes(margay, app):
    live = waiting(margay, app, 1, "spin")
    ask_until(live, rb"#\d+ 0x[0-9a-f]+ compute at .*waits\.c:\d+$")
    live.signal(signal.SIGINT)
    live.wait().status(130)


def test_two_machines_at_once(margay, app):
    """Neither job is affected by the other's ranks, output or end."""
    one = margay.start("run", "-n", 3, app("ring"), 30)
    two = margay.start("run", "-n", 2, app("ring"), 20)
    one.wait().ok().prints("30 laps over 3 ranks")
    two.wait().ok().prints("20 laps over 2 ranks")


def test_killing_one_machine_leaves_the_other(margay, app):
    one = waiting(margay, app, 2, "event")
    two = margay.start("run", "-n", 2, app("ring"), 100)
    os.kill(one.process.pid, signal.SIGKILL)
    two.wait().ok().prints("100 laps")


def test_output_of_10_mb_is_complete(margay, app):
    lines_of(margay, app, 2, 50_000)


@pytest.mark.long
def test_output_of_100_mb_is_complete(margay, app):
    lines_of(margay, app, 4, 250_000)


def lines_of(margay, app, nodes: int, count: int) -> None:
    run = margay("run", "-n", nodes, app("output"), "lines", count, timeout=200).ok()
    wanted = [f"{i:099}" for i in range(count)]
    for rank in range(nodes):
        assert run.of_rank(rank) == wanted
    for rank in range(nodes):
        run.says(rf"^\[{rank}\] sum {count * (count - 1) // 2}$")


def test_output_to_a_reader_that_leaves(margay, app):
    """Like `margay run ... | head -1`: it ends without a hang or a traceback."""
    live = margay.start("run", app("output"), "lines", 20_000)
    live.wait_for(r"^0+$")
    live.leave()
    run = live.wait()
    assert "Traceback" not in run.stderr


def test_stdout_and_stderr_apart(margay, app):
    run = margay("run", "-n", 2, app("output"), "both").ok()
    for rank in range(2):
        assert run.of_rank(rank) == [f"out {i}" for i in range(50)]
        assert [line for line in run.stderr.splitlines() if line.startswith(f"[{rank}]")] == [
            f"[{rank}] err {i}" for i in range(50)]


def test_whole_lines(margay, app):
    """Pieces of a line are joined, and the last line gets a newline."""
    run = margay("run", "-n", 2, app("output"), "partial").ok()
    line = "".join(f"piece{i} " for i in range(10))
    assert run.of_rank(0) == run.of_rank(1) == [line, "last"]


def test_lines_need_no_bell_each(margay, app, tmp_path):
    """The launcher reads continuous output without a doorbell."""
    margay("run", "--json", "job.json", app("output"), "lines", 50_000).ok()
    stats = json.loads((tmp_path / "job.json").read_text())["ranks"][0]["stats"]
    assert stats["console_bytes"] > 5_000_000 and stats["bells_rung"] < 5_000


@pytest.mark.parametrize("nodes", [1, 2])
def test_output_without_prefix_is_exact(margay, app, nodes):
    """Any bytes, in any pieces: no newline is added at the end either."""
    data = bytes(range(256)) * 8000 + os.urandom(70_000) + b"\nno end"
    run = margay("run", "-n", nodes, "--no-prefix", app("output"), "cat", input=data).ok()
    assert run.out == data


def test_compressed_output(margay, app):
    """The host's gzip reads the output of `gzip -c` on a node."""
    plain = b"".join(b"line %d\n" % at for at in range(30_000))
    run = margay("run", "--no-prefix", app("output"), "cat", input=gzip.compress(plain)).ok()
    assert gzip.decompress(run.out) == plain


def test_prefix_only_with_several_ranks(margay, app):
    assert margay("run", app("hello")).ok().stdout.startswith("hello")
    assert all(line.startswith("[") for line in margay("run", "-n", 2, app("hello")).ok().lines)


def test_no_progress_line_without_a_terminal(margay, app):
    run = margay("run", "-n", 4, app("hello")).ok()
    assert run.stderr == ""


def test_progress_line_on_a_terminal(margay, app, tmp_path):
    """Shown while nodes boot, and wiped before the first output. The last node's machine starts
    only after the line was shown, however fast the others are."""
    slow, shown = tmp_path / "qemu", tmp_path / "shown"
    typescript = tmp_path / "typescript"
    os.mkfifo(shown)
    slow.write_text(f"""#!/bin/sh
case "$*" in *-node15\\ *)
	read -r line <{shown}
esac
exec {machine.PROGRAM} "$@"
""")
    slow.chmod(0o755)
    live = margay.start("-qefc", f"{MARGAY} run --accel tcg -n 16 --mem 16 {app('hello')}",
                        typescript, program="/usr/bin/script", env={"MARGAY_QEMU": str(slow)})
    with open(shown, "r+b", buffering=0) as gate:
        until(lambda: typescript.exists() and b"booting" in typescript.read_bytes())
        gate.write(b"\n")
        live.wait().ok()
    text = typescript.read_bytes()
    lines = re.findall(rb"\r\x1b\[K(margay: booting, \d+ of 16 nodes run)", text)
    assert lines, text[:500]
    # the terminal's final contents, without wiped parts
    rows = [row.rsplit(b"\r\x1b[K", 1)[-1].strip() for row in text.split(b"\n")]
    assert sorted(row for row in rows if b"hello from" in row) == sorted(
        b"[%d] hello from rank %d of 16 on node%d" % (r, r, r) for r in range(16))


@pytest.mark.parametrize("size", [0, 1, 5000, 5_000_000])
def test_standard_input_goes_to_rank_0(margay, app, size):
    data = bytes(range(32, 127)) * (size // 95 + 1)
    data = data[:size] + b"\n"
    run = margay("run", "--no-prefix", app("output"), "cat", input=data).ok()
    assert run.out == data
    run.says(f"^read {len(data)}$")


def test_each_line_of_standard_input_wakes_the_program(margay, app):
    """A line is written only when the previous one has come back: if the launcher noticed them
    only when it polls idly, 400 would take minutes."""
    script = (f'coproc {MARGAY} run --no-prefix {app("output")} echo; '
              'for i in {1..400}; do echo "line $i" >&${COPROC[1]}; read -r got <&${COPROC[0]}; '
              '[ "$got" = "line $i" ] || exit 1; done; eval "exec ${COPROC[1]}>&-"; wait')
    margay("-c", script, program="/bin/bash").ok()


def test_standard_input_stays_for_the_next_command(margay, app):
    """A program that reads no input leaves all of it."""
    script = f'{MARGAY} run --no-prefix {app("hello")} >/dev/null; exec cat'
    assert margay("-c", script, program="/bin/bash", input="left alone\n").ok().lines == ["left alone"]


def test_other_ranks_have_no_standard_input(margay, app):
    run = margay("run", "-n", 2, app("output"), "cat", input=b"only for one\n").ok()
    assert run.lines == ["[0] only for one"]
    run.says(r"^\[1\] read 0$")


def test_files_in_and_out(margay, app, tmp_path):
    data = os.urandom(300_000)
    (tmp_path / "in.bin").write_bytes(data)
    margay("run", "--file", "in.bin", "--out", "result", app("output"), "copy", "in.bin",
           "result").ok()
    assert (tmp_path / "result").read_bytes() == data


def test_a_file_that_is_handed_over_cannot_be_written(margay, app, tmp_path):
    (tmp_path / "in").write_bytes(b"x")
    run = margay("run", "--file", "in", app("output"), "copy", "in", "in")
    run.status(1).says("in: .*[Rr]ead-only")
    assert (tmp_path / "in").read_bytes() == b"x"


def test_output_dir(margay, app, tmp_path):
    run = margay("run", "-n", 2, "--output-dir", tmp_path / "d", app("output"), "both").ok()
    assert run.stdout == ""
    names = sorted(path.name for path in (tmp_path / "d").iterdir())
    assert names == ["rank0.err", "rank0.out", "rank1.err", "rank1.out"]
    for rank in range(2):
        assert (tmp_path / "d" / f"rank{rank}.out").read_text() == "".join(
            f"out {i}\n" for i in range(50))


def test_json(margay, app, tmp_path):
    margay("run", "-n", 3, "--json", "job.json", app("output"), "exit", 9, 1).status(9)
    data = json.loads((tmp_path / "job.json").read_text())
    assert data["status"] == 9 and data["n"] == 3 and data["failed"] == [1]
    assert [rank["rank"] for rank in data["ranks"]] == [0, 1, 2]
    assert data["ranks"][1]["end"] == "exited" and data["ranks"][1]["status"] == 9


def test_stats(margay, app):
    run = margay("run", "-n", 2, "--stats", app("ring"), 10).ok()
    assert "rank 0" in run.stderr and "rank 1" in run.stderr
    run.says(r"^margay: .*messages.* \d+")


def test_only_peers_that_were_sent_to_cost_memory(margay, app, tmp_path):
    """Rule 31: hello sends nothing; in a ring of four each sends to the next and, in the
    barrier, also to the one after that."""
    def peer_bytes(name: str, nodes: int, *args) -> list[int]:
        report = tmp_path / f"{name}.json"
        margay("run", "-n", nodes, "--stats", "--json", report, app(name), *args).ok()
        return [rank["stats"]["peer_bytes"] for rank in json.loads(report.read_text())["ranks"]]

    assert peer_bytes("hello", 4) == [0] * 4
    one = peer_bytes("pingpong", 2)
    assert one[0] == one[1] > 0
    assert peer_bytes("ring", 4, 3) == [2 * one[0]] * 4


def test_dry_run_starts_nothing(margay, app):
    run = margay("run", "-n", 3, "--dry-run", app("hello")).ok()
    lines = [line for line in run.lines if "qemu-system-x86_64" in line]
    assert len(lines) == 3
    for rank, line in enumerate(lines):
        assert f"node={rank}" in line and "1,maxcpus=2" in line
    assert "hello from" not in run.stdout


def test_nodes_bound_to_cores(margay, app):
    """All threads of a node's QEMU stay on its core, which --verbose names; more nodes than
    cores share cores."""
    cores = sorted(os.sched_getaffinity(0))
    live = waiting(margay, app, 3, "sleep", "--bind-to", "core", "--verbose")
    said = live.wait_for(r"node (\d) is process (\d+) on core (\d+)$", count=3)
    nodes = live.nodes()
    for rank, pid in nodes.items():
        core = cores[rank % len(cores)]
        assert (rank, pid, core) in [tuple(map(int, match.groups())) for match in said]
        kept = [os.sched_getaffinity(pid)]
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with suppress(ProcessLookupError):        # QEMU ends idle threads
                kept.append(os.sched_getaffinity(int(thread.name)))
        assert len(kept) > 2 and all(one == {core} for one in kept), kept
    live.signal(signal.SIGTERM)
    assert live.wait().returncode == 143


def test_binding_is_shown_or_refused(margay, app):
    run = margay("run", "--bind-to", "core", "--dry-run", app("hello")).ok()
    assert re.match(rf"\S*taskset -c {min(os.sched_getaffinity(0))} \S*qemu-system", run.lines[0])
    margay("run", "--bind-to", "socket", app("hello")).status(125).says("choose one of: none, core")


def test_verbose_says_which_accelerator(margay, app):
    margay("run", "--verbose", app("hello")).ok().says(r"\b(tcg|kvm)\b")


def test_accelerator_tcg(margay, app):
    margay("run", "--accel", "tcg", app("hello")).ok()


@pytest.mark.parametrize("command", [(), ("run",), ("cc",), ("iso",), ("pxe",),
                                     ("gdb",)])
def test_help(margay, command):
    run = margay(*command, "--help").ok()
    assert len(run.lines) > 5 and "margay" in run.stdout


def test_version(margay):
    assert margay("--version").ok().prints(r"^margay \S+$")


# command -> (cause, cure) in the message; each ends with status 125
ERRORS = {
    "no command": ((), r"usage: margay COMMAND"),
    "unknown command": (("fly",), r"unknown command fly"),
    "no application": (("run",), r"no application"),
    "missing application": (("run", "nothing.elf"), r"nothing\.elf: No such file"),
    "not an application": (("run", "/bin/true"), r"/bin/true.*not linked by margay cc"),
    "text file": (("run", MARGAY), r"not an application"),
    "unknown option": (("run", "--nodse", "4", "{app}"), r"unknown option --nodse"),
    "n zero": (("run", "-n", "0", "{app}"), r"-n 0.*(range|1 to 1024)"),
    "n too large": (("run", "-n", "1025", "{app}"), r"-n 1025.*(range|1 to 1024)"),
    "n no number": (("run", "-n", "four", "{app}"), r"-n four"),
    "n without value": (("run", "-n"), r"-n needs a value"),
    "unreadable file": (("run", "--file", "nothing", "{app}"), r"nothing: No such file"),
    "two files of one name": (("run", "--file", "a/x", "--file", "b/x=a/x", "{app}"), r"two files.*x"),
    "file and out of one name": (("run", "--file", "a/x", "--out", "b/x=./a/x", "{app}"), r"two files"),
    "out into no folder": (("run", "--out", "none/y", "{app}"), r"none/y"),
    "host memory": (("run", "-n", "64", "--mem", "1000000000", "{app}"), r"memory"),
    "bad size": (("run", "--mem", "much", "{app}"), r"--mem much"),
    "bad timeout": (("run", "--timeout", "-3", "{app}"), r"--timeout"),
    "bad machine": (("run", "--machine", "cray", "{app}"), r"--machine cray.*|microvm"),
    "bad link": (("run", "--link", "token", "{app}"), r"--link token"),
    "faults of no cards": (("run", "--faults", "loss=1%", "{app}"), r"--faults needs network cards"),
    "hosts": (("run", "-host", "a,b", "{app}"), r"-host a,b.*booted on this host"),
    "two applications": (("run", "-n", "1", "{app}", ":", "-n", "1", "{app}"),
                         r"second application"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error_names_cause_and_cure(margay, app, tmp_path, name):
    for folder in "ab":
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x").write_text(folder)
    words, cause = ERRORS[name]
    run = margay(*(str(app("hello")) if word == "{app}" else word for word in words)).status(125)
    run.says(cause)
    assert "Traceback" not in run.stderr
    assert len(run.stderr.splitlines()) >= 2, f"no cure is named\n{run.describe()}"


def test_unreadable_file_of_others(margay, app, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("x")
    secret.chmod(0)
    if os.access(secret, os.R_OK):
        pytest.skip("this user may read everything")
    margay("run", "--file", secret, app("hello")).status(125).says("Permission denied")
    secret.chmod(stat.S_IRUSR)


def test_missing_qemu(margay, app, tmp_path):
    """A PATH without QEMU: the message names the package."""
    run = margay("run", app("hello"), env={"PATH": str(tmp_path)}).status(125)
    run.says(r"qemu-system-x86_64 is not installed")
    run.says(r"qemu-system-x86\b")


@pytest.mark.parametrize("options", [
    ("-np", "2"), ("--np=2",), ("-n2",), ("--bind-to", "core", "-n", "2"),
    ("-x", "A=b", "-n", "2"), ("--oversubscribe", "-n", "2"), ("-host", "localhost", "-n", "2")])
def test_options_of_mpirun(margay, app, options):
    run = margay("run", *options, app("hello")).ok()
    assert sorted(run.lines) == [f"[{r}] hello from rank {r} of 2 on node{r}" for r in range(2)]


def test_gdb_stops_in_main(margay, app):
    """The job ends with gdb, and gdb with rank 1, which ends after rank 0 has printed."""
    run = margay("gdb", "-n", 2, "--rank", 1, "--batch", "--ex", "info source", "--ex", "continue",
                 app("ring"), 3)
    assert "ring.c" in run.stdout + run.stderr
    assert "ring: 3 laps over 2 ranks" in run.stdout + run.stderr


def test_files_under_gdb(margay, app, tmp_path):
    """The current folder is shared, as without gdb."""
    (tmp_path / "words").write_text("one two one\n")
    margay("gdb", "--batch", "--ex", "continue", app("wordfreq"), "words").ok().prints("one")


def test_gdb_is_not_ended_with_the_program(margay, app, tmp_path):
    """gdb's output after the end of the last rank is printed."""
    slow = tmp_path / "gdb"
    slow.write_text("#!/bin/sh\ngdb \"$@\"\nsleep 1\necho gdb has ended\n")
    slow.chmod(0o755)
    margay("gdb", "--batch", "--ex", "continue", app("hello"),
           env={"MARGAY_GDB": str(slow)}).ok().prints("^gdb has ended$")


def test_nothing_stays_behind_is_checked(margay, tmp_path):
    """The check itself: it finds a process and a file that a run leaves."""
    script = tmp_path / "leaves"
    script.write_text("#!/bin/sh\nsleep 100 >/dev/null 2>&1 &\n: >$TMPDIR/left\nexit 0\n")
    script.chmod(0o755)
    live = margay.start(program=script)
    live.process.wait(HANG)
    left = live.leftovers()
    assert any("sleep 100" in item for item in left), left
    assert any(item.startswith("file") and item.endswith("left") for item in left), left
    live.kill()
    (live.scratch / "left").unlink()
