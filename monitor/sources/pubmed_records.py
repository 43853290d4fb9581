"""Turns the XML records of PubMed into papers: articles, books, and deleted records.

https://www.nlm.nih.gov/bsd/licensee/elements_descriptions.html names the elements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from xml.etree.ElementTree import Element

from monitor.model import COMMENT, CONCERN, CORRECTION, RETRACTION, Paper, Rejected
from monitor.sources.api.values import year_of
from monitor.sources.fields.dates import day_of, partial_date, within_print_era
from monitor.sources.fields.identifiers import Keys, identifier_pairs, keys_of
from monitor.sources.fields.markup import text
from monitor.sources.fields.publication_types import type_and_subject
from monitor.text import without_placeholder

_NO_TITLE = ("", "[Not Available].", "[Not Available]")
_UNLABELLED = "UNLABELLED"
_ADDRESS = re.compile(r"[\s.,;:]*\bElectronic address:.*", re.DOTALL)
_PMC = re.compile(r"PMC\d{1,10}", re.ASCII)
# The type of a notice by RefType.
_NOTICES = {
    "RetractionOf": RETRACTION,
    "PartialRetractionOf": CORRECTION,
    "ErratumFor": CORRECTION,
    "ExpressionOfConcernFor": CONCERN,
    "CommentOn": COMMENT,
}


def read_record(element: Element, where: str, now: datetime) -> Iterator[Paper | Rejected]:
    if element.tag == "ERROR":
        yield Rejected(where, f"PubMed answered with an error: {text(_all(element))[:200]}")
    elif element.tag == "DeleteCitation":
        for pmid in filter(
            str.isdigit, (_all(deleted).strip() for deleted in element.iter("PMID"))
        ):
            # Only the number of a record that NLM has deleted is given, so it is the title.
            title = f"(deleted) PMID {pmid}"
            yield Paper(title, keys={"pmid": pmid}, withdrawn=True, raw_id=pmid)
    elif element.tag == "PubmedBookArticle":
        yield _book(element, where, now)
    else:
        yield _article(element, where, now)


def _article(record: Element, where: str, now: datetime) -> Paper | Rejected:
    inner = record.find("MedlineCitation")
    citation = record if inner is None else inner
    article = citation.find("Article")
    if article is None:
        return Rejected(where, "record has no article")
    title = _text_at(article, "ArticleTitle")
    if title in _NO_TITLE:
        title = _text_at(article, "VernacularTitle") or title
    if not title:
        return Rejected(where, "record has no title")
    year, issued = _date(article.find("Journal/JournalIssue/PubDate"))
    online_year, published = _date(article.find("ArticleDate"))
    type_, about = type_and_subject(list(_notices(citation)), _types(citation))
    identifiers = [*article.iter("ELocationID"), *record.iterfind("PubmedData/ArticleIdList/*")]
    return Paper(
        title=title,
        **_identity(citation.find("PMID"), identifiers, citation.findall("KeywordList/Keyword")),
        abstract=_sections(article.find("Abstract")) or _other_abstract(citation),
        authors=_authors(article.find("AuthorList")),
        venue=_text_at(article, "Journal/Title")
        or _text_at(citation, "MedlineJournalInfo/MedlineTA"),
        year=year or online_year,
        published=within_print_era(published or issued, now),
        updated=within_print_era(_date(citation.find("DateRevised"))[1], now),
        announced=within_print_era(_entry_day(record), now),
        withdrawn=_is_retracted(citation),
        type=type_,
        about=about,
    )


def _book(record: Element, where: str, now: datetime) -> Paper | Rejected:
    """A book of NCBI's Bookshelf, or a chapter of one."""
    book = record.find("BookDocument")
    if book is None:
        return Rejected(where, "record has no book document")
    title = _text_at(book, "ArticleTitle") or _text_at(book, "Book/BookTitle")
    if not title:
        return Rejected(where, "record has no title")
    chapter = book.find("AuthorList[@Type='authors']")
    writers = chapter if chapter is not None else book.find("AuthorList")
    year, issued = _date(book.find("Book/PubDate"))
    contributed_year, contributed = _date(book.find("ContributionDate"))
    identifiers = [
        *book.iterfind("ArticleIdList/*"),
        *record.iterfind("PubmedBookData/ArticleIdList/*"),
    ]
    return Paper(
        title=title,
        **_identity(book.find("PMID"), identifiers, book.findall("KeywordList/Keyword")),
        abstract=_sections(book.find("Abstract")),
        authors=_authors(writers if writers is not None else book.find("Book/AuthorList")),
        venue=_text_at(book, "Book/BookTitle"),
        year=contributed_year or year,  # a chapter may be decades newer than its book
        published=within_print_era(contributed or issued, now),
        updated=within_print_era(_date(book.find("DateRevised"))[1], now),
        announced=within_print_era(_entry_day(record), now),
    )


