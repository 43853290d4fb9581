"""Retractions and corrections: the news is the change of the paper, which keeps text and link."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from itertools import permutations
from pathlib import Path

import pytest
from msgspec.structs import replace

from monitor.identity.keys import with_keys
from monitor.identity.withdrawals import NO_STANDING, Standing
from monitor.model import (
    COMMENT,
    CONCERN,
    CORRECTION,
    REPORT,
    RETRACTION,
    Authority,
    ChangeKind,
    Document,
    FirstRun,
    Paper,
)
from monitor.plugins import SOURCES
from monitor.sources import sandbox
from monitor.sources.jsonl.source import Jsonl
from monitor.store.engine.database import Database
from monitor.store.papers import candidates, merge_papers, paper_index
from tests.pipeline.desk import ids, match, origin, read, tell
from tests.store.scenes import DAY, NOW, ingesting, reading, unsent

PAPER = Paper(
    "Sand Moves Downhill in Winter",
    "We watched sand on forty slopes for a winter. It moved downhill on all of them, most at noon.",
    ("Ada Byron", "Bo Chen"),
    url="https://pubmed.ncbi.nlm.nih.gov/1/",
    keys={"pmid": "1", "doi": "10.1000/sand.1"},
    raw_id="1",
    type="journal article",
)
# As PubMed gives them: under the title and the names of the paper itself.
RETRACTED = replace(
    PAPER,
    abstract="[This retracts the article DOI: 10.1000/sand.1.].",
    url="https://pubmed.ncbi.nlm.nih.gov/2/",
    keys={"pmid": "2", "doi": "10.1000/sand.2"},
    raw_id="2",
    type=RETRACTION,
    about={"pmid": "1"},
)
ERRATUM = replace(
    PAPER,
    abstract="",
    url="https://pubmed.ncbi.nlm.nih.gov/3/",
    keys={"pmid": "3"},
    raw_id="3",
    type=CORRECTION,
    about={"pmid": "1"},
)
CONCERNED = replace(ERRATUM, type=CONCERN)
ROOT = Path(__file__).parent.parent.parent
EVERY = (ChangeKind.NEW, ChangeKind.OLDER, ChangeKind.REVISED, ChangeKind.WITHDRAWN)


def names(order: tuple[Paper, ...]) -> str:
    return ", ".join(one.type for one in order)


def changes(store: Database, paper_id: int) -> list[ChangeKind]:
    return [change.kind for change in origin(store, paper_id).changes]


def stands(store: Database, paper_id: int = 1) -> None:
    """The paper has its own text and link."""
    stored = origin(store, paper_id).stored.paper
    record = (stored.title, stored.abstract, stored.authors, stored.url)
    assert record == (PAPER.title, PAPER.abstract, PAPER.authors, PAPER.url)


def unsent_changes(store: Database, now: datetime) -> list[tuple[int, ChangeKind]]:
    match(store, kinds=EVERY, now=now)
    return sorted((one.change.stored.id, one.change.kind) for one in unsent(store, "ada", now))


@pytest.mark.parametrize(
    ("notice", "kind", "withdrawn"),
    [
        (RETRACTED, ChangeKind.WITHDRAWN, True),
        (ERRATUM, ChangeKind.REVISED, False),
        (CONCERNED, ChangeKind.REVISED, False),
    ],
    ids=["retraction", "erratum", "concern"],
)
def test_a_notice_is_the_news_of_the_paper_that_it_is_about(
    store: Database, notice: Paper, kind: ChangeKind, withdrawn: bool
) -> None:
    read(store, "pubmed", PAPER)
    assert tell(store) == [1]
    counts = read(store, "pubmed", notice, now=NOW + DAY).counts()
    assert (counts["new"], counts["revised"], counts["known"]) == (0, 1, 0)
    assert ids(store) == [1, 2]
    stands(store)
    assert changes(store, 1) == [ChangeKind.NEW, kind]
    assert origin(store, 1).changes[1].why == f"{notice.type}: {notice_name(notice)}"
    assert origin(store, 1).stored.paper.withdrawn is withdrawn
    assert changes(store, 2) == [], "the notice itself is stored silently"
    assert unsent_changes(store, NOW + 2 * DAY) == [(1, kind)]


def notice_name(notice: Paper) -> str:
    scheme = min(notice.keys)
    return f"{scheme} {notice.keys[scheme]}"


@pytest.mark.parametrize("notice", [RETRACTED, ERRATUM], ids=["retraction", "erratum"])
def test_the_same_notice_again_is_known(store: Database, notice: Paper) -> None:
    read(store, "pubmed", PAPER)
    read(store, "pubmed", notice, now=NOW + DAY)
    record = changes(store, 1)
    counts = read(store, "pubmed", notice, PAPER, now=NOW + 2 * DAY).counts()
    assert (counts["new"], counts["revised"], counts["known"]) == (0, 0, 2)
    read(store, "pubmed", replace(notice, venue="Journal of Sand"), now=NOW + 3 * DAY)
    elsewhere = replace(notice, raw_id="MED/2", about={"doi": "10.1000/sand.1"})
    read(store, "europepmc", elsewhere, now=NOW + 4 * DAY)
    assert (changes(store, 1), changes(store, 2)) == (record, [])
    assert ids(store) == [1, 2]
    stands(store)


@pytest.mark.parametrize("notice", [RETRACTED, ERRATUM], ids=["retraction", "erratum"])
def test_a_notice_of_a_paper_that_is_not_stored_is_news_as_itself(
    store: Database, notice: Paper
) -> None:
    assert read(store, "pubmed", notice).counts()["new"] == 1
    assert changes(store, 1) == [ChangeKind.NEW]
    read(store, "pubmed", PAPER, now=NOW + DAY)
    assert ids(store) == [1, 2]
    stands(store, 2)
    retracted = notice is RETRACTED
    assert origin(store, 2).stored.paper.withdrawn is retracted
    assert changes(store, 2) == ([] if retracted else [ChangeKind.NEW])
    read(store, "pubmed", notice, now=NOW + 2 * DAY)
    assert (changes(store, 1), len(changes(store, 2))) == ([ChangeKind.NEW], not retracted)


def test_a_notice_that_is_retracted_does_not_withdraw_its_paper(store: Database) -> None:
    void = replace(RETRACTED, keys={"pmid": "4"}, raw_id="4", about={"pmid": "2"})
    for day, record in enumerate((RETRACTED, void, PAPER)):
        read(store, "pubmed", record, now=NOW + day * DAY)
    assert [origin(store, id).stored.paper.withdrawn for id in ids(store)] == [True, False, False]
    assert changes(store, 3) == [ChangeKind.NEW]


@pytest.mark.parametrize("type_", ["", CORRECTION])
def test_notices_without_a_name_are_as_many_as_their_identifiers(
    store: Database, type_: str
) -> None:
    correction = Paper("Correction", type=type_)
    notices = [replace(correction, keys={"doi": f"10.1000/c.{n}"}) for n in range(90)]
    for part in (notices[:60], notices[60:]):
        assert read(store, "list", *part).counts()["new"] == len(part)
    again = replace(notices[0], keys={"doi": "10.1000/c.90"})
    found = reading(store, candidates.find, "list", [with_keys(again)])
    assert len(found[0]) <= 2 * paper_index.CANDIDATES_EACH
    assert read(store, "list", replace(notices[3], year=2026)).counts()["known"] == 1
    assert len(ids(store)) == 90


@pytest.mark.parametrize("order", list(permutations([PAPER, RETRACTED, ERRATUM])), ids=names)
def test_the_paper_stands_in_whatever_order_it_and_its_notices_arrive(
    store: Database, order: tuple[Paper, ...]
) -> None:
    for number, one in enumerate(order):
        read(store, "pubmed", one, now=NOW + number * DAY)
    place = order.index(PAPER) + 1
    assert len(ids(store)) == 3
    stands(store, place)
    assert origin(store, place).stored.paper.withdrawn


@pytest.mark.parametrize("notice", [RETRACTED, ERRATUM], ids=["retraction", "erratum"])
@pytest.mark.parametrize("place", [1, 2])
def test_a_paper_and_its_notice_in_one_reading(store: Database, notice: Paper, place: int) -> None:
    read(store, "pubmed", *((PAPER, notice) if place == 1 else (notice, PAPER)))
    stands(store, place)
    retracted = notice is RETRACTED
    news = ([], [ChangeKind.NEW]) if retracted else ([ChangeKind.NEW], [])
    assert (changes(store, place), changes(store, 3 - place)) == news
    assert origin(store, place).stored.paper.withdrawn is retracted


def test_two_notices_in_one_reading_are_one_change_and_the_gravest(store: Database) -> None:
    read(store, "pubmed", PAPER)
    second = replace(ERRATUM, keys={"pmid": "4"}, raw_id="4")
    read(store, "pubmed", RETRACTED, ERRATUM, second, now=NOW + DAY)
    assert changes(store, 1) == [ChangeKind.NEW, ChangeKind.WITHDRAWN]
    assert len(ids(store)) == 4, "two errata of one paper are two"
    stands(store)


def test_two_notices_on_two_days_are_two_changes_until_it_is_withdrawn(store: Database) -> None:
    read(store, "pubmed", PAPER)
    second = replace(ERRATUM, keys={"pmid": "4"}, raw_id="4")
    third = replace(ERRATUM, keys={"pmid": "5"}, raw_id="5")
    for number, one in enumerate((ERRATUM, second, RETRACTED, third)):
        read(store, "pubmed", one, now=NOW + (1 + number) * DAY)
    assert changes(store, 1) == [
        ChangeKind.NEW,
        ChangeKind.REVISED,
        ChangeKind.REVISED,
        ChangeKind.WITHDRAWN,
    ]


MARKED = replace(PAPER, withdrawn=True)


@pytest.mark.parametrize("order", [(MARKED, RETRACTED), (RETRACTED, MARKED)], ids=["first", "last"])
def test_the_record_of_a_retracted_paper_and_its_notice_are_one_change(
    store: Database, order: tuple[Paper, ...]
) -> None:
    read(store, "pubmed", PAPER)
    for day, one in enumerate(order):
        read(store, "pubmed", one, now=NOW + (1 + day) * DAY)
    assert (changes(store, 1), changes(store, 2)) == ([ChangeKind.NEW, ChangeKind.WITHDRAWN], [])
    stands(store)


def test_a_notice_from_another_source_names_its_paper_by_doi(store: Database) -> None:
    read(store, "pubmed", PAPER)
    notice = replace(RETRACTED, keys={"doi": "10.1000/sand.2"}, about={"doi": "10.1000/sand.1"})
    read(store, "crossref", replace(notice, raw_id="10.1000/sand.2"), now=NOW + DAY)
    read(store, "pubmed", RETRACTED, now=NOW + 2 * DAY)
    assert changes(store, 1) == [ChangeKind.NEW, ChangeKind.WITHDRAWN]
    assert ids(store) == [1, 2]
    stands(store)


ONE_DOI = replace(ERRATUM, keys={"pmid": "3", "doi": "10.1000/sand.1"})


@pytest.mark.parametrize("order", [(PAPER, ONE_DOI), (ONE_DOI, PAPER)], ids=["last", "first"])
@pytest.mark.parametrize("at_once", [False, True])
def test_an_erratum_under_the_doi_of_its_paper_is_another_record(
    store: Database, order: tuple[Paper, ...], at_once: bool
) -> None:
    for chunk in [order] if at_once else [(one,) for one in order]:
        read(store, "pubmed", *chunk, now=NOW + DAY)
    assert ids(store) == [1, 2]
    stands(store, order.index(PAPER) + 1)
    assert ("doi", "10.1000/sand.1") in origin(store, order.index(ONE_DOI) + 1).keys


def test_a_retraction_that_is_titled_like_a_retracted_paper_is_news_without_its_paper(
    store: Database,
) -> None:
    record = f'{{"title": "RETRACTED: {PAPER.title}", "type": "Retraction", "about": "pmid:1"}}'
    [notice] = sandbox.read(jsonl(), Document("d", record.encode(), NOW)).papers
    read(store, "journal", replace(notice, raw_id="n"))
    assert changes(store, 1) == [ChangeKind.NEW]
    read(store, "pubmed", PAPER, now=NOW + DAY)
    stands(store, 2)


def test_notices_of_a_first_reading_and_old_ones_are_no_news(store: Database) -> None:
    read(store, "pubmed", PAPER)
    read(store, "dump", RETRACTED, first_run=FirstRun.BASELINE)
    assert changes(store, 1) == [ChangeKind.NEW]
    assert origin(store, 1).stored.paper.withdrawn
    other = replace(
        PAPER,
        title="Dust Rises",
        abstract="",
        authors=("Cy Doe",),
        keys={"pmid": "10"},
        raw_id="10",
    )
    read(store, "pubmed", other)
    old = replace(
        RETRACTED, keys={"pmid": "11"}, raw_id="11", about={"pmid": "10"}, authors=("Cy Doe",)
    )
    read(store, "pubmed", replace(old, published=NOW - timedelta(days=300)))
    assert [changes(store, 3), changes(store, 4)] == [[ChangeKind.NEW], []]
    assert origin(store, 3).stored.paper.withdrawn


def test_a_notice_of_a_paper_that_was_joined_finds_it(store: Database) -> None:
    read(store, "arxiv", replace(PAPER, keys={"arxiv": "2601.00001"}, raw_id="a"))
    read(store, "journal", replace(PAPER, title="Slopes", abstract="", keys={"doi": "10.1000/x"}))
    ingesting(store, merge_papers.merge, [(1, 2, "someone said so")], NOW)
    read(store, "crossref", replace(ERRATUM, keys={"doi": "10.1000/e"}, about={"doi": "10.1000/x"}))
    assert ChangeKind.REVISED in changes(store, 1)


def test_a_comment_is_a_paper_of_its_own_and_news(store: Database) -> None:
    read(store, "pubmed", PAPER)
    comment = replace(
        ERRATUM, type=COMMENT, keys={"pmid": "3", "doi": "10.1000/sand.1"}, abstract=PAPER.abstract
    )
    read(store, "pubmed", comment, now=NOW + DAY)
    assert [changes(store, 1), changes(store, 2)] == [[ChangeKind.NEW], [ChangeKind.NEW]]
    stands(store)


def who_marks() -> list[str]:
    """The kinds of sources in the row "retracted, withdrawn" of the table of notices."""
    text = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
    [row] = re.findall(r"^\| retracted, withdrawn \| (.*) \|$", text, re.MULTILINE)
    return re.findall("`([a-z]+)`", row)


# As the dumps of pages have a paper: without identifier and link.
BARE = replace(PAPER, url="", keys={}, raw_id="", type="")
GONE = replace(BARE, withdrawn=True, raw_id="gone")
WAYS = ("paper first", "report first", "at once")


def play(
    store: Database, way: str, paper: Paper, record: Paper, *, source: str, standing: Standing
) -> None:
    """A paper of a dump, and a record that calls it withdrawn from another source."""
    steps = [("dump", paper, NO_STANDING), (source, record, standing)]
    for number, (name, one, own) in enumerate(reversed(steps) if way == WAYS[1] else steps):
        now = NOW if way == WAYS[2] else NOW + number * DAY
        read(store, name, one, now=now, standing=own)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", who_marks())
def test_a_service_that_keeps_the_record_marks_papers_of_dumps(
    store: Database, kind: str, way: str
) -> None:
    standing = Standing(SOURCES.load(kind).authority)
    play(store, way, BARE, GONE, source="service", standing=standing)
    [id] = ids(store)
    assert origin(store, id).stored.paper.withdrawn
    news = [ChangeKind.NEW, ChangeKind.WITHDRAWN] if way != "report first" else []
    assert changes(store, id) == news


def test_no_other_kind_marks_papers_by_their_title() -> None:
    others = {kind for kind in SOURCES.names() if SOURCES.load(kind).authority is Authority.NONE}
    marks = {"jsonl", *who_marks()}
    assert (others & marks, others | marks) == (set(), {*SOURCES.names()})


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("record", "authority"),
    [
        (GONE, Authority.NONE),
        (GONE, Authority.WITH_DOI),
        (replace(GONE, url="https://blog.example.net/42"), Authority.NONE),
        (replace(GONE, keys={"doi": "10.7777/blog"}), Authority.NONE),
    ],
    ids=["blog", "rows without DOI", "with a link", "with another DOI"],
)
def test_a_report_of_a_blog_is_a_paper_of_its_own(
    store: Database, record: Paper, authority: Authority, way: str
) -> None:
    standing = Standing(authority)
    play(store, way, BARE, record, source="blog", standing=standing)
    read(store, "blog", replace(record, venue="Blog"), now=NOW + 2 * DAY, standing=standing)
    papers = {one.stored.paper.type: one for one in (origin(store, id) for id in ids(store))}
    assert {*papers} == {"", REPORT}
    assert {one.stored.paper.title for one in papers.values()} == {BARE.title}
    assert not any(one.stored.paper.withdrawn for one in papers.values())
    assert [[c.kind for c in one.changes] for one in papers.values()] == [[ChangeKind.NEW]] * 2


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("paper", "record"),
    [
        (PAPER, replace(GONE, keys={"doi": "10.1000/sand.1"})),
        (PAPER, replace(GONE, keys={"doi": "10.1000/sand.99"})),
        (
            replace(BARE, url="https://journal.example.org/1"),
            replace(GONE, url="https://journal.example.org/r/1"),
        ),
    ],
    ids=["its identifier", "its publisher", "its host"],
)
def test_a_record_of_any_source_marks_the_paper_that_it_names_or_publishes(
    store: Database, paper: Paper, record: Paper, way: str
) -> None:
    play(store, way, paper, record, source="journal", standing=NO_STANDING)
    marked = [origin(store, id).stored.paper.withdrawn for id in ids(store)]
    assert marked == ([False, True] if way == "report first" else [True])


def test_a_source_marks_the_paper_that_it_brought_and_no_other(store: Database) -> None:
    read(store, "blog", BARE)
    read(store, "arxiv", replace(BARE, venue="arXiv"), now=NOW + DAY)
    read(store, "blog", GONE, now=NOW + 2 * DAY)
    assert (ids(store), changes(store, 1)) == ([1], [ChangeKind.NEW, ChangeKind.WITHDRAWN])
    dust = replace(BARE, title="Dust Rises Everywhere at Noon", abstract="", raw_id="")
    read(store, "arxiv", dust, now=NOW + 3 * DAY)
    read(store, "blog", dust, now=NOW + 4 * DAY)
    gone = replace(dust, withdrawn=True, raw_id="gone")
    read(store, "blog", gone, now=NOW + 5 * DAY)
    assert (ids(store), changes(store, 2)) == ([1, 2, 3], [ChangeKind.NEW])


@pytest.mark.parametrize("keys", [PAPER.keys, {"doi": "10.1000/sand.9"}], ids=["by key", "by DOI"])
def test_a_title_marked_as_retracted_is_the_same_paper_withdrawn(
    store: Database, keys: dict[str, str]
) -> None:
    read(store, "arxiv", PAPER)
    marked = Document("d", f'{{"title": "RETRACTED: {PAPER.title}"}}'.encode(), NOW)
    [record] = sandbox.read(jsonl(), marked).papers
    record = replace(record, authors=PAPER.authors, abstract=PAPER.abstract, keys=keys, raw_id="j")
    read(store, "journal", record, now=NOW + DAY)
    read(store, "journal", replace(record, venue="Sand"), now=NOW + 2 * DAY)
    assert ids(store) == [1]
    assert changes(store, 1) == [ChangeKind.NEW, ChangeKind.WITHDRAWN]
    stands(store)


def jsonl():
    return Jsonl("s", Jsonl.Options.model_validate({"path": "-"}), None, lambda: NOW)


def test_what_an_older_release_stored_with_the_mark_in_its_title_is_no_news(
    store: Database,
) -> None:
    read(store, "journal", replace(PAPER, title=f"RETRACTED: {PAPER.title}"))
    read(store, "journal", replace(PAPER, withdrawn=True), now=NOW + DAY)
    assert changes(store, 1) == [ChangeKind.NEW]
