"""How nodes talk: the links that the launcher knows, and what each gives a node. Pure.

One table names the network cards. The rest checks the options of links and writes their keys for
the kernel's command line.
"""
from __future__ import annotations

import os

from .errors import MargayError

TYPE_CHECKING = False         # typing is slow to import
if TYPE_CHECKING:
    from .options import RunOptions

CONTROLS = ("interrupt", "poll", "watchdog")
MOST_CARDS = 4                # CARDS_MOST of kernel/transport/cards.h
MOST_PORTS = 256              # of the switch
LIFE = 65536                  # increment of a node's incarnation with each life
KEY_DIGITS = 32               # of --auth
DEATHS = ("end", "continue", "restart")
MOST_OF_LINK = 10 ** 9        # us, or MB/s
RESTARTS = 3                  # of one node, unless --restarts says another number
CARD_TESTS = {"frames", "framesizes"}     # self-tests that have the cards to themselves


class Card:
    """A network card as QEMU makes it, and the machine type that suits it."""

    def __init__(self, device: str, properties: str, machine: str, mtu: int, longest: int = 0) -> None:
        self.device = device
        self.properties = properties
        self.machine = machine
        self.mtu = mtu            # longest frame of a board's card, in bytes without the CRC
        self.longest = longest    # longest frame in bytes, where a board's card takes shorter ones; else 0


CARDS = {
    # Without ioeventfd a doorbell costs the guest less, and two nodes on two cores need no third
    # thread. Frames of up to 65,549 bytes.
    "virtio": Card("virtio-net-pci-non-transitional", "host_mtu=65535,mq=off,ioeventfd=off",
                   "microvm", mtu=65549),
    # No interrupt delay of up to 128 us. On microvm interrupts do not work.
    "e1000": Card("e1000", "mitigation=off", "pc", mtu=16124),
    # Any length, if damaged frames are accepted too. 32 KiB of payload and the header: a message of
    # 64 KiB is two equal frames. The real card takes 9,234 bytes with the CRC.
    "e1000e": Card("e1000e", "", "microvm", mtu=9230, longest=32960),
}
LINKS = ("shm", *CARDS)
NO_DISC = ("microvm",)        # machine types that cannot boot an image
ETHERNET_MTU = 1514           # frames that every switch takes, in bytes without the CRC
OF_CARDS = ("cards", "control", "crc", "auth", "no_bulk", "mtu")
OF_SWITCH = ("faults", "pcap", "latency", "bandwidth", "accept_forged", "test_ports")


def default_machine(link: str, disc: bool) -> str:
    """QEMU's machine type where the user names none."""
    machine = CARDS[link].machine if link in CARDS else "microvm"
    return "q35" if disc and machine in NO_DISC else machine


def card_address(rank: int, card: int) -> str:
    """The Ethernet address of a node's card; the switch and the kernel use the same rule."""
    return f"02:4d:47:{card:02x}:{rank >> 8:02x}:{rank & 255:02x}"


def card_arguments(link: str, rank: int, card: int, fd: int) -> list[str]:
    """QEMU's words for a card on the socket `fd`."""
    kind = CARDS[link]
    device = [kind.device, f"netdev=net{card}", f"mac={card_address(rank, card)}",
              kind.properties, "romfile="]
    return ["-netdev", f"stream,id=net{card},addr.type=fd,addr.str={fd}",
            "-device", ",".join(filter(None, device))]


def cards_alone(options: RunOptions) -> bool:
    """True if a self-test uses the cards, so that messages stay in shared memory."""
    return any(key == "selftest" and value in CARD_TESTS for key, value in options.kernel)


def link_keys(options: RunOptions, life: int = 1) -> list[tuple[str, str]]:
    """Keys of the kernel's command line. A later life must accept frames of those before. Life 0 is
    a board's, which counts its lives by its clock."""
    if options.link not in CARDS:
        return [("link", options.link)]
    keys = [("link", "shm" if cards_alone(options) else "frames"), ("cards", str(options.cards))]
    if not cards_alone(options):
        keys += [("incarnation", str(life * LIFE)), ("control", options.control or CONTROLS[0])]
    if life != 1:
        keys.append(("strict", "1"))
    if CARDS[options.link].longest and life:
        keys.append(("longest", str(CARDS[options.link].longest)))
    if options.mtu:
        keys.append(("mtu", str(options.mtu)))
    if options.crc:
        keys.append(("crc", "1"))
    if options.auth:
        keys.append(("auth", options.auth))
    if options.bulk:
        keys.append(("bulk", "1"))
    return keys


