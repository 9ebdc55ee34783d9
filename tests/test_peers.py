"""`make bench-peers`: a folder's run.sh is run from a copy, and pages quote docs/peers.json
correctly."""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness import ROOT, until

sys.path.insert(0, str(ROOT / "tests" / "bench"))
import native  # noqa: E402
import peers  # noqa: E402
import tables  # noqa: E402

pytestmark = pytest.mark.bench

GOOD = """echo "preparing" >&2
echo "mpich_pp_8B_med 250.5 us # 249 250.5 252"
echo "mpich_bw_1024B_med 9 MB/s # 9"
echo "mpich_bypass_50000B_work10ms_wait_med 20000 us"
echo "words $*"
echo "of_words $# words"
echo ran >> runs
"""


@pytest.fixture
def build(tmp_path, monkeypatch):
    """peers.py with its build/ and docs/peers.json elsewhere."""
    monkeypatch.setattr(peers, "BUILD", tmp_path / "build")
    monkeypatch.setattr(peers, "KEPT", tmp_path / "kept.json")
    monkeypatch.setattr(peers, "machine", lambda: "a machine")
    (tmp_path / "build").mkdir()
    return tmp_path / "build"


@pytest.fixture
def folder(tmp_path):
    """Makes a read-only folder of peers with this run.sh."""
    def make(script: str) -> Path:
        made = tmp_path / "others"
        made.mkdir(exist_ok=True)
        (made / "sub").mkdir(exist_ok=True)
        (made / "sub" / "data").write_text("1")
        run = made / "run.sh"
        run.unlink(missing_ok=True)
        run.write_text("#!/bin/bash\n" + script)
        run.chmod(0o444)
        return made
    return make


def bench_peers(monkeypatch, *words) -> None:
    monkeypatch.setattr(sys, "argv", ["peers.py", *map(str, words)])
    peers.main()


def lives(pid: int) -> bool:
    """Whether the process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def test_figures_stand_beside_ours(build, folder, monkeypatch, capfd):
    (build / "bench.json").write_text(json.dumps(
        {"figures": {"virtio_put_8B_half_rtt_us": {"median": 51.25}}}))
    bench_peers(monkeypatch, folder(GOOD), "raw", "mpich")
    shown = capfd.readouterr()
    assert "mpich_pp_8B_med 250.5 us" in shown.out and "of_words 2 words" in shown.out
    assert re.search(r"^virtio_put_8B_half_rtt_us +51\.2 +MPICH 250$", shown.out, re.M), shown.out
    assert re.search(r"^virtio_put_MBps_1024 +- +MPICH 9$", shown.out, re.M)
    assert re.search(r"^virtio_bypass_50KB_wait_ms_10 +- +MPICH 20$", shown.out, re.M)
    assert "1 lines are no figures, the first: 'words raw mpich'" in shown.err
    made = json.loads((build / "peers.json").read_text())
    assert [one["what"] for one in made] == ["others"]
    assert made[0]["machine"] == "a machine" and re.fullmatch(r"\d{4}-\d\d-\d\d", made[0]["date"])
    assert made[0]["figures"]["mpich_pp_8B_med"] == {"value": 250.5, "unit": "us"}
    assert not (build.parent / "kept.json").exists()
    assert not (build.parent / "others" / "runs").exists()


def test_what_the_copy_built_is_kept_until_the_source_changes(build, folder, monkeypatch):
    source = folder(GOOD)
    bench_peers(monkeypatch, source)
    bench_peers(monkeypatch, source)
    assert (build / "peers" / "others" / "runs").read_text() == "ran\nran\n"
    bench_peers(monkeypatch, folder(GOOD + "true\n"))
    assert (build / "peers" / "others" / "runs").read_text() == "ran\n"


def test_keep_replaces_the_set_of_the_same_name(build, folder, monkeypatch):
    kept = build.parent / "kept.json"
    kept.write_text(json.dumps([{"what": "others", "figures": {}}, {"what": "else"}]))
    bench_peers(monkeypatch, folder(GOOD), "--keep")
    assert [one["what"] for one in json.loads(kept.read_text())] == ["else", "others"]


def test_keep_names_what_a_run_did_not_measure(build, folder, monkeypatch, capfd):
    kept = build.parent / "kept.json"
    kept.write_text(json.dumps([{"what": "others", "figures": {"ompi_pp_8B_med": 1, "of_words": 2}},
                                {"what": "else", "figures": {"mine": 1}}]))
    bench_peers(monkeypatch, folder(GOOD), "--keep")
    assert "peers: kept.json loses what this run did not measure: ompi_pp_8B_med\n" in \
        capfd.readouterr().err


def test_keep_leaves_out_unquoted_figures(build, folder, monkeypatch):
    lines = ("mpich_pp_8B_min 2 us", "mpich_pp_8B_mean 2 us", "mpich_bw_8B_total 2 MB/s",
             "mpich_bypass_8B_work1ms_post_med 2 us", "mpich_bypass_8B_work1ms_wait_med 2 us",
             "mpich_bypass_8B_work1ms_avail_med 2 %", "mpich_bw_rank_peak_rss 9 KiB")
    bench_peers(monkeypatch, folder("".join(f"echo {line}\n" for line in lines)), "--keep")

    def names(path: Path) -> list[str]:
        return list(json.loads(path.read_text())[0]["figures"])
    assert names(build / "peers.json") == [line.split()[0] for line in lines]
    assert names(build.parent / "kept.json") == ["mpich_pp_8B_min",
                                                 "mpich_bypass_8B_work1ms_wait_med"]


COMPILER = """#!/bin/sh
# mpicc -O2 -Wno-... SOURCE -o PROGRAM
[ -f "$3" ] && echo of "$3" >"$5"
"""
STARTER = """#!/bin/sh
# mpiexec -n 2 PROGRAM WHAT ARG ARG
echo "the starter says hello"
case $4 in
latency) echo half_rtt_us 0.5 ;;
stream) echo MBps $5 ;;
bypass) echo wait_ms 1.$6 ;;
esac
"""


@pytest.fixture
def host(tmp_path, monkeypatch):
    """Replacements of Debian's commands, with this mpiexec."""
    def make(starter: str = STARTER, compiler: str = COMPILER) -> None:
        commands = tmp_path / "bin"
        commands.mkdir()
        for ending in native.COMMANDS.values():
            for name, text in (("mpicc", compiler), ("mpiexec", starter)):
                (commands / f"{name}.{ending}").write_text(text)
                (commands / f"{name}.{ending}").chmod(0o755)
        monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
    return make


