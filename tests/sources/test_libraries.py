"""Libraries' records: PubMed, dblp, BibTeX and RIS files."""

from __future__ import annotations

import gzip
import random
from contextlib import suppress
from datetime import UTC, date, datetime

import pytest
import rispy

from monitor.errors import DocumentError, MonitorError
from monitor.model import record_of
from monitor.sources.base import Source
from monitor.sources.bibtex import BibTex
from monitor.sources.crossref import Crossref
from monitor.sources.dblp import Dblp
from monitor.sources.fields.dates import partial_date
from monitor.sources.huggingface_page.source import HuggingFacePage
from monitor.sources.jsonl.source import Jsonl
from monitor.sources.pubmed import PubMed
from monitor.sources.ris import Ris
from monitor.text.latex import unlatex
from tests.fuzz import spoiled
from tests.servers.web import Answer
from tests.sources import libraries
from tests.sources.conftest import Service
from tests.sources.scenario import FIXTURES, NOW, only, read

# ── PubMed ──────────────────────────────────────────────────────────────────────────


def test_F02_a_cut_update_file_is_partial() -> None:
    packed = gzip.compress(libraries.pubmed(range(5000)))
    reading = read(PubMed, packed[: len(packed) // 2])
    assert 0 < len(reading.papers) < 5000 and not reading.complete
    without_its_sum = read(PubMed, packed[:-6])
    assert len(without_its_sum.papers) == 5000 and not without_its_sum.complete


def test_a_compression_bomb_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("monitor.sources.fields.encoding.RATIO_CHECKED_FROM_BYTES", 1_000_000)
    bomb = gzip.compress(b"<PubmedArticleSet>" + b"<a/>" * 1_000_000)
    assert "unpacks to over 100 times" in read(PubMed, bomb).error


def test_a_chapter_that_came_later_is_not_as_old_as_its_book() -> None:
    book = b"<Book><BookTitle>Sand</BookTitle><PubDate><Year>1993</Year></PubDate></Book>"
    day = b"<ContributionDate><Year>2006</Year><Month>02</Month><Day>02</Day></ContributionDate>"
    chapter = b"<PMID>1</PMID>" + book + b"<ArticleTitle>Dunes</ArticleTitle>" + day
    content = (
        b"<PubmedBookArticle><BookDocument>" + chapter + b"</BookDocument></PubmedBookArticle>"
    )
    (paper,) = read(PubMed, b"<PubmedArticleSet>" + content + b"</PubmedArticleSet>").papers
    assert (paper.title, paper.venue, paper.year) == ("Dunes", "Sand", 2006)
    assert paper.published and paper.published.year == 2006


NBIB = b"""
PMID- 38000001
LR  - 20240115
TI  - Sand moves, and so do
      dunes.
LID - 10.1000/sand.1 [doi]
LID - S0000-1 [pii]
AB  - BACKGROUND: Sand moves. METHODS: We
      watched PMID- 7 it.
FAU - Byron, Ada
AU  - Byron A
FAU - van Roe, Jane R Jr
DP  - 2023 Jul-Aug
DEP - 20230705
JT  - Journal of sand
PT  - Journal Article
PT  - Retracted Publication
OT  - *dunes
OT  - wind
PMC - PMC7000001

PMID- 38000002
TI  - Dunes alone.
CN  - Sand Group
DP  - 1998
PT  - Retraction of Publication
ROF - Byron A, van Roe JR Jr. J Sand. 2023 Jul;1(2):1-9. doi:
      10.1000/sand.1. PMID: 38000001
CIN - J Sand. 1999;1(1):1. PMID: 38000012

PMID- 38000003
DP  - 1999
"""


@pytest.mark.parametrize("ends", [b"\n", b"\r\n", b"\r"])
def test_nbib_files_of_pubmed_are_read(ends: bytes) -> None:
    reading = read(Ris, NBIB.replace(b"\n", ends))
    one, two = reading.papers
    assert one.title == "Sand moves, and so do dunes."
    assert one.abstract == "BACKGROUND: Sand moves. METHODS: We watched PMID- 7 it."
    assert one.authors == ("Ada Byron", "Jane R van Roe Jr")
    assert (one.venue, one.year, one.withdrawn) == ("Journal of sand", 2023, True)
    assert one.keys == {"pmid": "38000001", "doi": "10.1000/sand.1", "pmcid": "PMC7000001"}
    assert one.published == datetime(2023, 7, 5, tzinfo=UTC)
    assert one.updated == datetime(2024, 1, 15, tzinfo=UTC)
    assert one.categories == ("dunes", "wind")
    assert (one.url, one.raw_id) == ("https://pubmed.ncbi.nlm.nih.gov/38000001/", "38000001")
    assert (one.type, one.about) == ("journal article", {})
    assert (two.title, two.authors, two.published) == ("Dunes alone.", ("Sand Group",), None)
    assert (two.type, two.withdrawn) == ("retraction", False)
    assert two.about == {"pmid": "38000001", "doi": "10.1000/sand.1"}
    [rejected] = reading.rejected
    assert (rejected.where, rejected.why) == ("line 31", "reference has no title")


@pytest.mark.parametrize(
    ("title", "numbers"),
    [
        ("Pa<per 2.", ["0", "1", "2", "3", "4"]),  # its tags are balanced
        ("Pa<per 2." * 60_000, ["0", "1", "3", "4"]),  # too large for that
    ],
)
def test_a_broken_record_costs_itself_only(title: str, numbers: list[str]) -> None:
    content = libraries.pubmed().replace(b"Paper 2.", title.encode())
    reading = read(PubMed, content)
    assert [p.raw_id for p in reading.papers] == numbers
    assert reading.rejected and not reading.complete


@pytest.mark.parametrize(
    ("kind", "content", "error"),
    [
        (PubMed, b'<!DOCTYPE x [<!ENTITY a "b">]><PubmedArticleSet/>', "declares entities"),
        (PubMed, b'<!DOCTYPE x [<!ENTITY % a "b">]><PubmedArticleSet/>', "declares entities"),
        (PubMed, b"<PubmedArticleSet>" + b"<a>" * 300, "nested deeper than 256"),
        (PubMed, b"<eFetchResult><ERROR>No  record</ERROR></eFetchResult>", "error: No record"),
        (PubMed, b"<html><body>no</body></html>", "HTML page"),
        (PubMed, b"<rss/>", "holds no records of this kind: it begins with <rss>"),
        (PubMed, libraries.searched(), "a search result with 5 of 5 PMIDs"),
        (PubMed, b'{"error": "API rate limit exceeded"}', "API rate limit exceeded"),
        (Dblp, b'{"result": {"status": {"@code": "500", "text": "Oh no"}}}', "error: 500 Oh no"),
        (Dblp, b'<result><status code="503"/><hits total="0"/></result>', "error: 503"),
        (Dblp, b"{}", "not a response of dblp's search"),
        (Crossref, b"<html><body>502</body></html>", "is a web page (HTML), not JSON"),
        (Crossref, b"Rate exceeded.", "the JSON cannot be read"),
        (HuggingFacePage, b"<!DOCTYPE html><p>no", "web page (HTML), not the text of a page"),
    ],
)
def test_F01_F06_what_is_no_list_of_records(kind: type[Source], content: bytes, error: str) -> None:
    reading = read(kind, content)
    assert error in reading.error and reading.papers == () and not reading.complete


GROUP = (
    b"<AuthorList><Author><CollectiveName>Sand Group. Electronic address: sand@example.org"
    b"</CollectiveName></Author></AuthorList>"
)
SECTIONS = (
    b'<Abstract><AbstractText Label="RESULTS">Sand moves.</AbstractText>'
    b'<AbstractText Label="LEVEL OF EVIDENCE: IV"/><AbstractText Label="UNLABELLED"/>'
    b"<AbstractText>Dunes follow.</AbstractText></Abstract></Article>"
)
IDS = b'<PubmedData><ArticleIdList><ArticleId IdType="pmc">%s</ArticleId></ArticleIdList>'


@pytest.mark.parametrize(
    ("before", "text", "expected"),
    [
        (b"Paper 0.</", b"[Not Available].</", {"title": "[Not Available].", "raw_id": "0"}),
        (b"Paper 0.</", b"Fish & Chips&nbsp;2.</", {"title": "Fish & Chips 2."}),
        (b"</ArticleTitle>", b"</ArticleTitle>" + GROUP, {"authors": ("Sand Group",)}),
        (
            b"</Article>",
            SECTIONS,
            {"abstract": "RESULTS: Sand moves. LEVEL OF EVIDENCE: IV Dunes follow."},
        ),
        *(
            (
                b"</PubmedArticle>",
                IDS % number + b"</PubmedData></PubmedArticle>",
                {"keys": {"pmid": "0"} | found},
            )
            for number, found in (
                (b" PMC1\n", {"pmcid": "PMC1"}),
                (b"PMC1 \n2", {}),
            )
        ),
    ],
)
def test_fields_of_pubmed(before: bytes, text: bytes, expected: dict[str, object]) -> None:
    paper = only(PubMed, libraries.pubmed(range(1)).replace(before, text))
    assert {name: getattr(paper, name) for name in expected} == expected


# ── references ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (r"Schr{\"o}dinger {\'E}cole Erd\H{o}s Dvo\v{r}\'ak", "Schrödinger École Erdős Dvořák"),
        (r"{\L}ukasz Stra{\ss}e \AA{}rhus \o re na\"{\i}ve", "Łukasz Straße Århus øre naïve"),
        (r"\emph{very} {\em old} \textbf{{GPU}s}", "very old GPUs"),
        (r"50\% \& \$5 \_ \{x\}", "50% & $5 _ {x}"),
        (r"the $\alpha^{2} \leq \beta$ law", r"the $\alpha^{2} \leq \beta$ law"),
        (r"pages 1--2 --- ``so'' a~b", "pages 1–2 — “so” a b"),
        (r"known \cite{a,b} facts", "known  facts"),
        (r"{\noopsort{1973c}}1981", "1981"),
        (r"the R$\backslash$'enyi $x$ entropy", "the Rényi $x$ entropy"),
        (r"{\$}x{\^{}}2{\$} \~{}n \^{o}", "$x^2$ ~n ô"),
        (r"a \textbraceleft{}-2\textbraceright{} \textbraceright", "a {-2} }"),
        ("plain text", "plain text"),
    ],
)
def test_latex_becomes_text_and_maths_stays(source: str, expected: str) -> None:
    assert unlatex(source) == expected


