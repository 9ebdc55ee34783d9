"""`margay iso`: an image for discs and USB sticks, for BIOS and UEFI, that boots an application.

`margay run --boot` boots it too.
"""
from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from .errors import MargayError
from .grub import MODULES, check_files, copy_files, grub_config, tools
from .hostfiles import check_outputs
from .image import image_of
from .options import parse

# The boot sector searches for the image in all kinds of partitions.
DISC_MODULES = ("iso9660 all_video part_acorn part_amiga part_apple part_bsd part_dfly part_dvh "
                "part_gpt part_msdos part_plan part_sun part_sunpc")


def _is_pipe(path: str) -> bool:
    """An image is written out of order; xorriso would wait for a reader of a named pipe for ever."""
    return os.path.exists(path) and stat.S_ISFIFO(os.stat(path).st_mode)


def iso(args: list[str]) -> int:
    options = parse(args, "iso")
    image = image_of(options)
    rescue, *_ = tools(("grub-mkrescue", "grub-common"), ("xorriso", "xorriso"),
                       ("mformat", "mtools"))
    check_files(options)
    check_outputs(options, image.path)
    folder = os.path.dirname(os.path.abspath(options.output))
    if not os.access(folder, os.W_OK) or os.path.isdir(options.output) or _is_pipe(options.output):
        raise MargayError(f"-o {options.output} cannot be written",
                          "name a file in a folder that you may write")
    import subprocess
    import tempfile
    with tempfile.TemporaryDirectory(prefix="margay-iso-") as name:
        root = Path(name)
        (root / "boot/grub").mkdir(parents=True)
        copy_files(options, image.fd, root / "boot")
        (root / "boot/grub/grub.cfg").write_text(grub_config(options, "/boot"))
        done = subprocess.run(
            [rescue, f"--install-modules={MODULES} {DISC_MODULES}", "--fonts=", "--locales=",
             "--themes=", "-o", os.path.abspath(options.output), str(root)],
            capture_output=True, text=True, errors="replace", env={**os.environ, "TMPDIR": name})
    if done.returncode != 0 or not os.path.exists(options.output):
        sys.stderr.write(done.stderr)
        raise MargayError("grub-mkrescue failed; its words are above",
                          f"make room in {folder} and in the folder for temporary files (TMPDIR); "
                          "install: apt install grub-common grub-pc-bin grub-efi-amd64-bin "
                          "xorriso mtools")
    return 0
