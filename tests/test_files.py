"""Files of nodes: the host's over 9P, and those in memory."""
from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from errno import EBUSY, EEXIST, EFBIG, ENAMETOOLONG, ENOENT, ENOMEM, ENOSPC, EROFS
from pathlib import Path

import pytest

from harness import HANG, MARGAY, ROOT

pytestmark = pytest.mark.files

PROGRAMS = ("posix_files", "posix_more", "posix_paths")
PLACES = {"9p": ("folder",), "memory": ("/tmp/folder",), "no-dir": ("--no-dir", "folder"),
          "read-write": ("--dir", ".:/shared", "/shared/folder")}


# --- the same on all systems

@pytest.fixture(scope="session")
def on_host(tmp_path_factory):
    """A program of tests/apps, compiled for the host."""
    def program(name: str) -> Path:
        made = tmp_path_factory.mktemp("host") / name
        subprocess.run(["cc", "-O1", "-w", "-o", made, ROOT / "tests" / "apps" / f"{name}.c"],
                       check=True)
        return made
    return program


@pytest.mark.nodes(1)
@pytest.mark.parametrize("name", PROGRAMS)
def test_same_everywhere(margay, app, on_host, tmp_path, name):
    wanted = subprocess.run([on_host(name), "folder"], cwd=tmp_path, check=True,
                            capture_output=True).stdout.decode().splitlines()
    assert len(wanted) > 100
    for place, args in PLACES.items():
        run = margay("run", *args[:-1], app(name), args[-1]).ok()
        assert run.lines == wanted, place
    assert not (tmp_path / "folder").exists()


# --- nothing outside the shared folders

