"""Writes the man pages and bash's completion: pages.py MAN-FOLDER COMPLETION-FILE.

Both are made from the command's own texts: the man pages from the texts of
`margay COMMAND --help`, the completion from the tables of options. So they cannot
differ from it. Called by install.sh.
"""
from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from margaylib import VERSION, cli, options  # noqa: E402
from margaylib.errors import MargayError  # noqa: E402

COMMAND = re.compile(r"^  ([\w+]+) +(.*?)  +(margay .*)$", re.M)
OPTION = re.compile(r"^  (-\S.*?)(?:  +(\S.*))?$")
SECTIONS = ("exit status", "environment")
ABOUT = """\
margay builds and runs parallel programs on Margay, a kernel for compute nodes: one
kernel, one application, one image. Each node is a separate machine under QEMU; a
board boots the same image. Messages between the nodes are Portals 3.
"""


def commands() -> dict[str, tuple[str, str]]:
    """Each command with its description and an example."""
    return {word: (text, example) for word, text, example in COMMAND.findall(cli.USAGE)}


# ---- man pages ----

def roff(text: str) -> str:
    """Text for groff, which must keep hyphens."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def heading(name: str, about: str) -> list[str]:
    return [f'.TH {roff(name.upper())} 1 "" "margay {VERSION}" "User Commands"',
            ".SH NAME", f"{roff(name)} \\- {roff(about)}"]


def see_also(name: str) -> list[str]:
    names = ["margay", *(f"margay-{word}" for word in commands())]
    others = [f".BR {roff(other)} (1)," for other in names if other != name]
    return [".SH SEE ALSO", *others[:-1], others[-1].rstrip(","), ".PP",
            "The documentation in the folder share/doc/margay, above all portals.md."]


def blocks(text: str) -> list[list[str]]:
    """The lines of a help text, by paragraph; a list's introduction is a paragraph."""
    result: list[list[str]] = [[]]
    for line in text.splitlines():
        begins_list = OPTION.match(line) and result[-1] and not result[-1][0].startswith(" ")
        if not line or line.split(":")[0] in SECTIONS or begins_list:
            result.append([])
        if line:
            result[-1].append(line)
    return [block for block in result if block]


def option_list(lines: list[str]) -> list[str]:
    """Options with their texts; a line with more indentation continues the one above."""
    result: list[str] = []
    for line in lines:
        if found := OPTION.match(line):
            words = re.sub(r"(-[\w-]*\w)", r"\\fB\1\\fR", found[1])
            result += [".TP", re.sub(r"(?<!\\)-", r"\\-", words), *filter(None, [found[2]])]
            if found[2]:
                result[-1] = roff(found[2])
        else:
            result.append(roff(line.strip()))
    return result


def page(word: str) -> str:
    """The man page of one command, from its help."""
    about, example = commands()[word]
    name = f"margay-{word}"
    usage, *rest = blocks(cli.help_text(word))
    synopsis = usage[0].removeprefix("usage: ")
    described = [*heading(name, about), ".SH SYNOPSIS", f".B {roff(synopsis)}",
                 ".SH DESCRIPTION", *map(roff, usage[1:])]
    listed: list[str] = []
    behind: list[str] = []
    introduced = ""
    for block in rest:
        if OPTION.match(block[0]):
            listed += ([".SS " + roff(introduced)] if introduced else []) + option_list(block)
            introduced = ""
        elif block[0].split(":")[0] in SECTIONS:
            title, _, first = block[0].partition(":")
            behind += [f".SH {title.upper()}", roff(first.strip()),
                       *(roff(line.strip()) for line in block[1:])]
        elif block[0].startswith("for tests and") and block[-1].endswith(":"):
            introduced = " ".join(block).rstrip(":")
        else:
            described += [".PP", *(roff(line.strip()) for line in block)]
    lines = [*described, *([".SH OPTIONS", *listed] if listed else []), *behind,
             ".SH EXAMPLE", f".B {roff(example)}", *see_also(name)]
    return "\n".join(line for line in lines if line) + "\n"


def front_page() -> str:
    lines = [*heading("margay", "build and run parallel programs on nodes of their own"),
             ".SH SYNOPSIS", ".B margay", ".I COMMAND", "[options] ...",
             ".SH DESCRIPTION", *map(roff, ABOUT.splitlines()), ".SH COMMANDS"]
    for word, (about, _) in commands().items():
        lines += [".TP", f".BR margay\\-{word} (1)", roff(about)]
    return "\n".join([*lines, *see_also("margay")]) + "\n"


def man_pages() -> dict[str, str]:
    """Names of files to their content."""
    return {"margay.1": front_page(), "mpicc.margay.1": ".so man1/margay-cc.1\n",
            "mpicxx.margay.1": ".so man1/margay-c++.1\n",
            "mpifort.margay.1": ".so man1/margay-fortran.1\n",
            "mpiexec.margay.1": ".so man1/margay-run.1\n",
            "mpirun.margay.1": ".so man1/margay-run.1\n",
            **{f"margay-{word}.1": page(word) for word in commands()}}


