"""Machines without a launcher: discs and the network, BIOS and UEFI, the screen."""
from __future__ import annotations

from pathlib import Path

import pytest

from bare import QEMU, Board, clock_goes_right, font, lan, wired
from harness import Margay
from test_wordfreq import expected

pytestmark = pytest.mark.baremetal

FIRMWARE = pytest.mark.parametrize("uefi", [
    pytest.param(False, id="bios"), pytest.param(True, id="uefi", marks=pytest.mark.long)])
HALTED = r"^margay: halted; this machine may be switched off\r?$"
DEVICES = {"virtio": "virtio-net-pci-non-transitional,host_mtu=65535,romfile=",
           "e1000": "e1000,romfile=", "e1000e": "e1000e,romfile="}
LONG = 180.0         # firmware boots slowly on a busy host
TEXT = b"The node's kernel, the node's application: one image, one node.\n" * 30


@pytest.fixture
def disc(margay: Margay, app, tmp_path: Path):
    """Makes an image: disc("hello", "-n", 2)."""
    def make(name: str, *words: object) -> Path:
        path = tmp_path / f"{name}.iso"
        margay("iso", app(name), "-o", path, *words).ok()
        return path
    return make


@pytest.mark.parametrize("uefi", [False, True], ids=["bios", "uefi"])
def test_disc(margay, tmp_path, disc, uefi):
    """One image boots by both firmwares, with files; all output is also on the screen."""
    (tmp_path / "text").write_bytes(TEXT)
    path = disc("wordfreq", "--link", "none", "--stay", "--file", f"{tmp_path}/text=text", "--", "text")
    board = Board(margay, tmp_path, "-cdrom", path, uefi=uefi)
    board.serial.wait_for(HALTED, LONG)
    lines = [*expected(TEXT), "margay: rank 0 exited with status 0",
             "margay: halted; this machine may be switched off"]
    assert board.serial.out.decode().replace("\r", "").splitlines()[-len(lines):] == lines
    assert [line for line in board.screen(uefi) if line] == lines
    board.off()


def test_files_in_folders(margay, tmp_path, disc):
    """A file has the whole name that it was given, of up to 231 bytes."""
    name = f"texts/{'n' * 220}/text"
    (tmp_path / "text").write_bytes(TEXT)
    (tmp_path / "other").write_bytes(b"other words\n")
    path = disc("wordfreq", "--link", "none", "--file", f"{tmp_path}/other=text", "--file",
                f"{tmp_path}/text={name}", "--", name)
    board = Board(margay, tmp_path, "-cdrom", path)
    board.serial.wait(LONG).ok()
    lines = board.serial.out.decode().replace("\r", "").splitlines()
    assert lines[-len(expected(TEXT)) - 1:-1] == expected(TEXT)


def test_too_many_files(margay, app, tmp_path):
    """Refused before the image is made: no board would boot it."""
    (tmp_path / "texts").mkdir()
    for number in range(17):
        (tmp_path / f"texts/{number}").write_bytes(TEXT)
    for command in ("iso", "pxe"):
        run = margay(command, app("hello"), "-o", tmp_path / "made", "--file", tmp_path / "texts=texts")
        run.status(125).says("17 files: a board's image takes 16\n.*put several into one file")
        assert not (tmp_path / "made").exists()


@FIRMWARE
def test_network_boot(margay, app, tmp_path, uefi):
    """QEMU's own DHCP and TFTP: GRUB, then the image. The card's address selects the node; the
    folder is anywhere below the server's."""
    folder = tmp_path / "tftp"
    folder.mkdir()
    (tmp_path / "text").write_bytes(TEXT)
    margay("pxe", app("hello"), "-n", 3, "--link", "none", "-o", folder / "jobs", "--board",
           "52:54:00:AA:00:07", "--board", "52:54:00:AA:00:08", "--file",
           f"{tmp_path}/text=text").ok()
    loader = "margay.efi" if uefi else "margay.pxe"
    board = Board(margay, tmp_path, "-boot", "n", "-device",
                  "e1000e,netdev=lan,mac=52:54:00:aa:00:08", "-netdev",
                  f"user,id=lan,restrict=on,tftp={folder},bootfile=jobs/{loader}", uefi=uefi)
    board.serial.wait(LONG).ok().prints(r"hello from rank 1 of 3 on node1\r?$")


