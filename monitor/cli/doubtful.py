"""Merges that today's rules would refuse: listed, and nothing is changed."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich.markup import escape
from rich.text import Text

from monitor.cli.opening import open_configured
from monitor.cli.options import CONFIG, AsJson, Config, Now, answer
from monitor.cli.terminal import console, facts
from monitor.commands.json_output import Answer
from monitor.diff.doubtful_joins import Doubt, judge
from monitor.model import Sighting
from monitor.pipeline.runtime import Runtime
from monitor.store.engine.database import Transaction
from monitor.store.papers import identity_rulings, papers, sightings

# Papers that are judged at once.
PAGE = 1_000


def papers_doubtful(config: Config = CONFIG, now: Now = None, as_json: AsJson = False) -> None:
    with open_configured(config, now) as app:
        doubts = find_doubtful(app.runtime)
    command = "paper-monitor papers split"
    if config != CONFIG:
        command += f" --config {shlex.quote(str(config))}"
    answer(as_json, _doubts_json(doubts, command), _show_doubts, doubts, command)


def _doubts_json(doubts: Doubts, command: str) -> Answer:
    return {
        "doubtful": [
            {
                "paper": doubtful.paper_id,
                "title": doubtful.title,
                "records": [
                    {
                        "source": record.source,
                        "raw_id": record.raw_id,
                        "title": record.text.title if record.text else None,
                    }
                    for record in doubtful.doubt.records
                ],
                "reason": doubtful.doubt.reason,
                "recognised": doubtful.doubt.why or None,
                "judged": doubtful.doubt.judged,
                "split": doubtful.command(command),
            }
            for doubtful in doubts.found
        ],
        "joins": doubts.joins,
        "unjudged": doubts.unjudged,
    }


def _show_doubts(doubts: Doubts, command: str) -> None:
    for doubtful in doubts.found:
        console.print(f"[bold]{doubtful.paper_id}  {escape(doubtful.title)}[/]")
        console.print(facts(_doubt(doubtful)))
        console.print(Text(f"{doubtful.command(command)}\n"), soft_wrap=True)
    console.print(
        f"{len(doubts.found):,} of {doubts.joins:,} merges are doubtful; {doubts.unjudged:,} "
        "cannot be checked, because the texts of their records are not stored"
    )


def _doubt(doubtful: Doubtful) -> Iterator[tuple[str, str]]:
    for record in doubtful.doubt.records:
        title = f", “{record.text.title}”" if record.text else ""
        yield "Record", f"{record.source}/{record.raw_id}{title}"
    if doubtful.doubt.why:
        yield "Joined by", doubtful.doubt.why
    yield "Refused today" if doubtful.doubt.judged else "Doubtful", doubtful.doubt.reason


@dataclass(frozen=True, slots=True)
class Doubtful:
    """Records of a paper that are doubtful; `split` are the arguments to split them off."""

    paper_id: int
    title: str
    doubt: Doubt
    split: tuple[str, ...]

    def command(self, split: str) -> str:
        """Return the command that parts them, as a shell takes it; `split` is how it begins."""
        return f"{split} {self.paper_id} {shlex.join(self.split)}"


@dataclass(frozen=True, slots=True)
class Doubts:
    """How many joins there are, which of them are doubtful, and how many cannot be judged."""

    found: tuple[Doubtful, ...]
    joins: int
    unjudged: int


def find_doubtful(runtime: Runtime) -> Doubts:
    """Judge all joins of the store by today's rules, a page of papers at a time."""
    doubtful: list[Doubtful] = []
    joins = unjudged = 0
    for page in _pages(runtime):
        for papers_doubts, papers_joins, papers_unjudged in page:
            doubtful += papers_doubts
            joins += papers_joins
            unjudged += papers_unjudged
    return Doubts(tuple(doubtful), joins, unjudged)


def _pages(runtime: Runtime) -> Iterator[list[tuple[list[Doubtful], int, int]]]:
    after = 0
    while True:
        with runtime.database.reading() as tx:
            ids = sightings.papers_with_several(tx, after, PAGE)
            page = list(_judge_page(tx, ids))
        yield page
        if len(ids) < PAGE:
            return
        after = ids[-1]


def _judge_page(tx: Transaction, ids: Iterable[int]) -> Iterator[tuple[list[Doubtful], int, int]]:
    keys = papers.keys_of(tx, ids)
    disowned = papers.shared_keys_of(tx, ids)
    seen = sightings.with_text(tx, ids)
    for id, stored in sorted(papers.stored_of(tx, ids, keys).items()):
        judgement = judge(stored.paper, keys.get(id, ()), seen[id], disowned.get(id, ()))
        doubts = [
            Doubtful(id, stored.paper.title, doubt, _split_arguments(doubt))
            for doubt in judgement.doubts
            if not _is_ruled_same(tx, id, doubt)
        ]
        yield doubts, judgement.joins, judgement.unjudged


def _split_arguments(doubt: Doubt) -> tuple[str, ...]:
    if doubt.records:
        return tuple(f"{record.source}/{record.raw_id}" for record in doubt.records)
    return tuple(f"{scheme}:{value}" for scheme, value in doubt.keys)


def _is_ruled_same(tx: Transaction, paper_id: int, doubt: Doubt) -> bool:
    """Whether a person has said that the records are of this paper."""
    ours = {identity_rulings.name(*key) for key in doubt.keys} | _names(doubt.records)
    theirs = identity_rulings.names_of(tx, [paper_id])[paper_id] - ours
    return identity_rulings.of_records(tx, ours, theirs) == identity_rulings.SAME


def _names(records: Iterable[Sighting]) -> set[str]:
    names = {identity_rulings.raw_name(record.source, record.raw_id) for record in records}
    return names | {
        identity_rulings.name(*key) for record in records if record.text for key in record.text.keys
    }
