"""Options that people know from mpirun: accepted, or answered with margay's equivalent.

Loaded only when an option is not margay's own.
"""
from __future__ import annotations

import os
from collections.abc import Callable

from .errors import MargayError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .options import RunOptions, Words

# Without effect on nodes, silently. name -> values it takes
SILENT = {
    "oversubscribe": 0, "q": 0, "quiet": 0,
    "allow-run-as-root": 0, "report-bindings": 0, "display-map": 0, "display-allocation": 0,
    "nooversubscribe": 0,
}
# Without effect, with a note. name -> (values, reason)
PLACEMENT = "every rank has its own node, with one CPU"
NOTED = {
    "map-by": (1, PLACEMENT), "rank-by": (1, PLACEMENT),
    "bynode": (0, PLACEMENT), "byslot": (0, PLACEMENT), "mca": (2, "there are no components to choose"),
    "gmca": (2, "there are no components to choose"),
}
HOSTS = ("host", "H", "hosts", "hostfile", "machinefile", "f", "default-hostfile")
LOCAL = ("localhost", "127.0.0.1", "::1")
PREFIX = ("l", "prepend-rank", "tag-output")        # mpiexec prints no prefix without them
PER_NODE = ("ppn", "perhost", "npernode", "N", "ntasks-per-node")
ENV_PAIR = ("genv", "env")
ENV_ALL = ("envall", "genvall", "envlist", "genvlist", "envnone", "genvnone")
NODES = ("-n", "-np", "--np")
FOLDER = ("wdir", "wd", "workdir")


def take(options: RunOptions, name: str, value: str | None, words: Words,
         set_option: Callable[..., None]) -> bool:
    """Handles mpirun's option `name`; False if it is not one of them."""
    word = name.lstrip("-")

    def argument() -> str:
        return value if value is not None else words.value(name)

    if word in SILENT:
        for _ in range(SILENT[word]):
            argument()
    elif word in PREFIX:
        options.no_prefix = False
    elif word in NOTED:
        count, reason = NOTED[word]
        given = [words.value(name) if count > 1 else argument() for _ in range(count)]
        options.notes.append(f"{' '.join([name, *given])} has no effect: {reason}")
    elif word in HOSTS:
        _hosts(name, argument())
    elif word in PER_NODE:
        if argument() != "1":
            raise MargayError(f"{name}: a node runs one rank",
                              "leave it out; -n N boots N nodes with a rank each")
    elif word in ("bind-to-core", "bind-to-none"):
        set_option(options, "bind_to", name, word.removeprefix("bind-to-"))
    elif word == "x":
        set_option(options, "env", name, argument())
    elif word in ENV_PAIR:
        key = words.value(name)
        set_option(options, "env", name, key if "=" in key else f"{key}={words.value(name)}")
    elif word in ENV_ALL:
        raise MargayError(f"{name}: the nodes get no variables of this host by themselves",
                          "use --env NAME for each variable to copy, or --env NAME=VALUE")
    elif word in FOLDER:
        raise MargayError(f"{name}: a program starts in the folder that its job is started in",
                          "cd there first; --dir shares other folders")
    elif word in ("output-filename", "outfile-pattern"):
        set_option(options, "output_dir", name, argument())
    elif word in ("gdb", "debug", "debugger"):
        raise MargayError(f"{name}: the debugger is a separate command",
                          "use: margay gdb [--rank K] [options] APP")
    elif word in ("configfile", "app"):
        raise MargayError(f"{name}: a machine runs one application on all nodes",
                          "branch on the rank in main")
    else:
        return False
    return True


def _hosts(name: str, value: str) -> None:
    hosts = [host.split(":")[0] if host != "::1" else host for host in value.split(",")]
    if all(host in LOCAL or host == os.uname().nodename for host in hosts):
        return
    raise MargayError(f"{name} {value}: all nodes are booted on this host",
                      f"leave {name} out and say how many: -n N")


def check_colon(args: list[str]) -> None:
    """mpirun's `APP1 : -n 2 APP2`; a colon that is only an argument passes."""
    for index, word in enumerate(args[:-1]):
        after = args[index + 1]
        if word == ":" and (after.startswith("-") or os.path.isfile(after)):
            raise MargayError("`:` starts a second application, and a machine runs one on "
                              "all nodes",
                              "branch on the rank in main; if `:` is an argument of the "
                              "application, put `--` in front of APP")


def note_late_nodes(options: RunOptions, before: list[str]) -> None:
    """`APP -n 4`: everything after the application is the application's, even -n. Prints a hint if
    no number of nodes was given before it."""
    if any(word.startswith(NODES) for word in before):
        return
    for word, value in zip(options.args, options.args[1:]):
        if word in NODES and value.isdecimal():
            options.notes += [
                f"{word} {value} after {options.app} is an argument of the application (if it is "
                "meant so, put -- before the application)",
                f"for {value} nodes: margay run -n {value} {options.app}"]
            return
