"""The launcher's side of the shared region: layout, contents, rings, doorbells.

Nothing here boots a node.
"""
from __future__ import annotations

import os
import struct
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import BUILD, ROOT

sys.path.insert(0, str(ROOT / "tools"))

from margaylib import options  # noqa: E402
from margaylib.console import Console  # noqa: E402
from margaylib.doorbell import Doorbell  # noqa: E402
from margaylib.errors import MargayError  # noqa: E402
from margaylib.layout import Layout, Plan  # noqa: E402
from margaylib.region import Region  # noqa: E402
from margaylib.ring import ConsoleRing, StdinRing  # noqa: E402
from margaylib.symbols import Symbols  # noqa: E402

pytestmark = pytest.mark.launcher
MB = 1 << 20


@pytest.fixture(scope="session")
def layout() -> Layout:
    return Layout(BUILD / "region.json")


@given(nodes=st.integers(1, 1024), mem=st.integers(1, 9000),
       sizes=st.lists(st.integers(0, 10 ** 7), max_size=5),
       slots=st.sampled_from((0, 64, 100, 8192, 32768)))
def test_plan(nodes, mem, sizes, slots):
    """The checks of net/shm/region.c, for every job."""
    layout = Layout(BUILD / "region.json")
    try:
        plan = Plan(layout, nodes, mem * MB, sizes, slots)
    except MargayError as error:
        assert nodes * mem * MB > 1 << 36 and "--mem" in error.cure
        return
    table_end = layout["REGION_NODES"] + nodes * layout.size("region_node")
    align = layout["REGION_ALIGN"]
    assert plan.bytes & (plan.bytes - 1) == 0
    assert plan.slices % align == plan.slice_bytes % align == plan.segment_offset % align == 0
    assert plan.slices + nodes * plan.slice_bytes <= plan.bytes
    assert plan.file_table >= table_end
    end = plan.file_table + len(sizes) * layout.size("region_file")
    for offset, size in zip(plan.file_offsets, sizes):
        assert offset % 4096 == 0 and offset >= end
        end = offset + size
    assert end <= plan.stdin_ring and plan.stdin_ring + plan.stdin_bytes <= plan.slices
    slots = slots or layout["EVENT_SLOTS"]
    assert plan.block_bytes >= layout["BLOCK_SLOTS"] + slots * layout["EVENT_SLOT_BYTES"]
    assert plan.block_offset + plan.block_bytes <= plan.console_offset
    assert plan.console_offset + plan.console_bytes <= plan.segment_offset
    data = plan.console_bytes - layout.size("region_ring")
    assert data & (data - 1) == 0 and plan.segment_bytes >= mem * MB


def test_region_that_no_node_can_map(layout):
    with pytest.raises(MargayError, match="at most 256 GB") as caught:
        Plan(layout, 64, 1 << 40, [])
    assert "--mem" in caught.value.cure


def test_region_contents(layout, tmp_path):
    (tmp_path / "in put").write_bytes(b"content")
    files = [options.HostFile(str(tmp_path / "in put"), "in put", False),
             options.HostFile("r", "r", True)]
    from margaylib.region import read_sizes
    plan = Plan(layout, 3, 2 * MB, read_sizes(files))
    region = Region(layout, plan, files)
    for name, value in plan.header().items():
        offset, size = layout.structs["region_header"][name]
        assert int.from_bytes(region.map[offset:offset + size], "little") == value, name
    entry = plan.file_table
    assert region.map[entry:entry + 8] == b"in put\0\0"
    offset, size = struct.unpack_from("<QQ", region.map, entry + layout.at("region_file", "offset"))
    assert region.map[offset:offset + size] == b"content"
    region.set_field(2, "dead", 1)
    assert region.field(2, "dead") == 1 and region.field(1, "dead") == 0
    os.close(region.fd)


def test_files_whose_size_is_unsure(layout, tmp_path):
    """One grows while it is read: the next one's place is kept. Those of /proc say 0."""
    from margaylib.region import read_sizes
    (tmp_path / "log").write_bytes(bytes(5000))
    (tmp_path / "next").write_bytes(b"next")
    files = [options.HostFile(str(path), path.name, False)
             for path in (tmp_path / "log", tmp_path / "next", Path("/proc/version"))]
    plan = Plan(layout, 1, 2 * MB, read_sizes(files))
    with open(tmp_path / "log", "ab") as log:
        log.write(b"x" * 9000)
    region = Region(layout, plan, files)
    contents = []
    for index in range(3):
        entry = plan.file_table + index * layout.size("region_file")
        offset, size = struct.unpack_from("<QQ", region.map, entry + layout.at("region_file", "offset"))
        contents.append(region.map[offset:offset + size])
    os.close(region.fd)
    assert contents == [bytes(5000), b"next", Path("/proc/version").read_bytes()]


