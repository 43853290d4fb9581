"""The parts of a query, and how many of the newest papers each matches alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from monitor.commands.query_bounds import most_read, prefixes
from monitor.commands.search import read_query
from monitor.commands.stored_matches import load_page, source_names, with_latest_announce
from monitor.match import Query, TopicIndex, search_expression, split_parts
from monitor.pipeline.runtime import Runtime
from monitor.store import papers, search
from monitor.store.database import Transaction

# The newest papers speak for all: to look at so many takes about half a second.
LOOKED_AT = 5_000
NEARLY_ALL = 0.9
# Fewer papers say little about a part.
_ENOUGH = 20


@dataclass(frozen=True, slots=True)
class PartCount:
    """A part of a query as it is written, where it begins, and how many papers it matches.

    What is excluded is counted alike: these papers have it.
    """

    text: str
    position: int
    papers: int
    is_excluded: bool = False


@dataclass(frozen=True, slots=True)
class PartCounts:
    """The parts of a query in their order, and the whole; `looked_at` is how many were tried."""

    parts: tuple[PartCount, ...]
    papers: int
    looked_at: int

    @property
    def share(self) -> float:
        """Return which part of the papers looked at the whole query matches."""
        return self.papers / self.looked_at if self.looked_at >= _ENOUGH else 0.0

    def is_everywhere(self, part: PartCount) -> bool:
        """Return whether a part says next to nothing: nearly every paper matches it."""
        return self.looked_at >= _ENOUGH and part.papers >= NEARLY_ALL * self.looked_at


def count_parts(runtime: Runtime, query: str, most: int = LOOKED_AT) -> PartCounts:
    """Count the papers of each part of a query, or of the topic of that name. Raises QueryError.

    Fewer than `most` papers are looked at where each of them takes long.
    """
    whole = read_query(runtime, query)
    parts = split_parts(whole)
    index = TopicIndex({-1: whole, **{number: part.query for number, part in enumerate(parts)}})
    with runtime.database.reading() as tx:
        # Each part is matched twice, alone and in the whole.
        newest = search.newest(tx, None, None, min(most, max(most_read(whole) // 2, 1)))
        page = load_page(tx, _named(tx, [whole, *(part.query for part in parts)], newest))
        seen = papers.sightings(tx, [stored.id for stored in page])
    texts = [with_latest_announce(one.paper, seen.get(one.id, ())) for one in page]
    sources = [source_names(seen.get(one.id, ())) for one in page]
    _, numbers = index.pairs(texts, sources)
    counts = Counter(index.name(number) for number in numbers.tolist())
    return PartCounts(
        parts=tuple(
            PartCount(part.text, part.position, counts[number], part.is_excluded)
            for number, part in enumerate(parts)
        ),
        papers=counts[-1],
        looked_at=len(newest),
    )


def _named(tx: Transaction, queries: Iterable[Query], newest: list[int]) -> list[int]:
    """Return those of the newest papers that one of the queries may match: few where all are rare.

    The search index names them; all are returned where it has nothing to look for.
    """
    named: set[int] = set()
    for query in queries:
        expression = search_expression(query.root)
        if expression is None or any(prefixes(expression)):  # to read them takes less
            return newest
        named |= set(search.newest(tx, expression, None, len(newest), min(newest, default=0)))
    return [id for id in newest if id in named]
