"""Files and descriptors of the launcher that are full, closed, endless, too few, or wrong.

Each ends with a message that names the file and the cause, and never with a traceback.
"""
from __future__ import annotations

import fcntl
import json
import os
import random
import re
import select
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness import BUILD, HANG, MARGAY, ROOT, let_time_pass, until

sys.path.insert(0, str(ROOT / "tools"))
from margaylib import hostfiles, options, policy, wire  # noqa: E402
from margaylib.errors import MargayError  # noqa: E402
from margaylib.node import Node  # noqa: E402

pytestmark = pytest.mark.launcher
FULL = Path("/dev/full")      # a device without space
NO_ROOM = "No space left on device"


def shell(margay, script: str, **more):
    run = margay("-c", script, program="/bin/bash", **more)
    assert "Traceback" not in run.stderr and "Exception" not in run.stderr, run.describe()
    return run


# --- no space

@pytest.mark.parametrize("words", [("output", "lines", 20_000), ("output", "lines", 1), ("hello",)])
def test_standard_output_without_room(margay, app, words):
    name, *rest = words
    run = shell(margay, f"{MARGAY} run {app(name)} {' '.join(map(str, rest))} >/dev/full")
    run.status(125).says(f"^margay: error: standard output: {NO_ROOM}")


@pytest.mark.parametrize("command", ["--help", "run --help", "--version",
                                     "run --dry-run -n 300 {app}"])
def test_words_of_the_launcher_without_room(margay, app, command):
    run = shell(margay, f"{MARGAY} {command.replace('{app}', str(app('hello')))} >/dev/full")
    run.status(125).says(f"^margay: error: standard output: {NO_ROOM}")


def test_out_without_room(margay, app, tmp_path):
    (tmp_path / "in").write_bytes(bytes(100_000))
    (tmp_path / "result").symlink_to(FULL)
    run = margay("run", "--file", "in", "--out", "result", app("output"), "copy", "in", "result")
    run.status(125).says(f"^margay: error: --out result: {NO_ROOM}")
    assert run.stderr.count(NO_ROOM) == 1


def test_output_dir_without_room(margay, app, tmp_path):
    folder = tmp_path / "d"
    folder.mkdir()
    (folder / "rank1.out").symlink_to(FULL)
    run = margay("run", "-n", 2, "--output-dir", folder, app("output"), "both")
    run.status(125).says(f"^margay: error: --output-dir {folder}/rank1.out: {NO_ROOM}")
    assert run.stderr.count(NO_ROOM) == 1 and (folder / "rank0.out").exists()


def test_json_without_room(margay, app, tmp_path):
    (tmp_path / "j").symlink_to(FULL)
    run = margay("run", "--json", "j", app("hello")).status(125)
    run.says(f"^margay: error: --json j: {NO_ROOM}")
    assert "hello from rank 0" in run.stdout


def test_pcap_without_room(margay, app):
    run = margay("run", "-n", 2, "--link", "virtio", "--pcap", FULL, app("hello")).status(125)
    run.says(f"--pcap /dev/full: {NO_ROOM}")
    assert len(run.lines) == 2


def test_the_end_of_a_capture_that_is_not_read(monkeypatch, tmp_path):
    """The switch cannot write the rest into its pipe: it is ended, and the job does not succeed."""
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
    monkeypatch.setattr(wire, "ENDS_WITHIN", 0.5)
    joined = wire.Wire(options.parse(["-n", "2", "--link", "virtio", "--no-bulk", "--pcap",
                                      str(tmp_path / "pipe"), "app"]))
    joined.start(str(BUILD / "tools/spawn"), str(BUILD / "tools/switch"))
    joined.near[0][0].sendall(b"\0\0\x40\0" + bytes(0x4000))
    until(lambda: select.select([reader], [], [], 0)[0])
    joined.end()
    os.close(reader)
    assert joined.capture_lost and "not complete" in joined.lines()[0]


# --- closed descriptors, and too few

@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_descriptors(margay, app, closed):
    run = shell(margay, f"{MARGAY} run {app('hello')} {closed}").ok()
    assert ("hello from rank 0" in run.stdout) is (">&-" not in closed.replace("2>&-", ""))
    assert run.stderr == ""


