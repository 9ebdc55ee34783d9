"""The rooms of the source: includes and calls go in one direction, as the picture shows."""
from __future__ import annotations

from pathlib import Path

import pytest

import rooms
from rooms import ROOT

pytestmark = pytest.mark.rules

FILES = rooms.sources()


def test_includes_follow_the_layers():
    bad = [text for path in FILES if path.suffix != ".asm"
           for text in rooms.violations(path, path.read_text(encoding="utf-8"))]
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("folder, line", [
    ("net/portals", '#include "kernel/cpu/cpu.h"'), ("net/portals", "#include <stdio.h>"),
    ("net/portals", "#include <string.h>"), ("net/link", '#include "../portals/block.h"'),
    ("net/portals", '#include "../link/link.h"'), ("drivers", '#include "net/portals/block.h"'),
    ("apps", '#include "../net/portals/block.h"'), ("kernel/boot", "#include <stdlib.h>"),
    ("include", '#include "net/shm/region.h"'), ("drivers", '#include "kernel/report/report.h"'),
    ("kernel/console", '#include "kernel/transport/wait.h"'),
    ("kernel/transport", '#include "../files/files.h"'),
])
def test_the_include_check_finds(folder, line):
    assert rooms.violations(ROOT / folder / "probe.c", line + "\n")


def test_calls_follow_the_layers():
    """By the objects that make has built."""
    uses = rooms.calls(FILES)
    assert len(uses) > 1000, "make has built no objects of the kernel"
    bad = rooms.upward(uses)
    assert not bad, "\n".join(bad)


def test_every_room_is_looked_at():
    looked = {rooms.layer(path) for use in rooms.calls(FILES) for path in use[:2]}
    assert looked >= {room for room in rooms.KERNEL} | {"net/link", "boot", "libc-glue", "lib",
                                                               "lib/portals", "lib/p30"}


@pytest.mark.parametrize("caller, callee, name", [
    ("kernel/console/console.c", "kernel/transport/wait.c", "wait_until"),
    ("kernel/cpu/cpu.c", "kernel/calls/trap.c", "trap"),
    ("net/link/flow.c", "net/portals/block.c", "block_init"),
    ("libc-glue/crt0.c", "lib/nx/start.c", "nx_start"),
    ("libc-glue/time.c", "lib/portals/portals.c", "PtlNIFini"),
])
def test_the_call_check_finds(caller, callee, name):
    assert rooms.upward([(ROOT / caller, ROOT / callee, name)])


def test_ports_are_no_calls():
    """Functions that net/ expects from its program: those of port.h and similar ones."""
    assert all(rooms.PORT.fullmatch(name) for name in ("port_copy", "near_port_wait"))
    assert not rooms.PORT.fullmatch("transport_start")
    assert not rooms.PORT.fullmatch("link_report")


def test_rooms_stand_in_no_circle():
    assert rooms.circle(rooms.LAYERS) == []
    assert rooms.circle({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == ["a", "b", "c"]


def test_a_prefix_has_one_owner():
    """A prefix of global names in the kernel's image belongs to one room."""
    names = rooms.kernel_names(FILES)
    assert len(names) > 400, "make has built no objects of the kernel"
    assert rooms.shared_prefixes(names) == []
    files = [ROOT / name for name in ("net/link/timer.c", "kernel/devices/time.c",
                                      "kernel/transport/link_frames.c", "net/link/link.c")]
    assert rooms.shared_prefixes(zip(files, ("timer_ack", "timer_arm", "link_frames_poll",
                                             "link_open"))) == [
        "timer_ is of kernel/devices, net/link"]


def test_files_of_the_link_call_in_no_circle():
    assert rooms.file_circles(rooms.calls(FILES)) == []
    one, other = ROOT / "net/link/receive.c", ROOT / "net/link/ack.c"
    assert rooms.file_circles([(one, other, "ack_receive")]) == []
    assert rooms.file_circles([(one, other, "ack_receive"), (other, one, "link_receive")]) == [
        "net/link/ack.c", "net/link/receive.c"]


def test_files_of_the_link_call_down_their_list():
    """The list in net/link/internal.h: also by inline functions, which no object shows."""
    assert set(rooms.ladder()) == {path.name for path in rooms.LINK.glob("*.c")}
    uses = set(rooms.link_uses())
    assert {("frame.c", "batch.c", "batch_payload"), ("receive.c", "transmit.c", "transmit"),
            ("transmit.c", "bulk_send.c", "bulk_can_send")} <= uses
    assert rooms.up_the_ladder(uses) == []
    wrong = [("frame.c", "reassemble.c", "any"), ("timer.c", "flow.c", "any")]
    assert rooms.up_the_ladder(wrong) == ["frame.c uses any of reassemble.c",
                                          "timer.c uses any of flow.c"]


def test_picture_is_of_this_source():
    assert rooms.PICTURE.read_text(encoding="utf-8") == rooms.draw(rooms.arrows(FILES)), \
        "the rooms use each other otherwise than docs/rooms.svg says: run tests/rooms.py --draw"


def test_arrows_that_follow_from_others_are_left_out():
    uses = {"top": {"middle", "low"}, "middle": {"low"}, "low": set()}
    assert rooms.reduced(uses) == {"top": {"middle"}, "middle": {"low"}, "low": set()}
    assert rooms.heights(uses) == {"top": 2, "middle": 1, "low": 0}
    assert rooms.routes({"top": {"low", "middle"}, "middle": {"low"}, "low": set()})[0] == [
        ("top",), ("top", "low", "1"), ("low",)]


def test_a_folder_without_rules_is_noticed():
    known = {path.relative_to(ROOT).parts[0] for path in FILES}
    assert all(rooms.layer(path) for path in FILES) and "kernel" in known
    with pytest.raises(StopIteration):
        rooms.layer(Path(ROOT / "elsewhere/file.c"))