@pytest.mark.parametrize(
    ("text", "year", "day"),
    [
        ("2018 Jul-Aug", 2018, "2018-07-01"),
        ("1998 Dec-1999 Jan", 1998, "1998-12-01"),
        ("2015 Nov 2-8", 2015, "2015-11-02"),
        ("1998///Spring", 1998, None),
        ("2014/02/03/", 2014, "2014-02-03"),
        ("2014-02", 2014, "2014-02-01"),
        ("12 March 2014", 2014, "2014-03-12"),
        ("12-15 March 2014", 2014, "2014-03-12"),
        ("17.01.2014", 2014, "2014-01-17"),
        ("10.1.17.2014", 2014, None),
        ("31st March - 2 April 2014", 2014, "2014-03-31"),
        ("Mar. 3rd, 2014", 2014, "2014-03-03"),
        ("2014/13/45", 2014, None),
        ("no date", None, None),
        ("99999", None, None),
    ],
)
def test_dates_in_part(text: str, year: int | None, day: str | None) -> None:
    found = partial_date(text)
    assert found == (year, datetime.fromisoformat(f"{day}T00:00+00:00") if day else None)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (BibTex, "@article{a, title={Sand}, year=2024, month=mar}"),
        (Ris, "TY  - JOUR\nTI  - Sand\nPY  - 2024/03//\nER  - \n"),
        (Ris, "PMID- 1\nTI  - Sand\nDP  - 2024 Mar\n"),
        (Jsonl, '{"title": "Sand", "published": "2024-03"}'),
        (Crossref, '{"DOI": "10.1/x", "title": "T", "issued": {"date-parts": [[2024, 3]]}}'),
    ],
)
def test_a_month_without_a_day_stays_a_month(kind: type[Source], text: str) -> None:
    paper = only(kind, text)
    paper = record_of(paper, "library")
    assert (paper.day, paper.month, paper.precision) == (None, date(2024, 3, 1), "month")


