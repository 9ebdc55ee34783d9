"""The launcher's pure parts: options, errors, lines, encoding, layout, cc.

Nothing here boots a node; where a QEMU is needed, a script simulates a broken one. test_launcher.py
drives the whole command.
"""
from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import BUILD, ROOT

sys.path.insert(0, str(ROOT / "tools"))

from margaylib import accel, compile as cc, encode, grub, hostmem, image, machine  # noqa: E402
from margaylib import libraries, options, output, report, symbols  # noqa: E402
from margaylib.errors import MargayError, ranks_text, size_text  # noqa: E402
from margaylib.layout import Layout  # noqa: E402

pytestmark = pytest.mark.launcher
MB = 1 << 20


@pytest.fixture(scope="session")
def layout() -> Layout:
    return Layout(BUILD / "region.json")


# --- options

def test_defaults():
    parsed = options.parse(["app"])
    assert (parsed.nodes, parsed.mem) == (1, 64 * MB)
    assert (parsed.accel, parsed.machine) == ("auto", "microvm")
    assert parsed.stack_bytes == 8 * MB and parsed.app == "app" and parsed.args == []


@pytest.mark.parametrize("words", [["-n", "3"], ["-np", "3"], ["--np", "3"], ["-n3"], ["--np=3"],
                                   ["-c", "3"]])
def test_spellings_of_n(words):
    assert options.parse([*words, "app"]).nodes == 3


def test_options_behind_the_application_are_its_own():
    parsed = options.parse(["-n", "2", "app", "-n", "5", "--help", "--", "x"])
    assert parsed.nodes == 2 and parsed.args == ["-n", "5", "--help", "--", "x"]
    assert options.parse(["--", "-odd-name"]).app == "-odd-name"


