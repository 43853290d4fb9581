"""Filling in what papers lack from reference lists, such as a link. Nothing is news by it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain

from msgspec import structs

from monitor.identity.keys import with_keys
from monitor.identity.same_work import same_work, texts_agree
from monitor.model import Decision, IncomingPaper, Paper, StoredPaper
from monitor.model.paper_fields import FILLED, READABLE_NAMES, empty_values, names_of
from monitor.pipeline.cleanup import repeat
from monitor.pipeline.runtime import Runtime
from monitor.store.engine.database import Transaction
from monitor.store.papers import candidates, paper_index, papers, sightings, write_papers
from monitor.store.papers.paper_drafts import combine
from monitor.store.sources import collections
from monitor.store.sources.collections import CollectionEntry

# Papers that are filled in one transaction, about a tenth of a second.
BATCH = 200
# The fields that a list fills in, by the names that people read.
FIELDS: Mapping[str, str] = {
    READABLE_NAMES.get(name, name): name
    for name in ("url", "pdf_url", "authors", "year", "published", "categories")
}
# All others that a record would fill in: lists keep some of them to compare works by, and lists
# that were libraries have all.
_NOT_FROM_LISTS = empty_values({*names_of(FILLED), "about"}.difference(FIELDS.values()))


def fill(tx: Transaction, lists: Sequence[str], ids: Iterable[int], now: datetime) -> None:
    """Fill in what stored papers lack from the first of some lists that has them.

    `tx` comes from `Database.ingesting`.
    """
    stored = [paper for paper in papers.load(tx, ids).values() if _lacks(paper)]
    if not stored:
        return
    records = [with_keys(paper.paper) for paper in stored]
    found = collections.find(tx, lists, records, now)
    chosen = {
        paper.id: entry
        for paper, entries in zip(stored, found, strict=True)
        if (entry := _first_list(lists, entries))
    }
    known = {paper.id: paper.paper for paper in stored}
    usable = without_rivals(tx, known, chosen, now)
    for name, decisions in _decisions(tx, known, usable).items():
        write_papers.apply(tx, name, decisions, now)


def _lacks(stored: StoredPaper) -> bool:
    paper = stored.paper
    is_whole = paper.url and paper.authors and paper.categories and (paper.year or paper.published)
    return not (is_whole or stored.purged)


def _first_list(lists: Sequence[str], entries: Sequence[CollectionEntry]) -> CollectionEntry | None:
    """Return the entry of the first list that has the paper, None if it has two works for it."""
    for name in lists:
        if of_list := [entry for entry in entries if entry.source == name]:
            first, *others = of_list
            is_one = all(same_work(first.paper, other.paper).same for other in others)
            return first if is_one else None
    return None


def without_rivals(
    tx: Transaction,
    known: Mapping[int, Paper],
    chosen: Mapping[int, CollectionEntry],
    now: datetime,
) -> dict[int, tuple[CollectionEntry, IncomingPaper]]:
    """Leave out entries whose identifiers name another work, in their list or in the store.

    Two papers with one entry are not filled by it either, but for the first.
    """
    of_list: dict[str, dict[int, IncomingPaper]] = defaultdict(dict)
    for id, entry in chosen.items():
        of_list[entry.source][id] = with_keys(structs.replace(entry.paper, abstract=""))
    usable = {}
    taken = set[int]()
    for name, records in of_list.items():
        sharing = collections.sharing_identifiers(tx, name, list(records.values()), now)
        pairs = {pair for record in records.values() for pair in record.keys}
        owners = paper_index.of_keys(tx, pairs)
        for (id, record), others in zip(records.items(), sharing, strict=True):
            entry = chosen[id]
            owned = {owners.get(paper_index.indexed_pair(pair), id) for pair in record.keys}
            agree = all(texts_agree(known[id], other.paper) for other in others)
            if owned <= {id} and agree and entry.id not in taken:
                taken.add(entry.id)
                usable[id] = entry, record
    return usable


def _decisions(
    tx: Transaction,
    known: Mapping[int, Paper],
    usable: Mapping[int, tuple[CollectionEntry, IncomingPaper]],
) -> dict[str, list[Decision]]:
    """Return what to write, by list; nothing for a paper that gains nothing."""
    seen = sightings.filled_by(tx, usable)
    records = candidates.with_store_facts(tx, [record for _, record in usable.values()])
    decisions: dict[str, list[Decision]] = defaultdict(list)
    for (id, (entry, _)), record in zip(usable.items(), records, strict=True):
        paper = structs.replace(record.paper, **_NOT_FROM_LISTS)
        after = combine(known[id], paper)
        filled = [
            name
            for name, field in FIELDS.items()
            if getattr(after, field) and not getattr(known[id], field)
        ]
        if filled:
            earlier = (s.filled for s in seen.get(id, ()) if s.source == entry.source)
            fields = tuple(dict.fromkeys([*chain.from_iterable(earlier), *filled]))
            record = structs.replace(record, paper=paper, about=())
            decision = Decision(record, None, id, recognised=entry.recognised, filled=fields)
            decisions[entry.source].append(decision)
    return decisions


def fill_stored(runtime: Runtime, name: str) -> None:
    """Fill in recent papers that have no link, after a list was read whole."""

    def step(tx: Transaction) -> int:
        after = collections.backfill_position(tx, name)
        now = runtime.clock.now()
        if after is None:
            return 0
        collections.index_pending_keys(tx)  # a reading that failed may have left some
        ids = papers.without_link(tx, after, now - write_papers.MATCHED_AGAIN_FOR, BATCH)
        fill(tx, runtime.reference_lists, ids, now)
        collections.set_backfill_position(tx, name, ids[-1] if ids else None)
        return len(ids)

    repeat(runtime, step)
