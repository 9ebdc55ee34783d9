"""The QEMU command line of one node. Pure: options in, argument list out.

Descriptors that the QEMU inherits have fixed numbers (Fds), so the lines of
all nodes differ only in the kernel's command line.
"""
from __future__ import annotations

import hashlib
import struct

from . import folders
from .encode import command_line
from .errors import MargayError
from .links import card_arguments, link_keys
from .options import MB, RunOptions

PROGRAM = "qemu-system-x86_64"
PACKAGE = "qemu-system-x86"
EXIT_PORT = 0x501
LONGEST_LINE = 32000          # of the kernel's BOOT_COMMAND, the image's path excluded
BASE_RAM = 16 * MB            # kernel, page tables, firmware
CARD_RAM = 5 * MB             # a card's buffers and rings
ISO_RAM = 64 * MB             # GRUB wants more than the kernel

MACHINE_TYPES = {
    "microvm": "microvm,pcie=on",
    "q35": "q35,sata=off,smbus=off,usb=off,vmport=off,hpet=off",
    "pc": "pc,usb=off,vmport=off,hpet=off",
}


class Fds:
    """Numbers of the inherited descriptors."""

    IVSHMEM = 3
    SERIAL = 4
    IMAGE = 5                 # the application, or the ISO
    GDB = 6
    CARDS = 7                 # and the following ones


def map_bytes(segment: int) -> int:
    """Page tables of a segment, in a node's local memory: 8 bytes for each 4 KiB of the kernel's
    shifted alias, and some more for the other maps."""
    return segment // 512 + segment // 4096


def ram_bytes(options: RunOptions, boot_bytes: int) -> int:
    """Local memory of a node. The segment is in the region, but its page tables are here."""
    need = (ISO_RAM if options.boot else BASE_RAM) + boot_bytes + map_bytes(options.mem) \
        + options.cards * CARD_RAM + options.tmp * MB
    return (need + MB - 1) // MB * MB


def handle_seed(options: RunOptions, rank: int, life: int) -> int:
    """Seed of the first generations of a node's handles, new in each life (net/portals/pool.h)."""
    text = options.secret + struct.pack("<II", rank, life)
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") or 1


def kernel_line(options: RunOptions, rank: int, job: int, uid: int, life: int = 1) -> str:
    keys = [("node", str(rank)), ("rank", str(rank)), ("n", str(options.nodes)),
            *link_keys(options, life), ("jid", str(job)), ("uid", str(uid)),
            ("stack", str(options.stack_bytes)), ("exitport", hex(EXIT_PORT)),
            ("seed", str(handle_seed(options, rank, life)))]
    if options.event_slots:
        keys.append(("event_slots", str(options.event_slots)))
    if options.stats or options.json:
        keys.append(("stats", "1"))
    keys += folders.kernel_keys(options)
    keys += options.kernel
    env = options.env
    if options.on_death == "restart":
        env = [*env, f"MARGAY_LIFE={life}"]
    line = command_line(keys, env, [options.argv0 or options.app, *options.args])
    check_line(line)
    return line


def check_line(line: str) -> None:
    if len(line) > LONGEST_LINE:
        raise MargayError(f"arguments and environment take {len(line)} bytes, encoded; a node's "
                          f"command line has room for {LONGEST_LINE}",
                          "put them into a file: --file F")


def qemu_arguments(options: RunOptions, accel: str, rank: int, job: int, uid: int,
                   boot_bytes: int, debug: bool = False, life: int = 1) -> list[str]:
    """All arguments of QEMU; `life` counts a node's machines."""
    machine = MACHINE_TYPES[options.machine]
    if options.boot and options.machine == "q35":
        machine = machine.replace("sata=off,", "")       # the disc hangs there
    arguments = [
        "-name", f"margay-{job}-node{rank}",
        "-machine", machine, "-accel", accel, "-cpu", "max",
        "-smp", "1" if options.icount else "1,maxcpus=2",
        "-m", f"{ram_bytes(options, boot_bytes) // MB}M",
        "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
        "-chardev", f"socket,id=serial,fd={Fds.SERIAL}", "-serial", "chardev:serial",
        "-device", f"isa-debug-exit,iobase={EXIT_PORT:#x},iosize=1",
        "-chardev", f"socket,id=bell,fd={Fds.IVSHMEM}",
        "-device", "ivshmem-doorbell,chardev=bell,vectors=1,ioeventfd=off",
    ]
    for card in range(options.cards):
        arguments += card_arguments(options.link, rank, card, Fds.CARDS + card)
    arguments += folders.device_arguments(options)
    if debug:
        arguments += ["-chardev", f"socket,id=gdb,fd={Fds.GDB}", "-gdb", "chardev:gdb", "-S"]
    if options.icount:
        # alone, a halted node's clock may jump; with others it must run in real time
        arguments += ["-icount", "shift=0,sleep=off" if options.nodes == 1 else "shift=0"]
    if options.boot:
        arguments += ["-boot", "d", "-smbios", f"type=1,serial=margay-node-{rank}",
                      "-drive", f"file=/dev/fd/{Fds.IMAGE},format=raw,media=cdrom,readonly=on"]
    else:
        arguments += ["-kernel", f"/dev/fd/{Fds.IMAGE}",
                      "-append", kernel_line(options, rank, job, uid, life)]
    return arguments
