"""The examples of docs/portals.md: they run, and the page shows what is in their files."""
from __future__ import annotations

import re

import pytest

from harness import ROOT

pytestmark = pytest.mark.messages


@pytest.mark.every_link
@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_expose(margay, app, nodes):
    run = margay("run", "-n", nodes, "--no-prefix", app("expose")).ok()
    assert run.lines == [f"rank {rank} was here" for rank in range(nodes)]


@pytest.mark.every_link
@pytest.mark.parametrize("nodes, messages", [(1, 5), (2, 300), (4, 100)])
def test_matched(margay, app, nodes, messages):
    run = margay("run", "-n", nodes, "--no-prefix", app("matched"), messages).ok()
    run.prints(rf"^matched: {messages * (nodes - 1)} messages, \d+ of them early$")


def test_matched_usage(margay, app):
    margay("run", "-n", 2, app("matched"), 0).status(2).says("usage: matched MESSAGES")


@pytest.mark.every_link
@pytest.mark.spin(2)
@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_tickets(margay, app, nodes):
    run = margay("run", "-n", nodes, "--no-prefix", app("tickets"), 200).ok()
    assert run.lines == [f"tickets: 200 pieces, sum {200 * 199 // 2}, drawn {200 + nodes}"]


def test_the_page_shows_the_files():
    """Each piece of code stands in the file that it says it is from, letter by letter."""
    page = (ROOT / "docs" / "portals.md").read_text(encoding="utf-8")
    shown = re.findall(r"<!-- from ([\w/.]+) -->\n```c\n(.*?)```", page, re.S)
    assert len(shown) >= 5 and len(shown) == page.count("```c\n")
    for name, code in shown:
        assert code in (ROOT / name).read_text(encoding="utf-8"), name
