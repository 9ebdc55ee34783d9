"""One job's shared region: a memfd with its header, node table and files.

The memfd has no name and disappears with its last user, however that ends. The launcher writes the
header and its own node fields before a node starts. Afterwards it reads and writes only single
aligned words, by one machine instruction each, so the nodes never see half of one.
"""
from __future__ import annotations

import mmap
import os
import stat
import time
from _thread import allocate_lock
from pathlib import Path

from .errors import MargayError
from .hostfiles import Failed, OutputFile, open_input, read_stream
from .layout import Layout, Plan
from .options import HostFile


def read_sizes(files: list[HostFile]) -> list[int]:
    """Opens every --file and gets its size; a pipe is read to its end."""
    sizes = []
    for file in files:
        if file.out:
            sizes.append(0)
            continue
        try:
            file.fd = open_input(file.path)
            status = os.fstat(file.fd)
            if stat.S_ISDIR(status.st_mode):
                raise IsADirectoryError(21, "is a directory")
            if not stat.S_ISREG(status.st_mode) or not status.st_size:    # as files of /proc
                file.content = read_stream(file.path, file.fd)
            sizes.append(status.st_size if file.content is None else len(file.content))
        except OSError as error:
            raise MargayError(f"--file {file.path}: {error.strerror or error}",
                              "name a file that you may read") from None
    return sizes


_lock = allocate_lock()


def fence() -> None:
    """A full memory barrier: taking a lock is an atomic instruction."""
    _lock.acquire()
    _lock.release()


class Region:
    """The mapped memfd. Offsets come from the plan; `layout` has the fields."""

    def __init__(self, layout: Layout, plan: Plan, files: list[HostFile]) -> None:
        self.layout = layout
        self.plan = plan
        try:
            self.fd = os.memfd_create("margay", os.MFD_CLOEXEC)
            os.ftruncate(self.fd, plan.bytes)
            self.map = mmap.mmap(self.fd, plan.bytes)
        except OSError as error:
            raise MargayError(f"the shared region cannot be made: {error.strerror}",
                              "use fewer nodes or less --mem") from None
        view = memoryview(self.map)
        self.words = view.cast("I")
        self.longs = view.cast("Q")
        self.idle = layout.at("region_header", "idle") >> 2
        self._write("region_header", 0, plan.header())
        for index, file in enumerate(files):
            self._add_file(index, file)

    def _write(self, struct: str, base: int, values: dict[str, int]) -> None:
        fields = self.layout.structs[struct]
        for name, value in values.items():
            offset, size = fields[name]
            at = base + offset
            self.map[at:at + size] = value.to_bytes(size, "little")

    def _add_file(self, index: int, file: HostFile) -> None:
        entry = self.plan.file_table + index * self.layout.size("region_file")
        name = os.fsencode(file.name)
        at = entry + self.layout.at("region_file", "name")
        self.map[at:at + len(name)] = name
        offset = self.plan.file_offsets[index]
        size = 0
        if file.content is not None:
            size = len(file.content)
            self.map[offset:offset + size] = file.content
        elif not file.out:
            size = self._copy(file, offset, self.plan.file_sizes[index])
        if file.fd >= 0:
            os.close(file.fd)
            file.fd = -1
        self._write("region_file", entry, {
            "flags": self.layout["REGION_FILE_OUT"] if file.out else 0,
            "offset": offset, "bytes": size})

    def _copy(self, file: HostFile, offset: int, size: int) -> int:
        """Copies a file's first `size` bytes into the region; it may have changed meanwhile."""
        os.lseek(self.fd, offset, os.SEEK_SET)
        done = 0
        try:
            while done < size:
                sent = os.sendfile(self.fd, file.fd, None, size - done)
                if sent == 0:
                    break
                done += sent
        except OSError as error:
            raise MargayError(f"--file {file.path}: {error.strerror}",
                              "name a file that can be read to its end") from None
        return done

    def field(self, k: int, name: str) -> int:
        """A 32-bit field of node k."""
        return self.words[(self.plan.node(k) + self.layout.at("region_node", name)) >> 2]

    def long_field(self, k: int, name: str) -> int:
        return self.longs[(self.plan.node(k) + self.layout.at("region_node", name)) >> 3]

    def set_field(self, k: int, name: str, value: int) -> None:
        self.words[(self.plan.node(k) + self.layout.at("region_node", name)) >> 2] = value

    def ask_for_bell(self) -> bool:
        """Makes the next record that a node writes ring the launcher; False if it does so already.
        Records written before do not ring, so look at the rings after this call."""
        if self.words[self.idle]:
            return False
        self.words[self.idle] = 1
        fence()
        return True

    def renew(self, k: int, lives: int) -> None:
        """Node k's machine has gone and another comes: resets its memory and its entry. `lives` is
        the number of its lives.

        The rings stay: both sides continue where they were.
        """
        plan = self.plan
        for offset, size in ((plan.block_offset, plan.block_bytes),
                             (plan.segment_offset, plan.segment_bytes)):
            self.map.madvise(mmap.MADV_REMOVE, plan.slices + k * plan.slice_bytes + offset, size)
        for name in ("status", "signal", "exit_order", "sleeping", "console_waits",
                     "stdin_wanted", "upcall", "requests", "waits_for", "awaits", "state"):
            self.set_field(k, name, 0)
        for name in ("main_ns", "lock_answer"):
            self.longs[(plan.node(k) + self.layout.at("region_node", name)) >> 3] = 0
        self.set_field(k, "restarts", lives)

    def stamp_start(self, nodes: int) -> None:
        """start_ns of each of the first nodes that has not read it yet."""
        off = self.layout["NODE_OFF"]
        state = self.plan.node(0) + self.layout.at("region_node", "state") >> 2
        stamp = self.plan.node(0) + self.layout.at("region_node", "start_ns") >> 3
        size = self.layout.size("region_node")
        now = time.clock_gettime_ns(time.CLOCK_REALTIME)
        for k in range(nodes):
            if self.words[state + k * size // 4] == off:
                self.longs[stamp + k * size // 8] = now


def open_outputs(files: list[HostFile], failed: Failed) -> dict[int, OutputFile]:
    """Makes every --out file, empty, by its index."""
    return {index: OutputFile("--out", file.path, failed)
            for index, file in enumerate(files) if file.out}


def make_folder(path: Path) -> None:
    """--output-dir: made if needed, and writable."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(13, "no permission to write there")
    except OSError as error:
        raise MargayError(f"--output-dir {path}: {error.strerror}",
                          "name a folder that you may make or write") from None
