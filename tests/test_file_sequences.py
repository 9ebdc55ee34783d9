"""Random sequences of calls on files: the same results on the host, over 9P and in memory."""
from __future__ import annotations

import random
import re
import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from harness import ROOT

pytestmark = pytest.mark.files

NAMES = "abcdelm"
SIZES = (0, 1, 5, 100, 4095, 4096, 4097, 9000, 20000)
PLACES = (0, 10, 4096, 30000, -1, -50)
FLAGS = "r w b rc wc bc wct bct bcx bca wa ba rd rn bcn bt rt wcxt".split()
# The first calls of a sequence, so that most others find something.
BEGIN = ["new s", "mkdir d", "mkdir d/e", "open 0 a bc", "write 0 9000 1", "link a b", "symlink d l",
         "symlink e/a d/m", "open 1 b b", "open 2 d/c bca", "write 2 100 2", "open 3 d r"]
# Calls by their arguments: a slot, a path, a single name, a path without "..", a size.
CALLS = r"""open slot path flags/open slot name flags/open slot path flags/close slot/dup slot slot/
read slot size/pread slot size size/write slot size size/write slot size size/pwrite slot size size/
lseek slot place whence/ftruncate slot size/fstat slot/fstat slot/append slot whence/fchdir slot/
fchmod slot mode/mkdirat slot path/openat slot path/truncate path size/unlink path/unlink name/
rmdir path/mkdir path/mkdir name/rename path path/rename name name/rename path name/link path path/
link name name/symlink inside path/readlink path/stat path/lstat path/chmod path mode/
access path mode/list path/list ./chdir inside/chdir @\/s/getcwd"""
SHAPES = [shape.replace("\\/", "/").split() for shape in re.split(r"(?<!\\)/\n?", CALLS)]


def path(rng: random.Random, above: bool = True) -> str:
    """Relative, or from the initial folder; at most one step above the sequence's own."""
    names = [rng.choice(NAMES) for _ in range(rng.choice((1, 1, 1, 2, 2, 3)))]
    if len(names) > 1 and rng.random() < 0.6:
        names[0] = rng.choice("dle")
    whole = "/".join(names)
    return {0: "../" + whole if above else whole, 1: whole + "/", 2: names[0] + "/../" + whole,
            3: "@/s/" + whole, 4: whole + "/.", 5: whole + "/.."}.get(rng.randrange(30), whole)


def sequence(rng: random.Random) -> list[str]:
    words = {"slot": lambda: rng.randrange(4), "path": lambda: path(rng),
             "name": lambda: rng.choice(NAMES), "inside": lambda: path(rng, above=False),
             "flags": lambda: rng.choice(FLAGS), "size": lambda: rng.choice(SIZES),
             "place": lambda: rng.choice(PLACES), "whence": lambda: rng.randrange(3),
             "mode": lambda: rng.randrange(64)}
    calls = [" ".join(str(words[word]()) if word in words else word for word in rng.choice(SHAPES))
             for _ in range(rng.randrange(5, 60))]
    return [*BEGIN, *calls, "end"]


@pytest.fixture(scope="module")
def script_on_host(tmp_path_factory):
    made = tmp_path_factory.mktemp("host") / "file_script"
    subprocess.run(["cc", "-O1", "-w", "-o", made, ROOT / "tests" / "apps" / "file_script.c"],
                   check=True)
    return made


def parts(output: str) -> list[list[str]]:
    """The output of each sequence: its lines."""
    return [part.splitlines() for part in output.split("\n\n")]


def compare(margay, app, program, tmp_path, sequences: list[list[str]]) -> None:
    shutil.rmtree(tmp_path / "w", ignore_errors=True)
    script = "".join(line + "\n" for sequence in sequences for line in sequence)
    wanted = subprocess.run([program, "w"], cwd=tmp_path, input=script.encode(), check=True,
                            capture_output=True).stdout.decode()
    for place, args in {"9p": ("w",), "memory": ("/tmp/w",)}.items():
        run = margay("run", "--no-prefix", app("file_script"), *args, input=script)
        for one, other in zip(parts(wanted), parts(run.stdout)):
            if one != other:
                at = next((i for i, pair in enumerate(zip(one, other)) if pair[0] != pair[1]),
                          min(len(one), len(other)))
                pytest.fail(f"{place}: host: {one[at:at + 1]}, node: {other[at:at + 1]}, after\n  "
                            + "\n  ".join(one[:at]))
        run.ok()
        assert run.stdout == wanted, place


def settled(examples: int):
    return settings(max_examples=examples, deadline=None, database=None, phases=[Phase.generate],
                    suppress_health_check=list(HealthCheck))


@pytest.mark.nodes(1)
@pytest.mark.parametrize("examples, sequences", [(2, 60), pytest.param(5, 200, marks=pytest.mark.long)])
def test_sequences(margay, app, script_on_host, tmp_path, examples, sequences):
    @settled(examples)
    @given(st.integers(0, 1 << 32))
    def check(seed):
        rng = random.Random(seed)
        compare(margay, app, script_on_host, tmp_path, [sequence(rng) for _ in range(sequences)])
    check()
