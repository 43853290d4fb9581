"""Joins that today's rules would refuse: listed, and nothing is changed."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from monitor.diff.doubtful_joins import Doubt, judge
from monitor.model import Sighting
from monitor.pipeline.runtime import Runtime
from monitor.store import identity_rulings, papers, sighting_texts
from monitor.store.database import Transaction

PAGE = 1_000


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


def doubtful(runtime: Runtime) -> Doubts:
    """Judge all joins of the store by today's rules, a page of papers at a time."""
    found: list[Doubtful] = []
    joins = unjudged = 0
    for page in _pages(runtime):
        for papers_doubts, papers_joins, papers_unjudged in page:
            found += papers_doubts
            joins += papers_joins
            unjudged += papers_unjudged
    return Doubts(tuple(found), joins, unjudged)


def _pages(runtime: Runtime) -> Iterator[list[tuple[list[Doubtful], int, int]]]:
    after = 0
    while True:
        with runtime.database.reading() as tx:
            ids = sighting_texts.papers_with_several(tx, after, PAGE)
            page = list(_judge_page(tx, ids))
        yield page
        if len(ids) < PAGE:
            return
        after = ids[-1]


def _judge_page(tx: Transaction, ids: Iterable[int]) -> Iterator[tuple[list[Doubtful], int, int]]:
    keys = papers.keys_of(tx, ids)
    disowned = papers.shared_keys_of(tx, ids)
    seen = papers.sightings_with_text(tx, ids)
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
