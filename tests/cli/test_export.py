"""Papers as BibTeX, RIS, CSL-JSON, CSV and JSON, as our own sources and libraries read them.

What other programs make of them is in `tests/exports`.
"""

from __future__ import annotations

import csv
import io
import json
import re
from datetime import UTC, date, datetime
from itertools import accumulate, pairwise
from typing import Any

import pytest
import rispy
from bibtexparser.entrypoint import parse_string
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from monitor.commands.export import FORMATS, Format, export
from monitor.commands.paper_search import FoundPaper
from monitor.digest.citation import WorkType, cite
from monitor.model import REPORT, ListedDay, Paper, StoredPaper, record_of
from monitor.sources.base import Source
from monitor.sources.bibtex import BibTex
from monitor.sources.ris import Ris
from tests.cli.conftest import Say
from tests.exports.papers import OF_EACH_KIND
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


def csl(*papers: Paper) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads(written("csl-json", *papers))
    return items


def test_our_own_words_are_where_no_style_prints_them_and_a_search_is_no_link() -> None:
    listed = (ListedDay(date(2026, 3, 12), "page"), ListedDay(date(2026, 3, 14), "page", True))
    note = "listed 2026-03-14 (year guessed) by page"
    paper = Paper("Sand moves", listed=listed)
    [entry] = parse_string(written("bibtex", paper)).entries
    assert entry["annote"] == note and "note" not in entry.fields_dict
    assert rispy.loads(written("ris", paper))[0]["notes"] == [note]
    [item] = csl(paper)
    assert item["annote"] == note and "note" not in item
    for form in ("bibtex", "ris", "csl-json"):
        for other in (replace(paper, url="https://papers.example.org/1"), Paper("Sand moves")):
            text = written(form, other)  # type: ignore[arg-type]
            assert "listed" not in text and "annote" not in text and "N1" not in text
        assert "search" not in written(form, paper)  # type: ignore[arg-type]


def test_links_are_where_programs_look_and_styles_do_not_print_them() -> None:
    paper = Paper("Sand moves", "Code: https://github.com/a/sand_1. Video: https://youtu.be/1")
    links = "code: https://github.com/a/sand_1; video: https://youtu.be/1"
    [entry] = parse_string(written("bibtex", paper)).entries
    assert entry["annote"].replace("\\_", "_") == links
    assert rispy.loads(written("ris", paper))[0]["notes"][-1] == links
    assert csl(paper)[0]["annote"] == links
    [row] = csv.DictReader(io.StringIO(written("csv", paper)))
    assert row["links"] == links and list(row)[-1] == "links"
    assert '"links": [{"kind": "code", "url": "https://github.com/a/sand_1"}' in written(
        "json", paper
    )


ARXIV = Paper("Sand", keys={"arxiv": "2410.05434"}, categories=("cs.LG", "stat.ML"))
BIORXIV = {"doi": "10.1101/123456"}
MEDRXIV = "https://www.medrxiv.org/content/10.1101/2024.01.02.24300001v1"


