"""Each group of `make bench` over network cards runs and prints its figures, which are not
judged."""
from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys

import pytest

from harness import BUILD, ROOT

sys.path.insert(0, str(ROOT / "tests" / "bench"))
import bench as bench_main  # noqa: E402
import core  # noqa: E402
from core import app  # noqa: E402
import instructions  # noqa: E402
import tables  # noqa: E402

pytestmark = [pytest.mark.bench, pytest.mark.spin(2)]

TWO_PROCESSORS = len(os.sched_getaffinity(0)) > 1
SHARES = ("order", "buffers", "faults", "frame", "portals", "call")
GROUPS = {
    "shared_memory_latency": ("shm_raw_half_rtt_us", "shm_put_8B_half_rtt_us",
                              "shm_raw_doorbell_half_rtt_us", "shm_put_sleep_8B_half_rtt_us"),
    "barrier": ("shm_barrier_64_asleep_us",),
    "division": ("insn_put_8B", "insn_put_8B_locked", "insn_put_8B_fences", "insn_put_8B_stepped",
                 *(f"insn_put_8B_{share}" for share in tables.PUT_SHARES)),
    "languages": ("throw_ns", "throw_10_frames_ns", *(
        f"{what}_{image}_{unit}" for image in ("cxx", "iostream", "fortran")
        for what, unit in (("image", "bytes"), ("boot", "ms")))),
    "standard_streams": ("stdout_lines_MBps", "stdout_blocks_MBps", "stdin_file_MBps",
                         "stdin_pipe_MBps"),
    "systems": (
        *(f"fm_{link}_{what}_MBps_1024" for link in ("shm", "virtio")
          for what in ("one", "two", "match1", "match2")),
        "fm_shm_two_8B_half_rtt_us", "fm_virtio_two_8B_half_rtt_us", "fm_insn_fm2_send_16B",
        "fm_insn_match1_recv_1024B",
        "madeleine_insn_send_8B", "madeleine_insn_receive_8B",
        *(f"madeleine_{link}_{figure}" for link in ("shm", "virtio")
          for figure in ("half_rtt_us_0", "half_rtt_us_65536", "MBps_1048576")),
        *(f"nx_insn_{call}_8B" for call in ("csend", "irecv", "msgwait", "crecv_early")),
        *(f"nx_{link}_{figure}" for link in ("shm", "virtio")
          for figure in ("send_8B_half_rtt_us", "send_MBps_65536")), "nx_shm_gdsum_8_us",
        "pm2_insn_switch", "pm2_virtio_insn_leave", "pm2_switch_ns",
        *(f"pm2_{link}_{figure}" for link in ("shm", "virtio")
          for figure in ("migrate_us", "migrate_bytes", "lrpc_us", "quick_lrpc_us")),
        "vmmc_insn_send_8B", "vmmc_insn_notify_8B_to",
        *(f"vmmc_{link}_{figure}" for link in ("shm", "virtio")
          for figure in ("latency_us_4", "MBps_65536", "both_MBps_65536", "sync_us_4",
                         "async_us_65536", "null_call_us"))),
    "link_latency": ("virtio_raw_half_rtt_us", "virtio_put_8B_half_rtt_us",
                     "virtio_put_1024B_blocking_us"),
    "link_streams": (*(f"virtio_raw_{memory}{way}MBps" for memory in ("", "64K_")
                       for way in ("", "copied_", "bulk_")), "virtio_raw_rate_per_s",
                     "virtio_put_rate_8B_per_s",
                     *(f"virtio_put_MBps_{size}" for size in (1024, 4096, 65536, 1048576))),
    "link_long_frames": tuple(f"e1000e_put_MBps_{size}_{frames}_frames"
                              for size in (65536, 1048576) for frames in ("board", "long")),
    "link_copies": ("virtio_copied_tx_per_byte", "virtio_copied_rx_per_byte",
                    "virtio_peer_bytes", "virtio_peer_bytes_silent"),
    "link_losses": ("virtio_put_MBps_1048576_loss_0.1", "virtio_put_MBps_1048576_loss_1"),
    "link_incast": ("virtio_raw_incast15_MBps", "virtio_incast15_MBps",
                    "virtio_incast15_slowest_share"),
    "link_bypass": tuple(f"virtio_bypass_{size}KB_{what}_ms_{work}" for size in (50, 500)
                         for what in ("wait", "post") for work in (0, 1)),
    "c_library": (*(f"libc_{what}{way}_ns" for what in ("memcpy_4096", "memcpy_1048576",
                                                       "memcmp_4096", "strcmp_4096")
                    for way in ("", "_apart")), "libc_memcpy_64_ns", "libc_memcmp_64_ns",
                  "libc_strcmp_24_ns", "libc_strlen_24_ns", "libc_strlen_4096_ns",
                  "libc_malloc_ns", "libc_printf_double_ns"),
    "files": ("file_host_cp_MBps", *(
        f"file_{where}_{what}" for where in ("host", "memory")
        for what in ("write_MBps", "read_MBps", "copied_per_byte", "open_close_per_s",
                     "stat_per_s"))),
    "link_controls": ("virtio_watchdog_put_8B_half_rtt_us", "virtio_watchdog_bypass_50KB_wait_ms_20",
                      "virtio_watchdog_put_MBps_1024"),
    "far_division": ("insn_put_far", "insn_arrival_far", "insn_tx_8B_driver", *(
        f"insn_{way}{share}" for way in ("tx_8B", "rx_8B", "rx_ack")
        for share in ("", *(f"_{share}" for share in SHARES)))),
}
MAY_BE_ZERO = re.compile("copied_(?!MBps)|silent|insn_.*_(buffers|order|call|portals|fences|record)")
LIMITED = {"shm_put_8B_half_rtt_us": "shm_raw_half_rtt_us",
           "shm_put_sleep_8B_half_rtt_us": "shm_raw_doorbell_half_rtt_us"}


