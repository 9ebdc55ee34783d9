"""The choice of the accelerator: KVM is used only after a probe node has run under it.

/dev/kvm can open and still be useless: guest code may be interpreted one instruction at a time, or
a system call may stay in user mode. The result is remembered for this boot of the host, in
$XDG_CACHE_HOME/margay/accel.json.
"""
from __future__ import annotations

import os
import select
import time
from pathlib import Path
from collections.abc import Callable

from .paths import cache

TYPE_CHECKING = False         # typing is slow to import
if TYPE_CHECKING:
    from .image import Image
    from .layout import Layout
    from .options import RunOptions

PROBE_SECONDS = 4.0


def choose(wanted: str, probe: Callable[[], str], say: Callable[[str], None],
           tell: Callable[[str], None]) -> str:
    """tcg or kvm. `probe` returns '', or why KVM is useless. `say` is for --verbose,
    `tell` for every user at a terminal."""
    if wanted != "auto":
        say(f"accelerator {wanted}, as asked for")
        return wanted
    try:
        os.close(os.open("/dev/kvm", os.O_RDWR | os.O_CLOEXEC))
    except OSError as error:
        say(f"accelerator tcg: /dev/kvm: {error.strerror}")
        return "tcg"
    known = _recall()
    if known is None:
        known = probe()
        if known:
            tell(f"KVM is present but useless here, using tcg: {known}")
        _remember(known)
    elif known:
        say(f"accelerator tcg: KVM is present but useless: {known} (found before)")
    if not known:
        say("accelerator kvm: a probe node ran under it")
    return "tcg" if known else "kvm"


def probe_node(job: RunOptions, layout: Layout, qemu: str, spawn: str, image: Image) -> str:
    """Boots the image on one node under KVM. Its C library sees MARGAY_PROBE, sleeps and
    exits before main."""
    from .doorbell import Doorbell
    from .machine import qemu_arguments
    from .node import Node
    from .layout import Plan
    from .options import RunOptions
    from .region import Region
    options = RunOptions()
    options.app, options.mem, options.stack = job.app, job.mem, job.stack
    options.event_slots = job.event_slots
    options.machine, options.env = job.machine, ["MARGAY_PROBE=1"]
    region = Region(layout, Plan(layout, 1, options.mem, [], options.event_slots or image.event_slots), [])
    bells = Doorbell(1, region.fd)
    null_fd = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    node = Node(0)
    start = time.monotonic()
    region.stamp_start(1)
    node.start(spawn, [qemu, *qemu_arguments(options, "kvm", 0, os.getpid(), os.getuid(),
                                             image.boot_bytes)], image.fd, null_fd, start)
    os.close(null_fd)
    bells.serve(0, node.bell)
    watch = select.poll()
    watch.register(node.pidfd, select.POLLIN)
    try:
        while time.monotonic() - start < PROBE_SECONDS:
            bells.pump()
            gone = bool(watch.poll(5))
            state = region.field(0, "state")
            if state == layout["NODE_EXITED"]:
                return ""
            if state in (layout["NODE_FAULTED"], layout["NODE_PANICKED"]):
                return "a probe node faulted in its first system calls"
            if gone:
                node.read_errors()
                said = node.error_text.decode("utf-8", "replace").strip().splitlines()
                return said[-1] if said else "the probe node's QEMU ended"
        return f"a probe node did not end within {PROBE_SECONDS:g} s"
    finally:
        node.kill()
        if node.wait_status is None:
            os.waitpid(node.pid, 0)
        node.close()
        for fd in (*bells.bells, region.fd):
            os.close(fd)


def _cache() -> Path | None:
    folder = cache()
    return folder / "accel.json" if folder else None


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _recall() -> str | None:
    """'' if KVM was found good in this boot, a reason if bad, None if unknown."""
    import json
    path = _cache()
    try:
        data = json.loads(path.read_text()) if path else {}
        return data["kvm"] if data.get("boot") == _boot_id() != "" else None
    except (OSError, ValueError, KeyError, AttributeError):
        return None


def _remember(reason: str) -> None:
    import json
    path = _cache()
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(f".{os.getpid()}")
        new.write_text(json.dumps({"boot": _boot_id(), "kvm": reason}) + "\n")
        new.replace(path)
    except OSError:
        pass                  # it cannot be stored: the next run probes again
