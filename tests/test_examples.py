"""The examples of docs/portals.md: they run, and the page shows their files' text."""
from __future__ import annotations

import re

import pytest

from harness import ROOT

pytestmark = pytest.mark.messages

PAGE = (ROOT / "docs" / "portals.md").read_text(encoding="utf-8")
HEADER = "".join((ROOT / "include" / name).read_text(encoding="utf-8")
                 for name in ("portals3_types.h", "portals3.h"))
PROGRAMS = dict(re.findall(r"<!-- program: (\w+) -->\n```c\n(.*?)```", PAGE, re.S))


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
    """Each piece of code is in the file that it names, character by character."""
    shown = re.findall(r"<!-- from ([\w/.]+) -->\n```c\n(.*?)```", PAGE, re.S)
    assert len(shown) >= 5 and len(shown) + len(PROGRAMS) == PAGE.count("```c\n")
    for name, code in shown:
        assert code in (ROOT / name).read_text(encoding="utf-8"), name


@pytest.mark.every_link
@pytest.mark.parametrize("nodes", [1, 2, 4])
def test_the_shortest_program(margay, tmp_path, nodes):
    """The page has the whole program, and it is compiled from there."""
    (tmp_path / "neighbour.c").write_text(PROGRAMS["neighbour"])
    margay("cc", "-Wall", "-Wextra", "-Werror", "neighbour.c", "-o", "neighbour.elf").ok()
    run = margay("run", "-n", nodes, "--no-prefix", "neighbour.elf").ok()
    assert sorted(run.lines) == [
        f"rank {rank} got: greetings from rank {(rank - 1) % nodes}" for rank in range(nodes)]


def fields(name: str) -> set[str]:
    """The fields of a structure of portals3.h."""
    end = HEADER.index(f"}} {name};")
    inside = re.sub(r"/\*.*?\*/", "", HEADER[HEADER.rindex("typedef struct {", 0, end):end],
                    flags=re.S)
    return set(re.findall(r"(\w+);", inside))


def arguments(name: str) -> set[str]:
    """The parameters of a call of portals3.h."""
    inside = re.search(rf"\b{name}\((.*?)\);", HEADER, re.S)[1]
    return {re.search(r"\w+$", word)[0] for word in inside.split(",")}


def explained(heading: str) -> set[str]:
    """Names in the first columns of the tables below a heading."""
    part = PAGE.split(f"\n### {heading}\n")[1].split("\n### ")[0]
    return {name for cell in re.findall(r"^\|([^|]*)\|", part, re.M)
            for name in re.findall(r"`(\w+)`", cell)}


def test_the_page_explains_all_fields():
    options = set(re.findall(r"#define (PTL_MD_(?!THRESH)\w+) ", HEADER))
    assert len(options) == 12
    assert explained("A descriptor: `ptl_md_t`") == fields("ptl_md_t") | options
    assert explained("An event: `ptl_event_t`") == fields("ptl_event_t")
    assert explained("Opening the interface") == arguments("PtlNIInit") | {"PtlNIInit"}