def _identity(
    pmid_element: Element | None, identifiers: list[Element], keywords: list[Element]
) -> dict[str, Any]:
    """Return the fields of a paper that articles and books have in the same form."""
    pmid = text(_all(pmid_element))
    version = pmid_element.get("Version", "") if pmid_element is not None else ""
    return {
        "raw_id": pmid,
        "url": f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/" if pmid.isdigit() else "",
        "keys": {**({"pmid": pmid} if pmid else {}), **_keys(identifiers)},
        "categories": tuple(dict.fromkeys(filter(None, (text(_all(word)) for word in keywords)))),
        "version": int(version) if version.isdigit() and len(version) < 4 else None,
    }


def _all(element: Element | None) -> str:
    return "" if element is None else "".join(element.itertext())


def _text_at(element: Element, path: str) -> str:
    return text(_all(element.find(path)))


def _other_abstract(citation: Element) -> str:
    """Return an abstract by another author or in another language, English first."""
    abstracts = sorted(citation.iterfind("OtherAbstract"), key=lambda a: a.get("Language") != "eng")
    return next(filter(None, map(_sections, abstracts)), "")


def _sections(abstract: Element | None) -> str:
    """Join the sections of a structured abstract, each after its label; some are only a label."""
    if abstract is None:
        return ""
    parts = []
    for section in abstract.iterfind("AbstractText"):
        label = text(section.get("Label", ""))
        words = text(_all(section))
        if label.upper() == _UNLABELLED:
            label = ""
        parts.append(f"{label.rstrip(':')}: {words}" if label and words else words or label)
    return without_placeholder(" ".join(filter(None, parts)))


def _authors(names: Element | None) -> tuple[str, ...]:
    authors = () if names is None else names.iterfind("Author")
    return tuple(filter(None, (_name(a) for a in authors if a.get("ValidYN") != "N")))


def _name(author: Element) -> str:
    given = "ForeName" if author.find("ForeName") is not None else "Initials"
    parts = (_text_at(author, part) for part in (given, "LastName", "Suffix"))
    name = " ".join(filter(None, parts))
    return _ADDRESS.sub("", _text_at(author, "CollectiveName")) or name


def _keys(elements: list[Element]) -> Keys:
    """Return DOI and PMC number; lists of the same name elsewhere belong to references."""
    doi = [
        _all(element)
        for element in elements
        if (element.get("IdType") or element.get("EIdType")) == "doi"
        and element.get("ValidYN") != "N"
    ]
    pmc = [_all(element).strip() for element in elements if element.get("IdType") == "pmc"]
    pmcid = pmc[0] if pmc and _PMC.fullmatch(pmc[0]) else ""
    return keys_of((*identifier_pairs(doi), ("pmcid", pmcid)))


def _is_retracted(citation: Element) -> bool:
    retracted = any(note.get("RefType") == "RetractionIn" for note in _notes(citation))
    return retracted or "Retracted Publication" in _types(citation)


def _types(citation: Element) -> list[str]:
    types = citation.iterfind("Article/PublicationTypeList/PublicationType")
    return [_all(element).strip() for element in types]


def _notes(citation: Element) -> Iterator[Element]:
    return citation.iterfind("CommentsCorrectionsList/CommentsCorrections")


def _notices(citation: Element) -> Iterator[tuple[str, Iterator[tuple[str, str]]]]:
    """Yield the marks of a notice, each with PMID and DOI of the record that it cites."""
    for note in _notes(citation):
        if mark := _NOTICES.get(note.get("RefType", "")):
            cited = (f"pmid: {_text_at(note, 'PMID')}", _text_at(note, "RefSource"))
            yield mark, identifier_pairs(cited)


def _date(element: Element | None) -> tuple[int | None, datetime | None]:
    """Read a date in parts (month by number or name, or a season), or MEDLINE's free text."""
    if element is None:
        return None, None
    if free := element.findtext("MedlineDate"):
        return partial_date(free)
    year, month, day = (element.findtext(part) or "" for part in ("Year", "Month", "Day"))
    return year_of(year), day_of(year, month, day) if month else None


def _entry_day(record: Element) -> datetime | None:
    """Return the day on which the record was added to PubMed."""
    days = {day.get("PubStatus"): day for day in record.iterfind("*/History/PubMedPubDate")}
    dates = (_date(days.get(status))[1] for status in ("entrez", "pubmed"))
    return next(filter(None, dates), None)
