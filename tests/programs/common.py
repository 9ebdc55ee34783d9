"""Existing programs: fetched, built with margay cc, and their own tests run on nodes.

A Program describes its source, its build and its tests. run_program() carries them out in a
separate folder and counts the results. Every step is a shell command in the program's folder, with
CC="margay cc --runnable" (docs/programs.md), so that ./NAME runs on a node; CXX and FC are the same
for C++ and Fortran, MPICC, MPICXX and MPIFC with MPI. ranks() runs ./NAME on several nodes.
"""
from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ.get("MARGAY_BUILD") or ROOT / "build")
HERE = Path(__file__).resolve().parent
WORK = BUILD / "programs"
SOURCES = WORK / "sources"
HANG = 7200           # seconds after which a step is killed: only detects a hang


@dataclass
class Test:
    """One of the program's tests: it passes when the command's status is 0.

    `says` must match the output, if given; the first group of the last match is the number of
    cases, the second one the number of failures. `why` is the reason on file for a failure.
    """
    name: str
    command: str
    says: str = ""
    why: str = ""
    short: bool = False       # in the short subset of make check


@dataclass
class Source:
    """The authors' source as released, from Debian; or a package of headers, a .deb."""
    package: str              # Debian's name
    tarball: str
    sha256: str
    folder: str               # in the tarball; for a .deb, the target of unpacking
    suite: str = ""           # of Debian, if not the system's


@dataclass
class Library:
    """A library for other programs: built once in its source's folder, beside theirs, and kept."""
    source: Source
    build: list[str]
    files: tuple[str, ...]    # all exist if it is built


@dataclass
class Program:
    name: str
    source: Source
    build: list[str]
    tests: list[Test]
    options: str = ""         # of margay run
    needs: dict[str, str] = field(default_factory=dict)     # host program: Debian's package
    left_out: list[tuple[str, str]] = field(default_factory=list)   # what is not run, why
    files: str = ""           # a folder of ours, whose files lie beside the program's as margay/
    others: list[Source] = field(default_factory=list)      # more sources, beside its folder
    libraries: list[Library] = field(default_factory=list)  # of other programs
    short_build: list[str] = field(default_factory=list)    # for the short subset, if less will do


@dataclass
class Outcome:
    """The results of one program."""
    program: Program
    passed: list[str] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)     # with the reason on file
    wrong: list[str] = field(default_factory=list)                  # unexpected results
    cases: int = 0
    cases_failed: int = 0
    seconds: float = 0.0      # of CPU

    @property
    def tests(self) -> int:
        return len(self.passed) + len(self.failed)


def fetch(program: Program) -> None:
    """Gets the sources from the user's cache or from Debian; raises RuntimeError if one is missing,
    after a line of debian-source.sh that says why."""
    for source in (program.source, *program.others,
                   *(library.source for library in program.libraries)):
        options = ["--package"] if source.tarball.endswith(".deb") else []
        options += ["--suite", source.suite] if source.suite else []
        try:
            subprocess.run([ROOT / "tools" / "debian-source.sh", *options, source.package,
                            source.tarball, source.sha256, SOURCES], check=True)
        except subprocess.CalledProcessError:
            raise RuntimeError(f"{program.name}: there is no {source.tarball}") from None


def unpack(source: Source, where: Path) -> None:
    shutil.rmtree(where / source.folder, ignore_errors=True)
    if source.tarball.endswith(".deb"):
        subprocess.run(["dpkg-deb", "--extract", SOURCES / source.tarball, where / source.folder],
                       check=True)
    else:
        shutil.unpack_archive(SOURCES / source.tarball, where)


def environment(program: Program, jobs: int, work: Path) -> dict[str, str]:
    """The environment of all steps: margay is on the path, without the variables of a calling
    make."""
    kept = {name: value for name, value in os.environ.items()
            if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEFILES", "MARGAY_READY",
                            "CFLAGS", "CPPFLAGS", "LDFLAGS", "CC", "CXX", "CXXFLAGS", "FC",
                            "FFLAGS", "ARGS")}
    return {**kept, "PATH": f"{ROOT / 'tools'}:{kept.get('PATH', os.defpath)}", "LC_ALL": "C",
            "CC": "margay cc --runnable", "CXX": "margay c++ --runnable",
            "FC": "margay fortran --runnable",
            "MPICC": "mpicc --runnable", "MPICXX": "mpicxx --runnable",
            "MPIFC": "mpifort --runnable",
            "JOBS": str(jobs), "HOME": str(work),
            # The libraries of the languages and MPI are those in the user's cache.
            "XDG_CACHE_HOME": kept.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"),
            "TMPDIR": str(work / "tmp"),
            # Some scripts read files above the folder in which they run a program.
            "MARGAY_RUN_OPTIONS": f"--dir {work} {program.options}"}


