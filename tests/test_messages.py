"""Portals between real nodes: rules, queues, bulk data, crowds."""
from __future__ import annotations

import pytest

pytestmark = pytest.mark.messages

RULES = ("match_bits source positions offsets truncate operations threshold initiator_threshold "
         "unlink drops acks gets").split()
QUEUES = "events overrun reply_without_room poll poll_sets freed_queue arguments pools".split()


@pytest.mark.every_link
@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_rules(margay, app, nodes):
    """One node sends to itself, two to each other; a third one does not take part."""
    run = margay("run", "-n", nodes, "--no-prefix", app("ptl_rules")).ok()
    assert run.lines == [f"ok {name}" for name in RULES]


@pytest.mark.every_link
@pytest.mark.parametrize("nodes", [1, 2])
def test_queues_and_arguments(margay, app, nodes):
    run = margay("run", "-n", nodes, "--no-prefix", app("ptl_queues")).ok()
    assert run.lines == [f"ok {name}" for name in QUEUES]


@pytest.mark.spin(2)
def test_a_reader_is_ahead_of_the_writer(margay, app):
    """Another node's event can be read before it is counted; the wait that follows does not fail."""
    assert margay("run", "-n", 2, "--no-prefix", app("ptl_ahead")).ok().lines == ["done"]


@pytest.mark.own_link
@pytest.mark.spin(2)
@pytest.mark.parametrize("options", ["shm", "virtio", "virtio --no-bulk", "virtio --direct",
                                     "e1000e"])
def test_rule18_nothing_that_a_put_causes_precedes_its_send_end(margay, app, options):
    """Even if the card reports late that it has read the payload."""
    run = margay("run", "-n", 2, "--link", *options.split(), app("ptl_order"), 200).ok()
    assert run.lines == ["[0] ok order, 400 puts"]


@pytest.mark.own_link
@pytest.mark.spin(2)
@pytest.mark.parametrize("options", ["shm", "virtio", "virtio --no-bulk", "e1000", "e1000e",
                                     "virtio --faults loss=3%,reorder=2%,seed=5",
                                     "e1000 --faults loss=3%,reorder=2%,seed=5"])
def test_rule30_puts_to_one_place_are_written_in_order(margay, app, options):
    """Of all lengths, to overlapping places, without waiting for each other."""
    run = margay("run", "-n", 2, "--no-prefix", "--link", *options.split(),
                 app("ptl_overwrite"), 10).ok()
    assert run.lines == ["ok overwrite"]


@pytest.mark.own_link
@pytest.mark.spin(3)
@pytest.mark.parametrize("options", ["shm", "virtio", "virtio --no-bulk", "e1000", "e1000e",
                                     "virtio --faults loss=3%,reorder=2%,dup=1%,seed=2",
                                     "e1000 --faults loss=3%,reorder=2%,dup=1%,seed=2"])
def test_rule30_operations_of_all_kinds_have_the_results_of_a_model(margay, app, options):
    """Without waiting, on overlapping memory, from all ranks to all."""
    run = margay("run", "-n", 3, "--no-prefix", "--link", *options.split(), app("ptl_mix"), 3, 2).ok()
    assert run.lines == ["ok mix"]


@pytest.mark.own_link
@pytest.mark.spin(3)
@pytest.mark.parametrize("nodes, length", [(3, 120), (3, 2000), (2, 2000), (2, 30000)])
def test_rule09_what_others_write_is_not_moved(margay, app, nodes, length):
    """Into memory where a lost frame lets the parts of another message land. Two nodes: by puts of the
    target to itself."""
    run = margay("run", "-n", nodes, "--no-prefix", "--link", "virtio", "--faults", "loss=3%,seed=1",
                 app("ptl_junk"), 40, length).ok()
    assert run.lines == ["ok junk"]


@pytest.mark.every_link
@pytest.mark.spin(2)
@pytest.mark.parametrize("nodes", [1, 2])
def test_bulk(margay, app, nodes):
    """Every size and alignment, compared byte by byte, with nothing written around it."""
    run = margay("run", "-n", nodes, "--no-prefix", app("ptl_bulk"), 8 << 20).ok()
    assert run.lines[:2] == ["ok transfers", "ok order"]


@pytest.mark.every_link
@pytest.mark.spin(2)
@pytest.mark.parametrize("nodes, rounds", [(1, 300), (2, 500), (3, 500), (4, 500), (16, 100)])
def test_crowd(margay, app, nodes, rounds):
    """Many to one, then all to all from a seed."""
    crowd(margay, app, nodes, 7, rounds)


@pytest.mark.spin(2)
@pytest.mark.nodes(64)
def test_crowd_of_64(margay, app):
    crowd(margay, app, 64, 7, 64)


@pytest.mark.long
@pytest.mark.spin(2)
@pytest.mark.parametrize("seed", range(20))
def test_many_crowds(margay, app, seed):
    crowd(margay, app, (2, 3, 5, 8, 13, 24)[seed % 6], seed, 2000)


def crowd(margay, app, nodes: int, seed: int, rounds: int) -> None:
    rounds = margay.rounds(rounds)
    run = margay("run", "-n", nodes, "--mem", 16, "--no-prefix", app("ptl_crowd"), seed, rounds).ok()
    assert run.lines == [f"many to one: {50 * nodes} puts",
                         f"all to all: {nodes} ranks, seed {seed}"]


@pytest.mark.every_link
@pytest.mark.parametrize("nodes", [1, 2, 3, 16])
def test_ring(margay, app, nodes):
    run = margay("run", "-n", nodes, "--no-prefix", app("ring"), 50).ok()
    run.prints(rf"^ring: 50 laps over {nodes} ranks, {50 * nodes} steps")


def test_ring_of_64(margay, app):
    margay("run", "-n", 64, "--mem", 16, app("ring"), 3).ok().prints(
        r"3 laps over 64 ranks, 192 steps")


@pytest.mark.parametrize("args", [(), ("0",), ("x",), ("1", "2"), ("-3",)])
def test_ring_usage(margay, app, args):
    margay("run", "-n", 2, app("ring"), *args).status(2).says("usage: ring LAPS")


@pytest.mark.every_link
@pytest.mark.spin(2)
@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_pingpong(margay, app, nodes):
    run = margay("run", "-n", nodes, "--no-prefix", app("pingpong"), 65536).ok()
    sizes = [int(line.split()[0]) for line in run.lines[1:]]
    assert sizes == [4 ** k for k in range(9)]
    assert all(float(cell) > 0 for line in run.lines[1:] for cell in line.split())
