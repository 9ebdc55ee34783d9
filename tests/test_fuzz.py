"""Engine and link under fuzzing (tests/fuzz): first the corpus, then 5 s of search with each target
(20 s with --long).

`make fuzz` searches for longer.
"""
from __future__ import annotations

import os
import random
import subprocess

import pytest

from harness import BUILD, ROOT, cores

pytestmark = pytest.mark.host

TARGETS = ("messages", "blocks", "frames")
each = pytest.mark.parametrize("target", TARGETS, ids=[f"fuzz_{name}" for name in TARGETS])
SECONDS, LONG_SECONDS = 5, 20


def run(target: str, *arguments: object) -> str:
    """The output of the fuzzer; a failure names the command that repeats it."""
    failed = BUILD / "fuzz" / "failed"
    failed.mkdir(parents=True, exist_ok=True)
    program = BUILD / "fuzz" / f"fuzz_{target}"
    command = [str(part) for part in (program, "-max_len=2048", "-timeout=10",
                                      f"-artifact_prefix={failed}/{target}-", *arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    inputs = [line.split()[-1] for line in done.stderr.splitlines()
              if "Test unit written to" in line]
    assert done.returncode == 0, (
        f"$ {' '.join(command)}\n{done.stderr[-6000:]}\n"
        + "".join(f"see its steps: FUZZ_TRACE=1 {program} {name}\n" for name in inputs))
    return done.stderr


@each
def test_corpus(target):
    """Every input of the corpus."""
    corpus = ROOT / "tests" / "fuzz" / "corpus" / target
    files = len(list(corpus.iterdir()))
    assert files >= 40
    assert f"files: {files} " in run(target, "-runs=0", corpus)


@each
def test_search(target, tmp_path, request):
    seconds = LONG_SECONDS if request.config.getoption("--long") else SECONDS
    seed = random.randrange(1, 1 << 31)
    print(f"seed {seed}")
    with cores(1, BUILD / "test-cores"):
        text = run(target, f"-seed={seed}", f"-max_total_time={seconds}", tmp_path,
                   ROOT / "tests" / "fuzz" / "corpus" / target)
    assert "DONE" in text


@each
def test_failing_input_is_kept(target, tmp_path):
    """The fuzzers detect failures: an input whose step fails is written to a file."""
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "input").write_bytes(bytes(16))
    program = BUILD / "fuzz" / f"fuzz_{target}"
    done = subprocess.run([str(program), "-runs=0", f"-artifact_prefix={tmp_path}/kept-",
                           str(corpus)],
                          env={**os.environ, "FUZZ_FAIL": "1"}, capture_output=True, text=True)
    assert done.returncode != 0 and "asked to fail" in done.stderr
    assert list(tmp_path.glob("kept-crash-*"))
