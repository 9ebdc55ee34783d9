"""wordfreq against Python's own count: texts of every kind, machines of every size."""
from __future__ import annotations

import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import ROOT

pytestmark = pytest.mark.wordfreq

WORD = re.compile(rb"[A-Za-z0-9']+")


def expected(text: bytes) -> list[str]:
    """The lines that wordfreq must print."""
    counts = Counter(word.lower() for word in WORD.findall(text))
    top = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:20]
    return [f"{count:8} {word.decode()}" for word, count in top] + [
        f"{sum(counts.values()):8} words, {len(counts)} different"]


def check(margay, app, folder: Path, text: bytes, nodes: int, mem: int = 64) -> None:
    (folder / "text").write_bytes(text)
    run = margay("run", "-n", nodes, "--mem", mem, "--no-prefix", "--file", folder / "text",
                 app("wordfreq"), "text").ok()
    assert run.lines == expected(text)


def random_text(rng: random.Random, size: int) -> bytes:
    """Bytes of a few kinds: words, separators, NUL, bytes above 127, long runs."""
    kinds = [b"abcABC'09", b" \n\t.,", bytes(range(256)), b"a", b"\0", b"z'Z 9"]
    pieces = []
    while sum(map(len, pieces)) < size:
        kind = rng.choice(kinds)
        pieces.append(bytes(rng.choices(kind, k=rng.choice([1, 3, 8, 40, 300]))))
    return b"".join(pieces)[:size]


TEXTS = {
    "empty": b"",
    "one letter": b"a",
    "separators": b" .,;\n" * 100,
    "short": b"It's a test. It's THE test",
    "all bytes": bytes(range(256)) * 50,
    "nul": b"a\0b\0c\0a\0" * 1000,
    "giant word": b"x" * 300_000,
    "giant words": b" ".join(bytes([97 + i]) * 90_000 for i in range(4)),
    "one word each": b" ".join(b"w%d" % i for i in range(30_000)),
    "apostrophes": b"''' 'a' don't DON'T ' o''o " * 500,
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("nodes", [1, 3])
def test_text(margay, app, tmp_path, name, nodes):
    check(margay, app, tmp_path, TEXTS[name], nodes)


@pytest.mark.every_link
@pytest.mark.parametrize("nodes", [2, 4, 7, 16])
def test_text_of_make_run(margay, app, tmp_path, nodes):
    """The text that `make run` counts, on several machines."""
    subprocess.run([sys.executable, ROOT / "apps" / "text.py", tmp_path / "made"], check=True)
    text = (tmp_path / "made").read_bytes()
    assert len(text) >= 1 << 20
    check(margay, app, tmp_path, text, nodes)


def test_on_64_nodes(margay, app, tmp_path):
    """Most parts begin within a word, some contain no beginning of one."""
    text = random_text(random.Random(64), 20_000) + b"y" * 3000 + b" end"
    check(margay, app, tmp_path, text, 64, 16)


def test_fewer_bytes_than_nodes(margay, app, tmp_path):
    check(margay, app, tmp_path, b"ab a", 16, 16)


@pytest.mark.every_link
def test_pieces_end_within_words(margay, app, tmp_path):
    """Words that cross each border of the pieces that a rank fetches."""
    text = b"".join(b"%s " % (b"abcdefghijk"[:1 + i % 11]) for i in range(60_000))
    check(margay, app, tmp_path, text, 2)


def test_missing_file(margay, app):
    run = margay("run", "-n", 3, app("wordfreq"), "nothing").status(1)
    run.says("wordfreq: nothing: No such file")


def test_usage(margay, app):
    margay("run", "-n", 2, app("wordfreq")).status(2).says("usage: wordfreq FILE")


@pytest.mark.long
@settings(max_examples=60, deadline=None, derandomize=True,
          suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2 ** 32), size=st.integers(0, 200_000),
       nodes=st.sampled_from([1, 2, 3, 4, 5, 8, 13, 16, 31]))
def test_random_texts(margay, app, tmp_path, seed, size, nodes):
    check(margay, app, tmp_path, random_text(random.Random(seed), size), nodes, 16)
