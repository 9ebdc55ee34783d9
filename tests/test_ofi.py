"""The libfabric provider by itself: its calls, and what it claims, over each kind of link."""
from __future__ import annotations

import pytest

pytestmark = [pytest.mark.messages, pytest.mark.own_link]

LOSS = ("--link", "virtio", "--faults", "seed=7,loss=1%")
LINKS = {"shm": (), "virtio": ("--link", "virtio"), "loss": LOSS}
OVER = pytest.mark.parametrize("over", list(LINKS))

INFO = "offered hinted vectors names busy incomplete options not_offered".split()

MESSAGES = ("posted early untagged matching vectors truncated injected arguments bad_memory "
            "cancelled peeked selective formats waiting delivery undirected "
            "inject_by_default").split()

MULTI = "posted early cancelled cancelled_fetching arguments many_buffers".split()


def cases(margay, app, over: str, nodes: int, name: str, wanted: list[str], *args: object) -> None:
    """Rank 0 prints a line for each case that all ranks have passed."""
    run = margay("run", *LINKS[over], "-n", nodes, "--no-prefix", app(name), *args).ok()
    assert run.lines == [f"ok {case}" for case in wanted]


def test_what_is_offered(margay, app):
    cases(margay, app, "shm", 1, "ofi_info", INFO)


@OVER
@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_messages(margay, app, over, nodes):
    """Sends and receives around a ring of ranks."""
    cases(margay, app, over, nodes, "ofi_messages", MESSAGES)


@OVER
@pytest.mark.parametrize("nodes", [1, 2])
def test_buffers_of_many_messages(margay, app, over, nodes):
    cases(margay, app, over, nodes, "ofi_multi", MULTI)
