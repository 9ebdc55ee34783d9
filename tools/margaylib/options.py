"""The command line of `margay run` (and `gdb`, `iso`, `pxe`, which have a few of their own).

parse() turns arguments into RunOptions or raises a MargayError; it reads no
file and starts nothing. What people know from mpirun is in foreign.py.
"""
from __future__ import annotations

import os
from pathlib import Path

from . import links
from .errors import MargayError

MAX_NODES = 1024
MOST_ARGS = 1024              # the kernel's PARAMETER_ARGS, the application's name included
MOST_ENV = 256                # the kernel's PARAMETER_ENV
PATH_BYTES = 4095            # of a path in the nodes: the kernel's PARAMETER_PATH, without its NUL
FILE_NAME_BYTES = 255        # of each name in it
MOST_PATIENCE = 1 << 31      # seconds: for ever
MOST_OUTS = 64                # FILE_OUT_LIMIT of kernel/files/handed.h
LEAST_SLOTS, MOST_SLOTS = 64, 32768   # MARGAY_EVENT_SLOTS_* of margay/notes.h
NAME_BYTES = 231              # of region_file.name, without its NUL
MACHINES = ("microvm", "q35", "pc")
BINDINGS = ("none", "core")
ACCELS = ("auto", "tcg", "kvm")
MB = 1 << 20

