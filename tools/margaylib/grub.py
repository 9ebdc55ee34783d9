"""GRUB's configuration, from a disc (iso.py) or from the network (pxe.py).

A menu with an entry per node. Each entry's kernel line has the node's id and rank, the number of
nodes and the link. A board's own entry is found by what identifies the board; an unknown board
shows the menu and waits.
"""
from __future__ import annotations

import os
import re
from pathlib import Path

from .encode import command_line
from .errors import MargayError
from .links import link_keys
from .machine import EXIT_PORT, check_line
from .options import RunOptions, check_among
from .paths import program

SERIAL = "margay-node-"       # of a machine that `margay run --boot` makes, with its number
MODULES = "normal multiboot2 serial smbios test echo boot terminal reboot"
PLATFORMS = {"i386-pc": ("BIOS", "grub-pc-bin"), "x86_64-efi": ("UEFI", "grub-efi-amd64-bin")}
FOLDER = Path("/usr/lib/grub")
LONGEST_WORD = 8191           # GRUB's YYLMAX, without a NUL
RETRY_S = 5                   # between two attempts to load a file from the network
MOST_FILES = 16               # the kernel's BOOT_MODULES
_PLAIN = re.compile(r"[A-Za-z0-9_./=,:%+@-]*\Z")


def tools(*names: tuple[str, str]) -> list[str]:
    """Paths of programs, given with their packages, and of GRUB for both firmwares. An error names
    everything that is missing."""
    paths, missing, packages = [], [], []
    for name, package in names:
        try:
            paths.append(program(name, package))
        except MargayError:
            missing.append(name)
            packages.append(package)
    for platform, (firmware, package) in PLATFORMS.items():
        if not (FOLDER / platform / "normal.mod").exists():
            missing.append(f"GRUB for {firmware} machines")
            packages.append(package)
    if missing:
        raise MargayError(f"not installed: {', '.join(missing)}",
                          f"apt install {' '.join(dict.fromkeys(packages))}")
    return paths


def check_boards(options: RunOptions, command: str) -> None:
    """Refuses menus that no set of boards could start."""
    if not options.output:
        raise MargayError("there is no -o", f"write: margay {command} APP -n N -o "
                          + ("F.iso" if command == "iso" else "FOLDER"))
    if len(options.boards) > options.nodes:
        raise MargayError(f"{len(options.boards)} boards, and -n {options.nodes}",
                          f"add: -n {len(options.boards)}")
    if options.node >= 0 and options.boards:
        raise MargayError("--node and --board contradict each other: every board is that node",
                          "leave one of them out")
    names = [board.lower() for board in options.boards]
    for name in names:
        if not name or names.count(name) > 1:
            raise MargayError(f"--board {name}: two nodes have this board" if name else
                              "--board has no ID", "name a board of its own for each node")
    check_among("--node", options.node, options.nodes)


def check_files(options: RunOptions) -> None:
    if len(options.files) > MOST_FILES:
        raise MargayError(f"{len(options.files)} files: a board's image takes {MOST_FILES}",
                          "put several into one file")
    for file in options.files:
        if not os.access(file.path, os.R_OK) or not os.path.isfile(file.path):
            raise MargayError(f"--file {file.path} cannot be read, or is not a regular file",
                              "name a file that you may read")
        if not _PLAIN.match(file.name) or file.name.startswith("../"):
            raise MargayError(f"--file {file.path}: GRUB cannot hand over the name {file.name}",
                              "write --file PATH=NAME: letters, digits and . _ - / only, below "
                              "the root")


def copy_files(options: RunOptions, image_fd: int, folder: Path) -> None:
    """The application and its files, under the names that grub_config() uses."""
    import shutil
    shutil.copyfile(f"/dev/fd/{image_fd}", folder / "margay.elf")
    for index, file in enumerate(options.files):
        shutil.copyfile(file.path, folder / f"file{index}")


def grub_config(options: RunOptions, folder: str, retries: bool = False) -> str:
    """grub.cfg, for files in `folder`. A text screen under a BIOS, a graphics screen otherwise.
    `retries`: a file that cannot be read is read again, until it can be."""
    known = options.nodes == 1 or options.node >= 0
    lines = ["if serial --unit=0 --speed=115200; then",
             "\tterminal_input console serial",
             "\tterminal_output console serial",
             "fi",
             'if [ "$grub_platform" = efi ]; then insmod all_video; fi',
             f"set default={max(options.node, 0)}",
             f"set timeout={0 if known else -1}",
             "set exit=",
             "smbios --type 1 --get-string 7 --set serial",
             "smbios --type 1 --get-uuid 8 --set uuid"]
    for node in range(options.nodes):
        lines += _choice(options, node)
    for node in range(options.nodes):
        lines.append(f'menuentry "node {node} of {options.nodes}" {{')
        lines += _load(f"multiboot2 {folder}/margay.elf {_kernel_line(options, node)}", retries)
        for index, file in enumerate(options.files):
            lines += _load(f"module2 {folder}/file{index} {quoted(file.name)}", retries)
        lines.append('\tif [ "$grub_platform" = pc ]; then set gfxpayload=text; fi')
        lines.append("}")
    return "\n".join(lines) + "\n"


def _load(command: str, retries: bool) -> list[str]:
    if not retries:
        return [f"\t{command}"]
    return [f"\tuntil {command}; do",
            f'\t\techo "margay: this file could not be loaded; again in {RETRY_S} s"',
            f"\t\tsleep {RETRY_S}",
            "\tdone"]


def _choice(options: RunOptions, node: int) -> list[str]:
    """Chooses a node's entry on its board. A machine of `margay run --boot` also gets the exit
    port."""
    where = f"set default={node}; " if options.node < 0 else ""
    lines = [f'if [ "$serial" = "{SERIAL}{node}" ]; then {where}set timeout=0; '
             f'set exit="exitport={EXIT_PORT:#x}"; fi']
    if node < len(options.boards):
        board = options.boards[node]
        low = quoted(board.lower())              # GRUB writes addresses and UUIDs in lower case
        lines.append(f'if [ "$serial" = {quoted(board)} -o "$uuid" = {low} '
                     f'-o "$net_default_mac" = {low} ]; then {where}set timeout=0; fi')
    return lines


def _kernel_line(options: RunOptions, node: int) -> str:
    keys = [("node", str(node)), ("rank", str(node)), ("n", str(options.nodes)),
            *link_keys(options, 0), ("jid", "1"), ("uid", str(os.getuid())),
            ("stack", str(options.stack_bytes))]
    if options.patience:
        keys.append(("patience", str(options.patience)))
    if options.stay:
        keys.append(("stay", "1"))
    line = command_line(keys, options.env, [options.app, *options.args])
    check_line(line)
    mark, *tokens = line.split(" ")
    words = [quoted(token) for token in tokens]
    if (longest := max(map(len, words))) > LONGEST_WORD:
        raise MargayError(f"an argument or variable takes {longest} bytes, encoded; GRUB reads "
                          f"words of up to {LONGEST_WORD}", "put it into a file: --file F")
    return " ".join([mark, "$exit", *words])


def quoted(token: str) -> str:
    """A word of GRUB's script language, for text that may hold any printable character."""
    if token and _PLAIN.match(token):
        return token
    inside = token.replace("'", "'\\''")
    return f"'{inside}'"
