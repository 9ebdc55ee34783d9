"""`margay run --dry-run`: each node's QEMU line, so that it can be pasted into a shell.

The lines lack what only the launcher has: the serial line is the terminal, and there is no shared
region. Nodes with network cards are joined by multicast instead of the switch; others boot alone.
"""
from __future__ import annotations

import copy
import os
import re

from . import machine
from .binding import bound_to
from .image import Image
from .links import CARDS, ETHERNET_MTU
from .options import MB, RunOptions

GROUP = "230.0.0.77:26996"    # the multicast group that stands for the switch
BOARD = 0                     # the life of a node without a launcher (links.link_keys)


def notes(options: RunOptions) -> list[str]:
    """The differences when the lines are pasted."""
    if options.link in CARDS:
        return [f"pasted, these nodes meet by multicast ({GROUP}), without switch and launcher"]
    if options.nodes > 1:
        return ["pasted, each line boots its node alone: shared memory needs the launcher"]
    return []


def lines(options: RunOptions, image: Image, qemu: str) -> list[list[str]]:
    """The words of each node's command."""
    alone = copy.copy(options)
    if options.link in CARDS:
        alone.cards, alone.bulk = 1, False     # as on boards: one card,
        alone.mtu = ETHERNET_MTU               # and frames that pass everywhere
    else:
        alone.link = "none"
    accel = "tcg" if options.accel == "auto" else options.accel
    return [[*bound_to(options, rank), qemu,
             *_arguments(alone, accel, rank, image)] for rank in range(options.nodes)]


def _arguments(options: RunOptions, accel: str, rank: int, image: Image) -> list[str]:
    words = machine.qemu_arguments(options, accel, rank, os.getpid(), os.getuid(),
                                   image.boot_bytes, life=BOARD)
    ram = machine.ram_bytes(options, image.boot_bytes) + options.mem    # and the segment
    words[words.index("-m") + 1] = f"{ram // MB}M"
    path = os.path.abspath(options.boot) if options.boot else str(image.path)
    return [_word(word, path) for word in _without_bell(words)]


def _without_bell(words: list[str]) -> list[str]:
    """Without the device of the shared region and its server."""
    gone = ("socket,id=bell", "ivshmem-doorbell")
    return [word for word, behind in zip(words, [*words[1:], ""])
            if not word.startswith(gone) and not behind.startswith(gone)]


def _word(word: str, path: str) -> str:
    """A word with files and the terminal in place of the launcher's descriptors."""
    image = f"/dev/fd/{machine.Fds.IMAGE}"
    if word == image:
        return path
    word = word.replace(f"file={image}", "file=" + path.replace(",", ",,"))
    word = word.replace(f"socket,id=serial,fd={machine.Fds.SERIAL}", "stdio,id=serial")
    return re.sub(r"^stream,id=(\w+),addr\.type=fd,addr\.str=\d+$",
                  rf"socket,id=\1,mcast={GROUP}", word)
