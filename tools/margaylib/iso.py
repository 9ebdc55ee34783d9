"""`margay iso`: a GRUB image with an entry per node, for bare metal or `margay run --boot`.

Each entry's kernel line tells the node its id, rank, the number of nodes and
the link. The default entry is chosen by the machine's SMBIOS serial number, so
that one image serves all nodes.
"""
from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from .encode import command_line
from .errors import MargayError
from .image import Image
from .links import link_keys
from .machine import EXIT_PORT
from .options import RunOptions, parse
from .paths import program

SERIAL = "margay-node-"
MODULES = "normal iso9660 biosdisk multiboot serial smbios test echo boot terminal all_video reboot"
_PLAIN = re.compile(r"[A-Za-z0-9_./=,:%+@-]*\Z")


def iso(args: list[str]) -> int:
    options = parse(args, "iso")
    image = Image(options.app)
    grub = program("grub-mkrescue", "grub-common")
    program("xorriso", "xorriso")
    program("mformat", "mtools")
    modules = Path("/usr/lib/grub/i386-pc")
    if not modules.is_dir():
        raise MargayError("GRUB for BIOS machines is not installed", "apt install grub-pc-bin")
    for file in options.files:
        if not os.access(file.path, os.R_OK) or os.path.isdir(file.path):
            raise MargayError(f"--file {file.path} cannot be read",
                              "name a file that you may read")
        if not _PLAIN.match(file.name):
            raise MargayError(f"--file {file.path}: GRUB cannot hand over a name like that",
                              "rename the file: letters, digits and . _ - only")
    folder = os.path.dirname(os.path.abspath(options.output))
    if not os.access(folder, os.W_OK) or os.path.isdir(options.output):
        raise MargayError(f"-o {options.output} cannot be written",
                          "name a file in a folder that you may write")
    import shutil
    import subprocess
    import tempfile
    with tempfile.TemporaryDirectory(prefix="margay-iso-") as name:
        root = Path(name)
        (root / "boot/grub").mkdir(parents=True)
        shutil.copyfile(f"/dev/fd/{image.fd}", root / "boot/margay.elf")
        for index, file in enumerate(options.files):
            shutil.copyfile(file.path, root / f"boot/file{index}")
        (root / "boot/grub/grub.cfg").write_text(grub_config(options))
        done = subprocess.run(
            [grub, "-d", str(modules), f"--install-modules={MODULES}", "--fonts=", "--locales=",
             "--themes=", "-o", os.path.abspath(options.output), str(root)],
            capture_output=True, text=True, errors="replace")
    if done.returncode != 0 or not os.path.exists(options.output):
        sys.stderr.write(done.stderr)
        raise MargayError("grub-mkrescue failed; its words are above",
                          "install: apt install grub-common grub-pc-bin xorriso mtools")
    return 0


def grub_config(options: RunOptions) -> str:
    """grub.cfg. Under `margay run --boot` the serial number matches: no menu is shown, and
    the node leaves through the exit port."""
    chosen = max(options.node, 0)
    lines = ["serial --unit=0 --speed=115200", "terminal_input console serial",
             "terminal_output console serial", f"set default={chosen}",
             f"set timeout={0 if options.nodes == 1 or options.node >= 0 else 5}",
             "set exit=", "smbios --type 1 --get-string 7 --set serial"]
    for node in range(options.nodes):
        where = f"set default={node}; " if options.node < 0 else ""
        lines.append(f'if [ "$serial" = "{SERIAL}{node}" ]; then {where}set timeout=0; '
                     f'set exit="exitport={EXIT_PORT:#x}"; fi')
    for node in range(options.nodes):
        lines.append(f'menuentry "node {node} of {options.nodes}" {{')
        lines.append(f"\tmultiboot /boot/margay.elf {_kernel_line(options, node)}")
        lines += [f"\tmodule /boot/file{index} {_quoted(file.name)}"
                  for index, file in enumerate(options.files)]
        lines.append("}")
    return "\n".join(lines) + "\n"


def _kernel_line(options: RunOptions, node: int) -> str:
    keys = [("node", str(node)), ("rank", str(node)), ("n", str(options.nodes)),
            *link_keys(options), ("jid", "1"), ("uid", str(os.getuid())),
            ("stack", str(options.stack_bytes))]
    mark, *tokens = command_line(keys, options.env, [options.app, *options.args]).split(" ")
    return " ".join([mark, "$exit", *map(_quoted, tokens)])


def _quoted(token: str) -> str:
    """A word of GRUB's script language; ' does not occur in tokens."""
    if _PLAIN.match(token):
        return token
    quoted = token.replace("'", "'\\''")
    return f"'{quoted}'"
