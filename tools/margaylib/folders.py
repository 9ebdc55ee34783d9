"""The host's folders that a job shares with its nodes: by default the current one.

Each is a virtio-9p device of every node; QEMU is the server.
"""
from __future__ import annotations

import os
from contextlib import suppress

from .errors import MargayError
from .options import FILE_NAME_BYTES, PATH_BYTES, RunOptions

MOST = 8                      # the kernel's PARAMETER_DIRS


def choose(options: RunOptions) -> None:
    """Completes options.dirs, and sets where the application starts."""
    if options.no_dir and options.dirs:
        raise MargayError("--no-dir and --dir contradict each other", "leave one of them out")
    if options.no_dir or options.boot:
        return
    try:
        here = os.getcwd()
    except OSError as error:
        raise MargayError(f"the current folder cannot be shared: {error.strerror}",
                          "start the job in a folder that is there, or with --no-dir") from None
    if not any(_covers(guest, here) for _, guest, _ in options.dirs):
        options.dirs.append((here, here, False))
    if len(options.dirs) > MOST:
        raise MargayError(f"{len(options.dirs)} folders: a node takes {MOST}",
                          "share one that holds several of them")
    for host, guest, _ in options.dirs:
        if sum(other == guest for _, other, _ in options.dirs) > 1:
            raise MargayError(f"two folders at {guest or '/'}", "name another one: --dir HOST:GUEST")
        name = "the current folder" if host == guest == here else f"--dir {host}"
        _check(host, name)
        _check_guest(guest, name)
    options.cwd = here
    for file in options.files:
        if file.name.startswith("../"):
            file.name = os.path.abspath(file.name)


def _check(host: str, name: str) -> None:
    """Raises a MargayError if the nodes cannot read this folder."""
    try:
        os.stat(host)
    except PermissionError:
        raise MargayError(f"{name}: a folder above it cannot be searched: Permission denied",
                          "name one that you may read, or use --no-dir") from None
    except OSError:
        pass
    if not os.path.isdir(host):
        raise MargayError(f"{name}: there is no such folder", "name one that is there")
    if not os.access(host, os.R_OK | os.X_OK):
        raise MargayError(f"{name}: this folder cannot be read",
                          "name one that you may read, or use --no-dir")


def _check_guest(guest: str, name: str) -> None:
    """Raises a MargayError if no program of the nodes could name this path."""
    path = os.fsencode(guest)
    if len(path) > PATH_BYTES or any(len(part) > FILE_NAME_BYTES for part in path.split(b"/")):
        raise MargayError(f"{name}: its path in the nodes is too long: {len(path)} bytes",
                          f"give it a shorter one: --dir HOST:GUEST, with at most {PATH_BYTES} "
                          f"bytes, and {FILE_NAME_BYTES} in a name")


def _covers(guest: str, path: str) -> bool:
    return path == guest or path.startswith(guest + "/")


def remove_unlinked(options: RunOptions, job: int) -> None:
    """A node that is killed cannot remove files that it had unlinked while they were open: removes
    them by their hidden names (kernel/files/names.c)."""
    for host, _, read_only in options.dirs:
        with suppress(OSError):
            for name in [] if read_only else os.listdir(host):
                if name.startswith(f".margay-unlinked-{job}-"):
                    os.unlink(os.path.join(host, name))


def kernel_keys(options: RunOptions) -> list[tuple[str, str]]:
    keys = [("rodir" if read_only else "dir", guest or "/")
            for _, guest, read_only in options.dirs]
    if options.cwd:
        keys.append(("cwd", options.cwd))
    return [*keys, ("tmp_mb", str(options.tmp))]


def device_arguments(options: RunOptions) -> list[str]:
    found = []
    for index, (host, _, read_only) in enumerate(options.dirs):
        path = host.replace(",", ",,")
        found += ["-fsdev", f"local,id=dir{index},path={path},security_model=none,multidevs=remap"
                  + (",readonly=on" if read_only else ""),
                  "-device", f"virtio-9p-pci-non-transitional,fsdev=dir{index},"
                  f"mount_tag=dir{index}"]
    return found
