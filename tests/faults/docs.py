"""Tables for docs/guarantees.md, between their marks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "guarantees.md"


def write(name: str, table: str) -> None:
    begin = f"<!-- the {name} begins -->"
    end = f"<!-- the {name} ends -->"
    before, _, rest = PAGE.read_text("utf-8").partition(begin)
    _, _, after = rest.partition(end)
    PAGE.write_text(f"{before}{begin}\n\n{table}\n\n{end}{after}", encoding="utf-8")


def table(heads: Sequence[str], counted: Mapping[str, str], rows: Mapping[str, Counter]) -> str:
    """Return a table of counts: `counted` are their names by heading, rows begin with their key."""
    columns = [*heads, *counted]
    align = ["---"] * len(heads) + ["---:"] * len(counted)
    lines = [" | ".join(columns), " | ".join(align)]
    for key, row in rows.items():
        lines.append(" | ".join((key, *(str(row[name]) for name in counted.values()))))
    return "\n".join(f"| {line} |" for line in lines)