OUTSIDE = "it is outside"
REACH = ("../outside/secret", "../own-sibling/secret", "relative", "absolute", "sibling", "in/secret",
         "in/../own-sibling/secret", "up/outside/secret", "sub/../../outside/secret", "chain",
         "in/new", "../outside/new", "/", "..", "up/..", "/etc/passwd", "/proc/self/environ")


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A folder to share, with links that lead outside."""
    own = tmp_path / "own"
    for name in ("own/sub", "own/own", "own-sibling", "outside"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("own-sibling", "outside"):
        (tmp_path / name / "secret").write_text(OUTSIDE)
    for name, target in {"relative": "../outside/secret", "up": "..", "in": "../outside",
                         "absolute": tmp_path / "outside" / "secret", "chain": "sub/link",
                         "sibling": tmp_path / "own-sibling" / "secret",
                         "sub/link": "../../outside/secret"}.items():
        (own / name).symlink_to(target)
    return own


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() if path.is_file() else ""
            for path in folder.rglob("*")}


@pytest.mark.nodes(1)
@pytest.mark.parametrize("guest", ["", ":/", ":/some/where"])
def test_nothing_outside(margay, app, tmp_path, shared, guest):
    before = {name: contents(tmp_path / name) for name in ("outside", "own-sibling")}
    run = margay("run", "--no-prefix", "--dir", f"{shared}{guest}", app("file_cases"), "reach",
                 *REACH, cwd=shared).ok()
    assert OUTSIDE not in run.stdout
    assert {name: contents(tmp_path / name) for name in before} == before
    for path in REACH[:10]:
        assert f"open {path}: {-ENOENT}" in run.lines, path
        assert not any(re.fullmatch(rf"(open|write|truncate) {re.escape(path)}: 0", line)
                       for line in run.lines), path
    assert not list(tmp_path.glob("*/new")) and not (tmp_path / "new").exists()


@pytest.mark.nodes(1)
def test_link_swapped_while_open(margay, app, tmp_path, shared):
    """A folder is replaced by a link to one outside, and back, between and during the calls."""
    (shared / "sub" / "file").write_text("inside")
    (tmp_path / "outside" / "file").write_text(OUTSIDE)
    (shared / "elsewhere").symlink_to(tmp_path / "outside")
    live = margay.start("run", "--no-prefix", app("file_cases"), "swapped", "sub/file", "inside", -1,
                        cwd=shared)
    live.wait_for("^begins$")
    swaps, end = 0, time.monotonic() + HANG
    while swaps < 3000 or (b"reads" not in live.out and time.monotonic() < end):
        swaps += 1
        os.rename(shared / "sub", shared / "kept")
        os.rename(shared / "elsewhere", shared / "sub")
        os.rename(shared / "sub", shared / "elsewhere")
        os.rename(shared / "kept", shared / "sub")
    (shared / "stop").touch()
    assert live.wait().ok().lines == ["begins", "reads", "ends"]
    assert sorted(os.listdir(tmp_path / "outside")) == ["file", "secret"]


CHANGES_REFUSED = {
    "open file", "open truncate", "open new", "unlink file", "rmdir sub", "mkdir new", "rename file",
    "rename sub", "link file", "symlink new", "truncate file", "chmod file", "utime file",
    "fchmod file", "futimens file", "access W", "openat new", "fchmod ."}


@pytest.mark.nodes(1)
@pytest.mark.parametrize("guest", ["", ":/in/nodes"])
def test_read_only(margay, app, tmp_path, guest):
    folder = tmp_path / "kept"
    (folder / "sub").mkdir(parents=True)
    (folder / "file").write_text("as it was")
    before = contents(folder), (folder / "file").stat(), folder.stat().st_mtime_ns
    run = margay("run", "--no-prefix", "--dir", f"{folder}{guest}:ro", app("file_cases"), "changes",
                 guest[1:] or folder).ok()
    results = dict(line.rsplit(": ", 1) for line in run.lines if ": " in line)
    assert {name for name, value in results.items() if int(value) == -EROFS} == CHANGES_REFUSED
    assert {name for name, value in results.items() if int(value) == -EEXIST} == {
        "open exclusive", "mkdir sub"}
    assert {name for name, value in results.items() if value == "0"} == {
        "open there", "access R", "fcntl append", "statfs ."}
    run.prints("^read only 1$")
    status = (folder / "file").stat()
    assert (contents(folder), folder.stat().st_mtime_ns) == (before[0], before[2])
    assert (status.st_mode, status.st_mtime_ns) == (before[1].st_mode, before[1].st_mtime_ns)


def test_folder_that_cannot_be_shared(margay, app, tmp_path):
    margay("run", "--dir", tmp_path / "none", app("hello")).status(125).says(
        r"margay: error: --dir .*/none: there is no such folder")
    (tmp_path / "file").touch()
    margay("run", "--dir", tmp_path / "file", app("hello")).status(125).says(
        r"margay: error: --dir .*/file: there is no such folder")
    for text in ("", ":", "a:b:c", "a:relative", "a:/b:rw"):
        margay("run", "--dir", text, app("hello")).status(125).says(
            r"margay: error: --dir .*not HOST\[:GUEST\]\[:ro\]")
    for guest, bytes in (("n" * 256, 257), ("n/" * 2100 + "n", 4202)):
        margay("run", "--dir", f"{tmp_path}:/{guest}", app("hello")).status(125).says(
            f"its path in the nodes is too long: {bytes} bytes$")
    margay("run", "--no-dir", "--dir", tmp_path, app("hello")).status(125).says("contradict")
    margay("run", "--dir", f"{tmp_path}:/a", "--dir", ".:/a", app("hello")).status(125).says(
        "^margay: error: two folders at /a$")


def test_current_folder_is_gone(app, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    run = subprocess.run(["sh", "-c", f'rmdir "{gone}"; exec "$0" "$@"', MARGAY, "run", app("hello")],
                         cwd=gone, capture_output=True, text=True)
    assert run.returncode == 125
    assert re.match(r"margay: error: the current folder cannot be shared: No such file", run.stderr)
    assert "Traceback" not in run.stderr


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root reads all folders")
def test_folder_that_cannot_be_read(app, tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir(mode=0)
    drop = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"] if os.geteuid() == 0 else []
    run = subprocess.run([*drop, MARGAY, "run", "--dir", folder, app("hello")], cwd=tmp_path,
                         capture_output=True, text=True)
    assert run.returncode == 125
    assert re.match(r"margay: error: --dir .*/closed: this folder cannot be read", run.stderr)
    run = subprocess.run([*drop, MARGAY, "run", "--dir", folder / "in", app("hello")], cwd=tmp_path,
                         capture_output=True, text=True)
    assert run.returncode == 125
    assert re.match(r"margay: error: --dir .*/in: a folder above it cannot be searched: Permission",
                    run.stderr)


# --- several ranks

@pytest.mark.nodes(2)
@pytest.mark.parametrize("ranks, lines", [(2, 1000), pytest.param(4, 10000, marks=pytest.mark.long)])
def test_appended_lines(margay, app, tmp_path, ranks, lines):
    margay("run", "-n", ranks, app("file_cases"), "append", lines).ok()
    found = (tmp_path / "log").read_text().split("\n")
    assert found.pop() == ""
    assert len(found) == ranks * lines
    places: dict[int, int] = dict.fromkeys(range(ranks), 0)
    for line in found:
        match = re.fullmatch(r"rank (\d+) line (\d+) (\.*)", line)
        assert match, line
        rank, number = int(match[1]), int(match[2])
        assert places[rank] == number, line      # none lost, in order
        assert len(line) == max(60 + number * 7 % 120, len(line) - len(match[3]))
        places[rank] += 1


@pytest.mark.nodes(4)
def test_all_see_writes(margay, app):
    run = margay("run", "-n", 4, "--no-prefix", app("file_cases"), "see").ok()
    assert run.lines == ["seen"] * 4


@pytest.mark.nodes(2)
def test_file_that_another_rank_replaces(margay, app):
    run = margay("run", "--no-prefix", "-n", 2, app("file_cases"), "replaced").ok()
    assert run.lines == [f"{call} file: {-ENOENT}" for call in ("ftruncate", "fchmod", "futimens")]


@pytest.mark.nodes(2)
def test_current_folder_that_another_rank_moves(margay, app, tmp_path):
    """Its path counts, as the host's server knows folders by their paths."""
    (tmp_path / "own").mkdir()
    (tmp_path / "outside/b").mkdir(parents=True)
    (tmp_path / "outside/b/file").write_text("out")
    run = margay("run", "--no-prefix", "-n", 2, "--dir", f"{tmp_path}/own", app("file_cases"), "moved",
                 tmp_path / "outside").ok()
    assert run.lines == ["old", "none", "none", "old", "new"]