SICI = "10.1002/(SICI)1097-0258(19980815/30)17:15/16<1661::AID-SIM968>3.0.CO;2-2"
ARXIV = {"arxiv": "2401.01234"}


def on(year: int, month: int, day: int) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


@pytest.mark.parametrize(
    ("fields", "name", "value"),
    [
        ("author={Jane Doe and Roe, R. and others}", "authors", ("Jane Doe", "R. Roe")),
        ("author={van der Berg, Jan}", "authors", ("Jan van der Berg",)),
        ("author={{Example Group, Inc.}}", "authors", ("Example Group, Inc.",)),
        ("author={King, Jr, Martin Luther}", "authors", ("Martin Luther King Jr",)),
        ("author={Mar{\\'\\i}a  L\\'opez}", "authors", ("María López",)),
        (
            "author={Doe,\n% not her sister\n Jane and\n  % nor he\n Roe, Rae}",
            "authors",
            ("Jane Doe", "Rae Roe"),
        ),
        ("journal={CoRR}, volume={abs/2401.01234}", "keys", ARXIV),
        ("journal={arXiv preprint arXiv:2401.01234}", "keys", ARXIV),
        ("howpublished={arXiv:hep-th/9901001}", "keys", {"arxiv": "hep-th/9901001"}),
        ("note={arXiv: 2401.01234, to appear}", "keys", ARXIV),
        ("note={A reply to arXiv:2401.01234}", "keys", {}),
        ("doi={<https://doi.org/10.1000/A\\_b>}", "keys", {"doi": "10.1000/a_b"}),
        (f"doi={{{SICI}}}", "keys", {"doi": SICI.lower()}),
        ("year=2018, month={4}, day={25}", "published", on(2018, 4, 25)),
        ("year=2018, month=apr, day=25", "published", on(2018, 4, 25)),
        ("year=2018, month={April 25}", "published", on(2018, 4, 25)),
        ("year=2018, month={4}", "published", on(2018, 4, 1)),
        ("year=2018, month={4}, day={31}", "published", on(2018, 4, 1)),
        ('journal="{Stars {of $x$}", year=2018', "venue", "Stars of $x$"),
        (r"journal={\apj}", "venue", "Astrophysical Journal"),
        (r"journal={{\apj}}", "venue", "Astrophysical Journal"),
        (r"journal={\apj{}}", "venue", "Astrophysical Journal"),
        ("url={https://example.org/a https://example.org/b}", "url", "https://example.org/a"),
        ("url={https://example.org/a\n  b}", "url", "https://example.org/ab"),
        ("howpublished={At \\url{https://example.org/a}}", "url", "https://example.org/a"),
    ],
)
def test_fields_of_bibtex(fields: str, name: str, value: object) -> None:
    paper = only(BibTex, f"@misc{{a, title={{T}}, {fields}}}")
    assert getattr(paper, name) == value and "<" not in paper.url


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            "SO  - Dunes\nYR  - 2019\nXR  - PUBMED 31000001",  # of Cochrane
            {"venue": "Dunes", "year": 2019, "keys": {"pmid": "31000001"}},
        ),
        (
            "AN  - PMC3600001\nU1  - 23600001[pmid]",
            {"keys": {"pmcid": "PMC3600001", "pmid": "23600001"}},
        ),
        ("UR  - https://x.org/pmc/articles/PMC3600001/", {"keys": {"pmcid": "PMC3600001"}}),
        ("C2  - PMC3600001", {"keys": {"pmcid": "PMC3600001"}}),
        ("C2  - 2019\nU1  - 5", {"keys": {}}),
        ("DB  - PubMed\nAN  - 123", {"keys": {"pmid": "123"}}),
        (
            f"DO  - {SICI}",
            {
                "keys": {"doi": SICI.lower()},
                "url": "https://doi.org/10.1002/(sici)1097-0258(19980815/30)17:15/"
                "16%3C1661::aid-sim968%3E3.0.co;2-2",
            },
        ),
        *(
            (f"{tag}  - Dunes", {"venue": "Dunes"})
            for tag in ("JF", "T2", "JO", "JA", "J2", "T3", "PB")
        ),
        *(
            (f"{tag}  - https://doi.org/10.1000/A", {"keys": {"doi": "10.1000/a"}})
            for tag in ("DO", "UR", "LK", "M3")
        ),
    ],
)
def test_fields_of_ris(lines: str, expected: dict[str, object]) -> None:
    paper = only(Ris, f"TY  - JOUR\nTI  - Sand\n{lines}\nER  - \n")
    assert {name: getattr(paper, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (BibTex, "@proceedings{a, booktitle={Sand}, editor={Doe, Jane}}"),
        (Ris, "TY  - CONF\nST  - Sand\nED  - Doe, Jane\nER  - \n"),
        *(
            (Ris, f"TY  - JOUR\n{tag}  - Sand\nAU  - Doe, Jane\nER  - \n")
            for tag in ("TI", "T1", "CT", "BT", "ST", "TT")
        ),
    ],
)
def test_a_reference_without_a_title_is_called_by_what_it_has(
    kind: type[Source], content: str
) -> None:
    paper = only(kind, content)
    assert (paper.title, paper.authors) == ("Sand", ("Jane Doe",))


