"""Checks that a file is an application that a node can boot, and reads what it needs.

Reads the ELF file's headers only. An image that `margay cc` linked carries a
note (.note.margay) of vendor Margay.
"""
from __future__ import annotations

import os
import stat
import struct
from pathlib import Path

from .errors import MargayError
from .options import LEAST_SLOTS, MOST_SLOTS

TYPE_CHECKING = False         # typing is slow to import
if TYPE_CHECKING:
    from .options import RunOptions

APP_BASE = 0x40000000
CURE = "link it with margay cc (or tools/mpicc): margay cc -o APP.elf APP.c"
_ELF = struct.Struct("<16sHHIQQQIHHHHHH")
_PROGRAM = struct.Struct("<IIQQQQQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_PT_LOAD, _PT_NOTE, _SHT_NOTE = 1, 4, 7
_PT_GNU_STACK, _PF_X = 0x6474e551, 1
_NOTE_NAME = b"Margay\0"
_NOTE_IMAGE, _NOTE_EVENT_SLOTS = 1, 2
_MULTIBOOT = struct.pack("<I", 0x1BADB002)


def image_of(options: RunOptions) -> Image:
    """The application's image. For a self-test, the one of the same name in the folder selftests
    beside it, if it exists: its kernel has the self-tests."""
    path = options.app
    if any(key == "selftest" for key, _ in options.kernel):
        folder, name = os.path.split(path)
        other = os.path.join(folder, "selftests", name)
        path = other if os.path.isfile(other) else path
    return Image(path)


class Image:
    """An open application. QEMU loads `fd`, so a rebuild meanwhile does not matter."""

    def __init__(self, path: str) -> None:
        self.fd, data = _open(path)
        if data[:2] == b"#!" and (image := _image_of_script(data)):
            os.close(self.fd)
            path = image
            self.fd, data = _open(path)
        self.path = Path(os.path.abspath(path))
        self.event_slots = 0      # that the program asks for (MARGAY_EVENT_SLOTS), or 0
        self.app_bytes = 0        # of the application's program, data and bss in the segment
        self._inspect(path, data)
        self.boot_bytes = _boot_bytes(data) or len(data)

    def _inspect(self, path: str, data: bytes) -> None:
        if data[:4] != b"\x7fELF":
            what = "a script" if data[:2] == b"#!" else "not an ELF file"
            raise MargayError(f"{path} is {what}, not an application for nodes", CURE)
        if len(data) < _ELF.size or data[4] != 2 or data[5] != 1:
            raise MargayError(f"{path} is not a 64-bit ELF file of this kind of machine", CURE)
        (_, kind, machine, _, _, phoff, shoff, _, _, phentsize, phnum, shentsize, shnum,
         _) = _ELF.unpack_from(data)
        if machine != 62:
            raise MargayError(f"{path} is for another processor (ELF machine {machine}); "
                              "nodes are x86-64", CURE)
        if kind == 1:
            raise MargayError(f"{path} is an object file, not a linked application", CURE)
        notes = []
        for index in range(phnum):
            entry = _at(_PROGRAM, data, phoff + index * phentsize)
            if entry is None:
                break
            kind, _, offset, address, _, in_file, in_memory, _ = entry
            if kind == _PT_LOAD and offset + in_file > len(data):
                raise MargayError(f"{path} is not whole: it ends after {len(data)} bytes",
                                  "link it again, or copy it again")
            if kind == _PT_NOTE:
                notes.append(data[offset:offset + in_file])
            elif kind == _PT_LOAD and address >= APP_BASE:
                self.app_bytes = max(self.app_bytes, address + in_memory - APP_BASE)
        for index in range(shnum):
            entry = _at(_SECTION, data, shoff + index * shentsize)
            if entry is not None and entry[1] == _SHT_NOTE:
                notes.append(data[entry[4]:entry[4] + entry[5]])
        values = [note for part in notes for note in _notes(part)]
        if not any(kind == _NOTE_IMAGE for kind, _ in values):
            raise MargayError(f"{path} was not linked by margay cc (it lacks the note that "
                              "says so), so no node can boot it", CURE)
        self.event_slots = max((value for kind, value in values if kind == _NOTE_EVENT_SLOTS),
                               default=0)
        if self.event_slots and not LEAST_SLOTS <= self.event_slots <= MOST_SLOTS:
            raise MargayError(f"{path} asks for {self.event_slots} event slots (MARGAY_EVENT_SLOTS); "
                              f"{LEAST_SLOTS} to {MOST_SLOTS} are possible",
                              "link it again with a number that is possible")


def _open(path: str) -> tuple[int, bytes]:
    """The file, open, and its bytes."""
    try:
        # A named pipe would wait for its writer, a device may have no end.
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        kind = os.fstat(fd).st_mode
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(21, "is a directory")
        if not stat.S_ISREG(kind):
            raise MargayError(f"{path} is a pipe or a device, not an application for nodes", CURE)
        with open(fd, "rb", closefd=False) as file:
            return fd, file.read()
    except OSError as error:
        raise MargayError(f"{path}: {error.strerror}", _missing(path)) from None


def _image_of_script(data: bytes) -> str | None:
    """The image that a script of `margay cc --runnable` runs: mpiexec and ctest name the script."""
    from .runnable import image_of_script
    return image_of_script(data)


def _notes(data: bytes) -> list[tuple[int, int]]:
    """The notes of vendor Margay: type and value."""
    found, at = [], 0
    while (head := _at(struct.Struct("<III"), data, at)) is not None:
        name_bytes, value_bytes, kind = head
        name = at + 12
        value = name + (name_bytes + 3) // 4 * 4
        if data[name:name + name_bytes] == _NOTE_NAME and value_bytes >= 4 and \
                (number := _at(struct.Struct("<I"), data, value)) is not None:
            found.append((kind, number[0]))
        at = value + (value_bytes + 3) // 4 * 4
    return found


def finish_image(path: str, code_on_stack: bool) -> None:
    """Removes a linked image that loaders could not load in one piece, and says why. If the image's
    header allows code on the stack, so does the kernel.

    Loaders read the file as one flat piece, so each part must be as far from the start of the file
    as its address is from the first one's.
    """
    if not os.path.isfile(path):
        return                # like /dev/null
    with open(path, "rb") as file:
        data = file.read(1 << 16)
    if len(data) < _ELF.size or data[:4] != b"\x7fELF":
        return
    phoff, phentsize, phnum = struct.unpack_from("<Q14xHH", data, 32)
    parts = [_at(_PROGRAM, data, phoff + index * phentsize) for index in range(phnum)]
    loaded = [(part[2] - part[4], part[3]) for part in parts
              if part and part[0] == _PT_LOAD and part[5]]
    apart = [address for shift, address in loaded if shift != loaded[0][0]]
    if apart:
        os.unlink(path)
        raise MargayError(
            f"{path}: there is a gap in the file before address {apart[0]:#x}, so no loader "
            "can load it in one piece",
            "an object in a section of its own is aligned to more than a page: leave its "
            "section to the compiler (.data, .rodata), or align it to 4096 or less")
    for index, part in enumerate(parts):
        if code_on_stack and part and part[0] == _PT_GNU_STACK:
            with open(path, "r+b") as file:
                file.seek(phoff + index * phentsize + 4)
                file.write(struct.pack("<I", part[1] | _PF_X))


def _at(form: struct.Struct, data: bytes, offset: int) -> tuple[int, ...] | None:
    return form.unpack_from(data, offset) if 0 <= offset <= len(data) - form.size else None


def _missing(path: str) -> str:
    if not os.path.exists(path):
        if os.path.exists(path + ".elf"):
            return f"did you mean {path}.elf?"
        return "build it first: margay cc -o APP.elf APP.c (the project's own: make)"
    return "name a file that you may read"


def _boot_bytes(data: bytes) -> int:
    """Memory that the image takes when it is loaded: from its multiboot header."""
    at = data.find(_MULTIBOOT, 0, 8192 + 4)
    while at >= 0:
        fields = _at(struct.Struct("<8I"), data, at)
        if at % 4 == 0 and fields and sum(fields[:3]) & 0xFFFFFFFF == 0 and fields[1] & 0x10000:
            load, load_end, bss_end = fields[4:7]
            return max(load_end, bss_end) - load
        at = data.find(_MULTIBOOT, at + 4, 8192 + 4)
    return 0