@pytest.mark.nodes(2)
@pytest.mark.own_link
@pytest.mark.parametrize("way", ["shm", "virtio"])
def test_messages_beside_a_file_call(margay, app, way):
    margay("run", "-n", 2, "--link", way, "--mem", 64, "--no-prefix", app("file_calls"), "beside", 3
           ).ok().prints("^puts came$")


@pytest.mark.nodes(3)
def test_killed_while_it_writes(margay, app, tmp_path):
    live = margay.start("run", "-n", 3, "--no-prefix", "--on-death", "continue", app("file_cases"),
                        "killed", 1)
    live.wait_for("^writes$")
    live.wait_for("^waits$", count=2)
    live.kill_node(1)
    live.wait_for(r"rank 1\b.*died")
    (tmp_path / "stop").touch()
    run = live.wait().status(128 + signal.SIGKILL)
    run.says(r"margay: .*rank 1\b.*died")
    assert run.lines.count("saw it") == 2
    whole = (tmp_path / "records").read_text()
    assert len(whole) >= 100 * 1000
    for number, at in enumerate(range(0, len(whole), 1000)):
        record = f"record {number}".ljust(999, ".") + "\n"
        assert record.startswith(whole[at:at + 1000]) and (whole[at:at + 1000] == record
                                                           or at + 1000 > len(whole))
    assert sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith("tmp-")) == [
        "records", "stop"]


# --- numbers and sizes

@pytest.mark.nodes(1)
@pytest.mark.parametrize("where, limit", [("9p", None), ("9p", 1024), ("memory", None)])
def test_many_open_files(margay, app, where, limit):
    """At its limit of open files QEMU's server closes some and reopens them later."""
    args = ("--no-dir",) if where == "memory" else ()
    program = ("run", "--no-prefix", *args, app("file_cases"), "many", 1000)
    if limit:
        run = margay(*("-c", f'ulimit -n {limit}; exec "$0" "$@"', MARGAY, *program),
                     program=Path("/bin/sh"))
    else:
        run = margay(*program)
    run.ok().prints("^1024 open, then error 24$")


@pytest.mark.nodes(1)
@pytest.mark.parametrize("megabytes, said", [(0, "42 open, then error 23"),
                                             (16, "1024 open, then error 24")])
def test_open_files_take_memory_of_tmp(margay, app, megabytes, said):
    """Without it there are those of the first page (ENFILE), with it as many as descriptors."""
    run = margay("run", "--no-prefix", "--tmp", megabytes, app("file_cases"), "most").ok()
    assert run.lines == [said]


@pytest.mark.nodes(1)
def test_paths_of_open_folders_fill_their_table(margay, app):
    run = margay("run", "--no-prefix", "--no-dir", app("file_calls"), "paths").ok()
    assert run.lines == [f"rename too many: {-ENOMEM}", "rename fewer: 0",
                         f"rename too long: {-ENAMETOOLONG}"]


