"""Papers as BibTeX, RIS, CSV and JSON: other programs read them, and so do our own sources."""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, date, datetime
from itertools import accumulate, pairwise

import pytest
import rispy
from bibtexparser.entrypoint import parse_string
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from monitor.commands.export import FORMATS, Format, export
from monitor.commands.paper_search import FoundPaper
from monitor.model import ListedDay, Paper, StoredPaper
from monitor.sources.base import Source
from monitor.sources.bibtex import BibTex
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


def written(format_: Format, *papers: Paper) -> str:
    stored = [StoredPaper(number, paper, AT, AT, 1) for number, paper in enumerate(papers, 1)]
    return "".join(export([FoundPaper(paper, ()) for paper in stored], format_))


def papers_in(kind: type[Source], text: str) -> list[Paper]:
    reading = read(kind, text.encode())
    assert not reading.rejected and not reading.error
    return list(reading.papers)


def test_a_paper_without_a_link_has_a_search_and_its_last_list_in_a_note() -> None:
    listed = (ListedDay(date(2026, 3, 12), "page"), ListedDay(date(2026, 3, 14), "page", True))
    search = "search: https://scholar.google.com/scholar?q=%22Sand+moves%22"
    notes = {listed: f"listed 2026-03-14 (year guessed) by page; {search}", (): search}
    for days, note in notes.items():
        paper = Paper("Sand moves", listed=days)
        [entry] = parse_string(written("bibtex", paper)).entries
        assert entry["note"].replace("\\", "") == note
        assert rispy.loads(written("ris", paper))[0]["notes"] == [note]
    linked = replace(paper, url="https://papers.example.org/1")
    assert "note" not in parse_string(written("bibtex", linked)).entries[0]
    assert "notes" not in rispy.loads(written("ris", linked))[0]


def test_links_are_where_programs_look_and_styles_do_not_print_them() -> None:
    paper = Paper("Sand moves", "Code: https://github.com/a/sand_1. Video: https://youtu.be/1")
    links = "code: https://github.com/a/sand_1; video: https://youtu.be/1"
    [entry] = parse_string(written("bibtex", paper)).entries
    assert entry["annote"].replace("\\_", "_") == links
    assert rispy.loads(written("ris", paper))[0]["notes"][-1] == links
    [row] = csv.DictReader(io.StringIO(written("csv", paper)))
    assert row["links"] == links and list(row)[-1] == "links"
    assert '"links": [{"kind": "code", "url": "https://github.com/a/sand_1"}' in written(
        "json", paper
    )


def test_a_date_is_written_as_far_as_it_is_known() -> None:
    paper = Paper("Sand moves", keys={"arxiv": "2410.05434"})
    [entry] = parse_string(written("bibtex", paper)).entries
    assert (entry["year"], entry["month"]) == ("2024", "10")
    assert rispy.loads(written("ris", paper))[0]["date"] == "2024/10//"
    [row] = csv.DictReader(io.StringIO(written("csv", paper)))
    assert (row["published"], row["year"]) == ("2024-10", "2024")


@pytest.mark.parametrize(
    ("format_", "kind", "start"),
    [("bibtex", BibTex, "@article{doe2024planning,"), ("ris", Ris, "TY  - JOUR\n")],
)
def test_what_is_written_is_read_again(format_: Format, kind: type[Source], start: str) -> None:
    text = written(format_, PAPER, Paper("Untitled"))
    assert text.startswith(start) and "\n1.\n" not in text
    one, other = papers_in(kind, text)
    assert (one.title, one.authors, one.venue) == (PAPER.title, PAPER.authors, PAPER.venue)
    assert one.abstract == "We plan. It costs #1."
    assert one.keys["doi"] == "10.1000/xyz_(7)" and one.keys["arxiv"] == "2403.00001"
    assert one.url.replace("%7B1%7D", "{1}") == PAPER.url
    assert one.published == PAPER.published
    assert other.title == "Untitled"


def count_entries(text: str) -> int:
    r"""Count entries as BibTeX and biber do: `\}` ends a field like any other brace."""
    depths = list(accumulate({"{": 1, "}": -1}.get(letter, 0) for letter in text))
    assert min(depths) == depths[-1] == 0
    return sum(before and not depth for before, depth in pairwise(depths))


