"""Fixtures, markers and the summary of Margay's regression suite.

`margay(...)` runs the launcher and checks that it leaves nothing behind; `app(name)` returns an
application's image. Areas are markers: a test module names its own with `pytestmark`. The suite
runs first, then the languages, then MPI; the summary has the time of each.

Links: a test marked `every_link` runs over shared memory and over each kind of network card, with
the same command (the fixture adds `--link`). With --long all other tests of the areas APPLICATIONS
also run over LONG_LINK, except those marked `shared_memory("why")` or `own_link`, which name their
link themselves.
"""
from __future__ import annotations

import os
import signal
import time
from collections import Counter, defaultdict
from pathlib import Path
from types import FrameType
from typing import Any, Callable, Generator, Iterator, Mapping

import pytest
from _pytest.terminal import TerminalReporter

from harness import BUILD, Margay, cores
from ports import Port

# Signals that nohup and background jobs of a script ignore; the launcher's tests send them.
USUAL: dict[signal.Signals, signal.Handlers | Callable[[int, FrameType | None], Any]] = {
    signal.SIGHUP: signal.SIG_DFL, signal.SIGQUIT: signal.SIG_DFL,
    signal.SIGINT: signal.default_int_handler}
for number, own in USUAL.items():
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, own)

os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(BUILD / "hypothesis"))

AREAS = ("mpi", "boot", "libc", "languages", "files", "programs", "faults", "syscalls", "messages", "race",
         "upcalls", "wordfreq", "death", "launcher", "host", "rules", "switch", "nic", "bench",
         "baremetal")
# The parts of the regression suite, in their order: a test is in the last one that has a marker of
# it, or in the first.
PARTS = (("suite", ()), ("languages", ("languages", "programs")), ("MPI", ("mpi",)))
APPLICATIONS = {"libc", "faults", "syscalls", "messages", "race", "upcalls", "wordfreq", "death"}
LINKS = ("shm", "virtio", "e1000", "e1000e")
LONG_LINK = "virtio"
ONE_DRIVER = ("e1000", "e1000e")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="also run the tests marked long")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The links of a test of nodes that names none itself."""
    marks = {mark.name for mark in metafunc.definition.iter_markers()}
    own = any(mark.args[0] == "link" for mark in metafunc.definition.iter_markers("parametrize"))
    if "link" not in metafunc.fixturenames or own or "own_link" in marks:
        return
    links = ["shm"]
    if "every_link" in marks:
        links = list(LINKS)
    elif metafunc.config.getoption("--long") and marks & APPLICATIONS \
            and "shared_memory" not in marks:
        links.append(LONG_LINK)
    if len(links) > 1:
        metafunc.parametrize("link", links, indirect=True)


def part_of(keywords: Mapping[str, Any]) -> int:
    """The index in PARTS of a test with these keywords."""
    return max(number for number, (_, markers) in enumerate(PARTS)
               if number == 0 or any(marker in keywords for marker in markers))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Sorts tests by their parts. Without --long, leaves out tests marked long, single nodes over a
    network card, and more than three nodes over the slower cards. e1000 and e1000e have one driver:
    a test of every link runs over one of the two, in turns, some 30 over each."""
    items.sort(key=lambda item: part_of(item.keywords))
    if config.getoption("--long"):
        return

    def left_out(item: pytest.Item) -> bool:
        values = item.callspec.params if hasattr(item, "callspec") else {}
        link, nodes = values.get("link", "shm"), values.get("nodes", 2)
        if item.get_closest_marker("long") or (link != "shm" and nodes == 1):
            return True
        return link not in ("shm", LONG_LINK) and nodes > 3

    out = {item for item in items if left_out(item)}
    both: dict[tuple, list[pytest.Item]] = defaultdict(list)     # a test over both cards
    for item in items:
        if isinstance(item, pytest.Function) and item not in out and item.get_closest_marker("every_link") \
                and item.callspec.params["link"] in ONE_DRIVER:
            values = item.callspec.params.items()
            both[item.path, item.originalname, *(repr(value) for name, value in values
                                                 if name != "link")].append(item)
    for turn, pair in enumerate(pair for pair in both.values() if len(pair) == len(ONE_DRIVER)):
        out.add(pair[turn % 2])
    config.hook.pytest_deselected(items=list(out))
    items[:] = [item for item in items if item not in out]


@pytest.fixture(scope="session", autouse=True)
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The launcher's cache is a folder of this session. The languages' libraries are those that
    make has built."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = tmp_path_factory.mktemp("cache")
    (cache / "margay").mkdir()
    (cache / "margay/languages").symlink_to(home / "margay/languages")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        yield


@pytest.fixture
def link(request: pytest.FixtureRequest) -> str:
    """The link between the nodes of this test's runs."""
    return getattr(request, "param", "shm")


@pytest.fixture
def margay(tmp_path: Path, request: pytest.FixtureRequest, link: str) -> Iterator[Margay]:
    """Runs tools/margay: `margay("run", "-n", 2, app("hello"))`; `.start` for a live one."""
    marker = request.node.get_closest_marker("spin")
    with cores(marker.args[0] if marker else 0, BUILD / "test-cores"):
        runner = Margay(tmp_path, link)
        yield runner
        left = runner.close()
    if left:
        pytest.fail("a run left behind:\n  " + "\n  ".join(left))


@pytest.fixture
def port() -> Iterator[Port]:
    one = Port()
    yield one
    one.close()


@pytest.fixture(scope="session")
def app() -> Callable[[str], Path]:
    """The image of apps/NAME.c or tests/apps/NAME.c, built by make."""
    def image(name: str) -> Path:
        images = [BUILD / folder / f"{name}.elf" for folder in ("apps", "tests")]
        made = [path for path in images if path.exists()]
        assert made, f"{name}.elf is not there: make all test-apps"
        return made[0]
    return image


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]
                              ) -> Generator[None, Any, None]:
    """A failed test shows each of its runs: command, status, last lines."""
    report = (yield).get_result()
    runner = getattr(item, "funcargs", {}).get("margay")
    if report.failed and isinstance(runner, Margay):
        report.sections += [(f"run {number}", run.describe())
                            for number, run in enumerate(runner.runs[-3:], 1)]


# Of each part: when its first test began and its last one ended, in seconds.
began: dict[int, float] = {}
ended: dict[int, float] = {}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    part, now = part_of(report.keywords), time.monotonic()
    began[part] = min(began.get(part, now), now - report.duration)
    ended[part] = now


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """A row per area and the time of each part, before pytest's own last line, which sums them."""
    counts: dict[str, Counter] = defaultdict(Counter)
    seconds: dict[str, float] = defaultdict(float)
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.stats.get(outcome, []):
            # A file that could not be imported has neither.
            area = next((a for a in AREAS if a in getattr(report, "keywords", ())), "other")
            counts[area][outcome] += 1
            seconds[area] += getattr(report, "duration", 0.0)
    if not counts:
        return
    terminalreporter.section("areas")
    terminalreporter.write_line(f"{'area':10}{'passed':>8}{'failed':>8}{'skipped':>9}{'s':>8}")
    for area in (*AREAS, "other"):
        if row := counts.get(area):
            terminalreporter.write_line(
                f"{area:10}{row['passed']:8}{row['failed'] + row['error']:8}"
                f"{row['skipped']:9}{seconds[area]:8.1f}")
    terminalreporter.write_line("time of the parts, which overlap a little: " + ", ".join(
        f"{PARTS[part][0]} {(ended[part] - began[part]) / 60:.1f} min" for part in sorted(began)))
