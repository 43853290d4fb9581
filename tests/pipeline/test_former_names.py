"""Entries that a fragment or a bare query names are told apart, also in a store from before that.

Earlier versions cut both off the names and links of records: five hundred entries of one page had
one name. An upgrade brings none of them again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import NamedTuple

import pytest
import sqlalchemy as sa

from monitor.identity.keys import LINK
from monitor.model import Paper
from monitor.store.engine import schema
from monitor.store.engine.database import Database
from tests.house import House
from tests.pipeline.desk import WORDS, ids, origin, read
from tests.store.scenes import DAY, NOW

LAB = "https://lab.example.org"
LIST = "https://list.example.org"


class Entry(NamedTuple):
    """One of five hundred entries: of a feed without ids, or of a file of lines without ids."""

    number: int

    @property
    def url(self) -> str:
        place = (f"/pubs#p{self.number}", f"/#/paper/{self.number}", f"/view?{self.number}")
        return f"{LIST if self.number % 2 else LAB}{place[self.number % 3]}"

    @property
    def title(self) -> str:
        return " ".join(Random(self.number).sample(WORDS, 5)).capitalize()

    @property
    def abstract(self) -> str:
        return f"On {self.title.lower()}." if self.number % 5 else ""

    @property
    def line(self) -> str:
        return json.dumps({"title": self.title, "abstract": self.abstract, "url": self.url})

    @property
    def item(self) -> str:
        text = f"<title>{self.title}</title><description>{self.abstract}</description>"
        return f"<item>{text}<link>{self.url}</link></item>"


def publish(house: House, *entries: Entry) -> None:
    """Write what both sources list, in this order."""
    items = "".join(entry.item for entry in entries if entry.number % 2 == 0)
    feed = f'<rss version="2.0"><channel><title>Lab</title>{items}</channel></rss>'
    (house.folder / "lab.xml").write_text(feed, encoding="utf-8")
    lines = "".join(f"{entry.line}\n" for entry in entries if entry.number % 2)
    (house.folder / "list.jsonl").write_text(lines, encoding="utf-8")


@pytest.fixture
def lists(url: str, house: House) -> House:
    house.settings["store"] = url
    house.settings["sources"] = {
        "lab": {"kind": "feed", "path": "lab.xml", "first_run": "baseline"},
        "list": {"kind": "jsonl", "path": "list.jsonl", "first_run": "baseline"},
    }
    house.settings["topics"] = {"all": {"query": " OR ".join(WORDS)}}
    return house


def _former(name: str) -> str:
    """Return a name or link as it was without its fragment and a query without values."""
    page = name.partition("#")[0]
    address, _, query = page.partition("?")
    return page if "://" in name or "=" in query else address


def _rows(tx: sa.Connection, table: sa.Table) -> Iterator[dict[str, object]]:
    for row in tx.execute(sa.select(table)).all():
        yield row._asdict()


def make_old(url: str) -> None:
    """Give the records of a store the names and links that the version before gave them."""
    store = Database(url)
    with store.writing() as tx:
        texts = [
            row | {"raw_id": _former(str(row["raw_id"]))} for row in _rows(tx, schema.sighting_text)
        ]
        links = [row for row in _rows(tx, schema.paper_key) if row["scheme"] == LINK]
        seen = list(_rows(tx, schema.sighting))
        tx.execute(sa.delete(schema.sighting_text))
        tx.execute(sa.delete(schema.sighting))
        tx.execute(sa.delete(schema.paper_key).filter_by(scheme=LINK))
        named = [row | {"raw_id": _former(str(row["raw_id"]))} for row in seen]
        first = {
            _former(str(row["value"])): row
            for row in sorted(links, key=lambda row: -int(str(row["paper_id"])))
        }
        tx.execute(sa.insert(schema.sighting), named)
        tx.execute(sa.insert(schema.sighting_text), texts)
        pairs = [row | {"value": value} for value, row in first.items()]
        tx.execute(sa.insert(schema.paper_key), pairs)
    store.close()


def test_an_old_store_with_500_entries_of_few_pages_has_nothing_new(lists: House, url: str):
    entries = [Entry(number) for number in range(500)]
    publish(lists, *entries)
    assert [run.new for run in lists.ingest()] == [250, 250]
    assert lists.next_morning() == {"lab": 0}
    make_old(url)
    for again in (entries[::-1], entries[250:] + entries[:250]):
        publish(lists, *again)
        runs = lists.ingest()
        assert [(run.seen, run.new, run.revised) for run in runs] == [(250, 0, 0)] * 2
    assert lists.next_morning() == {"lab": 0}
    more = [Entry(500), Entry(501)]
    publish(lists, *more, *entries)
    assert [run.new for run in lists.ingest()] == [1, 1]
    assert lists.next_morning() == {"lab": 2}


ONE = Paper("Sand Moves", "We move sand over a garden.", url=f"{LAB}/pubs#a")
TWO = Paper("Sand Stays", "We let it stay where it is.", url=f"{LAB}/pubs#b")


@pytest.mark.parametrize(
    "urls",
    [
        (f"{LAB}/pubs#a", f"{LAB}/pubs#b"),
        (f"{LAB}/#/paper/1", f"{LAB}/#/paper/2"),
        (f"{LAB}/view?12345", f"{LAB}/view?67890"),
    ],
)
@pytest.mark.parametrize("together", [True, False])
def test_two_entries_of_one_page_are_two_papers(
    store: Database, urls: tuple[str, str], *, together: bool
) -> None:
    one = Paper(ONE.title, url=urls[0])
    two = Paper(TWO.title, url=urls[1])
    for reading in [[one, two]] if together else [[one], [two]]:
        read(store, "list", *reading)
    read(store, "list", two, one, now=NOW + DAY)
    assert ids(store) == [1, 2]
    assert [origin(store, number).stored.paper.title for number in (1, 2)] == [one.title, two.title]


@pytest.mark.parametrize("source", ["list", "blog"])
@pytest.mark.parametrize("together", [True, False])
def test_an_entry_of_one_title_that_differs_in_its_fragment_is_the_same(
    store: Database, source: str, *, together: bool
) -> None:
    one = Paper("Sand", url=f"{LAB}/pubs#a")
    again = Paper("Sand", url=f"{LAB}/pubs#sec2")
    if together:
        read(store, "list", one, again)
    else:
        read(store, "list", one)
        read(store, source, again, now=NOW + DAY)
    assert ids(store) == [1]


def test_one_title_by_other_authors_on_one_page_is_two_papers(store: Database) -> None:
    read(store, "list", Paper("Editorial", authors=("Ada Lovelace",), url=f"{LAB}/issue#a"))
    read(store, "list", Paper("Editorial", authors=("Alan Turing",), url=f"{LAB}/issue#b"))
    assert ids(store) == [1, 2]


def test_a_title_on_one_page_that_a_query_names_is_two_papers(store: Database) -> None:
    read(store, "list", Paper("Sand", url=f"{LAB}/view?12345"))
    read(store, "list", Paper("Sand", url=f"{LAB}/view?67890"))
    assert ids(store) == [1, 2]


def test_what_an_older_version_joined_under_one_name_stays_joined(
    store: Database, url: str
) -> None:
    """Two entries whose titles are alike were one: each is still the paper that it was."""
    one = Paper("Sand Moves in Gardens", url=f"{LAB}/pubs")
    two = Paper("Sand Moves in a Garden", url=f"{LAB}/pubs")
    read(store, "list", one)
    read(store, "list", two)
    assert ids(store) == [1]
    new = [Paper(one.title, url=f"{LAB}/pubs#a"), Paper(two.title, url=f"{LAB}/pubs#b")]
    read(store, "list", *new, now=NOW + DAY)
    read(store, "list", *new, now=NOW + 2 * DAY)
    assert ids(store) == [1]


def test_an_entry_of_an_old_name_with_another_title_is_another_paper(store: Database) -> None:
    read(store, "list", Paper(ONE.title, url=f"{LAB}/pubs"))
    read(store, "list", Paper("Stones Roll", url=f"{LAB}/pubs#b"), now=NOW + DAY)
    assert ids(store) == [1, 2]
