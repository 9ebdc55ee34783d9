"""Booted nodes over faulty links: every message arrives once, in order and correctly, and no
peer is given up."""
from __future__ import annotations

import json

import pytest

from faulty import KINDS, Case, everything

pytestmark = [pytest.mark.messages, pytest.mark.spin(2), pytest.mark.own_link]

SAMPLES = [
    Case("loss", "dup", 1, 2, 1), Case("loss", "reorder", 5, 3, 2), Case("loss", "damage", 20, 2, 3),
    Case("dup", "reorder", 20, 4, 4), Case("damage", "delay", 5, 2, 5),
    Case("reorder", "delay", 1, 5, 6), Case("loss", "cut", 5, 4, 7), Case("reorder", "stop", 5, 3, 8),
    Case("cut", "stop", 20, 2, 9), Case("dup", "damage", 0.1, 8, 10), Case("loss", "delay", 20, 3, 11),
    Case("damage", "stop", 1, 6, 12), Case("loss", "reorder", 5, 2, 13, "e1000"),
    Case("damage", "dup", 5, 2, 14, "e1000e"),
]


def tried(margay, app, tmp_path, case: Case) -> None:
    report = tmp_path / "run.json"
    run = margay(*case.arguments(app("ptl_faults"), report)).ok()
    assert not case.judge(run.lines, json.loads(report.read_text())), run.describe(80)


@pytest.mark.parametrize("case", SAMPLES, ids=str)
def test_faulty_links(margay, app, tmp_path, case):
    tried(margay, app, tmp_path, case)


@pytest.mark.long
@pytest.mark.parametrize("case", everything(1, ("virtio", "e1000", "e1000e")), ids=str)
def test_all_pairs(margay, app, tmp_path, case):
    tried(margay, app, tmp_path, case)


@pytest.mark.parametrize("link", ["shm", "virtio"], indirect=True)
def test_without_faults_nothing_fails(margay, app, tmp_path, link):
    case, report = Case("loss", "dup", 0, 4, 1), tmp_path / "run.json"
    run = margay("run", "-n", 4, "--mem", 16, "--no-prefix", "--json", report, app("ptl_faults"),
                 100, 1).ok()
    said = json.loads(report.read_text())
    assert not case.judge(run.lines, {"ranks": said["ranks"], "switch": {"ports": []}})


def test_the_judge_sees_what_is_wrong():
    case = Case("loss", "dup", 1, 2, 1, operations=10)
    right = ["put 0 1 6 0", "get 0 1 2 0", "add 0 1 2 0", "got 1 0 8", "counter 0 1",
             "put 1 0 8 0", "get 1 0 1 0", "add 1 0 1 0", "got 0 1 6", "counter 1 2"]

    def report(lost: int = 0, **port: int) -> dict:
        return {"ranks": [{"stats": {"peers_lost": lost}}],
                "switch": {"ports": [{"frames_in": 10, "lost": 0, "duplicated": 0} | port]}}
    assert not case.judge(right, report())
    for line, wrong in [(8, "got 0 1 5"), (8, "got 0 1 7"), (9, "counter 1 3"), (1, "get 0 1 1 0"),
                        (0, "put 0 1 5 1"), (2, "add 0 1 1 1")]:
        assert case.judge([*right[:line], wrong, *right[line + 1:]], report()), wrong
    nothing = [f"{name} {pair} 0 {failed}" for pair in ("0 1", "1 0")
               for name, failed in (("put", 8), ("get", 1), ("add", 1))]
    nothing += ["got 0 1 0", "got 1 0 0", "counter 0 0", "counter 1 0"]
    assert "failed" in case.judge(nothing, report())
    assert "given up" in case.judge(right, report(lost=1))
    assert case.judge(right[:5], report())
    assert "lost" in case.judge(right, report(frames_in=10000, duplicated=90))
    assert len(KINDS) == 7 and len({str(case) for case in everything(1, ("virtio",))}) == 84
