"""The contract of all sources, and what is this kind's own."""

from datetime import UTC, datetime
from pathlib import Path

from paper_monitor_bulletin import Bulletin, BulletinOptions

from monitor.model import Document
from monitor.testing import NOW, SourceContract

GOOD = (Path(__file__).parent / "bulletin.txt").read_bytes()


class TestBulletin(SourceContract):
    kind = Bulletin
    good = GOOD
    papers = 3

    def test_all_fields_are_read(self) -> None:
        first, _, last = self.read(GOOD).papers
        assert first.authors == ("Ada Byron", "Jane Roe")
        assert first.abstract == "Sand moves. So do tides."
        assert first.published == datetime(2025, 5, 30, tzinfo=UTC)
        assert first.keys == {"doi": "10.1000/tides.1"}
        assert last.title == "Bees & lists" and last.published is None

    def test_a_cut_bulletin_rejects_its_last_paper(self) -> None:
        reading = self.read(GOOD[: GOOD.index(b"Shelf: biology")])
        assert len(reading.papers) == 2 and not reading.complete
        assert [one.where for one in reading.rejected] == ["line 16"]


def test_one_shelf_can_be_read_alone() -> None:
    options = BulletinOptions(path="bulletins/*", shelf="letters")
    source = Bulletin("library", options, None, lambda: NOW)
    (paper,) = source.read(Document("bulletin", GOOD, NOW)).papers
    assert paper.title == "A short history of the comma"
