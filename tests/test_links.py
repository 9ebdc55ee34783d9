"""The links between nodes in the launcher: options, cards, keys. Boots nothing."""
from __future__ import annotations

import sys

import pytest

from harness import BUILD, ROOT

sys.path.insert(0, str(ROOT / "tools"))

from margaylib import grub, links, machine, options, report, wire  # noqa: E402
from margaylib.errors import MargayError  # noqa: E402
from margaylib.layout import Layout  # noqa: E402

pytestmark = pytest.mark.launcher
MB = 1 << 20


@pytest.mark.parametrize("words, cause", [
    (["--faults", "loss=1%"], "needs network cards"), (["--crc"], "needs network cards"),
    (["--control", "poll", "--link", "shm"], "needs network cards"),
    (["--auth"], "needs network cards"), (["--direct", "-n", "2"], "needs network cards"),
    (["--link", "virtio", "--control", "off"], "not known"),
    (["--link", "virtio", "--auth=" + "0" * 31], "not a key"),
    (["--link", "virtio", "--auth=" + "0" * 33], "not a key"),
    (["--link", "virtio", "--auth=" + "g" * 32], "not a key"),
    (["--on-death", "restart"], "through shared memory"), (["--on-death", "pray"], "not known"),
    (["--on-death", "restart", "--link", "virtio", "--selftest", "frames"], "shared memory"),
    (["--on-death", "restart", "--link", "virtio", "-n", "2", "--direct"], "needs the switch"),
    (["--on-death", "restart", "--link", "virtio", "--boot", "x.iso"], "next life"),
    *((["--link", "virtio", "--boot", "x.iso", *words],
       f"--boot: {words[0]}.* cannot be given here: the image holds")
      for words in (["--crc"], ["--auth"], ["--control", "poll"], ["--stats"], ["--cards", "2"],
                    ["--env", "A=1"], ["--stack", "1"], ["--kernel", "watchdog_us=5"])),
    (["--link", "virtio", "--boot", "x.iso", "--selftest", "frames"], "--selftest cannot be given"),
    (["--boot", "x.iso", "--", "app", "argument"], "--boot: arguments cannot be given here"),
    (["--boot", "x.iso", "--machine", "microvm"], "microvm has no disc to boot from"),
    (["--link", "virtio", "--faults="], "--faults needs a value"),
    (["--faults", ""], "--faults needs a value"), (["--pcap="], "--pcap needs a value"),
    (["--restarts", "2"], "no node is restarted"), (["--test-port", "5:1"], "needs network cards"),
    (["--link", "virtio", "--test-port", "5"], "not a port"),
    (["--link", "virtio", "--test-port", "5:1.x"], "not a port"),
    (["--link", "virtio", "--test-port", "5:.1"], "not a port"),
    (["--link", "virtio", "-n", "2", "--direct", "--accept-forged"], "done by the switch"),
    (["--link", "virtio", "--cards", "5"], "out of range"),
    (["--link", "virtio", "-n", "65", "--cards", "4"], "need 260 ports"),
    (["--link", "e1000e", "-n", "3", "--direct"], "joins two nodes"),
    (["--link", "virtio", "-n", "1", "--direct"], "joins two nodes"),
    (["--link", "e1000", "-n", "2", "--no-bulk"], "e1000 has no second card"),
    (["--no-bulk", "-n", "2"], "needs network cards"), (["--pcap", "f"], "needs network cards"),
    (["--latency", "9"], "needs network cards"), (["--link", "virtio", "-n", "1025"], "out of range"),
    (["--link", "virtio", "-n", "64", "--cards", "4", "--test-port", "9:7"],
     "64 nodes with 4 cards each and 1 test ports need 257 ports, and the switch has 256"),
    (["--on-death", "restart", "--link", "e1000", "--restarts", "0"], "out of range"),
    (["--link", "virtio", "--board", "x"], "unknown option --board"),
    (["--link", "virtio", "--mtu", "9000"], "unknown option --mtu"),
    (["--link", "virtio", "--latency", "soon"], "not a whole number"),
    *((["--link", "virtio", "-n", "3", "--bandwidth", text], cause) for text, cause in (
        ("", "'' is not a whole number"), ("0", "'0' is not a whole number from 1"),
        ("1000000001", "is not a whole number"), ("1.5", "is not"), ("+5", "is not"),
        ("5,x:5", "'x:5' is not"), ("1:", "'1:' is not"), ("5,,1:5", "'' is not"),
        ("5,5", "'5' is for all links"), ("1:5,5", "'5' is for all links"),
        ("1:5,01:6", "names a node twice"), ("5,3:6", "--bandwidth: there is no node 3"))),
    (["--link", "virtio", "-n", "2", "--direct", "--pcap", "f"], "--pcap is done by the switch")])
