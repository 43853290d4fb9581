"""Stored papers that a query matches: the search index names them, and then they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import structs

from monitor.match import Match, Query, TopicIndex, build_prefilter, search_expression
from monitor.match.language.tree import Label, every_leaf
from monitor.model import Paper, SearchExpr, Sighting, StoredPaper
from monitor.store import papers
from monitor.store import search as search_index
from monitor.store.database import Transaction

PAGE = 100
LONGEST_PAGE = 500
# So many are named at once after the first page: to begin again costs the more the rarer they are.
AT_ONCE = 20_000

# A cheap check of title and abstract that excludes no paper that matches.
Prefilter = Callable[[str, str], bool]
Matches = list[tuple[StoredPaper, Match]]


class QueryMatcher:
    """A query that is matched with stored papers, page by page.

    `index` has only this query, under the name "". It keeps what each word means.
    """

    def __init__(self, query: Query) -> None:
        self.query = query
        self.expression = search_expression(query.root)
        self._may = build_prefilter(query.root)
        self.index = TopicIndex({"": query})
        fields = {leaf.field for leaf in every_leaf(query.root) if isinstance(leaf, Label)}
        self._needs_sightings = not fields.isdisjoint(("source", "announce"))

    def match(self, tx: Transaction, ids: Iterable[int]) -> Matches:
        """Return those of the papers that match, in the order of `ids`."""
        page = load_page(tx, ids, self._may)
        asked = [stored.id for stored in page] if self._needs_sightings else ()
        seen = papers.sightings(tx, asked) if asked else {}
        texts = [with_latest_announce(one.paper, seen.get(one.id, ())) for one in page]
        sources = [source_names(seen.get(one.id, ())) for one in page]
        return [(page[hit.position], hit) for hit in self.index.match(texts, sources=sources)]


def load_page(
    tx: Transaction, ids: Iterable[int], may: Prefilter | None = None
) -> list[StoredPaper]:
    """Return papers in the order of `ids`. One that the cheap check excludes is not loaded."""
    ids = list(ids)
    kept = {id for id, *text in papers.texts(tx, ids) if may(*text)} if may else set(ids)
    stored = papers.load(tx, kept) if kept else {}
    return [stored[id] for id in ids if id in stored and not stored[id].purged]


def name_pages(tx: Transaction, wanted: SearchExpr | None) -> Iterator[list[int]]:
    """Yield what the index names, in ever longer pages; it is queried again for each `AT_ONCE`."""
    below, most, size = None, PAGE, PAGE
    while ids := search_index.newest(tx, wanted, below, most):
        below, most = ids[-1], AT_ONCE
        while ids:
            yield ids[:size]
            ids, size = ids[size:], min(2 * size, LONGEST_PAGE)


def source_names(seen: Sequence[Sighting]) -> tuple[str, ...]:
    return tuple(sorted({sighting.source for sighting in seen}))


def with_latest_announce(paper: Paper, seen: Sequence[Sighting]) -> Paper:
    """A paper's `announce` is what the source that saw it last said of it."""
    last = max(seen, key=lambda sighting: sighting.last_seen, default=None)
    return structs.replace(paper, announce=last.announce) if last else paper