def job_key(name: str, text: str) -> str:
    """The key of --auth: the user's, or a random one."""
    if not text:
        return os.urandom(KEY_DIGITS // 2).hex()
    if len(text) != KEY_DIGITS or not set(text.lower()) <= set("0123456789abcdef"):
        raise MargayError(f"{name}: not a key",
                          f"give {KEY_DIGITS} hexadecimal digits, or {name} alone for a random "
                          "key")
    return text.lower()


def link_values(name: str, text: str) -> str:
    """--latency and --bandwidth: a number for all links, NODE:NUMBER for a node's, or both."""
    for index, word in enumerate(text.split(",")):
        node, colon, value = word.rpartition(":")
        if not (value.isascii() and value.isdecimal() and 1 <= int(value) <= MOST_OF_LINK
                and (not colon or (node.isascii() and node.isdecimal()))):
            raise MargayError(f"{name} {text}: '{word}' is not a whole number from 1 to "
                              f"{MOST_OF_LINK}, nor NODE:NUMBER with such a number",
                              f"write {name} 20, or for node 3's link alone 3:500, or 20,3:500")
        if not colon and index:
            raise MargayError(f"{name} {text}: '{word}' is for all links, and does not come first",
                              f"write {name} 20,3:500")
    if len(named_nodes(text)) < text.count(":"):
        raise MargayError(f"{name} {text} names a node twice", "leave one of them out")
    return text


def named_nodes(text: str) -> set[int]:
    """The nodes of a value of --latency or --bandwidth."""
    return {int(word.split(":")[0]) for word in text.split(",") if ":" in word}


def check(options: RunOptions, command: str) -> None:
    """Fills in defaults that depend on the link, and refuses contradictions."""
    options.machine = options.machine or default_machine(options.link, bool(options.boot))
    cure = f"use --link {', '.join(CARDS)}"
    if options.on_death == "restart":
        _check_restart(options, command, cure)
    elif options.restarts:
        raise MargayError("--restarts: no node is restarted", "add --on-death restart, or leave it out")
    if options.link not in CARDS:
        for name in (*OF_CARDS, *OF_SWITCH, "direct"):
            if getattr(options, name):
                raise MargayError(f"--{name.replace('_', '-')} needs network cards", cure)
        return
    if options.no_bulk and options.link != "virtio":
        raise MargayError(f"--no-bulk: {options.link} has no second card for long messages",
                          "leave it out, or use --link virtio")
    # A second card for long messages, where it can deliver them without a copy. Images open one card.
    options.bulk = (options.link == "virtio" and command in ("run", "gdb") and options.nodes > 1
                    and not options.boot and not options.no_bulk and not options.cards and not options.icount
                    and not cards_alone(options))
    options.cards = options.cards or 1 + options.bulk
    if command in ("iso", "pxe"):
        options.mtu = options.mtu or ETHERNET_MTU
        most = CARDS[options.link].mtu
        if options.mtu > most:
            raise MargayError(f"--mtu {options.mtu}: frames of {options.link} cards have at most "
                              f"{most} bytes", f"use --mtu {most} or less")
        return
    if options.direct and options.nodes != 2:
        raise MargayError("--direct joins two nodes without a switch", "use -n 2")
    given = [f"--{name.replace('_', '-')}" for name in OF_SWITCH if getattr(options, name)]
    if options.direct and given:
        raise MargayError(f"{given[0]} is done by the switch, and --direct joins two nodes "
                          "without a switch", "leave one of them out")
    nodes = {*range(options.nodes), *(int(port.split(".")[0]) for _, port in options.test_ports)}
    for name in ("latency", "bandwidth"):
        for node in sorted(named_nodes(getattr(options, name)) - nodes):
            raise MargayError(f"--{name}: there is no node {node}",
                              f"there are nodes 0 to {options.nodes - 1}")
    ports = options.nodes * options.cards + len(options.test_ports)
    if ports > MOST_PORTS:
        raise MargayError(f"{options.nodes} nodes with {options.cards} cards each and "
                          f"{len(options.test_ports)} test ports need {ports} ports, and the "
                          f"switch has {MOST_PORTS}", "use fewer nodes, --cards or --test-port")


def _check_restart(options: RunOptions, command: str, cure: str) -> None:
    """Refuses jobs in which a node cannot be replaced by a machine with fresh memory."""
    options.restarts = options.restarts or RESTARTS
    if options.link not in CARDS or cards_alone(options):
        raise MargayError("--on-death restart: a node whose messages go through shared memory "
                          "cannot come back", cure)
    if options.direct:
        raise MargayError("--on-death restart needs the switch, which --direct does without",
                          "leave one of them out")
    if options.boot:
        raise MargayError("--on-death restart: an ISO cannot tell a node its next life",
                          "leave out --boot or --on-death")
    if command == "gdb":
        raise MargayError("--on-death restart is not for gdb", "use margay run")
