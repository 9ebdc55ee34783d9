"""Where the project's parts are, independent of the current directory.

In a checkout the built files are in the folder build. An installed tree (PREFIX/lib/margay) is laid
out like the checkout, with the built files beside the others.
"""
from __future__ import annotations

import os
from pathlib import Path

from .errors import MargayError

ROOT = Path(os.path.realpath(__file__)).parent.parent.parent
# The margay command lies beside this package.
COMMAND = Path(os.path.realpath(__file__)).parent.parent / "margay"
CHECKOUT = (ROOT / "Makefile").is_file()
BUILD = Path(os.environ.get("MARGAY_BUILD") or (ROOT / "build" if CHECKOUT else ROOT))


def built(name: str) -> Path:
    """build/NAME; the error says how to make it."""
    path = BUILD / name
    if not path.exists():
        if CHECKOUT:
            raise MargayError(f"{path} is missing: the build is not complete",
                              f"run: make -C {_quoted(ROOT)}")
        raise MargayError(f"{path} is missing: margay is not completely installed",
                          "install it again: make install, or apt install --reinstall margay")
    return path


def cache() -> Path | None:
    """margay's folder in the user's cache; None: there is none. A relative XDG_CACHE_HOME does not
    count, as its specification says: each folder would get a cache of its own."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if base.startswith("/"):
        return Path(base) / "margay"
    home = os.environ.get("HOME")
    return Path(home) / ".cache" / "margay" if home else None


def program(name: str, package: str) -> str:
    """The absolute path of a host program; the error names its Debian package."""
    if "/" in name:
        if os.access(name, os.X_OK) and os.path.isfile(name):
            return os.path.abspath(name)
        raise MargayError(f"{name} cannot be executed", "name an executable file")
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = os.path.join(folder or ".", name)
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return os.path.abspath(path)
    raise MargayError(f"{name} is not installed (it is in no folder of PATH)",
                      f"install it: apt install {package}")


def _quoted(path: Path) -> str:
    from shlex import quote
    return quote(str(path))