@pytest.mark.parametrize(
    ("text", "tex"),
    [
        ("} alone", r"\textbraceright{} alone"),
        ("{ alone", r"\textbraceleft{} alone"),
        (r"\{a\}", r"\textbackslash{}\textbraceleft{}a\textbackslash{}\textbraceright{}"),
        (r"$x_{1}$ and $\{x\}$", r"$x_{1}$ and $\{x\}$"),
        (r"$\{x$", r"\$\textbackslash{}\textbraceleft{}x\$"),
        (r"$\\{x}$", r"\$\textbackslash{}\textbackslash{}\textbraceleft{}x\textbraceright{}\$"),
        ("$x}$", r"\$x\textbraceright{}\$"),
    ],
)
def test_a_brace_of_a_text_ends_no_field(text: str, tex: str) -> None:
    paper = Paper(text, abstract=text, venue=text, authors=(f"Jane {text}",))
    linked = Paper("A", url=r"https://x.org/{a\}", keys={"doi": r"10.1000/{a\}"})
    text = written("bibtex", paper, linked, Paper("after"))
    assert count_entries(text) == 3
    entry, address, after = parse_string(text).entries
    assert (entry["title"], entry["abstract"]) == (f"{{{tex}}}", tex)
    assert address["url"] == "https://x.org/%7Ba%5C%7D"
    assert address["doi"] == "10.1000/%7Ba%5C%7D"
    assert after["title"] == "{after}"


def test_BibTeX_takes_each_name_for_one_person() -> None:
    names = ("Martin Luther King, Jr.", "Plans and Sons", "Plans AND Sons", "Plans, Inc.")
    [entry] = parse_string(written("bibtex", Paper("A", authors=names))).entries
    assert entry["author"] == (
        "King, Jr., Martin Luther and {Plans and Sons} and {Plans AND Sons} and {Plans, Inc.}"
    )


def bibtex_keys(*papers: Paper) -> list[str]:
    return re.findall(r"^@\w+\{([^,]*),", written("bibtex", *papers), re.MULTILINE)


DOE = ("Jane Doe",)
FAMILY_NAMES = {
    "Shuyan Zhou": "zhou",
    "Ludwig van Beethoven": "vanbeethoven",
    "Conan O’Brien": "obrien",
    "Jörg Müller": "muller",
    "Jan Łukasz": "lukasz",
    "Иван Щукин": "shchukin",
    "The ATLAS Collaboration": "atlas",
    "Event Horizon Telescope Collaboration": "eventhorizontelescope",
    "University of Oxford": "oxford",
    "Qwen Team": "qwen",
    "OpenAI": "openai",
    "Research Team": "researchteam",
}
NOT_LATIN = [(), ("",), ("张三",), ("Νίκος Παπαδόπουλος",), ("Samir Əliyev",)]
FIRST_WORDS = {
    "GPT-4o in practice": "gpt4o",
    "α-divergence": "alphadivergence",
    r"$\mathbb{Z}_2$ codes": "z2",
    "Über Quanten": "uber",
    "Теория игр": "teoriya",
    "基于BERT的分类": "bert",
    "… 100 games": "100",
}
MARCH = datetime(2024, 3, 1, tzinfo=UTC)
YEARS = [
    (Paper("Plans", authors=DOE, published=MARCH, keys={"arxiv": "2301.00001"}), "2024"),
    (Paper("Plans", authors=DOE, keys={"arxiv": "2403.00001"}), "2024"),
    (Paper("Plans", authors=DOE, keys={"arxiv": ("0704.0001", "2403.00001")}), "2007"),
    (Paper("Plans", authors=DOE, keys={"arxiv": "2413.00001"}), ""),
    (Paper("Plans", authors=DOE, keys={"doi": "10.1000/2403.00001"}), ""),
]


@pytest.mark.parametrize(
    ("paper", "key"),
    [
        *(
            (Paper("The WebArena", authors=(author, "Rae Roe"), year=2024), f"{name}2024webarena")
            for author, name in FAMILY_NAMES.items()
        ),
        *(
            (Paper("On a World of Agents", authors=authors, year=2024), "worldofagents2024")
            for authors in NOT_LATIN
        ),
        *((Paper(title, authors=DOE), f"doe{word}") for title, word in FIRST_WORDS.items()),
        *((paper, f"doe{year}plans") for paper, year in YEARS),
    ],
)
def test_a_key_is_the_family_name_the_year_and_the_first_word(paper: Paper, key: str) -> None:
    """Or the first three words where there is no name in Latin letters."""
    assert bibtex_keys(paper) == [key]


