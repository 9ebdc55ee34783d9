"""One job from its region to its exit status: the launcher's event loop.

Owns the region, the doorbell, the nodes and their consoles. Single-threaded: everything happens
between two epoll calls. policy.py decides what an end means; this file only notices and acts. run()
returns after all nodes have been reaped; if it does not return, they die with the launcher.
"""
from __future__ import annotations

import os
import select
import time
from collections.abc import Callable

from . import folders
from .binding import bound_to
from .console import Console
from .doorbell import Doorbell
from .errors import MargayError
from .feeder import FD, Feeder
from .hostfiles import OutputFile
from .image import Image
from .layout import Layout, Plan
from .locks import Locks, answer_in
from .machine import qemu_arguments
from .node import Node
from .options import RunOptions
from .output import Folder, Printer, Sink
from .policy import Policy
from .region import Region, make_folder, open_outputs, read_sizes
from .signals import Signals
from .symbols import Symbols
from .wire import Wire

BOOT_TICK = 0.0008            # seconds between two polls while nodes boot ...
BOOT_TICK_NODE = 0.0001       # ... and this more per node
FLOW_TICK = 0.001             # while nodes print
IDLE_TICK = 0.5               # between two polls when nothing is expected
QUEUE_LIMIT = 4 << 20         # bytes that wait for a slow reader before nodes must wait