@pytest.mark.parametrize("text, wanted", [
    ("64", 64 * MB), ("0.5", MB // 2), ("512K", 512 << 10), ("2G", 2 << 30), ("2gb", 2 << 30),
    ("1T", 1 << 40)])
def test_sizes(text, wanted):
    assert options.size("--mem", text) == wanted


@pytest.mark.parametrize("given, path", [
    ("/a//b", "/a/b"), ("/a/../b", "/b"), ("/./a/", "/a"), ("//a", "/a"), ("/", ""), ("//", ""),
    ("/..", ""), ("/a/./b:ro", "/a/b")])
def test_path_of_a_shared_folder(given, path):
    """The kernel compares it with paths that have no dots and no double slashes."""
    assert options.parse(["--dir", f"/x:{given}", "app"]).dirs == [("/x", path, given.endswith(":ro"))]


@pytest.mark.parametrize("words, cause", [
    (["-n", "0"], "out of range"), (["-n", "1025"], "out of range"), (["-n", "x"], "whole number"),
    (["-n"], "whole number"), (["--mem", "0"], "not a size"), (["--mem", "inf"], "not a size"),
    (["-n", "1_0"], "whole number"), (["-n", "\u0663"], "whole number"), (["--mem", "1_0"], "not a size"),
    (["--auth=", "--link", "virtio"], "has no value"), (["--timeout", "1_0"], "not a time"),
    (["--mem", "nan"], "not a size"), (["--mem", ""], "not a size"),
    (["--timeout", "nan"], "not a time"), (["--accel", "xen"], "not known"),
    (["--machine", "q36"], "not known"), (["--link", "e100"], "not known"),
    (["--link", "none"], "no launcher"), (["--env", "=x"], "no variable"),
    (["--env", "MARGAY_NO_SUCH"], "no such variable"), (["--file", ""], "not the name"),
    (["--file", "a/.."], "not the name"), (["--file", "x" * 300], "longer than"),
    (["--file", "a/f", "--out", "b/f=a/f"], "two files of one name"), (["--no-prefix=1"], "no value"),
    (["--stack", "60"], "does not fit"), (["--icount", "-n", "2"], "one node or over network cards")])
def test_errors_name_a_cause_and_a_cure(words, cause):
    with pytest.raises(MargayError, match=cause) as caught:
        options.parse([*words, "app"])
    assert caught.value.cure and caught.value.status == 125
    assert caught.value.text().startswith("margay: error: ")


@pytest.mark.parametrize("wrong, right", [("--mme", "--mem"), ("--timout", "--timeout"),
                                          ("--verbos", "--verbose"), ("--hepl", "--help")])
def test_nearest_option(wrong, right):
    with pytest.raises(MargayError, match=f"unknown option {wrong}") as caught:
        options.parse([wrong, "app"])
    assert f"did you mean {right}?" in caught.value.cure


@pytest.mark.parametrize("words, check", [
    (["-x", "A=1"], lambda o: o.env == ["A=1"]), (["-genv", "A", "1"], lambda o: o.env == ["A=1"]),
    (["-env", "A", "1"], lambda o: o.env == ["A=1"]), (["-env", "A=1"], lambda o: o.env == ["A=1"]),
    (["--no-prefix", "--mca", "btl", "self", "-l"], lambda o: not o.no_prefix),
    (["-s", "all"], lambda o: o.stdin_ranks == [0, 1]), (["-stdin", "1"], lambda o: o.stdin_ranks == [1]),
    (["--stdin=none"], lambda o: o.stdin_ranks == []), ([], lambda o: o.stdin_ranks == [0]),
    (["--bind-to", "core"], lambda o: o.bind_to == "core" and not o.notes),
    (["-bind-to-core"], lambda o: o.bind_to == "core"),
    (["-bind-to-core", "-bind-to-none"], lambda o: o.bind_to == "none"),
    (["-map-by", "slot"], lambda o: len(o.notes) == 1),
    (["--mca", "btl", "self"], lambda o: "--mca btl self" in o.notes[0]),
    (["--oversubscribe", "--tag-output", "-l"], lambda o: o.notes == []),
    (["-ppn", "1"], lambda o: True), (["-H", "localhost:4,127.0.0.1"], lambda o: True),
    (["--output-filename", "d"], lambda o: o.output_dir == Path("d"))])
def test_mpirun_options_that_are_understood(words, check):
    parsed = options.parse([*words, "-np", "2", "app", "arg"])
    assert check(parsed) and parsed.nodes == 2 and parsed.args == ["arg"]


@pytest.mark.parametrize("words, cure", [
    (["-host", "a,b"], "-n N"), (["--hostfile", "f"], "-n N"), (["-ppn", "4"], "-n N"),
    (["-wdir", "/x"], "--dir"), (["-envall"], "--env"), (["--debug"], "margay gdb")])
def test_mpirun_options_that_are_answered(words, cure):
    with pytest.raises(MargayError) as caught:
        options.parse([*words, "app"])
    assert cure in caught.value.cure


def test_colon():
    with pytest.raises(MargayError, match="second application"):
        options.parse(["-n", "1", "app", ":", "-n", "2", "app"])
    assert options.parse(["app", "a", ":", "b"]).args == ["a", ":", "b"]
    assert options.parse(["--", "app", ":", "-n"]).args == [":", "-n"]


def test_iso_options_may_stand_behind_the_application():
    parsed = options.parse(["app", "-n", "4", "-o", "f.iso", "--", "-n", "x"], "iso")
    assert (parsed.nodes, parsed.output, parsed.args) == (4, "f.iso", ["-n", "x"])


@given(st.lists(st.text(max_size=8), max_size=6))
def test_parsing_never_breaks(words):
    try:
        options.parse(words)
    except MargayError as error:
        assert error.cause


# --- the kernel's command line

@given(st.lists(st.binary(max_size=30).filter(lambda b: 0 not in b), max_size=8))
def test_arguments_survive_encoding(arguments):
    words = [os.fsdecode(argument) for argument in arguments]
    line = encode.command_line([("node", "3")], ["A=b c"], words)
    assert all(0x20 <= byte < 0x7f and byte not in b"\"'\\" for byte in line.encode())
    keys, _, rest = line.partition(" -- ")
    assert keys == "--margay node=3 env=A=b%20c" or not words
    tokens = rest.split(" ") if rest else []
    assert [encode.decode(token) for token in tokens] == arguments


@given(st.binary(max_size=40).filter(lambda b: 0 not in b))
def test_grub_quoting(argument):
    """A word of grub.cfg: plain, or in single quotes that its contents cannot end."""
    word = grub.quoted(encode.argument(os.fsdecode(argument)))
    inner = word[1:-1] if word.startswith("'") else word
    assert "'" not in inner and " " not in word and "\n" not in word
    assert encode.decode(inner) == argument


def test_grub_config():
    parsed = options.parse(["app", "-n", "2", "-o", "x.iso", "--link", "none", "--", "a b"], "iso")
    text = grub.grub_config(parsed, "/boot")
    assert text.count("menuentry") == 2
    assert "--margay $exit node=1 rank=1 n=2 link=none" in text and "app a%20b\n" in text
    assert "set timeout=-1\n" in text and "stay=1" not in text
    assert "\tmultiboot2 /boot/margay.elf " in text and "until" not in text


@pytest.mark.parametrize("words, error", [
    (["--", "a" * 8192], "an argument or variable takes 8192 bytes, encoded; GRUB reads words of up "
     "to 8191"),
    (["--env", "A=" + "%" * 2800], "an argument or variable takes 8406 bytes"),
    (["--", *["a" * 8000] * 4], "a node's command line has room for 32000")])
def test_command_line_that_a_board_would_refuse(words, error):
    parsed = options.parse(["app", "-o", "x.iso", "--link", "none", *words], "iso")
    with pytest.raises(MargayError, match=error):
        grub.grub_config(parsed, "/boot")


def test_longest_words_of_a_boards_command_line():
    parsed = options.parse(["app", "-o", "x.iso", "--link", "none", "--", *["a" * 8191] * 3], "iso")
    assert grub.grub_config(parsed, "/boot").count("a" * 8191) == 3


def test_grub_config_knows_boards():
    parsed = options.parse(["app", "-n", "3", "-o", "x", "--board", "52:54:00:AB:00:01",
                            "--board", "Serial 7", "--stay"], "pxe")
    text = grub.grub_config(parsed, "$prefix", retries=True)
    assert '-o "$net_default_mac" = 52:54:00:ab:00:01 ]; then set default=0; ' in text
    assert "if [ \"$serial\" = 'Serial 7' -o \"$uuid\" = 'serial 7' -o " in text
    assert text.count("\tuntil multiboot2 $prefix/margay.elf ") == 3 and " stay=1 " in text


@pytest.mark.parametrize("words, error", [
    ([], "there is no -o"),
    (["-o"], "-o needs a value\nmargay: see: margay pxe --help"),
    (["-o", "d", "--stay=1"], "--stay takes no value"),
    (["-o", "d", "--board", "a", "--board", "b"], "2 boards, and -n 1\nmargay: add: -n 2"),
    (["-o", "d", "-n", "2", "--board", "Ab", "--board", "aB"], "--board ab: two nodes have"),
    (["-o", "d", "--board", ""], "--board has no ID"),
    (["-o", "d", "--board", "a", "--node", "0"], "--node and --board contradict"),
    (["-o", "d", "--node", "1"], "--node 1 is not there\nmargay: give 0, or more nodes: -n 2"),
    (["-o", "d", "--link", "x"], "choose one of: shm, virtio, e1000, e1000e, none")])
def test_pxe_is_checked(words, error):
    with pytest.raises(MargayError) as caught:
        options.parse(["app", *words], "pxe")
    assert error in caught.value.text()


def test_first_handles_cannot_be_foreseen():
    """A different seed in each job, node and life; with --icount the same in all jobs."""
    def seeds(*words):
        job = options.parse([*words, "a"])
        return [machine.handle_seed(job, rank, life) for rank in (0, 1) for life in (1, 2)]
    assert len({*seeds(), *seeds()}) == 8
    assert seeds("--icount") == seeds("--icount") and len({*seeds("--icount")}) == 4


# --- QEMU's line

def test_qemu_line():
    parsed = options.parse(["-n", "2", "--stats", "dir, with/app"])
    line = machine.qemu_arguments(parsed, "tcg", 1, 77, 1000, 3 * MB)
    assert "1,maxcpus=2" in line and "-no-user-config" in line
    assert line[line.index("-m") + 1] == "36M"
    words = line[line.index("-append") + 1].split()
    assert {"node=1", "rank=1", "n=2", "jid=77", "uid=1000", "stats=1"} <= set(words)
    assert not any("dir, with" in word for word in line)
    pair = options.parse(["--icount", "-n", "2", "--link", "virtio", "a"])
    assert "shift=0" in machine.qemu_arguments(pair, "tcg", 0, 1, 1, 1)
    assert "shift=0,sleep=off" in machine.qemu_arguments(options.parse(["--icount", "a"]), "tcg", 0, 1,
                                                         1, 1)
    assert "1" == machine.qemu_arguments(options.parse(["--icount", "a"]), "tcg", 0, 1, 1, 1)[
        line.index("1,maxcpus=2")]


def test_too_many_files_for_the_host():
    outs = [word for k in range(65) for word in ("--out", f"f{k}")]
    assert len(options.parse([*outs[:-2], "a.elf"]).files) == 64
    with pytest.raises(MargayError, match="more than 64 --out files"):
        options.parse([*outs, "a.elf"])


def test_too_many_arguments():
    with pytest.raises(MargayError, match="arguments"):
        options.parse(["app", *["x"] * 1024])
    parsed = options.parse(["app", "x" * 40_000])
    with pytest.raises(MargayError, match="command line"):
        machine.kernel_line(parsed, 0, 1, 1)


# --- output

class Collector:
    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data


def printer(nodes: int, prefix: bool = True) -> tuple[output.Printer, Collector, Collector]:
    out, err = Collector(), Collector()
    return output.Printer(out, err, nodes, prefix), out, err


@given(st.lists(st.tuples(st.integers(0, 2), st.text("ab\n", max_size=12)), max_size=30))
def test_whole_lines_of_each_rank(pieces):
    lines, out, _ = printer(3)
    for rank, text in pieces:
        lines.put(rank, 1, text.encode())
    lines.finish()
    shown = out.data.decode().split("\n")
    assert shown.pop() == ""
    for rank in range(3):
        text = "".join(text for r, text in pieces if r == rank)
        wanted = text.removesuffix("\n").split("\n") if text else []
        assert [line[4:] for line in shown if line.startswith(f"[{rank}] ")] == wanted
    assert all(line.startswith("[") for line in shown)


def test_single_rank_output_is_not_held_back():
    lines, out, err = printer(1, False)
    lines.put(0, 1, b"name? ")
    assert out.data == b"name? "
    lines.put(0, 1, b"yes\nno")
    lines.report(b"margay: said\n")
    assert out.data == b"name? yes\nno" and err.data == b"margay: said\n"
    lines.finish()
    assert out.data == b"name? yes\nno"


@given(st.lists(st.tuples(st.integers(0, 2), st.text("ab\n", max_size=12)), max_size=30))
def test_no_byte_is_added_without_prefixes(pieces):
    lines, out, _ = printer(3, False)
    for rank, text in pieces:
        lines.put(rank, 1, (text.replace("a", f"a{rank}").replace("b", f"b{rank}")).encode())
        lines.report(b"margay: said\n")
    lines.prompt(1)
    lines.finish()
    assert len(out.data) == sum(len(text) + len(text.replace("\n", "")) for _, text in pieces)
    for rank in range(3):
        letters = [letter for letter in re.findall(rb"[ab]\d", out.data) if letter[1] == 48 + rank]
        assert b"".join(letters).decode().replace(str(rank), "") == "".join(
            text.replace("\n", "") for r, text in pieces if r == rank)


def test_report_on_a_terminal_begins_a_line():
    lines, out, err = printer(1, False)
    lines.one_terminal = True
    lines.put(0, 1, b"half")
    lines.report(b"margay: said\n")
    assert out.data == b"half" and err.data == b"\nmargay: said\n"


def test_prompt_and_other_ranks():
    lines, out, _ = printer(2)
    lines.put(0, 1, b"name? ")
    assert out.data == b""
    lines.prompt(0)
    lines.put(1, 1, b"x\n")
    lines.put(0, 1, b"go\n")
    assert out.data == b"[0] name? \n[1] x\n[0] go\n"


def test_sink_does_not_block_on_a_full_pipe():
    reader, writer = os.pipe()
    sink = output.Sink(writer)
    sink.write(b"x" * 300_000)
    assert not sink.flush() and 0 < sink.pending < 300_000
    while os.read(reader, 1 << 16) and not sink.flush(0.1):
        pass
    assert sink.pending == 0
    os.close(reader)
    sink.write(b"y")
    sink.flush()
    assert sink.broken
    os.close(writer)


def test_addr2line_answers():
    text = ("0x0000000000401106\nfoo\n/a/b.c:3\nmain\n/a/b.c:9 (discriminator 2)\n"
            "0x0000000000000002\n??\n??:0\n0x0000000000000003\nbare\n??:?\n")
    assert symbols.parse(text) == {0x401106: ["foo at /a/b.c:3", "main at /a/b.c:9"],
                                   3: ["bare"]}


def test_backtraces_get_names(tmp_path):
    (tmp_path / "t.c").write_text("int f(void) { return 1; }\nint main(void) { return f(); }\n")
    subprocess.run(["gcc", "-g", "-O0", "-no-pie", "-o", tmp_path / "t", tmp_path / "t.c"],
                   check=True)
    names = subprocess.run(["nm", tmp_path / "t"], capture_output=True, text=True,
                           check=True).stdout
    address = next(int(line.split()[0], 16) for line in names.splitlines() if line.endswith(" f"))
    lines = ["margay: rank 0 (node 0): null", f"margay:   #0 0x{address:016x}",
             "margay:   #1 0x0000000000000010"]
    done = symbols.Symbols(tmp_path / "t").annotate(lines)
    assert done[0] == lines[0] and done[2] == lines[2]
    assert done[1].startswith(lines[1] + " f at ") and done[1].endswith("t.c:1")


@pytest.mark.parametrize("ranks, text", [
    ([3], "rank 3"), ([1, 0], "ranks 0 and 1"), ([0, 1, 2], "ranks 0 to 2"),
    ([0, 2, 3, 4, 7], "ranks 0, 2 to 4 and 7")])
def test_ranks_text(ranks, text):
    assert ranks_text(ranks) == text


def test_tables():
    few = report.stats_table([{"a": 1}, {"a": 20, "b": 3}])
    assert few.splitlines()[1].split()[1:] == ["a", "1", "20"]
    many = report.stats_table([{"a": rank} for rank in range(10)])
    assert many.splitlines()[1].split()[1:] == ["a", "0", "4", "9", "45"]
    assert size_text(3 << 29) == "1.5 GB" and size_text(100) == "100 bytes"


def test_own_files_by_a_relative_path(tmp_path, monkeypatch):
    """PKG_CONFIG_PATH=build/pkgconfig makes pkg-config name them so."""
    monkeypatch.chdir(tmp_path)
    for path in (cc.LINKER_SCRIPT, cc.BUILD / "crt0.o", cc.BUILD / "libmargay.a"):
        relative = os.path.relpath(path, tmp_path)
        assert cc._is_own(str(path)) and cc._is_own(relative) and cc._is_own("-Wl,-T," + relative)
    assert not cc._is_own("crt0.o") and not cc._is_own("linker.ld")


# --- the host

def test_too_little_memory(monkeypatch):
    monkeypatch.setattr(hostmem, "available", lambda: 1 << 30)
    hostmem.check(4, 64 * MB, 20 * MB, 0)
    with pytest.raises(MargayError, match="too little memory") as caught:
        hostmem.check(16, 64 * MB, 20 * MB, 0)
    assert "-n 8" in caught.value.cure and "--mem 10" in caught.value.cure


def test_memory_of_control_groups(monkeypatch, tmp_path):
    """The limit may be that of a group around; what the page cache has of files can be had."""
    (tmp_path / "own").write_text("4:memory:/x\n0::/job/step\n")
    monkeypatch.setattr(hostmem, "OWN_GROUP", str(tmp_path / "own"))
    monkeypatch.setattr(hostmem, "GROUPS", str(tmp_path))
    (tmp_path / "job" / "step").mkdir(parents=True)
    assert hostmem._group_room() == hostmem.UNLIMITED
    for folder, limit in (("job", "1000"), ("job/step", "max")):
        (tmp_path / folder / "memory.max").write_text(f"{limit}\n")
        (tmp_path / folder / "memory.current").write_text("990\n")
        (tmp_path / folder / "memory.stat").write_text("anon 390\ninactive_file 500\nactive_file 100\n")
    assert hostmem._group_room() == 610
    (tmp_path / "job" / "step" / "memory.max").write_text("700\n")
    assert hostmem._group_room() == 310


def test_memory_that_would_fit_does_fit(monkeypatch):
    """The page tables of a large segment are large: those of the smaller one count in the cure."""
    monkeypatch.setattr(hostmem, "available", lambda: 16 << 30)
    parsed = options.parse(["--mem", "3T", "app"])
    with pytest.raises(MargayError) as caught:
        hostmem.check(1, parsed.mem, machine.ram_bytes(parsed, MB), 0)
    most = int(caught.value.cure.split()[-1])
    for mem, fits in ((most - 1, True), (most + 2, False)):
        parsed = options.parse(["--mem", str(mem), "app"])
        try:
            hostmem.check(1, parsed.mem, machine.ram_bytes(parsed, MB), 0)
            assert fits
        except MargayError:
            assert not fits


def test_kvm_is_believed_after_a_probe_only(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    real = os.open
    monkeypatch.setattr(accel.os, "open", lambda path, *rest: real(
        "/dev/null" if path == "/dev/kvm" else path, *rest))
    probes, said, told = [], [], []

    def choose(answer: str) -> str:
        def probe() -> str:
            probes.append(1)
            return answer

        return accel.choose("auto", probe, said.append, told.append)

    assert choose("too slow") == "tcg" and "too slow" in told[0]
    assert choose("") == "tcg" and len(probes) == 1 and len(told) == 1
    (tmp_path / "margay" / "accel.json").write_text('{"boot": "another", "kvm": "too slow"}')
    assert choose("") == "kvm" and len(probes) == 2
    assert accel.choose("tcg", lambda: "", said.append, told.append) == "tcg"


@pytest.mark.parametrize("cpu, answer", [
    ("max", ""), ("max,-syscall", "a probe node faulted in its first system calls"),
    ("none", "unable to find CPU model")])
def test_probe_node_runs_to_its_end(layout, app, tmp_path, cpu, answer):
    """A QEMU that uses TCG when asked for KVM. Without SYSCALL main is reached, but nothing
    works."""
    qemu = tmp_path / "qemu"
    qemu.write_text(f"""#!/bin/bash
arguments=("${{@//kvm/tcg}}")
exec {machine.PROGRAM} "${{arguments[@]}}" -cpu {cpu}
""")
    qemu.chmod(0o755)
    said = accel.probe_node(options.parse([str(app("output")), "exit", "1"]), layout, str(qemu),
                            str(BUILD / "tools" / "spawn"), image.Image(str(app("output"))))
    assert answer in said if answer else not said, said


@pytest.mark.parametrize("data, cause", [
    (b"#!/bin/sh\n", "a script"), (b"hello", "not an ELF file"), (b"\x7fELF\x01\x01", "64-bit"),
    (b"\x7fELF\x02\x01" + bytes(12) + b"\xb7\0" + bytes(60), "another processor"),
    (b"\x7fELF\x02\x01" + bytes(10) + b"\1\0\x3e\0" + bytes(60), "object file"),
    (b"\x7fELF\x02\x01" + bytes(10) + b"\2\0\x3e\0" + bytes(60), "not linked by margay cc")])
def test_images_that_are_refused(tmp_path, data, cause):
    path = tmp_path / "app"
    path.write_bytes(data)
    with pytest.raises(MargayError, match=cause) as caught:
        image.Image(str(path))
    assert "margay cc" in caught.value.cure


def test_image_that_is_not_whole(app, tmp_path):
    (tmp_path / "half").write_bytes(app("hello").read_bytes()[:200000])
    with pytest.raises(MargayError, match="is not whole: it ends after 200000 bytes"):
        image.Image(str(tmp_path / "half"))


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_images_of_any_bytes(data):
    found = SimpleNamespace(app_bytes=0)
    try:
        image.Image._inspect(found, "x", b"\x7fELF\x02\x01" + data)
    except MargayError:
        pass


# --- margay cc

def test_cc_sorts_arguments():
    steps = cc.plan(["-c", "-o", "x.cpp", "a.c", "-I", "b.f90", "-DX=1", "-l", "m"])
    assert steps.inputs == ["a.c"] and not steps.links and "-lm" in steps.user
    assert cc.plan(["a.c", "b.o", "lib.a"]).links
    assert cc.plan(["-print-libgcc-file-name"]).asks_gcc
    assert cc.plan(["-showme:link"]).show_part == "link"
    assert cc.plan(["-c", "-pthread", "a.c"]).user == ["-c", "-pthread", "a.c"]
    assert cc.plan(["a.c", "-pthread"]).links


@pytest.mark.parametrize("words, cause", [
    (["a.c", "-fopenacc"], "no accelerators"),
    (["a.cc"], "C\\+\\+"), (["a.C"], "C\\+\\+"), (["-x", "c++", "a.c"], "C\\+\\+"),
    (["-xc++", "a.c"], "C\\+\\+"), (["a.f90"], "Fortran"), (["-x", "f95", "a"], "Fortran"),
    (["-shared", "a.c"], "shared"), ([], "no input"), (["a.c", "-o"], "needs a value")])
def test_cc_refuses(words, cause):
    with pytest.raises(MargayError, match=cause) as caught:
        cc.plan(words)
    assert caught.value.cure


def test_cc_explains_missing_functions():
    text = "x.c:(.text+0x5): undefined reference to `{}'\n"
    errors = "".join(text.format(name) for name in ("wordexp", "socket", "clone", "wordexp", "own"))
    said = libraries.explain(errors)
    assert "a node runs one process: clone, wordexp\n" in said and "margay run -n N" in said
    assert "there are no sockets: socket\n" in said and "own" not in said
    assert libraries.explain(text.format("own")) == ""
    assert "this is MPI in Fortran: mpi_init_\n" in libraries.explain(text.format("mpi_init_"))


# --- a faulty QEMU

def broken_qemu(tmp_path: Path, text: str, boot_seconds: int = 30) -> dict[str, str]:
    script = tmp_path / "qemu"
    script.write_text("#!/bin/sh\n" + text)
    script.chmod(0o755)
    return {"MARGAY_QEMU": str(script), "MARGAY_BOOT_SECONDS": str(boot_seconds)}


def test_machine_that_never_boots(margay, app, tmp_path):
    """The message contains the node's output on its serial port (descriptor 4)."""
    env = broken_qemu(tmp_path, "echo stuck in the firmware >&4\nexec sleep 100\n", 3)
    run = margay("run", "-n", 3, "--accel", "tcg", app("hello"), env=env)
    run.status(125).says("ranks 0 to 2 did not reach main within 3 s")
    run.says(r"\| stuck in the firmware")
    run.says("--machine")


def test_stopped_machine_is_waited_for(margay, app, tmp_path):
    """A stopped QEMU is late, not broken: the timeout ends this job."""
    env = broken_qemu(tmp_path, "kill -STOP $$\n", 3)
    run = margay("run", "--accel", "tcg", "--timeout", 5, app("hello"), env=env)
    assert "did not reach main" not in run.status(124).stderr


@pytest.mark.parametrize("text, said", [
    ("echo no such device >&2; exit 1", "ended with status 1: no such device"),
    ("kill -ABRT $$", "gave up"), ("exit 0", "ended with status 0")])
def test_qemu_that_refuses(margay, app, tmp_path, text, said):
    env = broken_qemu(tmp_path, text + "\n")
    run = margay("run", "-n", 2, "--accel", "tcg", app("hello"), env=env)
    run.status(125).says(rf"margay: rank [01] \(node [01]\) died: its QEMU {said}")


def test_incomplete_build(margay, app, tmp_path):
    env = {"MARGAY_BUILD": str(tmp_path)}
    margay("run", app("hello"), env=env).status(125).says("run: make -C")
    (tmp_path / "a.c").write_text("int main(void) { return 0; }\n")
    margay("cc", "a.c", env=env).status(125).says("build is not complete")
