"""What every kind of source keeps to: `read` always answers with a Reading, whatever it is given.

A kind is added to KINDS with one good document; everything else is asked of all of them: the
suite that kinds of other packages pass (`monitor.testing`), and what the sandbox adds.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from threading import Thread
from xml.sax.saxutils import escape

import pytest

from monitor import plugins
from monitor.model import Document, Reading, record_of
from monitor.resources import resource
from monitor.sources import sandbox
from monitor.sources.arxiv import Arxiv
from monitor.sources.base import Source
from monitor.sources.bibtex import BibTex
from monitor.sources.biorxiv import BioRxiv
from monitor.sources.crossref import Crossref
from monitor.sources.dblp import Dblp
from monitor.sources.europepmc import EuropePmc
from monitor.sources.feed.source import Feed
from monitor.sources.huggingface import HuggingFace
from monitor.sources.huggingface_page.source import HuggingFacePage
from monitor.sources.jsonl.source import Jsonl
from monitor.sources.oai.source import Oai
from monitor.sources.openalex import OpenAlex
from monitor.sources.openreview import OpenReview
from monitor.sources.pubmed import PubMed
from monitor.sources.ris import Ris
from monitor.sources.semanticscholar import SemanticScholar
from monitor.testing import SourceContract
from tests.patience import PATIENCE
from tests.sources import answers, dumps, libraries
from tests.sources.scenario import NOW, opened, read
from tests.sources.test_oai import oai, records

RSS = (
    b'<?xml version="1.0"?><rss version="2.0"><channel><title>c</title>'
    + b"".join(
        b"<item><title>Paper %d</title><guid>g%d</guid><description>Text %d.</description></item>"
        % (n, n, n)
        for n in range(5)
    )
    + b"</channel></rss>"
)
JSON = b'{"version": "https://jsonfeed.org/version/1.1", "items": [%s]}' % b",".join(
    b'{"id": "%d", "title": "Paper %d", "content_text": "Text."}' % (n, n) for n in range(5)
)
OAI = oai(records(*(f"Paper {n}" for n in range(5))))
SEED = (resource("seeds") / "000_431663cd178f853b.txt").read_bytes()
PAGE = b"\n\n".join(SEED.split(b"\n\n")[:15])
KINDS: list[tuple[type[Source], bytes]] = [
    (HuggingFacePage, PAGE),
    (Feed, RSS),
    (Feed, JSON),
    (Arxiv, RSS),
    (Arxiv, OAI),
    (Oai, OAI),
    *answers.KINDS,
    *libraries.KINDS,
    *dumps.KINDS,
]
NOTHING_NEW: dict[type[Source], tuple[bytes, ...]] = {
    HuggingFace: (b"[]",),
    Jsonl: (b"[]",),
}  # answers that say so, and are no failure
every_kind = pytest.mark.parametrize(
    ("kind", "good"), KINDS, ids=[f"{kind.kind}-{n}" for n, (kind, _) in enumerate(KINDS)]
)


for _number, (_kind, _good) in enumerate(KINDS):
    _name = f"Test{_kind.__name__}{_number}"
    _members = {
        "kind": _kind,
        "good": _good,
        "papers": 5,
        "nothing_new": NOTHING_NEW.get(_kind, ()),
    }
    globals()[_name] = type(_name, (SourceContract,), _members)


@every_kind
@pytest.mark.parametrize("count", [3, 5_000, 200_000])
@pytest.mark.parametrize("at_end", [False, True], ids=["at the beginning", "at the end"])
def test_F13_NUL_bytes_around_a_document_cost_no_record(
    kind: type[Source], good: bytes, count: int, at_end: bool
) -> None:
    """A file whose writer lost its power may end with them, a log that was truncated begin."""
    packed = good.startswith(b"\x1f\x8b")
    if packed and not at_end:
        pytest.skip("nothing writes NUL bytes before a compressed document")
    nulls = b"\0" * count
    reading = read_in_sandbox(kind, good + nulls if at_end else nulls + good)
    assert reading.papers == read(kind, good).papers
    assert reading.complete and not reading.error
    if packed or (kind is Jsonl and (count < 16 or good is dumps.LIST) and at_end):
        return  # padding
    (rejected,) = reading.rejected
    assert f"{count:,} NUL bytes in place of text" in rejected.why
    assert f"byte {len(good) if at_end else 0}" in rejected.where


@every_kind
def test_NUL_bytes_alone_are_an_empty_document(kind: type[Source], good: bytes) -> None:
    assert "empty" in read_in_sandbox(kind, b"\0" * 5_000).error


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (BioRxiv, b'{"messages": [{"status": "no posts found"}], "collection": []}'),
        (Crossref, b'{"status": "ok", "message": {"total-results": 0, "items": []}}'),
        (EuropePmc, b'{"hitCount": 0, "resultList": {"result": []}}'),
        (OpenAlex, b'{"meta": {"count": 0, "next_cursor": null}, "results": []}'),
        (OpenReview, b'{"notes": [], "count": 0}'),
        (SemanticScholar, b'{"total": 0, "offset": 0}'),
        (Oai, oai('<error code="noRecordsMatch">nothing changed</error>')),
        (Oai, oai("<ListRecords><resumptionToken>t</resumptionToken></ListRecords>")),
        (PubMed, b"<?xml version='1.0'?><PubmedArticleSet></PubmedArticleSet>"),
        (Dblp, libraries.dblp_json(range(0), total=0)),
        (Dblp, b'<result><hits total="0"/></result>'),
        (Jsonl, b'{"papers": []}'),
        (Jsonl, b"title,abstract\n"),
    ],
)
def test_F11_an_answer_of_no_records_is_no_failure(kind: type[Source], content: bytes) -> None:
    assert read(kind, content) == Reading()


def read_in_sandbox(kind: type[Source], content: bytes) -> Reading:
    return sandbox.read(opened(kind), Document("page", content, NOW))


def test_sources_may_be_read_at_the_same_time() -> None:
    readings: list[Reading] = []
    threads = [Thread(target=lambda: readings.append(read(Feed, RSS))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(readings) == 8 and all(r == readings[0] for r in readings)


# ── all fields of a record: hostile texts, placeholders, impossible dates ────────────

WEB = re.compile(r"(?:https?://[a-z0-9.-]+/[^\s\"<>]*)?")
OAI_RECORD = (
    '<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><ListRecords><record><header%s>'
    "<identifier>NAME</identifier></header><metadata>%s</metadata></record></ListRecords></OAI-PMH>"
)
AS_JSON: list[tuple[type[Source], str]] = [
    (
        BioRxiv,
        '{"messages": [{"status": "ok"}], "collection": [{"doi": "10.1101/NAME", "title": "WORDS",'
        ' "abstract": "TEXT", "authors": "WORDS", "date": "DAY", "version": "1",'
        ' "category": "WORDS", "server": "NAME"}]}',
    ),
    (
        Crossref,
        '{"DOI": "10.1000/NAME", "title": ["WORDS"], "abstract": "TEXT", "URL": "LINK",'
        ' "author": [{"name": "WORDS"}], "container-title": ["WORDS"], "subject": ["WORDS"],'
        ' "link": [{"URL": "LINK", "content-type": "application/pdf"}],'
        ' "posted": {"date-parts": [["YEAR", 3, 1]]}}',
    ),
    (
        Dblp,
        '{"result": {"hits": {"hit": {"info": {"title": "WORDS", "key": "NAME", "venue": "WORDS",'
        ' "authors": {"author": {"text": "WORDS"}}, "type": "WORDS", "ee": "LINK"}}}}}',
    ),
    (
        EuropePmc,
        '{"resultList": {"result": [{"id": "NAME", "source": "NAME", "title": "WORDS",'
        ' "abstractText": "TEXT", "authorString": "WORDS", "journalTitle": "WORDS",'
        ' "firstPublicationDate": "DAY", "dateOfRevision": "DAY", "pmcid": "NAME",'
        ' "keywordList": {"keyword": ["WORDS"]}, "fullTextUrlList": {"fullTextUrl":'
        ' [{"availabilityCode": "OA", "documentStyle": "pdf", "url": "LINK"}]}}]}}',
    ),
    (
        Feed,
        '[{"title": "WORDS", "summary": "TEXT", "id": "NAME", "url": "LINK", "pdf_url": "LINK",'
        ' "date_published": "DAY", "date_modified": "DAY", "authors": [{"name": "WORDS"}],'
        ' "tags": ["WORDS"]}]',
    ),
    (
        HuggingFace,
        '[{"paper": {"id": "NAME", "title": "WORDS", "summary": "TEXT", "publishedAt": "DAY",'
        ' "authors": [{"name": "WORDS"}]}}]',
    ),
    (
        Jsonl,
        '{"title": "WORDS", "abstract": ["TEXT"], "authors": ["WORDS"], "venue": "WORDS",'
        ' "url": "LINK", "pdf_url": "LINK", "categories": ["WORDS", {"name": "WORDS"}],'
        ' "published": "DAY", "updated": "DAY", "id": "NAME", "keys": {"own": "NAME"}}',
    ),
    (
        OpenAlex,
        '{"results": [{"id": "NAME", "doi": "LINK", "title": "WORDS", "ids": {"pmid": "NAME"},'
        ' "abstract_inverted_index": {"TEXT": [0]}, "topics": [{"display_name": "WORDS"}],'
        ' "authorships": [{"author": {"display_name": "WORDS"}}], "publication_date": "DAY",'
        ' "primary_location": {"landing_page_url": "LINK", "pdf_url": "LINK",'
        ' "source": {"display_name": "WORDS"}}}]}',
    ),
    (
        OpenReview,
        '{"notes": [{"id": "NAME", "forum": "NAME", "pdate": MOMENT, "mdate": MOMENT,'
        ' "content": {"title": "WORDS", "venue": "WORDS", "abstract": "TEXT",'
        ' "authors": ["WORDS"], "pdf": "LINK", "keywords": ["WORDS"]}}]}',
    ),
    (
        SemanticScholar,
        '{"data": [{"paperId": "NAME", "title": "WORDS", "abstract": "TEXT", "url": "LINK",'
        ' "authors": [{"name": "WORDS"}], "venue": "WORDS", "fieldsOfStudy": ["WORDS"],'
        ' "publicationDate": "DAY", "openAccessPdf": {"url": "LINK"},'
        ' "externalIds": {"DBLP": "NAME"}}]}',
    ),
]
AS_XML: list[tuple[type[Source], str]] = [
    (
        Feed,
        '<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" '
        'xmlns:prism="http://prismstandard.org/namespaces/basic/2.0/"><channel><item>'
        "<title>WORDS</title><link>LINK</link><guid>NAME</guid><dc:creator>WORDS</dc:creator>"
        "<pubDate>DAY</pubDate><description>TEXT</description>"
        "<prism:publicationName>WORDS</prism:publicationName>"
        "<category>WORDS</category></item></channel></rss>",
    ),
    *(
        (
            kind,
            (OAI_RECORD % ("", '<dc xmlns="http://purl.org/dc/elements/1.1/">%s</dc>'))
            % "<title>WORDS</title><creator>WORDS</creator><description>TEXT</description>"
            "<subject>WORDS</subject><source>WORDS</source><date>DAY</date>"
            "<identifier>LINK</identifier>",
        )
        for kind in (Oai, Arxiv)
    ),
    *(
        (
            Arxiv,
            (OAI_RECORD % ("", f'<{form} xmlns="http://arxiv.org/OAI/{form}/">%s</{form}>'))
            % "<id>2403.00001</id><title>WORDS</title><authors>WORDS</authors>"
            f"<abstract>TEXT</abstract><journal-ref>WORDS</journal-ref>{dates}",
        )
        for form, dates in (
            ("arXiv", "<created>DAY</created><updated>DAY</updated>"),
            ("arXivRaw", '<version version="v1"><date>1 Mar YEAR 12:00:00 GMT</date></version>'),
        )
    ),
    (
        Dblp,
        '<dblp><article key="NAME" mdate="DAY"><author>WORDS</author><title>WORDS</title>'
        "<journal>WORDS</journal><ee>LINK</ee></article></dblp>",
    ),
    (
        PubMed,
        "<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>NAME</PMID>"
        "<DateRevised>PARTS</DateRevised><Article><Journal><JournalIssue><PubDate>PARTS</PubDate>"
        "</JournalIssue><Title>WORDS</Title></Journal><ArticleTitle>WORDS</ArticleTitle>"
        "<Abstract><AbstractText>TEXT</AbstractText></Abstract><AuthorList><Author>"
        "<LastName>WORDS</LastName></Author></AuthorList></Article><KeywordList>"
        "<Keyword>WORDS</Keyword></KeywordList></MedlineCitation><PubmedData><History>"
        "<PubMedPubDate PubStatus='entrez'>PARTS</PubMedPubDate></History></PubmedData>"
        "</PubmedArticle></PubmedArticleSet>",
    ),
    (
        PubMed,
        "<PubmedArticleSet><PubmedBookArticle><BookDocument><PMID>NAME</PMID>"
        "<ArticleTitle>WORDS</ArticleTitle><ContributionDate>PARTS</ContributionDate><Abstract>"
        "<AbstractText>TEXT</AbstractText></Abstract><DateRevised>PARTS</DateRevised>"
        "</BookDocument></PubmedBookArticle></PubmedArticleSet>",
    ),
]
PLAIN: list[tuple[type[Source], str]] = [
    (
        BibTex,
        "@article{k, title={WORDS}, abstract={TEXT}, author={WORDS}, journal={WORDS}, url={LINK},"
        " keywords={WORDS}}",
    ),
    (
        Ris,
        "TY  - JOUR\nTI  - WORDS\nAB  - TEXT\nAU  - WORDS\nJO  - WORDS\nUR  - LINK\n"
        "L1  - LINK\nKW  - WORDS\nID  - NAME\nER  - \n",
    ),
    (Ris, "PMID- 38000001\nTI  - WORDS\nAB  - TEXT\n"),
]
DOCUMENTS = (*AS_JSON, *AS_XML, *PLAIN)
each_kind = pytest.mark.parametrize(("kind", "document"), DOCUMENTS)


def in_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def in_xml(text: str) -> str:
    return escape(text, {'"': "&quot;"})


def written(document: str, **words: str) -> bytes:
    """Return a document with words in place of their names, of 1 March 2025 by default."""
    encode = in_json if document[0] in "[{" else in_xml if document[0] == "<" else str
    year = words.pop("YEAR", "2025")
    moment = (datetime(int(year), 3, 1) - datetime(1970, 1, 1)).total_seconds() * 1000
    words = {
        "WORDS": "Sand",
        "TEXT": "Sand",
        "NAME": "1",
        "LINK": "",
        "DAY": f"{year}-03-01",
    } | words
    for name, text in words.items():
        document = document.replace(name, encode(text))
    document = document.replace("PARTS", "<Year>YEAR</Year><Month>3</Month><Day>1</Day>")
    return document.replace("MOMENT", f"{moment:.0f}").replace("YEAR", year).encode()


EVIL = {
    "WORDS": '<script>x</script><b onclick="y">Sand</b>',
    "TEXT": '<script>x</script><b onclick="y">Sand</b>',
    "NAME": '1"><img src=y onerror=z>',
    "LINK": "javascript:alert(1)",
}


@each_kind
def test_F17_what_is_hostile_is_inert(kind: type[Source], document: str) -> None:
    (paper,) = read(kind, written(document, **EVIL)).papers
    texts = {paper.title, paper.abstract, paper.venue, *paper.authors, *paper.categories}
    assert texts - {"", "Journal Articles"} == {"Sand"}
    assert WEB.fullmatch(paper.url) and WEB.fullmatch(paper.pdf_url)
    assert "<" not in f"{paper.keys}"


@each_kind
@pytest.mark.parametrize(
    ("text", "abstract"), [("N/A", ""), ("Abstract", ""), (".", ""), ("Sand.", "Sand.")]
)
def test_a_placeholder_is_no_abstract(
    kind: type[Source], document: str, text: str, abstract: str
) -> None:
    [paper] = map(sandbox.normalise, read(kind, written(document, TEXT=text)).papers)
    assert paper.title == "Sand" and paper.abstract == (abstract if "TEXT" in document else "")


@each_kind
def test_F13_dates_that_no_paper_can_have_are_dropped(kind: type[Source], document: str) -> None:
    has_dates = any(name in document for name in ("DAY", "YEAR", "PARTS", "MOMENT"))
    for year, days in (("2099", set()), ("1400", set()), ("2025", {"2025-03-01"})):
        (paper,) = read(kind, written(document, YEAR=year)).papers
        dates = {paper.published, paper.updated, paper.announced} - {None}
        assert {f"{at:%Y-%m-%d}" for at in dates} == (days if has_dates else set())


@pytest.mark.parametrize(
    ("kind", "document"),
    [
        (Crossref, '{"DOI": "10.1000/x", "title": ["T"], "issued": {"date-parts": [["DAY"]]}}'),
        (SemanticScholar, '{"paperId": "a", "title": "T", "year": "DAY"}'),
        *((kind, document) for kind, document in AS_XML if kind is Oai),
    ],
)
def test_F13_a_paper_of_a_year_alone_is_older_if_it_is_long_over(
    kind: type[Source], document: str
) -> None:
    for year, day in (("1981", datetime(1981, 1, 1, tzinfo=UTC)), ("2025", None)):
        (paper,) = read(kind, written(document, DAY=year)).papers
        assert (paper.published, paper.year) == (day, int(year))
        assert record_of(paper, "s").day is None
    if kind is Oai:
        assert read(kind, written(document, DAY="2099")).papers[0].year is None


def test_F17_names_are_texts_however_many_there_are() -> None:
    item = {"title": "T", "authors": ["Ada", "<b>Jane</b>", "Cy&nbsp;O. ", "Bo <sup>2</sup>"]}
    (paper,) = read(Feed, json.dumps([item]).encode()).papers
    assert paper.authors == ("Ada", "Jane", "Cy O.", "Bo")


def test_what_begins_an_identifier_again_and_again_is_a_title() -> None:
    title = "(arXiv:" * 2_000 + "1 [hep-ex])"
    feed = f'<rss version="2.0"><channel><item><title>{title}</title></item></channel></rss>'
    (paper,) = read(Feed, feed.encode()).papers
    assert paper.title == title.removesuffix("(arXiv:1 [hep-ex])")


def test_F17_a_deleted_record_is_called_by_a_name_without_markup() -> None:
    (paper,) = read(Oai, written(OAI_RECORD % (' status="deleted"', ""), **EVIL)).papers
    assert "<" not in f"{paper.title}{paper.keys}" and paper.withdrawn


# ── what messages quote of a document, which may be any other file ──────────────────

SECRET = "hunter2"
FILES = {
    "shadow": "root:$6$hunter2$abcdef:19000:0:99999:7:::\ndaemon:*:19000:0:99999:7:::\n",
    "environment": "API_KEY=hunter2\nPASSWORD=hunter2, x\n",
    "private key": "-----BEGIN PRIVATE KEY-----\nhunter2b3BlbnNzaC\n-----END PRIVATE KEY-----\n",
    "yaml": "password: hunter2\nuser: x\n",
    "ini": "[db]\npassword = hunter2\n",
    "netrc": "machine x login y password hunter2\n",
    "accounts": "alice,hunter2\nbob,hunter2\n",
    "account": '{"type": "service_account", "private_key": "hunter2"}\n',
    "faulty json": '{"password": "hunter2", oops}\n{"password": "hunter2", oops}\n',
    "xml": "<config><password>hunter2</password></config>",
    "faulty xml": "<config password='hunter2'><x></config>",
    "words": "hunter2 " * 2_000,
}


@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
@pytest.mark.parametrize("kind", sorted(plugins.SOURCES.names()))
def test_a_file_of_another_kind_is_not_quoted(kind: str, content: str) -> None:
    source_class = plugins.SOURCES.load(kind)
    assert source_class.kind == kind
    reading = sandbox.read(opened(source_class), Document("page", content.encode(), NOW))
    assert reading.error and not reading.papers
    assert SECRET not in reading.error
    assert not [one for one in reading.rejected if SECRET in one.where + one.why]


def test_the_columns_of_a_table_of_papers_are_quoted() -> None:
    reading = read(Jsonl, b"Name of work;Authors;DOI\nx;y;z\n")
    assert reading.error.endswith("; its columns are: Name of work, Authors, DOI")


def test_a_broken_record_of_a_paper_is_quoted() -> None:
    reading = read(Jsonl, b'{"title": "A"}\n{"id": 1, "title": "B", oops}\n{"key": "x", oops}\n')
    assert [one.why for one in reading.rejected] == [
        'not JSON: {"id": 1, "title": "B", oops}',
        "not JSON",
    ]
