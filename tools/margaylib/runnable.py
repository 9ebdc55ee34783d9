"""`margay cc --runnable -o NAME`: the image is NAME.elf, and NAME a script that runs it.

So the Makefiles and configure scripts of others, which say ./NAME, run it on a node.
"""
from __future__ import annotations

import os

from .paths import COMMAND

IMAGE = ".elf"
SCRIPT = """\
#!/bin/sh
# margay cc --runnable made this: it runs the image on a node.
exec {margay} run --no-prefix --argv0 "$0" ${{MARGAY_RUN_OPTIONS-}} {image} "$@"
"""


def image_instead(words: list[str], output: str) -> list[str]:
    """gcc's arguments with the image's name as the output."""
    kept = []
    pairs = iter(words)
    for word in pairs:
        if word == "-o":
            next(pairs, None)
        elif not word.startswith("-o"):
            kept.append(word)
    return [*kept, "-o", output + IMAGE]


def write_script(output: str) -> None:
    """Puts the script in place; a link that has this name is replaced, not followed."""
    from shlex import quote
    image = os.path.abspath(output) + IMAGE
    new = f"{output}.{os.getpid()}"
    with open(new, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(SCRIPT.format(margay=quote(str(COMMAND)), image=quote(image)))
        os.fchmod(file.fileno(), 0o777 & ~_umask())
    os.replace(new, output)


def _umask() -> int:
    mask = os.umask(0o22)
    os.umask(mask)
    return mask
