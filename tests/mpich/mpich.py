#!/usr/bin/python3
"""MPICH's own tests on nodes: mpich.py [options]

    --folder F      of this folder only, or of this one below; repeat
    --lists L       of the lists of this name only: testlist, testlist.dtp, testlist.cvar; repeat
    --only NAME     those whose name is or begins with NAME (coll/bcast), or matches it; repeat
    --link L        shm or virtio (shm); --loss 1% of the frames are lost on the way
    --sample N      so many of them, chosen by --seed S
    --skip NAME     not this one; a sample has another one in its place; repeat
    -j N            nodes at once (as many as there are processors)
    --limit S       no run takes longer than S seconds (the lists' times, TIMES_SLOWER)
    --results FILE  where the results are kept (build/mpich-LINK.json)
    --resume        keeps the results of an earlier call, and runs the others

Takes the tests from Debian's source of MPICH (suite.py), reads their lists (lists.py), runs each
line on nodes in a folder of its own, and judges it as MPICH's runner does (judge.py). reasons.txt
says why those that do not pass do not: another failure is an error, and so is one of those that
passes. A line begins with a pattern of names, or with the path of a program. Called by
`make mpich-check`.

Runs go side by side as long as their ranks together are at most as many as -j says; one that has
more ranks, or a need of memory on file, runs alone.
"""
from __future__ import annotations

import argparse
import fnmatch
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "gcc")]

import suite  # noqa: E402
from dejagnu import SOMETIMES, reasons  # noqa: E402
from judge import judged  # noqa: E402
from lists import FOLDERS, LISTS, Entry, all_of, out_of_scope  # noqa: E402

MARGAY = suite.TOOLS / "margay"
LINKS = ("shm", "virtio")
REASONS = HERE / "reasons.txt"
BOOT = 120                               # seconds; a node may start slowly on a busy host
TIMES_SLOWER = 6                         # a node without KVM than the lists assume
# Megabytes of all nodes of a run together, and of one: some programs have two buffers of up to 1 GB.
# A node uses only as much of the host's as its program touches.
MEMORY, MOST, LEAST = 12288, 3072, 64
KEPT = 2000                              # characters of the output of a test that failed


def node_memory(one: Entry) -> int:
    """Megabytes of each node: an equal share of the list's total, or of the default."""
    wanted = one.memory * 1024 / one.ranks * 1.25
    return int(max(min(MEMORY / one.ranks, MOST), LEAST, wanted))


def command(one: Entry, chosen: argparse.Namespace) -> list[str]:
    words = [MARGAY, "run", "--no-prefix", "-n", one.ranks, "--mem", node_memory(one), "--link",
             chosen.link, "--timeout", seconds(one, chosen)]
    if chosen.loss:
        words += ["--faults", f"loss={chosen.loss},seed={chosen.seed}"]
    for setting in one.env:
        words += ["--env", setting]
    return [str(word) for word in [*words, f"./{one.program}", *one.args]]


def seconds(one: Entry, chosen: argparse.Namespace) -> int:
    return min(one.seconds * TIMES_SLOWER, chosen.limit or sys.maxsize)


def run(one: Entry, chosen: argparse.Namespace) -> dict:
    """Runs it in its own folder, where the program is the only file, and judges the result."""
    words, limit = command(one, chosen), seconds(one, chosen)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="run-", dir=suite.WORK) as folder:
        os.link(suite.SUITE / one.path, Path(folder, one.program))
        try:
            done = subprocess.run([*suite.WITH_US, *words], cwd=folder, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  errors="replace", timeout=2 * limit + BOOT, check=False,
                                  env={**os.environ, "MARGAY_BOOT_SECONDS": str(BOOT)})
            status, text = done.returncode, done.stdout
        except subprocess.TimeoutExpired:
            status, text = 124, "margay run did not end"
    wrong = judged(one.verdict, text, status, one.seconds < 60)
    result = {"outcome": "failed" if wrong else "passed", "why": wrong, "status": status,
              "seconds": round(time.monotonic() - begin, 1)}
    return {**result, "command": " ".join(words), "output": text[-KEPT:]} if wrong else result


class Results:
    """The results by name, written to a file as they arrive."""

    def __init__(self, path: Path, resume: bool) -> None:
        self.path = path
        self.known = json.loads(path.read_text()) if resume and path.exists() else {}
        self.saved = time.monotonic()

    def add(self, one: Entry, result: dict) -> None:
        self.known[one.name] = result
        if time.monotonic() > self.saved + 10:
            self.save()

    def save(self) -> None:
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(self.known, indent=1))
        part.replace(self.path)
        self.saved = time.monotonic()


class File:
    """The reasons on file; a line is for a program or for names that match a pattern."""

    def __init__(self, path: Path) -> None:
        self.lines = reasons(path)

    def of(self, one: Entry) -> str:
        return next((reason for key, reason in self.lines.items() if matches(one, key)), "")

    def unknown(self, entries: list[Entry]) -> list[str]:
        return [key for key in self.lines if not any(matches(one, key) for one in entries)]


def matches(one: Entry, key: str) -> bool:
    return one.path == key or fnmatch.fnmatchcase(one.name, key)


def chosen_of(entries: list[Entry], chosen: argparse.Namespace) -> list[Entry]:
    if chosen.folder:
        entries = [one for one in entries if any(
            f"{one.folder}/".startswith(folder.rstrip("/") + "/") for folder in chosen.folder)]
    if chosen.lists:
        entries = [one for one in entries if one.source in chosen.lists]
    if chosen.only:
        entries = [one for one in entries if any(
            matches(one, name) or one.name.startswith(name) for name in chosen.only)]
    if not chosen.sample:
        return [one for one in entries if one.name not in chosen.skip]
    most = min(chosen.sample + len(chosen.skip), len(entries))
    order = random.Random(chosen.seed).sample(range(len(entries)), most)
    picked = [number for number in order if entries[number].name not in chosen.skip]
    return [entries[number] for number in sorted(picked[:chosen.sample])]