# ---- completion ----

def choices(row: options.Row) -> list[str]:
    """The words that an option takes, from the error for a wrong word."""
    if row[2] == "stdin":
        return ["all", "none"]    # or ranks
    try:
        options.set_option(options.RunOptions(), row[2], row[0][0], "?")
    except MargayError as error:
        if error.cure.startswith("choose one of: "):
            return error.cure.removeprefix("choose one of: ").split(", ")
    return []


FOLDERS = ("output_dir", "dir")
FILES = ("file", "out", "pcap", "json", "boot", "output")


def tables() -> dict[str, tuple[options.Row, ...]]:
    run = options.TABLE + options.OWN_TABLE
    return {"run": run, "gdb": run + options.GDB_TABLE, **options.GRUB_TABLES}


def patterns(rows: list[options.Row], command: str) -> str:
    return "|".join(f"{command}:{name}" for row in rows for name in row[0])


def cases() -> list[str]:
    """The possible values of options, as arms of bash's case on COMMAND:OPTION."""
    arms = []
    for command, table in tables().items():
        rows = [row for row in table if options.takes_word(row)]
        for row in rows:
            if words := choices(row):
                arms.append(f"\t{patterns([row], command)}) _margay_words '{' '.join(words)}' ;;")
        for kind, attributes in (("-d", FOLDERS), ("-f", FILES)):
            if chosen := [row for row in rows if row[2] in attributes]:
                arms.append(f"\t{patterns(chosen, command)}) _margay_paths {kind} ;;")
        arms.append(f"\t{patterns(rows, command)}) ;;")
    return [*arms, "\t*) return 1 ;;"]


def completion() -> str:
    valued = {command: " ".join(name for row in table if options.takes_word(row)
                                for name in row[0]) for command, table in tables().items()}
    names = {command: " ".join(name for row in table for name in row[0])
             for command, table in tables().items()}
    for command, said in cli.COMPILERS.items():
        pairs = re.findall(r"^  (-[\w-]+)(?:, (-[\w-]+))?", said, re.M)
        names[command] = " ".join(name for pair in pairs for name in pair if name)
    text = SCRIPT.replace("@COMMANDS@", " ".join(commands()))
    text = text.replace("@CASES@", "\n".join(cases()))
    text = text.replace("@COMPILERS@", "|".join(cli.COMPILERS))
    for mark, words in (("@VALUED@", valued), ("@NAMES@", names)):
        text = text.replace(mark, "\n".join(f"\t{command}) echo ' {line} ' ;;"
                                            for command, line in words.items()))
    return text


SCRIPT = r"""# bash completion for margay, made from its tables of options

# The words of a list that begin with the typed text.
_margay_words() {
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}

_margay_paths() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}

# The options of a command.
_margay_names() {
	case $1 in
@NAMES@
	esac
}

# The options that take the next word.
_margay_valued() {
	case $1 in
@VALUED@
	esac
}

# Completes the value of the option `$2` of the command `$1`; fails if it takes none.
_margay_value() {
	case $1:$2 in
@CASES@
	esac
}

_margay() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
	local command=${COMP_WORDS[1]} i app=
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		_margay_words '@COMMANDS@ --help --version'
		return
	fi
	case $command in
	run|gdb|iso|pxe) ;;
	@COMPILERS@)
		[[ $cur != -* ]] || _margay_words "$(_margay_names "$command")"
		[[ ${COMPREPLY[*]} ]] || _margay_paths -f
		return ;;
	help) _margay_words '@COMMANDS@'; return ;;
	*) return ;;
	esac
	# --link=shm is three words in bash
	if [[ $cur == = ]]; then
		cur=
	elif [[ $prev == = ]]; then
		prev=${COMP_WORDS[COMP_CWORD-2]}
	fi
	for ((i = 2; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--) app=yes ;;
		-*)
			if [[ ${COMP_WORDS[i+1]} == = ]]; then
				((i += 2))
			elif [[ $(_margay_valued "$command") == *" ${COMP_WORDS[i]} "* ]]; then
				((i += 1))
			fi ;;
		*)
			[[ $command == iso || $command == pxe ]] || app=yes ;;
		esac
		[[ -z $app ]] || break
	done
	if [[ -n $app ]]; then
		_margay_paths -f                # an argument of the application
	elif _margay_value "$command" "$prev"; then
		:
	elif [[ $cur == -* ]]; then
		_margay_words "$(_margay_names "$command") --help"
	else
		_margay_paths -f
	fi
}
complete -F _margay margay
"""


def main() -> int:
    folder, script = Path(sys.argv[1]), Path(sys.argv[2])
    for name, text in man_pages().items():
        (folder / name).write_text(text, encoding="utf-8")
    script.write_text(completion(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