def test_contradictions_name_a_cause_and_a_cure(words, cause):
    with pytest.raises(MargayError, match=cause) as caught:
        options.parse([*words, "app"])
    assert caught.value.cure and caught.value.status == 125


@pytest.mark.parametrize("words, cause", [
    (["--mtu", "9000"], "--mtu needs network cards"),
    (["--link", "e1000e", "--mtu", "511"], "--mtu 511 is out of range"),
    (["--link", "e1000e", "--mtu", "65550"], "--mtu 65550 is out of range"),
    (["--link", "e1000e", "--mtu", "9231"], "frames of e1000e cards have at most 9230 bytes"),
    (["--link", "e1000", "--mtu", "16125"], "frames of e1000 cards have at most 16124 bytes"),
    (["--link", "e1000e", "--on-death", "restart"], "unknown option --on-death")])
def test_an_image_contradicts_itself(words, cause):
    with pytest.raises(MargayError, match=cause) as caught:
        options.parse([*words, "-o", "f.iso", "app"], "iso")
    assert caught.value.cure


@pytest.mark.parametrize("link, most", [("e1000e", 9230), ("e1000", 16124), ("virtio", 65549)])
def test_an_image_takes_the_longest_frame_of_its_cards(link, most):
    parsed = options.parse(["--link", link, "--mtu", str(most), "-o", "f.iso", "app"], "iso")
    assert f" mtu={most} " in grub.grub_config(parsed, "/boot")


def test_the_patience_option_reaches_the_image():
    """Without the option the image has no parameter, and the kernel chooses."""
    for words, told in (("", False), ("--patience 60", True)):
        parsed = options.parse(["-n", "2", "--link", "e1000e", *words.split(), "-o", "f.iso", "app"], "iso")
        assert (" patience=60 " in grub.grub_config(parsed, "/boot")) == told
    with pytest.raises(MargayError, match="--patience 0 is out of range"):
        options.parse(["--patience", "0", "-o", "f.iso", "app"], "iso")


def test_a_wrong_key_is_not_repeated():
    with pytest.raises(MargayError) as caught:
        options.parse(["--link", "virtio", "--auth=" + "0" * 31, "app"])
    assert "0000" not in str(caught.value)


def keys_of(*words: str) -> dict[str, str]:
    line = machine.kernel_line(options.parse([*words, "app"]), 1, 77, 1000)
    return dict(word.split("=", 1) for word in line.split(" -- ")[0].split(" ")[1:])


def test_shared_memory_has_no_cards():
    assert keys_of("-n", "2")["link"] == "shm"
    assert not keys_of("-n", "2").keys() & {"cards", "incarnation", "control", "crc", "auth"}


@pytest.mark.parametrize("link, device, chosen", [
    ("virtio", "virtio-net-pci-non-transitional", "microvm"), ("e1000", "e1000", "pc"),
    ("e1000e", "e1000e", "microvm")])
def test_links_of_network_cards(link, device, chosen):
    keys = keys_of("-n", "2", "--link", link, "--cards", "1")
    assert keys["link"] == "frames" and keys["cards"] == "1" and keys["control"] == "interrupt"
    assert keys["incarnation"] == "65536" and not keys.keys() & {"crc", "auth", "strict"}
    parsed = options.parse(["-n", "2", "--link", link, "app"])
    assert parsed.machine == chosen
    assert options.parse(["--link", link, "--machine", "pc", "app"]).machine == "pc"
    line = machine.qemu_arguments(parsed, "tcg", 1, 77, 1000, 3 * MB)
    assert "stream,id=net0,addr.type=fd,addr.str=7" in line
    card = next(word for word in line if word.startswith(device + ","))
    assert "mac=02:4d:47:00:00:01" in card and card.endswith(",romfile=") and ",," not in card


@pytest.mark.parametrize("words, bulk", [
    (["--link", "virtio", "-n", "2"], True), (["--link", "virtio"], False),
    (["--link", "e1000e", "-n", "2"], False), (["--link", "virtio", "-n", "2", "--no-bulk"], False),
    (["--link", "virtio", "-n", "2", "--cards", "2"], False),
    (["--link", "virtio", "-n", "2", "--icount"], False),
    (["--link", "virtio", "-n", "2", "--selftest", "frames"], False)])
def test_two_virtio_nodes_have_a_second_card_for_long_messages(words, bulk):
    keys = keys_of(*words)
    assert ("bulk" in keys) == bulk
    assert not bulk or keys["cards"] == "2"


@pytest.mark.parametrize("link, chosen", [("virtio", "q35"), ("e1000e", "q35"), ("e1000", "pc"),
                                          ("shm", "q35")])