# names, value's name ('' for a flag, in brackets if optional), attribute, help
Row = tuple[tuple[str, ...], str, str, str]
TABLE: tuple[Row, ...] = (
    (("-n", "-np", "--np", "-c"), "N", "nodes", "nodes to boot, one rank each: 1 to 1024, over network "
     "cards 256, with two cards each 128 (1)"),
    (("--mem",), "MB", "mem", "each node's segment: program, heap and stack (64)"),
    (("--stack",), "MB", "stack", "stack inside the segment, at most half of it (8, or a "
     "quarter of --mem if that is less)"),
    (("--event-slots",), "N", "event_slots", "slots of all event queues of a process, 64 to 32768 "
     "(what the program says, or 8192)"),
    (("--link",), "LINK", "link", "how nodes talk: shm; virtio, e1000 or e1000e: network cards "
     "(shm)"),
    (("--control",), "C", "control", "arrivals while a rank computes: interrupt, poll or "
     "watchdog (interrupt)"),
    (("--no-bulk",), "", "no_bulk", "no second virtio card, which delivers long messages without a "
     "copy"),
    (("--crc",), "", "crc", "checksums of the payload of frames"),
    (("--auth",), "[=HEX]", "auth", "sign frames with the job's key, and drop others (a random key)"),
    (("--faults",), "LIST", "faults", "of the switch: loss=1%,dup=0.5%,reorder=2%,damage=0.1%,"
     "delay=1%:500us,cut=0-3:100-200,stop=2:50-80,seed=7 (cut, stop: ms)"),
    (("--pcap",), "F", "pcap", "write the frames that enter the switch to F"),
    (("--latency",), "US", "latency", "of each node's link to the switch, in us; of node 3's "
     "link: 3:500; both: 20,3:500"),
    (("--bandwidth",), "MBPS", "bandwidth", "of each node's link, each way, in MB/s; as --latency"),
    (("--direct",), "", "direct", "join the cards of two nodes without the switch"),
    (("--dir",), "HOST[:GUEST][:ro]", "dir", "share folder HOST with the nodes, as GUEST; :ro: "
     "they may only read it; repeat (the current folder is shared unless this says otherwise)"),
    (("--tmp",), "MB", "tmp", "each node's file system in memory, at /tmp; 0: none (16)"),
    (("--no-dir",), "", "no_dir", "share no folder: files are --file's and --out's only"),
    (("--file",), "F[=NAME]", "file", "hand file F to the nodes, read only, as NAME "
     "(as F); a folder: all its files; a pipe: to its end; repeat"),
    (("--out",), "F[=NAME]", "out", "a file that rank 0 may write, as NAME (as F); repeat"),
    (("--stdin", "-s"), "RANKS", "stdin", "the ranks that read standard input, each of them all: a "
     "rank, a list like 0,2-4, all or none (0)"),
    (("--argv0",), "NAME", "argv0", "the application's argv[0] (APP)"),
    (("--env",), "K=V", "env", "a variable for the application (K alone: copy it); repeat"),
    (("--timeout",), "S", "timeout", "end the job after S seconds, status 124"),
    (("--on-death",), "D", "on_death", "when a node's machine dies: end the job, continue "
     "without it, restart it (end)"),
    (("--restarts",), "N", "restarts", "of one node, with --on-death restart (3)"),
    (("--accel",), "A", "accel", "tcg, kvm or auto: kvm if a probe node came up with it (auto)"),
    (("--machine",), "M", "machine", "QEMU's machine type: microvm, q35 or pc (by the link)"),
    (("--bind-to",), "B", "bind_to", "core: each node keeps to one core of this host, in turn; "
     "or none (none)"),
    (("--boot",), "ISO", "boot", "boot the nodes by GRUB from an image that `margay iso` made"),
    (("--no-prefix",), "", "no_prefix", "no rank before lines: output is byte for byte what "
     "the ranks wrote"),
    (("--output-dir",), "D", "output_dir", "output to D/rank<K>.out and .err, not to the terminal"),
    (("--dry-run",), "", "dry_run", "print the QEMU command lines and start nothing"),
    (("--verbose", "-v"), "", "verbose", "print what was chosen, and the nodes' serial lines"),
    (("--stats",), "", "stats", "a table of each node's counters at the end"),
    (("--json",), "F", "json", "write the job's outcome, times and counters to F"),
)
# for the tests and benchmarks of margay itself
OWN_TABLE = (
    (("--icount",), "", "icount", "a node counts guest instructions as its time"),
    (("--selftest",), "NAME", "selftest", "a test inside the kernels before the application"),
    (("--kernel",), "K=V", "kernel", "one more key for the kernel's command line; repeat"),
    (("--cards",), "N", "cards", "cards of each node, 1 to 4 (1)"),
    (("--test-port",), "FD:NODE[.CARD]", "test_ports", "one more port of the switch, on an "
     "inherited socket; repeat"),
    (("--accept-forged",), "", "accept_forged", "the switch forwards frames with a forged sender"),
)
GDB_TABLE = (
    (("--rank",), "K", "rank", "the rank to debug (0)"),
    (("--ex",), "CMD", "ex", "a gdb command to run after the stop in main; repeat"),
    (("--batch",), "", "batch", "gdb ends after the --ex commands"),
)
ISO_TABLE = (
    (("-n", "-np", "--np", "-c"), "N", "nodes", "menu entries, one per node, 1 to 1024 (1)"),
    (("-o",), "F.iso", "output", "the image to write"),
    (("--link",), "LINK", "link", "virtio, e1000 or e1000e: the boards' cards; none: one board "
     "alone; shm: for margay run --boot only (shm)"),
    (("--control",), "C", "control", "as for margay run"),
    (("--crc",), "", "crc", "as for margay run"),
    (("--auth",), "[=HEX]", "auth", "as for margay run"),
    (("--mtu",), "BYTES", "mtu", "longest frame; if all your switches pass longer ones, more is "
     "faster (1514)"),
    (("--patience",), "S", "patience", "how long a node waits for boards that are not switched on "
     "yet, in seconds since it booted (600)"),
    (("--stack",), "MB", "stack", "stack inside the segment (8)"),
    (("--env",), "K=V", "env", "environment variable of the application; repeat"),
    (("--file",), "F[=NAME]", "file", "a file for the application, as NAME (as F), or all of a "
     "folder; modules of the image; repeat"),
    (("--board",), "ID", "board", "the board of node 0, then of node 1 ...: its network address "
     "(PXE), or the system's serial number or UUID (SMBIOS); repeat"),
    (("--node",), "K", "node", "start this node's entry on every board"),
    (("--stay",), "", "stay", "leave boards on at the end, for people to read the screen"),
)
PXE_TABLE = tuple((row[0], "FOLDER", row[2], "the folder to fill, for a TFTP server")
                  if row[2] == "output" else row for row in ISO_TABLE)