def bench(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run(["/usr/bin/python3", str(ROOT / "tests" / "bench" / "bench.py"), "--quick",
                           "--runs", "1", "--markdown", *words],
                          capture_output=True, text=True, check=False)


@pytest.fixture(scope="module", autouse=True)
def made():
    assert (BUILD / "bench" / "far.elf").exists(), "make bench-apps"


def times_of_a_line(figures: dict) -> int:
    """How often a cache line's way between the processors was measured."""
    return figures.get(core.LINE, {"runs": 0})["runs"]


@pytest.mark.timeout(900)    # 32 s on a quiet machine; halting nodes are slow on a busy one
@pytest.mark.parametrize("group", GROUPS)
def test_a_group_prints_its_figures(group, tmp_path):
    output = tmp_path / "bench.json"
    link = "e1000e" if group == "link_long_frames" else "virtio"
    done = bench("--group", group, "--link", link, "--output", str(output))
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(output.read_text())["figures"]
    for name in GROUPS[group]:
        figure = figures[name]
        assert figure["median"] > 0 or (figure["median"] == 0 and MAY_BE_ZERO.search(name)), name
        assert figure["min"] <= figure["median"] <= figure["max"] and figure["runs"] >= 1
        assert f"|{name}|" in done.stdout
        assert name != "shm_barrier_64_asleep_us" or figure["limit"] > 0
        assert name not in LIMITED or figure["limit"] == figures[LIMITED[name]]["median"]
    assert times_of_a_line(figures) == (2 if TWO_PROCESSORS else 0)


def test_stepping_counts_what_icount_counts():
    """A put to the same node, counted by gdb and by the emulator; it takes only its own block's
    lock."""
    put = [app("cost"), "instructions"]
    stepped = bench_main.stepped("-n", "1", "--accel", "tcg", *put)
    counted = core.Bench(1, "").margay("-n", "1", "--icount", *put)
    assert stepped["insn_put_8B"] == counted["insn_put_8B_self"]
    assert 0 < stepped["insn_put_8B_locked"] < 10


@pytest.mark.parametrize("text, locked", [
    ("lock cmpxchg %ecx,(%rdx)", True), ("xchg   %eax,0x10(%rdi)", True), ("lock incl (%rax)", True),
    ("xchg   %ax,%ax", False), ("xchg   %rax,%rbx", False), ("cmpxchg %ecx,(%rdx)", False),
    ("mov    %eax,(%rdx)", False), ("mfence", False)])
def test_locked_instructions(text, locked):
    assert instructions.is_locked(text) is locked


@pytest.mark.parametrize("markdown", [False, True])
def test_no_number_of_the_table_is_cut_off(markdown):
    """For any length of numbers and names, and any width of the terminal."""
    rows = {"shm_put_rate_8B_per_s": {"median": 2333570.0, "min": 1234567.0, "max": 98765432109.0,
                                      "unit": "1/s", "limit": 12345678901.0,
                                      "aim": ">= 3000000 and much more than was ever reached"},
            "x" * 80: {"median": 0.5, "min": 0.25, "max": 123.0, "unit": "instructions" * 4,
                       "limit": None, "aim": None}}
    shown = bench_main.table(rows, markdown).splitlines()
    for name, row in rows.items():
        line = next(line for line in shown if name in line)
        for value in row.values():
            assert value is None or core.shown(value) in re.split(r" {2,}|\|", line), line


def test_a_group_that_is_not_there(tmp_path):
    output = tmp_path / "bench.json"
    done = bench("--group", "no_such_group", "--output", str(output))
    assert done.returncode == 2 and "invalid choice" in done.stderr and not output.exists()


def test_a_run_says_its_command_and_those_that_it_adds_to(tmp_path):
    output = tmp_path / "bench.json"
    words = ("--group", "sizes", "--output", str(output))
    said = f"make bench ARGS='--quick --runs 1 --markdown --group sizes --output {output}"
    for more, wanted, lines in (((), f"{said}'", 2), (("--add",), f"{said}'; {said} --add'", 4),
                                ((), f"{said}'", 2)):
        assert bench(*words, *more).returncode == 0
        report = json.loads(output.read_text())
        assert report["command"] == wanted
        assert times_of_a_line(report["figures"]) == (lines if TWO_PROCESSORS else 0)


def test_every_link_of_the_launcher_with_cards_is_measured():
    names = subprocess.run(
        ["/usr/bin/python3", "-c",
         f"import sys; sys.path[:0] = [{str(ROOT / 'tests/bench')!r}, {str(ROOT / 'tools')!r}]\n"
         "import cards; from margaylib.links import CARDS; print(set(cards.LINKS) == set(CARDS))"],
        capture_output=True, text=True, check=True)
    assert names.stdout == "True\n"


def test_figures_come_into_the_pages():
    """`make bench-pages`: every place is known, and is filled with the measured figures."""
    figure = {"median": 41.5, "min": 40.0, "max": 45.25, "unit": "us", "runs": 5, "limit": None,
              "aim": "<= 1"}
    names = [*(f"{link}_{row}" for link in tables.LINKS for row in tables.LINK_ROWS),
             "virtio_bypass_50KB_wait_ms_10", "virtio_put_MBps_1048576_loss_1", "insn_tx_8B",
             "insn_put_8B_copy", "mpi_virtio_send_8B_half_rtt_us",
             "virtio_poll_put_MBps_1024", "virtio_interrupt_put_MBps_1024", "shm_put_MBps_16",
             "e1000e_raw_MBps_9014_switch_a_core_each"]
    report = {"date": "2026-01-01", "machine": "a machine", "commit": "abc",
              "figures": dict.fromkeys(names, figure)}
    others = {"date": "2026-01-02", "machine": "another", "how": "measured",
              "figures": {"mpich_pp_8B_med": {"value": 247.2, "unit": "us"}}}
    places = set()
    for page in tables.PAGES:
        text = page.read_text()
        places |= {name for _, name, _ in tables.PLACE.findall(text)}
        made = tables.rewritten(text, report, others)
        said = re.findall(r"2026-01-0[12], (?:a machine, commit abc|another, measured):\n\n\|", made)
        assert len(said) == len(tables.PLACE.findall(text))
        assert tables.rewritten(made, report, others) == made
        assert tables.rewritten(text, {**report, "figures": {}}, {**others, "figures": {}}) == text
    assert places == {"front"} | set(tables.TABLES) | set(tables.PEER_TABLES)
    assert "|put_8B_half_rtt_us|41.5 (40 to 45.2)|" in tables.links(report["figures"])
    assert "|insn_tx_8B|41.5|us||<= 1|**no**|" in tables.aims(report["figures"])
    assert "|MPI, 8 bytes, half a round trip over virtio-net, us|41.5||247|" in tables.front(
        report["figures"], others["figures"])
    assert "|mpich_pp_8B_med|247|us|MPICH, half round trip of 8 bytes|" in tables.peers(
        others["figures"])
    assert "|shm_put_MBps_16|41.5 (40 to 45.2)|us||" in tables.memory(report["figures"])


def test_no_place_of_a_page_is_empty():
    for page in tables.PAGES:
        for place in tables.PLACE.finditer(page.read_text()):
            assert "|---|" in place.group(0), f"{page.name}: {place.group(2)} was never filled"


def test_figures_of_uncommitted_sources_are_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "BUILD", tmp_path)
    monkeypatch.setattr(tables, "PAGES", (tmp_path / "page.md",))
    (tmp_path / "bench.json").write_text(json.dumps({"commit": "abc-dirty", "figures": {}}))
    with pytest.raises(SystemExit, match="abc-dirty.*commit, and measure anew"):
        tables.main()


