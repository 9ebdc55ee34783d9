"""A job's outcome for people (--stats, a table) and for programs (--json, a file)."""
from __future__ import annotations

import json
from statistics import median

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RANKS_IN_COLUMNS = 8


def aligned(rows: list[list[str]]) -> str:
    """Columns as wide as their cells; all but the first to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = ["  ".join([row[0].ljust(widths[0]),
                        *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))])
             for row in rows]
    return "".join(f"margay: {line.rstrip()}\n" for line in lines)


def stats_table(stats: list[dict[str, int]]) -> str:
    """Counters by rank; with many ranks minimum, median, maximum and sum."""
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
    return aligned([head, *rows])


def switch_table(counters: dict[str, Any], faults: bool = False) -> str:
    """The switch's counters by port, without those that are zero everywhere. With many ports the
    sum, the maximum, and the port that has it. With faults, the seed that repeats them."""
    ports = counters["ports"]
    of = [f"node {port['node']}.{port['card']}" for port in ports]
    names = [name for name in ports[0] if name not in ("node", "card")
             and any(port[name] for port in ports)]
    if len(ports) <= RANKS_IN_COLUMNS:
        rows = [["switch", *of], *([name, *(str(port[name]) for port in ports)] for name in names)]
    else:
        rows = [["switch", "sum", "most", "of"]]
        for name in names:
            values = [port[name] for port in ports]
            most = max(values)
            rows.append([name, str(sum(values)), str(most), of[values.index(most)]])
    if faults:
        rows.insert(1, ["faults from seed", str(counters["seed"]), *[""] * (len(rows[0]) - 2)])
    return aligned(rows)


def json_text(data: object) -> bytes:
    return (json.dumps(data, indent="\t") + "\n").encode()
