"""Boot on every machine type and by GRUB, the start of an application and its end."""
from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from bare import clock_goes_right
from harness import HANG, ROOT, let_time_pass, stop, until

pytestmark = pytest.mark.boot

QEMU = Path("/usr/bin/qemu-system-x86_64")
HELLO = "hello from rank {} of {} on node{}"


@pytest.mark.parametrize("machine", ["microvm", "q35", "pc"])
@pytest.mark.parametrize("nodes", [1, 2])
def test_machine_type(margay, app, machine, nodes):
    run = margay("run", "-n", nodes, "--machine", machine, "--no-prefix", app("hello")).ok()
    assert sorted(run.lines) == [HELLO.format(r, nodes, r) for r in range(nodes)]


@pytest.mark.nodes(64)
def test_64_nodes(margay, app):
    """The kernel keeps 4 MiB of each node's memory at most."""
    run = margay("run", "-n", 64, "--mem", 32, "--no-prefix", "--stats", app("hello")).ok()
    assert sorted(run.lines) == sorted(HELLO.format(r, 64, r) for r in range(64))
    kept = re.search(r"kernel_bytes +\d+ +\d+ +(\d+)", run.stderr)
    assert kept and int(kept[1]) <= 4 << 20


@pytest.mark.parametrize("machine", ["microvm", "q35", "pc"])
def test_memory_above_4_gb(margay, app, machine):
    """The segment is far larger than the part of the address space below 4 GB."""
    run = margay("run", "-n", 2, "--mem", 5000, "--machine", machine, app("memory"), "touch").ok()
    assert run.of_rank(0) == run.of_rank(1) == ["4800 MB"]


@pytest.mark.parametrize("link", ["shm", "virtio"])
@pytest.mark.parametrize("bits", [46, 47, 48, 52])
def test_processors_with_many_physical_addresses(margay, app, tmp_path, bits, link):
    """Devices lie in the last quarter of the physical addresses: KVM hosts have up to 52 bits,
    QEMU's emulator 40."""
    qemu = tmp_path / "qemu"
    qemu.write_text(f'#!/bin/bash\nexec {QEMU} "${{@/#max/max,phys-bits={bits}}}"\n')
    qemu.chmod(0o755)
    run = margay("run", "-n", 2, "--link", link, "--no-prefix", app("ptl_long"), 200_000, 8,
                 env={"MARGAY_QEMU": str(qemu)}).ok()
    assert run.lines == ["took 8"]


@pytest.mark.parametrize("mem", [16, 48, 100, 1000])
def test_heap_follows_mem(margay, app, mem):
    """malloc provides nearly all of the segment, and returns NULL when it is exhausted."""
    run = margay("run", "--mem", mem, "--stack", 1, app("memory"), "exhaust").ok()
    got = int(run.prints(r"(\d+) MB in all").group(1))
    assert mem - 6 <= got < mem


def test_stack_size(margay, app):
    """A program may use --stack bytes, but not 1 MB more."""
    margay("run", "--stack", 4, app("memory"), "stack", 3500).ok()
    margay("run", "--stack", 4, app("memory"), "stack", 4600).status(128 + 11)


@pytest.mark.parametrize("nodes", [1, 2])
def test_grub_image(margay, app, tmp_path, nodes):
    """The same file by GRUB: each menu entry gives its node its id."""
    iso = tmp_path / "job.iso"
    margay("iso", app("hello"), "-n", nodes, "-o", iso).ok()
    run = margay("run", "-n", nodes, "--boot", iso, "--no-prefix", app("hello")).ok()
    assert sorted(run.lines) == [HELLO.format(r, nodes, r) for r in range(nodes)]


@pytest.mark.parametrize("nodes", [1, 3])
def test_grub_image_for_another_number_of_nodes(margay, app, tmp_path, nodes):
    """Refused before a node boots."""
    iso = tmp_path / "job.iso"
    margay("iso", app("hello"), "-n", 2, "-o", iso).ok()
    run = margay("run", "-n", nodes, "--boot", iso, app("hello")).status(125)
    run.says(rf"job\.iso was made for 2 nodes, not for {nodes}\n.*boot as many: -n 2; ")


def test_grub_image_without_the_folder_of_tmpdir(margay, app, tmp_path):
    """grub-mkrescue works in the folder that margay has made, whatever TMPDIR says."""
    iso = tmp_path / "job.iso"
    margay("iso", app("hello"), "-o", iso, env={"TMPDIR": str(tmp_path / "missing")}).ok()
    assert iso.exists()


