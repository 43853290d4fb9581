"""arXiv and OAI-PMH documents: own fixtures with what is expected beside them, and faults."""

from __future__ import annotations

import tracemalloc

import pytest

from monitor.model import Paper, Reading
from monitor.sources.arxiv import Arxiv
from monitor.sources.fields.names import without_affiliations
from monitor.sources.fields.publication_types import says_withdrawn
from monitor.sources.oai.source import Oai
from monitor.text.latex import accents
from tests.sources.scenario import only, read


def record(inside: str, number: int = 1, status: str = "") -> str:
    header = f"<header{status}><identifier>oai:example.org:{number}</identifier></header>"
    return f"<record>{header}<metadata>{inside}</metadata></record>"


def dublin(title: str, more: str = "") -> str:
    return f'<dc xmlns="http://purl.org/dc/elements/1.1/"><title>{title}</title>{more}</dc>'


def oai(inside: str, begin: str = "") -> bytes:
    name = "http://www.openarchives.org/OAI/2.0/"
    return f'{begin}<OAI-PMH xmlns="{name}">{inside}</OAI-PMH>'.encode()


def records(*titles: str) -> str:
    parts = (record(dublin(title), number) for number, title in enumerate(titles, start=1))
    return f"<ListRecords>{''.join(parts)}</ListRecords>"


def of_repository(more: str) -> Paper:
    return only(Oai, oai(f"<ListRecords>{record(dublin('Sand', more))}</ListRecords>"))


def titles(reading: Reading) -> list[str]:
    return [paper.title for paper in reading.papers]


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (oai("<Identify><repositoryName>x</repositoryName></Identify>"), "response with records"),
        (oai("<ListIdentifiers><header/></ListIdentifiers>"), "response with records"),
        (oai("<GetRecord/>"), "response with records"),
        (oai('<error code="new">so &amp;amp; so</error>'), "the repository answered new: so & so"),
        (oai("<x/>"), "not an OAI-PMH response"),
        (oai(f"<ListRecords>{record('<mods><titleInfo/></mods>')}</ListRecords>"), "not Dublin"),
        (oai(records("A"), '<!DOCTYPE r [<!ENTITY a "x">]>'), "declares entities"),
        (oai(records("A"), '<?xml version="1.0" encoding="utf-7"?>'), "UTF-7, which is not read"),
        (oai(records("A"))[:150], "ends in the middle"),
    ],
)
def test_F01_F06_answers_without_records_are_failures(content: bytes, error: str) -> None:
    assert error in read(Oai, content).error


# ── documents with faults ───────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("title", "read_as"),
    [
        ("Fish & Chips", "Fish & Chips"),
        ("Fish&nbsp;&eacute;tude", "Fish étude"),
        ("Fish&#11;es", "Fishes"),
        ("Fish\x01es", "Fishes"),
        ("<b>B</i>", "B"),
        ("p<0.05 & q>1", "p<0.05 & q>1"),
        ("B <br> <i a=1 b='2' b='3'>it</i>", "B it"),
        ("B</creator>", "B"),
        ("B</title><creator a='<'>Doe, Jane</creator><title>", "B"),
        ("B <!-- - -- - --> <![CDATA[<b>]]> ]]> C", "B C"),
        ("B <x:y z:a='1'>C</x:y>", "B C"),
    ],
)
def test_faults_that_a_person_would_read_over_are_read_over(title: str, read_as: str) -> None:
    reading = read(Oai, oai(records("A", title, "C")))
    assert titles(reading) == ["A", read_as, "C"] and not reading.rejected


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # A title that does not end ends where the next field begins.
        ("B</title>", "B<date>2020</date>"),
        *(("<OAI-PMH ", f"<OAI-PMH {prefix}:schema='x' ") for prefix in ("xsi", "dc", "oai_dc")),
    ],
)
def test_no_record_is_lost_by_a_tag_or_a_prefix(old: str, new: str) -> None:
    content = oai(records("A", "B", "C")).decode().replace(old, new)
    reading = read(Oai, content.encode())
    assert titles(reading) == ["A", "B", "C"] and not reading.rejected


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        *((name, name) for name in ("iso-8859-15", "windows-1250", "utf-16", "gb2312")),
        ("utf-16", "UTF-8"),
    ],
)
def test_F12_answers_come_in_many_encodings(encoding: str, declared: str) -> None:
    title = "沙在移动" if encoding == "gb2312" else "Ší žena"
    head = f'<?xml version="1.0" encoding="{declared}"?>'
    answer = oai(records(title), head).decode().encode(encoding)
    assert titles(read(Oai, answer)) == [title]


@pytest.mark.parametrize(
    ("title", "reason", "complete"),
    [
        ("<b>" + "<?x?>" * 1_001, "not well-formed", False),
        (" </title><date>2020</date><title>", "record has no title", True),
        ("x" * 300_000, "larger than", True),
    ],
)
def test_F06_a_broken_or_huge_record_costs_itself_only(
    title: str, reason: str, complete: bool
) -> None:
    reading = read(Oai, oai(records("A", title, "C")))
    assert titles(reading) == ["A", "C"] and reading.complete == complete
    (rejected,) = reading.rejected
    assert reason in rejected.why


