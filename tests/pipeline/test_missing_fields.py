"""What a paper lacks, and what a record of the same work may fill in."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from msgspec.structs import asdict, replace

from monitor.model import Bound, ListedDay, Month, Paper, SiteNote
from monitor.model.look_up import Lack
from monitor.pipeline.missing_fields import FilledPaper, fill, missing

TITLE = "Agents that plan"
MAY = datetime(2024, 5, 7, tzinfo=UTC)
RECORD = Paper(
    TITLE,
    "We plan.",
    ("Ada Lovelace",),
    venue="NeurIPS",
    year=2024,
    published=MAY,
    updated=MAY,
    announced=MAY,
    url="https://example.org/7",
    pdf_url="https://example.org/7.pdf",
    keys={"doi": "10.1000/7", "s2": "abc"},
    categories=("planning",),
    announce="new",
    version=2,
    withdrawn=True,
    raw_id="7",
    type="preprint",
    links={"code": "https://github.com/lovelace/agents"},
    upvotes=7,
    listed=(ListedDay(date(2024, 5, 8)),),
    notices=(Paper("Erratum"),),
    site_note=SiteNote("Site", line="Plans."),
    affiliations=("Sand University",),
)
GUESSED = ListedDay(date(2025, 5, 7), year_guessed=True)
GIVEN = (
    "authors", "affiliations", "venue", "published", "year", "categories", "url", "pdf_url",
    "links", "type",
)  # fmt: skip


@pytest.mark.parametrize(
    ("paper", "lacks"),
    [
        (Paper(TITLE), set(Lack)),
        (RECORD, set()),
        (Paper(TITLE, url="ftp://example.org/7"), set(Lack)),
        (Paper(TITLE, url="https://example.org/7"), set(Lack) - {Lack.LINK}),
        (Paper(TITLE, pdf_url="https://example.org/7.pdf"), set(Lack) - {Lack.LINK}),
        (Paper(TITLE, keys={"doi": "10.1000/7"}), {Lack.AUTHORS, Lack.DATE}),
        (Paper(TITLE, url="https://doi.org/10.1000/7"), {Lack.AUTHORS, Lack.DATE}),
        # Its number tells the month.
        (Paper(TITLE, keys={"arxiv": "2401.01234"}), {Lack.AUTHORS}),
        # No page is made of a source's own number.
        (Paper(TITLE, keys={"s2": "abc"}), set(Lack)),
        (Paper(TITLE, authors=("Ada Lovelace",), year=2024), {Lack.LINK, Lack.IDENTIFIER}),
    ],
)
def test_what_a_paper_lacks(paper: Paper, lacks: set[Lack]) -> None:
    assert missing(paper) == lacks


def test_only_what_services_may_give_is_filled_in() -> None:
    filled = fill(Paper(TITLE), RECORD)
    assert (filled.fields, filled.schemes) == (GIVEN, ("doi", "s2"))
    expected = {name: getattr(RECORD, name) for name in GIVEN}
    keys = {"doi": ("10.1000/7",), "s2": ("abc",)}
    assert filled.paper == replace(Paper(TITLE), **expected, keys=keys)


def test_nothing_that_a_paper_has_changes() -> None:
    paper = Paper(
        TITLE,
        "We plan ahead.",
        ("Alan Turing",),
        venue="ICRA",
        year=2023,
        url="https://example.org/1",
        pdf_url="https://example.org/1.pdf",
        keys={"doi": "10.1000/1", "s2": "xyz"},
        categories=("robots",),
        type="article",
        links={"data": "https://example.org/data"},
        affiliations=("Stone University",),
    )
    assert fill(paper, RECORD) == FilledPaper(paper)
    whole = replace(RECORD, withdrawn=False)
    assert fill(whole, RECORD).paper == whole


@pytest.mark.parametrize("name", [n for n in asdict(RECORD) if n not in (*GIVEN, "title", "keys")])
def test_what_is_not_asked_for_stays(name: str) -> None:
    assert getattr(fill(Paper(TITLE), RECORD).paper, name) == getattr(Paper(TITLE), name)


@pytest.mark.parametrize(
    ("paper", "published", "precision", "year"),
    [
        (Paper(TITLE), Month(2024, 5, 1, tzinfo=UTC), "month", 2024),
        # A date that is never shown.
        (Paper(TITLE), Bound(2024, 12, 31, tzinfo=UTC), "", 2024),
        (Paper(TITLE, year=2024), MAY, "", 2024),
        (Paper(TITLE, keys={"arxiv": "2405.01234"}), MAY, "", 2024),
    ],
)
def test_a_date_is_filled_in_with_its_precision(
    paper: Paper, published: datetime, precision: str, year: int
) -> None:
    filled = fill(paper, Paper(TITLE, published=published, year=2024)).paper
    assert (filled.precision, filled.year) == (precision, year)
    shown = None if type(published) is Bound else published
    assert filled.published == shown
    assert type(filled.published) in (datetime, type(None))


@pytest.mark.parametrize(
    "paper",
    [
        Paper(TITLE, year=2022),
        Paper(TITLE, published=datetime(2022, 5, 7, tzinfo=UTC)),
        Paper(TITLE, keys={"arxiv": "2205.01234"}),
        # It was printed after the list that has it.
        Paper(TITLE, listed=(ListedDay(date(2023, 5, 7)), ListedDay(date(2024, 6, 1)))),
        Paper(TITLE, listed=(replace(GUESSED, read=date(2023, 6, 1)),)),
    ],
)
def test_a_date_of_another_year_or_after_its_list_is_not_filled_in(paper: Paper) -> None:
    filled = fill(paper, RECORD)
    assert {"published", "year"}.isdisjoint(filled.fields)
    assert (filled.paper.published, filled.paper.year) == (paper.published, paper.year)


def test_a_paper_may_be_listed_on_the_day_on_which_it_is_published() -> None:
    listed = Paper(TITLE, listed=(ListedDay(date(2024, 5, 7)),))
    assert fill(listed, RECORD).paper.published == MAY


def test_no_address_is_filled_in_where_an_identifier_leads_to_a_page() -> None:
    filled = fill(Paper(TITLE, keys={"arxiv": "2405.01234"}), RECORD)
    assert "url" not in filled.fields
    assert filled.schemes == ("doi", "s2")


def test_what_is_no_address_or_names_nobody_is_not_filled_in() -> None:
    record = Paper(TITLE, authors=("Anonymous Authors",), url="javascript:1", pdf_url="/7.pdf")
    assert fill(Paper(TITLE), record).paper == Paper(TITLE)


def test_identifiers_in_links_and_texts_of_a_record_are_not_filled_in() -> None:
    record = Paper(
        TITLE,
        url="https://arxiv.org/abs/2405.01234",
        keys={"doi": "10.1000/7", "pmid": "7"},
        keys_in_links={"doi": "10.1000/7"},
        keys_in_text={"pmid": "7"},
    )
    assert fill(Paper(TITLE), record).schemes == ()