@pytest.mark.nodes(1)
@pytest.mark.parametrize("args", [(), ("--no-dir",)], ids=["9p", "memory"])
def test_large_sparse_file(margay, app, args):
    run = margay("run", "--no-prefix", *args, app("file_cases"), "sparse").ok()
    assert run.lines == [f"size {(1 << 32) + 11}, of them less than 1 MB there: 1",
                         f"then {3 << 30}", f"then {5 << 30}"]


def in_small_disc(margay, tmp_path: Path, script: str, *args: object):
    """Runs margay in a folder of 1 MB, in its own mount namespace."""
    if subprocess.run(["unshare", "-Urm", "true"], capture_output=True).returncode:
        pytest.skip("this user may not make a name space of mounts (unshare -Urm)")
    small = tmp_path / "small"
    small.mkdir()
    return margay("-Urm", "sh", "-c", f'mount -t tmpfs -o size=1m none "{small}" && cd "{small}" && '
                  f'{script}', MARGAY, *args, program=Path("/usr/bin/unshare"))


@pytest.mark.nodes(1)
def test_full_disc(margay, app, tmp_path):
    run = in_small_disc(margay, tmp_path, '"$0" "$@"', "run", "--no-prefix", app("file_cases"), "full",
                        "file").ok()
    run.prints(rf"^full: error {ENOSPC} after (9\d\d|10[0-2]\d) KB$")
    run.prints("^works again$")


RESERVED = f"reserve: error {ENOSPC}, size 0, then error 0, size 1000"


@pytest.mark.nodes(1)
def test_more_reserved_than_there_is(margay, app, tmp_path):
    """posix_fallocate fails before it fills the disk."""
    run = margay("run", "--no-prefix", app("file_cases"), "reserve", "/tmp/file").ok()
    assert run.lines == [RESERVED]
    run = in_small_disc(margay, tmp_path, '"$0" "$@"', "run", "--no-prefix", app("file_cases"),
                        "reserve", "file").ok()
    assert run.lines == [RESERVED]


@pytest.mark.nodes(1)
def test_full_memory(margay, app):
    run = margay("run", "--no-prefix", "--tmp", 2, app("file_cases"), "full", "/tmp/file").ok()
    run.prints(rf"^full: error {ENOSPC} after (19\d\d|20[0-4]\d) KB$")
    run.prints("^works again$")


@pytest.mark.nodes(1)
def test_names_in_full_memory(margay, app):
    margay("run", "--no-prefix", "--tmp", 2, app("file_cases"), "names").ok().prints("^all are there$")


@pytest.mark.nodes(1)
def test_too_far(margay, app):
    run = margay("run", "--no-prefix", app("file_cases"), "far", "/tmp/file").ok()
    assert run.lines == [f"pwrite /tmp/file: {-EFBIG}", "fallocate /tmp/file: 0"]


@pytest.mark.nodes(1)
def test_refused_rename(margay, app, tmp_path):
    """The host refuses to rename a mount point: the open file that would have been replaced
    keeps its name."""
    script = ('echo one >kept; >from; mount --bind kept from; echo two >onto; "$0" "$@" && '
              'umount from && ls -A')
    run = in_small_disc(margay, tmp_path, script, "run", "--no-prefix", app("file_cases"), "refused",
                        "from", "onto").ok()
    assert run.lines == [f"rename from: {-EBUSY}", "open before: two", "open after: two",
                         "from", "kept", "onto"]


# --- costs

@pytest.mark.nodes(1)
@pytest.mark.parametrize("path, copied", [("file", 0), ("/tmp/file", 16 << 20)])
def test_copied_bytes(margay, app, path, copied):
    run = margay("run", "--stats", "--mem", 64, app("file_cases"), "copied", path).ok()
    for name, value in {"file_bytes_out": 8 << 20, "file_bytes_in": 8 << 20,
                        "file_bytes_copied": copied}.items():
        assert run.says(rf"^margay: {name} +(\d+)$")[1] == str(value), name


@pytest.mark.nodes(1)
def test_short_read_is_one_request(margay, app):
    """The host's answer with fewer bytes is the end: each answer interrupts."""
    run = margay("run", "--stats", app("file_calls"), "short", 1000).ok()
    assert int(run.says(r"^margay: interrupts +(\d+)$")[1]) < 1500