@FIRMWARE
def test_unknown_board_asks(margay, tmp_path, disc, uefi):
    """Two nodes, and nothing identifies this one: the menu waits for a person."""
    board = Board(margay, tmp_path, "-cdrom", disc("hello", "-n", 2, "--link", "none"), uefi=uefi)
    board.serial.wait_for("node 1 of 2", LONG)
    board.press("down", "ret")
    board.serial.wait(LONG).ok().prints(r"hello from rank 1 of 2 on node1\r?$")


def test_serial_number_tells_the_node(margay, tmp_path, disc):
    path = disc("hello", "-n", 2, "--link", "none", "--board", "Serial No. 4", "--board",
                "01234567-89AB-cdef-0123-456789abcdef")
    for words, rank in ((("type=1,serial=Serial No. 4",), 0),
                        (("type=1,uuid=01234567-89ab-cdef-0123-456789abcdef",), 1)):
        board = Board(margay, tmp_path, "-cdrom", path, "-smbios", *words, name=f"board{rank}")
        board.serial.wait(LONG).ok().prints(rf"hello from rank {rank} of 2 on node{rank}\r?$")


@pytest.mark.long
def test_usb_stick(margay, tmp_path, disc):
    """The same file as a writable disc, without a CD-ROM's boot record."""
    for uefi in (False, True):
        board = Board(margay, tmp_path, "-device", "qemu-xhci", "-device",
                      "usb-storage,drive=stick", "-drive",
                      f"if=none,id=stick,format=raw,file={disc('hello', '--link', 'none')}",
                      uefi=uefi, name=f"uefi{uefi}")
        board.serial.wait(LONG).ok().prints(r"hello from rank 0 of 1 on node0\r?$")


@pytest.mark.parametrize("pixels", [
    pytest.param(False, id="text"), pytest.param(True, id="pixels", marks=pytest.mark.long)])
def test_screen_scrolls(margay, app, tmp_path, disc, pixels):
    """Long lines are wrapped, and the last of many lines stay on the screen."""
    path = disc("output", "--link", "none", "--stay", "--", "lines", 200)
    board = Board(margay, tmp_path, "-cdrom", path, uefi=pixels)
    board.serial.wait_for(HALTED, LONG)
    lines = [line for line in board.screen(pixels) if line]
    wrapped = "".join(lines)
    assert lines[-2:] == ["margay: rank 0 exited with status 0",
                          "margay: halted; this machine may be switched off"]
    assert wrapped.count(f"{199:099}sum {199 * 100}") == 1 and f"{190:099}{191:099}" in wrapped
    assert f"{100:099}" not in wrapped
    board.off()


@FIRMWARE
def test_panic_stays_on_the_screen(margay, tmp_path, disc, uefi):
    """A machine without a launcher keeps its report on the screen until a person comes."""
    path = disc("hello", "--link", "shm")
    board = Board(margay, tmp_path, "-cdrom", path, uefi=uefi)
    board.serial.wait_for(HALTED, LONG)
    lines = [line for line in board.screen(uefi) if line]
    assert lines[0].startswith("margay: rank 0 (node 0): kernel panic: link=shm, but ")
    assert lines[-1] == "margay: halted; this machine may be switched off"
    board.off()


def test_letters_differ():
    """The kernel has all printable characters, and no two look the same."""
    assert sorted(font().values()) == [chr(code) for code in range(32, 127)]


def boards_on_a_wire(margay: Margay, folder: Path, nodes: int, device: str, words: list[object],
                     uefi: bool, first: tuple[object, ...] = (), more: str = "") -> list[Board]:
    """Running machines, connected by their cards; the first one also gets `first`."""
    boards = []
    for node, cards in enumerate(lan(folder, nodes, device, more)):
        boards.append(Board(margay, folder, *words, *(first if node == 0 else ()), *cards,
                            "-smbios", f"type=1,serial=board{node}", uefi=uefi,
                            name=f"board{node}"))
        wired(folder, nodes)
    return boards


def boards_end(boards: list[Board], uefi: bool) -> list[str]:
    """Waits until all have ended successfully; returns the application's output on all screens."""
    lines = []
    for rank, board in enumerate(boards):
        board.serial.wait_for(HALTED, LONG)
        *said, status, halted = [line for line in board.screen(uefi) if line]
        assert status == f"margay: rank {rank} exited with status 0", said
        assert halted == "margay: halted; this machine may be switched off"
        lines += said
    for board in boards:
        board.off()
    return lines


