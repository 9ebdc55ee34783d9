"""Counts the instructions of a put to another node by purpose; run by gdb.

    margay gdb --batch --ex "source tests/bench/steps_far.py" -n 2 --link virtio --direct \
        build/bench/far.elf

bench.py starts it. Rank 0 is stepped through a put of 8 bytes from its call to its return
and through the card's report that the frame is out (tx), through the arrival of one (rx),
and through the arrival of an acknowledgement by itself (ack); each three times (`--ex
"python ROUNDS=1"` before: once), and the median of their sums is taken. What is compiled
from drivers/ is the driver's own, and in no other figure. One line per share on stdout:
insn_tx_8B_SHARE COUNT, and insn_tx_8B, their sum without the driver's; likewise insn_rx_8B
and insn_rx_ack. `--ex "python DETAIL=True"` before lists the functions as well.

The division is that of the paper on Active Messages on the CM-5: what a bare message costs, and
what in-order delivery, buffer management and fault tolerance add to it. Costs that shared memory
has too are listed separately: `call` and `portals`.
"""
from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import gdb

sys.path.insert(0, str(Path(__file__).resolve().parent))
from stepping import count_call, go, stop_at  # noqa: E402

WARM = 20
SHARES = ("order", "buffers", "faults", "frame", "portals", "call")

# Functions whose instructions count as their caller's.
HELPERS = {"record_at", "units", "is_before", "is_due", "bits", "shifted", "count", "flow_index",
           "flow_lane", "flow_other", "wire_get", "wire_put", "wire_mix", "rounded", "add",
           "send_at", "assembly_at", "stash_at", "transmit_at", "batch_at", "record_count"}
# Function -> share, unless it is from ELSEWHERE; else the file's share counts.
ELSEWHERE = ("drivers/", "net/portals/", "libc-glue/", "lib/portals/")
FUNCTIONS = {
    # ordering: flows, sequence numbers, and whose turn it is to send
    "flow_find": "order", "flow_open": "order", "reassemble": "order",
    "place_short": "order", "place_first": "order", "locate": "order",
    "advance": "order", "end_first": "order", "unstash": "order", "wire_fast_read": "order",
    "handle_short": "order",
    "handle_fast": "order", "receive_fast": "order", "wire_fast_source": "order",
    "is_quiet": "order", "transmit": "order", "flow_ready": "order",
    "flow_waits": "order", "flow_has_gap": "order",
    # records for messages and frames, and the window
    "record_alloc": "buffers", "record_free": "buffers", "has_room": "buffers",
    "link_has_room": "buffers", "link_send": "buffers", "may_send": "buffers",
    "link_fast_room": "buffers", "link_fast_send": "buffers", "message_free": "buffers",
    "flow_share": "buffers", "records_free": "buffers",
    "flow_for": "buffers", "flow_count_sender": "buffers",
    "begin_epoch": "buffers", "link_transmitted": "buffers", "any_transmitted": "buffers",
    "transmitted": "buffers",
    "frame_send": "buffers", "reserve": "buffers", "unreserve": "buffers",
    "link_reserve": "buffers", "link_unreserve": "buffers", "release": "buffers",
    "init_send": "buffers", "init_put": "buffers",
    # needed only because frames may be lost, damaged, or of another life
    "wire_checksum": "faults", "wire_mixed": "faults", "wire_folded": "faults",
    "port_crc32c": "faults", "by_instruction": "faults",
    "ack_receive": "faults", "apply": "faults", "measure": "faults", "grow": "faults",
    "holes": "faults",
    "reassemble_acknowledge": "faults", "frame_acknowledge": "faults",
    "ack_cumulative": "faults", "ack_other": "faults", "flow_is_cumulative": "faults",
    "flow_piggyback": "faults", "timer_by": "faults",
    "note_sent": "faults", "note_resent": "faults", "frame_ack": "faults",
    "send_end": "faults",
    "is_mine": "faults", "wire_fast_is_sealed": "faults", "learn": "faults", "receive": "faults",
    "membership_check": "faults",
    "membership_is_dead": "faults", "set_timer": "faults", "ktimer_arm_by": "faults",
    "link_port_sent": "faults", "report": "faults", "await_boot": "faults",
}
# By file and function where two functions have the same name.
PLACES = {
    ("net/link/ack.c", "advance"): "faults",
    ("net/link/receive.c", "dispatch"): "faults",
}
# The longest prefix of a file's name counts.
FILES = {
    "drivers/": "driver",
    "net/link/": "frame", "net/link/timer.c": "faults", "net/link/clock.c": "faults",
    "net/link/crc.c": "faults",
    "net/link/ack.c": "faults", "net/link/reassemble.c": "order", "net/link/siphash.": "faults",
    "net/frames/": "frame", "net/port.h": "frame", "net/nic.h": "driver",
    "kernel/memory/memory.c": "driver",  # physical addresses for cards: used by drivers only
    "net/portals/": "portals", "net/shm/": "portals",
    "kernel/transport/crc.c": "faults", "kernel/base/copy.c": "frame",
    "kernel/portals/port.c": "portals", "kernel/transport/link_frames.c": "call",
    "kernel/": "call", "libc-glue/": "call", "lib/portals/": "call", "include/": "call",
}


