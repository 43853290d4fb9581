"""A store of an older version reads the same documents again: no paper is new, none is revised.

The first reading of each test has the paper as older versions read it.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from monitor.model import ChangeKind, FirstRun, ListedDay, Paper
from monitor.store.engine.database import Database
from tests.pipeline.desk import ids, origin, read
from tests.store.scenes import NOW

PAPER = Paper(
    "Sand moves downhill in winter",
    authors=("Ada Byron", "Bo Chen"),
    url="https://journal.example.org/1",
    keys={"doi": "10.1000/sand.1"},
    raw_id="1",
)
ABSTRACT = "We watched sand on forty slopes for a winter. It moved downhill on all of them."


def changes(store: Database) -> list[list[ChangeKind]]:
    return [[change.kind for change in origin(store, paper_id).changes] for paper_id in ids(store)]


PLACEHOLDERS = (".", "N/A", "none", "No abstract available.", "—", "NULL")
AUTHORS = (
    (("Engel", "Michael S."), ("Engel, Michael S.",)),
    (("Doe", "Jane", "Roe", "Rae"), ("Doe, Jane", "Roe, Rae")),
    (("张三,李四",), ("张三", "李四")),
    (("García López", "Ana María"), ("Ana María García López",)),
)
READ_BETTER: list[tuple[dict[str, Any], dict[str, Any]]] = [
    *(({"abstract": text}, {"abstract": ""}) for text in PLACEHOLDERS),
    ({"abstract": ".", "url": ""}, {"abstract": "", "url": ""}),
    ({"abstract": "."}, {"abstract": ABSTRACT}),
    *(({"authors": older}, {"authors": better}) for older, better in AUTHORS),
    *(
        ({"authors": older, "abstract": ABSTRACT}, {"authors": better, "abstract": ABSTRACT})
        for older, better in AUTHORS
    ),
    ({"url": f"{PAPER.url}?id=2&utm_source=rss"}, {"url": f"{PAPER.url}?id=2"}),
    # Older versions took the day of a list for that of the announcement.
    ({"announced": NOW}, {"listed": (ListedDay(date(2026, 3, 12)),)}),
]


@pytest.mark.parametrize(("older", "better"), READ_BETTER)
@pytest.mark.parametrize("keys", [PAPER.keys, {}], ids=["named", "unnamed"])
def test_a_record_that_is_read_better_is_no_change(
    store: Database, keys: dict[str, str], older: dict[str, Any], better: dict[str, Any]
) -> None:
    """With and without an identifier and a name of the record."""
    paper = replace(PAPER, keys=keys, raw_id="1" if keys else "")
    read(store, "journal", replace(paper, **older))
    before = changes(store)
    read(store, "journal", replace(paper, **better))
    assert changes(store) == before and len(before) == 1
    assert origin(store, 1).stored.paper.abstract == better.get("abstract", "")


def test_a_placeholder_that_is_dropped_from_a_paper_of_a_common_title_is_no_change(
    store: Database,
) -> None:
    papers = [Paper("Editorial", ".", url=f"https://e.example/{n}", raw_id=f"{n}") for n in (1, 2)]
    read(store, "journal", *papers)
    before = changes(store)
    read(store, "journal", *(replace(paper, abstract="") for paper in papers))
    assert changes(store) == before and len(before) == 2


def test_a_placeholder_that_is_dropped_under_another_source_s_title_is_no_revision(
    store: Database,
) -> None:
    """The text that is stored is that of another source, under another title."""
    read(store, "mirror", replace(PAPER, abstract=ABSTRACT))
    record = replace(PAPER, title="Winter: how sand moves downhill", abstract=".", raw_id="2")
    read(store, "journal", record)
    before = changes(store)
    read(store, "journal", replace(record, abstract=""))
    assert changes(store) == before and len(before) == 1
    assert origin(store, 1).stored.paper.abstract == ABSTRACT


@pytest.mark.parametrize(
    "fields",
    [
        f"author = Doe, Jane, abstract = {ABSTRACT}, year = 2024",
        f'abstract = {ABSTRACT}, author = "Doe, Jane", year = 2024, journal = Journal of Sand',
        "year = 2024",
    ],
)
@pytest.mark.parametrize("title", ["Sand that moves in sets {", "Sand moves \\"])
@pytest.mark.parametrize("keys", [{"doi": "10.1000/sand.1"}, {}])
def test_a_title_without_the_fields_that_it_swallowed_is_no_change(
    store: Database, title: str, fields: str, keys: dict[str, str]
) -> None:
    """In BibTeX, after a backslash at the end of a title or a lone escaped brace."""
    read(store, "library", Paper(f"{title}}}, {fields}", raw_id="k"))
    before = changes(store)
    read(store, "library", Paper(title, ABSTRACT, ("Jane Doe",), year=2024, keys=keys, raw_id="k"))
    assert changes(store) == before and len(before) == 1
    stored = origin(store, 1).stored.paper
    assert (stored.title, stored.authors) == (title, ("Jane Doe",))


# ── days of lists ───────────────────────────────────────────────────────────────────


def listed(*days: int) -> Paper:
    return replace(PAPER, raw_id="", listed=tuple(ListedDay(date(2026, 3, day)) for day in days))


def test_each_day_on_which_a_list_has_a_paper_is_kept_with_its_source(store: Database) -> None:
    for source, day in (("page", 12), ("page", 14), ("page", 14), ("other", 13)):
        read(store, source, listed(day))
    assert [(one.source, one.day.day) for one in origin(store, 1).stored.paper.listed] == [
        ("page", 12),
        ("other", 13),
        ("page", 14),
    ]
    assert len(changes(store)[0]) == 1


def test_of_a_paper_in_lists_every_day_the_first_and_those_of_thirty_days_are_kept(
    store: Database,
) -> None:
    days = tuple(ListedDay(date(2026, 1, 1) + timedelta(days=n)) for n in range(120))
    for part in (days[:60], days[60:]):
        read(store, "page", replace(listed(), listed=part))
    kept = origin(store, 1).stored.paper.listed
    assert [listed.day for listed in kept] == [listed.day for listed in (days[0], *days[-31:])]


def test_a_first_reading_of_what_is_recent_counts_the_day_of_a_list(store: Database) -> None:
    recent, old = (ListedDay((NOW - timedelta(days=age)).date()) for age in (2, 9))
    papers = (replace(PAPER, listed=(recent,)), Paper("Dunes", listed=(old,)))
    stored = read(store, "page", *papers, first_run=FirstRun.RECENT)
    assert [decision.news for decision in stored.decisions] == [True, False]


def test_the_month_in_an_arxiv_id_makes_no_paper_older(store: Database) -> None:
    stored = read(store, "page", replace(listed(12), keys={"arxiv": "1706.03762"}))
    assert [decision.kind for decision in stored.decisions] == [ChangeKind.NEW]


def test_the_day_of_a_paper_replaces_the_month_that_was_known(store: Database) -> None:
    month = datetime(2024, 10, 1, tzinfo=UTC)
    day = datetime(2024, 10, 7, tzinfo=UTC)
    read(store, "a", replace(PAPER, published=month, precision="month"))
    read(store, "b", replace(PAPER, published=month.replace(month=9)))
    read(store, "c", replace(PAPER, published=day))
    paper = origin(store, 1).stored.paper
    assert (paper.published, paper.precision) == (day, "")
