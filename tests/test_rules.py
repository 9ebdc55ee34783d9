"""Rules of the source: sizes, names, comments, no globals in net/."""
from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
from collections import defaultdict
from fnmatch import fnmatch
from pathlib import Path

import pytest

from harness import BUILD, ROOT
from rooms import FREESTANDING

pytestmark = pytest.mark.rules

SOURCES = [ROOT / name for name in subprocess.run(
    ["git", "-C", str(ROOT), "ls-files", "*.c", "*.h", "*.asm", "*.py", "*.ld", "*.mk", "*.sh",
     "*.lua"],
    capture_output=True, text=True, check=True).stdout.split()]
assert len(SOURCES) > 500


def test_only_public_headers_use_names_of_applications():
    """An application includes nothing that belongs to the kernel."""
    for path in (ROOT / "apps").rglob("*.[ch]"):
        assert not re.search(r"margay/abi\.h|net/|kernel/", path.read_text(encoding="utf-8")), path


def test_net_has_no_mutable_globals(tmp_path):
    """Everything in net/ gets its state as an argument: no .data, no .bss."""
    bad = []
    for source in (ROOT / "net").rglob("*.c"):
        result = tmp_path / "probe.o"
        subprocess.run(["gcc", "-std=gnu17", "-O1", "-ffreestanding", "-c", "-I", str(ROOT), "-I",
                        str(ROOT / "net"), "-I", str(ROOT / "include"), str(source), "-o",
                        str(result)], check=True)
        bad += [f"{source.relative_to(ROOT)}: {symbol}" for symbol in writable_symbols(result)]
    assert not bad, "\n".join(bad)


def writable_symbols(result: Path) -> list[str]:
    """Symbols in .data, .bss or common."""
    table = subprocess.run(["nm", str(result)], capture_output=True, text=True, check=True).stdout
    return [row.split()[-1] for row in table.splitlines() if row.split()[-2] in "dDbBcCsSgG"]


def test_the_globals_check_finds(tmp_path):
    source = tmp_path / "probe.c"
    source.write_text("int shared; static int hidden = 3;\n"
                      "int next(void) { static int count; return count++ + hidden++; }\n")
    subprocess.run(["gcc", "-O1", "-c", source, "-o", tmp_path / "probe.o"], check=True)
    found = writable_symbols(tmp_path / "probe.o")
    assert len(found) == 3, found


def test_files_are_short():
    """Past 600 lines a file has more than one job."""
    long = [f"{path.relative_to(ROOT)}: {count}" for path in SOURCES if path.exists()
            and (count := len(path.read_text(encoding="utf-8").splitlines())) > 600]
    assert not long, "\n".join(long)


def test_lines_are_short():
    bad = [f"{path.relative_to(ROOT)}:{number}" for path in SOURCES if path.exists()
           for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
           if len(line) > 110]
    assert not bad, "\n".join(bad)


def test_nothing_is_marked_unfinished():
    marks = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
    bad = [f"{path.relative_to(ROOT)}:{number}" for path in SOURCES if path.exists()
           for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
           if marks.search(line)]
    assert not bad, "\n".join(bad)


def test_files_begin_with_what_they_are():
    """The first line opens a comment (or a docstring, or names the interpreter)."""
    opening = {".c": ("/*",), ".h": ("/*",), ".asm": (";",), ".py": ('"""', "#!"),
               ".ld": ("/*",), ".mk": ("#",), ".sh": ("#",), ".lua": ("--",)}
    bad = [str(path.relative_to(ROOT)) for path in SOURCES if path.exists()
           and not path.read_text(encoding="utf-8").startswith(opening[path.suffix])]
    assert not bad, "\n".join(bad)


# Files in comments that are neither this repository's nor a freestanding compiler's.
ELSEWHERE = FREESTANDING | {"hw/i386/microvm.c", "sys/dirent.h", "immintrin.h", "features.h",
                             "gnu/stubs.h", "libgen.h"}

KNOWN = [f"/{name}" for name in subprocess.run(
    ["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True,
    check=True).stdout.split()]


def comments(path: Path, text: str) -> str:
    """A source's comments and, in Python, its docstrings."""
    if path.suffix == ".py":
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        said = [token.string for token in tokens if token.type == tokenize.COMMENT]
        said += [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(text))
                 if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))]
    else:
        said = re.findall(r";.*" if path.suffix == ".asm" else r"(?s)/\*.*?\*/", text)
    return "\n".join(said)


