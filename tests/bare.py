"""Boards without a launcher: QEMU with a firmware, a screen and a serial port.

A Board reads its screen: characters from the VGA's text memory, or pixels that it compares with
those of kernel/console/font.c. Used by test_baremetal.py.
"""
from __future__ import annotations

import json
import os
import re
import signal
import socket
import time
from pathlib import Path

from harness import HANG, ROOT, Live, Margay, let_time_pass, stop, until

QEMU = Path("/usr/bin/qemu-system-x86_64")
OVMF = "/usr/share/ovmf/OVMF.fd"
CELL_WIDTH, CELL_HEIGHT, LEAST_COLUMNS = 6, 10, 80     # of kernel/console/screen.c


def font() -> dict[tuple[int, ...], str]:
    """Characters by their rows of pixels, from the kernel's own table."""
    rows = re.findall(r"G\(([01, ]+)\)", (ROOT / "kernel/console/font.c").read_text(encoding="utf-8"))
    return {tuple(int(line, 2) for line in row.split(",")): chr(32 + index)
            for index, row in enumerate(rows)}


def letters_of_pixels(picture: bytes) -> list[str]:
    """The lines of text on a graphics screen, from a PPM file; unknown shapes become U+FFFD."""
    _, size, _, pixels = picture.split(b"\n", 3)
    width, height = map(int, size.split())
    scale = max(width // (LEAST_COLUMNS * CELL_WIDTH), 1)
    known = font()

    def letter(row: int, column: int) -> str:
        lines = []
        for line in range(8):
            y = (row * CELL_HEIGHT + line) * scale
            x = [(column * CELL_WIDTH + bit) * scale for bit in range(5)]
            lines.append(sum(16 >> bit for bit in range(5)
                             if pixels[(y * width + x[bit]) * 3] > 127))
        return known.get(tuple(lines), "\ufffd")

    return ["".join(letter(row, column) for column in range(width // CELL_WIDTH // scale)).rstrip()
            for row in range(height // CELL_HEIGHT // scale)]


class Board:
    """A running machine. `serial` is its run, whose standard output is the serial port."""

    def __init__(self, margay: Margay, folder: Path, *words: object, uefi: bool = False,
                 machine: str = "q35", cpu: str = "max", memory: int = 0,
                 name: str = "board") -> None:
        self.folder = folder
        self.name = name
        firmware = ["-bios", OVMF] if uefi else []
        self.path = folder / f"{name}.qmp"
        self.serial: Live = margay.start(
            "-M", machine, *firmware, "-m", memory or (256 if uefi else 128), "-accel", "tcg",
            "-cpu", cpu, "-display", "none", "-serial", "stdio", "-no-reboot",
            "-qmp", f"unix:{self.path},server=on,wait=off", *words, program=QEMU)

    def monitor(self, command: str, **arguments: object) -> object:
        """One command of QEMU's monitor."""
        with socket.socket(socket.AF_UNIX) as end:
            end.settimeout(HANG)
            end.connect(str(self.path))
            with end.makefile("rw") as file:
                file.readline()                  # its greeting
                for name, values in (("qmp_capabilities", {}), (command, arguments)):
                    file.write(json.dumps({"execute": name, "arguments": values}) + "\n")
                    file.flush()
                    while "return" not in (answer := json.loads(file.readline())):
                        assert "error" not in answer, answer
        return answer["return"]

    def text(self) -> list[str]:
        """The lines of a VGA text screen."""
        path = self.folder / f"{self.name}.text"
        self.monitor("pmemsave", val=0xb8000, size=80 * 25 * 2, filename=str(path))
        letters = path.read_bytes()[::2].decode("cp437")
        return [letters[at:at + 80].rstrip() for at in range(0, len(letters), 80)]

    def pixels(self) -> list[str]:
        """The lines of text on a graphics screen."""
        path = self.folder / f"{self.name}.ppm"
        self.monitor("screendump", filename=str(path))
        return letters_of_pixels(path.read_bytes())

    def screen(self, uefi: bool) -> list[str]:
        return self.pixels() if uefi else self.text()

    def press(self, *keys: str) -> None:
        """Presses keys one after the other; QEMU queues them."""
        for key in keys:
            self.monitor("send-key", keys=[{"type": "qcode", "data": key}])

    def off(self) -> None:
        """Cuts the power."""
        self.serial.kill()


def lan(folder: Path, nodes: int, device: str, more: str = "") -> list[list[str]]:
    """QEMU's arguments for machines with cards on one wire: a hub in the first machine's
    process. `more`: the id of one more netdev on it. Start the first machine first.

    Datagrams, because QEMU 7.2 never makes the accepting end of a stream non-blocking: the hub's
    process would stop while one machine takes no frames."""
    cards = [["-device", f"{device},netdev=card,mac=52:54:00:aa:00:{node:02x}"]
             for node in range(nodes)]
    ports = ["hubport,id=card,hubid=0"]
    if more:
        ports.append(f"hubport,id=more,hubid=0,netdev={more}")
    for node in range(1, nodes):
        hub, card = f"{folder}/wire{node}", f"{folder}/card{node}"
        ports += [f"dgram,id=wire{node},{_ends(hub, card)}",
                  f"hubport,id=port{node},hubid=0,netdev=wire{node}"]
        cards[node] += ["-netdev", f"dgram,id=card,{_ends(card, hub)}"]
    cards[0] += [word for port in ports for word in ("-netdev", port)]
    return cards


def _ends(local: str, remote: str) -> str:
    return f"local.type=unix,local.path={local},remote.type=unix,remote.path={remote}"


def wired(folder: Path, nodes: int) -> None:
    """Waits until the first machine's hub takes frames."""
    until(lambda: all((folder / f"wire{node}").exists() for node in range(1, nodes)),
          "the first board's QEMU has made no hub")


def next_reading(pid: int, serial: Path) -> tuple[int, float, float]:
    """The time that a node prints after it was stopped, and the two times of this host's clock
    between which the node read it, however late this process is."""
    stop(pid)
    seen = serial.stat().st_size
    least = time.monotonic()
    os.kill(pid, signal.SIGCONT)
    found = until(lambda: re.findall(rb"(?<=\n)(\d+) ns\r?\n", serial.read_bytes()[seen:]))
    return int(found[0]), least, time.monotonic()


def clock_goes_right(live: Live, serial: Path) -> None:
    """The clock that a node prints on its serial port (a file) runs at the rate of this host's,
    within bounds that also hold on a slow host."""
    pid = live.process.pid
    until(lambda: b" ns" in (serial.read_bytes() if serial.exists() else b"")
          or live.process.poll() is not None)
    assert live.process.poll() is None
    first, least, most = next_reading(pid, serial)
    span, last_least, last_most = 0.0, least, most
    while span < 1 or last_most - last_least + most - least > 0.05 * span:
        let_time_pass(0.5)
        last, last_least, last_most = next_reading(pid, serial)
        span = last_least - most
    assert (last_least - most) * 0.95 < (last - first) / 1e9 < (last_most - least) * 1.05
