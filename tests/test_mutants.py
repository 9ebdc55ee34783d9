"""The list of the mutation check fits the sources. `make mutants` runs it."""
from __future__ import annotations

import sys

import pytest

from harness import ROOT

sys.path.insert(0, str(ROOT / "tests" / "mutants"))
import run as mutants  # noqa: E402

pytestmark = pytest.mark.host


def test_every_text_is_there_once():
    wrong = []
    for mutant in mutants.load():
        try:
            mutants.mutated(mutant)
        except ValueError as error:
            wrong.append(str(error))
    assert not wrong, "\n\n".join(wrong)


def test_every_rule_is_broken():
    listed = mutants.load()
    assert len(listed) >= 40
    assert not mutants.missing_rules(listed)


def test_table_in_the_docs_is_of_this_list():
    text = (ROOT / "docs" / "mutants.md").read_text(encoding="utf-8")
    missing = [mutant.why for mutant in mutants.load()
               if f"| {mutant.why} | `{mutant.file}` |" not in text]
    assert not missing, "make mutants has not been run since these came: " + "; ".join(missing)
    assert "| no test |" not in text


def test_text_that_is_not_there_is_named(tmp_path):
    (tmp_path / "file.c").write_text("one\ntwo\ntwo\n")
    for old, new in (("three", "four"), ("two", "three"), ("one", "one")):
        with pytest.raises(ValueError, match="rule99.*file.c"):
            mutants.mutated(mutants.Mutant("rule99", 99, "file.c", old, new, "why"), tmp_path)
    fits = mutants.Mutant("rule99", 99, "file.c", "one", "three", "why")
    assert mutants.mutated(fits, tmp_path) == "three\ntwo\ntwo\n"


def test_all_of_the_engine_is_built():
    """A new folder of net/ without which the host tests do not link."""
    folders = {path.parent.relative_to(ROOT).as_posix() for path in (ROOT / "net").glob("*/*.c")}
    assert folders <= set(mutants.SOURCES)
