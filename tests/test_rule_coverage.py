"""Every numbered rule and every mistake of docs/portals.md has a test with its name.

A host test is TEST(ruleNN_...) or TEST(mistake_...), a test on booted nodes is a Python
function test_ruleNN_.... The rules that only nodes can show are tested here.
"""
from __future__ import annotations

import re
import subprocess

import pytest

from harness import ROOT

pytestmark = pytest.mark.rules

RULES = range(1, 38)
# Rules about processors and kernels, beyond the engine's unit tests.
ON_NODES = {21, 23, 32}


def names_of_tests() -> list[str]:
    """Names of all tests: of the host's TEST() and of pytest's functions."""
    found = []
    for path in (ROOT / "tests" / "host").glob("test_*.c"):
        found += re.findall(r"^TEST(?:_PATHS)?\((\w+)\)", path.read_text(encoding="utf-8"), re.M)
    for path in (ROOT / "tests").glob("test_*.py"):
        found += re.findall(r"^def test_(\w+)\(", path.read_text(encoding="utf-8"), re.M)
    return found


def rules_of(names: list[str]) -> set[int]:
    return {int(match.group(1)) for name in names if (match := re.match(r"rule(\d\d)_", name))}


def documented() -> str:
    return (ROOT / "docs" / "portals.md").read_text(encoding="utf-8")


def test_every_rule_has_a_test():
    without = set(RULES) - rules_of(names_of_tests())
    assert not without, f"rules without a test: {sorted(without)}"


def test_what_only_nodes_show_is_shown_on_nodes():
    nodes = [name for path in (ROOT / "tests").glob("test_*.py")
             for name in re.findall(r"^def test_(\w+)\(", path.read_text(encoding="utf-8"), re.M)]
    without = ON_NODES - rules_of(nodes)
    assert not without, f"rules without a test on nodes: {sorted(without)}"


def test_every_test_names_a_rule_that_there_is():
    assert rules_of(names_of_tests()) <= set(RULES)


def test_every_rule_is_documented():
    """The table of rules in docs/portals.md has a row for each number."""
    rows = [int(number) for number in re.findall(r"^\| (\d+) \|", documented(), re.M)]
    assert rows == list(RULES)


def test_every_mistake_has_a_test():
    """The list of mistakes in docs/portals.md names a test for each, and every such test."""
    named = set(re.findall(r"`(mistake_\w+)`", documented()))
    there = {name for name in names_of_tests() if name.startswith("mistake_")}
    assert named == there and len(there) >= 5


def test_the_coverage_check_finds():
    assert rules_of(["rule07_x", "rule3_x", "rule_x", "rule12_y"]) == {7, 12}


def calls_of(program, function: str) -> tuple[str, set[str]]:
    """The instructions of a function, and the functions that it calls or jumps to."""
    text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}",
                           str(program)], capture_output=True, text=True, check=True).stdout
    body = text[text.index(f"<{function}>:"):]
    targets = re.findall(r"\t(?:call|jmp|j\w+) +[0-9a-f]+ <([\w.]+)(?:\+0x[0-9a-f]+)?>", body)
    return body, set(targets) - {function}


def test_rule21_a_look_enters_no_kernel(tmp_path):
    """PtlEQGet, and all functions that it may call, contain no system call instruction. The
    exceptions are poll_cards, which is called if the application has chosen not to be
    interrupted, and the case of a deferred handler of a filling queue."""
    program = tmp_path / "ptl_bypass.elf"
    subprocess.run([str(ROOT / "tools" / "margay"), "cc", "-O2", "-I", "apps", "-I", "tests/apps",
                    "-Wl,--discard-none", "tests/apps/ptl_bypass.c", "-o", str(program)],
                   cwd=ROOT, check=True)     # with the names of static functions
    seen: set[str] = set()
    waiting = ["PtlEQGet"]
    while waiting:
        name = waiting.pop()
        seen.add(name)
        body, targets = calls_of(program, name)
        assert "syscall" not in body, name
        assert not re.search(r"\t(call|jmp) +\*", body), f"{name} calls through a pointer"
        waiting += targets - seen - {"poll_cards"}
    assert "syscall" in calls_of(program, "PtlMEUnlink")[0], "the check would find one"


@pytest.mark.every_link
@pytest.mark.spin(2)
@pytest.mark.parametrize("nodes", [2, 3])
def test_rule32_the_target_computes(margay, app, nodes):
    run = margay("run", "-n", nodes, "--no-prefix", app("ptl_bypass")).ok()
    assert run.lines == ["ok bypass"]
