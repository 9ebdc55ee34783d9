"""Runs `tools/margay` for the tests, and checks that a run left nothing behind.

A `Margay` object owns every process that one test starts. Each start gets its own session, a tag in
its environment, and an empty TMPDIR, so that its processes and files can be found beside other runs
on this machine. Used by conftest.py, whose fixture `margay` makes one object per test.
"""
from __future__ import annotations

import fcntl
import os
import re
import select
import shlex
import signal
import subprocess
import threading
import time
import uuid
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Callable, Iterator, TypeVar

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
MARGAY = ROOT / "tools" / "margay"
TAG = "MARGAY_TEST_RUN"
T = TypeVar("T")

# Default deadline of one run: it only detects a hang, and a busy machine may be six times slower.
HANG = 180.0
# Time for the kernel to reap the children of a killed launcher.
REAP = 20.0
# Time for the ranks of a hung job to report what they wait for.
ANSWER = 1.0


class Run:
    """A run that has ended: its command, output and status."""

    def __init__(self, command: list[str], returncode: int, out: bytes, err: bytes,
                 seconds: float) -> None:
        self.command = command
        self.returncode = returncode
        self.out = out
        self.err = err
        self.seconds = seconds
        self.stdout = out.decode("utf-8", "replace")
        self.stderr = err.decode("utf-8", "replace")

    @property
    def lines(self) -> list[str]:
        """Standard output's lines, in order."""
        return self.stdout.splitlines()

    def of_rank(self, rank: int) -> list[str]:
        """Standard output's lines of one rank, without the prefix."""
        return [m.group(2) for line in self.lines
                if (m := re.match(r"\[ *(\d+)\] ?(.*)$", line)) and int(m.group(1)) == rank]

    def ok(self) -> Run:
        """Asserts that the run ended with status 0."""
        return self.status(0)

    def status(self, wanted: int) -> Run:
        assert self.returncode == wanted, (
            f"status {self.returncode}, expected {wanted}\n{self.describe()}")
        return self

    def says(self, pattern: str) -> re.Match[str]:
        """Asserts that a line of standard error matches, and returns the match."""
        found = re.search(pattern, self.stderr, re.M)
        assert found, f"standard error lacks /{pattern}/\n{self.describe()}"
        return found

    def prints(self, pattern: str) -> re.Match[str]:
        """Asserts that a line of standard output matches, and returns the match."""
        found = re.search(pattern, self.stdout, re.M)
        assert found, f"standard output lacks /{pattern}/\n{self.describe()}"
        return found

    def ends_after_a_death(self, others: str, error: str) -> None:
        """The launcher ends these ranks, or one ends before with this error; "": there is none."""
        statuses = (1, 128 + signal.SIGKILL) if error else (128 + signal.SIGKILL,)
        assert self.returncode in statuses, self.describe()
        by_launcher = rf"^margay: ended ranks {others}: still running 2 s after that$"
        self.says(rf"{by_launcher}|{error}" if error else by_launcher)

    def broken(self, victims: set[int], link: str) -> set[int]:
        """The ranks that have lost Portals because a victim died while it held the lock of their
        block: calls fail with PTL_FAIL. Over shared memory only, and a node holds one lock at a
        time."""
        found = {int(rank) for rank in re.findall(r"^\[(\d+)\] .*: PTL_FAIL$", self.stderr, re.M)}
        assert not found or link == "shm", f"PTL_FAIL over {link}\n{self.describe()}"
        assert len(found) <= len(victims) and not found & victims, self.describe()
        return found

    def describe(self, last: int = 25) -> str:
        def tail(text: str) -> str:
            rows = text.splitlines()
            cut = [f"... {len(rows) - last} lines before"] if len(rows) > last else []
            return "\n".join("    " + row[:300] for row in cut + rows[-last:])
        return (f"$ {shlex.join(self.command)}\n  status {self.returncode} "
                f"after {self.seconds:.1f} s\n  stdout:\n{tail(self.stdout)}\n"
                f"  stderr:\n{tail(self.stderr)}")


