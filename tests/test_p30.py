"""Programs written for Portals 3.0 (p30.h) and for 3.3 (portals3.h), and both in one."""
from __future__ import annotations

import re
import subprocess

import pytest

from harness import ROOT

pytestmark = pytest.mark.messages

CALLS_30 = "lists truncation drops get update overrun names access errors".split()
CALLS_33 = "put_part get_part exchange last_message count".split()


@pytest.mark.every_link
@pytest.mark.parametrize("nodes", [1, 2])
def test_30_calls(margay, app, nodes):
    run = margay("run", "-n", nodes, "--no-prefix", app("p30_calls")).ok()
    assert run.lines == [f"ok {name}" for name in CALLS_30]


@pytest.mark.every_link
def test_30_later(margay, app):
    """Extensions of Cplant's library beyond the report."""
    run = margay("run", "-n", 1, "--no-prefix", app("p30_later")).ok()
    assert run.lines == ["ok sent", "ok max_offset", "ok timeout"]


@pytest.mark.every_link
@pytest.mark.parametrize("nodes", [1, 2, 3, 4])
def test_30_pingpong(margay, app, nodes):
    run = margay("run", "-n", nodes, "--no-prefix", app("p30_pingpong"), 50).ok()
    assert run.lines == ["ok 50 rounds"]


@pytest.mark.every_link
@pytest.mark.parametrize("nodes", [1, 2, 3])
def test_33_calls(margay, app, nodes):
    run = margay("run", "-n", nodes, "--no-prefix", app("ptl33_calls")).ok()
    assert run.lines == [f"ok {name}" for name in CALLS_33]


@pytest.mark.every_link
@pytest.mark.parametrize("nodes", [1, 2])
def test_both_in_one_application(margay, nodes, tmp_path):
    halves = sorted((ROOT / "tests" / "apps" / "both").glob("*.c"))
    assert len(halves) == 2
    margay("cc", "-Wall", "-Wextra", "-Werror", *halves, "-o", tmp_path / "both.elf").ok()
    run = margay("run", "-n", nodes, "--no-prefix", tmp_path / "both.elf").ok()
    assert run.lines == ["ok both"]


def compiles(command: list[str], text: str) -> subprocess.CompletedProcess:
    return subprocess.run([*command, "-Wall", "-Wextra", "-fsyntax-only", "-I",
                           str(ROOT / "include"), "-"], input=text, capture_output=True, text=True)


@pytest.mark.parametrize("header", ["p30.h", "portals3.h"])
@pytest.mark.parametrize("language", ["c -std=c11", "c -std=gnu17", "c++ -std=c++11",
                                      "c++ -std=c++20"])
def test_headers_in_both_languages(header, language):
    done = compiles(["gcc", "-Werror", "-pedantic", "-x", *language.split()],
                    f"#include <{header}>\n#include <{header}>\n")
    assert done.returncode == 0, done.stderr


def test_a_33_program_is_c_plus_plus():
    text = (ROOT / "tests" / "apps" / "ptl33_calls.c").read_text(encoding="utf-8")
    done = compiles(["g++", "-Werror", "-x", "c++", "-std=c++17"], text)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("pointer", ["double", "unsigned long"])
@pytest.mark.parametrize("language", ["c", "c++"])
def test_both_types_of_a_distance(language, pointer):
    call = f"int f({pointer} *d) {{ ptl_process_id_t p = {{}}; return PtlNIDist(0, p, d); }}\n"
    done = compiles(["gcc", "-Werror", "-x", language], "#include <p30.h>\n" + call)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("macro, works", [("", False), ("#define P30_MAX_OFFSET\n", True)])
def test_max_offset_is_there_by_a_macro(macro, works):
    use = "void f(ptl_md_t *md) { md->max_offset = 0; }\n"
    assert (compiles(["gcc", "-x", "c"], macro + "#include <p30.h>\n" + use).returncode == 0) == works


def test_both_headers_in_one_file_are_refused():
    done = compiles(["gcc", "-x", "c"], "#include <portals3.h>\n#include <p30.h>\n")
    assert done.returncode != 0 and "one per file" in done.stderr


def test_names_of_30_begin_with_p30_for_the_linker(app):
    """p30.h and portals3.h declare different things under the same names."""
    symbols = subprocess.run(["nm", str(app("p30_calls"))], capture_output=True, text=True,
                             check=True).stdout
    assert len(re.findall(r" T p30_\w+", symbols)) >= 26