def ranks(number: int, options: str = "") -> str:
    """The prefix of a command whose programs run on that many nodes, as ranks of one job."""
    return f'MARGAY_RUN_OPTIONS="$MARGAY_RUN_OPTIONS {options} -n {number}"'


class Steps:
    """Runs a program's steps; each has a file with its output."""

    def __init__(self, program: Program, jobs: int, where: Path) -> None:
        self.logs = where / f"{program.name}.logs"
        shutil.rmtree(self.logs, ignore_errors=True)
        self.logs.mkdir(parents=True)
        self.program = program
        self.folder = where / program.source.folder
        self.env = environment(program, jobs, where)

    def build(self, name: str, commands: list[str], folder: Path) -> None:
        """Raises RuntimeError at the first step that fails."""
        for number, command in enumerate(commands, 1):
            status, text = self.run(f"{name}-{number}", command, folder)
            if status != 0:
                raise RuntimeError(f"{self.program.name}: status {status} of: {command}\n"
                                   f"{last(text)}\nthe whole output is in {self.logs}")

    def run(self, name: str, command: str, folder: Path | None = None) -> tuple[int, str]:
        """Status and output of a step, in the program's folder or another one."""
        log = self.logs / (re.sub(r"[^\w.-]+", "_", name) + ".log")
        with open(log, "w+b") as file:
            file.write(f"$ {command}\n".encode())
            file.flush()
            try:
                done = subprocess.run(["/bin/bash", "-c", command], cwd=folder or self.folder,
                                      env=self.env, stdin=subprocess.DEVNULL, stdout=file,
                                      stderr=subprocess.STDOUT, timeout=HANG)
                status = done.returncode
            except subprocess.TimeoutExpired:
                status = 124
        return status, log.read_text(encoding="utf-8", errors="replace")


def run_program(program: Program, jobs: int, short: bool = False, where: Path = WORK) -> Outcome:
    """Unpacks, builds and tests a program; raises RuntimeError if it cannot be built."""
    for needed, package in program.needs.items():
        if not shutil.which(needed):
            raise RuntimeError(f"{program.name} is built with {needed}: apt install {package}")
    outcome = Outcome(program)
    before = cpu()
    (where / "tmp").mkdir(parents=True, exist_ok=True)
    steps = Steps(program, jobs, where)
    for source in (program.source, *program.others):
        unpack(source, where)
    if program.files:
        shutil.copytree(HERE / program.files, steps.folder / "margay")
    for library in program.libraries:
        make_library(library, steps, where)
    build = program.short_build if short and program.short_build else program.build
    steps.build("build", build, steps.folder)
    for test in program.tests:
        if short and not test.short:
            continue
        status, text = steps.run(test.name, test.command)
        judge(test, status, text, outcome)
    outcome.seconds = cpu() - before
    return outcome


def make_library(library: Library, steps: Steps, where: Path) -> None:
    folder = where / library.source.folder
    if all((folder / name).exists() for name in library.files):
        return
    unpack(library.source, where)
    steps.build(library.source.package, library.build, folder)


def judge(test: Test, status: int, text: str, outcome: Outcome) -> None:
    """Counts one test, and reports it if it differs from the file."""
    # The first line is the command itself.
    body = text.partition("\n")[2]
    found = [*re.finditer(test.says, body, re.M)] if test.says else []
    counts = [int(group) for group in found[-1].groups()] if found else []
    cases, cases_failed = [*counts, 0, 0][:2]
    outcome.cases += cases
    outcome.cases_failed += cases_failed
    if status == 0 and cases_failed == 0 and (found or not test.says):
        outcome.passed.append(test.name)
        if test.why:
            outcome.wrong.append(f"{test.name} passes, and the reason on file is: {test.why}")
        return
    outcome.failed.append((test.name, test.why or f"status {status}"))
    if not test.why:
        outcome.wrong.append(f"{test.name}: status {status}, no reason on file\n{last(text)}")


def last(text: str, lines: int = 12) -> str:
    return "\n".join("    " + line[:200] for line in text.splitlines()[-lines:])


def cpu() -> float:
    """CPU seconds of ended children, including nodes."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
