"""Papers as BibTeX, RIS, CSV and JSON: other programs read them, and so do our own sources."""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.commands.export import FORMATS, Format, export
from monitor.commands.search import FoundPaper
from monitor.model import Paper, StoredPaper
from monitor.sources.base import Source
from monitor.sources.bibtex.source import BibTex
from monitor.sources.ris import Ris
from tests.cli.conftest import Say
from tests.house import AGENTS, BANDITS, House
from tests.sources.scenario import read

AT = datetime(2026, 11, 21, 8, tzinfo=UTC)
PAPER = Paper(
    "Planning at 50% of the cost: $O(n^2)$ & {beyond}_now",
    abstract="We plan.\n\nIt costs #1.",
    authors=("Jane Doe", "Société Anonyme and Partners", "Łukasz Kaiser"),
    venue="Journal of Plans & Agents",
    published=datetime(2024, 3, 1, tzinfo=UTC),
    url="https://papers.example.org/{1}?a=1&b=2",
    keys={"doi": "10.1000/xyz_(7)", "arxiv": "2403.00001"},
    type="journal article",
)


def found(*papers: Paper) -> list[FoundPaper]:
    return [FoundPaper(StoredPaper(n, paper, AT, AT, 1), ()) for n, paper in enumerate(papers, 1)]


def written(format_: Format, *papers: Paper) -> str:
    return "".join(export(found(*papers), format_))


def papers_in(kind: type[Source], text: str) -> list[Paper]:
    reading = read(kind, text.encode())
    assert not reading.rejected and not reading.error
    return list(reading.papers)


def test_bibtex_is_read_as_it_was_written() -> None:
    text = written("bibtex", PAPER, Paper("Untitled"))
    assert text.startswith("@article{doe2024planning,")
    one, other = papers_in(BibTex, text)
    assert one.title == PAPER.title
    assert one.authors == PAPER.authors
    assert (one.abstract, one.venue) == ("We plan. It costs #1.", PAPER.venue)
    assert one.keys["doi"] == "10.1000/xyz_(7)" and one.keys["arxiv"] == "2403.00001"
    assert one.url == "https://papers.example.org/%7B1%7D?a=1&b=2"
    assert other.title == "Untitled"


def test_no_two_entries_have_the_same_key() -> None:
    text = written("bibtex", PAPER, PAPER, Paper("…"), Paper("???"))
    keys = re.findall(r"^@\w+\{([^,]*),", text, re.MULTILINE)
    assert keys == ["doe2024planning", "doe2024planning-2", "paper", "paper-2"]


def test_ris_is_read_as_it_was_written() -> None:
    text = written("ris", PAPER, Paper("Untitled"))
    assert text.startswith("TY  - JOUR\n") and "\n1.\n" not in text
    one, other = papers_in(Ris, text)
    assert (one.title, one.authors, one.venue) == (PAPER.title, PAPER.authors, PAPER.venue)
    assert one.abstract == "We plan. It costs #1."
    assert one.keys["doi"] == "10.1000/xyz_(7)"
    assert other.title == "Untitled"


@given(st.text(min_size=1).filter(lambda text: text.strip().isprintable() and text.strip()))
def test_no_title_breaks_the_entries_around_it(title: str) -> None:
    papers = [Paper("before"), Paper(title), Paper("after")]
    for format_, kind in (("bibtex", BibTex), ("ris", Ris)):
        text = written(format_, *papers)  # type: ignore[arg-type]
        titles = [paper.title for paper in read(kind, text.encode()).papers]
        assert (titles[0], titles[-1]) == ("before", "after")


def test_no_cell_of_csv_is_a_formula() -> None:
    evil = Paper('=HYPERLINK("http://evil")', abstract="@SUM(1)", authors=("-1+1",))
    rows = list(csv.DictReader(io.StringIO(written("csv", PAPER, evil))))
    assert rows[0]["title"] == PAPER.title and rows[0]["doi"] == "10.1000/xyz_(7)"
    assert rows[0]["authors"] == "Jane Doe; Société Anonyme and Partners; Łukasz Kaiser"
    assert rows[1]["title"] == '\'=HYPERLINK("http://evil")'
    assert (rows[1]["abstract"], rows[1]["authors"]) == ("'@SUM(1)", "'-1+1")


def test_json_has_what_a_page_shows() -> None:
    one, other = json.loads(written("json", PAPER, Paper("Untitled")))["papers"]
    assert (one["id"], one["published"]) == (1, "2024-03-01T00:00:00+00:00")
    assert one["keys"] == PAPER.keys
    assert other["published"] is None
    assert json.loads(written("json")) == {"papers": []}


@pytest.fixture
def lab(house: House) -> House:
    house.add("1.txt", AGENTS, BANDITS)
    house.ingest()
    return house


@pytest.mark.parametrize("format_", FORMATS)
def test_a_search_is_exported(lab: House, say: Say, format_: str) -> None:
    said = say("papers", "agents", "--format", format_)
    assert said.status == 0 and AGENTS[0] in said.out and BANDITS[0] not in said.out
    limited = say("papers", "--format", format_, "--limit", "1")
    assert "--limit shows more" in limited.err


def test_an_unknown_format_is_refused(lab: House, say: Say) -> None:
    refused = say("papers", "--format", "word")
    assert (refused.status, refused.out) == (2, "")
    assert "'word' is not one of" in refused.err
