"""Jobs of more than 64 nodes, the largest region, and few open files."""
from __future__ import annotations

import os
import resource
import select
import shutil
import subprocess
import sys
import time

import pytest

from harness import BUILD, HANG, MARGAY, ROOT

sys.path.insert(0, str(ROOT / "tools"))
from margaylib import options  # noqa: E402
from margaylib.doorbell import Doorbell  # noqa: E402
from margaylib.image import Image  # noqa: E402
from margaylib.layout import Layout, Plan  # noqa: E402
from margaylib.machine import qemu_arguments  # noqa: E402
from margaylib.node import Node  # noqa: E402
from margaylib.region import Region  # noqa: E402

pytestmark = [pytest.mark.messages, pytest.mark.own_link]

MOST = 1024
LONG = 240.0                  # a deadline that only detects a hang
MANY = ("run", "-n", 128, "--mem", 16)


@pytest.mark.spin(2)
def test_128_nodes_meet(margay, app):
    assert margay(*MANY, app("ptl_barrier"), "rounds", 3).ok().lines == ["[0] done"]


@pytest.mark.long
@pytest.mark.spin(2)
@pytest.mark.parametrize("link", ["shm", "virtio"], indirect=True)
def test_128_nodes_work(margay, app, tmp_path, link):
    text = tmp_path / "text"
    text.write_bytes(b"one two two " * 20_000)
    margay(*MANY, app("ring"), 2).ok().prints("2 laps over 128 ranks")
    margay(*MANY, app("ptl_barrier"), "rounds", 5).ok()
    run = margay(*MANY, "--no-prefix", "--file", text, app("wordfreq"), "text").ok()
    assert run.lines == ["   40000 two", "   20000 one", "   60000 words, 2 different"]


def boot(k: int, image: Image, region: Region, bells: Doorbell, job) -> Node:
    node = Node(k)
    null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    region.stamp_start(k + 1)
    node.start(str(BUILD / "tools" / "spawn"),
               [shutil.which("qemu-system-x86_64"), *qemu_arguments(job, "tcg", k, os.getpid(), os.getuid(),
                                                      image.boot_bytes)],
               image.fd, null, time.monotonic())
    os.close(null)
    bells.serve(k, node.bell)
    return node


def test_first_and_last_of_1024_nodes(app):
    """A region for the maximum number of nodes, two of which are booted."""
    layout = Layout(BUILD / "region.json")
    job = options.parse(["-n", str(MOST), "--mem", "16", str(app("ptl_ends"))])
    image = Image(job.app)
    region = Region(layout, Plan(layout, MOST, job.mem, []), [])
    bells = Doorbell(MOST, region.fd)
    nodes: list[Node] = []
    try:
        nodes += [boot(k, image, region, bells, job) for k in (0, MOST - 1)]
        watch = select.poll()
        for node in nodes:
            watch.register(node.pidfd, select.POLLIN)
        end = time.monotonic() + HANG
        while time.monotonic() < end and any(
                region.field(node.rank, "state") < layout["NODE_EXITED"] for node in nodes):
            bells.pump()
            watch.poll(5)
        for node in nodes:
            assert (region.field(node.rank, "state"), region.field(node.rank, "status")) == (
                layout["NODE_EXITED"], 0)
    finally:
        for node in nodes:
            node.kill()
            if node.wait_status is None:
                os.waitpid(node.pid, 0)
            node.close()
        for fd in (*bells.bells, region.fd):
            os.close(fd)


def limited(files: int, *args: object) -> subprocess.CompletedProcess:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(files, 64), files))
    return subprocess.run([MARGAY, *map(str, args)], capture_output=True, text=True, check=False,
                          timeout=LONG, preexec_fn=limit)


def test_few_open_files(app):
    """A low soft limit is raised; too low a hard limit is named, before anything boots."""
    run = limited(200, "run", "-n", 16, "--mem", 16, "--no-prefix", app("hello"))
    assert run.returncode == 0 and len(run.stdout.splitlines()) >= 16, run.stderr
    run = limited(200, "run", "-n", 64, "--mem", 16, app("hello"))
    assert run.returncode == 125
    assert "64 nodes need 384 open files, and this user may have 200" in run.stderr
    assert "ulimit -Hn 384" in run.stderr and "use 27 nodes" in run.stderr
    run = limited(64, "run", "-n", 16, "--mem", 16, app("hello"))
    assert run.returncode == 125
    assert "16 nodes need 144 open files, and this user may have 64" in run.stderr


@pytest.mark.spin(2)
@pytest.mark.parametrize("link", ["shm", "virtio"])
def test_128_nodes_with_the_usual_limit(app, link):
    """1,024 open files are enough, even with two cards in each node."""
    run = limited(1024, "run", "-n", 128, "--mem", 16, "--link", link, "--no-prefix", app("hello"))
    assert run.returncode == 0, run.stderr
    assert sorted(run.stdout.splitlines()) == sorted(
        f"hello from rank {k} of 128 on node{k}" for k in range(128))