GRUB_TABLES = {"iso": ISO_TABLE, "pxe": PXE_TABLE}     # commands that boot no machine themselves

# Options that an image's own command line decides: attribute, how it is given, whether `margay iso`
# takes it.
OF_IMAGES = (("args", "arguments", True), ("argv0", "--argv0", False), ("env", "--env", True),
             ("stack", "--stack", True), ("control", "--control", True),
             ("crc", "--crc", True), ("auth", "--auth", True), ("event_slots", "--event-slots", False),
             ("kernel", "--kernel or --selftest", False), ("cards", "--cards", False),
             ("stats", "--stats", False))


class HostFile:
    """A --file or --out: its name in the nodes, its path here, its data if it was read."""

    def __init__(self, path: str, name: str, out: bool) -> None:
        self.path = path
        self.out = out
        self.name = name          # relative to where the application starts, or absolute
        self.fd = -1
        self.content: bytes | None = None


class RunOptions:
    """What the user asked for, checked; sizes in bytes."""

    def __init__(self) -> None:
        self.command = "run"      # or gdb, iso, pxe
        self.nodes = 1
        self.mem = 64 * MB
        self.stack = 0            # 0: choose by --mem
        self.event_slots = 0      # 0: as the image's note says
        self.link = "shm"
        self.cards = 0            # network cards of each node
        self.no_bulk = self.bulk = False  # the second card is not, is a bulk card
        self.control = ""         # how a computing node learns of arrivals
        self.crc = False
        self.auth = ""            # the job's key, in hexadecimal
        self.secret = os.urandom(16)      # seed of the job's first handles
        self.faults = self.pcap = ""
        self.latency = self.bandwidth = ""        # as the switch takes them
        self.direct = self.accept_forged = False
        self.test_ports: list[tuple[int, str]] = []     # descriptor, NODE or NODE.CARD
        self.on_death = "end"
        self.restarts = 0         # most restarts of one node
        self.files: list[HostFile] = []
        self.dirs: list[tuple[str, str, bool]] = []  # host's path, nodes' path, read only
        self.no_dir = False
        self.tmp = 16             # MB of each node's file system in memory
        self.cwd = ""             # where the application starts; "": the root
        self.env: list[str] = []
        self.timeout = 0.0        # 0: none
        self.accel = "auto"
        self.machine = ""         # '': by the link
        self.bind_to = "none"     # or core
        self.boot = ""
        self.no_prefix = False
        self.output_dir: Path | None = None
        self.dry_run = False
        self.verbose = False
        self.stats = False
        self.json: Path | None = None
        self.notes: list[str] = []        # printed on standard error before the job starts
        self.app = ""
        self.args: list[str] = []
        self.stdin = "0"
        self.stdin_ranks = [0]    # the same as a list
        self.argv0 = ""           # the first argument, in place of the application's path
        self.icount = False
        self.kernel: list[tuple[str, str]] = []
        # gdb
        self.rank = 0
        self.ex: list[str] = []
        self.batch = False
        # iso and pxe
        self.output = ""
        self.mtu = 0              # 0: the card's
        self.patience = 0         # s; 0: the kernel chooses
        self.boards: list[str] = []
        self.node = -1
        self.stay = False

    @property
    def stack_bytes(self) -> int:
        return self.stack or min(8 * MB, self.mem // 4)


def parse(args: list[str], command: str = "run") -> RunOptions:
    table = {"run": TABLE + OWN_TABLE, "gdb": TABLE + OWN_TABLE + GDB_TABLE,
             **GRUB_TABLES}[command]
    options = RunOptions()
    options.command = command
    words = Words(args, command)
    while (word := words.next_option()) is not None:
        name, value = _split(word)
        row = _lookup(table, name)
        if row is None and command not in GRUB_TABLES:
            from . import foreign
            if foreign.take(options, name, value, words, set_option):
                continue
        if row is None:
            raise _unknown(name, table, command)
        _take(options, row, name, value, words)
    words.application(options, command)
    _check(options, command)
    return options


def _take(options: RunOptions, row: Row, name: str, value: str | None, words: Words) -> None:
    """Sets the option of a row of the table; `value` is what follows a `=`."""
    if takes_word(row):
        value = value if value is not None else words.value(name)
    elif not row[1] and value is not None:
        raise MargayError(f"{name} takes no value", f"write {name} alone")
    elif value == "":             # as when a shell's variable is not set
        raise MargayError(f"{name}= has no value", f"write {name} alone, or {name}=VALUE")
    set_option(options, row[2], name, value or "")


def takes_word(row: Row) -> bool:
    """Does the option take the next word? An optional value follows a `=`."""
    return row[1] != "" and row[1][0] != "["


class Words:
    """The arguments from left to right: options, then the application, then its arguments."""

    def __init__(self, args: list[str], command: str) -> None:
        self.args = args
        self.command = command
        self.at = 0

    def next_option(self) -> str | None:
        if self.at < len(self.args):
            word = self.args[self.at]
            if word == "--":
                self.at += 1
                return None
            if word.startswith("-") and word != "-":
                self.at += 1
                return word
        return None

    def value(self, name: str) -> str:
        if self.at >= len(self.args):
            raise MargayError(f"{name} needs a value", f"see: margay {self.command} --help")
        self.at += 1
        return self.args[self.at - 1]

    def application(self, options: RunOptions, command: str) -> None:
        rest = self.args[self.at:]
        if not rest or not rest[0]:
            arguments = "[-- arguments]" if command in GRUB_TABLES else "[arguments]"
            raise MargayError("the application's name is empty" if rest else "no application is named",
                              f"usage: margay {command} [options] APP {arguments}")
        options.app, options.args = rest[0], rest[1:]
        if command in GRUB_TABLES:
            # `iso APP -n N -o F.iso`: options may follow the application
            _late_options(options, command)
        elif "--" not in self.args[:self.at]:
            from . import foreign
            if ":" in rest:
                foreign.check_colon(options.args)
            foreign.note_late_nodes(options, self.args[:self.at])


def _late_options(options: RunOptions, command: str) -> None:
    rest, options.args = options.args, []
    words = Words(rest, command)
    while words.at < len(rest):
        word = words.next_option()
        if word is None:
            options.args = rest[words.at:]
            return
        name, value = _split(word)
        row = _lookup(GRUB_TABLES[command], name)
        if row is None:
            raise _unknown(name, GRUB_TABLES[command], command)
        _take(options, row, name, value, words)


def _split(word: str) -> tuple[str, str | None]:
    """Splits --mem=64 and -n4, the short forms of --mem 64 and -n 4."""
    if word.startswith("--") and "=" in word:
        name, value = word.split("=", 1)
        return name, value
    if len(word) > 2 and word[:2] == "-n" and word[2:].lstrip("=").isdigit():
        return "-n", word[2:].lstrip("=")
    return word, None


def _lookup(table: tuple[Row, ...], name: str) -> Row | None:
    for row in table:
        if name in row[0]:
            return row
    # -mem for --mem, as mpirun does; but its -env takes two words.
    if len(name) > 2 and not name.startswith("--") and name != "-env":
        return _lookup(table, "-" + name)
    return None


def _unknown(name: str, table: tuple[Row, ...], command: str) -> MargayError:
    from difflib import get_close_matches
    known = [known for row in table for known in row[0]] + ["--help", "--version"]
    if name in ("--help", "--version"):
        return MargayError(f"{name} is not an option of a job", f"write margay {command} {name}")
    near = get_close_matches(name, known, 1, 0.6) or get_close_matches("-" + name, known, 1, 0.7)
    cure = f"did you mean {near[0]}?  " if near else ""
    return MargayError(f"unknown option {name}", f"{cure}All options: margay {command} --help")


def set_option(options: RunOptions, attribute: str, name: str, value: str) -> None:
    """Sets one option from its text; errors name it."""
    if attribute in ("no_prefix", "no_dir", "dry_run", "verbose", "stats", "batch", "icount", "direct",
                     "crc", "no_bulk", "accept_forged", "stay"):
        setattr(options, attribute, True)
    elif attribute == "nodes":
        options.nodes = _number(name, value, 1, MAX_NODES, f"a machine has 1 to {MAX_NODES} nodes")
    elif attribute in ("mem", "stack"):
        setattr(options, attribute, size(name, value))
    elif attribute == "link":
        known = (*links.LINKS, "none") if options.command in GRUB_TABLES else links.LINKS
        options.link = value if value == "none" else _choice(name, value, known)
    elif attribute == "cards":
        options.cards = _number(name, value, 1, links.MOST_CARDS, "a node has at most 4 cards")
    elif attribute == "control":
        options.control = _choice(name, value, links.CONTROLS)
    elif attribute == "on_death":
        options.on_death = _choice(name, value, links.DEATHS)
    elif attribute == "restarts":
        options.restarts = _number(name, value, 1, 1000, "of each node")
    elif attribute == "test_ports":
        options.test_ports.append(_port(name, value))
    elif attribute == "auth":
        options.auth = links.job_key(name, value)
    elif attribute in ("latency", "bandwidth"):
        setattr(options, attribute, links.link_values(name, value))
    elif attribute in ("faults", "pcap"):
        if not value:
            raise MargayError(f"{name} needs a value",
                              f"write {name} {'loss=1%' if attribute == 'faults' else 'F.pcap'}")
        setattr(options, attribute, value)
    elif attribute == "accel":
        options.accel = _choice(name, value, ACCELS)
    elif attribute == "machine":
        options.machine = _choice(name, value, MACHINES)
    elif attribute == "bind_to":
        options.bind_to = _choice(name, value, BINDINGS)
    elif attribute == "event_slots":
        options.event_slots = _number(name, value, LEAST_SLOTS, MOST_SLOTS, "event slots")
    elif attribute == "tmp":
        options.tmp = _number(name, value, 0, 512, "MB of each node's memory")
    elif attribute == "dir":
        options.dirs.append(_dir(name, value))
    elif attribute in ("file", "out"):
        _add_file(options, name, value, attribute == "out")
    elif attribute == "env":
        _add_env(options, name, value)
    elif attribute == "timeout":
        options.timeout = _seconds(name, value)
    elif attribute in ("output_dir", "json"):
        if not value:
            raise MargayError(f"{name} needs a path", f"write {name} PATH")
        setattr(options, attribute, Path(value))
    elif attribute in ("rank", "node"):
        setattr(options, attribute, _number(name, value, 0, MAX_NODES - 1, "ranks start at 0"))
    elif attribute == "mtu":
        options.mtu = _number(name, value, 512, 65549, "bytes of a frame without its CRC")
    elif attribute == "patience":
        options.patience = _number(name, value, 1, MOST_PATIENCE, "seconds")
    elif attribute == "board":
        options.boards.append(value)
    elif attribute == "selftest":
        options.kernel.append(("selftest", value))
    elif attribute == "kernel":
        options.kernel.append(_pair(name, value))
    elif attribute == "ex":
        options.ex.append(value)
    else:
        setattr(options, attribute, value)


def size(name: str, text: str) -> int:
    """A size in bytes, given in MB or with the unit K, M, G or T."""
    units = {"K": 1 << 10, "M": MB, "G": 1 << 30, "T": 1 << 40}
    number, factor = text.upper().removesuffix("B"), MB
    if number[-1:] in units:
        number, factor = number[:-1], units[number[-1]]
    try:
        count = int(float(_plain(number)) * factor)
    except (ValueError, OverflowError):
        count = 0
    if count <= 0:
        raise MargayError(f"{name} {text}: not a size",
                          f"give megabytes, like {name} 64, or a unit, like {name} 2G")
    return count


def _plain(text: str) -> str:
    """The text of a number. Python also takes 1_0 and other scripts' digits, which are mistakes."""
    if not text.isascii() or "_" in text:
        raise ValueError
    return text


def _number(name: str, text: str, low: int, high: int, cure: str) -> int:
    try:
        number = int(_plain(text))
    except ValueError:
        raise MargayError(f"{name} {text}: not a whole number",
                          f"give a number from {low} to {high}") from None
    if not low <= number <= high:
        raise MargayError(f"{name} {text} is out of range", f"give {low} to {high}: {cure}")
    return number


def _seconds(name: str, text: str) -> float:
    try:
        seconds = float(_plain(text))
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e9:
        raise MargayError(f"{name} {text}: not a time", f"give seconds, like {name} 30")
    return seconds


def _choice(name: str, value: str, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise MargayError(f"{name} {value} is not known", f"choose one of: {', '.join(choices)}")
    return value


def _dir(name: str, text: str) -> tuple[str, str, bool]:
    """HOST[:GUEST][:ro]; a path cannot contain a colon."""
    parts = text.split(":")
    read_only = len(parts) > 1 and parts[-1] == "ro"
    if read_only:
        parts.pop()
    if not parts[0] or len(parts) > 2 or (len(parts) == 2 and not parts[1].startswith("/")):
        raise MargayError(f"{name} {text}: not HOST[:GUEST][:ro]",
                          f"write {name} FOLDER, or {name} FOLDER:/path/in/the/nodes:ro")
    host = os.path.abspath(parts[0])
    guest = os.path.normpath("/" + parts[1].lstrip("/")) if len(parts) == 2 else host
    return host, guest.rstrip("/"), read_only


def _add_file(options: RunOptions, name: str, text: str, out: bool) -> None:
    """F or F=NAME; a folder is all files below it."""
    path, as_name = text, text
    if "=" in text and not os.path.exists(text):
        path, _, as_name = text.rpartition("=")
    if not os.path.isdir(path) or out:
        _add_one(options, name, HostFile(path, os.path.normpath(as_name) if as_name else "", out))
        return

    def refuse(error: OSError) -> None:
        raise MargayError(f"{name} {error.filename}: {error.strerror}", "name a folder that you may read")

    for folder, _, names in sorted(os.walk(path, onerror=refuse)):
        for base in sorted(names):
            inner = os.path.join(folder, base)
            below = os.path.join(as_name, os.path.relpath(inner, path))
            _add_one(options, name, HostFile(inner, os.path.normpath(below), out))


def _add_one(options: RunOptions, name: str, file: HostFile) -> None:
    if not file.path or file.name in ("", ".", "..", "/"):
        raise MargayError(f"{name} {file.path}: not the name of a file in the nodes",
                          f"write {name} PATH, or {name} PATH=NAME")
    if len(os.fsencode(file.name)) > NAME_BYTES:
        raise MargayError(f"{name} {file.path}: the name is longer than {NAME_BYTES} bytes",
                          f"write {name} PATH=NAME with a shorter one")
    for other in options.files:
        if other.name == file.name:
            raise MargayError(f"two files of one name: {other.path} and {file.path} would both be "
                              f"{file.name} in the nodes", f"write {name} PATH=NAME with another one")
    options.files.append(file)


def _add_env(options: RunOptions, name: str, entry: str) -> None:
    key = entry.split("=", 1)[0]
    if not key:
        raise MargayError(f"{name} {entry}: no variable's name", f"write {name} NAME=VALUE")
    if "=" not in entry:
        if key not in os.environ:
            raise MargayError(f"{name} {key}: there is no such variable here",
                              f"write {name} {key}=VALUE")
        entry = f"{key}={os.environ[key]}"
    options.env = [old for old in options.env if not old.startswith(key + "=")] + [entry]


def _port(name: str, text: str) -> tuple[int, str]:
    fd, colon, port = text.partition(":")
    node, dot, card = port.partition(".")
    if not colon or not fd.isdecimal() or not node.isdecimal() or card.isdecimal() != bool(dot):
        raise MargayError(f"{name} {text}: not a port", f"write {name} FD:NODE[.CARD]")
    return int(fd), port


def _stdin(text: str, nodes: int) -> list[int]:
    """all, none, or a comma-separated list of ranks and ranges."""
    if text in ("all", "none"):
        return list(range(nodes)) if text == "all" else []
    ranks: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not _is_rank(first) or (dash and not _is_rank(last)):
            raise MargayError(f"--stdin {text}: not ranks",
                              "give a rank, a list like 0,2-4, all or none")
        low, high = int(first), int(last or first)
        if low > high:
            raise MargayError(f"--stdin {text}: {part} names no rank", f"write {high}-{low}")
        if high >= nodes:
            raise MargayError(f"--stdin {text}: rank {high} is not there", f"give {_up_to(nodes - 1)}, "
                              f"or boot more nodes: -n {high + 1}")
        ranks.update(range(low, high + 1))
    return sorted(ranks)


def _is_rank(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10


def _pair(name: str, text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.replace("_", "").isalnum():
        raise MargayError(f"{name} {text}: not KEY=VALUE", f"write {name} KEY=VALUE")
    return key, value


def _check(options: RunOptions, command: str) -> None:
    if options.boot:
        _check_boot(options)
    if options.stack and command not in GRUB_TABLES and options.stack > options.mem // 2:
        raise MargayError(
            f"--stack {options.stack // MB} does not fit into --mem {options.mem // MB}",
            "the stack may take at most half of the segment: raise --mem or lower --stack")
    if len(options.args) >= MOST_ARGS or len(options.env) > MOST_ENV:
        raise MargayError(
            f"{len(options.args)} arguments and {len(options.env)} environment variables: a "
            f"node takes {MOST_ARGS - 1} and {MOST_ENV}", "put them into a file: --file F")
    if sum(file.out for file in options.files) > MOST_OUTS:
        raise MargayError(f"more than {MOST_OUTS} --out files",
                          "put several results into one file")
    if options.icount:
        if (options.nodes > 1 and options.link not in links.CARDS) or options.accel == "kvm":
            raise MargayError("--icount works under tcg, with one node or over network cards",
                              "leave -n and --accel out, or use --link virtio")
        options.accel = "tcg"
        options.secret = b""      # the same handles each time
    links.check(options, command)
    options.stdin_ranks = _stdin(options.stdin, options.nodes)
    check_among("--rank", options.rank, options.nodes)
    if command in GRUB_TABLES:
        from .grub import check_boards
        check_boards(options, command)
    elif options.link == "none":
        raise MargayError("--link none has no launcher", "it is for margay iso; use --link shm")


def check_among(name: str, number: int, nodes: int) -> None:
    """A rank or node, of those that there are."""
    if number >= nodes:
        raise MargayError(f"{name} {number} is not there", f"give {_up_to(nodes - 1)}, or more "
                          f"nodes: -n {number + 1}")


def _up_to(last: int) -> str:
    return f"0 to {last}" if last else "0"


def _check_boot(options: RunOptions) -> None:
    for attribute, name, of_iso in OF_IMAGES:
        if getattr(options, attribute):
            raise MargayError(
                f"--boot: {name} cannot be given here: the image holds what its kernel is told",
                "give it to margay iso" if of_iso else "leave it out; margay iso does not know it either")
    if options.machine in links.NO_DISC:
        raise MargayError(f"--boot: {options.machine} has no disc to boot from",
                          "leave --machine out, or use q35 or pc")