class Live:
    """A run in progress: wait for its lines, signal it, end it."""

    def __init__(self, args: list[str], stdin: bytes | None, env: dict[str, str], cwd: Path,
                 own: Path, pass_fds: tuple[int, ...] = (), more_input: bool = False) -> None:
        self.command = args
        self.tag = f"{TAG}={uuid.uuid4().hex}"
        self.scratch = own / f"tmp-{self.tag[-8:]}"
        self.scratch.mkdir()
        name, value = self.tag.split("=")
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=cwd, start_new_session=True, pass_fds=pass_fds,
            env={**os.environ, "TMPDIR": str(self.scratch), "XDG_RUNTIME_DIR": str(self.scratch),
                 **env, name: value})
        self.more_input = more_input
        self.out = bytearray()
        self.err = bytearray()
        self.news = threading.Condition()
        self.left = threading.Event()   # standard output is no longer read
        self.readers = [threading.Thread(target=self._read, args=pair, daemon=True)
                        for pair in ((self.process.stdout, self.out),
                                     (self.process.stderr, self.err))]
        self.writer = threading.Thread(target=self._write, args=(stdin,), daemon=True)
        for thread in (*self.readers, self.writer):
            thread.start()

    def _read(self, pipe: IO[bytes], into: bytearray) -> None:
        while not (pipe is self.process.stdout and self.left.is_set()):
            if not select.select([pipe], [], [], 0.1)[0]:
                continue
            chunk = os.read(pipe.fileno(), 1 << 16)
            if not chunk:
                break
            with self.news:
                into += chunk
                self.news.notify_all()
        with self.news:
            self.news.notify_all()

    def leave(self) -> None:
        """Closes the reading end of the output, as a reader like head does."""
        self.left.set()
        self.readers[0].join()
        self.process.stdout.close()

    def _write(self, data: bytes | None) -> None:
        try:
            if data:
                self.process.stdin.write(data)
            if not self.more_input:
                self.process.stdin.close()
        except BrokenPipeError:
            pass

    def wait_for(self, pattern: str, deadline: float = HANG, count: int = 1) -> list[re.Match]:
        """Waits until `count` lines of output or error match; fails at the deadline."""
        wanted = re.compile(pattern.encode(), re.M)
        end = time.monotonic() + deadline
        with self.news:
            while True:
                found = [*wanted.finditer(bytes(self.out)), *wanted.finditer(bytes(self.err))]
                if len(found) >= count:
                    return found
                left = end - time.monotonic()
                over = self.process.poll() is not None and not any(
                    t.is_alive() for t in self.readers)
                if left <= 0 or over:
                    break
                self.news.wait(min(left, 0.2))
        why = "ended" if over else f"did not print it within {deadline:.0f} s"
        raise AssertionError(f"/{pattern}/ came {len(found)} of {count} times; the run {why}\n"
                             + self._ended().describe())

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def kill_node(self, node: int, after: float = 0.0) -> None:
        """Kills a node's QEMU, `after` seconds from now."""
        let_time_pass(after)
        os.kill(self.nodes()[node], signal.SIGKILL)

    def processes(self) -> list[int]:
        """All living descendants of this run, including the launcher."""
        return [pid for pid in all_pids() if belongs(pid, self.process.pid, self.tag)]

    def nodes(self) -> dict[int, int]:
        """Process ids of the QEMU processes by node number; not of the node that probes KVM, which
        is number 0 before the job begins."""
        found = {}
        for pid in self.processes():
            line = command_line(pid)
            node = re.search(r"\bnode=(\d+)", line)
            if "qemu-system" in line.split(" ")[0] and node and "MARGAY_PROBE" not in line:
                found[int(node.group(1))] = pid
        return found

    def wait(self, deadline: float = HANG) -> Run:
        """Waits for the end; a run that outlives its deadline is a hang."""
        try:
            self.process.wait(deadline)
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGQUIT)     # every rank reports what it waits for
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(ANSWER)
            raise AssertionError(f"hang: still running after {deadline:.0f} s\n"
                                 + self._ended().describe(60)) from None
        for thread in self.readers:
            thread.join(REAP)
        return self._ended()

    def _ended(self) -> Run:
        code = self.process.poll()
        return Run(self.command, 999 if code is None else code, bytes(self.out),
                   bytes(self.err), time.monotonic() - self.started)

    def leftovers(self) -> list[str]:
        """Processes and files left by the ended run; waits briefly for dying ones."""
        with suppress(AssertionError):
            until(lambda: not self.processes(), deadline=REAP)
        found = [f"process {pid}: {command_line(pid)[:200]}" for pid in self.processes()]
        found += [f"file {path}" for path in self.scratch.rglob("*")]
        found += [f"shared memory {path}" for path in Path("/dev/shm").glob("*margay*")]
        with open("/proc/net/unix", encoding="ascii", errors="replace") as table:
            found += [f"socket {row.split()[-1]}" for row in table if str(self.scratch) in row]
        return found

    def kill(self) -> None:
        """Kills all remaining processes at once."""
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()
        if self.more_input:
            self.writer.join()
            with suppress(BrokenPipeError):
                self.process.stdin.close()