def of_file(file: str) -> str | None:
    fits = [prefix for prefix in FILES if file.startswith(prefix)]
    return FILES[max(fits, key=len)] if fits else None


def share_of(functions: tuple[tuple[str, str], ...]) -> tuple[str, str]:
    """The share of an instruction within these functions, innermost first, and the name that
    decided."""
    for function, path in functions:
        file = path.removeprefix("./")
        helps = function in HELPERS or file == "<artificial>"
        if helps and (function, path) != functions[-1]:
            continue
        named = FUNCTIONS.get(function) if not file.startswith(ELSEWHERE) else None
        share = PLACES.get((file, function)) or named or of_file(file)
        if not share:
            raise gdb.GdbError(f"tests/bench/steps_far.py knows no share for {function} in {file}")
        return share, f"{function} ({file})"
    return "frame", functions[0][0]


class Count:
    """Instructions of one call or several, by share and by function."""

    def __init__(self) -> None:
        self.shares: Counter[str] = Counter()
        self.functions: Counter[tuple[str, str]] = Counter()

    def add_call(self) -> None:
        for functions, n in count_call().items():
            share, name = share_of(functions)
            self.shares[share] += n
            self.functions[share, name] += n

    def has(self, function: str) -> bool:
        return any(name.startswith(function + " ") for _, name in self.functions)

    def total(self) -> int:
        return sum(n for share, n in self.shares.items() if share != "driver")


def say(name: str, counts: list[Count]) -> None:
    middle = sorted(counts, key=Count.total)[len(counts) // 2]
    if globals().get("DETAIL"):
        for (share, function), n in middle.functions.most_common():
            print(f"{n:5} {name:11} {share:8} {function}")
    print(f"{name} {middle.total()}")
    for share in (*SHARES, *(["driver"] if middle.shares["driver"] else [])):
        print(f"{name}_{share} {middle.shares[share]}")


def main() -> None:
    put = stop_at("PtlPut", ignore=WARM)
    received, transmitted = stop_at("received"), stop_at("transmitted")
    received.enabled = transmitted.enabled = False
    at = {int(str(stop.location)[1:], 16): stop for stop in (put, received, transmitted)}
    sent: list[Count] = []
    arrived: list[Count] = []
    acknowledged: list[Count] = []
    stop = at[go()]
    rounds = globals().get("ROUNDS", 3)
    while len(arrived) < rounds:
        count = Count()
        count.add_call()
        if stop is put:
            sent.append(count)
            received.enabled = True
            transmitted.enabled = not count.has("transmitted")
        elif stop is transmitted:
            sent[-1].shares += count.shares
            sent[-1].functions += count.functions
            transmitted.enabled = False
        elif count.has("eq_record") or count.has("put_words"):
            arrived.append(count)
            received.enabled = False
        stop = at[go()]
    # Continue with the unanswered rounds.
    received.enabled = transmitted.enabled = False
    put.ignore_count = 40
    go()
    put.enabled = False
    received.enabled = True
    while len(acknowledged) < rounds:
        go()
        count = Count()
        count.add_call()
        if count.has("handle_fast") and not count.has("handle_short"):
            acknowledged.append(count)
    say("insn_tx_8B", sent)
    say("insn_rx_8B", arrived)
    # An acknowledgement that lets the next frame be sent does more than acknowledge.
    say("insn_rx_ack", [min(acknowledged, key=Count.total)])


main()