def test_region_of_a_node_that_is_started_again(layout):
    """Resets its memory and its entry; those of others, and the rings, stay."""
    plan = Plan(layout, 3, 2 * MB, [])
    region = Region(layout, plan, [])
    slices = [plan.slices + k * plan.slice_bytes for k in range(3)]
    places = [at + offset for at in slices
              for offset in (plan.block_offset, plan.segment_offset, plan.segment_offset + 2 * MB - 1)]
    rings = [plan.console(k) for k in range(3)]
    for at in (*places, *rings):
        region.map[at] = 7
    entry = plan.node(1)
    region.map[entry:entry + layout.size("region_node")] = b"\1" * layout.size("region_node")
    region.set_field(1, "restarts", 1)
    region.renew(1, 2)
    assert [region.map[at] for at in places] == [7, 7, 7, 0, 0, 0, 7, 7, 7]
    assert [region.map[at] for at in rings] == [7, 7, 7]
    assert region.field(1, "restarts") == 2 and region.long_field(1, "main_ns") == 0
    assert not any(region.field(1, name) for name in ("state", "status", "signal", "sleeping"))
    os.close(region.fd)


def test_a_bell_is_asked_for_once(layout):
    region = Region(layout, Plan(layout, 2, 2 * MB, []), [])
    idle = layout.at("region_header", "idle") >> 2
    assert region.ask_for_bell() and region.words[idle] == 1 and not region.ask_for_bell()
    region.words[idle] = 0        # a node has rung the doorbell
    assert region.ask_for_bell()
    os.close(region.fd)


class Writer:
    """A node's side of its console ring."""

    def __init__(self, region: Region, k: int) -> None:
        self.ring = ConsoleRing(region, k)
        self.region = region
        self.written = 0

    def record(self, stream: int, data: bytes) -> bool:
        whole = struct.pack("<IHH", len(data), stream, 0) + data + bytes(-len(data) % 8)
        if self.written + len(whole) - self.region.longs[self.ring.taken] > self.ring.capacity:
            return False
        for index, byte in enumerate(whole):
            at = (self.written + index) % self.ring.capacity
            self.region.map[self.ring.data + at] = byte
        self.written += len(whole)
        self.region.longs[self.ring.written] = self.written
        return True


@pytest.fixture(scope="module")
def small_region() -> Region:
    import margaylib.layout as module
    old, module.CONSOLE_DATA = module.CONSOLE_DATA, 256
    layout = Layout(BUILD / "region.json")
    region = Region(layout, Plan(layout, 1, 2 * MB, []), [])
    module.CONSOLE_DATA = old
    return region


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 4), st.binary(max_size=60), st.booleans()), max_size=40))
def test_console_ring(small_region, records):
    """Every record is read once and in order, whenever the reader polls."""
    region = small_region
    writer, reader = Writer(region, 0), ConsoleRing(region, 0)
    region.longs[writer.ring.written] = region.longs[writer.ring.taken] = 0
    got: list[tuple[int, bytes]] = []
    for stream, data, look in records:
        if not writer.record(stream, data):
            got += reader.read()
            assert writer.record(stream, data)
        if look:
            got += reader.read()
    got += reader.read()
    for stream in range(1, 5):
        assert b"".join(data for s, data in got if s == stream) == b"".join(
            data for s, data, _ in records if s == stream)
    assert not reader.damaged


@settings(deadline=None)
@given(st.binary(min_size=8, max_size=200), st.integers(0, 1 << 64))
def test_damaged_console_ring(small_region, garbage, position):
    """Whatever a faulty node writes: no exception, and at worst no output."""
    region = small_region
    reader = ConsoleRing(region, 0)
    region.longs[reader.taken] = 0
    region.map[reader.data:reader.data + len(garbage)] = garbage
    region.longs[reader.written] = min(position, (1 << 64) - 1)
    for _, data in reader.read():
        assert len(data) <= reader.capacity
    reader.read()


def test_damaged_console_ring_is_emptied(small_region):
    """The node of a damaged ring never waits for space, and is woken if it did."""
    region = small_region
    reader = ConsoleRing(region, 0)
    region.longs[reader.taken] = 0
    region.longs[reader.written] = 1 << 40
    assert reader.read() == [] and reader.damaged
    for written in (5, 1 << 20, (1 << 64) - 1):
        region.longs[reader.written] = written
        assert reader.read() == [] and region.longs[reader.taken] == written
    said: list[str] = []
    rung: list[int] = []
    console = Console(region, SimpleNamespace(report=said.append, put=None), None,
                      SimpleNamespace(annotate=list), {}, None, False)
    region.longs[reader.taken], region.longs[reader.written] = 0, 1 << 40
    region.words[reader.waits] = 1
    console.drain(0.0, rung.append)
    console.drain(0.0, rung.append)
    console.release()
    assert rung == [0] and region.longs[reader.taken] == 1 << 40
    assert len(said) == 1 and b"console of node 0 is damaged" in said[0]


