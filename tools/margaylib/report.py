"""A job's outcome for people (--stats, a table) and for programs (--json, a file)."""
from __future__ import annotations

import json
from pathlib import Path
from statistics import median

from .errors import MargayError

RANKS_IN_COLUMNS = 8


def stats_table(stats: list[dict[str, int]]) -> str:
    """Counters by rank; with many ranks least, median, most and sum."""
    names = list(dict.fromkeys(name for node in stats for name in node))
    if not names:
        return "margay: no counters came from the nodes\n"
    if len(stats) <= RANKS_IN_COLUMNS:
        head = ["counter", *(f"rank {rank}" for rank in range(len(stats)))]
        rows = [[name, *(str(node.get(name, "-")) for node in stats)] for name in names]
    else:
        head = ["counter", "least", "median", "most", "sum"]
        rows = []
        for name in names:
            values = [node[name] for node in stats if name in node]
            rows.append([name, str(min(values)), f"{median(values):.0f}", str(max(values)),
                         str(sum(values))])
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    lines = ["  ".join([row[0].ljust(widths[0]),
                        *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))])
             for row in [head, *rows]]
    return "".join(f"margay: {line}\n" for line in lines)


def switch_table(counters: dict) -> str:
    """The switch's counters by port; those that are zero everywhere are left out."""
    ports = counters["ports"]
    names = [name for name in ports[0] if name not in ("node", "card")
             and any(port[name] for port in ports)]
    rows = [["switch", *(f"node {port['node']}.{port['card']}" for port in ports)]]
    rows += [[name, *(str(port[name]) for port in ports)] for name in names]
    if len(ports) > RANKS_IN_COLUMNS:
        rows = [["switch", "sum"],
                *([name, str(sum(port[name] for port in ports))] for name in names)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "".join("margay: " + "  ".join(
        [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]
    ) + "\n" for row in rows)


def write_json(path: Path, data: dict) -> None:
    try:
        path.write_text(json.dumps(data, indent="\t") + "\n")
    except OSError as error:
        raise MargayError(f"--json {path}: {error.strerror}",
                          "name a file in a folder that you may write") from None
