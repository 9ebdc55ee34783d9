"""`margay pxe`: a folder for a TFTP server, from which boards of both firmwares boot.

The firmware loads margay.pxe (BIOS) or margay.efi (UEFI), which are GRUB; that loads
grub.cfg and the image from the folder that it came from.
"""
from __future__ import annotations

import os
import sys
from pathlib import Path

from .errors import MargayError
from .grub import MODULES, check_files, copy_files, grub_config, tools
from .hostfiles import check_outputs
from .image import image_of
from .options import parse

NET_MODULES = "tftp configfile sleep"
# GRUB's format, its file, its modules for the network and, under UEFI, the screen
FIRMWARES = (("i386-pc-pxe", "margay.pxe", "pxe"),
             ("x86_64-efi", "margay.efi", "efinet efi_gop efi_uga all_video"))


def pxe(args: list[str]) -> int:
    options = parse(args, "pxe")
    image = image_of(options)
    mkimage, = tools(("grub-mkimage", "grub-common"))
    check_files(options)
    check_outputs(options, image.path)
    folder = Path(options.output)
    config = grub_config(options, "$prefix", retries=True)
    try:
        folder.mkdir(exist_ok=True)
        copy_files(options, image.fd, folder)
        (folder / "grub.cfg").write_text(config)
    except OSError as error:
        raise MargayError(f"-o {folder}: {error.strerror}",
                          "name a folder that you may write, or a new one") from None
    for platform, name, modules in FIRMWARES:
        _core(mkimage, platform, folder / name, f"{MODULES} {NET_MODULES} {modules}".split())
    return 0


def _core(mkimage: str, platform: str, output: Path, modules: list[str]) -> None:
    import subprocess
    done = subprocess.run([mkimage, "-O", platform, "-p", "", "-o", os.fspath(output), *modules],
                          capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        sys.stderr.write(done.stderr)
        raise MargayError("grub-mkimage failed; its words are above",
                          "install: apt install grub-common grub-pc-bin grub-efi-amd64-bin")