def test_without_a_word_for_it_a_key_has_an_identifier_or_the_id() -> None:
    doi = {"doi": "10.1000/XYZ_(7)"}
    assert bibtex_keys(
        Paper("机器学习", authors=DOE, year=2024, keys={**doi, "arxiv": "2403.00001"}),
        Paper("机器学习", authors=("张三",), year=2024, keys={"arxiv": "2403.00001"}),
        Paper("机器学习", keys=doi),
        Paper("机器学习", keys={"pmid": "123"}),
        Paper("机器学习", authors=DOE, year=2024),
        Paper("???"),
    ) == ["doe2024-2403.00001", "2403.00001", "10.1000-xyz-7", "123", "doe2024-paper5", "paper6"]


def test_equal_keys_get_letters_in_the_order_of_the_export() -> None:
    other = replace(PAPER, title="Playing")
    assert bibtex_keys(PAPER, other, PAPER, PAPER) == [
        *("doe2024planning", "doe2024playing", "doe2024planninga", "doe2024planningb"),
    ]
    assert bibtex_keys(PAPER, replace(PAPER, title="Planninga"), PAPER) == [
        *("doe2024planning", "doe2024planninga", "doe2024planningb"),
    ]
    many = bibtex_keys(*[PAPER] * 29)
    assert many[25:] == [f"doe2024planning{letters}" for letters in ("y", "z", "aa", "ab")]


def test_ris_has_the_tags_of_the_standard_and_names_as_reference_managers_read_them() -> None:
    paper = replace(PAPER, abstract="Two\nER  - \nlines", authors=("Jane\nDoe",), title="A\rB")
    text = written("ris", paper, Paper("Untitled"))
    lines = [line for line in text.splitlines() if line]
    assert all(re.fullmatch(r"[A-Z][A-Z0-9]  - .*", line) for line in lines)
    assert [line for line in lines if line[:2] in ("TY", "ER")] == [
        *("TY  - JOUR", "ER  - "),
        *("TY  - GEN", "ER  - "),
    ]
    people = ("Ludwig van Beethoven", "Martin King, Jr.", "ATLAS Collaboration", "OpenAI")
    text = written("ris", Paper("A", authors=people, pdf_url="https://x.org/1"))
    [reference], [again] = rispy.loads(text), papers_in(Ris, text)
    assert (again.authors, again.url) == (people, "https://x.org/1")
    assert reference["file_attachments1"] == "https://x.org/1"
    assert reference["authors"] == [
        *("van Beethoven, Ludwig", "King, Martin, Jr.", "ATLAS Collaboration", "OpenAI"),
    ]
    assert {
        "AU  - Doe, Jane",
        "DA  - 2024/03/01",
        "PY  - 2024",
        "AN  - arXiv:2403.00001",
        "UR  - https://papers.example.org/{1}?a=1&b=2",
        "L1  - https://arxiv.org/pdf/2403.00001",
    } < set(lines)


@given(
    st.text(min_size=1).filter(lambda text: text.strip().isprintable() and text.strip())
    | st.text(r"{}\$^~%#@\"a ", min_size=1).filter(str.strip)
)
def test_no_title_breaks_the_entries_around_it(title: str) -> None:
    papers = [Paper("before"), Paper(title), Paper("after")]
    for format_, kind in (("bibtex", BibTex), ("ris", Ris)):
        text = written(format_, *papers)  # type: ignore[arg-type]
        titles = [paper.title for paper in read(kind, text.encode()).papers]
        assert (titles[0], titles[-1]) == ("before", "after")
    assert count_entries(written("bibtex", *papers)) == 3


def test_no_cell_of_csv_is_a_formula() -> None:
    evil = Paper('=HYPERLINK("http://evil")', abstract="@SUM(1)", authors=("-1+1",))
    rows = list(csv.DictReader(io.StringIO(written("csv", PAPER, evil))))
    assert rows[0]["title"] == PAPER.title and rows[0]["doi"] == "10.1000/xyz_(7)"
    assert rows[0]["authors"] == "Jane Doe; Société Anonyme and Partners; Łukasz Kaiser"
    assert rows[1]["title"] == '\'=HYPERLINK("http://evil")'
    assert (rows[1]["abstract"], rows[1]["authors"]) == ("'@SUM(1)", "'-1+1")


@pytest.mark.parametrize("format_", FORMATS)
def test_a_search_is_exported(lived: House, say: Say, format_: str) -> None:
    said = say("papers", "agents", "--format", format_)
    assert said.status == 0 and AGENTS[0] in said.out and BANDITS[0] not in said.out
    assert format_ != "json" or said.json == say("papers", "agents", "--json").json
    limited = say("papers", "--format", format_, "--limit", "1")
    assert "--limit shows more" in limited.err