class Job:
    """Everything of one run. Call run() once."""

    def __init__(self, options: RunOptions, image: Image, boot_fd: int, layout: Layout,
                 accel: str, qemu: str, spawn: str, switch: str) -> None:
        self.options = options
        self.image = image
        self.boot_fd = boot_fd
        self.accel = accel
        self.qemu = qemu
        self.spawn = spawn
        self.switch = switch
        self.id = os.getpid()
        sizes = read_sizes(options.files)
        self.plan = Plan(layout, options.nodes, options.mem, sizes,
                         options.event_slots or image.event_slots)
        self.region = Region(layout, self.plan, options.files)
        if options.output_dir:
            make_folder(options.output_dir)
        self.out, self.err = Sink(1), Sink(2)
        self.printer = Printer(self.out, self.err, options.nodes,
                               options.nodes > 1 and not options.no_prefix)
        self.doorbell = Doorbell(options.nodes, self.region.fd)
        self.locks = Locks(answer_in(self.region, self.doorbell.ring))
        self.console = Console(
            self.region, self.printer,
            Folder(options.output_dir, options.nodes, self.output_failed)
            if options.output_dir else None, Symbols(image.path),
            open_outputs(options.files, self.output_failed), self.locks, options.verbose)
        self.json = OutputFile("--json", options.json, self.output_failed, False) \
            if options.json else None
        self.nodes = [Node(rank) for rank in range(options.nodes)]
        self.epoll = select.epoll()
        self.wire = Wire(options) if options.cards else None
        self.signals = Signals(self.kill_all)
        self.policy = Policy(self)
        self.feeder = Feeder(self.region, self.doorbell, self.epoll, self.say,
                             options.stdin_ranks, self.policy.has_ended)
        self.handlers: dict[int, Callable[[], None]] = {}
        self.debug_rank = -1      # a rank that gdb holds: without a deadline
        self.debug_fd = -1
        self.attended = False     # gdb is running
        self.null_fd = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        self.started = 0.0
        self.progress_text = ""
        self.flowing = False      # the last poll found output

    # --- starting

    def run(self) -> int:
        """Boots the nodes, carries their output until all have ended, returns the status."""
        self.started = time.monotonic()
        self._watch(self.signals.fd, self._on_signal)
        self._watch(self.doorbell.own, self.doorbell.answer)
        try:
            if self.wire:
                self._start_wire()
            for node in self.nodes:
                if not self.signals.again:
                    self._start(node)
            self.policy.all_started(time.monotonic())
            if self.debug_fd >= 0:
                os.close(self.debug_fd)
            while not self._step():
                pass
        finally:
            self.kill_all()
            for node in self.nodes:
                if node.alive:
                    os.waitpid(node.pid, 0)
            if self.wire:
                self.wire.end()
            folders.remove_unlinked(self.options, self.id)
        if self.wire and self.wire.capture_lost:
            self.policy.capture_lost()
        self._finish()
        return self.policy.status()

    def _start(self, node: Node) -> None:
        debug = node.rank == self.debug_rank
        arguments = qemu_arguments(self.options, self.accel, node.rank, self.id, os.getuid(),
                                   self.image.boot_bytes, debug, node.life)
        binding = bound_to(self.options, node.rank)
        self.region.stamp_start(node.rank + 1)
        try:
            node.start(self.spawn, [*binding, self.qemu, *arguments], self.boot_fd,
                       self.null_fd, time.monotonic(), self.debug_fd if debug else -1,
                       self.wire.cards(node.rank) if self.wire else None)
        except OSError as error:
            raise MargayError(f"node {node.rank} cannot be started: {error.strerror}",
                              "see `ulimit -n` and `ulimit -u`, or use fewer nodes") from None
        if self.wire:
            self.wire.given(node.rank)
        self.doorbell.serve(node.rank, node.bell)
        if self.options.verbose:
            where = f" on core {binding[-1]}" if binding else ""
            self.say(f"node {node.rank} is process {node.pid}{where}")
        self._watch(node.pidfd, lambda: self._on_end(node))
        self._watch(node.serial.fileno(), lambda: self._on_serial(node))
        self._watch(node.errors, lambda: self._on_errors(node))

    def _start_wire(self) -> None:
        self.wire.start(self.spawn, self.switch)
        if self.wire.pid:
            self._watch(self.wire.pidfd, self._on_switch)
            self._watch(self.wire.said, self._on_switch_words)
            if self.options.verbose:
                self.say(f"the switch is process {self.wire.pid}")

    def _on_switch(self) -> None:
        """The switch has ended while nodes run."""
        why = self.wire.reap()
        if not why:
            return
        self._forget(self.wire.pidfd)
        self._forget(self.wire.said)
        if self.wire.refused:
            self.policy.switch_refused(why)
        elif any(node.alive for node in self.nodes):
            self.say(f"the switch has ended ({why}): no frame passes any more")

    def _on_switch_words(self) -> None:
        for line in self.wire.lines():
            self.say(f"switch: {line}")

    def _watch(self, fd: int, handler: Callable[[], None]) -> None:
        self.epoll.register(fd, select.EPOLLIN)
        self.handlers[fd] = handler

    def attend(self, pid: int) -> None:
        """The job ends when this process (gdb) does, and not before: gdb has output of its own, and
        the user may look around after the program has ended."""
        pidfd = os.pidfd_open(pid)
        self.attended = True

        def gone() -> None:
            os.waitpid(pid, 0)
            self._forget(pidfd)
            os.close(pidfd)
            self.attended = False
            self.policy.debugger_gone()

        self._watch(pidfd, gone)

    # --- the loop

    def _step(self) -> bool:
        """Waits for something and handles it; True when the job is over."""
        for fd, _ in self.epoll.poll(self._patience()):
            if fd == FD:
                self.feeder.ready()
            elif fd in self.handlers:
                self.handlers[fd]()
        now = time.monotonic()
        if self.policy.booting:
            self.region.stamp_start(len(self.nodes))
        if self.doorbell.waiting:
            self.doorbell.pump()
        if self.out.pending < QUEUE_LIMIT and self.err.pending < QUEUE_LIMIT:
            self._drain(now)
        for rank in self.feeder.poll():
            self.printer.prompt(rank)
        over = self.policy.look(now)
        due = self.console.due()
        if due is not None and now >= due:
            self.console.release()
        self._progress(now)
        self._flush(0.02)
        return over and (self.policy.ending or not self.attended)

    def _drain(self, now: float) -> None:
        """While output flows the nodes need not ring, as the launcher polls again soon. When there
        is none it asks for a bell, and then takes what came just before."""
        self.flowing = self.console.drain(now, self.doorbell.ring)
        if not self.flowing and self.region.ask_for_bell():
            self.flowing = self.console.drain(now, self.doorbell.ring)

    def _patience(self) -> float:
        now = time.monotonic()
        wait = IDLE_TICK
        if self.policy.booting or self.doorbell.waiting:
            wait = BOOT_TICK + BOOT_TICK_NODE * len(self.nodes)
        if self.flowing:
            wait = min(wait, FLOW_TICK)
        for due in (self.console.due(), self.policy.due()):
            if due is not None:
                wait = min(wait, max(0.0, due - now))
        if self.out.pending or self.err.pending:
            wait = 0.0            # _flush waits for the reader
        elif wait >= IDLE_TICK:
            self.console.look_for_waiters(self.doorbell.ring)
        return wait

    def _flush(self, seconds: float) -> None:
        self.out.flush(seconds)
        self.err.flush(seconds)
        if self.out.error:
            self.output_failed("standard output", self.out.error)
        elif self.out.broken:
            self.policy.reader_gone()

    def output_failed(self, name: str, error: OSError) -> None:
        self.policy.output_failed(name, error)

    def _on_signal(self) -> None:
        for number in self.signals.take():
            self.policy.signalled(number, time.monotonic())

    def _on_end(self, node: Node) -> None:
        if node.reap():
            self._forget(node.pidfd)

    def _on_serial(self, node: Node) -> None:
        fd = node.serial.fileno()
        data = node.read_serial()
        self.console.serial(node.rank, data, time.monotonic())
        if node.serial is None:
            self.handlers.pop(fd, None)       # closing took it out of the epoll set

    def _on_errors(self, node: Node) -> None:
        fd = node.errors
        node.read_errors()
        if node.errors < 0:
            self.handlers.pop(fd, None)

    def _forget(self, fd: int) -> None:
        if self.handlers.pop(fd, None):
            self.epoll.unregister(fd)

    def _progress(self, now: float) -> None:
        if not os.isatty(2) or self.options.verbose:
            return
        text = ""
        if self.policy.booting and now - self.started > 0.3:
            up = sum(1 for node in self.nodes if node.main_seen)
            text = f"margay: booting, {up} of {len(self.nodes)} nodes run"
        if text != self.progress_text:
            self.progress_text = text
            self.printer.progress(text)

    # --- what the policy asks for

    def say(self, text: str) -> None:
        """A line of the launcher, after the reports that led to it."""
        self.console.release()
        self.printer.report(f"margay: {text}\n".encode("utf-8", "surrogateescape"))

    def kill_all(self) -> None:
        for node in self.nodes:
            node.kill()

    def restart(self, node: Node) -> None:
        """Starts a new machine for one that has died: the same id, the next life."""
        for fd in (node.serial.fileno() if node.serial else -1, node.errors):
            self._forget(fd)
        node.close()
        self.console.restarted(node.rank)
        self.region.renew(node.rank, node.life)
        self.doorbell.ring_all()
        fresh = self.nodes[node.rank] = Node(node.rank, node.life + 1)
        self.wire.renew(node.rank)
        self._start(fresh)

    def last_words(self, node: Node) -> None:
        """Reads the last output of an ended node's QEMU."""
        if node.serial is not None:
            while data := node.read_serial():
                self.console.serial(node.rank, data, time.monotonic())
        node.read_errors()
        self.console.drain(time.monotonic(), self.doorbell.ring)

    # --- the end

    def _flush_all(self) -> None:
        """Waits for slow readers, but not after an interrupt, which gives the status."""
        while self.out.pending or self.err.pending:
            self._flush(0.2)
            self._on_signal()
            if self.signals.again:
                return

    def _finish(self) -> None:
        for node in self.nodes:
            self.last_words(node)
        self.console.finish()
        if self.wire:
            self._on_switch_words()
        self._flush_all()
        if self.json:
            from .report import json_text
            self.json.empty()
            self.json.write(json_text(self.summary()))
            self.json.close()
        self.policy.closing_words()
        if self.options.stats:
            from .report import stats_table, switch_table
            self.err.write(stats_table(self.console.stats).encode())
            if self.wire and self.wire.counters:
                self.err.write(switch_table(self.wire.counters, bool(self.options.faults)).encode())
        self._flush_all()
        for node in self.nodes:
            node.close()

    def summary(self) -> dict[str, object]:
        """For --json: times since the start of the first QEMU."""
        ranks = []
        names = {value: name.removeprefix("NODE_").lower()
                 for name, value in self.policy.states.items()}
        for node, outcome in zip(self.nodes, self.policy.outcomes()):
            main_ns = self.region.long_field(node.rank, "main_ns")
            ranks.append({
                "rank": node.rank, "node": node.rank, "end": outcome.kind,
                "state": names.get(self.region.field(node.rank, "state"), "damaged"),
                "status": outcome.status, "signal": outcome.signal,
                "exit_order": outcome.order, "pid": node.pid, "lives": node.life,
                "start_ms": round((node.started - self.started) * 1e3, 3),
                "main_ms": round(main_ns / 1e6, 3) if main_ns else None,
                "main_seen_ms": round((node.main_seen - self.started) * 1e3, 3)
                if node.main_seen else None,
                "stats": self.console.stats[node.rank]})
        seen = [node.main_seen for node in self.nodes]
        return {
            "status": self.policy.status(), "application": str(self.image.path),
            "arguments": self.options.args, "n": self.options.nodes,
            "machine": self.options.machine, "accel": self.accel, "link": self.options.link,
            "mem_bytes": self.plan.segment_bytes, "region_bytes": self.plan.bytes,
            "all_in_main_s": round(max(seen) - self.started, 6) if all(seen) else None,
            "qemu_s": round(self.policy.last_end - self.started, 6),
            "failed": [outcome.rank for outcome in self.policy.outcomes() if outcome.failed],
            "switch": self.wire.counters if self.wire else None,
            "ranks": ranks}
