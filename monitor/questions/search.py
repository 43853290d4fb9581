"""What is stored: searched with the topic language, and tried on before a topic is trusted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from monitor.match import TopicIndex, parse_query
from monitor.model import (
    Sighting,
    Stored,
    Why,
)
from monitor.pipeline import Parts
from monitor.store import papers
from monitor.store.database import Transaction

PAGE = 2_000
SAMPLE = 10
WIDE_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class FoundPaper:
    """A stored paper and where each source told of it."""

    stored: Stored
    sightings: tuple[Sighting, ...]


def search(parts: Parts, query: str) -> list[FoundPaper]:
    """Return the papers that a query meets, all for an empty one, newest first.

    Raises QueryError for a query that cannot be understood.
    """
    with parts.database.reading() as tx:
        found = [stored for stored, _, _ in _meeting(tx, query)]
        found.sort(key=lambda stored: (stored.first_seen, stored.id), reverse=True)
        seen = papers.sightings(tx, [stored.id for stored in found])
    return [FoundPaper(stored, seen.get(stored.id, ())) for stored in found]


def _meeting(tx: Transaction, query: str) -> Iterator[tuple[Stored, tuple[Why, ...], float]]:
    index = TopicIndex({"": parse_query(query)}) if query.strip() else None
    after = 0
    while page := papers.page(tx, after, PAGE):
        after = page[-1][0].id
        if index is None:
            yield from ((stored, (), 0.0) for stored, _ in page)
            continue
        told = [stored.paper for stored, _ in page]
        for hit in index.match(told, sources=[sources for _, sources in page]):
            yield page[hit.position][0], hit.why, hit.score


@dataclass(frozen=True, slots=True)
class Day:
    day: str
    papers: int


@dataclass(frozen=True, slots=True)
class Sample:
    title: str
    why: tuple[Why, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """What a topic would have found in the papers stored."""

    papers: int
    share: float
    per_day: tuple[Day, ...]
    sample: tuple[Sample, ...]
    warnings: tuple[str, ...]


def try_topic(parts: Parts, query: str) -> Trial:
    """Try a query on all papers stored. Raises QueryError."""
    parsed = parse_query(query)
    with parts.database.reading() as tx:
        total = papers.count(tx)
        found = list(_meeting(tx, query))
    days = Counter(f"{stored.first_seen:%Y-%m-%d}" for stored, _, _ in found)
    best = sorted(found, key=lambda hit: hit[2], reverse=True)[:SAMPLE]
    share = len(found) / total if total else 0.0
    wide = f"meets {share:.0%} of the papers stored: more than a person may want to read"
    return Trial(
        papers=len(found),
        share=share,
        per_day=tuple(Day(day, count) for day, count in sorted(days.items())),
        sample=tuple(Sample(stored.paper.title, why) for stored, why, _ in best),
        warnings=(*map(str, parsed.warnings), *([wide] if share > WIDE_SHARE else [])),
    )
