from __future__ import annotations

from msgspec.structs import replace

from monitor.model import SightingText
from monitor.store import sighting_texts
from monitor.store.database import Database, Transaction
from tests.store.scenes import arxiv, ingest, new


def changes(tx: Transaction) -> int:
    return tx.exec_driver_sql("SELECT total_changes()").scalar()


def test_a_text_is_written_only_when_it_changes(sqlite: Database) -> None:
    record = arxiv("1", authors=("Ada Lovelace",), year=2026)
    [id] = ingest(sqlite, new(record))
    with sqlite.writing() as tx:
        before = changes(tx)
        sighting_texts.write(tx, "feed", [(id, record)])
        assert changes(tx) == before
        other = replace(record.paper, venue="Journal of Sand")
        sighting_texts.write(tx, "feed", [(id, replace(record, paper=other))])
        assert changes(tx) == before + 1


def test_the_text_of_a_record_moves_to_another_paper(store: Database) -> None:
    first, second = ingest(store, new(arxiv("1", "One")), new(arxiv("2", "Two")))
    with store.writing() as tx:
        sighting_texts.give(tx, ("feed", "raw Two"), second, first)
        assert sighting_texts.of_papers(tx, [first, second]) == {
            (first, "feed", "raw One"): SightingText("One", keys=(("arxiv", "1"),)),
            (first, "feed", "raw Two"): SightingText("Two", keys=(("arxiv", "2"),)),
        }
        assert sighting_texts.papers_with_several(tx, 0, 10) == []
