"""Labelled pairs of records: two public benchmarks, and preprints with what was published."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from monitor.model import Paper

FOLDER = Path("../shared/data/dedupe")


class Pair(NamedTuple):
    """`kind` is the set's name, or for preprints how the published copy differs."""

    kind: str
    a: Paper
    b: Paper
    same: bool


def read(folder: Path) -> Iterator[Pair]:
    """Yield every labelled pair of every file, without the unlabelled ones."""
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if "a" in row:
                kind = file.name.partition(".")[0]
                yield Pair(kind, paper(row["a"]), paper(row["b"]), row["same"])
            elif row["label"] is not None:
                yield Pair(row["kind"], *_preprint(row), bool(row["label"]))


def paper(row: dict[str, Any]) -> Paper:
    return Paper(
        row["title"],
        abstract=row.get("abstract") or "",
        authors=tuple(row["authors"]),
        venue=row.get("venue") or "",
        year=row.get("year"),
    )


def _preprint(row: dict[str, Any]) -> tuple[Paper, Paper]:
    arxiv, venue = row["arxiv"], row["venue"]
    return paper({**arxiv, "year": int(arxiv["created"][:4])}), paper(
        {**venue, "venue": venue["source"].partition("/")[0]}
    )