def test_what_an_image_boots_on(link, chosen):
    """A machine with a disc; one card, as an image opens no second one."""
    parsed = options.parse(["-n", "2", "--link", link, "--boot", "x.iso", "app"])
    assert parsed.machine == chosen and parsed.cards == (link != "shm") and not parsed.bulk
    parsed = options.parse(["-n", "2", "--link", link, "--boot", "x.iso", "--machine", "pc", "app"])
    assert parsed.machine == "pc"


def test_each_link_has_its_own_latency_and_bandwidth():
    parsed = options.parse(["-n", "4", "--link", "virtio", "--no-bulk", "--latency", "20,3:500",
                            "--bandwidth=9:50,0:10", "--test-port", "9:9", "app"])
    assert wire.switch_arguments(parsed)[2:6] == ["--latency", "20,3:500",
                                                  "--bandwidth", "9:50,0:10"]


def ports(n: int) -> dict:
    return {"seed": 7, "ports": [{"node": node, "card": 0, "frames_in": 5, "cut": 0,
                                  "gone": 2 * (node == 1)} for node in range(n)]}


@pytest.mark.parametrize("n, faults, wanted", [
    (2, False, ["switch     node 0.0  node 1.0", "frames_in         5         5",
                "gone              0         2"]),
    (2, True, ["switch            node 0.0  node 1.0", "faults from seed         7",
               "frames_in                5         5", "gone                     0         2"]),
    (9, False, ["switch     sum  most        of", "frames_in   45     5  node 0.0",
                "gone         2     2  node 1.0"])])
def test_counters_of_the_switch(n, faults, wanted):
    """By port; for many ports the sum, the maximum, and its port."""
    text = report.switch_table(ports(n), faults)
    assert text == "".join(f"margay: {line}\n" for line in wanted)


def test_keys_of_the_link():
    keys = keys_of("-n", "2", "--link", "virtio", "--crc", "--control=watchdog", "--cards", "2",
                   "--auth=" + "0123456789ABCDEF" * 2, "--kernel", "watchdog_us=50")
    assert keys["crc"] == "1" and keys["control"] == "watchdog" and keys["cards"] == "2"
    assert keys["auth"] == "0123456789abcdef" * 2 and keys["watchdog_us"] == "50"


def test_a_random_key_is_one_of_a_job():
    parsed = options.parse(["-n", "2", "--link", "virtio", "--auth", "app"])
    assert parsed.app == "app" and len(parsed.auth) == 32
    lines = [machine.kernel_line(parsed, rank, 77, 1000) for rank in range(2)]
    assert all(f" auth={parsed.auth} " in line for line in lines)
    assert options.parse(["--link", "virtio", "--auth", "app"]).auth != parsed.auth


def test_a_later_life_is_told():
    parsed = options.parse(["-n", "2", "--link", "virtio", "--on-death", "restart", "app"])
    line = machine.kernel_line(parsed, 1, 77, 1000)
    assert " incarnation=65536 " in line and " strict=" not in line and " env=MARGAY_LIFE=1 " in line
    line = machine.kernel_line(parsed, 1, 77, 1000, life=2)
    assert Layout(BUILD / "region.json")["REGION_LIFE"] == links.LIFE
    assert " incarnation=131072 " in line and " strict=1 " in line and " env=MARGAY_LIFE=2 " in line


def test_ports_of_a_test():
    parsed = options.parse(["-n", "2", "--link", "virtio", "--no-bulk", "--accept-forged",
                            "--test-port", "9:7",
                            "--test-port", "10:1.1", "app"])
    assert wire.switch_arguments(parsed)[2:] == ["--accept-forged", "4:0.0", "5:1.0", "6:7",
                                                 "7:1.1"]


def test_the_self_tests_of_cards_leave_messages_in_shared_memory():
    keys = keys_of("-n", "2", "--link", "virtio", "--cards", "3", "--selftest", "frames")
    assert keys["link"] == "shm" and keys["cards"] == "3" and "incarnation" not in keys
    assert keys_of("--link", "virtio", "--selftest", "copy")["link"] == "frames"


def test_a_card_of_qemus_takes_longer_frames_than_a_boards():
    assert keys_of("-n", "2", "--link", "e1000e")["longest"] == "32960"
    assert keys_of("-n", "2", "--link", "e1000e", "--selftest", "frames")["longest"] == "32960"
    for words in ("--link virtio", "--link e1000", ""):
        assert "longest" not in keys_of("-n", "2", *words.split())


def test_iso_tells_the_link():
    text = grub.grub_config(options.parse(
        ["app", "-n", "2", "-o", "x.iso", "--link", "e1000e", "--crc"], "iso"), "/boot")
    assert "node=1 rank=1 n=2 link=frames cards=1 " in text and " crc=1 " in text
    assert " incarnation=0 " in text and " strict=1 " in text    # by the machine's own clock
    assert " mtu=1514 " in text                                  # every switch passes that
    assert "longest=" not in text                                # a real card has its own limit
