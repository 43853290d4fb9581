"""Files of ratings: a CSV file with verdicts, or a BibTeX library, whose papers are all wanted."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from monitor.commands.read_files import read
from monitor.errors import UsageError
from monitor.identity.keys import identifiers
from monitor.model import SAVED, UNWANTED, WANTED

# What they are called on the command line, in files and on pages.
VERDICTS = {"up": WANTED, "down": UNWANTED, "save": SAVED, "none": ""}
_REFERENCES = ("paper", "id", "doi", "arxiv", "url", "title")
_DELIMITERS = ",;\t"


@dataclass(frozen=True, slots=True)
class Rating:
    """What a file says of a paper, which any of the `references` may name."""

    references: tuple[str, ...]
    verdict: str = "up"
    topic: str = ""


@dataclass(frozen=True, slots=True)
class RatingFile:
    """The ratings of a file, and the places that could not be read, each with the reason."""

    ratings: tuple[Rating, ...]
    unread: tuple[tuple[str, str], ...] = ()


def read_ratings(file: Path) -> RatingFile:
    """Read a file of ratings. Raises UsageError, with the line, for a table that is faulty."""
    if file.suffix.lower() in (".bib", ".bibtex"):
        return _read_library(file)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as fault:
        raise UsageError(f"cannot read {file}: {fault.strerror}") from fault
    except UnicodeDecodeError as fault:
        raise UsageError(f"{file} is not UTF-8 text") from fault
    return RatingFile(tuple(_read_table(file, text)))


def _read_library(file: Path) -> RatingFile:
    [(_, reading)] = read("bibtex", [file], Path(), None)
    if reading.error:
        raise UsageError(f"{file}: {reading.error}")
    ratings = []
    for paper in reading.papers:
        keys = [f"{scheme}:{value}" for scheme, value in identifiers(paper)]
        ratings.append(Rating((*keys, paper.title)))
    return RatingFile(tuple(ratings), tuple((line.where, line.why) for line in reading.rejected))


def _read_table(file: Path, text: str) -> Iterator[Rating]:
    header = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=header.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        columns = [name.strip().lower() for name in next(rows, [])]
        if not set(columns) & set(_REFERENCES):
            raise UsageError(
                f"{file}: no column names the paper", f"call one {_listed(_REFERENCES)}"
            )
        for row in rows:
            values, where = [value.strip() for value in row], f"{file}, line {rows.line_num}"
            if any(values[len(columns) :]):
                raise UsageError(f"{where}: has more values than there are columns")
            if any(values):
                yield _rating(where, dict(zip(columns, values, strict=False)))
    except csv.Error as fault:
        raise UsageError(f"{file}, line {rows.line_num}: {fault}") from fault


def _rating(where: str, row: dict[str, str]) -> Rating:
    references = tuple(value for name in _REFERENCES if (value := row.get(name, "")))
    if not references:
        raise UsageError(f"{where}: names no paper")
    verdict = row.get("verdict", "") or "up"
    if verdict.lower() not in VERDICTS:
        raise UsageError(f"{where}: the verdict “{verdict}” should be {_listed([*VERDICTS])}")
    return Rating(references, verdict.lower(), row.get("topic", ""))


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"