def test_abbreviations_that_double_each_other_stay_small() -> None:
    definitions = "@string{a0={xxxxxxxx}}" + "".join(
        f"@string{{a{n + 1}=a{n} # a{n}}}\n" for n in range(60)
    )
    reading = read(BibTex, (definitions + "@misc{a, title=a60}").encode())
    assert reading.papers == () and "larger than" in reading.rejected[0].why


@pytest.mark.parametrize("kind", [BibTex, Ris])
def test_F12_a_zero_byte_costs_nothing(kind: type[Source]) -> None:
    content = libraries.BIBTEX if kind is BibTex else libraries.RIS
    spoilt = content.replace(b"Paper 1", b"Pap\0er 1").replace(b"\nTY", b"\n\0TY", 1)
    assert [paper.title for paper in read(kind, spoilt).papers] == [f"Paper {n}" for n in range(5)]


def of_rispy(content: str) -> int:
    return sum("title" in one or "primary_title" in one for one in rispy.loads(content))


def test_where_another_reader_finds_references_so_do_we() -> None:
    dice = random.Random(7)
    documents = [path.read_bytes() for path in sorted((FIXTURES / "ris").glob("*.ris"))]
    for number in range(150):
        known, another = dice.choices(documents, k=2)
        content = spoiled(dice, known, another, large=False)
        found = 0
        with suppress(Exception):  # readers give up in many ways
            found = of_rispy(content.decode(errors="replace"))
        assert read(Ris, content).papers or not found, (number, content)


