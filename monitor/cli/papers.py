"""`papers`: stored papers, listed, corrected and rated."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import typer

from monitor.cli.opening import open_configured, open_to_read, pointing
from monitor.cli.options import PAPER, Call, argument, finish, flag, number, option, word
from monitor.cli.read import read_files
from monitor.cli.terminal import console, reading, show_table
from monitor.cli.work import runs_json, show_runs
from monitor.commands import ratings
from monitor.commands.explain import UnknownPaperError
from monitor.commands.export import FORMATS, MAX_PAPERS, Format, export
from monitor.commands.identity import Unmarked, merge, split, unmark
from monitor.commands.json_output import papers_json, rated_json, saved_json
from monitor.commands.paper_search import FoundPaper, find_all
from monitor.commands.ratings import (
    VERDICTS,
    Rated,
    RaterScope,
    SavedPaper,
    keep_example,
    rated_examples,
    target_topics,
    topics_matching,
)
from monitor.digest.look_up_words import describe_followed
from monitor.digest.paper_json import Answer, pick
from monitor.digest.wording import format_count
from monitor.errors import UsageError
from monitor.identity.keys import identifiers
from monitor.model import Judgement, Paper, Run, UndecidedRecord
from monitor.pipeline.runtime import Runtime
from monitor.store.papers import undecided
from monitor.store.topics.examples import Example
from monitor.text import clean

_REFERENCES = ("paper", "id", "doi", "arxiv", "url", "title")
_DELIMITERS = ",;\t"
_LIBRARIES = {".bib": "bibtex", ".bibtex": "bibtex", ".ris": "ris", ".nbib": "ris"}
# Papers that a table shows without `--limit`.
TABLE_LIMIT = 50
FORMAT = option(
    "--format",
    "|".join(FORMATS),
    "Write them for other programs.",
    None,
    word("a format", FORMATS, "; EndNote reads ris"),
)
OF_SUBSCRIPTION = option("--subscription", "NAME", "Only for this subscription.")
OF_TOPIC = option("--topic", "NAME", "Only for this topic.")


def papers_search(
    call: Call,
    query: str = argument("QUERY", default=""),
    limit: int | None = option(
        "--limit",
        "N",
        "Maximum number of papers (default: 50; all with --json; 10,000 with --format).",
        None,
        number("--limit"),
    ),
    format_: Format | None = FORMAT,
) -> None:
    default = MAX_PAPERS if format_ else sys.maxsize - 1 if call.as_json else TABLE_LIMIT
    most = limit or default
    with open_to_read(call) as app, pointing(query):
        papers = find_all(app.runtime, query, most=most + 1)
        if format_:
            sys.stdout.writelines(export(islice(papers, most), format_))
            if next(papers, None) is not None:
                typer.echo(f"These are the newest {most:,}; --limit shows more.", err=True)
            return
        listed = list(papers)
    shown = listed[:most]
    has_more = len(listed) > most
    call.answer(papers_json(shown), show_papers, shown, has_more)


def show_papers(papers: Sequence[FoundPaper], has_more: bool = False) -> None:
    rows = [
        (
            hit.stored.id,
            f"{hit.stored.first_seen.astimezone():%Y-%m-%d}",
            hit.stored.paper.title,
            ", ".join(dict.fromkeys(sighting.source for sighting in hit.sightings)),
        )
        for hit in papers
    ]
    show_table(("Id", "First seen", "Title", "Source"), rows)
    if has_more:
        console.print(f"The newest {len(papers):,}; use --limit to see more.")
    else:
        console.print(f"{format_count(len(papers), 'paper')}.")


def papers_merge(call: Call, references: list[str] = argument("PAPER", PAPER)) -> None:
    with open_configured(call, create=False) as app:
        merged = merge(app.runtime, references)
    call.answer(papers_json([merged]), show_papers, [merged])


def papers_split(
    call: Call,
    paper: str = argument("PAPER", PAPER),
    what: list[str] = argument("WHAT", "An identifier, SOURCE/RAW-ID, or a source to separate."),
    title: str = option("--title", "TITLE", "Title of the separated paper."),
) -> None:
    with open_configured(call, create=False) as app:
        both = split(app.runtime, paper, what, title)
    call.answer(papers_json(both), show_papers, both)


def papers_unmark(call: Call, paper: str = argument("PAPER", PAPER)) -> None:
    with open_configured(call, create=False) as app:
        done = unmark(app.runtime, paper)
    marks = [
        pick(mark, "source raw_id title url") | {"at": mark.at.isoformat()} for mark in done.undone
    ]
    document = papers_json([done.paper]) | {"undone": marks, "notified": list(done.notified)}
    call.answer(document, _show_unmarked, done)


def _show_unmarked(done: Unmarked) -> None:
    rows = [(mark.source, mark.raw_id, mark.title, mark.at) for mark in done.undone]
    show_table(("Source", "Record", "Title", "Read"), rows)
    notified = ", ".join(done.notified) or "none"
    console.print(f"The mark is undone. Subscriptions to be notified: {notified}.")


def papers_undecided(
    call: Call,
    retry: bool = flag("--retry", "Try them again, and match new papers."),
) -> None:
    runs: list[Run] = []
    with open_configured(call, create=False) as app:
        if retry:
            with reading() as on_progress:
                runs = app.once.retry_undecided(on_progress)
            app.once.match()
        with app.runtime.database.reading() as tx:
            records = undecided.listing(tx)
    call.answer(_undecided_json(records, runs), _show_undecided, records, runs)
    finish(not (retry and records))


def _undecided_json(records: Sequence[UndecidedRecord], runs: Sequence[Run]) -> Answer:
    return {
        "undecided": [
            pick(record, "source document raw_id error version")
            | {
                "read": record.at.isoformat(),
                "tried": record.tried_at.isoformat(),
                "record": json.loads(record.text),
            }
            for record in records
        ],
        **runs_json(runs),
    }


def _show_undecided(records: Sequence[UndecidedRecord], runs: Sequence[Run]) -> None:
    if runs:
        show_runs(runs)
    rows = []
    for record in records:
        title = clean(str(json.loads(record.text).get("title", record.raw_id)))
        rows.append((record.source, record.document, title, record.at, record.error))
    columns = ("Source", "Document", "Title", "Read", "Error")
    show_table(columns, rows, "No record is undecided.")
    if records:
        console.print(
            f"{format_count(len(records), 'record')} will be tried again after an upgrade."
        )


def papers_rate(
    call: Call,
    paper: str = argument("PAPER", PAPER, default=""),
    verdict: str | None = argument(
        "VERDICT",
        "`up` for more like it, `down` for less, `none` takes it back.",
        None,
        word("a verdict", ("up", "down", "none")),
    ),
    file: Path | None = option(
        "--file", "FILE", "Rate the papers of a CSV, BibTeX or RIS file.", default=None
    ),
    topic: str = OF_TOPIC,
    subscription: str = OF_SUBSCRIPTION,
) -> None:
    if file and paper:
        raise UsageError("name a paper, or a file with --file, but not both")
    if not file and not (paper and verdict):
        raise UsageError("name a paper, and up, down or none", "or a file with --file")
    scope = RaterScope(subscription, topic)
    with open_configured(call, create=False) as app:
        if not file:
            rated = ratings.rate(app.runtime, paper, verdict or "", scope)
            call.answer(rated_json(rated), _show_rated, rated)
            return
        count, kept, left_out = rate_file(app.runtime, file, scope)
    listed = [{"paper": name, "why": why} for name, why in left_out]
    document = {"rated": count, "examples": kept, "left_out": listed}
    as_examples = f" {kept:,} not stored: kept as examples until they arrive." if kept else ""
    call.answer(document, f"{format_count(count, 'paper')} rated.{as_examples}")
    for name, why in () if call.as_json else left_out:
        typer.echo(f"{name}: {why}", err=True)
    finish(bool(count or kept))


def papers_save(
    call: Call,
    paper: str = argument("PAPER", "As for `papers rate`."),
    topic: str = OF_TOPIC,
    subscription: str = OF_SUBSCRIPTION,
) -> None:
    with open_configured(call, create=False) as app:
        rated = ratings.rate(app.runtime, paper, "save", RaterScope(subscription, topic))
    call.answer(rated_json(rated), _show_rated, rated)


def papers_rated(
    call: Call,
    forget: bool = flag("--forget", "Delete the answers of the subscription."),
    topic: str = OF_TOPIC,
    subscription: str = OF_SUBSCRIPTION,
) -> None:
    scope = RaterScope(subscription, topic)
    if not forget:
        with open_to_read(call) as app:
            rated = ratings.rated(app.runtime, scope)
            kept = rated_examples(app.runtime, scope)
        names = "title subscription topic who verdict at how"
        document = {"examples": [pick(example, names) for example in kept]}
        call.answer(rated_json(rated) | document, _show_rated, rated, kept)
        return
    with open_configured(call, create=False) as app:
        count = ratings.forget(app.runtime, scope)
    call.answer({"forgotten": count}, f"{format_count(count, 'answer')} deleted.")


def papers_saved(
    call: Call, subscription: str = OF_SUBSCRIPTION, format_: Format | None = FORMAT
) -> None:
    with open_to_read(call) as app:
        saved = ratings.saved(app.runtime, subscription)
        titles = app.runtime.service_titles
    if format_:
        sys.stdout.writelines(export([one.found for one in saved], format_))
    else:
        call.answer(saved_json(saved), _show_saved, saved, titles)


def _show_saved(saved: Sequence[SavedPaper], titles: Mapping[str, str]) -> None:
    rows = [
        (
            one.found.stored.id,
            f"{one.saves[0].at.astimezone():%Y-%m-%d}",
            one.found.stored.paper.title,
            "; ".join(describe_followed(answer, titles) for answer in one.followed) or "not asked",
        )
        for one in saved
    ]
    show_table(("Id", "Saved", "Title", "Since"), rows)
    console.print(f"{format_count(len(rows), 'paper')}.")


def _show_rated(ratings: Sequence[Rated], examples: Sequence[Example] = ()) -> None:
    every: list[tuple[Any, str, Judgement | Example]] = [(r.paper_id, t, r) for r, t in ratings]
    every += [("not stored", example.title, example) for example in examples]
    rows = [(id, title, r.verdict, r.topic, r.subscription, r.who) for id, title, r in every]
    show_table(("Id", "Title", "Verdict", "Topic", "Subscription", "Who"), rows)
    console.print(f"{format_count(len(rows), 'answer')}.")


# The line of a file, or the paper, that was left out, and why.
LeftOut = tuple[str, str]


class Row(NamedTuple):
    """A line of a file: any of the references may name the paper; a library has the paper."""

    references: tuple[str, ...]
    verdict: str
    topic: str = ""
    paper: Paper | None = None


def rate_file(runtime: Runtime, file: Path, scope: RaterScope) -> tuple[int, int, list[LeftOut]]:
    """Store the ratings of a CSV file, or "up" for each paper of a library.

    Returns how many were stored, how many as examples because their paper is not, and what was
    left out. Nothing of a faulty file: UsageError.
    """
    rows, left_out = _read(file)
    for topic in {"", *(row.topic for row in rows)}:
        target_topics(runtime, replace(scope, topic=topic or scope.topic))
    unknown: list[tuple[Paper, RaterScope]] = []
    stored = kept = 0
    for row in rows:
        own = replace(scope, topic=row.topic or scope.topic)
        try:
            *others, last = row.references
            ratings.rate(runtime, last, row.verdict, own, "file", others)
            stored += 1
        except UsageError as fault:
            if row.paper and isinstance(fault, UnknownPaperError):
                unknown.append((row.paper, own))
            else:
                left_out.append((row.references[-1], str(fault)))
    topics = topics_matching(runtime, [paper for paper, _ in unknown])
    for (paper, own), matching in zip(unknown, topics, strict=True):
        try:
            with runtime.database.writing() as tx:
                keep_example(runtime, tx, paper, matching, own)
            kept += 1
        except UsageError as fault:
            left_out.append((paper.title, str(fault)))
    return stored, kept, left_out


def _read(file: Path) -> tuple[list[Row], list[LeftOut]]:
    """Read a file of ratings. Raises UsageError, with the line, for a table that is faulty."""
    kind = _LIBRARIES.get(file.suffix.lower())
    if not kind:
        try:
            return list(_read_table(file, file.read_text(encoding="utf-8-sig"))), []
        except OSError as fault:
            raise UsageError(f"cannot read {file}: {fault.strerror}") from fault
        except UnicodeDecodeError as fault:
            raise UsageError(f"{file} is not UTF-8 text") from fault
    [(_, reading)] = read_files(kind, [file])
    if reading.error:
        raise UsageError(f"{file}: {reading.error}")
    rows: list[Row] = []
    for paper in reading.papers:
        keys = [f"{scheme}:{value}" for scheme, value in identifiers(paper)]
        rows.append(Row((*keys, paper.title), "up", paper=paper))
    return rows, [(part.where, part.why) for part in reading.rejected]


def _read_table(file: Path, text: str) -> Iterator[Row]:
    delimiter = max(_DELIMITERS, key=text.partition("\n")[0].count)
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, restval="")
    try:
        rows.fieldnames = [name.strip().lower() for name in rows.fieldnames or ()]
        if not set(rows.fieldnames) & set(_REFERENCES):
            hint = f"there are: {', '.join(_REFERENCES)}"
            raise UsageError(f"{file}: no column names the paper", hint)
        for row in rows:
            where = f"{file}, line {rows.line_num}"
            if any(row.pop(None, ())):
                raise UsageError(f"{where}: has more values than there are columns")
            values = {name: value.strip() for name, value in row.items()}
            if any(values.values()):
                yield _row(where, values)
    except csv.Error as fault:
        raise UsageError(f"{file}, line {rows.reader.line_num}: {fault}") from fault


def _row(where: str, row: dict[str, str]) -> Row:
    references = tuple(value for name in _REFERENCES if (value := row.get(name, "")))
    if not references:
        raise UsageError(f"{where}: names no paper")
    verdict = row.get("verdict", "").lower() or "up"
    if verdict not in VERDICTS:
        hint = f"there are: {', '.join(VERDICTS)}"
        raise UsageError(f"{where}: {verdict!r} is not a verdict", hint)
    return Row(references, verdict, row.get("topic", ""))