class Margay:
    """Starts runs for one test and cleans up after it."""

    def __init__(self, cwd: Path, link: str = "shm") -> None:
        self.cwd = cwd
        self.link = link          # of runs that do not name one
        self.live: list[Live] = []
        self.runs: list[Run] = []

    def rounds(self, n: int) -> int:
        """`n` rounds over shared memory, an eighth of them over cards, which takes as long."""
        return n if self.link == "shm" else max(n // 8, 1)

    def start(self, *args: object, input: bytes | str | None = None,
              env: dict[str, str] | None = None, cwd: Path | None = None,
              program: Path = MARGAY, pass_fds: tuple[int, ...] = (),
              more_input: bool = False) -> Live:
        """With `more_input` standard input does not end after `input`."""
        data = input.encode() if isinstance(input, str) else input
        if self.link != "shm" and args[:1] == ("run",) and "--link" not in args:
            args = ("run", "--link", self.link, *args[1:])
        live = Live([str(program), *map(str, args)], data, env or {}, cwd or self.cwd, self.cwd,
                    pass_fds, more_input)
        self.live.append(live)
        return live

    def __call__(self, *args: object, input: bytes | str | None = None, timeout: float = HANG,
                 env: dict[str, str] | None = None, cwd: Path | None = None,
                 program: Path = MARGAY) -> Run:
        live = self.start(*args, input=input, env=env, cwd=cwd, program=program)
        run = live.wait(timeout)
        self.runs.append(run)
        return run

    def close(self) -> list[str]:
        """Kills what still runs, and returns what ended runs have left."""
        left: list[str] = []
        for live in self.live:
            if live.process.poll() is None:
                live.kill()
            else:
                left += live.leftovers()
                live.kill()
        return left


def all_pids() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(
            "utf-8", "replace")
    except OSError:
        return ""


def until(holds: Callable[[], T], why: str = "", deadline: float = HANG) -> T:
    """Waits for a condition without an event: a process, a file, another's output. Returns the
    first true result; fails at the deadline."""
    end = time.monotonic() + deadline
    pause = 0.001
    while not (answer := holds()):
        assert time.monotonic() < end, why or f"nothing came of it in {deadline:.0f} s"
        time.sleep(pause)
        pause = min(pause * 1.1, 0.02)
    return answer


def let_time_pass(seconds: float) -> None:
    """Lets time pass where time itself is a test's subject: a death after 0 to 400 ms, a node
    that is stopped for a second, a late peer. For conditions there are Live.wait_for() and
    until()."""
    time.sleep(seconds)


def stop(pid: int) -> float:
    """Stops all threads of a process, and waits for that. Returns the time of the request."""
    asked = time.monotonic()
    os.kill(pid, signal.SIGSTOP)
    until(lambda: set(states(pid)) <= set("TtZX"), "a thread does not stop")
    return asked


def states(pid: int) -> list[str]:
    """The states of all threads of a process, from /proc; some threads may end meanwhile."""
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(OSError):
            found.append(path.read_text().rsplit(")", 1)[1].split()[0])
    return found


def cpu_seconds(pid: int) -> float:
    """Processor time of a process; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def no_libraries(folder: Path, cache: str = "cache") -> dict[str, str]:
    """An environment in which no library of the languages or MPI is built yet: an empty cache below
    this folder, and the checkout's build folder without the libraries that are built there if a
    cache cannot be written."""
    build = folder / "build"
    build.mkdir()
    for entry in BUILD.iterdir():
        if entry.name != "languages":
            (build / entry.name).symlink_to(entry)
    return {"XDG_CACHE_HOME": str(folder / cache), "MARGAY_BUILD": str(build)}


def belongs(pid: int, session: int, tag: str) -> bool:
    """Whether this living process is of the session, or has the tag."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        state, _, _, its_session = stat.rsplit(")", 1)[1].split()[:4]
        if state in "ZX":
            return False
        return (int(its_session) == session
                or tag.encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))
    except OSError:
        return False


@contextmanager
def cores(wanted: int, where: Path) -> Iterator[None]:
    """Holds `wanted` of the two tokens for spinning nodes, across all test processes.

    One gate at a time collects tokens, so two tests never wait for each other.
    """
    held: list[IO[str]] = []
    where.mkdir(parents=True, exist_ok=True)
    try:
        if wanted:
            with open(where / "gate", "w") as gate:
                fcntl.flock(gate, fcntl.LOCK_EX)
                for number in range(2):
                    if len(held) == min(wanted, 2):
                        break
                    token = open(where / f"core{number}", "w")
                    blocking = 0 if min(wanted, 2) == 2 or number == 1 else fcntl.LOCK_NB
                    try:
                        fcntl.flock(token, fcntl.LOCK_EX | blocking)
                        held.append(token)
                    except BlockingIOError:
                        token.close()
        yield
    finally:
        for kept in held:
            kept.close()