def test_the_host_itself_is_a_set_of_its_own(build, host, folder, monkeypatch, capfd):
    host()
    kept = build.parent / "kept.json"
    kept.write_text(json.dumps([{"what": "native", "figures": {}}, {"what": "others"}]))
    bench_peers(monkeypatch, "--native", "--keep", "--passes", "2")
    assert "native_mpich_MBps_1024 1024 MB/s" in capfd.readouterr().out
    others, made = json.loads(kept.read_text())
    assert (others["what"], made["what"]) == ("others", "native")
    assert made["how"] == "measured by make bench-peers ARGS=--native"
    for mpi in native.COMMANDS:
        assert made["figures"][f"native_{mpi}_8B_half_rtt_us"] == {"value": 0.5, "unit": "us"}
        assert made["figures"][f"native_{mpi}_MBps_1048576"] == {"value": 1048576, "unit": "MB/s"}
        assert made["figures"][f"native_{mpi}_bypass_50KB_wait_ms_200"] == {"value": 1.2,
                                                                           "unit": "ms"}
    bench_peers(monkeypatch, folder(GOOD), "--native")       # both in one call
    assert [one["what"] for one in json.loads((build / "peers.json").read_text())] == \
        ["native", "others"]


@pytest.mark.parametrize("starter, compiler, why", [
    ("#!/bin/sh\necho no slots >&2; exit 3\n", COMPILER, "ended with status 3"),
    ("#!/bin/sh\ntrue\n", COMPILER, "ended with status 0"),
    ("#!/bin/sh\nsleep 60\n", COMPILER, "had not ended after 1 s"),
    (STARTER, "#!/bin/sh\necho no mpi.h >&2; exit 1\n", "no mpi.h")],
    ids=["fails", "says nothing", "hangs", "does not compile"])
def test_a_host_on_which_mpi_fails(build, host, monkeypatch, starter, compiler, why):
    monkeypatch.setattr(native, "MOST_S", 1)
    host(starter, compiler)
    with pytest.raises(native.BenchError, match=re.escape(why)) as error:
        bench_peers(monkeypatch, "--native")
    assert error.value.args[1] and not (build / "peers.json").exists()