def test_a_reference_that_stops_inside_a_line_is_rejected() -> None:
    reading = read(Ris, "TY  - JOUR\nTI  - Sand\nER  - \nTY  - JOUR\nTI  - Du")
    assert [paper.title for paper in reading.papers] == ["Sand"] and not reading.complete
    assert reading.rejected[0].why == "the document ends inside this reference"


# ── asking the services ─────────────────────────────────────────────────────────────


def search(first: str, last: str, query: str = "water") -> str:
    return (
        f"/esearch.fcgi?db=pubmed&tool=paper-monitor&term={query}&datetype=edat"
        f"&mindate={first.replace('/', '%2F')}&maxdate={last.replace('/', '%2F')}"
        "&retmode=json&retmax=5000"
    )


def fetch(numbers: range) -> str:
    ids = "%2C".join(map(str, numbers))
    return f"/efetch.fcgi?db=pubmed&tool=paper-monitor&id={ids}&retmode=xml"


def states(source: Source, validators: dict[str, str]) -> list[dict[str, str] | str]:
    """Return the state that each document carries, or why it could not be had."""
    found: list[dict[str, str] | str] = []
    for page in source.find(validators):
        try:
            document = page.load()
            assert document is not None
            found.append(dict(document.validators))
        except MonitorError as fault:
            found.append(str(fault))
    return found


