"""Stored papers, page by page: by a query, a source, a topic, a kind of news, a time.

A page takes about as long in a store of a million papers as in one of a thousand: where what is
wanted is so rare that a page would take longer to fill, it ends before and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from monitor.commands.query_bounds import most_read, refuse_too_many_words, too_many_papers
from monitor.commands.search import FoundPaper
from monitor.commands.stored_matches import AT_ONCE, PAGE, QueryMatcher, load_page, name_pages
from monitor.match import Match, parse_query
from monitor.model import ChangeKind, MatchReason, PaperFilter, StoredPaper
from monitor.store import paper_filters, papers
from monitor.store import search as search_index
from monitor.store.database import Transaction

if TYPE_CHECKING:
    from monitor.pipeline.runtime import Runtime

EVERY = PaperFilter()
Matches = Sequence[tuple[StoredPaper, Match | None]]
PAGE_OF_RESULTS = 20
# A page looks at so many papers' texts at most, and asks the indexes for so many ids.
MOST_LOOKED_AT = 500
MOST_NAMED = 60_000
# Most searches fill a page from the first batch.
_FIRST_BATCH, _LONGEST_BATCH = 40, 500
_EXPORTED_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class PaperHit:
    """A paper that was found, and its match with the query; None where there is no query."""

    found: FoundPaper
    match: Match | None = None

    @property
    def why(self) -> tuple[MatchReason, ...]:
        """Which words the query matched, worked out when it is asked for."""
        return self.match.why if self.match else ()


@dataclass(frozen=True, slots=True)
class PapersPage:
    """A page of papers, newest first.

    `cursor` is the `below` of the next page, None after the last paper. `is_cut` says that the page
    ended before it was full: there may be more further back.
    """

    hits: tuple[PaperHit, ...]
    cursor: int | None = None
    is_cut: bool = False


def find_page(
    runtime: Runtime,
    query: str = "",
    wanted: PaperFilter = EVERY,
    below: int | None = None,
    limit: int = PAGE_OF_RESULTS,
) -> PapersPage:
    """Return the newest papers with ids below a cursor that a query matches and a filter wants.

    An empty query matches every paper. Raises QueryError, also for one that is too wide for pages.
    """
    matcher = _matcher(runtime, query)
    with runtime.database.reading() as tx:
        if matcher:
            refuse_too_many_words(tx, matcher.query)
        return _page(tx, matcher, wanted, below, limit)


def find_all(
    runtime: Runtime, query: str = "", wanted: PaperFilter = EVERY, *, most: int
) -> Iterator[FoundPaper]:
    """Return the newest papers, `most` at the most, for an export. Raises QueryError at once.

    Each page is read when it is needed, so that a slow reader holds no transaction open.
    """
    return _pages(runtime, _matcher(runtime, query), wanted, most)


def name_all(
    runtime: Runtime, query: str = "", wanted: PaperFilter = EVERY, *, most: int
) -> list[int]:
    """Return the ids of the newest papers, `most` at the most, for an export from a page.

    Raises QueryError, also for a query that is too wide for pages.
    """
    matcher = _matcher(runtime, query)
    ids: list[int] = []
    with runtime.database.reading() as tx:
        if matcher:
            refuse_too_many_words(tx, matcher.query)
        read = 0
        for batch in _all_batches(tx, wanted, matcher):
            read += len(batch)
            if matcher and read > most_read(matcher.query):
                raise too_many_papers(tx, matcher.query)
            ids += [stored.id for stored, _ in _match(tx, matcher, batch)]
            if len(ids) >= most:
                break
    return ids[:most]


def _all_batches(
    tx: Transaction, wanted: PaperFilter, matcher: QueryMatcher | None
) -> Iterator[list[int]]:
    if wanted == EVERY:
        return name_pages(tx, matcher.expression if matcher else None)
    return (ids for _, _, ids in _batches(tx, wanted, matcher, None))


def _matcher(runtime: Runtime, query: str) -> QueryMatcher | None:
    if not query.strip():
        return None
    return QueryMatcher(parse_query(query, runtime.synonyms))


def _pages(
    runtime: Runtime, matcher: QueryMatcher | None, wanted: PaperFilter, most: int
) -> Iterator[FoundPaper]:
    below = None
    while most > 0:
        with runtime.database.reading() as tx:
            page = _page(tx, matcher, wanted, below, min(most, _EXPORTED_AT_ONCE))
        yield from (hit.found for hit in page.hits)
        most, below = most - len(page.hits), page.cursor
        if below is None:
            return


def _page(
    tx: Transaction,
    matcher: QueryMatcher | None,
    wanted: PaperFilter,
    below: int | None,
    limit: int,
) -> PapersPage:
    hits: list[PaperHit] = []
    looked_at, most = 0, _most_looked_at(matcher)
    for at, named, ids in _batches(tx, wanted, matcher, below):
        found = _match(tx, matcher, ids)
        room = limit - len(hits)
        hits += _hits(tx, found[:room])
        if len(found) > room:
            return PapersPage(tuple(hits), hits[-1].found.stored.id)
        looked_at += len(ids)
        if looked_at >= most or named >= MOST_NAMED:
            return PapersPage(tuple(hits), at, is_cut=True)
    return PapersPage(tuple(hits))


def _most_looked_at(matcher: QueryMatcher | None) -> int:
    return min(MOST_LOOKED_AT, most_read(matcher.query)) if matcher else MOST_LOOKED_AT


def _batches(
    tx: Transaction, wanted: PaperFilter, matcher: QueryMatcher | None, below: int | None
) -> Iterator[tuple[int, int, list[int]]]:
    """Yield wanted papers in ever longer batches, newest first: those that the index names.

    With each come the id down to which nothing was left out, and how many ids were named so far.
    """
    first, end = paper_filters.id_bounds(tx, wanted)
    at = end if below is None else min(end, below)
    size, named = min(_FIRST_BATCH, _most_looked_at(matcher)), 0
    for number in count():
        ids = [id for id in _named(tx, wanted, matcher, at, number) if id >= first]
        if not ids:
            return
        at, named = ids[-1], named + len(ids)
        kept = ids if wanted == EVERY else paper_filters.keep(tx, wanted, ids)
        while len(kept) > size:
            yield kept[size - 1], named, kept[:size]
            kept, size = kept[size:], min(2 * size, _LONGEST_BATCH)
        yield at, named, kept


def _named(
    tx: Transaction, wanted: PaperFilter, matcher: QueryMatcher | None, below: int, number: int
) -> list[int]:
    """Return the ids of a batch by its number: a few, then very many.

    What is not among these is rare, and is then looked up in the index of the filter.
    """
    most = PAGE if number == 0 else MOST_LOOKED_AT if wanted == EVERY else AT_ONCE
    if matcher and matcher.expression:
        return search_index.newest(tx, matcher.expression, below, most)
    if wanted.topic or wanted.kind not in (None, ChangeKind.NEW) or number > 1:
        return paper_filters.newest(tx, wanted, below, most)
    return search_index.newest(tx, None, below, most)


def _match(tx: Transaction, matcher: QueryMatcher | None, ids: list[int]) -> Matches:
    """Return the papers that match, with their matches; all where there is no query."""
    if matcher:
        return matcher.match(tx, ids)
    return [(stored, None) for stored in load_page(tx, ids)]


def _hits(tx: Transaction, found: Matches) -> list[PaperHit]:
    seen = papers.sightings(tx, [stored.id for stored, _ in found])
    return [PaperHit(FoundPaper(stored, seen.get(stored.id, ())), match) for stored, match in found]
