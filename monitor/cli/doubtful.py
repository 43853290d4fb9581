"""Merges that the current rules would reject: listed, and nothing is changed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.markup import escape
from rich.text import Text

from monitor.cli.opening import open_to_read
from monitor.cli.options import Call, full_command
from monitor.cli.terminal import console, facts
from monitor.diff.doubtful_joins import Doubt, judge
from monitor.digest.paper_json import Answer, pick
from monitor.identity.reasons import describe
from monitor.pipeline.runtime import Runtime
from monitor.store.engine.database import Transaction
from monitor.store.papers import identity_rulings, papers, sightings

# Papers that are judged in one transaction.
PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Doubtful:
    """Records of a paper that are doubtful."""

    paper_id: int
    title: str
    doubt: Doubt

    @property
    def split(self) -> tuple[str, ...]:
        """The arguments of `papers split` for them."""
        if self.doubt.records:
            return tuple(f"{record.source}/{record.raw_id}" for record in self.doubt.records)
        return tuple(f"{scheme}:{value}" for scheme, value in self.doubt.keys)

    def command(self, config: Path) -> str:
        """Return the command that separates them, as a shell takes it."""
        return f"{full_command('papers split', config)} {self.paper_id} {shlex.join(self.split)}"


def papers_doubtful(call: Call) -> None:
    with open_to_read(call) as app:
        listed, joins, unjudged = find_doubtful(app.runtime)
    doubts = [_json(doubtful, call.config) for doubtful in listed]
    document = {"doubtful": doubts, "joins": joins, "unjudged": unjudged}
    call.answer(document, _show, listed, joins, unjudged, call.config)


def _json(doubtful: Doubtful, config: Path) -> Answer:
    doubt = doubtful.doubt
    records = [
        pick(record, "source raw_id") | {"title": record.text.title if record.text else None}
        for record in doubt.records
    ]
    return {
        "paper": doubtful.paper_id,
        "title": doubtful.title,
        "records": records,
        "reason": describe(doubt.reasons),
        "recognised": describe(doubt.recognised) or None,
        "judged": doubt.judged,
        "split": doubtful.command(config),
    }


def _show(listed: Sequence[Doubtful], joins: int, unjudged: int, config: Path) -> None:
    for doubtful in listed:
        console.print(f"[bold]{doubtful.paper_id}  {escape(doubtful.title)}[/]")
        console.print(facts(_facts(doubtful.doubt)))
        console.print(Text(f"{doubtful.command(config)}\n"), soft_wrap=True)
    console.print(
        f"{len(listed):,} of {joins:,} merges are doubtful; {unjudged:,} "
        "cannot be checked, because the texts of their records are not stored"
    )


def _facts(doubt: Doubt) -> Iterator[tuple[str, str]]:
    for record in doubt.records:
        title = f", “{record.text.title}”" if record.text else ""
        yield "Record", f"{record.source}/{record.raw_id}{title}"
    if doubt.recognised:
        yield "Joined by", describe(doubt.recognised)
    yield "Refused today" if doubt.judged else "Doubtful", describe(doubt.reasons)


def find_doubtful(runtime: Runtime) -> tuple[list[Doubtful], int, int]:
    """Judge all joins of the store by the current rules, a page of papers at a time.

    Returns which are doubtful, how many there are, and how many cannot be judged.
    """
    listed: list[Doubtful] = []
    joins = unjudged = after = 0
    while True:
        with runtime.database.reading() as tx:
            ids = sightings.papers_with_several(tx, after, PAGE)
            keys = papers.keys_of(tx, ids)
            shared = papers.shared_keys_of(tx, ids)
            seen = sightings.with_text(tx, ids)
            for id, stored in sorted(papers.stored_of(tx, ids, keys).items()):
                judged = judge(stored.paper, keys.get(id, ()), seen[id], shared.get(id, ()))
                joins += judged.joins
                unjudged += judged.unjudged
                listed += [
                    Doubtful(id, stored.paper.title, doubt)
                    for doubt in judged.doubts
                    if not _is_ruled_same(tx, id, doubt)
                ]
        if len(ids) < PAGE:
            return listed, joins, unjudged
        after = ids[-1]


def _is_ruled_same(tx: Transaction, paper_id: int, doubt: Doubt) -> bool:
    ours = set(_names(doubt))
    theirs = identity_rulings.names_of(tx, [paper_id])[paper_id] - ours
    return identity_rulings.of_records(tx, ours, theirs) == identity_rulings.SAME


def _names(doubt: Doubt) -> Iterator[str]:
    yield from (identity_rulings.name(*key) for key in doubt.keys)
    for record in doubt.records:
        yield identity_rulings.raw_name(record.source, record.raw_id)
        if record.text:
            yield from (identity_rulings.name(*key) for key in record.text.keys)
