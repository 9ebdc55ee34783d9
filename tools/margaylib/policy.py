"""The launcher's reactions to ends, deadlines and signals.

Rules: a failing node (nonzero status, fault, panic, death) gives the others GRACE seconds to end by
themselves, then they are ended. A node that ends the job (margay_end_job) gives them none. A
machine that dies is marked dead in the region and all nodes are rung. With --on-death continue such
a death ends no other node; with restart another machine takes its place. The launcher waits for a
stopped machine (SIGSTOP). A node that does not come up in time ends the job.
"""
from __future__ import annotations

import os
import signal

from .errors import OWN_ERROR, TIMED_OUT, MargayError, ranks_text
from .links import CARDS
from .verdict import Outcome, failure_text, job_status, read_outcome

TYPE_CHECKING = False         # typing is slow to import
if TYPE_CHECKING:
    from .job import Job
    from .node import Node

GRACE = 2.0                   # seconds between a failure and the end of the others
POWER_OFF = 3.0               # seconds for a QEMU to go away after its node has ended
ANSWER = 1.0                  # seconds for a node to answer SIGQUIT
STARVED = 0.5                 # fraction of that time spent waiting for a CPU
STOPPED_MORE = 5.0            # seconds more for a node that was found stopped
SERIAL_LINES = 12             # lines of a node that did not boot, in the message


def boot_seconds(nodes: int) -> float:
    """How long the nodes may take to reach main."""
    text = os.environ.get("MARGAY_BOOT_SECONDS")
    if not text:
        return 20.0 + nodes
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:           # nor is it not-a-number
        raise MargayError(f"MARGAY_BOOT_SECONDS={text}: not a time",
                          "set it to seconds, like 60, or unset it")
    return seconds