@pytest.mark.parametrize(
    ("paper", "type_", "place"),
    [
        (ARXIV, WorkType.PREPRINT, "arXiv"),
        (replace(ARXIV, venue="arXiv.org", type="journalarticle"), WorkType.PREPRINT, "arXiv"),
        (replace(ARXIV, keys=ARXIV.keys | {"doi": "10.1/x"}), WorkType.PREPRINT, "arXiv"),
        (replace(ARXIV, venue="Phys.Rev.D76:013009,2007"), WorkType.ARTICLE, ""),
        (replace(ARXIV, venue="NeurIPS"), WorkType.CONFERENCE_PAPER, ""),
        (Paper("Sand", keys=BIORXIV), WorkType.PREPRINT, "bioRxiv"),
        (Paper("Sand", keys=BIORXIV, url=MEDRXIV), WorkType.PREPRINT, "medRxiv"),
        (Paper("Sand", keys={"doi": ("10.1101/1", "10.1/x")}), WorkType.OTHER, ""),
        (Paper("Sand", keys={"doi": "10.5281/zenodo.1"}), WorkType.PREPRINT, "Zenodo"),
        (Paper("Sand", type="preprint", venue="ChemRxiv"), WorkType.PREPRINT, "ChemRxiv"),
        (Paper("Sand", venue="CoRR"), WorkType.PREPRINT, "CoRR"),
        (Paper("Sand", venue="Submitted to ICLR 2025"), WorkType.PREPRINT, ""),
        (
            Paper("Sand", type="preprint", venue="Nature", keys={"doi": "10.1038/1"}),
            WorkType.ARTICLE,
            "",
        ),
        (Paper("Sand", type="article", venue="Proc. of the ACL"), WorkType.CONFERENCE_PAPER, ""),
        (
            Paper("Sand", venue="Proceedings of the National Academy of Sciences"),
            WorkType.ARTICLE,
            "",
        ),
        (
            Paper("Sand", venue="Conference of Sand", type="journal article"),
            WorkType.ARTICLE,
            "",
        ),
        (Paper("Sand", venue="PhD thesis, MIT"), WorkType.THESIS, ""),
        (Paper("Sand", venue="Technical Report, RAND"), WorkType.REPORT, ""),
        (Paper("Sand", venue="X", keys={"dblp": "conf/x/1"}), WorkType.CONFERENCE_PAPER, ""),
        (Paper("Sand", keys={"dblp": "journals/corr/abs-1"}), WorkType.PREPRINT, ""),
        (Paper("Sand", keys={"pmid": "1"}, type="case reports"), WorkType.ARTICLE, ""),
        (Paper("Sand", type=REPORT), WorkType.OTHER, ""),
        *((paper, type_, cite(paper).server) for type_, paper in OF_EACH_KIND.items()),
    ],
)
def test_a_work_is_what_its_type_identifiers_and_venue_say(
    paper: Paper, type_: WorkType, place: str
) -> None:
    citation = cite(paper)
    assert (citation.type, citation.server) == (type_, place)


def test_a_preprint_has_its_server_and_class_and_what_styles_print_of_it() -> None:
    [entry] = parse_string(written("bibtex", ARXIV)).entries
    assert {name: field.value for name, field in entry.fields_dict.items()} == {
        "title": "{Sand}",
        "year": "2024",
        "month": "10",
        "eprint": "2410.05434",
        "archiveprefix": "arXiv",
        "primaryclass": "cs.LG",
        "keywords": "cs.LG, stat.ML",
        "publisher": "arXiv",
    }
    [reference] = rispy.loads(written("ris", ARXIV))
    assert reference["type_of_reference"] == "UNPB" and reference["publisher"] == "arXiv"
    assert reference["keywords"] == ["cs.LG", "stat.ML"]
    [item] = csl(ARXIV)
    assert (item["type"], item["genre"], item["publisher"]) == ("article", "Preprint", "arXiv")
    assert item["number"] == "arXiv:2410.05434" and item["URL"].endswith("/2410.05434")
    [entry] = parse_string(written("bibtex", Paper("Sand", keys=BIORXIV))).entries
    assert (entry["howpublished"], entry["publisher"]) == ("bioRxiv", "bioRxiv")


def test_an_article_has_its_PMID_and_the_DOI_of_its_journal() -> None:
    dois = ("10.1101/123456", "10.1000/xyz")
    paper = replace(OF_EACH_KIND[WorkType.ARTICLE], keys={"doi": dois, "pmid": "123"})
    [entry] = parse_string(written("bibtex", paper)).entries
    assert (entry["doi"], entry["pmid"]) == ("10.1000/xyz", "123")
    [reference] = rispy.loads(written("ris", paper))
    assert (reference["accession_number"], reference["name_of_database"]) == ("123", "PubMed")
    [item] = csl(paper)
    assert (item["DOI"], item["PMID"]) == ("10.1000/xyz", "123")
    both = replace(paper, keys=paper.keys | {"arxiv": "2410.05434"})
    assert "PMID: 123" in rispy.loads(written("ris", both))[0]["notes"]