@pytest.mark.parametrize(
    "piece", ["<!--", "<![CDATA[", "<?", "<a '", "x<a>", "</b>", "<", "<a b='"]
)
def test_F06_broken_tags_without_end_are_read_in_no_time(piece: str) -> None:
    reading = read(Oai, oai(records("A", piece * (200_000 // len(piece)), "C")))
    assert titles(reading)[0] == "A" and not reading.complete


def test_a_large_list_is_read_in_little_memory() -> None:
    content = oai(records(*["A title of a record"] * 20_000))
    tracemalloc.start()
    reading = read(Arxiv, content)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(reading.papers) == 20_000 and peak < 20 * len(content)


# ── lines of arXiv ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        (r"C. Bal\'azs", "C. Balázs"),
        (r"Schr{\"o}dinger and Schr\"{o}dinger", "Schrödinger and Schrödinger"),
        (r"\O yvind \AA kesson", "Øyvind Åkesson"),
        (r"J\'{\i}lek, \v Cech, \c{C}elik, Erd\H{o}s", "Jílek, Čech, Çelik, Erdős"),
        (r"\L{}ukasz Wa\l\k{e}sa", "Łukasz Wałęsa"),
        ("Ada Bridge {the elder}", "Ada Bridge {the elder}"),
    ],
)
def test_names_in_tex_are_names(tex: str, text: str) -> None:
    assert accents(tex) == text


@pytest.mark.parametrize(
    ("creator", "names"),
    [
        ("Doe, Jane; University of Sand", ("Jane Doe",)),
        ("Doe, Jane; Universidad de Arena, España", ("Jane Doe",)),
        ("João da Silva; USP, São Paulo", ("João da Silva",)),
        ("Doe, Jane; Roe, Rae A.; von Dyke, B.", ("Jane Doe", "Rae A. Roe", "B. von Dyke")),
        ("Jane Doe; Rae Roe", ("Jane Doe", "Rae Roe")),
        ("Doe, Jane;", ("Jane Doe",)),
        ("Doe, Jane, 1956-", ("Jane Doe",)),
        ("Doe, J. (Jane Ann)", ("J. Doe",)),
        (r"J\"ane Doe~", ("Jäne Doe",)),
        ("Institute of Sand (Dunes)", ("Institute of Sand (Dunes)",)),
        ("https://orcid.org/0000-0001-2345-6789", ()),
        ("jane.doe@example.org", ()),
    ],
)
def test_a_creator_is_one_name_or_several_and_no_place(
    creator: str, names: tuple[str, ...]
) -> None:
    assert of_repository(f"<creator>{creator}</creator>").authors == names


def test_a_note_about_a_record_is_no_abstract() -> None:
    long = "Sand flows over sand, and the dunes that it makes move with the wind. " * 2
    notes = "Submitted by Jane Doe on 2 May", "Comment: 12 pages", "Short.", long
    paper = of_repository("".join(f"<description>{one}</description>" for one in notes))
    assert paper.abstract == long.strip()


@pytest.mark.parametrize(
    ("elements", "keys"),
    [
        ("<identifier>ARXIV : 1901.00001</identifier>", {"arxiv": "1901.00001"}),
        ("<identifier>PUBMED : 31000001</identifier>", {"pmid": "31000001"}),
        (
            "<relation>info:eu-repo/semantics/altIdentifier/doi/10.1000/a.1</relation>"
            "<relation>info:eu-repo/semantics/altIdentifier/arxiv/1901.00001</relation>",
            {"doi": "10.1000/a.1", "arxiv": "1901.00001"},
        ),
        ("<relation>doi:10.1000/another.1</relation>", {}),
    ],
)
def test_identifiers_are_named_in_the_ways_of_repositories(
    elements: str, keys: dict[str, str]
) -> None:
    paper = of_repository(elements)
    assert {scheme: value for scheme, value in paper.keys.items() if scheme != "oai"} == keys
    assert "oai" in paper.keys  # by which it is known when it is deleted


def test_affiliations_are_no_names() -> None:
    line = "A. One (1 and 2), B. Two (CERN, (Geneva)), C. Three ((1) Here, (2) There)"
    assert without_affiliations(line) == "A. One, B. Two, C. Three"


@pytest.mark.parametrize(
    ("abstract", "comment", "gone"),
    [
        ("This paper has been withdrawn by the author.", "", True),
        ("", "This submission has been withdrawn by arXiv administrators", True),
        ("", "Withdrawn due to an error", True),
        ("", "Paper withdrawn", True),
        ("", "supersedes arXiv:2001.00001, which has been withdrawn", False),
        ("The drug was withdrawn from the market.", "", False),
        ("Withdrawn drugs are studied.", "", False),
    ],
)
def test_a_withdrawn_paper_says_so_at_once(abstract: str, comment: str, gone: bool) -> None:
    assert says_withdrawn(abstract, comment) is gone