def raw(least: float, most: float, runs: int = 3, unit: str = "us") -> dict:
    return {"median": 100.0, "min": least, "max": most, "unit": unit, "runs": runs, "limit": None,
            "aim": None}


@pytest.mark.parametrize("figures, named", [
    ({"shm_raw_half_rtt_us": raw(95.5, 105)}, None),
    ({"shm_raw_half_rtt_us": raw(95, 105)}, "shm_raw_half_rtt_us was 100 \\(95 to 105\\) us"),
    ({"shm_raw_half_rtt_us": raw(100, 101), "virtio_raw_MBps": raw(91, 200, unit="MB/s")},
     "virtio_raw_MBps was 100 \\(91 to 200\\) MB/s"),
    ({"shm_copy_limit_MBps_4096": raw(50, 100)}, "shm_copy_limit_MBps_4096 was"),
    ({"virtio_raw_incast15_MBps": raw(50, 100)}, "virtio_raw_incast15_MBps was"),
    ({"shm_raw_half_rtt_us": raw(100, 100, runs=1)}, "shm_raw_half_rtt_us was measured once"),
    # puts may spread, and losses and set-ups are not limits
    ({"shm_raw_half_rtt_us": raw(99, 101), "shm_put_8B_half_rtt_us": raw(50, 500),
      "virtio_raw_incast15_lost": raw(0, 200, unit="frames"),
      "virtio_raw_MBps_1514_direct_two_cores": raw(1, 500)}, None),
    # the host moved its processors apart; or it did not
    ({"shm_raw_half_rtt_us": raw(99, 101), core.LINE: raw(75, 363, unit="ns")},
     "near each other and far apart in turns: host_line_ns was 100 \\(75 to 363\\)"),
    ({"shm_raw_half_rtt_us": raw(99, 101), core.LINE: raw(75, 220, unit="ns")}, None),
    ({"insn_put_8B": raw(100, 100)}, "no raw figure was measured")])
