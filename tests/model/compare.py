"""Runs the model and the engine side by side and shows the first difference."""
from __future__ import annotations

import os
import select
import subprocess
from collections import deque
from pathlib import Path
from typing import Iterable, Optional

from model.world import LeftOut, World

BATCH = 200
DEADLINE = 100              # seconds for a batch, which takes milliseconds
FIELDS = ("result and values", "events", "status", "pending and memory")


class Difference(AssertionError):
    """The engine and the model disagree."""

    def __init__(self, text: str, at: int):
        super().__init__(text)
        self.at = at


class Engine:
    """build/host/model-engine, in batches: lines are read on demand."""

    def __init__(self, program: Path):
        self.command = [str(program)]
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.lines: deque[bytes] = deque()
        self.rest = b""

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()

    def send(self, lines: list[str]) -> None:
        try:
            self.process.stdin.write(("\n".join(lines) + "\nflush\n").encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass                                # the reader reports the cause

    def line(self) -> Optional[str]:
        """The next line of results, or None: the engine has ended, or hangs."""
        while not self.lines:
            if not select.select([self.process.stdout], [], [], DEADLINE)[0]:
                self.process.kill()
                return None
            read = os.read(self.process.stdout.fileno(), 1 << 20)
            if not read:
                return None
            *whole, self.rest = (self.rest + read).split(b"\n")
            self.lines.extend(whole)
        return self.lines.popleft().decode()

    def last_words(self) -> str:
        status = self.process.wait(20)
        return f"status {status}\n" + self.process.stderr.read().decode(errors="replace")[-6000:]


def explain(step: tuple, wanted: str, got: str) -> str:
    lines = ["step " + " ".join(map(str, step))]
    for name, model, engine in zip(FIELDS, wanted.split(";"), got.split(";")):
        mark = "  " if model == engine else "! "
        lines += [f"{mark}{name}:", f"    model  {model.strip()}", f"    engine {engine.strip()}"]
    return "\n".join(lines)


class Comparison:
    """One world on both sides: apply steps, then call settle()."""

    def __init__(self, engine: Engine):
        self.engine, self.world = engine, World()
        self.steps: list[tuple] = []            # all that were applied
        self.waiting: list[tuple[tuple, str]] = []     # not sent yet
        self.flying: list[tuple[tuple, str]] = []      # sent, not compared yet
        self.compared = 0
        engine.send(["reset"])

    def apply(self, step: tuple) -> None:
        self.steps.append(step)
        self.waiting.append((step, self.world.apply(step)))
        if len(self.waiting) >= BATCH:
            self.exchange()

    def exchange(self) -> None:
        """Send the waiting steps, and compare those sent before, so that both sides work in
        parallel."""
        if self.waiting:
            self.engine.send([" ".join(map(str, step)) for step, _ in self.waiting])
        before, self.flying, self.waiting = self.flying, self.waiting, []
        for step, wanted in before:
            got = self.engine.line()
            if got is None:
                raise Difference(f"step {' '.join(map(str, step))}\nthe engine ended:\n"
                                 + self.engine.last_words(), self.compared)
            if got != wanted:
                raise Difference(explain(step, wanted, got), self.compared)
            self.compared += 1

    def settle(self) -> None:
        self.exchange()
        self.exchange()


def replay(program: Path, steps: Iterable[tuple]) -> tuple[list[tuple], Optional[Difference]]:
    """The first difference of these steps on a fresh engine, and the steps up to it."""
    with Engine(program) as engine:
        comparison = Comparison(engine)
        try:
            for step in steps:
                try:
                    comparison.apply(step)
                except (KeyError, LeftOut):
                    comparison.steps.pop()
            comparison.settle()
        except Difference as difference:
            return comparison.steps[:difference.at + 1], difference
    return [], None


def minimise(program: Path, steps: list[tuple]) -> tuple[list[tuple], Difference]:
    """Remove steps as long as a difference remains."""
    steps, difference = replay(program, steps)
    assert difference, "the difference does not come again"
    size = max(1, len(steps) // 2)
    while True:
        at = 0
        while at < len(steps):
            shorter, found = replay(program, steps[:at] + steps[at + size:])
            if found:
                steps, difference = shorter, found
            else:
                at += size
        if size == 1:
            return steps, difference
        size //= 2
