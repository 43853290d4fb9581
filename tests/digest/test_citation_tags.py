"""What reference managers find on pages: the metadata of one paper, and COinS of several."""

from __future__ import annotations

import re
from urllib.parse import parse_qs

import pytest

from monitor.digest.citation import WorkType
from monitor.digest.citation_tags import citation_tags, context_object
from monitor.digest.links import web_url
from monitor.model import Paper
from tests.exports.papers import OF_EACH_KIND, hostile

VENUES = {
    WorkType.PREPRINT: ("citation_publisher", "rft.publisher"),
    WorkType.ARTICLE: ("citation_journal_title", "rft.jtitle"),
    WorkType.CONFERENCE_PAPER: ("citation_conference_title", "rft.btitle"),
    WorkType.CHAPTER: ("citation_inbook_title", "rft.btitle"),
    WorkType.BOOK: ("citation_publisher", "rft.pub"),
    WorkType.THESIS: ("citation_dissertation_institution", "rft.inst"),
    WorkType.REPORT: ("citation_technical_report_institution", "rft.pub"),
}


def test_the_metadata_of_an_article() -> None:
    assert list(citation_tags(OF_EACH_KIND[WorkType.ARTICLE])) == [
        ("citation_title", "Plans of a journal"),
        ("citation_author", "Doe, Jane"),
        ("citation_author", "Hsiao, V."),
        ("citation_author", "van Beethoven, Ludwig"),
        ("citation_author", "King, Martin, Jr."),
        ("citation_author", "Qwen Team"),
        ("citation_publication_date", "2024/10/07"),
        ("citation_journal_title", "Journal of Plans & Agents"),
        ("citation_doi", "10.1000/xyz"),
        ("citation_pmid", "123"),
        ("citation_abstract_html_url", "https://doi.org/10.1000/xyz"),
    ]


def test_the_metadata_of_a_preprint() -> None:
    tags = dict(citation_tags(OF_EACH_KIND[WorkType.PREPRINT]))
    assert (tags["citation_arxiv_id"], tags["dc.type"]) == ("2410.05434", "preprint")
    assert tags["citation_pdf_url"] == "https://arxiv.org/pdf/2410.05434"
    assert tags["citation_publication_date"] == "2024/10"
    assert (tags["citation_abstract"], tags["citation_keywords"]) == ("We plan.", "cs.LG")


@pytest.mark.parametrize("type_", VENUES)
def test_a_venue_has_the_name_that_tells_the_type(type_: WorkType) -> None:
    paper = OF_EACH_KIND[type_]
    (tag, field) = VENUES[type_]
    place = paper.venue or "arXiv"
    assert dict(citation_tags(paper))[tag] == place
    assert parse_qs(context_object(paper))[field] == [place]


# The matrices of the Key/Encoded-Value formats of ANSI/NISO Z39.88-2004: the keys of each format
# and its genres. No reader of the registries judges them: coins-parser of PyPI returns the pairs,
# and Zotero's own reader is not published as a package. This is the text of the standard.
_PEOPLE = {"au", "aucorp", "aufirst", "auinit", "auinit1", "auinitm", "aulast", "ausuffix"}
_KEYS = {
    "journal": _PEOPLE
    | {"artnum", "atitle", "chron", "coden", "date", "eissn", "epage", "genre", "isbn", "issn"}
    | {"issue", "jtitle", "pages", "part", "quarter", "sici", "spage", "ssn", "stitle", "title"}
    | {"volume"},
    "book": _PEOPLE
    | {"atitle", "bici", "btitle", "date", "edition", "epage", "genre", "isbn", "issn", "pages"}
    | {"place", "pub", "series", "spage", "title", "tpages"},
    "dissertation": _PEOPLE
    | {"advisor", "cc", "co", "date", "degree", "inst", "isbn", "title", "tpages"},
    "dc": {"contributor", "coverage", "creator", "date", "description", "format", "identifier"}
    | {"language", "publisher", "relation", "rights", "source", "subject", "title", "type"},
}
_GENRES = {
    "journal": {"article", "conference", "issue", "journal", "preprint", "proceeding", "unknown"},
    "book": {"book", "bookitem", "conference", "document", "proceeding", "report", "unknown"},
}
_REPEATED = {"rft.au", "rft.aucorp", "rft.creator", "rft.contributor", "rft.subject", "rft_id"}
_W3CDTF = re.compile(r"\d{4}(-\d\d(-\d\d)?)?")
_NAMESPACE = re.compile(r"info:(doi|pmid)/\S+|https?://\S+")


@pytest.mark.parametrize(
    "paper", [*OF_EACH_KIND.values(), *hostile()], ids=lambda paper: paper.title[:20]
)
def test_a_context_object_keeps_to_the_formats_of_the_standard(paper: Paper) -> None:
    written = context_object(paper)
    assert re.fullmatch(r"[A-Za-z0-9_.~%&=/:-]+", written), "UTF-8, percent-encoded"
    fields = parse_qs(written, strict_parsing=True, errors="strict")
    [version] = fields.pop("ctx_ver")
    [format] = fields.pop("rft_val_fmt")
    assert version == "Z39.88-2004"
    prefix, _, scheme = format.rpartition(":")
    assert prefix == "info:ofi/fmt:kev:mtx" and scheme in _KEYS
    assert all(_NAMESPACE.fullmatch(name) for name in fields.pop("rft_id", []))
    assert {name.removeprefix("rft.") for name in fields} <= _KEYS[scheme]
    assert {name for name, values in fields.items() if len(values) > 1} <= _REPEATED
    assert set(fields.get("rft.genre", [])) <= _GENRES.get(scheme, set())
    assert all(_W3CDTF.fullmatch(date) for date in fields.get("rft.date", []))


def test_a_context_object_is_what_openurl_has() -> None:
    assert parse_qs(context_object(OF_EACH_KIND[WorkType.ARTICLE])) == {
        "ctx_ver": ["Z39.88-2004"],
        "rft_val_fmt": ["info:ofi/fmt:kev:mtx:journal"],
        "rft.genre": ["article"],
        "rft.atitle": ["Plans of a journal"],
        "rft.jtitle": ["Journal of Plans & Agents"],
        "rft.date": ["2024-10-07"],
        "rft.au": [
            *("Doe, Jane", "Hsiao, V.", "van Beethoven, Ludwig", "King, Martin, Jr.", "Qwen Team"),
        ],
        "rft_id": ["info:doi/10.1000/xyz", "info:pmid/123", "https://doi.org/10.1000/xyz"],
    }
    preprint = parse_qs(context_object(OF_EACH_KIND[WorkType.PREPRINT]))
    assert preprint["rft.type"] == ["preprint"] and "+" not in context_object(Paper("A b"))


@pytest.mark.parametrize(
    ("url", "encoded"),
    [
        ('https://x.org/{1}?a=|b^`<>"#[c]', "https://x.org/%7B1%7D?a=%7Cb%5E%60%3C%3E%22#%5Bc%5D"),
        ("https://x.org/100%_of%20it\\a", "https://x.org/100%25_of%20it%5Ca"),
        ("http://[::1]:8/é", "http://[::1]:8/é"),
        ("https://x.org/a(b);c,d=e&f+g~h!i*j'k@l:m$", "https://x.org/a(b);c,d=e&f+g~h!i*j'k@l:m$"),
        ("javascript:{}", ""),
    ],
)
def test_what_an_address_cannot_have_is_percent_encoded(url: str, encoded: str) -> None:
    assert web_url(url) == encoded and web_url(encoded) == encoded
