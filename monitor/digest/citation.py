"""How a paper is cited: what kind of work it is, and where and when it appeared. Pure.

Exports and the metadata of pages are made of this. Most sources do not say what kind of work a
record is: then its identifiers and its venue do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from monitor.digest.shown import to_readable_text
from monitor.identity.venues import Kind
from monitor.identity.venues import venue as read_venue
from monitor.model import Paper
from monitor.text import clean, split_inverted, split_person
from monitor.text.arxiv_categories import ARXIV_ARCHIVES
from monitor.text.registrants import RegistrantKind, kind_of, may_be_draft, registrant


class WorkType(StrEnum):
    """Kinds of works that reference managers tell apart."""

    PREPRINT = "preprint"
    ARTICLE = "journal article"
    CONFERENCE_PAPER = "conference paper"
    CHAPTER = "book chapter"
    BOOK = "book"
    THESIS = "thesis"
    REPORT = "report"
    DATASET = "dataset"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Author:
    """A name; of organisations, and where the family name is not known, `family` is all of it."""

    family: str
    given: str = ""
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Citation:
    """The facts of a reference beside its title."""

    # The kind of work, found as `work_type` says.
    type: WorkType
    # In the order of the record, each with the parts of the name that are known.
    authors: tuple[Author, ...] = ()
    # The journal, the proceedings, the university or the institution; "" for a preprint server.
    venue: str = ""
    # The server of a preprint, "" for other works.
    server: str = ""
    # (2024, 10, 7), (2024, 10), (2024,) or (), as far as it is known.
    date: tuple[int, ...] = ()
    # The DOI of the preprint or of the publication, as `type` says; else the first one.
    doi: str = ""
    # The arXiv id, also of a paper that was published since.
    arxiv: str = ""
    # The first category at arXiv, "" without an arXiv id.
    arxiv_class: str = ""
    # The PubMed id, "" for none.
    pmid: str = ""

    @property
    def year(self) -> int | None:
        return self.date[0] if self.date else None


# By `Paper.type`, in the words of Crossref, OpenAlex, PubMed, dblp, Semantic Scholar and BibTeX.
# "article" is none: OpenAlex and dblp's mirrors have conference papers as that.
_TYPES = {
    word.strip(): type_
    for type_, words in {
        WorkType.PREPRINT: """
            preprint|posted content|working paper|unpublished|informal and other publications
        """,
        WorkType.ARTICLE: "journal article|journalarticle|journal articles|research article",
        WorkType.CONFERENCE_PAPER: """
            proceedings article|conference paper|conference|conferencepaper|inproceedings
            |conference and workshop papers
        """,
        WorkType.CHAPTER: """
            book chapter|chapter|book section|book part|incollection|inbook
            |parts in books or collections
        """,
        WorkType.BOOK: "book|monograph|edited book|reference book|books",
        WorkType.THESIS: "dissertation|thesis|phdthesis|phd thesis|mastersthesis|masters thesis",
        WorkType.REPORT: "report|techreport|technical report|tech report",
        WorkType.DATASET: "dataset|data|data and artifacts",
    }.items()
    for word in words.split("|")
}
# How dblp's keys begin, which say what it is.
_DBLP_TYPES = {
    "journals/corr/": WorkType.PREPRINT,
    "journals/": WorkType.ARTICLE,
    "conf/": WorkType.CONFERENCE_PAPER,
    "phd/": WorkType.THESIS,
    "books/": WorkType.BOOK,
}
_THESIS = re.compile(r"\b(?:thesis|dissertation)\b", re.IGNORECASE)
_REPORT = re.compile(r"\b(?:technical|tech\.?|research) rep(?:ort|\.)", re.IGNORECASE)
# Journals that are named as if they were proceedings of a conference.
_PROCEEDINGS_OF_SOCIETIES = re.compile(
    r"\bproc(?:eedings|\.)? (?:of )?(?:the )?"
    r"(?:national academy|natl\.? acad|royal soc|r\.? soc|ieee$|vldb endowment|institution of"
    r"|(?:london|american|edinburgh|cambridge) (?:math|phil))",
    re.IGNORECASE,
)
_VENUE_TYPES = {
    Kind.PREPRINT: WorkType.PREPRINT,
    Kind.CONFERENCE: WorkType.CONFERENCE_PAPER,
    Kind.JOURNAL: WorkType.ARTICLE,
    None: WorkType.ARTICLE,
}
# The word that parts names, for BibTeX in any case: "Smith AND Sons".
SEVERAL_NAMES = re.compile(r"\band\b", re.IGNORECASE)
_ARXIV = "arXiv"


def cite(paper: Paper) -> Citation:
    dois = _values(paper, "doi")
    type_ = work_type(paper)
    is_preprint = type_ is WorkType.PREPRINT
    server = _server(paper) if is_preprint else ""
    arxiv = "".join(_values(paper, "arxiv")[:1])
    classes = (name for name in paper.categories if name.split(".")[0] in ARXIV_ARCHIVES)
    return Citation(
        type_,
        authors=tuple(map(read_author, filter(str.strip, paper.authors))),
        # The venue of a preprint is its server, or says where it was submitted.
        venue="" if is_preprint and _names_server(paper.venue) else one_line(paper.venue),
        server=server,
        date=_date(paper),
        doi=next((doi for doi in dois if may_be_draft(doi) == is_preprint), "".join(dois[:1])),
        arxiv=arxiv,
        arxiv_class=next(classes, "") if arxiv else "",
        pmid="".join(_values(paper, "pmid")[:1]),
    )


def _values(paper: Paper, scheme: str) -> list[str]:
    """Return identifiers as one word each: a control character would end biber."""
    return ["".join(clean(value).split()) for value in paper.identifiers(scheme)]


def work_type(paper: Paper) -> WorkType:
    """Return what kind of work a paper is. The first of these that says something decides:

    1. its type, but for a preprint that a journal or conference has published since, and for
       articles that only a preprint server has;
    2. dblp's key;
    3. its venue;
    4. identifiers of a preprint server or a repository, else those that articles have.
    """
    stated = _TYPES.get(paper.type)
    dois = paper.identifiers("doi")
    is_draft = bool(paper.identifiers("arxiv")) or any(map(may_be_draft, dois))
    is_published = any(kind_of(doi) is RegistrantKind.PUBLISHER for doi in dois)
    by_venue = _type_of_venue(paper.venue)
    if stated is WorkType.PREPRINT:
        at_venue = by_venue not in (None, WorkType.PREPRINT)
        return by_venue if by_venue and at_venue and is_published else stated
    if stated and not (stated is WorkType.ARTICLE and is_draft and not is_published):
        return stated
    for key in paper.identifiers("dblp"):
        for beginning, type_ in _DBLP_TYPES.items():
            if key.startswith(beginning):
                return type_
    if by_venue:
        return by_venue
    if is_draft:
        return WorkType.PREPRINT
    if any(kind_of(doi) is RegistrantKind.DATA for doi in dois):
        return WorkType.DATASET
    has_journal = (paper.type and is_published) or paper.identifiers("pmid")
    return WorkType.ARTICLE if stated or has_journal else WorkType.OTHER


def _type_of_venue(venue: str) -> WorkType | None:
    if not venue.strip():
        return None
    if _THESIS.search(venue):
        return WorkType.THESIS
    if _REPORT.search(venue):
        return WorkType.REPORT
    if _PROCEEDINGS_OF_SOCIETIES.search(venue):
        return WorkType.ARTICLE
    return _VENUE_TYPES[read_venue(venue).kind]


def _names_server(venue: str) -> bool:
    """Whether a venue is a preprint server, and not where something was submitted."""
    kind = read_venue(venue).kind
    return kind is Kind.PREPRINT and not re.search(r"\bsubmitted\b", venue, re.IGNORECASE)


def _server(paper: Paper) -> str:
    """Return where a preprint is: arXiv, the registrant of its DOI, or its venue."""
    if paper.identifiers("arxiv"):
        return _ARXIV
    places = f"{paper.venue} {paper.url}".lower()
    for doi in filter(may_be_draft, paper.identifiers("doi")):
        # bioRxiv and medRxiv share their prefixes.
        names = registrant(doi).names
        return next((name for name in names if name.lower() in places), names[0])
    return one_line(paper.venue) if _names_server(paper.venue) else ""


def _date(paper: Paper) -> tuple[int, ...]:
    if paper.day and paper.year in (None, paper.day.year):
        return paper.day.year, paper.day.month, paper.day.day
    if paper.month and paper.year in (None, paper.month.year):
        return paper.month.year, paper.month.month
    # A preprint whose first day is unknown is cited as the version that was read.
    is_version = paper.updated and any(map(may_be_draft, paper.identifiers("doi")))
    year = paper.year or (paper.updated.year if paper.updated and is_version else None)
    return (year,) if year else ()


def read_author(written: str) -> Author:
    """Return the parts of a name, in either order: "Jane Doe" or "Doe, Jane"."""
    name = one_line(written)
    person = None if SEVERAL_NAMES.search(name) else split_person(name) or split_inverted(name)
    return Author(*person) if person else Author(name)


def one_line(text: str) -> str:
    """Return a text of a record as programs without LaTeX show it."""
    source = clean(text)
    return " ".join((clean(to_readable_text(source)) or source).split())


def keywords(paper: Paper) -> Iterable[str]:
    return dict.fromkeys(filter(None, map(one_line, paper.categories)))
