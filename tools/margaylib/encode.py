"""The kernel's command line: tokens, percent-encoding.

The kernel and GRUB see one string. Everything after `--margay` is space-separated: key=value
tokens, `--`, the application's arguments. Special bytes (controls, space, quotes, backslash, %,
0x7f and above) are written as %XX; an empty argument is a single %. GRUB's own specials (`$ ; { } <
> | & # ( ) * ? [ ] ~`) are not encoded: the ISO's writer quotes them.
"""
from __future__ import annotations

import os

_ESCAPED = frozenset(range(0x21)) | frozenset(b"%\"'\\") | frozenset(range(0x7f, 0x100))
_TABLE = tuple(f"%{byte:02X}" if byte in _ESCAPED else chr(byte) for byte in range(256))


def percent(text: str) -> str:
    """One token's value; decodes to the same bytes in the kernel."""
    return "".join([_TABLE[byte] for byte in os.fsencode(text)])


def argument(text: str) -> str:
    """One application argument: never an empty token."""
    return percent(text) or "%"


def decode(token: str) -> bytes:
    """A token as the kernel decodes it (for tests and the ISO's check)."""
    if token == "%":
        return b""
    out = bytearray()
    pieces = token.split("%")
    out += pieces[0].encode("latin-1")
    for piece in pieces[1:]:
        out.append(int(piece[:2], 16))
        out += piece[2:].encode("latin-1")
    return bytes(out)


def command_line(keys: list[tuple[str, str]], env: list[str], argv: list[str]) -> str:
    """The whole string: keys in order, env entries as env=K=V, then the arguments."""
    tokens = ["--margay"]
    tokens += [f"{key}={percent(value)}" for key, value in keys]
    tokens += [f"env={percent(entry)}" for entry in env]
    return " ".join([*tokens, "--", *map(argument, argv)])
