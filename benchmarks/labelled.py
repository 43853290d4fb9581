"""Labelled pairs of records: two public benchmarks, and preprints with what was published.

Half of the works, by a hash, are held out: rules and thresholds are chosen on the others.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from monitor.model import Paper

FOLDER = Path("../shared/data/dedupe")


class Pair(NamedTuple):
    """`kind` is the set's name, or for preprints how the published copy differs.

    `held_out`: no rule may be chosen on it.
    """

    kind: str
    a: Paper
    b: Paper
    same: bool
    held_out: bool


def read(folder: Path) -> Iterator[Pair]:
    """Yield every labelled pair of every file, without the unlabelled ones."""
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if "a" in row:
                kind = file.name.partition(".")[0]
                held_out = is_held_out(row["a"]["title"])
                yield Pair(kind, paper(row["a"]), paper(row["b"]), row["same"], held_out)
            elif row["label"] is not None:
                held_out = is_held_out(row["arxiv"]["id"])
                yield Pair(row["kind"], *_preprint(row), bool(row["label"]), held_out)


def is_held_out(work: str) -> bool:
    return hashlib.sha256(work.encode()).digest()[-1] % 2 == 1


def paper(row: dict[str, Any]) -> Paper:
    return Paper(
        row["title"],
        abstract=row.get("abstract") or "",
        authors=tuple(row["authors"]),
        venue=row.get("venue") or "",
        year=row.get("year"),
    )


def _preprint(row: dict[str, Any]) -> tuple[Paper, Paper]:
    arxiv = row["arxiv"]
    venue = row["venue"]
    return paper({**arxiv, "year": int(arxiv["created"][:4])}), paper(
        {**venue, "venue": venue["source"].partition("/")[0]}
    )