def test_an_error_without_standard_error(margay):
    shell(margay, f"{MARGAY} run nothing.elf 2>&-").status(125)


@pytest.mark.parametrize("limit", range(5, 25))
def test_few_descriptors(margay, app, limit):
    run = shell(margay, f"ulimit -n {limit}; exec {MARGAY} run {app('hello')}")
    run.status(125).says(rf"1 node needs 69 open files, and this user may have {limit}$")
    run.says("ulimit -Hn 69")


@pytest.mark.parametrize("limit", [4, 5, 6])
def test_compiler_with_few_descriptors(margay, tmp_path, limit):
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n")
    run = shell(margay, f"ulimit -n {limit}; exec {MARGAY} cc a.c -o a.elf")
    run.status(125).says("^margay: error: Too many open files$")


def test_output_dir_counts_its_descriptors(margay, app, tmp_path):
    command = f"exec {MARGAY} run -n 4 --output-dir d {app('hello')}"
    shell(margay, f"ulimit -n 91; {command}").status(125).says("need 92 open files")
    shell(margay, f"ulimit -n 92; {command}").ok()
    assert len(list((tmp_path / "d").iterdir())) == 8


# --- paths, before the nodes start

@pytest.mark.parametrize("words", [("--json", "none/x"), ("--out", "none/x"), ("--json", "folder"),
                                   ("--link", "virtio", "-n", "2", "--pcap", "none/x"),
                                   ("--link", "virtio", "-n", "2", "--pcap", "folder")])
def test_bad_path(margay, app, tmp_path, words):
    (tmp_path / "folder").mkdir()
    run = margay("run", *words, app("hello")).status(125)
    run.says(rf"^margay: error: {words[-2]} {words[-1]}: (No such file|Is a directory)")
    assert run.stdout == ""


@pytest.mark.parametrize("words, said", [
    (("--json", "a.elf"), "--json a.elf is the application"),
    (("--out", "a.elf"), "--out a.elf is the application"),
    (("--out", "other"), "--out other is the application"),
    (("--link", "virtio", "--pcap", "./a.elf"), "--pcap ./a.elf is the application"),
    (("--file", "in", "--json", "./in"), "--json in is --file in"),
    (("--out", "y", "--json", "y"), "--json y is --out y as well"),
    (("--file", "d/rank0.out", "--output-dir", "d"),
     "--output-dir d/rank0.out is --file d/rank0.out"),
])
def test_output_over_an_input(margay, app, tmp_path, words, said):
    image = app("hello").read_bytes()
    (tmp_path / "a.elf").write_bytes(image)
    os.link(tmp_path / "a.elf", tmp_path / "other")
    (tmp_path / "in").write_text("in")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "rank0.out").write_text("old")
    run = margay("run", "-n", 1, *words, "./a.elf").status(125)
    assert said in run.stderr and "overwrite" in run.stderr, run.describe()
    assert (tmp_path / "a.elf").read_bytes() == image
    assert (tmp_path / "in").read_text() == "in" and run.stdout == ""
    assert (tmp_path / "d" / "rank0.out").read_text() == "old"


@pytest.mark.parametrize("name, words, said", [
    ("margay.elf", (), "-o d/margay.elf is the application"),
    ("file0", ("--file", "in"), "-o d/file0 is the application"),
    ("app", ("--file", "d/grub.cfg"), "-o d/grub.cfg is --file d/grub.cfg")])
def test_a_folder_for_the_network_over_an_input(margay, app, tmp_path, name, words, said):
    (tmp_path / "in").write_text("in")
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "grub.cfg").write_text("old")
    (tmp_path / "d" / name).write_bytes(app("hello").read_bytes())
    run = margay("pxe", f"d/{name}", *words, "-o", "d").status(125)
    assert said in run.stderr and "overwrite" in run.stderr, run.describe()
    assert (tmp_path / "d" / name).read_bytes() == app("hello").read_bytes()
    assert (tmp_path / "d" / "grub.cfg").read_text() == "old"


