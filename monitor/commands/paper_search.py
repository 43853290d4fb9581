"""Stored papers, page by page: by a query, a source, a topic, a kind of news, a time.

A page takes about as long in a store of a million papers as in one of a thousand: where few papers
match, it ends before it is full (`is_cut`). The search index names papers, whose texts are then
matched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from msgspec import structs

from monitor.commands.query_bounds import most_read, refuse_too_many_words, too_many_papers
from monitor.digest.lines import choose_note
from monitor.match import Query, TopicIndex, parse_query, search_expression
from monitor.model import ChangeKind, Paper, PaperFilter, Sighting, SiteNote, StoredPaper
from monitor.model.look_up import Filled, filled_by, notes_of
from monitor.store.engine.database import Transaction
from monitor.store.papers import look_ups, merge_papers, papers, sightings
from monitor.store.papers import search as search_index

if TYPE_CHECKING:
    from monitor.pipeline.runtime import Runtime

EVERY = PaperFilter()
PAGE_OF_RESULTS = 20
# Bounds of a page: the papers whose texts it reads, and the ids that it asks the index for.
MOST_LOOKED_AT = 500
MOST_NAMED = 60_000
# Of papers that a filter alone wants: their texts are not read.
MOST_COUNTED = 10_000
# Most searches fill a page from the first batch.
_FIRST_BATCH = 40
_LONGEST_BATCH = 500
_LOADED_AT_ONCE = 200
# Ids that the index names at first, and then: the rarer the papers, the more a new query costs.
_FIRST_NAMED = 100
_NAMED_AT_ONCE = 20_000


@dataclass(frozen=True, slots=True)
class FoundPaper:
    """A stored paper with its sightings, and what services filled in.

    `looked_up` are the notes of sites in the answers of services.
    """

    stored: StoredPaper
    sightings: tuple[Sighting, ...]
    filled: tuple[Filled, ...] = ()
    looked_up: tuple[SiteNote, ...] = ()

    @property
    def note(self) -> SiteNote | None:
        """The note of a site about it, with a line only if that may be shown."""
        notes = (*(sighting.site_note for sighting in self.sightings), *self.looked_up)
        paper = self.stored.paper
        return choose_note(filter(None, notes), paper.title, paper.abstract)


@dataclass(frozen=True, slots=True)
class PapersPage:
    """A page of papers, newest first.

    `cursor` is the `below` of the next page, None after the last paper. `is_cut` says that the page
    ended before it was full: there may be more further back. `count` is how many papers there are
    on this and the next pages, if it was asked for; with `has_more`, at least that many.
    """

    papers: tuple[StoredPaper, ...]
    cursor: int | None = None
    is_cut: bool = False
    count: int | None = None
    has_more: bool = False


def find_page(
    runtime: Runtime,
    query: str = "",
    wanted: PaperFilter = EVERY,
    below: int | None = None,
    limit: int = PAGE_OF_RESULTS,
    *,
    counted: bool = False,
) -> PapersPage:
    """Return the newest papers with ids below a cursor that a query matches and a filter wants.

    An empty query matches every paper. Raises QueryError, also for one that is too wide for pages.
    """
    matcher = _matcher(runtime, query)
    shown: list[StoredPaper] = []
    looked_at = 0
    most = min(MOST_LOOKED_AT, most_read(matcher.query)) if matcher else MOST_LOOKED_AT
    at_once = MOST_LOOKED_AT if wanted == EVERY else _NAMED_AT_ONCE
    first = MOST_LOOKED_AT if matcher and counted else _FIRST_NAMED
    end = 0
    is_cut = False
    with runtime.database.reading() as tx:
        if matcher:
            refuse_too_many_words(tx, matcher.query)
        for at, named, ids in batches(tx, matcher, wanted, below, at_once, first):
            shown += matcher.match(tx, ids) if matcher else load_page(tx, ids)
            looked_at += len(ids)
            if len(shown) > limit and not (matcher and counted):
                break
            is_cut = looked_at >= most or named >= MOST_NAMED
            if is_cut:
                end = at
                break
        count = len(shown)
        has_more = is_cut
        if counted and not matcher:
            count, has_more = _count(tx, wanted, below)
    is_full = len(shown) > limit
    return PapersPage(
        tuple(shown[:limit]),
        shown[limit - 1].id if is_full else end if is_cut else None,
        is_cut and not is_full,
        count if counted else None,
        has_more,
    )


def _count(tx: Transaction, wanted: PaperFilter, below: int | None) -> tuple[int, bool]:
    """Count papers that a filter wants, and return whether there may be more: no text is read."""
    if wanted == EVERY and below is None:
        return papers.count(tx), False
    count = 0
    for _, named, ids in batches(tx, None, wanted, below, MOST_COUNTED):
        count += len(ids)
        if count >= MOST_COUNTED or named >= MOST_NAMED:
            return count, True
    return count, False


def find_all(
    runtime: Runtime,
    query: str = "",
    wanted: PaperFilter = EVERY,
    *,
    most: int,
    bounded: bool = False,
) -> Iterator[FoundPaper]:
    """Find the newest papers, `most` at the most, and load each when it is needed.

    Raises QueryError at once, with `bounded` also for a query that is too wide for pages.
    """
    matcher = _matcher(runtime, query)
    ids: list[int] = []
    with runtime.database.reading() as tx:
        if matcher and bounded:
            refuse_too_many_words(tx, matcher.query)
        read = 0
        for _, _, batch in batches(tx, matcher, wanted):
            read += len(batch)
            if matcher and bounded and read > most_read(matcher.query):
                raise too_many_papers(tx, matcher.query)
            matching = matcher.match(tx, batch) if matcher else load_page(tx, batch)
            ids += [stored.id for stored in matching]
            if len(ids) >= most:
                break
    return load_each(runtime, ids[:most])


def load_each(runtime: Runtime, ids: Sequence[int]) -> Iterator[FoundPaper]:
    """Yield papers as they are stored now, each once; a slow reader holds no transaction open."""
    for start in range(0, len(ids), _LOADED_AT_ONCE):
        batch = ids[start : start + _LOADED_AT_ONCE]
        with runtime.database.reading() as tx:
            now = list(dict.fromkeys(merge_papers.current_id(tx, id) for id in batch))
            loaded = load_found(tx, now)
        yield from loaded


def _matcher(runtime: Runtime, query: str) -> QueryMatcher | None:
    return QueryMatcher(parse_query(query, runtime.synonyms)) if query.strip() else None


def batches(
    tx: Transaction,
    matcher: QueryMatcher | None,
    wanted: PaperFilter = EVERY,
    below: int | None = None,
    at_once: int = _NAMED_AT_ONCE,
    first_named: int = _FIRST_NAMED,
) -> Iterator[tuple[int, int, list[int]]]:
    """Yield wanted papers in ever longer batches, newest first: those that the index names.

    With each come the id down to which nothing was left out, and how many ids were named so far.
    The index is queried for `first_named` ids, and again for each `at_once` ids.
    """
    first, end = search_index.id_bounds(tx, wanted)
    at = end if below is None else min(end, below)
    size = _FIRST_BATCH
    named = 0
    most = first_named
    has_index = bool(wanted.topic) or wanted.kind not in (None, ChangeKind.NEW)
    for number in count():
        if matcher and matcher.expression:
            ids = search_index.newest(tx, matcher.expression, at, most)
        elif has_index or number > 1:  # rare: not among the first batches
            ids = search_index.newest_filtered(tx, wanted, at, most)
        else:
            ids = search_index.newest(tx, None, at, most)
        ids = [id for id in ids if id >= first]
        if not ids:
            return
        at = ids[-1]
        named = named + len(ids)
        most = at_once
        kept = ids if wanted == EVERY else search_index.keep(tx, wanted, ids)
        while len(kept) > size:
            yield kept[size - 1], named, kept[:size]
            kept = kept[size:]
            size = min(2 * size, _LONGEST_BATCH)
        yield at, named, kept


def load_found(tx: Transaction, ids: Sequence[int]) -> list[FoundPaper]:
    """Return stored papers with their sightings, in the order of `ids`, without unknown ids."""
    stored = papers.load(tx, ids)
    seen = sightings.of_papers(tx, list(stored))
    asked = look_ups.of_papers(tx, list(stored))
    return [
        FoundPaper(
            stored[id],
            seen.get(id, ()),
            filled_by(asked.get(id, ())),
            tuple(notes_of(asked.get(id, ()))),
        )
        for id in ids
        if id in stored
    ]


class QueryMatcher:
    """A query that is matched with stored papers; `index` has only it, under the name ""."""

    def __init__(self, query: Query) -> None:
        self.query = query
        self.expression = search_expression(query.root)
        self.index = TopicIndex({"": query})

    def match(self, tx: Transaction, ids: Iterable[int]) -> list[StoredPaper]:
        """Return those of the papers that match, in the order of `ids`."""
        page = load_page(tx, ids)
        texts, sources = as_matched(tx, page)
        return [page[hit.position] for hit in self.index.match(texts, sources=sources)]


def load_page(tx: Transaction, ids: Iterable[int]) -> list[StoredPaper]:
    """Return papers in the order of `ids`, without purged ones."""
    ids = list(ids)
    stored = papers.load(tx, ids)
    return [stored[id] for id in ids if id in stored and not stored[id].purged]


def as_matched(
    tx: Transaction, page: Sequence[StoredPaper]
) -> tuple[list[Paper], list[tuple[str, ...]]]:
    """Return papers, and the names of their sources, as topics are matched with them.

    A paper's `announce` is that of the source that saw it last.
    """
    seen = sightings.last_announcements(tx, [stored.id for stored in page])
    texts = []
    sources = []
    for stored in page:
        announce, names = seen.get(stored.id, ("", ()))
        texts.append(structs.replace(stored.paper, announce=announce))
        sources.append(names)
    return texts, sources
