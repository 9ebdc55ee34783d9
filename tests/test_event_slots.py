"""Event slots: as many as the image's note or an option requests; and PTL_SR_INLINE."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from bare import QEMU

pytestmark = pytest.mark.messages


def inline(link: str) -> int:
    """The bytes of a put that are read within the call: over shared memory all of them."""
    return -1 if link == "shm" else 64


@pytest.mark.every_link
@pytest.mark.parametrize("nodes", [1, 2])
def test_as_the_note_says(margay, app, nodes, link):
    """Two queues may use all slots."""
    run = margay("run", "-n", nodes, "--no-prefix", app("event_slots")).ok()
    assert run.lines == [f"32768 slots, {inline(link)} bytes"] * nodes


@pytest.mark.every_link
def test_as_the_option_says(margay, app, link):
    """The option overrides the note."""
    run = margay("run", "-n", 2, "--no-prefix", "--event-slots", 1024, app("event_slots")).ok()
    assert run.lines == [f"1024 slots, {inline(link)} bytes"] * 2


def test_without_a_launcher(margay, app):
    """The kernel reads the note itself."""
    run = margay("-M", "q35", "-kernel", app("event_slots"), "-m", 256, "-display", "none",
                 "-serial", "stdio", "-no-reboot", "-accel", "tcg", "-cpu", "max",
                 program=QEMU).ok()
    run.prints(r"32768 slots, -1 bytes\r?$")
    run.prints(r"margay: rank 0 exited with status 0\r?$")


def test_an_ordinary_program_has_the_default(margay, app, tmp_path):
    """Only images that ask for more event slots use memory for them."""
    counted = []
    for slots in (0, 8192, 32768):
        out = tmp_path / f"{slots}.json"
        option = ("--event-slots", slots) if slots else ()
        margay("run", *option, "--json", out, app("hello")).ok()
        counted.append(json.loads(out.read_text())["ranks"][0]["stats"]["kernel_bytes"])
    assert counted[0] == counted[1]
    assert 0 <= counted[2] - counted[0] - (32768 - 8192) * 144 <= 16384     # plus page tables


def image_of(margay, folder: Path, text: str) -> Path:
    source, image = folder / "a.c", folder / "a.elf"
    source.write_text(f"#include <margay.h>\n{text}\nint main(void) {{ return 0; }}\n")
    margay("cc", source, "-o", image).ok()
    return image


@pytest.mark.parametrize("slots", [63, 32769])
def test_numbers_that_cannot_be(margay, app, tmp_path, slots):
    """The error at each of the three places names the allowed numbers."""
    source = tmp_path / "b.c"
    source.write_text(f"#include <margay.h>\nMARGAY_EVENT_SLOTS({slots});\n")
    margay("cc", "-c", source, "-o", tmp_path / "b.o").status(1).says("event slots: 64 to 32768")
    run = margay("run", "--event-slots", slots, app("hello")).status(125)
    run.says(f"--event-slots {slots} is out of range")
    run = margay("run", "--kernel", f"event_slots={slots}", app("hello")).status(134)
    run.says(f"{slots} event slots are asked for by the command line: 64 to 32768 are possible")


def test_a_note_that_cannot_be(margay, tmp_path):
    image = image_of(margay, tmp_path, "#undef MARGAY_EVENT_SLOTS_MOST\n"
                     "#define MARGAY_EVENT_SLOTS_MOST 99999\nMARGAY_EVENT_SLOTS(40000);")
    margay("run", image).status(125).says("asks for 40000 event slots")


def test_c_plus_plus(margay, tmp_path):
    """The macro works in both languages."""
    source = tmp_path / "c.cc"
    source.write_text("#include <margay.h>\nMARGAY_EVENT_SLOTS(100);\n")
    margay("c++", "-c", source, "-o", tmp_path / "c.o").ok()
