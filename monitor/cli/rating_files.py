"""`papers rate --file`: a CSV file of ratings, or a BibTeX library, whose papers are all wanted."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from monitor.cli.read import read_files
from monitor.commands.explain import find_paper
from monitor.commands.ratings import VERDICTS, Whose, store_rating, target_topics
from monitor.errors import UsageError
from monitor.identity.keys import identifiers
from monitor.pipeline.runtime import Runtime
from monitor.store.engine.database import Transaction

# Ratings stored in one transaction, which keeps other writers waiting.
_BATCH = 500
_REFERENCES = ("paper", "id", "doi", "arxiv", "url", "title")
_DELIMITERS = ",;\t"


@dataclass(frozen=True, slots=True)
class Rating:
    """A line of a file; any of its `references` may name the paper."""

    references: tuple[str, ...]
    verdict: str = "up"
    topic: str = ""


@dataclass(frozen=True, slots=True)
class RatingFile:
    """The ratings of a file, and the lines or entries left out, each with the reason."""

    ratings: tuple[Rating, ...]
    left_out: tuple[tuple[str, str], ...] = ()


def rate_file(runtime: Runtime, file: Path, whose: Whose) -> RatingFile:
    """Store the ratings of a CSV file, or "up" for each paper of a BibTeX library.

    Returns what was stored and what was left out. Raises UsageError for a file that is faulty,
    and then stores nothing of it.
    """
    content = _read(file)
    scopes = [replace(whose, topic=row.topic or whose.topic) for row in content.ratings]
    for scope in {whose, *scopes}:
        target_topics(runtime, scope)
    pairs = list(zip(content.ratings, scopes, strict=True))
    stored, left_out = [], list(content.left_out)
    for start in range(0, len(pairs), _BATCH):
        with runtime.database.writing() as tx:
            for row, scope in pairs[start : start + _BATCH]:
                try:
                    paper_id = _find_stored(tx, row.references)
                    store_rating(runtime, tx, paper_id, row.verdict, scope, "file")
                    stored.append(row)
                except UsageError as fault:
                    left_out.append((row.references[-1], str(fault)))
    return RatingFile(tuple(stored), tuple(left_out))


def _find_stored(tx: Transaction, references: Sequence[str]) -> int:
    """Return the id of the first paper that one of some references names. Raises UsageError."""
    for reference in references[:-1]:
        with suppress(UsageError):
            return find_paper(tx, reference).id
    return find_paper(tx, references[-1]).id


def _read(file: Path) -> RatingFile:
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
    [(_, reading)] = read_files("bibtex", [file])
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
