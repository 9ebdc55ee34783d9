#!/usr/bin/python3
"""Nodes whose switch loses, repeats, reorders, damages, delays, cuts and stops.

A Case is a pair of faults at a rate, on some nodes; ptl_faults sends over that network, and judge()
compares the reports of both sides of every pair. A dozen cases are in test_faulty_links.py; as a
program (`make soak`) it runs all of them in turn.
"""
from __future__ import annotations

import argparse
import itertools
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

KINDS = ("loss", "dup", "reorder", "damage", "delay", "cut", "stop")
RATES = (0.1, 1, 5, 20)               # %: of the frames, or of the time
COUNTED = {"loss": "lost", "dup": "duplicated", "reorder": "reordered", "damage": "damaged",
           "delay": "delayed"}        # counters of the switch
LATE_US = 3000
PERIOD_MS = 200                       # of cuts and stops, one link or port in each
PERIODS = 60
SURE = 30                             # with so many expected faults, some must occur


class Case:
    """Two kinds of faults with equal rates, on `nodes` nodes."""

    def __init__(self, first: str, second: str, rate: float, nodes: int, seed: int,
                 link: str = "virtio", operations: int = 100) -> None:
        self.kinds = (first, second)
        self.rate = rate
        self.nodes = nodes
        self.seed = seed
        self.link = link
        self.operations = operations

    def __str__(self) -> str:
        return f"{'+'.join(self.kinds)} {self.rate:g}% n={self.nodes} seed={self.seed} {self.link}"

    def faults(self) -> str:
        rng = random.Random(self.seed)
        words = [f"seed={self.seed}"]
        for kind in self.kinds:
            if kind == "delay":
                words.append(f"delay={self.rate}%:{LATE_US}us")
            elif kind in COUNTED:
                words.append(f"{kind}={self.rate}%")
            else:
                words += [self._pause(kind, number * PERIOD_MS, rng) for number in range(PERIODS)]
        return ",".join(words)

    def _pause(self, kind: str, start: int, rng: random.Random) -> str:
        length = max(round(PERIOD_MS * self.rate / 100), 1)
        start += rng.randrange(PERIOD_MS - length)
        nodes = sorted(rng.sample(range(self.nodes), 2)) if kind == "cut" \
            else [rng.randrange(self.nodes)]
        return f"{kind}={'-'.join(map(str, nodes))}:{start}-{start + length}"

    def arguments(self, image: Path, report: Path) -> list[str]:
        """The arguments of `margay`. Payload is checked only on request."""
        return ["run", "--link", self.link, "-n", str(self.nodes), "--mem", "16", "--no-prefix",
                "--faults", self.faults(), *(["--crc"] if "damage" in self.kinds else []),
                *(["--auth"] if self.seed % 3 == 0 else []), "--json", str(report), str(image),
                str(self.operations), str(self.seed)]

    def judge(self, lines: list[str], report: dict) -> str:
        """The error, or ''. The run has ended with status 0.

        No operation may fail here: cuts and stops last 40 ms at most, and a node gives another up
        only after 64 timeouts, which take seconds, without a frame from it.
        """
        said: dict[str, dict[tuple[int, ...], list[int]]] = defaultdict(dict)
        for line in lines:
            name, *numbers = line.split()
            keys = 1 if name == "counter" else 2
            said[name][tuple(map(int, numbers[:keys]))] = list(map(int, numbers[keys:]))
        pairs = list(itertools.permutations(range(self.nodes), 2))
        for pair in pairs:
            if any(pair not in said[name] for name in ("put", "get", "add", "got")):
                return f"rank {pair[0]} or {pair[1]} says nothing"
            ended = [said[name][pair] for name in ("put", "get", "add")]
            good, failed = (sum(column) for column in zip(*ended))
            if failed:
                return f"{failed} operations of {pair[0]} to {pair[1]} failed"
            if good != self.operations:
                return f"operations of {pair[0]} to {pair[1]} have not ended"
            if said["got"][pair] != said["put"][pair][:1]:
                return (f"puts of {pair[0]} to {pair[1]}: {said['put'][pair][0]} acknowledged, "
                        f"{said['got'][pair][0]} arrived")
        for rank in range(self.nodes):
            adds = sum(said["add"][pair][0] for pair in pairs if pair[1] == rank)
            if said["counter"][rank,] != [adds]:
                return f"the counter of {rank} is {said['counter'][rank,]}, {adds} adds"
        lost = sum(rank["stats"]["peers_lost"] for rank in report["ranks"])
        return f"peers were given up {lost} times" if lost else self._missing_faults(report)

    def _missing_faults(self, report: dict) -> str:
        """The switch's statistics show that the requested faults occurred."""
        ports = report["switch"]["ports"]
        frames = sum(port["frames_in"] for port in ports)
        for kind in self.kinds:
            name = COUNTED.get(kind)
            if name and frames * self.rate / 100 > SURE and not sum(port[name] for port in ports):
                return f"no frame was {name} among {frames}"
        return ""


def everything(seed: int, links: tuple[str, ...]) -> list[Case]:
    """All pairs at all rates, on 2 to 8 nodes; the seed determines the rest."""
    cases = []
    for index, (pair, rate) in enumerate(itertools.product(itertools.combinations(KINDS, 2), RATES)):
        cases.append(Case(*pair, rate, 2 + (seed + index) % 7, seed + index,
                          links[(seed + index) % len(links)]))
    return cases


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, help="of the first case; without it a fresh one")
    args = parser.parse_args()
    root = Path(__file__).resolve().parents[1]
    end = time.monotonic() + args.seconds
    seed = random.SystemRandom().getrandbits(24) if args.seed is None else args.seed
    done, tried = 0, set()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "run.json"
        while time.monotonic() < end:
            cases = everything(seed, ("virtio", "virtio", "e1000", "e1000e"))
            random.Random(seed).shuffle(cases)
            for case in cases:
                if time.monotonic() >= end:
                    break
                command = [str(root / "tools" / "margay"),
                           *case.arguments(root / "build/tests/ptl_faults.elf", report)]
                command[2:2] = ["--timeout", "120"]
                ran = subprocess.run(command, capture_output=True, text=True, check=False)
                wrong = f"status {ran.returncode}" if ran.returncode else \
                    case.judge(ran.stdout.splitlines(), json.loads(report.read_text()))
                print(f"{case}: {wrong or 'right'}", flush=True)
                if wrong:
                    sys.exit(f"{' '.join(command)}\n{ran.stdout[-2000:]}{ran.stderr[-4000:]}")
                done += 1
                tried.add((case.kinds, case.rate))
            seed += 1000
    print(f"{done} runs over faulty links, all right: {len(tried)} of {len(cases)} combinations")


if __name__ == "__main__":
    main()