def test_figures_of_a_machine_that_was_not_quiet_are_not_written(tmp_path, monkeypatch, figures,
                                                                 named):
    page = tmp_path / "page.md"
    page.write_text("<!-- figures: memory -->\nold\n<!-- end of figures -->\n")
    monkeypatch.setattr(tables, "BUILD", tmp_path)
    monkeypatch.setattr(tables, "PAGES", (page,))
    (tmp_path / "bench.json").write_text(json.dumps(
        {"commit": "abc", "date": "2026-01-01", "machine": "m", "figures": figures}))
    if named:
        with pytest.raises(SystemExit, match=f"(?s)nothing is written.*{named}.*on a quiet machine"):
            tables.main()
        assert "\nold\n" in page.read_text()
    else:
        tables.main()
        assert "old" not in page.read_text() and "|shm_raw_half_rtt_us|" in page.read_text()


@pytest.mark.parametrize("aim, limit, value, reached", [
    ("<= 60", None, 60, True), ("<= 60", None, 60.5, False), ("0", None, 0, True),
    ("0", None, 0.1, False), (">= 90 % of raw", 1000, 899, False),
    (">= 90 % of raw", 1000, 900, True), ("<= 1.25 times raw", 40, 50, True),
    ("<= 6.5 times raw", 0.1, 0.66, False), ("<= 1.1 times doorbell", 20, 22, True),
    (">= 1.3 times board_frames", 600, 779, False), (">= 1.3 times board_frames", 600, 780, True),
    ("<= 1.2 times posted_1", 100, 121, False), (">= 150000 and raw", 200000, 180000, False),
    (">= 150000 and raw", 100000, 150000, True), ("", 1, 1, None), (None, 1, 1, None)])
def test_an_aim_is_met_or_not(aim, limit, value, reached):
    assert tables.met({"aim": aim, "limit": limit, "median": value}) is reached


@pytest.mark.parametrize("aim", ["100", "650 in the paper", "<= 2.5 round trips", "<="])
def test_an_aim_that_cannot_be_judged_is_refused(aim):
    with pytest.raises(core.BenchError, match=f"ns: '{re.escape(aim)}' is no aim"):
        core.Bench(1, "").add("ns", 1, "ns", aim)


@pytest.mark.parametrize("script", ["steps.py", "steps_far.py"])
def test_divisions_name_functions_that_exist(script):
    """A renamed function would silently count for its file's share."""
    parts = [node.value for node in ast.parse((ROOT / "tests/bench" / script).read_text()).body
             if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
             and node.targets[0].id in ("HELPERS", "FUNCTIONS", "PLACES")]
    names = {name[1] if isinstance(name, tuple) else name
             for part in parts for name in ast.literal_eval(part)}
    sources = "\n".join(path.read_text() for folder in ("net", "kernel", "drivers")
                        for path in (ROOT / folder).rglob("*.[ch]"))
    gone = [name for name in names
            if not re.search(rf"^(?!\t).*\b{name}\([^;]*$", sources, re.M)]
    assert names and not gone
