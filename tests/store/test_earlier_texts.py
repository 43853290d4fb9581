"""The last three texts that revisions replaced are kept, and go with the paper."""

from __future__ import annotations

from datetime import timedelta

import sqlalchemy as sa

from monitor.model import ChangeKind, Decision, EarlierText
from monitor.store import retention
from monitor.store.engine import schema
from monitor.store.engine.database import Database
from monitor.store.papers import write_papers
from monitor.store.topics import matches
from tests.store.scenes import DAY, NOW, arxiv, ingest, new


def revise(store: Database, paper_id: int, version: int) -> None:
    one = arxiv("1", f"Title {version}", abstract=f"Text {version}.", version=version)
    ingest(store, Decision(one, ChangeKind.REVISED, paper_id), now=NOW + version * DAY)


def before(store: Database, paper_id: int, revision: int) -> EarlierText | None:
    with store.reading() as tx:
        return write_papers.texts_before(tx, {paper_id: revision}).get(paper_id)


def kept(store: Database) -> list[int]:
    with store.reading() as tx:
        return sorted(tx.scalars(sa.select(schema.earlier_text.c.revision)))


def test_a_revision_keeps_the_text_that_it_replaces(store: Database) -> None:
    [paper] = ingest(store, new(arxiv("1", "Title 1", abstract="Text 1.", version=1)))
    assert before(store, paper, 1) is None
    revise(store, paper, 2)
    assert before(store, paper, 2) == EarlierText("Title 1", "Text 1.", 1)
    revise(store, paper, 3)
    assert before(store, paper, 3) == EarlierText("Title 2", "Text 2.", 2)
    assert before(store, paper, 2) == EarlierText("Title 1", "Text 1.", 1)


def test_three_texts_are_kept(store: Database) -> None:
    [paper] = ingest(store, new(arxiv("1", "Title 1", version=1)))
    ingest(store, Decision(arxiv("1", "Title 1", abstract="Text 1."), None, paper))
    assert kept(store) == []  # what is no revision keeps nothing
    for version in range(2, 8):
        revise(store, paper, version)
    assert kept(store) == [4, 5, 6]


def test_they_are_purged_with_the_paper(store: Database) -> None:
    [paper] = ingest(store, new(arxiv("1", "Title 1", abstract="Text 1.", version=1)))
    revise(store, paper, 2)
    with store.writing() as tx:
        matches.save(tx, [(paper, 1), (paper, 2)], [], NOW)
    with store.ingesting() as tx:
        assert retention.purge(tx, NOW + timedelta(days=9), None, NOW + timedelta(days=99), 10) == 1
    assert kept(store) == []
