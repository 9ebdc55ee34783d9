"""Each system call refuses each bad argument, with its own error, and lives on."""
from __future__ import annotations

import re

import pytest

from harness import ROOT, Margay

pytestmark = pytest.mark.syscalls

EBADF, EFAULT, EINVAL, ENOENT, ENOSYS, EROFS, ESPIPE, ENAMETOOLONG = 9, 14, 22, 2, 88, 30, 29, 91
WHERE = ("null", "low", "kernel", "events", "below", "past", "direct", "wrap")
POSIX = ("write", "read", "open", "stat_path", "stat", "fstat", "rusage", "missing", "counters")
PORTALS = ("md_bind_memory", "md_bind", "md_bind_handle", "me_attach", "me_attach_handle",
           "ni_status", "eq_index", "eq_alloc", "eq_wait")
EXPECTED = {
    **{f"{call}_{where}": (-EFAULT,) for call in POSIX for where in WHERE},
    "write_length": (-EFAULT,),
    "write_long": (-EFAULT,),
    "write_fd": (-EBADF,),
    "write_negative_fd": (-EBADF,),
    "write_stdin": (-EBADF,),
    "read_fd": (-EBADF,),
    "read_stdout": (-EBADF,),
    "read_constant": (-EFAULT,),
    "read_text": (-EFAULT,),
    "rusage_constant": (-EFAULT,),
    "open_missing": (-ENOENT,),
    "open_write": (-EROFS,),
    "open_new": (-EROFS,),
    "open_long_name": (-EFAULT, -ENAMETOOLONG),
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
    header = (ROOT / "include" / "portals3.h").read_text(encoding="utf-8")
    return int(re.search(rf"\b{name}\s*=\s*(\d+)", header).group(1))


EXPECTED |= {f"{call}_{where}": ("PTL_SEGV",) for call in PORTALS for where in WHERE} | {
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
    "ni_fini_any": ("PTL_NI_INVALID",),
    "ni_status_register": ("PTL_SR_INDEX_INVALID",),
    "me_unlink_good": ("PTL_OK",),
    "me_unlink_twice": ("PTL_ME_INVALID",),
}


@pytest.fixture(scope="module")
def results(app, tmp_path_factory) -> dict[str, int]:
    """One run makes all calls; each line is a call and its result."""
    folder = tmp_path_factory.mktemp("syscalls")
    (folder / "handed.txt").write_text("handed over\n")
    margay = Margay(folder)
    run = margay("run", "--file", "handed.txt", app("sys_bad")).ok()
    left = margay.close()
    assert not left, left
    run.prints("^constant is whole$")
    return {name: int(value) for name, value in re.findall(r"^(\w+): (-?\d+)$", run.stdout, re.M)}


@pytest.mark.parametrize("name", EXPECTED)
def test_bad_argument(results, name):
    wanted = [ptl(value) if isinstance(value, str) else value for value in EXPECTED[name]]
    assert results[name] in wanted


def test_no_call_was_forgotten(results):
    assert set(results) == set(EXPECTED)
