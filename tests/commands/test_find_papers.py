"""Pages of papers: what a plain reading of the whole store finds, in as many pages as it takes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, cast

import pytest
import sqlalchemy as sa

from monitor.commands import paper_search
from monitor.commands.paper_search import find_all, find_page
from monitor.match.language.synonyms import NO_SYNONYMS
from monitor.model import ChangeKind, PaperFilter
from monitor.pipeline.runtime import Runtime
from monitor.store.engine import schema
from monitor.store.engine.database import Database
from monitor.store.engine.opening import open_store
from monitor.store.papers import papers, sightings
from tests.store.scenes import arxiv, ingest, new
from tests.store.test_search import index

START = datetime(2026, 11, 1, tzinfo=UTC)
PAPERS = 90
KINDS = (ChangeKind.REVISED, ChangeKind.WITHDRAWN)


@pytest.fixture
def store(url: str) -> Iterator[Database]:
    """Ninety papers of three sources, four hours apart; some words, topics and changes are rare."""
    database = open_store(url)
    dice = random.Random(5)
    for number in range(1, PAPERS + 1):
        words = ["agents", *dice.choices(["bandits", "plans", "zebra"], [5, 5, 1], k=2)]
        source = dice.choices(["feed", "dump", "page"], [8, 8, 1])[0]
        one = new(arxiv(f"26{number:04}", " ".join(words)))
        ingest(database, one, source=source, now=START + timedelta(hours=4 * number))
    with database.writing() as tx:
        for number in range(1, PAPERS + 1):
            at = START + timedelta(hours=4 * number)
            for topic in dice.sample(["wide", "wider", "rare"], k=dice.choice([0, 1, 2])):
                if topic != "rare" or number < 20:
                    row = {"topic": topic, "paper_id": number, "revision": 1, "score": 1.0}
                    tx.execute(sa.insert(schema.match), [row | {"matched_at": at}])
            if number % 7 == 0:
                row = {"paper_id": number, "revision": 2, "kind": KINDS[number % 2], "why": ""}
                tx.execute(sa.insert(schema.change), [row | {"at": at}])
        purged = sa.update(schema.paper).where(schema.paper.c.id == 44)
        tx.execute(purged.values(purged_at=START))
    yield database
    database.close()


@pytest.fixture(params=["small batches", "large batches"])
def runtime(
    request: pytest.FixtureRequest, store: Database, monkeypatch: pytest.MonkeyPatch
) -> Runtime:
    if request.param == "small batches":
        for name, count in (("_FIRST_NAMED", 2), ("_NAMED_AT_ONCE", 9), ("_LONGEST_BATCH", 4)):
            monkeypatch.setattr(paper_search, name, count)
    return of(store)


def of(store: Database) -> Runtime:
    return cast("Runtime", SimpleNamespace(database=store, synonyms=NO_SYNONYMS))


def expected(store: Database, word: str, wanted: PaperFilter) -> list[int]:
    """Read every paper, and ask everything of each."""
    with store.reading() as tx:
        stored = papers.load(tx, range(1, PAPERS + 1))
        sources = sightings.sources(tx, stored)
        matched = tx.execute(sa.select(schema.match.c.paper_id, schema.match.c.topic))
        topics = {(id, topic) for id, topic in matched}
        changes = tx.execute(sa.select(schema.change.c.paper_id, schema.change.c.kind))
        kinds = {(id, kind) for id, kind in changes}
    return [
        id
        for id, one in sorted(stored.items(), reverse=True)
        if word in one.paper.title
        and not one.purged
        and wanted.source in ("", *sources[id])
        and (not wanted.topic or (id, wanted.topic) in topics)
        and (not wanted.kind or (id, wanted.kind) in kinds)
        and (not wanted.since or one.first_seen >= wanted.since)
        and (not wanted.until or one.first_seen < wanted.until)
    ]


def turned(runtime: Runtime, query: str, wanted: PaperFilter, limit: int) -> list[int]:
    """Turn the pages to the last, which is the only one that may be short."""
    found = []
    below = None
    while True:
        page = find_page(runtime, query, wanted, below, limit)
        found += [stored.id for stored in page.papers]
        below = page.cursor
        if below is None:
            return found
        assert len(page.papers) == limit or page.is_cut


WANTED: dict[str, dict[str, Any]] = {
    "all": {},
    "a source": {"source": "feed"},
    "a rare source": {"source": "page"},
    "an unknown source": {"source": "none"},
    "a topic": {"topic": "wide"},
    "a rare topic": {"topic": "rare"},
    "a kind": {"kind": ChangeKind.REVISED},
    "new": {"kind": ChangeKind.NEW},
    "a few days": {"since": START + timedelta(days=3), "until": START + timedelta(days=5)},
    "until a day": {"until": START + timedelta(days=4, hours=4)},
    "before all": {"until": START - timedelta(days=9)},
    "after all": {"since": START + timedelta(days=99)},
    "all at once": {
        "source": "dump",
        "topic": "wider",
        "kind": ChangeKind.NEW,
        "since": START + timedelta(days=2),
    },
}


def test_pages_have_what_a_plain_reading_finds(runtime: Runtime) -> None:
    """Every filter with and without a word, before the words are indexed and after."""
    cases = [(name, word) for name in WANTED for word in ("", "zebra")]
    plain: dict[tuple[str, str], list[int]] = {}
    for name, word in cases:
        wanted = PaperFilter(**WANTED[name])
        found = plain[name, word] = expected(runtime.database, word, wanted)
        if not word and name not in ("all", "new", "an unknown source", "before all", "after all"):
            assert 0 < len(found) < PAPERS / 1.5, f"{name}: a filter that does nothing"
        assert turned(runtime, word, wanted, 4) == found, (name, word)
    index(runtime.database)
    for name, word in cases:
        wanted = PaperFilter(**WANTED[name])
        found = plain[name, word]
        assert turned(runtime, word, wanted, 7) == found, (name, word)
        for limit in (3, PAPERS):
            page = find_page(runtime, word, wanted, limit=limit, counted=True)
            assert (page.count, page.has_more) == (len(found), False), (name, word)
        first = find_all(runtime, word, wanted, most=5)
        assert [one.stored.id for one in first] == found[:5], (name, word)


def test_a_page_that_would_take_long_ends_before(
    store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paper_search, "MOST_LOOKED_AT", 3)
    monkeypatch.setattr(paper_search, "_FIRST_NAMED", 2)
    monkeypatch.setattr(paper_search, "_LONGEST_BATCH", 2)
    page = find_page(of(store), "zebra", limit=50)
    assert page.is_cut and page.cursor is not None and page.cursor > 1
    assert turned(of(store), "zebra", PaperFilter(), 50) == expected(store, "zebra", PaperFilter())


@pytest.mark.parametrize("word", ["", "zebra"])
def test_a_count_that_would_take_long_ends_before(
    store: Database, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = PaperFilter(source="dump")
    plain = expected(store, word, wanted)
    for name in ("MOST_LOOKED_AT", "MOST_COUNTED", "_FIRST_NAMED", "_FIRST_BATCH"):
        monkeypatch.setattr(paper_search, name, 6)
    page = find_page(of(store), word, wanted, limit=2, counted=True)
    assert page.has_more and page.count is not None and 2 < page.count < len(plain)
    assert [one.id for one in page.papers] == plain[:2] and page.cursor == plain[1]
    assert find_page(of(store), word, wanted, limit=2).count is None


def test_a_page_that_has_a_new_paper_behind_it_repeats_none(store: Database) -> None:
    first = find_page(of(store), limit=5)
    ingest(store, new(arxiv("269999", "agents at last")), now=START + timedelta(days=40))
    second = find_page(of(store), below=first.cursor, limit=5)
    ids = [stored.id for stored in (*first.papers, *second.papers)]
    assert all(one > other for one, other in pairwise(ids)) and PAPERS + 1 not in ids
