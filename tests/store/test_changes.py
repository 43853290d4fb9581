"""A known paper of which there is more to match than before meets the topics again."""

from __future__ import annotations

from datetime import datetime

import pytest
import sqlalchemy as sa

from monitor.model import ChangeKind, Decision, DeliveryState, IncomingPaper, Outcome
from monitor.store.digests import outbox
from monitor.store.engine.database import Database
from monitor.store.papers import write_papers
from tests.store.scenes import (
    CHANNELS,
    DAY,
    NOW,
    arrive,
    arxiv,
    digest,
    freeze,
    ingest,
    match,
    new,
    subscribe,
    unsent,
    waiting,
    watch,
)

LATER = NOW + DAY


def matched(store: Database, one: IncomingPaper, now: datetime = NOW) -> int:
    """A paper that has come in and met the topics."""
    [id] = ingest(store, new(one), now=now)
    match(store, id)
    assert waiting(store) == []
    return id


def known(id: int, one: IncomingPaper, **fields: object) -> Decision:
    return Decision(one, None, id, **fields)  # type: ignore[arg-type]


def test_a_known_paper_meets_the_topics_again_when_another_source_has_it(store: Database) -> None:
    id = matched(store, arxiv("1"))
    ingest(store, known(id, arxiv("1")))
    assert waiting(store) == []
    ingest(store, known(id, arxiv("1")), source="b")
    assert waiting(store) == [(id, 1, ChangeKind.NEW)]
    match(store, id)
    ingest(store, known(id, arxiv("1")), source="b", now=LATER)
    assert waiting(store) == []


@pytest.mark.parametrize(
    "gap", [{"abstract": "x"}, {"authors": ("A",)}, {"categories": ("c",)}, {"venue": "v"}]
)
def test_a_known_paper_meets_the_topics_again_when_it_gains_words(store: Database, gap) -> None:
    id = matched(store, arxiv("1"))
    ingest(store, known(id, arxiv("1", **gap)))
    assert waiting(store) == [(id, 1, ChangeKind.NEW)]
    match(store, id)
    ingest(store, known(id, arxiv("1", **gap)), known(id, arxiv("1", url="https://x.org")))
    assert waiting(store) == []


def test_what_is_stored_silently_reopens_nothing(store: Database) -> None:
    id = matched(store, arxiv("1"))
    ingest(store, known(id, arxiv("1"), news=False), known(id, arxiv("1")), source="b")
    ingest(store, known(id, arxiv("1", abstract="x"), news=False))
    assert waiting(store) == []


def test_only_news_of_the_last_90_days_is_reopened(store: Database) -> None:
    id = matched(store, arxiv("1"), now=NOW - 91 * DAY)
    ingest(store, Decision(arxiv("1"), ChangeKind.REVISED, id), now=NOW - 90 * DAY)
    match(store, id, revision=2)
    ingest(store, known(id, arxiv("1")), source="b")
    assert waiting(store) == [(id, 2, ChangeKind.REVISED)]


def test_a_topic_hears_of_a_paper_whose_words_come_later_and_nobody_hears_twice(
    store: Database,
) -> None:
    watch(store, "t", "words")
    subscribe(store, "ada", topics=["t"])
    subscribe(store, "ada", "lab", topics=["t", "words"])
    id = matched(store, arxiv("1"))
    freeze(store, digest(unsent(store)))
    with store.writing() as tx:
        [claimed] = outbox.claim(tx, "me", NOW, CHANNELS)
        outbox.record(tx, {claimed.id: ""}, "me", Outcome(DeliveryState.SENT), NOW)
    ingest(store, known(id, arxiv("1", abstract="words")), now=LATER)
    assert waiting(store) == [(id, 1, ChangeKind.NEW)]
    match(store, id)
    match(store, id, topic="words")
    assert unsent(store, "ada") == []
    assert [(news.topic, news.change.kind) for news in unsent(store, "lab")] == [
        ("t", ChangeKind.NEW),
        ("words", ChangeKind.NEW),
    ]


def test_the_reopened_are_found_in_few_statements_however_many(store: Database) -> None:
    ids = arrive(store, *map(str, range(500)))
    match(store, *ids)
    said: list[str] = []
    with store.ingesting() as tx:
        sa.event.listen(tx, "before_cursor_execute", lambda *call: said.append(call[2]))
        decisions = [known(id, arxiv(str(n))) for n, id in enumerate(ids)]
        write_papers.apply(tx, "b", decisions, NOW)
    assert len(said) <= 12
    assert len(waiting(store)) == 100