def test_output_over_standard_input(margay, app, tmp_path):
    (tmp_path / "in").write_text("in")
    command = f"{MARGAY} run --out in"
    shell(margay, f"{command} {app('output')} copy none in <in").status(125).says(
        "^margay: error: --out in is standard input, which it would overwrite")
    assert (tmp_path / "in").read_text() == "in"
    shell(margay, f"{command} --stdin none {app('hello')} <in").ok()


def test_image_over_its_application(margay, app, tmp_path):
    (tmp_path / "a.elf").write_bytes(app("hello").read_bytes())
    run = margay("iso", "./a.elf", "-n", 1, "-o", "a.elf").status(125)
    run.says("-o a.elf is the application")


def test_devices_may_be_shared():
    parsed = options.parse(["--out", "/dev/null", "--json", "/dev/null", "app"])
    hostfiles.check_outputs(parsed, Path("app"))


# --- pipes and devices

def test_named_pipes_without_a_peer(tmp_path, monkeypatch):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    monkeypatch.setattr(hostfiles, "PEER_SECONDS", 0.2)
    with pytest.raises(MargayError, match=f"--out {pipe}: nothing reads this named pipe"):
        hostfiles.open_output("--out", pipe)
    with pytest.raises(MargayError, match=f"--file {pipe}: nothing writes to this named pipe"):
        hostfiles.open_input(str(pipe))


@pytest.mark.parametrize("words, cause", [(("--file", "pipe"), "nothing writes"),
                                          (("--out", "pipe"), "nothing reads"),
                                          (("--json", "pipe"), "nothing reads")])
def test_job_with_a_named_pipe_without_a_peer(margay, app, tmp_path, words, cause):
    os.mkfifo(tmp_path / "pipe")
    margay("run", *words, app("hello")).status(125).says(f"{words[0]} pipe: .*{cause}")


def test_named_pipes_whose_peers_come_late(margay, app, tmp_path):
    data = os.urandom(200_000)
    os.mkfifo(tmp_path / "in")
    os.mkfifo(tmp_path / "back")
    live = margay.start("run", "--file", "in", "--out", "back", app("output"), "copy", "in", "back")
    let_time_pass(0.3)
    (tmp_path / "in").write_bytes(data)
    let_time_pass(0.3)
    assert (tmp_path / "back").read_bytes() == data
    live.wait().ok()


@pytest.mark.parametrize("name", ["pipe", "/dev/zero"])
def test_application_that_is_no_file(margay, tmp_path, name):
    os.mkfifo(tmp_path / "pipe")
    margay("run", name).status(125).says(f"^margay: error: {name} is a pipe or a device")


def test_endless_device(margay, app):
    margay("run", "--file", "/dev/zero", app("hello")).status(125).says(
        "--file /dev/zero has no end within 256 MB")


def test_iso_takes_regular_files_only(margay, app, tmp_path):
    run = margay("iso", app("hello"), "-n", 1, "-o", "x.iso", "--file", "/dev/zero").status(125)
    run.says("--file /dev/zero cannot be read, or is not a regular file")


# --- interrupts, and nodes without a CPU

@pytest.mark.parametrize("program", ["margay", "mpicc"])
def test_interrupt_while_modules_are_read(margay, tmp_path, program):
    """The first module that the command reads interrupts it."""
    (tmp_path / program).write_text((ROOT / "tools" / program).read_text())
    (tmp_path / program).chmod(0o755)
    (tmp_path / "margaylib").mkdir()
    (tmp_path / "margaylib" / "cli.py").write_text(
        "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nsignal.pause()\n")
    run = margay(program=tmp_path / program).status(130)
    assert run.stderr == ""


# A line of a traceback in our code: after the three lines before `try`.
OURS = r'File "[^"]*(margaylib/|tools/margay", line (?![0-3],))'


def swallowed(live) -> bool:
    """Waits for the end. True: Python printed the interrupt and went on, as it does before it
    enters our `try`, and in callbacks of its own.
    """
    def has_printed() -> bool:
        return bool(re.search(rb"Failed checking if argv|Exception ignored in", bytes(live.err)))
    until(lambda: has_printed() or live.process.poll() is not None)
    return live.process.poll() is None