def run_all(entries: list[Entry], results: Results, chosen: argparse.Namespace) -> None:
    """Runs the entries in order, as many at a time as their ranks allow; one with a memory
    requirement runs alone."""
    lock = threading.Lock()

    def one_run(one: Entry) -> None:
        result = run(one, chosen)
        with lock:
            results.add(one, result)
            if result["why"]:
                print(f"{one.name}: {result['why']} ({result['seconds']:.0f} s)", flush=True)

    busy: dict[Future, int] = {}
    with ThreadPoolExecutor(chosen.jobs) as pool:
        for one in entries:
            share = chosen.jobs if one.memory else min(one.ranks, chosen.jobs)
            while sum(busy.values()) + share > chosen.jobs:
                for future in wait(busy, return_when=FIRST_COMPLETED).done:
                    del busy[future]
                    future.result()
            busy[pool.submit(one_run, one)] = share
        for future in busy:
            future.result()


def table(entries: list[Entry], results: Results) -> list[str]:
    kinds = ("passed", "failed", "not built", "skipped")
    count = Counter((one.top, results.known[one.name]["outcome"]) for one in entries)
    rows = [f"{'folder':10}{'listed':>8}" + "".join(f"{kind:>11}" for kind in kinds)]
    for top in [folder for folder in FOLDERS if any(one.top == folder for one in entries)]:
        numbers = [count[top, kind] for kind in kinds]
        rows.append(f"{top:10}{sum(numbers):8}" + "".join(f"{number:11}" for number in numbers))
    return rows


def summary(entries: list[Entry], results: Results, wrong: int, seconds: float) -> str:
    total = Counter(results.known[one.name]["outcome"] for one in entries)
    share = 100 * total["passed"] / len(entries) if entries else 0
    return (f"mpich: {total['passed']} of {len(entries)} passed ({share:.1f} %), {total['failed']} "
            f"failed, {total['not built']} not built, {total['skipped']} skipped, {wrong} without "
            f"a reason on file, {seconds / 60:.0f} minutes")


def surprises(entries: list[Entry], results: Results, file: File) -> list[str]:
    """The results that differ from those on file."""
    found = []
    for one in entries:
        result, reason = results.known[one.name], file.of(one)
        if result["outcome"] == "skipped" or reason.startswith(SOMETIMES):
            continue
        if bool(result["why"]) != bool(reason):
            found.append(f"{one.name}: {result['why'] or 'passes, but has a reason not to'}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="MPICH's own tests on nodes")
    parser.add_argument("--folder", action="append", default=[])
    parser.add_argument("--lists", action="append", default=[], choices=LISTS)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--link", choices=LINKS, default="shm")
    parser.add_argument("--loss", default="", help="of frames, as in 1%%; with --link virtio")
    parser.add_argument("--sample", type=int, default=0, help="so many of them; 0: all")
    parser.add_argument("--skip", action="append", default=[])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--results", type=Path)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--list", action="store_true", help="print their names only")
    parser.add_argument("--fetch", action="store_true", help="unpack and configure them only")
    chosen = parser.parse_args()
    if chosen.loss and chosen.link == "shm":
        parser.error("shared memory loses nothing: --link virtio")
    if chosen.results and not chosen.results.absolute().parent.is_dir():
        parser.error(f"--results {chosen.results}: there is no folder {chosen.results.parent}")
    begin = time.monotonic()
    try:
        suite.prepare(os.cpu_count() or 1)
    except (RuntimeError, subprocess.CalledProcessError) as error:
        print(f"mpich: {error}", file=sys.stderr)
        return 1
    if chosen.fetch:
        return 0
    everything = all_of(suite.SUITE)
    entries = chosen_of(everything, chosen)
    if chosen.list:
        print(*(one.name for one in entries), sep="\n")
        return 0
    file = File(REASONS)
    unknown = file.unknown(everything)
    kept = suite.BUILD / f"mpich-{chosen.link}{'-loss' * bool(chosen.loss)}.json"
    results = Results(chosen.results or kept, chosen.resume)
    waiting = [one for one in entries if one.name not in results.known]
    unbuilt = suite.build([one for one in waiting if not one.xfail], os.cpu_count() or 1)
    runs = []
    for one in waiting:
        if one.xfail:
            results.add(one, {"outcome": "skipped", "why": f"MPICH fails it: {one.xfail}"})
        elif one.path in unbuilt:
            results.add(one, {"outcome": "not built", "why": unbuilt[one.path]})
        else:
            runs.append(one)
    try:
        run_all(runs, results, chosen)
    finally:
        results.save()
    wrong = surprises(entries, results, file)
    for line in [*(f"{key}: no such test" for key in unknown), *table(entries, results)]:
        print(line)
    for place, number in out_of_scope(suite.SUITE).items():
        print(f"{place:10}{number:8}  out of scope")
    for why, number in Counter(file.of(one) for one in entries if file.of(one)).most_common():
        print(f"{number:5}  {why}")
    for line in wrong:
        print(f"without a reason on file: {line}")
    print(summary(entries, results, len(wrong), time.monotonic() - begin))
    return 1 if wrong or unknown or not entries else 0


if __name__ == "__main__":
    sys.exit(main())