def test_a_preprint_whose_first_day_is_unknown_has_the_year_of_its_version() -> None:
    at = datetime(2019, 5, 1, tzinfo=UTC)
    bound = replace(record_of(Paper("Sand", keys=BIORXIV), "a"), published=at, precision="bound")
    for paper, year in ((replace(bound, updated=at), "2019"), (bound, "")):
        [row] = csv.DictReader(io.StringIO(written("csv", paper)))
        assert (row["year"], row["venue"]) == (year, "bioRxiv")


def test_the_latex_of_a_record_is_read_and_formulas_stay_for_TeX() -> None:
    text = r"\emph{Sand} costs 10\% of $x_{1}$, by \'Etienne \& \textbf{others} \cite{a}"
    paper = Paper(text, text, (r"Erd\H{o}s, P\'al",))
    [entry] = parse_string(written("bibtex", paper)).entries
    tex = r"Sand costs 10\% of $x_{1}$, by Étienne \& others"
    assert entry["title"] == f"{{{tex}}}" and entry["author"] == "Erdős, Pál"
    assert entry["abstract"] == r"Sand costs 10\% of x₁, by Étienne \& others"
    plain = "Sand costs 10% of x₁, by Étienne & others"
    [reference] = rispy.loads(written("ris", paper))
    [item] = csl(paper)
    assert (reference["abstract"], item["abstract"], item["title"]) == (plain, plain, plain)
    assert item["author"] == [{"family": "Erdős", "given": "Pál"}]


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
    title = PAPER.title if format_ == "bibtex" else PAPER.title.replace("$O(n^2)$", "O(n²)")
    assert (one.title, one.authors, one.venue) == (title, PAPER.authors, PAPER.venue)
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
        (r"\{a\}", r"\textbraceleft{}a\textbraceright{}"),
        (r"$x_{1}$ and $\{x\}$", r"$x_{1}$ and $\{x\}$"),
        (r"$\{x$", r"\textbraceleft{}x"),
        (r"$\\{x}$", "x"),
        ("$x}$", "x"),
        (r"$\rm SO(d)$ and $\mathbb Z_2$", r"$SO(d)$ and $\mathbb Z_2$"),
    ],
)
def test_a_brace_of_a_text_ends_no_field(text: str, tex: str) -> None:
    paper = Paper(text, abstract=text, venue=text, authors=(f"Jane {text}",))
    linked = Paper("A", url=r"https://x.org/{a\}", keys={"doi": r"10.1000/{a\}"})
    text = written("bibtex", paper, linked, Paper("after"))
    assert count_entries(text) == 3
    entry, address, after = parse_string(text).entries
    assert entry["title"] == f"{{{tex}}}"
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
    places = ("Universität Bonn, Bonn, Germany", "CERN")
    text = written(
        "ris", Paper("A", authors=people, affiliations=places, pdf_url="https://x.org/1")
    )
    [reference] = rispy.loads(text)
    [again] = papers_in(Ris, text)
    assert (again.authors, again.affiliations) == (people, places)
    assert (again.url, reference["author_address"]) == ("https://x.org/1", "; ".join(places))
    assert reference["file_attachments1"] == "https://x.org/1"
    assert reference["authors"] == [
        *("van Beethoven, Ludwig", "King, Martin, Jr.", "ATLAS Collaboration", "OpenAI"),
    ]
    assert {
        "AU  - Doe, Jane",
        "DA  - 2024/03/01",
        "PY  - 2024",
        "AN  - arXiv:2403.00001",
        "UR  - https://papers.example.org/%7B1%7D?a=1&b=2",
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
