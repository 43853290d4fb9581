"""No kind lets mark-up into a text, or anything but an address of the web into a link."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from xml.sax.saxutils import escape

import pytest

from monitor.model import Paper
from monitor.sources.arxiv import Arxiv
from monitor.sources.base import Source
from monitor.sources.bibtex import BibTex
from monitor.sources.biorxiv import BioRxiv
from monitor.sources.crossref import Crossref
from monitor.sources.dblp import Dblp
from monitor.sources.europepmc import EuropePmc
from monitor.sources.feed.source import Feed
from monitor.sources.huggingface import HuggingFace
from monitor.sources.jsonl.source import Jsonl
from monitor.sources.oai.source import Oai
from monitor.sources.openalex import OpenAlex
from monitor.sources.openreview import OpenReview
from monitor.sources.pubmed import PubMed
from monitor.sources.ris import Ris
from monitor.sources.semanticscholar import SemanticScholar
from tests.sources.scenario import read

EXPLAINED = {
    "EVIL": '<script>x</script><b onclick="y">Sand</b>',
    "NAME": '1"><img src=y onerror=z>',
    "LINK": "javascript:alert(1)",
}
WEB = re.compile(r"(?:https?://[a-z0-9.-]+/[^\s\"<>]*)?")
OAI = (
    '<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><ListRecords><record><header%s>'
    "<identifier>NAME</identifier></header><metadata>%s</metadata></record></ListRecords></OAI-PMH>"
)
AS_JSON: list[tuple[type[Source], str]] = [
    (
        BioRxiv,
        '{"messages": [{"status": "ok"}], "collection": [{"doi": "10.1101/NAME", "title": "EVIL",'
        ' "abstract": "EVIL", "authors": "EVIL", "category": "EVIL", "server": "NAME"}]}',
    ),
    (
        Crossref,
        '{"DOI": "10.1000/NAME", "title": ["EVIL"], "abstract": "EVIL", "URL": "LINK",'
        ' "author": [{"name": "EVIL"}], "container-title": ["EVIL"], "subject": ["EVIL"],'
        ' "link": [{"URL": "LINK", "content-type": "application/pdf"}]}',
    ),
    (
        Dblp,
        '{"result": {"hits": {"hit": {"info": {"title": "EVIL", "key": "NAME", "venue": "EVIL",'
        ' "authors": {"author": {"text": "EVIL"}}, "type": "EVIL", "ee": "LINK"}}}}}',
    ),
    (
        EuropePmc,
        '{"resultList": {"result": [{"id": "NAME", "source": "NAME", "title": "EVIL",'
        ' "abstractText": "EVIL", "authorString": "EVIL", "journalTitle": "EVIL", "pmcid": "NAME",'
        ' "keywordList": {"keyword": ["EVIL"]}, "fullTextUrlList": {"fullTextUrl":'
        ' [{"availabilityCode": "OA", "documentStyle": "pdf", "url": "LINK"}]}}]}}',
    ),
    (
        Feed,
        '[{"title": "EVIL", "summary": "EVIL", "id": "NAME", "url": "LINK", "pdf_url": "LINK",'
        ' "authors": [{"name": "EVIL"}], "tags": ["EVIL"]}]',
    ),
    (
        HuggingFace,
        '[{"paper": {"id": "NAME", "title": "EVIL", "summary": "EVIL",'
        ' "authors": [{"name": "EVIL"}]}}]',
    ),
    (
        Jsonl,
        '{"title": "EVIL", "abstract": "EVIL", "authors": ["EVIL"], "venue": "EVIL", "id": "NAME",'
        ' "url": "LINK", "pdf_url": "LINK", "categories": ["EVIL", {"name": "EVIL"}],'
        ' "keys": {"own": "NAME"}}',
    ),
    (
        OpenAlex,
        '{"results": [{"id": "NAME", "doi": "LINK", "title": "EVIL", "ids": {"pmid": "NAME"},'
        ' "abstract_inverted_index": {"EVIL": [0]}, "topics": [{"display_name": "EVIL"}],'
        ' "authorships": [{"author": {"display_name": "EVIL"}}], "primary_location":'
        ' {"landing_page_url": "LINK", "pdf_url": "LINK", "source": {"display_name": "EVIL"}}}]}',
    ),
    (
        OpenReview,
        '{"notes": [{"id": "NAME", "forum": "NAME", "content": {"title": "EVIL", "venue": "EVIL",'
        ' "abstract": "EVIL", "authors": ["EVIL"], "pdf": "LINK", "keywords": ["EVIL"]}}]}',
    ),
    (
        SemanticScholar,
        '{"data": [{"paperId": "NAME", "title": "EVIL", "abstract": "EVIL", "url": "LINK",'
        ' "authors": [{"name": "EVIL"}], "venue": "EVIL", "fieldsOfStudy": ["EVIL"],'
        ' "openAccessPdf": {"url": "LINK"}, "externalIds": {"DBLP": "NAME"}}]}',
    ),
]
AS_XML: list[tuple[type[Source], str]] = [
    (
        Feed,
        '<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" '
        'xmlns:prism="http://prismstandard.org/namespaces/basic/2.0/"><channel><item>'
        "<title>EVIL</title><link>LINK</link><guid>NAME</guid><dc:creator>EVIL</dc:creator>"
        "<description>EVIL</description><prism:publicationName>EVIL</prism:publicationName>"
        "<category>EVIL</category></item></channel></rss>",
    ),
    (
        Oai,
        OAI
        % (
            "",
            '<dc xmlns="http://purl.org/dc/elements/1.1/"><title>EVIL</title><creator>EVIL'
            "</creator><description>EVIL</description><subject>EVIL</subject><source>EVIL</source>"
            "<identifier>LINK</identifier></dc>",
        ),
    ),
    (
        Arxiv,
        OAI
        % (
            "",
            '<arXivRaw xmlns="http://arxiv.org/OAI/arXivRaw/"><id>2403.00001</id><title>EVIL'
            "</title><authors>EVIL</authors><abstract>EVIL</abstract><journal-ref>EVIL"
            "</journal-ref></arXivRaw>",
        ),
    ),
    (
        Dblp,
        '<dblp><article key="NAME"><author>EVIL</author><title>EVIL</title><journal>EVIL</journal>'
        "<ee>LINK</ee></article></dblp>",
    ),
    (
        PubMed,
        "<PubmedArticleSet><MedlineCitation><PMID>NAME</PMID><Article><Journal><Title>EVIL</Title>"
        "</Journal><ArticleTitle>EVIL</ArticleTitle><Abstract><AbstractText>EVIL</AbstractText>"
        "</Abstract><AuthorList><Author><LastName>EVIL</LastName></Author></AuthorList></Article>"
        "<KeywordList><Keyword>EVIL</Keyword></KeywordList></MedlineCitation></PubmedArticleSet>",
    ),
]
PLAIN: list[tuple[type[Source], str]] = [
    (
        BibTex,
        "@article{k, title={EVIL}, abstract={EVIL}, author={EVIL}, journal={EVIL}, url={LINK},"
        " keywords={EVIL}}",
    ),
    (
        Ris,
        "TY  - JOUR\nTI  - EVIL\nAB  - EVIL\nAU  - EVIL\nJO  - EVIL\nUR  - LINK\nL1  - LINK\n"
        "KW  - EVIL\nID  - NAME\nER  - \n",
    ),
]


def written(document: str, how: Callable[[str], str] = str) -> str:
    for name, said in EXPLAINED.items():
        document = document.replace(name, how(said))
    return document


def in_json(said: str) -> str:
    return json.dumps(said)[1:-1]


def in_xml(said: str) -> str:
    return escape(said, {'"': "&quot;"})


DOCUMENTS = [
    *((kind, written(document, in_json)) for kind, document in AS_JSON),
    *((kind, written(document, in_xml)) for kind, document in AS_XML),
    *((kind, written(document)) for kind, document in PLAIN),
]


def texts(paper: Paper) -> Iterator[str]:
    yield from (paper.title, paper.abstract, paper.venue, *paper.authors, *paper.categories)


@pytest.mark.parametrize(("kind", "content"), DOCUMENTS)
def test_F17_what_is_hostile_is_inert(kind: type[Source], content: str) -> None:
    (paper,) = read(kind, content.encode()).papers
    assert set(texts(paper)) - {"", "Journal Articles"} == {"Sand"}
    assert WEB.fullmatch(paper.url) and WEB.fullmatch(paper.pdf_url)
    assert "<" not in f"{paper.keys}"


def test_F17_names_are_texts_however_many_there_are() -> None:
    item = {"title": "T", "authors": ["Ada", "<b>Jane</b>", "Cy&nbsp;O. ", "Bo <sup>2</sup>"]}
    (paper,) = read(Feed, json.dumps([item]).encode()).papers
    assert paper.authors == ("Ada", "Jane", "Cy O.", "Bo")


def test_an_identifier_without_end_is_none() -> None:
    record = {"DOI": f"10.1000/{'x' * 300}", "title": ["T"]}
    assert read(Crossref, json.dumps(record).encode()).papers[0].keys == {}


def test_what_begins_an_identifier_again_and_again_is_a_title() -> None:
    title = "(arXiv:" * 2_000 + "1 [hep-ex])"
    feed = f'<rss version="2.0"><channel><item><title>{title}</title></item></channel></rss>'
    (paper,) = read(Feed, feed.encode()).papers
    assert paper.title == title.removesuffix("(arXiv:1 [hep-ex])")


def test_F17_a_deleted_record_is_called_by_a_name_without_markup() -> None:
    content = written(OAI % (' status="deleted"', ""), in_xml)
    (paper,) = read(Oai, content.encode()).papers
    assert "<" not in f"{paper.title}{paper.keys}" and paper.withdrawn
