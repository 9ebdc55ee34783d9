"""`margay cc --runnable -o NAME`: the image is NAME.elf, and NAME a script that runs it.

So the Makefiles and configure scripts of others, which say ./NAME, run it on a node. The script
ends with a copy of the image, which no shell reads: CMake and configure look for text in what
they have linked, as an answer to a question about a type or about the order of bytes.
"""
from __future__ import annotations

import os

from .paths import COMMAND

IMAGE = ".elf"
IMAGE_MAGIC = b"\x7fELF"     # the first bytes of an image
HEAD = """\
#!/bin/sh
# margay cc --runnable made this: it runs the image on a node.
"""
# The variable's options come last, and only once: margay run reads it too.
SCRIPT = HEAD + """\
options=${{MARGAY_RUN_OPTIONS-}}
unset MARGAY_RUN_OPTIONS
exec {margay} run --no-prefix --argv0 "$0" $options {image} "$@"
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
    from shutil import copyfileobj
    image = os.path.abspath(output) + IMAGE
    new = f"{output}.{os.getpid()}"
    script = SCRIPT.format(margay=quote(str(COMMAND)), image=quote(image))
    with open(new, "wb") as file, open(image, "rb") as copied:
        file.write(os.fsencode(script))
        copyfileobj(copied, file)
        os.fchmod(file.fileno(), 0o777 & ~_umask())
    os.replace(new, output)


def image_of_script(data: bytes) -> str | None:
    """The image that a script of write_script() runs; None if this is something else."""
    from shlex import split
    if not data.startswith(HEAD.encode()):
        return None
    script = data.partition(IMAGE_MAGIC)[0]
    try:
        words = split(os.fsdecode(script), comments=True)
    except ValueError:        # a quotation mark without its second one: damaged
        return None
    return words[-2] if words[-1:] == ["$@"] else None


def _umask() -> int:
    mask = os.umask(0o22)
    os.umask(mask)
    return mask
