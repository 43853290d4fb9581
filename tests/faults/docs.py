"""Tables for docs/guarantees.md, between their marks."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "guarantees.md"


def write(name: str, table: str) -> None:
    begin, end = f"<!-- the {name} begins -->", f"<!-- the {name} ends -->"
    before, _, rest = PAGE.read_text("utf-8").partition(begin)
    _, _, after = rest.partition(end)
    PAGE.write_text(f"{before}{begin}\n\n{table}\n\n{end}{after}", encoding="utf-8")
