#!/usr/bin/python3
"""make soak: random sequences with new seeds until the time is over.

Prints a seed per run; stops at the first difference with a sequence that is minimised by removing
steps. `soak.py --seed N` repeats one run.
"""
from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from model.compare import Comparison, Difference, Engine, minimise  # noqa: E402
from model.sequences import Sequence  # noqa: E402

PROGRAM = Path(__file__).resolve().parents[2] / "build" / "host" / "model-engine"
WORLD = 2500                # steps of one world; few names, so that failures are minimised quickly


def run(seed: int, steps: int) -> Counter:
    """About `steps` steps from one seed; returns the cases that occurred. Raises a minimised
    Difference."""
    source = random.Random(seed)
    seen: Counter = Counter()
    with Engine(PROGRAM) as engine:
        while seen["steps"] < steps:
            comparison = Comparison(engine)
            sequence = Sequence(comparison.world, lambda n: int(source.random() * n))
            try:
                while len(comparison.steps) < WORLD:
                    for step in sequence.next():
                        comparison.apply(step)
                comparison.settle()
            except Difference as difference:
                raise shortest(comparison.steps, seed, difference) from None
            seen += comparison.world.seen
            for process in comparison.world.processes:
                seen += process.reached
            seen["steps"] += len(comparison.steps)
    return seen


def shortest(steps: list[tuple], seed: int, first: Difference) -> Difference:
    short, difference = minimise(PROGRAM, steps)
    if difference is None:
        short, difference = steps[-50:], first
    text = "\n".join("  " + " ".join(map(str, step)) for step in short)
    return Difference(f"seed {seed}: {difference}\nafter these steps:\n{text}", difference.at)


def table(seen: Counter) -> str:
    return "\n".join(f"{seen[key]:9} {' '.join(map(str, key))}"
                     for key in sorted(seen, key=str) if key != "steps")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--steps", type=int, default=100_000, help="of one seed")
    parser.add_argument("--seed", type=int, help="only this one")
    parser.add_argument("--table", action="store_true", help="show what occurred")
    args = parser.parse_args()
    end = time.monotonic() + args.seconds
    seen: Counter = Counter()
    while True:
        seed = random.SystemRandom().getrandbits(32) if args.seed is None else args.seed
        print(f"seed {seed}", end=" ", flush=True)
        start = time.monotonic()
        try:
            found = run(seed, args.steps)
        except Difference as difference:
            sys.exit(f"\n{difference}")
        seen += found
        print(f"{found['steps']} steps, {found['steps'] / (time.monotonic() - start):.0f} a second",
              flush=True)
        if args.seed is not None or time.monotonic() > end:
            break
    print(f"no difference in {seen['steps']} steps")
    if args.table:
        print(table(seen))


if __name__ == "__main__":
    main()
