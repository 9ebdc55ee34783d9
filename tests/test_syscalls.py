"""Bad arguments of system calls: a specific error, or the end of the application.

In a call of the POSIX group a pointer to which the application has no such access is the
application's fault; the Portals group returns PTL_SEGV.
"""
from __future__ import annotations

import re

import pytest

from harness import ROOT, Margay

pytestmark = pytest.mark.syscalls

EBADF, EINVAL, ENOENT, ENOSYS, EROFS, ESPIPE = 9, 22, 2, 38, 30, 29     # Linux's
WHERE = ("null", "low", "kernel", "events", "below", "past", "direct", "wrap")
READING = ("write", "open", "stat_path", "missing")
WRITING = ("read", "stat", "fstat", "rusage", "counters")
PATHS = ("mkdir", "unlink", "rename", "link", "symlink", "readlink", "chmod", "utimens", "truncate",
         "statfs", "chdir", "list", "getcwd")
PORTALS = ("md_bind_memory", "md_bind", "md_bind_handle", "me_attach", "me_attach_handle",
           "ni_status", "eq_index", "eq_alloc", "eq_wait", "ni_init", "ni_handle", "ni_dist",
           "me_any", "me_any_portal", "me_any_handle", "md_insert", "md_insert_handle",
           "ac_entry", "post", "post_me", "post_md", "put_region", "get_region",
           "get_put", "atomic", "fetch_atomic")
PORTALS_OR_NULL = ("ni_init_desired", "ni_init_actual", "md_update_old", "md_update_new")
CLOSED = ("ni_handle", "ni_dist", "ni_barrier", "me_any", "md_insert", "md_update", "ac_entry",
          "post", "put_region", "get_region", "get_put", "atomic", "fetch_atomic")
EXPECTED: dict[str, tuple[int | str, ...]] = {
    "write_fd": (-EBADF,),
    "write_negative_fd": (-EBADF,),
    "write_stdin": (-EBADF,),
    "read_fd": (-EBADF,),
    "read_stdout": (-EBADF,),
    "open_missing": (-ENOENT,),
    "open_write": (-EROFS,),
    "open_new": (-ENOENT,),
    "close_fd": (-EBADF,),
    "close_negative": (-EBADF,),
    "lseek_fd": (-EBADF,),
    "lseek_stream": (-ESPIPE,),
    "fstat_fd": (-EBADF,),
    "number_high": (-ENOSYS,),
    "number_negative": (-ENOSYS,),
    "number_count": (-ENOSYS,),
    "lseek_whence": (-EINVAL,),
    "lseek_negative": (-EINVAL,),
    "write_readonly": (-EBADF,),
    "close_good": (0,),
    "close_twice": (-EBADF,),
}


def ptl(name: str) -> int:
    """A PTL_* value from the public header."""
    header = (ROOT / "include" / "portals3_types.h").read_text(encoding="utf-8")
    return int(re.search(rf"\b{name}\s*=\s*(\d+)", header).group(1))


EXPECTED |= {f"{call}_{where}": ("PTL_SEGV",) for call in PORTALS for where in WHERE}
EXPECTED |= {f"{call}_{where}": ("PTL_SEGV",) for call in PORTALS_OR_NULL for where in WHERE[1:]}
EXPECTED |= {f"closed_{call}": ("PTL_NO_INIT", "PTL_NI_INVALID", "PTL_MD_INVALID")
             for call in CLOSED}
EXPECTED |= {
    "before_init": ("PTL_NO_INIT", "PTL_NI_INVALID"),
    "me_good": ("PTL_OK",),
    "md_good": ("PTL_OK",),
    "eq_good": ("PTL_OK",),
    "md_length": ("PTL_SEGV",),
    "md_constant": ("PTL_SEGV",),
    "md_text": ("PTL_SEGV",),
    "me_unlink_any": ("PTL_ME_INVALID",),
    "me_unlink_md": ("PTL_ME_INVALID",),
    "md_unlink_zero": ("PTL_MD_INVALID",),
    "md_unlink_me": ("PTL_MD_INVALID",),
    "eq_free_any": ("PTL_EQ_INVALID",),
    "eq_count_huge": ("PTL_NO_SPACE",),
    "eq_wait_many": ("PTL_EQ_INVALID", "PTL_SEGV"),
    "eq_wait_handle": ("PTL_EQ_INVALID",),
    "put_handle": ("PTL_MD_INVALID",),
    "put_target": ("PTL_PROCESS_INVALID",),
    "get_handle": ("PTL_MD_INVALID",),
    "ni_barrier_any": ("PTL_NI_INVALID",),
    "ni_fini_any": ("PTL_NI_INVALID",),
    "ni_status_register": ("PTL_SR_INDEX_INVALID",),
    "me_unlink_good": ("PTL_OK",),
    "me_unlink_twice": ("PTL_ME_INVALID",),
}


def all_calls(margay: Margay, app, *options: str) -> dict[str, int]:
    """One run makes all calls; each line is a call with its result."""
    (margay.cwd / "handed.txt").write_text("handed over\n")
    run = margay("run", *options, "--file", "handed.txt", app("sys_bad")).ok()
    run.prints("^constant is whole$")
    return {name: int(value) for name, value in re.findall(r"^(\w+): (-?\d+)$", run.stdout, re.M)}


@pytest.fixture(scope="module")
def results(app, tmp_path_factory) -> dict[str, int]:
    margay = Margay(tmp_path_factory.mktemp("syscalls"))
    said = all_calls(margay, app)
    left = margay.close()
    assert not left, left
    return said


def allowed(name: str) -> list[int]:
    return [ptl(value) if isinstance(value, str) else value for value in EXPECTED[name]]


@pytest.mark.parametrize("name", EXPECTED)
def test_bad_argument(results, name):
    assert results[name] in allowed(name)


def test_no_call_was_forgotten(results):
    assert set(results) == set(EXPECTED)


@pytest.mark.long
@pytest.mark.own_link
def test_bad_arguments_beside_a_card(margay, app):
    said = all_calls(margay, app, "--link", "virtio")
    assert set(said) == set(EXPECTED)
    wrong = {name: value for name, value in said.items() if value not in allowed(name)}
    assert not wrong


POINTERS = ([("write", where) for where in WHERE] + [("write_huge", "text")]
            + [(call, where) for call in READING[1:] for where in ("kernel", "wrap")]
            + [(call, where) for call in WRITING for where in ("null", "events", "constant", "text")]
            + [(call, "kernel") for call in PATHS])


@pytest.mark.parametrize("call, where", POINTERS)
def test_bad_pointer_stops_the_application(margay, app, tmp_path, call, where):
    (tmp_path / "handed.txt").write_text("x")
    run = margay("run", "--file", "handed.txt", app("sys_bad"), call, where, input=b"12345678")
    run.status(128 + 11)
    run.says(r"^margay: rank 0 \(node 0\): bad system call pointer: .*, signal 11 \(SIGSEGV\)$")
    run.says(r"^margay: +#\d+ 0x[0-9a-f]+ pointer_call at .*sys_bad\.c:\d+$")
    assert run.stdout == ""


@pytest.mark.parametrize("seed", range(1, 5))
def test_random_calls(margay, app, seed):
    """The kernel refuses or carries out any call of the application, and continues."""
    run = margay("run", app("sys_random"), seed, 30000).ok()
    assert run.lines[-1] == "whole"
    obeyed = {name: int(count) for name, count in (line.split() for line in run.lines[:-1])}
    never = {name for name, count in obeyed.items() if not count}
    assert never <= {"NI_INIT", "NI_FINI"}, obeyed