@FIRMWARE
@pytest.mark.parametrize("link", [pytest.param("virtio", marks=pytest.mark.long),
                                  pytest.param("e1000", marks=pytest.mark.long), "e1000e"])
def test_two_boards_by_network_card(margay, tmp_path, disc, link, uefi):
    """No shared memory: puts and gets between two machines, and barriers."""
    for name, words, said in (("expose", (), ["rank 0 was here", "rank 1 was here"]),
                              ("ptl_barrier", ("--", "rounds", 50), ["done"])):
        path = disc(name, "-n", 2, "--link", link, "--stay", "--board", "board0", "--board",
                    "board1", *words)
        if uefi and name != "expose":
            continue                             # a slow boot of the same kernel
        folder = tmp_path / name
        folder.mkdir()
        boards = boards_on_a_wire(margay, folder, 2, DEVICES[link], ["-cdrom", path], uefi)
        lines = boards_end(boards, uefi)
        if uefi and link == "e1000":             # another device may hold its line
            lines = [line for line in lines if "held by another device" not in line]
        assert lines == said


@pytest.mark.long
@pytest.mark.parametrize("uefi", [False, True], ids=["bios", "uefi"])
def test_boards_boot_over_their_wire(margay, app, tmp_path, uefi):
    """Firmware, GRUB and messages use the same card; its address tells the node."""
    folder = tmp_path / "tftp"
    words = [word for node in range(3) for word in ("--board", f"52:54:00:aa:00:{node:02x}")]
    margay("pxe", app("expose"), "-n", 3, "--link", "e1000e", "-o", folder, "--stay",
           *words).ok()
    loader = "margay.efi" if uefi else "margay.pxe"
    server = ("-netdev", f"user,id=server,restrict=on,tftp={folder},bootfile={loader}")
    boards = boards_on_a_wire(margay, tmp_path, 3, "e1000e", ["-boot", "n"], uefi, server,
                              "server")
    assert boards_end(boards, uefi) == [f"rank {rank} was here" for rank in range(3)]


@pytest.mark.long
@FIRMWARE
def test_a_board_loads_its_image_again(margay, app, tmp_path, uefi):
    """The files are not there at first: the board waits for them, and needs no key. The application
    reads one of them."""
    folder = tmp_path / "tftp"
    (tmp_path / "data").write_text("from the network\n")
    margay("pxe", app("output"), "-o", folder, "--link", "none", "--stay", "--file",
           f"{tmp_path / 'data'}=data", "--", "copy", "data", "data2").ok()
    for name in ("margay.elf", "file0"):
        (folder / name).rename(tmp_path / name)
    loader = "margay.efi" if uefi else "margay.pxe"
    board = Board(margay, tmp_path, "-boot", "n", "-netdev", f"user,id=card,restrict=on,tftp={folder},"
                  f"bootfile={loader}", "-device", "e1000e,netdev=card", uefi=uefi)
    for times, name in ((1, "margay.elf"), (2, "file0")):
        board.serial.wait_for(r"margay: this file could not be loaded; again in 5 s", LONG, times)
        (tmp_path / name).rename(folder / name)
    board.serial.wait_for(HALTED, LONG)
    assert "margay: rank 0 exited with status 0" in board.screen(uefi)
    board.off()


def test_a_board_that_is_never_switched_on(margay, app, tmp_path):
    """Messages to it fail in the end, and no call waits forever."""
    card = ("-netdev", "hubport,id=card,hubid=0", "-device", f"{DEVICES['e1000e']},netdev=card")
    board = Board(margay, tmp_path, "-kernel", app("ptl_absent"), "-append", "--margay node=0 rank=0 "
                  "n=2 link=frames cards=1 incarnation=0 strict=1 patience=1 -- app", *card)
    board.serial.wait().ok().prints(r"^ok\r?$")


@pytest.mark.parametrize("again", [False, True], ids=["off", "off-and-on"])
def test_all_boards_hear_of_a_death(margay, app, tmp_path, again):
    """A node that waits in a barrier asks the dead one for signs of life, and tells the others,
    including the next life, which begins at once here."""
    def board(node: int, name: str) -> Board:
        return Board(margay, tmp_path, "-kernel", app("ptl_barrier"), "-append", f"--margay "
                     f"node={node} rank={node} n=3 link=frames cards=1 incarnation=0 strict=1 "
                     "-- app death", *cards[node], name=name)

    cards = lan(tmp_path, 3, DEVICES["e1000e"])
    boards = []
    for node in range(3):
        boards.append(board(node, f"board{node}"))
        wired(tmp_path, 3)
    boards[0].serial.wait_for(r"running\r?$", LONG)
    boards.pop().off()
    if again:                                    # even its first barrier fails
        board(2, "again").serial.wait(LONG).ok().prints(r"PtlNIBarrier\(ni\) is 1, ")
    for live in boards:
        live.serial.wait(LONG).ok().prints(r"rank \d: PTL_FAIL\r?$")


