"""Links and engines of simulated nodes: the long runs (the short ones are unit tests).

The seed is printed; `build/host/netsim NODES MESSAGES SEED ...` repeats a run.
"""
from __future__ import annotations

import random
import re
import subprocess

import pytest

from harness import BUILD, ROOT, cores

pytestmark = pytest.mark.host

FAULTS = ("loss", "duplicate", "reorder", "damage", "delay", "cut", "stop")
RATES = (1000, 10_000, 50_000, 200_000)        # per million
PAIRS = [(a, b) for a in FAULTS for b in FAULTS if a < b]


def run(program: str, *arguments: object) -> str:
    command = [str(part) for part in (BUILD / "host" / program, *arguments)]
    print(" ".join(command))
    with cores(1, BUILD / "test-cores"):
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and done.stdout.endswith("ok\n"), (
        f"$ {' '.join(command)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def seed() -> int:
    return random.randrange(1, 1 << 31)


def test_head_of_the_program_lists_its_options():
    """Each with unit and default: "name  unit, default: meaning"."""
    head, code = (ROOT / "tests" / "netsim" / "main.c").read_text("utf-8").split(" */\n", 1)
    options = set(re.findall(
        r'(?:RATE\(|FLAG\(|NUMBER\(|(?:option|word)\(argc, argv, )"(\w+)', code))
    listed = set(re.findall(r"^ \*   (\w+) +[^,]+, [^:]+: ", head, re.M)) | {"engines"}
    assert len(options) > 25
    assert listed == options and "engines=1 (0 or 1, 0)" in head


@pytest.mark.parametrize("words, said", [
    (("2", "100", "1", "lost=1"), "netsim: \"lost=1\" is no option of this run"),
    (("2", "100", "1", "engines=1", "incast=1"), "netsim: \"incast=1\" is no option of this run"),
    (("2", "100", "1", "loss=1", "loss=2"), "netsim: \"loss=2\" is no option of this run"),
    (("2", "100", "1", "loss=1%"), "netsim: loss is a number, not \"1%\""),
    (("2", "100", "1", "loss=1000001"), "netsim: loss is from 0 to 1000000, not 1000001"),
    (("1", "100", "1"), "netsim: NODES is from 2 to 4096, not 1"),
    (("two", "100", "1"), "netsim: NODES is a number, not \"two\""),
    (("2", "100", "1", "pcap=/no/such"), "/no/such: No such file or directory")],
    ids=["name", "of-another-run", "twice", "value", "range", "nodes", "argument", "file"])
def test_wrong_options_are_refused(words, said):
    done = subprocess.run([BUILD / "host/netsim", *words], capture_output=True, text=True,
                          timeout=600)
    assert done.returncode == 2 and done.stderr.startswith(said) and not done.stdout


def test_50000_messages_between_64_nodes_under_asan():
    text = run("netsim-asan", 64, 50_000, seed(), *(f"{name}=1000" for name in FAULTS))
    assert " 0 failed" in text


def most(text: str) -> tuple[int, ...]:
    """Peak use of records of one node, events of the network, and KB of the program."""
    return tuple(map(int, re.search(r"most (\d+) records of a node and (\d+) events, (\d+) KB",
                                    text).groups()))


MANY = pytest.mark.parametrize("few, many", [
    (20_000, 200_000), pytest.param(100_000, 1_000_000, marks=pytest.mark.long)])


@MANY
def test_many_messages_between_64_nodes_in_bounded_memory(few, many):
    """Natively, with a low rate of every fault. With ten times the messages the links, whose
    memory is fixed at their opening, need no more records, the network holds no more frames, and
    the program grows only by its notes about each message (11 bytes)."""
    short, long = (run("netsim", 64, messages, seed(), *(f"{name}=1000" for name in FAULTS))
                   for messages in (few, many))
    assert int(short.split(" bytes per node")[0].split()[-1]) < 576 * 1024
    assert most(long)[0] <= 2 * most(short)[0] and most(long)[1] <= 2 * most(short)[1]
    assert (most(long)[2] - most(short)[2]) * 1024 < 12 * (many - few) + (4 << 20)
    assert " 0 failed" in long and f"{many} sent" in long


@MANY
def test_many_operations_of_64_engines_in_bounded_memory(few, many):
    """Puts, gets, exchanges and atomic operations between all nodes: natively, with a low rate
    of every fault. Completed operations leave nothing behind."""
    few, many = few // 64 * 64, many // 64 * 64          # equally many for each engine
    short, long = (run("netsim", 64, operations, seed(), "engines=1",
                       *(f"{name}=1000" for name in FAULTS)) for operations in (few, many))
    assert f"{many} started, 0 failed" in long
    assert most(long)[0] <= 4 * most(short)[0] and most(long)[1] <= 4 * most(short)[1]
    assert most(long)[2] - most(short)[2] < 4096


@pytest.mark.long
def test_1024_engines():
    """As many nodes as a region can have, natively: 5 GB, mostly for their blocks."""
    assert "16384 started, 0 failed" in run("netsim", 1024, 16_384, seed(), "engines=1", "loss=10000")


@pytest.mark.parametrize("restarts", [0, 30])
def test_50000_operations_of_64_engines_under_asan(restarts):
    text = run("netsim-asan", 64, 50_000 // 64 * 64, seed(), "engines=1", f"restarts={restarts}",
               *(f"{name}=1000" for name in FAULTS))
    assert (" 0 failed" in text) == (restarts == 0)


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_pairs_of_faults_with_engines(pair):
    """Each pair of faults, at every rate."""
    for rate in RATES:
        text = run("netsim", 8, 2000, seed(), "engines=1", *(f"{name}={rate}" for name in pair))
        assert "2000 started, 0 failed" in text


@pytest.mark.parametrize("fault", FAULTS)
def test_engines_that_restart(fault):
    """Combined with another fault; no operation of an earlier life has an effect."""
    rates = {"delay": 20_000, "duplicate": 20_000, fault: 50_000}
    run("netsim-asan", 8, 8000, seed(), "engines=1", "restarts=20",
        *(f"{name}={rate}" for name, rate in rates.items()))


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_pairs_of_faults(pair):
    """Each pair at two rates; every message arrives once, in order, with the right bytes."""
    text = run("netsim", 8, 5000, seed(), *(f"{name}={random.choice(RATES)}" for name in pair))
    assert " 0 failed" in text


@pytest.mark.long
@pytest.mark.parametrize("rates", [(a, b) for a in RATES for b in RATES],
                         ids=lambda rates: f"{rates[0]}-{rates[1]}")
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_pairs_of_faults_at_all_rates(pair, rates):
    text = run("netsim", 16, 50_000, seed(),
               *(f"{name}={rate}" for name, rate in zip(pair, rates)))
    assert " 0 failed" in text


@pytest.mark.parametrize("fault", FAULTS)
def test_long_cuts_end_in_honest_failures(fault):
    """Links are cut for longer than the link's limit, combined with another fault: messages
    fail, and each is reported correctly."""
    text = run("netsim", 8, 20_000, seed(), "cut=300000", "cut_ns=300000000", "tries=3",
               *([f"{fault}=20000"] if fault != "cut" else []))
    assert " 0 failed" not in text


@pytest.mark.long
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_pairs_of_faults_at_all_rates_with_engines(pair):
    """Also with long payload over bulk cards."""
    for rates in [(a, b) for a in RATES for b in RATES]:
        faults = [f"{name}={rate}" for name, rate in zip(pair, rates)]
        for more in ("", "announce=16384 longest=60000", "restarts=10"):
            text = run("netsim", 8, 8000, seed(), "engines=1", *faults, *more.split())
            assert " 0 failed" in text or more == "restarts=10"


@pytest.mark.long
def test_million_operations_of_engines_under_asan():
    run("netsim-asan", 64, 1_000_000, seed(), "engines=1", *(f"{name}=10000" for name in FAULTS))


@pytest.mark.long
def test_million_messages_under_asan():
    run("netsim-asan", 64, 1_000_000, seed(), *(f"{name}=10000" for name in FAULTS))


BULK = ("announce=16384", "longest=400000", "longer=200000", "unplaceable=1")


@pytest.mark.parametrize("nodes, messages, faults", [(16, 20_000, ""), (16, 10_000, "all")])
def test_long_messages_go_by_bulk_cards(nodes, messages, faults):
    """Simulated cards place the payload; a fifth of the messages is long."""
    rates = [f"{name}=1000" for name in FAULTS] if faults else []
    text = run("netsim-asan", nodes, messages, seed(), *BULK, *rates)
    assert " 0 failed" in text


@pytest.mark.parametrize("nodes, bandwidth, least", [
    (2, 10_000_000, 1.5), (2, 1_000_000, 15),
    (8, 10_000_000, 3), (8, 1_000_000, 30)])
def test_slow_links_carry_little_twice(nodes, bandwidth, least):
    """Messages of 500 KB over slow links, to each other or to one node, take less than 1.5 times as
    long (simulated) as their bytes. A part takes up to 66 ms, longer than most timeouts."""
    text = run("netsim", nodes, 63, seed(), "announce=65536", "fixed=500000", "busy=0",
               "mtu=65500", f"bandwidth={bandwidth}", *(["incast=1"] if nodes > 2 else []))
    assert " 0 failed" in text
    assert float(re.search(r"([0-9.]+) simulated s", text)[1]) < 1.5 * least


@pytest.mark.parametrize("nodes", [4, 8, 16])
def test_slow_links_lose_no_peer(nodes):
    """Each sends to all others: a part waits behind those to others, at most for seconds."""
    text = run("netsim", nodes, 64, seed(), "announce=65536", "fixed=500000", "busy=0", "mtu=65500",
               "bandwidth=1000000")
    assert " 0 failed" in text


@pytest.mark.long
@pytest.mark.parametrize("rate", [1000, 10_000, 50_000, 200_000])
@pytest.mark.parametrize("pair", [(a, b) for a in FAULTS for b in FAULTS if a < b],
                         ids=lambda pair: "-".join(pair))
def test_pairs_of_faults_with_bulk_cards(pair, rate):
    run("netsim", 16, 10_000, seed(), *BULK, *(f"{name}={rate}" for name in pair))
