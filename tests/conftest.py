"""Fixtures, markers and the summary of Margay's regression suite.

`margay(...)` runs the launcher and checks that nothing stays behind; `app(name)`
gives an application's image and builds it where needed. Areas are markers: a test
module names its own with `pytestmark`.
"""
from __future__ import annotations

import fcntl
import subprocess
from collections import Counter, defaultdict
from pathlib import Path
from typing import Callable, Iterator

import pytest

from harness import BUILD, MARGAY, ROOT, Margay, cores

AREAS = ("boot", "libc", "faults", "syscalls", "messages", "wordfreq", "death", "launcher",
         "host", "rules")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="also run the tests marked long")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--long"):
        return
    long = [item for item in items if item.get_closest_marker("long")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]


@pytest.fixture(scope="session", autouse=True)
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What the launcher remembers between runs goes into a folder of this session."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def margay(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Margay]:
    """Runs tools/margay: `margay("run", "-n", 2, app("hello"))`; `.start` for a live one."""
    marker = request.node.get_closest_marker("spin")
    with cores(marker.args[0] if marker else 0, BUILD / "test-cores"):
        runner = Margay(tmp_path)
        yield runner
        left = runner.close()
    if left:
        pytest.fail("a run left behind:\n  " + "\n  ".join(left))


@pytest.fixture(scope="session")
def app() -> Callable[..., Path]:
    """The image of apps/NAME.c (built by make) or tests/apps/NAME.c (built here)."""
    def image(name: str) -> Path:
        source = ROOT / "tests" / "apps" / f"{name}.c"
        if not source.exists():
            made = BUILD / "apps" / f"{name}.elf"
            assert made.exists(), f"{made} is not there: run make"
            return made
        folder = BUILD / "tests"
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return build_test_app(source, folder / f"{name}.elf")
    return image


def build_test_app(source: Path, image: Path) -> Path:
    """Compiles a test application if anything that it is made of is newer."""
    parts = [source, ROOT / "linker.ld", BUILD / "kernel.o", BUILD / "libmargay.a",
             *source.parent.glob("*.h"), *(ROOT / "apps").glob("*.h"),
             *(ROOT / "include").rglob("*.h")]
    if image.exists() and image.stat().st_mtime > max(part.stat().st_mtime for part in parts):
        return image
    command = [str(MARGAY), "cc", "-Wall", "-Wextra", "-Werror", "-I", str(ROOT / "apps"),
               "-o", str(image), str(source), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"$ {' '.join(command)}\n{done.stdout}{done.stderr}"
    return image


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Iterator[None]:
    """A failed test shows each of its runs: command, status, last lines."""
    report = (yield).get_result()
    runner = getattr(item, "funcargs", {}).get("margay")
    if report.failed and isinstance(runner, Margay):
        report.sections += [(f"run {number}", run.describe())
                            for number, run in enumerate(runner.runs[-3:], 1)]


def pytest_terminal_summary(terminalreporter) -> None:
    """A row per area before pytest's own last line."""
    counts: dict[str, Counter] = defaultdict(Counter)
    seconds: Counter = Counter()
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.stats.get(outcome, []):
            area = next((a for a in AREAS if a in report.keywords), "other")
            counts[area][outcome] += 1
            seconds[area] += report.duration
    if not counts:
        return
    terminalreporter.section("areas")
    terminalreporter.write_line(f"{'area':10}{'passed':>8}{'failed':>8}{'skipped':>9}{'s':>8}")
    for area in (*AREAS, "other"):
        if row := counts.get(area):
            terminalreporter.write_line(
                f"{area:10}{row['passed']:8}{row['failed'] + row['error']:8}"
                f"{row['skipped']:9}{seconds[area]:8.1f}")