def test_interrupt_at_any_moment(margay, app):
    """At the launcher's start: no traceback, except from Python itself before it enters our
    `try`."""
    for _ in range(20):
        live = margay.start("run", "--verbose", app("waits"), "sleep")
        let_time_pass(random.uniform(0.0, 0.12))
        live.signal(signal.SIGINT)
        if swallowed(live):
            live.wait_for("^margay: node 0 is process")
            live.signal(signal.SIGINT)
        run = live.wait()
        if "Traceback" in run.stderr and not re.search(OURS, run.stderr):
            continue
        assert run.returncode in (130, -signal.SIGINT), run.describe()
        assert "Traceback" not in run.stderr and "Error" not in run.stderr, run.describe()


@pytest.mark.parametrize("ran, waited, starved", [
    (0.0, 1.0, True), (0.04, 0.9, True), (0.9, 0.1, False), (0.0, 0.0, False), (0.3, 0.7, False)])
def test_node_without_a_cpu(ran, waited, starved):
    """In the second after SIGQUIT; a node that runs has its interrupts off, or halts with them
    off."""
    judge = SimpleNamespace(cpu_times={3: (5_000, 7_000)})
    node = SimpleNamespace(rank=3, cpu_times=lambda: (5_000 + int(ran * 1e9),
                                                      7_000 + int(waited * 1e9)))
    assert policy.Policy._starved(judge, node) is starved


def test_cpu_times_of_a_process():
    node = Node(0)
    node.pid = os.getpid()
    before = node.cpu_times()
    end = time.monotonic() + HANG
    while node.cpu_times()[0] == before[0] and time.monotonic() < end:
        sum(range(300_000))               # Linux accounts for it at its next tick
    assert node.cpu_times()[0] > before[0] > 0
    node.pid = 1 << 30
    assert node.cpu_times() == (0, 0)


def test_json_of_before_is_replaced(margay, app, tmp_path):
    (tmp_path / "j").write_text("x" * 100_000)
    margay("run", "--json", "j", app("hello")).ok()
    assert json.loads((tmp_path / "j").read_text())["status"] == 0


# --- files that are handed over keep their paths

def test_paths_of_handed_files(margay, app, tmp_path):
    """By the path given, by name, and through dots; a file handed over has precedence over the
    folder's."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "one").write_text("one\n")
    (tmp_path / "a" / "two").write_text("two\n")
    for name, words in {"one": ("--file", "a/b/one", "a/b/one"),
                        "two": ("--file", "./a//two=x/y", "x/../x/./y")}.items():
        for shared in ((), ("--no-dir",)):
            run = margay("run", *shared, *words[:2], "--out", "got", app("output"), "copy", words[2],
                         "got").ok()
            assert (tmp_path / "got").read_text() == f"{name}\n", run
    margay("run", "--no-dir", "--file", "a/two", "--out", "got", app("output"), "copy", "two",
           "got").status(1).says("two: No such file")


def test_a_folder_that_is_handed_over(margay, app, tmp_path):
    (tmp_path / "tree" / "leaf").mkdir(parents=True)
    (tmp_path / "tree" / "leaf" / "green").write_text("green\n")
    (tmp_path / "tree" / "root").write_text("brown\n")
    for source, name, text in (("tree", "tree/leaf/green", "green\n"), ("tree=t", "t/root", "brown\n")):
        margay("run", "--no-dir", "--file", source, "--out", "got=out/put", app("output"), "copy", name,
               "out/put").ok()
        assert (tmp_path / "got").read_text() == text


def test_a_folder_that_cannot_be_read_whole(monkeypatch, tmp_path):
    """None of its files is left out silently."""
    (tmp_path / "leaf").mkdir()
    (tmp_path / "root").write_text("brown\n")
    scan = os.scandir

    def closed(path: str):
        if path.endswith("leaf"):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", closed)
    with pytest.raises(MargayError, match="--file .*/leaf: Permission denied"):
        options.parse(["--file", str(tmp_path), "app"])
