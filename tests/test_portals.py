"""Every call of Portals with each of its errors, from applications on real nodes."""
from __future__ import annotations

import os

import pytest

pytestmark = pytest.mark.messages

LISTS = ("attach_any attached_portal insert hidden insert_arguments update update_arguments "
         "max_size").split()
ONESIDED = ("regions arguments atomic_arguments getput atomics long_atomics atomic_events copied "
            "inline").split()
SPAN = "addresses calls requests arguments".split()
IOVEC = "puts fetches one_buffer arguments".split()
ACCESS = "interface defaults entries each_rank answers arguments identity".split()
LIMITS = "granted pools bounds messages".split()
COUNTERS = "tickets sums swaps lock".split()


def cases(margay, app, nodes: int, name: str, wanted: list[str], *args: int) -> None:
    """Rank 0 prints a line for each case that all ranks have passed."""
    run = margay("run", "-n", nodes, "--no-prefix", app(name), *args).ok()
    assert run.lines == [f"ok {case}" for case in wanted]


@pytest.mark.every_link
@pytest.mark.parametrize("nodes", [1, 2])
def test_lists_of_entries_and_descriptors(margay, app, nodes):
    cases(margay, app, nodes, "ptl_lists", LISTS)


@pytest.mark.every_link
@pytest.mark.spin(2)
@pytest.mark.parametrize("nodes, rounds", [(1, 100), (2, 2000), (3, 1000), (4, 1000), (7, 300),
                                           (16, 50)])
def test_barrier(margay, app, nodes, rounds):
    """No rank leaves a barrier before all have entered it, in any number of barriers."""
    run = margay("run", "-n", nodes, "--mem", 16, "--no-prefix", app("ptl_barrier"), "rounds",
                 margay.rounds(rounds)).ok()
    assert run.lines == ["done"]


@pytest.mark.every_link
@pytest.mark.parametrize("nodes", [1, 2, 4, 5])
def test_barrier_before_the_others_interfaces(margay, app, nodes):
    run = margay("run", "-n", nodes, "--no-prefix", app("ptl_barrier"), "late", 4).ok()
    assert run.lines == ["done"]


@pytest.mark.every_link
@pytest.mark.spin(2)
@pytest.mark.parametrize("nodes", [1, 2, 3, 5])
def test_barrier_that_handlers_interrupt(margay, app, nodes):
    run = margay("run", "-n", nodes, "--no-prefix", app("ptl_barrier"), "handlers", 30).ok()
    assert run.lines == ["done"]


def test_barrier_of_64(margay, app):
    run = margay("run", "-n", 64, "--mem", 16, "--no-prefix", app("ptl_barrier"), "late", 2).ok()
    assert run.lines == ["done"]


@pytest.mark.every_link
@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_regions_exchanges_atomics(margay, app, nodes):
    cases(margay, app, nodes, "ptl_onesided", ONESIDED)


@pytest.mark.every_link
@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_rule35_descriptors_over_all_memory(margay, app, nodes):
    cases(margay, app, nodes, "ptl_span", SPAN)


@pytest.mark.every_link
@pytest.mark.spin(2)
@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_rule36_floating_point(margay, app, nodes):
    """With any rounding, unmasked exceptions and values in all registers at both processes."""
    cases(margay, app, nodes, "ptl_float", ["modes"])


@pytest.mark.every_link
@pytest.mark.parametrize("nodes", [1, 2])
def test_descriptors_of_pieces(margay, app, nodes):
    cases(margay, app, nodes, "ptl_iovec", IOVEC)


@pytest.mark.every_link
@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_access_and_identity(margay, app, nodes):
    cases(margay, app, nodes, "ptl_access", ACCESS, os.getuid())


def test_a_second_use_of_the_interface(margay, app):
    """Status registers are zeroed; the node's counters continue."""
    assert margay("run", app("ptl_reopen")).ok().lines == ["ok"]


@pytest.mark.every_link
@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_limits(margay, app, nodes):
    cases(margay, app, nodes, "ptl_limits", LIMITS)


@pytest.mark.every_link
@pytest.mark.spin(2)
@pytest.mark.parametrize("nodes, rounds", [(1, 500), (2, 1000), (4, 500), (8, 100)])
def test_counters(margay, app, nodes, rounds):
    """All ranks change words of one; the sums are exact."""
    cases(margay, app, nodes, "ptl_counter", COUNTERS, margay.rounds(rounds))