def missing_files(path: Path, text: str) -> list[str]:
    """Missing files that a source's comments name; NAME.c stands for any file."""
    named = re.findall(r"[\w./-]*\w\w\.(?:md|py|asm|[ch])\b(?!\()", comments(path, text))
    return [name for name in named if name not in ELSEWHERE and "NAME" not in name
            and not any(file.endswith(f"/{name}") for file in KNOWN)]


def test_files_that_comments_name_are_there():
    bad = [f"{path.relative_to(ROOT)}: {name}" for path in SOURCES
           if path.suffix in (".c", ".h", ".asm", ".py", ".ld") and path.exists()
           for name in missing_files(path, path.read_text(encoding="utf-8"))]
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("name, text", [
    ("probe.c", '/* See gone.c. */'), ("probe.h", "/*\n * As net/gone.h, and link.h.\n */"),
    ("probe.asm", "mov eax, 1 ; GONE.md"), ("probe.py", '"""As gone.py."""\n'),
    ("probe.py", "one = 1  # tests/gone.md\n"), ("probe.c", "/* drivers/link.h */"),
])
def test_the_check_of_named_files_finds(name, text):
    assert len(missing_files(ROOT / name, text)) == 1


# Code, kernels, nodes and frames are "it"; people may be "who".
PERSONS = re.compile(r"\b(who|whom|whoever|somebody|anybody|everybody|nobody|in vain|be it)\b", re.I)
PEOPLE = re.compile(r"\b(those|users?|people|readers?|programmers?|engineers?) who\b", re.I)
PAGES = [ROOT / name for name in subprocess.run(
    ["git", "-C", str(ROOT), "ls-files", "*.md", "tests/mutants/*.toml"],
    capture_output=True, text=True, check=True).stdout.split()]
assert len(PAGES) > 20


def persons(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if PERSONS.search(PEOPLE.sub("", line))]


def test_code_is_no_person():
    said = [(path, comments(path, text) if path in SOURCES else text)
            for path in (*SOURCES, *PAGES) if path.exists() and path != Path(__file__)
            for text in [path.read_text(encoding="utf-8")]]
    bad = [f"{path.relative_to(ROOT)}: {line}" for path, text in said for line in persons(text)]
    assert not bad, "\n".join(bad)


def test_the_check_of_persons_finds():
    assert persons("A sender that waits.\nWhoever waits.\nFor users who wait.") == ["Whoever waits."]


# Tests may sleep only in until() and let_time_pass() of the harness. Test programs sleep where that
# is their subject, or where they wait for another rank.
SLEEPS = re.compile(r"\btime\.sleep\(|from time import .*\bsleep\b|select\(\[\], \[\], \[\],")


def sleeping(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if SLEEPS.search(line)]


def test_no_test_sleeps():
    """A test waits for a condition, with a deadline. Only tests about time itself let time pass."""
    bad = [f"{path.relative_to(ROOT)}: {line}" for path in SOURCES
           if path.suffix == ".py" and path.is_relative_to(ROOT / "tests") and path.exists()
           and path.name not in ("harness.py", "test_rules.py")
           for line in sleeping(path.read_text(encoding="utf-8"))]
    assert not bad, "\n".join(bad)
    helpers = sleeping((ROOT / "tests/harness.py").read_text(encoding="utf-8"))
    assert helpers == ["time.sleep(pause)", "time.sleep(seconds)"]
    assert len(sleeping("from time import sleep\nselect.select([], [], [], 1)\ntime.sleep(1)\n"
                        "let_time_pass(1)\n")) == 3


def global_symbols(result: Path) -> dict[str, str]:
    """Global symbols: name to nm's letter."""
    table = subprocess.run(["nm", "-g", str(result)], capture_output=True, text=True,
                           check=True).stdout
    return {row.split()[-1]: row.split()[-2] for row in table.splitlines()}


def test_an_application_may_have_any_name_of_the_kernels():
    """Every image is linked with build/kernel.o: its global symbols begin with margay_, and except
    for the ELF entry linker.ld defines them."""
    symbols = global_symbols(BUILD / "kernel.o")
    assert symbols and all(name.startswith("margay_") for name in symbols), symbols
    assert [name for name, letter in symbols.items() if letter != "U"] == ["margay_linux_stub"]
    script = (ROOT / "linker.ld").read_text(encoding="utf-8")
    missing = [name for name, letter in symbols.items()
               if letter == "U" and not re.search(rf"^\s*{name} = ", script, re.M)]
    assert not missing, missing