def test_a_host_without_mpi_names_the_packages(build, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(native.BenchError, match="mpicc.mpich, mpiexec.mpich, mpicc.openmpi") as error:
        bench_peers(monkeypatch, "--native")
    assert error.value.args[1] == "as root: apt-get install " + " ".join(native.PACKAGES)
    needs = [line.split() for line in (ROOT / "tools/packages.txt").read_text().splitlines()]
    assert ["native", *native.PACKAGES] in needs


@pytest.mark.parametrize("script, why", [
    ("echo 'a_1 2 us'; echo no disc >&2; exit 3", "ended with status 3"),
    ("true", "printed no figure"),
    ("echo nothing here; echo 1 2 3; echo 'x nan us'; echo 'y 1'; printf '\\377\\0 1 us\\n'",
     "printed no figure, but 'nothing here'"),
    ("kill -9 $$", "ended with status -9"),
    ("echo a 1 us; sleep 1000", "had not ended after")])
def test_a_run_that_fails_says_why(build, folder, monkeypatch, script, why):
    with pytest.raises(peers.PeersError, match=re.escape(why)) as error:
        bench_peers(monkeypatch, folder(script), "--timeout", 2 if "sleep" in script else 60)
    assert error.value.args[1]
    assert not (build / "peers.json").exists()


def test_nothing_of_a_run_stays(build, folder, monkeypatch):
    """Not even background processes of run.sh."""
    bench_peers(monkeypatch, folder("sleep 1000 >/dev/null & echo background $! pid"))
    pid = int(json.loads((build / "peers.json").read_text())[0]["figures"]["background"]["value"])
    until(lambda: not lives(pid))


def test_missing_folder_packages_and_root(build, folder, monkeypatch, tmp_path):
    with pytest.raises(peers.PeersError, match="is no folder"):
        bench_peers(monkeypatch, tmp_path / "nowhere")
    with pytest.raises(peers.PeersError, match="no folder is named"):
        bench_peers(monkeypatch)
    (tmp_path / "empty").mkdir()
    with pytest.raises(peers.PeersError, match="has no run.sh"):
        bench_peers(monkeypatch, tmp_path / "empty")
    source = folder(GOOD)
    (source / "prepare.sh").write_text(
        "set -e\napt-get install -y --no-install-recommends bash \\\n\tno-such-package-xyz\n")
    assert peers.wanted_packages(source / "prepare.sh") == ["bash", "no-such-package-xyz"]
    monkeypatch.setattr(peers.os, "geteuid", lambda: 1000)
    with pytest.raises(peers.PeersError, match="packages are missing.* no-such-package-xyz") as error:
        bench_peers(monkeypatch, source)
    assert error.value.args[1] == "as root: apt-get install no-such-package-xyz"
    (source / "prepare.sh").write_text("apt-get install -y bash\n")
    with pytest.raises(peers.PeersError, match="as root"):
        bench_peers(monkeypatch, source)


def test_what_is_prepared_needs_no_root(build, folder, monkeypatch):
    """run.sh calls prepare.sh only if its results are missing; otherwise an ordinary user may
    run it."""
    source = folder("[ -e made/one ] && [ -e two.img ] || bash prepare.sh >&2 || exit 1\n" + GOOD)
    (source / "prepare.sh").write_text("apt-get install -y bash\nmkdir made\n: >made/one >two.img\n")
    monkeypatch.setattr(peers.os, "geteuid", lambda: 1000)
    with pytest.raises(peers.PeersError, match="builds the peers as root"):
        bench_peers(monkeypatch, source)
    copy = build / "peers" / "others"
    (copy / "made").mkdir()
    (copy / "made" / "one").touch()
    with pytest.raises(peers.PeersError, match="builds the peers as root"):
        bench_peers(monkeypatch, source)
    (copy / "two.img").touch()
    bench_peers(monkeypatch, source)
    assert (copy / "runs").exists()


def test_make_passes_folder_and_words_on(folder):
    """`make bench-peers` without PEERS names the cure."""
    own = {name: value for name, value in os.environ.items()
           if name not in ("MAKEFLAGS", "MAKEOVERRIDES", "ARGS")}   # those of make check
    done = subprocess.run(["make", "-s", "-C", str(ROOT), "bench-peers", "MARGAY_READY=1"],
                          capture_output=True, text=True, check=False, env=own)
    assert done.returncode and "peers: make bench-peers PEERS=DIR" in done.stderr
    done = subprocess.run(["make", "-n", "-C", str(ROOT), "bench-peers", "MARGAY_READY=1",
                           "PEERS=/a b", "ARGS=raw"], capture_output=True, text=True, check=True)
    assert 'tests/bench/peers.py "/a b" raw' in done.stdout


def test_pages_quote_the_file():
    """Every table of peers' figures equals the one that `make bench-pages` writes from
    docs/peers.json."""
    kept = tables.kept_peers()
    found = 0
    for page in tables.PAGES:
        text = page.read_text()
        for place in tables.PLACE.finditer(text):
            if place.group(2) in tables.PEER_TABLES:
                found += 1
                assert place.group(0) in tables.rewritten(text, {"figures": {}}, kept)
                assert kept["date"] in place.group(0) and kept["machine"] in place.group(0)
    assert found == len(tables.PEER_TABLES)