class Policy:
    """State of the job's end. Call look() after every event; due() says when to call it again."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.states = {name: value for name, value in job.region.layout.constants.items()
                       if name.startswith("NODE_")}
        self.running = self.states["NODE_RUNNING"]
        self.exited = self.states["NODE_EXITED"]
        self.damaged: set[int] = set()    # nodes whose state was not a valid one
        self.booting = True
        self.ending = False       # all were killed: deadlines do not matter any more
        self.boot_seconds = boot_seconds(len(job.nodes))
        self.boot_until = 0.0
        self.timeout_at: float | None = None
        self.kill_at: float | None = None
        self.kill_why = f"still running {GRACE:g} s after that"
        self.answers_at: float | None = None
        self.cpu_times: dict[int, tuple[int, int]] = {}     # by rank, at the last request
        self.power_off: dict[int, float] = {}
        self.first: Outcome | None = None
        self.override: int | None = None
        self.ended_why = ""
        self.error: MargayError | None = None
        self.last_end = 0.0

    def all_started(self, now: float) -> None:
        self.boot_until = now + self.boot_seconds
        if self.job.options.timeout:
            self.timeout_at = self.job.started + self.job.options.timeout

    def due(self) -> float | None:
        times = [self.timeout_at, self.kill_at, self.answers_at,
                 self.boot_until if self.booting else None, *self.power_off.values()]
        return min((time for time in times if time is not None), default=None)

    def look(self, now: float) -> bool:
        """Looks at every node and deadline; True when all nodes are gone."""
        booting = False
        for node in self.job.nodes:
            state = self.state(node.rank)
            if state >= self.running:
                node.main_seen = node.main_seen or now
            elif node.alive and not node.main_seen:
                booting = True
            if not node.judged:
                self._judge(node, state, now)
                booting = booting or self.job.nodes[node.rank] is not node
        self.booting = booting and not self.ending
        self._deadlines(now)
        if any(node.alive for node in self.job.nodes):
            return False
        if not self.last_end:
            self.last_end = now
        return True

    def state(self, rank: int) -> int:
        """A node's state. An invalid one was written by another node's kernel: it is reported once,
        and the node counts as running until it says that it has ended."""
        state = self.job.region.field(rank, "state")
        if state <= self.states["NODE_PANICKED"]:
            return state
        if rank not in self.damaged:
            self.damaged.add(rank)
            self.job.say(f"the entry of node {rank} in the shared region is damaged "
                         f"(state {state:#x})")
        return self.running

    # --- ends of nodes

    def has_ended(self, rank: int) -> bool:
        """It has ended and will not be restarted."""
        return self.job.nodes[rank].judged or self.state(rank) >= self.exited

    def outcome(self, node: Node) -> Outcome:
        field = self.job.region.field
        return read_outcome(node.rank, self.states, field(node.rank, "state"),
                            field(node.rank, "status"), field(node.rank, "signal"),
                            field(node.rank, "exit_order"), node.wait_status,
                            node.ended_by_us)

    def outcomes(self) -> list[Outcome]:
        return [self.outcome(node) for node in self.job.nodes]

    def _judge(self, node: Node, state: int, now: float) -> None:
        """Handles a node's end once it is certain."""
        if node.alive:
            if state < self.exited:
                return
            if self._may_leave():
                self.power_off.setdefault(node.rank, now + POWER_OFF)
        else:
            self.job.last_words(node)
            self.job.locks.end(node.rank)
            self.power_off.pop(node.rank, None)
        outcome = self.outcome(node)
        if outcome.dead and self._may_restart(node):
            if not node.alive:
                self._restart(node, outcome, now)
        elif outcome.failed:
            node.judged = True
            self._failure(node, outcome, now)
        elif not node.alive:
            node.judged = True

    def _may_restart(self, node: Node) -> bool:
        """False if QEMU refused to start, or if the job is ending."""
        options = self.job.options
        refused = node.wait_status is not None and not node.main_seen \
            and not os.WIFSIGNALED(node.wait_status)
        return options.on_death == "restart" and node.life <= options.restarts and not refused \
            and not self.ending and self.first is None and self.override is None

    def _restart(self, node: Node, outcome: Outcome, now: float) -> None:
        self._say_failure(node, outcome)
        self.job.say(f"node {node.rank} is started again: life {node.life + 1} of at most "
                     f"{self.job.options.restarts + 1}")
        self.job.restart(node)
        self.boot_until = now + self.boot_seconds

    def _may_leave(self) -> bool:
        """Over network cards a node that has ended stays until all have: some may still
        need its acknowledgements."""
        return self.job.options.link not in CARDS or all(
            not node.alive or self.state(node.rank) >= self.exited
            for node in self.job.nodes)

    def _failure(self, node: Node, outcome: Outcome, now: float) -> None:
        if outcome.dead:
            self.job.locks.end(node.rank)     # of a node that has panicked, its QEMU may go later
            self.job.region.set_field(node.rank, "dead", 1)
            self.job.doorbell.ring_all()
        over = self.kill_at is not None and now >= self.kill_at
        refused = outcome.kind == "died" and not node.main_seen and not outcome.signal
        if self.first is None and refused:
            self.kill_at = now            # its QEMU refused to start: so will the others
            self.kill_why = "no machine without it"
        elif outcome.kind == "ended-job" and not self.ending:
            self.kill_at = now
            self.kill_why = "still running then"
        elif self.kill_at is None and not self.ending and not (
                outcome.dead and self.job.options.on_death == "continue"):
            self.kill_at = now + GRACE
        self.first = self.first or outcome
        if not over:
            self._say_failure(node, outcome)

    def _say_failure(self, node: Node, outcome: Outcome) -> None:
        if outcome.kind == "faulted":
            return                        # its kernel has reported it
        self.job.last_words(node)         # what it printed comes before what is said of it
        said = node.error_text.decode("utf-8", "replace").strip().splitlines()
        self.job.say(failure_text(outcome, node.wait_status, said[-1] if said else ""))
        if outcome.kind == "died" and not outcome.signal and "kvm" in self.job.accel:
            self.job.say("to run without KVM: --accel tcg")
        if outcome.dead and self.job.options.on_death == "restart" \
                and node.life > self.job.options.restarts:
            self.job.say(f"node {node.rank} is not started again: --restarts "
                         f"{self.job.options.restarts} is used up")

    def _end_all(self, why: str) -> None:
        """Ends the nodes that still run, and remembers why for the final message."""
        self.ended_why = self.ended_why or why
        self.job.kill_all()
        self.kill_at = self.timeout_at = None
        self.booting = False
        self.ending = True        # a killed node counts until it is reaped

    def _deadlines(self, now: float) -> None:
        if self.kill_at is not None and now >= self.kill_at:
            self._end_all(self.kill_why)
        if self.timeout_at is not None and now >= self.timeout_at:
            self.override = TIMED_OUT
            self.job.say(f"timeout: the job ran for {self.job.options.timeout:g} s")
            self._end_all("still running then")
        if self.booting and now >= self.boot_until and self.job.debug_rank < 0:
            self._boot_failed(now)
        for rank, until in list(self.power_off.items()):
            if now >= until:
                del self.power_off[rank]
                if not self.job.nodes[rank].stopped():
                    self.job.nodes[rank].kill()
                else:
                    self.power_off[rank] = now + POWER_OFF
        if self.answers_at is not None and now >= self.answers_at:
            self._missing_answers()

    def _boot_failed(self, now: float) -> None:
        late = [node for node in self.job.nodes
                if node.alive and not node.main_seen and self.state(node.rank) < self.running]
        if not late or any(node.stopped() for node in late):
            self.boot_until = now + STOPPED_MORE
            return
        node = late[0]
        self.job.last_words(node)
        text = node.serial_text.decode("utf-8", "replace").strip().splitlines()
        text += node.error_text.decode("utf-8", "replace").strip().splitlines()
        shown = "\n".join(f"  | {line.rstrip()}" for line in text[-SERIAL_LINES:])
        self.error = MargayError(
            f"{ranks_text([late_node.rank for late_node in late])} did not reach main within "
            f"{self.boot_seconds:g} s",
            (f"node {node.rank} said on its serial port:\n{shown}\n" if shown else
             f"node {node.rank} said nothing on its serial port\n")
            + "if the host is only slow, set MARGAY_BOOT_SECONDS; else try another --machine "
              "(microvm, q35, pc) or --accel tcg")
        self.override = OWN_ERROR
        self._end_all("")

    # --- signals and readers

    def signalled(self, number: int, now: float) -> None:
        if number == signal.SIGQUIT:
            self._ask_all(now)
        elif number == signal.SIGTSTP:
            from .signals import stop_here
            self._postpone(stop_here([node.pid for node in self.job.nodes if node.alive]))
        elif self.override is None:
            self.override = 128 + number
            self.job.say({signal.SIGINT: "interrupted", signal.SIGTERM: "asked to end (SIGTERM)",
                          signal.SIGHUP: "the terminal is gone"}[signal.Signals(number)])
            self._end_all("")

    def _postpone(self, seconds: float) -> None:
        """The nodes were stopped for so long. --timeout counts that time, too."""
        self.boot_until += seconds
        self.kill_at = None if self.kill_at is None else self.kill_at + seconds
        self.answers_at = None if self.answers_at is None else self.answers_at + seconds
        self.power_off = {rank: until + seconds for rank, until in self.power_off.items()}

    def reader_gone(self) -> None:
        """The reader of standard output has gone: ends like a program in a pipeline."""
        if self.override is None:
            self.override = 128 + signal.SIGPIPE
            self._end_all("")

    def output_failed(self, name: str, error: OSError) -> None:
        """The ranks' output is lost from here on: ends the job, if it has not ended yet."""
        if self.error is None:
            self.error = MargayError(f"{name}: {error.strerror}; what was written to it is not "
                                     "complete", "make room there, or write elsewhere")
        if self.override is None:
            self.override = OWN_ERROR
        self._end_all("")

    def capture_lost(self) -> None:
        """The switch could not write all of --pcap, and has said why."""
        if self.override is None:
            self.override = OWN_ERROR

    def switch_refused(self, said: str) -> None:
        """The switch refused its options: no machine can run without it."""
        lines = said.splitlines()
        self.error = MargayError(lines[0].removeprefix("switch: "), "\n".join(lines[1:]))
        self.override = OWN_ERROR
        self._end_all("")

    def debugger_gone(self) -> None:
        """gdb ended: ends the nodes that still run, which is no failure."""
        if self.override is None and any(node.alive for node in self.job.nodes):
            self.override = 0
            self._end_all("")

    def _ask_all(self, now: float) -> None:
        """SIGQUIT: every running node prints its backtrace and what it waits for."""
        asked = self.job.region.layout["REGION_REQUEST_BACKTRACE"]
        for node in self.job.nodes:
            state = self.state(node.rank)
            if node.alive and state < self.exited:
                self.cpu_times[node.rank] = node.cpu_times()
                self.job.region.set_field(node.rank, "requests", asked)
                self.job.doorbell.ring(node.rank)
        self.answers_at = now + ANSWER

    def _missing_answers(self) -> None:
        self.answers_at = None
        for node in self.job.nodes:
            if not node.alive or not self.job.region.field(node.rank, "requests"):
                continue
            state = self.state(node.rank)
            why = "its QEMU is stopped (SIGSTOP)" if node.stopped() else \
                "it is still booting" if state < self.running else \
                "its QEMU gets no CPU: the host is busy" if self._starved(node) else \
                "its kernel has interrupts off"
            self.job.say(f"rank {node.rank} (node {node.rank}) does not answer: {why}")

    def _starved(self, node: Node) -> bool:
        """Has it mostly waited for a CPU since the request?"""
        before = self.cpu_times.get(node.rank, (0, 0))
        ran, waited = (now - then for now, then in zip(node.cpu_times(), before))
        return waited > STARVED * ANSWER * 1e9 and ran < waited / 10

    # --- the end

    def closing_words(self) -> None:
        ended = [outcome.rank for outcome in self.outcomes() if outcome.kind == "ended"]
        if ended and self.ended_why:
            self.job.say(f"ended {ranks_text(ended)}: {self.ended_why}")
        if self.error is not None:
            self.job.printer.report(self.error.text().encode("utf-8", "surrogateescape"))

    def status(self) -> int:
        return job_status(self.outcomes(), self.first, self.override,
                          self.job.options.on_death == "continue")