def test_grub_image_in_plain_qemu(margay, app, tmp_path):
    """Without the launcher: a CD-ROM, a serial port, local memory."""
    iso = tmp_path / "alone.iso"
    margay("iso", app("hello"), "--link", "none", "-o", iso).ok()
    run = margay("-cdrom", iso, "-m", 128, "-display", "none", "-serial", "stdio", "-no-reboot",
                 "-accel", "tcg", "-cpu", "max", program=QEMU).ok()
    run.prints(r"hello from rank 0 of 1 on node0\r?$")
    run.prints(r"margay: rank 0 exited with status 0\r?$")


@pytest.mark.parametrize("machine", ["q35", "pc"])
def test_kernel_option_of_plain_qemu(margay, app, machine):
    """QEMU's -kernel boots the image itself, without a command line."""
    run = margay("-M", machine, "-kernel", app("hello"), "-m", 128, "-display", "none", "-serial",
                 "stdio", "-no-reboot", "-accel", "tcg", "-cpu", "max", program=QEMU).ok()
    run.prints(r"hello from rank 0 of 1 on node0\r?$")
    run.prints(r"margay: rank 0 exited with status 0\r?$")


def calibrates(trace: Path) -> bool:
    """The APIC's timer still runs from the clock's calibration."""
    counts = re.findall(r"0x380 = (\w+)\n", trace.read_text() if trace.exists() else "")
    return counts[-1:] == ["0xffffffff"]


def test_clock_with_much_local_memory(margay, app, tmp_path):
    """As if zeroing memory took longer than the calibration's timer runs (4.3 s): the node is
    stopped for that long. Its clock runs at the rate of this host's, within bounds that also
    hold on a slow host."""
    serial, trace = tmp_path / "serial", tmp_path / "trace"
    live = margay.start("-M", "q35", "-kernel", app("clock"), "-m", "6G", "-display", "none",
                        "-serial", f"file:{serial}", "-append", "--margay -- clock on",
                        "-no-reboot", "-accel", "tcg", "-cpu", "max", "-trace", "apic_mem_writel",
                        "-D", trace, program=QEMU)
    pid = live.process.pid
    until(lambda: calibrates(trace))
    let_time_pass(5 + stop(pid) - time.monotonic())
    assert calibrates(trace)
    os.kill(pid, signal.SIGCONT)
    clock_goes_right(live, serial)


def test_stray_interrupts(margay, app):
    """A device that the firmware left on: its interrupt is counted and delays no other."""
    margay("run", "--selftest", "stray", app("hello")).ok()


def test_image_on_linux_says_what_to_do(app):
    done = subprocess.run([app("hello")], capture_output=True, text=True, timeout=HANG)
    assert done.returncode == 126
    assert done.stderr == "run me with: margay run\n"
    assert done.stdout == ""


def test_image_is_one_elf_file(app):
    """One ELF64 file, with its multiboot header where loaders look for it. The bound keeps
    growth in sight: every image holds the kernel, with drivers and link, and its lines."""
    image = app("hello").read_bytes()
    assert image[:5] == b"\x7fELF\x02"
    assert b"\x02\xb0\xad\x1b" in image[:8192]
    assert len(image) < 560_000
    command = ["grub-file", "--is-x86-multiboot", str(app("hello"))]
    assert subprocess.run(command).returncode == 0


@pytest.mark.parametrize("status", [0, 1, 77, 255, 256 + 5])
@pytest.mark.parametrize("how", ["exit", "return"])
def test_exit_status(margay, app, how, status):
    margay("run", app("output"), how, status).status(status & 255)


def test_first_failing_rank_gives_the_status(margay, app):
    """The other ranks sleep; the job ends nevertheless, with the cause."""
    run = margay("run", "-n", 3, app("output"), "exit", 42, 1).status(42)
    run.says(r"margay: .*rank 1\b.*42")


def test_arguments_and_environment(margay, app):
    """Arguments arrive unchanged, whatever bytes they contain."""
    words = ["plain", "two words", "", "100%", "a=b", "--", "-n", "quote\"'\\", "tab\there",
             "grüße", "%41", "new\nline"]
    run = margay("run", app("output"), "args", *words).ok()
    assert run.stdout == "".join(f"[{word}]\n" for word in words)
    run = margay("run", "--env", "COLOUR=dark blue", app("output"), "env", "COLOUR").ok()
    assert run.stdout == "COLOUR=dark blue\n"
    run = margay("run", app("output"), "env", "PATH").ok()
    assert run.stdout == "PATH=(none)\n"


def test_margay_needs_no_make_folder(margay, app, tmp_path):
    """The launcher and an image work from any current folder."""
    margay("run", "--no-prefix", app("hello"), cwd=tmp_path).ok().prints("^hello from rank 0 of 1")
    assert ROOT not in tmp_path.parents