def names_without_function(script: str, sections: set[str]) -> list[str]:
    """Functions that a linker script places, but that match no section."""
    patterns: dict[str, list[str]] = defaultdict(list)
    for pattern in re.findall(r"(\.k\.text\.\w+(?:\.\*)?)", script):
        patterns[pattern.removesuffix(".*")].append(pattern)
    return [name for name, ways in patterns.items()
            if not any(fnmatch(section, way) for section in sections for way in ways)]


def test_linker_script_names_functions_that_exist():
    """A function that is renamed, or inlined everywhere, would lose its place in the image."""
    script = (ROOT / "linker.ld").read_text(encoding="utf-8")
    table = subprocess.run(["objdump", "-h", str(BUILD / "kernel.o")], capture_output=True,
                           text=True, check=True).stdout
    sections = set(re.findall(r" (\.k\.text\.\S+)", table))
    assert len(sections) > 500
    assert names_without_function(script, sections) == []
    assert names_without_function("*(.k.text.here .k.text.here.* .k.text.gone .k.text.was.*)",
                                  {".k.text.here.part.0", ".k.text.was"}) == [
        ".k.text.gone", ".k.text.was"]


def test_an_application_may_be_named_like_the_kernel(tmp_path):
    """Functions and data with the kernel's own names: the application keeps its own."""
    names = subprocess.run(["nm", str(BUILD / "kernel.o")], capture_output=True, text=True,
                           check=True).stdout
    taken = ("panic", "count", "link_send", "now_ns", "node", "trap", "card", "spin")
    assert [name for name in taken if re.search(rf" [a-zA-Z] {name}$", names, re.M)]
    source = tmp_path / "names.c"
    source.write_text("".join(f"int {name}(void) {{ return {at}; }}\n"
                              for at, name in enumerate(taken))
                      + "int main(void) { return panic() + count(); }\n")
    subprocess.run([str(ROOT / "tools/margay"), "cc", "-o", tmp_path / "names.elf", source],
                   check=True)


def unreserved(names: set[str], declared: str) -> list[str]:
    """Names that an application may use: neither reserved nor declared."""
    return sorted(name for name in names if not name.startswith(("_", "margay_", "p30_"))
                  and not re.search(rf"\b{name}\b", declared))


def test_libmargay_exports_public_names_only():
    """Every application is linked with it: all other names are the application's."""
    table = subprocess.run(["nm", "-g", "--defined-only", str(BUILD / "libmargay.a"),
                            str(BUILD / "crt0.o")], capture_output=True, text=True,
                           check=True).stdout
    names = {row.split()[2] for row in table.splitlines() if len(row.split()) == 3}
    declared = "\n".join(path.read_text(encoding="utf-8")
                         for folder in (ROOT / "include", BUILD / "sysroot" / "include")
                         for path in folder.rglob("*.h"))
    assert {"PtlPut", "malloc", "malloc_usable_size", "margay_rank", "_start"} <= names
    assert unreserved(names, declared) == []
    assert unreserved({"wait_until", "PtlPut", "_x"}, declared) == ["wait_until"]


def test_an_application_may_be_named_like_the_library(tmp_path):
    """Its own functions by names that the library has inside."""
    taken = ("wait_until", "memory_take", "time_ns", "upcall_run", "linux_write", "glue_start")
    source = tmp_path / "names.c"
    source.write_text("#include <portals3.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
                      + "".join(f"int {name}(void) {{ return {at}; }}\n"
                                for at, name in enumerate(taken))
                      + "int main(void) { int n; free(malloc(9)); puts(PtlErrorStr(PtlInit(&n))); "
                        "return wait_until() + memory_take(); }\n")
    subprocess.run([str(ROOT / "tools/margay"), "cc", "-o", tmp_path / "names.elf", source],
                   check=True)


def test_kernel_uses_no_vector_registers():
    """The kernel must not change the application's SSE state. The exception is port_float, which
    saves it around its arithmetic, in an object with nothing else."""
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", str(BUILD / "kernel.o")],
                             capture_output=True, text=True, check=True).stdout
    assert "<" in listing and "ret" in listing
    touching = {name for name, body in re.findall(r"^[0-9a-f]+ <([\w.]+)>:\n((?:.+\n)*)", listing, re.M)
                if re.search(r"%[xyz]mm\d", body)}
    assert touching and touching <= {"port_float", "calculate", "atomic_floats", "atomic_doubles"}
