"""`margay run`: from the command line to the exit status."""
from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable

from . import folders, hostmem, machine
from .errors import MargayError, size_text
from .hostfiles import check_outputs
from .image import Image, image_of
from .layout import Layout
from .options import MB, RunOptions, parse
from .paths import built, program

TYPE_CHECKING = False             # mypy takes it for true; importing typing would only cost time
if TYPE_CHECKING:
    from .job import Job


def say(text: str) -> None:
    sys.stderr.write(f"margay: {text}\n")


def quiet(_text: str) -> None:
    pass


def run(args: list[str]) -> int:
    preset = os.environ.get("MARGAY_RUN_OPTIONS", "").split()
    try:
        options = parse([*preset, *args])
    except MargayError as error:
        if preset:
            error.cure += f"\nMARGAY_RUN_OPTIONS adds: {' '.join(preset)}"
        raise
    if len(options.args) >= len(args):
        raise MargayError(f"MARGAY_RUN_OPTIONS: {options.app} is not an option",
                          "the variable has options only, the command names the application;\n"
                          "spaces separate its words, and quotation marks join none")
    folders.choose(options)
    return run_options(options)


def run_options(options: RunOptions, debug: Callable[[Job], None] | None = None) -> int:
    """Runs a job. `debug` (of `margay gdb`) attaches to it before it starts."""
    for note in options.notes:
        say(note)
    check_ports(options)
    limit_descriptors(options)
    image = image_of(options)
    check_segment(options, image)
    check_outputs(options, image.path)
    qemu = program(os.environ.get("MARGAY_QEMU") or machine.PROGRAM, machine.PACKAGE)
    boot_fd = open_iso(options.boot, options.nodes) if options.boot else image.fd
    detail = say if options.verbose else quiet
    if options.dry_run:
        return dry_run(options, image, qemu)
    layout = Layout(built("region.json"))
    spawn = str(built("tools/spawn"))
    hostmem.check(options.nodes, options.mem,
                  machine.ram_bytes(options, image.boot_bytes),
                  sum(os.path.getsize(file.path) for file in options.files
                      if not file.out and os.path.isfile(file.path)))
    from .job import Job
    from .accel import choose, probe_node
    accel = choose(options.accel, lambda: probe_node(options, layout, qemu, spawn, image),
                   detail, say if os.isatty(2) else detail)
    switch = str(built("tools/switch")) if options.cards else ""
    job = Job(options, image, boot_fd, layout, accel, qemu, spawn, switch)
    detail(f"{options.nodes} node{'s' if options.nodes > 1 else ''} on {options.machine}, "
           f"{size_text(job.plan.segment_bytes)} each, region of {size_text(job.plan.bytes)}, {qemu}")
    sys.stderr.flush()
    if debug is not None:
        debug(job)
    return job.run()


def check_ports(options: RunOptions) -> None:
    """Before margay opens a file: that would take the number of a descriptor that is missing."""
    for fd, port in options.test_ports:
        try:
            is_socket = stat.S_ISSOCK(os.fstat(fd).st_mode)
        except (OSError, OverflowError):
            is_socket = False
        if not is_socket:
            raise MargayError(f"--test-port {fd}:{port}: descriptor {fd} is no open socket",
                              "open it before margay run, and let margay inherit it")


def limit_descriptors(options: RunOptions) -> None:
    """Must be first: with too few descriptors even a module cannot be read."""
    from .doorbell import raise_descriptor_limit
    files = len(options.files) + 2 * options.nodes * bool(options.output_dir)
    raise_descriptor_limit(options.nodes, options.cards, files)


def check_segment(options: RunOptions, image: Image) -> None:
    need = image.app_bytes + options.stack_bytes
    if need > options.mem:
        raise MargayError(
            f"--mem {options.mem // MB} is too small: program, data and stack of {options.app} "
            f"take {size_text(need)}", f"use at least --mem {need // MB + 1}")


def open_iso(path: str, nodes: int) -> int:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        if os.pread(fd, 5, 32769) != b"CD001":
            raise MargayError(f"--boot {path} is not an ISO image",
                              "make one: margay iso APP -n N -o F.iso")
    except OSError as error:
        raise MargayError(f"--boot {path}: {error.strerror}",
                          "make it: margay iso APP -n N -o F.iso") from None
    made_for = nodes_of_iso(fd)
    if made_for not in (nodes, 0):
        raise MargayError(f"--boot {path} was made for {made_for} "
                          f"node{'s' if made_for > 1 else ''}, not for {nodes}",
                          f"boot as many: -n {made_for}; or make another: margay iso APP -n {nodes}")
    return fd


def nodes_of_iso(fd: int) -> int:
    """The number of nodes that GRUB's menu in the image is for; 0: it is not found."""
    import mmap
    mark = b'menuentry "node 0 of '
    try:
        with mmap.mmap(fd, 0, prot=mmap.PROT_READ) as data:
            at = data.find(mark) + len(mark)
            digits = data[at:at + 5].partition(b'"')[0] if at >= len(mark) else b""
    except (OSError, ValueError):
        return 0              # a disc drive, which cannot be mapped
    return int(digits) if digits.isdigit() else 0


def dry_run(options: RunOptions, image: Image, qemu: str) -> int:
    from shlex import join

    from . import dry
    for note in dry.notes(options):
        say(note)
    for line in dry.lines(options, image, qemu):
        print(join(line))
    return 0