def test_reader_position_is_put_right(small_region):
    """A neighbour overwrote `taken`, so the node waits until the launcher writes it again."""
    reader = ConsoleRing(small_region, 0)
    small_region.longs[reader.taken] = 1 << 50
    assert not reader.writer_waits()
    small_region.words[reader.waits] = 1
    assert reader.writer_waits() and small_region.longs[reader.taken] == 0


@pytest.mark.parametrize("line", [
    "copied ²", "copied --5", "copied " + "9" * 30, "copied", "", " 7", "Copied 7",
    "\x1b[2J 7"])
def test_counters_that_are_none(small_region, line):
    console = Console(small_region, SimpleNamespace(put=None), None, None, {}, None, False)
    console._route(0, console.stat, f"{line}\nhalts 12\n".encode(), 0.0)
    assert console.stats == [{"halts": 12}]


def test_line_without_end(small_region):
    """A faulty node's endless line is cut: the launcher keeps a bounded part of it."""
    console = Console(small_region, SimpleNamespace(put=None), None, None, {}, None, False)
    for _ in range(100):
        console._route(0, console.stat, b"x" * 1000, 0.0)
    assert len(console.carry["stats", 0]) < 6000


def test_frames_that_are_none():
    """Numbers too long for a frame are not parsed as one."""
    lines = ["#0 0x" + "f" * 17, "#" + "9" * 5000 + " 0x10"]
    assert Symbols(Path("/nowhere")).annotate(lines) == lines


class Bells:
    def __init__(self) -> None:
        self.rung = 0

    def ring(self, _: int) -> None:
        self.rung += 1


def test_damaged_stdin_ring(small_region, monkeypatch):
    """The node's position is invalid: a moment later it may be right; if not, input ends."""
    import margaylib.feeder as module
    clock = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    said: list[str] = []
    bells = Bells()
    feeder = module.Feeder(small_region, bells, SimpleNamespace(register=lambda *_: None),
                           said.append, [0], lambda _: False)
    taken = long_at(small_region, 0, "stdin_taken")
    feeder.ring.position = 0
    small_region.longs[taken] = 12345678
    small_region.set_field(0, "stdin_wanted", 1)
    assert not feeder.poll() and not said
    clock[0] += 2
    small_region.longs[taken] = 0
    assert feeder.poll() == [0] and feeder.watched     # repaired: it reads
    feeder.watched = False
    small_region.longs[taken] = 12345678
    feeder.poll()
    clock[0] += 4
    feeder.poll()
    assert feeder.ended and bells.rung == 1 and "standard input is damaged" in said[0]
    small_region.words[feeder.ring.closed] = 0
    small_region.set_field(0, "stdin_wanted", 1)
    feeder.poll()
    assert small_region.words[feeder.ring.closed] == 1 and bells.rung == 2
    small_region.words[feeder.ring.closed] = 0
    small_region.longs[taken] = 0


def long_at(region: Region, k: int, name: str) -> int:
    return (region.plan.node(k) + region.layout.at("region_node", name)) >> 3


def test_stdin_ring(small_region):
    """It has as much space as its slowest reader leaves."""
    ring = StdinRing(small_region)
    first = bytes(range(256)) * (ring.capacity // 256 - 1)
    ring.write(first)
    assert ring.room([0]) == ring.capacity - len(first) and ring.room([]) == 0
    small_region.longs[long_at(small_region, 0, "stdin_taken")] = len(first)
    assert ring.room([0, 1]) == ring.room([1]) == ring.capacity - len(first)
    second = os.urandom(ring.room([0]))
    ring.write(second)
    start = len(first) % ring.capacity
    data = bytes(small_region.map[ring.data:ring.data + ring.capacity])
    assert (data + data)[start:start + len(second)] == second and ring.room([0]) == 0
    assert ring.room([0, 1]) == -1               # behind by more than a ring


def test_doorbell_order():
    """Peers and the launcher, then the region, then the own doorbell: no wakeup is lost."""
    bells = Doorbell(3, 99)
    messages = bells.messages(1)
    assert [value for value, _ in messages] == [0, 1, 0, 2, 3, -1, 1]
    assert [fd for _, fd in messages] == [-1, -1, bells.bells[0], bells.bells[2], bells.own, 99,
                                          bells.bells[1]]