def test_pubmed_is_searched_from_the_last_day_with_an_overlap(service: Service) -> None:
    service.web.answers(search("2025/05/23", "2025/06/01"), body=libraries.searched(range(250)))
    for numbers in (range(100), range(100, 200), range(200, 250)):
        service.web.answers(fetch(numbers), body=libraries.pubmed(numbers))
    before = {"until": "2025-05-30T08:00:00+00:00"}
    found = states(service.open(PubMed, query="water"), before)
    assert found == [before, before, {"until": NOW.isoformat()}]


@pytest.mark.parametrize(
    ("broken", "state"),
    [
        (Answer(body=b"<PubmedArticleSet></PubmedArticleSet>"), {}),
        (Answer(body=b"<html>"), {}),
        (Answer(body=b"Busy"), {}),
        (Answer(503), "127.0.0.1 answered 503 Service Unavailable"),
    ],
)
def test_F01_F06_a_page_without_records_moves_nothing(
    service: Service, broken: Answer, state: object
) -> None:
    service.web.answers(search("2025/05/02", "2025/06/01"), body=libraries.searched(range(150)))
    service.web.decides(fetch(range(100)), lambda _: broken)
    service.web.answers(fetch(range(100, 150)), body=libraries.pubmed(range(100, 150)))
    assert states(service.open(PubMed, query="water"), {}) == [state, {}]


def test_a_long_time_is_read_in_pieces_that_pubmed_can_list(service: Service) -> None:
    service.web.answers(search("2025/05/02", "2025/06/01"), body=libraries.searched(total=9000))
    service.web.answers(search("2025/05/02", "2025/05/17"), body=libraries.searched(range(5)))
    service.web.answers(search("2025/05/17", "2025/06/01"), body=libraries.searched(range(5, 9)))
    service.web.answers(fetch(range(5)), body=libraries.pubmed())
    service.web.answers(fetch(range(5, 9)), body=libraries.pubmed(range(5, 9)))
    assert states(service.open(PubMed, query="water"), {}) == [
        {"until": "2025-05-17T00:00:00+00:00"},
        {"until": NOW.isoformat()},
    ]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"esearchresult": {"ERROR": "Search Backend failed"}}', "Backend failed"),
        (b"<html>busy</html>", "not a response of PubMed's search"),
        (libraries.searched(range(3), total=9), "found 9 records and named 3"),
        (libraries.searched(total=5_001), r"5,001 records for 2025-05-02.*narrow the query"),
    ],
)
def test_F06_a_search_that_failed_is_no_empty_day(
    service: Service, body: bytes, words: str
) -> None:
    service.web.decides("*", lambda _: Answer(body=body))
    with pytest.raises(DocumentError, match=words):
        list(service.open(PubMed, query="water").find({}))


def page(year: int, first: int) -> str:
    return f"/api?q=attention+year%3A{year}%3A&h=1000&f={first}&c=0&format=json"


def test_dblp_is_asked_for_the_last_years_page_by_page(service: Service) -> None:
    service.web.answers(page(2025, 0), body=libraries.dblp_json(range(1000), total=1200))
    service.web.answers(page(2025, 1000), body=libraries.dblp_json(range(1000, 1200), total=1200))
    service.web.answers(page(2024, 0), body=libraries.dblp_json())
    found = states(service.open(Dblp, query="attention", url=service.web.url("/api")), {})
    assert all(isinstance(one, dict) for one in found)
    asked = [one.query["f"] for one in service.web.requests]
    assert asked == ["0", "1000", "0"]


def test_a_query_that_dblp_cannot_list_is_refused(service: Service) -> None:
    service.web.answers(page(2025, 0), body=libraries.dblp_json(total=10_001))
    with pytest.raises(DocumentError, match="narrow the query"):
        states(service.open(Dblp, query="attention", url=service.web.url("/api")), {})
