"""`margay cc --runnable -o NAME`: the image is NAME.elf, and NAME a script that runs it.

So the Makefiles and configure scripts of others, which say ./NAME, run it on a node. The script
ends with a copy of the image, which no shell reads: CMake and configure look for text in what
they have linked, as an answer to a question about a type or about the order of bytes.
"""
from __future__ import annotations

import os
from contextlib import suppress

from .errors import MargayError
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


def may_be_script(output: str) -> bool:
    """False for what no script may replace: a device, like /dev/null, or a folder. The compiler
    itself writes to the device, or refuses the folder."""
    return os.path.islink(output) or os.path.isfile(output) or not os.path.exists(output)


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
    try:
        with open(image, "rb") as copied, open(new, "wb") as file:
            file.write(os.fsencode(script))
            copyfileobj(copied, file)
            os.fchmod(file.fileno(), 0o777 & ~_umask())
        os.replace(new, output)
    except OSError as error:
        with suppress(OSError):
            os.unlink(new)
        raise MargayError(f"{output}: {error.strerror}", "make room there, or write elsewhere") from None


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
