"""The models of locks and of the link's protocol (tests/spin): windows, loss, lives, and variants
that spin must find wrong. `make model` checks those of grants as well."""
from __future__ import annotations

import shutil
import subprocess

import pytest

from harness import BUILD, ROOT, cores

pytestmark = [pytest.mark.host, pytest.mark.long, pytest.mark.skipif(
    not shutil.which("spin"), reason="spin is not installed (Debian package spin)")]


def test_models_of_the_link(tmp_path):
    """Spin finds every variant right, and the five that lack a rule wrong (see link.pml)."""
    with cores(1, BUILD / "test-cores"):
        done = subprocess.run([ROOT / "tests" / "spin" / "check.sh", tmp_path, "link"],
                              capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    wrong = [": wrong, " in line for line in lines]
    assert wrong == [False] * 10 + [True] * 5, lines


def test_model_of_the_lock(tmp_path):
    """No wakeup is lost, with or without a death; four variants that lack a rule must fail."""
    with cores(1, BUILD / "test-cores"):
        done = subprocess.run([ROOT / "tests" / "spin" / "check.sh", tmp_path, "lock"],
                              capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert [": wrong, " in line for line in lines] == [False, False, True, True, True, True], lines