@pytest.mark.parametrize("link", DEVICES)
def test_a_card_that_loses_its_link(margay, app, tmp_path, link):
    """Unplugged and plugged in again: the node counts it, and messages continue."""
    def unplug(node: int) -> None:
        boards[node].monitor("set_link", name="card", up=False)
        boards[node].serial.wait_for(rf"^rank {node}: link lost, {time}\r?$", LONG)
        boards[node].monitor("set_link", name="card", up=True)
        go_on(2 * time - 1 + node)

    def go_on(losses: int) -> None:
        boards[0].serial.wait_for(rf"^messages go on after {losses} losses\r?$", LONG)

    boards = []
    for node, card in enumerate(lan(tmp_path, 2, DEVICES[link])):
        boards.append(Board(margay, tmp_path, "-kernel", app("ptl_linkloss"), "-append",
                            f"--margay node={node} rank={node} n=2 link=frames cards=1 "
                            "incarnation=0 strict=1 -- app 2", *card, name=f"board{node}"))
        wired(tmp_path, 2)
    go_on(0)
    for time in (1, 2):
        unplug(0)
        unplug(1)
    for board in boards:
        run = board.serial.wait(LONG).ok()
        run.prints(r"^ok\r?$")
        assert run.stdout.count("the link is down; reported once") == 1, run.describe()


def test_messages_beside_long_output(margay, app, tmp_path):
    """A write to the serial port lasts, and the node handles messages meanwhile."""
    boards = []
    for node, card in enumerate(lan(tmp_path, 2, DEVICES["e1000e"])):
        boards.append(Board(margay, tmp_path, "-kernel", app("file_calls"), "-append",
                            f"--margay node={node} rank={node} n=2 link=frames cards=1 "
                            "incarnation=0 strict=1 -- app aside 3", *card, name=f"board{node}"))
        wired(tmp_path, 2)
    for board in boards:
        board.serial.wait(LONG).ok()
    assert "puts came" in boards[0].serial.out.decode()


def test_times_of_files_are_those_of_the_clock(margay, app, tmp_path):
    board = Board(margay, tmp_path, "-kernel", app("file_calls"), "-append",
                  "--margay tmp_mb=4 -- app stamps")
    board.serial.wait(LONG).ok().prints(r"^right\r?$")


@pytest.mark.parametrize("machine", ["q35", "q35,pit=off", "pc,acpi=off"])
def test_clocks_without_a_hypervisor(margay, app, tmp_path, machine):
    """The processor does not report its clock rates: ACPI's timer or the 8254 gives them."""
    serial = tmp_path / "serial"
    live = margay.start("-M", machine, "-kernel", app("clock"), "-m", 128, "-display", "none",
                        "-serial", f"file:{serial}", "-append", "--margay -- clock on",
                        "-no-reboot", "-accel", "tcg", "-cpu", "max,hypervisor=off", program=QEMU)
    clock_goes_right(live, serial)


@pytest.mark.long
@pytest.mark.parametrize("again", [False, True], ids=["off", "off-and-on"])
def test_board_that_loses_power(margay, tmp_path, disc, again):
    """The peer's barrier fails, after bounded retries or at the first frame of the new life."""
    path = disc("ptl_barrier", "-n", 2, "--link", "e1000e", "--stay", "--board", "board0",
                "--board", "board1", "--", "death")
    words = ["-cdrom", path]
    first, second = boards_on_a_wire(margay, tmp_path, 2, DEVICES["e1000e"], words, False)
    first.serial.wait_for(r"running\r?$", LONG)
    second.off()
    if again:
        Board(margay, tmp_path, *words, *lan(tmp_path, 2, DEVICES["e1000e"])[1], "-smbios",
              "type=1,serial=board1", name="again")
    first.serial.wait_for(HALTED, LONG)
    assert [line for line in first.text() if line][:3] == [
        "running", "rank 0: PTL_FAIL", "done"]
    first.off()
