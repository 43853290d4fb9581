"""Kind `pubmed`: records of PubMed, from a search of its API or from its daily update files.

A search (esearch) answers in JSON with identifiers alone, whose records efetch returns as XML.
https://www.nlm.nih.gov/bsd/licensee/elements_descriptions.html names the elements,
https://www.ncbi.nlm.nih.gov/books/NBK25499/ the parameters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, cast
from xml.etree.ElementTree import Element

from msgspec import structs
from pydantic import Field, SecretStr

from monitor.errors import DocumentError
from monitor.http import Limits
from monitor.identity.reference_events import is_preprint
from monitor.model import (
    CONCERN,
    CORRECTION,
    RETRACTION,
    AskedWorks,
    Authority,
    Document,
    Paper,
    Reading,
    Rejected,
)
from monitor.setting_types import Unset
from monitor.sources import files, sandbox
from monitor.sources.api.about import AboutOptions, AboutSource
from monitor.sources.api.values import NO_TITLE, NoPaperError, doi_link, year_of
from monitor.sources.api.windows import UNTIL, ApiKey, Outline, PageRequest, Window
from monitor.sources.base import failure, reading
from monitor.sources.fields.affiliations import affiliations
from monitor.sources.fields.dates import day_of, parse_date, partial_date, within_reason
from monitor.sources.fields.identifiers import (
    Keys,
    identifier_pairs,
    keys_of,
    pairs_of,
    values_of,
)
from monitor.sources.fields.markup import text
from monitor.sources.fields.publication_types import NOTICES, type_and_subject, type_of
from monitor.sources.xml_records import XmlError, read_elements
from monitor.text import without_placeholder

MAX_UPDATE_BYTES = 128 * 1024 * 1024  # of a daily update file, compressed
BATCH_RECORDS = 100
MAX_WINDOW_RECORDS = 5_000  # of one window; esearch itself stops at 10,000
MAX_SEARCH_BYTES = 1024 * 1024  # the identifiers of a window need a tenth of it

_RECORDS = ("PubmedArticle", "PubmedBookArticle", "MedlineCitation", "DeleteCitation", "ERROR")
_OUTER = ("PubmedArticle", "PubmedBookArticle", "DeleteCitation")
_ROOTS = (
    "PubmedArticleSet",
    "PubmedBookArticleSet",
    "MedlineCitationSet",
    "DeleteCitation",
    "PubmedArticle",
    "PubmedBookArticle",
    "MedlineCitation",
    "ERROR",
    "eFetchResult",
)

_NO_TITLE = ("", "[Not Available].", "[Not Available]")
_ADDRESS = re.compile(r"(?<![\s.,;:])[\s.,;:]*+\bElectronic address:.*", re.DOTALL)
_PMC = re.compile(r"PMC\d{1,10}", re.ASCII)
_NOTES = "CommentsCorrectionsList/CommentsCorrections"
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
# How the record of a paper names notices about it.
_NOTICES_IN = {
    "RetractionIn": RETRACTION,
    "RetractedandRepublishedIn": RETRACTION,
    "PartialRetractionIn": CORRECTION,
    "ErratumIn": CORRECTION,
    "CorrectedandRepublishedIn": CORRECTION,
    "ExpressionOfConcernIn": CONCERN,
}


class PubMedOptions(AboutOptions):
    """A `query:` in PubMed's own syntax, or the files of a `path:`, or the works of libraries.

    With a query, `url` is another server of the same API; without one, it is one document.
    """

    exclusive = (("query", "about"), ("query", "path"))
    reads_url = True

    api_key: ApiKey = SecretStr("")
    email: Annotated[str, Unset("`contact`")] = Field("", description="an address for NCBI")
    first_days: int = Field(30, ge=1, le=365, description="days that the first run covers")


class PubMed(AboutSource):
    """Reads PubMed. A record is announced on the day on which it was added."""

    kind = "pubmed"
    assigns = ("pmid",)
    authority = Authority.EVERY
    Options = PubMedOptions
    options: PubMedOptions
    service = "PubMed"
    address = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils"
    enough_pages = 100
    independent_targets = True
    max_bytes = files.MAX_FILE_BYTES

    def read(self, document: Document) -> Reading:
        if document.content.lstrip()[:1] in (b"{", b"["):
            try:
                ids, total = read_search(document.content)
            except DocumentError as fault:
                return failure(str(fault))
            numbers = f"{len(ids)} of {total} PMIDs, no records"
            return failure(f"the document is a search result with {numbers}")
        records: list[Paper | Rejected] = []
        whole = True
        for element in read_elements(document.content, _RECORDS, roots=_ROOTS, outer=_OUTER):
            whole = whole and not isinstance(element, XmlError)
            try:
                records += read_record(element, self._clock(), notices=bool(self.options.about))
            except (NoPaperError, XmlError) as reason:
                records.append(Rejected(f"record {len(records) + 1}", str(reason)))
        result = reading(records, whole)
        papers = _with_subjects(result.papers) if self.options.about else result.papers
        return replace(result, papers=papers)

    @property
    def limits(self) -> Limits:
        """Three requests a second, ten with a key (NBK25497); an update file is large."""
        if self.options.reads_documents:
            return {"max_bytes": MAX_UPDATE_BYTES, "deadline": timedelta(minutes=10)}
        rate = 10 if self.options.api_key.get_secret_value() else 3
        return {} if self.options.url else {"apart": timedelta(seconds=1 / rate)}

    def windows(self, state: Mapping[str, str]) -> Iterator[Window]:
        """Search for days with few enough records; their targets are batches of PMIDs."""
        now = self._clock()
        last = parse_date(state.get(UNTIL, ""))
        today = now.date()
        fresh = min(last, now).date() if last else today - timedelta(self.options.first_days)
        first = fresh - timedelta(self.options.overlap_days) if last else fresh
        is_last = False
        while not is_last:
            first, end, ids = self._find_window(first, fresh, today)
            is_last = end >= today
            batches = range(0, len(ids), BATCH_RECORDS)
            targets = [",".join(ids[at : at + BATCH_RECORDS]) for at in batches]
            yield Window(_midnight(first), now if is_last else _midnight(end), is_last, targets)
            first = fresh = end

    def _find_window(self, first: date, fresh: date, end: date) -> tuple[date, date, list[str]]:
        """Find the days from `first` on with few enough records; the overlap is dropped first."""
        while True:
            days = {"mindate": f"{first:%Y/%m/%d}", "maxdate": f"{end:%Y/%m/%d}"}
            ids, total = self._search(self.options.query, datetype="edat", **days)
            if total <= MAX_WINDOW_RECORDS:
                if len(ids) < total:
                    raise DocumentError(f"PubMed found {total} records and named {len(ids)}")
                return first, end, ids
            if first < fresh:
                first = fresh
            elif end - first <= timedelta(1):
                why = f"PubMed has {total:,} records for {first}, more than {MAX_WINDOW_RECORDS:,}"
                raise DocumentError(why, "narrow the query")
            else:
                end = first + (end - first) / 2

    def names_of(self, work: Mapping[str, Sequence[str]]) -> Iterable[str]:
        return work.get("pmid") or [doi for doi in work.get("doi", ()) if '"' not in doi]

    def ask(self, identifiers: Sequence[str]) -> Document:
        """Fetch the records of works, and of the notices that these name.

        A search finds the PMIDs of DOIs.
        """
        pmids = [name for name in identifiers if name.isdigit()]
        asked = AskedWorks(tuple(identifiers), assigned=tuple(pmids))
        total = 0
        if words := [f'"{name}"[doi]' for name in identifiers if not name.isdigit()]:
            ids, total = self._search(" OR ".join(words))
            pmids += ids
        if not pmids:
            none = replace(asked, says_none=not total)
            return Document("", b"<PubmedArticleSet/>", self._clock(), works=none)
        records = self._records(pmids)
        answered = cast("AskedWorks | None", sandbox.ask(self, "answered", records, asked))
        named = cast("set[str]", sandbox.ask(self, "named", records)).difference(pmids)
        records = self._records([*pmids, *sorted(named)]) if named else records
        return replace(records, works=answered)

    def answered(self, document: Document, asked: AskedWorks) -> AskedWorks | None:
        """Return works with the PMIDs and DOIs of an answer; None for one that cannot be read."""
        elements = list(read_elements(document.content, _OUTER, roots=_ROOTS))
        records = [element for element in elements if isinstance(element, Element)]
        if len(records) < len(elements) or not document.complete:
            return None
        pmids = (_all(pmid).strip() for record in records for pmid in record.iterfind("*/PMID"))
        places = ("*/Article/ELocationID", "*/ELocationID", "*/ArticleIdList/*")
        own = [element for record in records for at in places for element in record.iterfind(at)]
        return replace(asked, answered=frozenset((*pmids, *values_of(_keys(own), "doi"))))

    def named(self, document: Document) -> set[str]:
        """Return the PMIDs of the notices about some works."""
        elements = read_elements(document.content, _OUTER, roots=_ROOTS)
        records = (element for element in elements if isinstance(element, Element))
        notes = (note for record in records for _, note in _notes_in(record))
        return set(filter(None, (_text_at(note, "PMID") for note in notes)))

    def _records(self, pmids: Sequence[str]) -> Document:
        return self.fetch(self._url("efetch", id=",".join(pmids), retmode="xml"))

    def _search(self, term: str, **dates: str) -> tuple[list[str], int]:
        most = str(MAX_WINDOW_RECORDS)
        url = self._url("esearch", term=term, **dates, retmode="json", retmax=most)
        return read_search(self.fetch(url).content)

    def page_url(self, request: PageRequest) -> str:
        return self._url("efetch", id=request.target, retmode="xml")

    def page_name(self, request: PageRequest) -> str:
        first, last = request.window.days
        return f"{first}..{last} from PMID {request.target.partition(',')[0]}"

    def outline(self, document: Document, request: PageRequest) -> Outline:
        """Outline a batch, in which there is at least one record."""
        records = self.read(document)
        return Outline(bool(records.complete and document.complete and records.papers))

    def _url(self, tool: str, **arguments: str) -> str:
        key = self.options.api_key.get_secret_value()
        email = self.options.email or self.contact
        client = {"tool": "paper-monitor", "email": email, "api_key": key}
        return self.address_of(f"/{tool}.fcgi", {"db": "pubmed", **client, **arguments})


def read_search(content: bytes) -> tuple[list[str], int]:
    """Return the PMIDs of an esearch response, and their total number; raises DocumentError."""
    if len(content) > MAX_SEARCH_BYTES:
        raise DocumentError(f"PubMed's search answered with more than {MAX_SEARCH_BYTES:,} bytes")
    try:
        response = json.loads(content)
        result = response.get("esearchresult", response)
        if error := str(result.get("ERROR") or response.get("error") or ""):
            raise DocumentError(f"PubMed answered with an error: {text(error)[:200]}")
        return [str(name) for name in result["idlist"] if str(name).isdigit()], int(result["count"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DocumentError("the JSON is not a response of PubMed's search") from None


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


# ── records ─────────────────────────────────────────────────────────────────────────


def read_record(
    element: Element | XmlError, now: datetime, *, notices: bool = False
) -> list[Paper]:
    """Return the papers of an element; raises NoPaperError, and the fault in its place.

    With `notices`, those about a paper that have no record of their own are before it.
    """
    if isinstance(element, XmlError):
        raise element
    if element.tag == "ERROR":
        raise NoPaperError(f"PubMed answered with an error: {text(_all(element))[:200]}")
    if element.tag != "DeleteCitation":
        paper = _paper(element, now)
        return [*(_unlisted_notices(paper, element) if notices else ()), paper]
    pmids = filter(str.isdigit, (_all(deleted).strip() for deleted in element.iter("PMID")))
    # Only the number of a record that NLM has deleted is given, so it is the title.
    return [
        Paper(f"(deleted) PMID {pmid}", keys={"pmid": pmid}, withdrawn=True, raw_id=pmid)
        for pmid in pmids
    ]


def _paper(record: Element, now: datetime) -> Paper:
    """Turn an article, or a book of NCBI's Bookshelf or a chapter of one, into a paper."""
    is_book = record.tag == "PubmedBookArticle"
    inner = _find(record, "BookDocument" if is_book else "MedlineCitation", ".")
    body = inner if is_book else inner.find("Article")
    if body is None:
        raise NoPaperError("record has no article")
    title = _text_at(body, "ArticleTitle")
    if title in _NO_TITLE:
        title = _text_at(body, "VernacularTitle", "Book/BookTitle") or title
    if not title:
        raise NoPaperError(NO_TITLE)
    issue = _date(_find(body, "Journal/JournalIssue/PubDate", "Book/PubDate"))
    own = _date(_find(body, "ArticleDate", "ContributionDate"))
    notes = inner.findall(_NOTES)
    types = [_all(t).strip() for t in inner.iterfind("Article/PublicationTypeList/PublicationType")]
    type_, about = type_and_subject(list(_notices(notes)), types)
    is_retracted = any(note.get("RefType") == "RetractionIn" for note in notes)
    pmid = _text_at(inner, "PMID")
    version = _find(inner, "PMID").get("Version", "")
    keywords = (text(_all(word)) for word in inner.iterfind("KeywordList/Keyword"))
    names = _find(body, "AuthorList[@Type='authors']", "AuthorList", "Book/AuthorList")
    identifiers = [
        *body.iterfind("ELocationID"),
        *inner.iterfind("ArticleIdList/*"),
        *record.iterfind("PubmedData/ArticleIdList/*"),
        *record.iterfind("PubmedBookData/ArticleIdList/*"),
    ]
    return Paper(
        title=title,
        abstract=_sections(_find(body, "Abstract")) or _other_abstract(inner),
        authors=_authors(names),
        # Until 2014 records had that of the first author alone, not in an AffiliationInfo.
        affiliations=affiliations(
            _all(place) for author in _valid(names) for place in author.iter("Affiliation")
        ),
        venue=_text_at(body, "Journal/Title", "Book/BookTitle")
        or _text_at(inner, "MedlineJournalInfo/MedlineTA"),
        # A chapter may be decades newer than its book.
        year=own[0] or issue[0] if is_book else issue[0] or own[0],
        published=within_reason(own[1] or issue[1], now),
        updated=within_reason(_date(_find(inner, "DateRevised"))[1], now),
        announced=within_reason(_entry_day(record), now),
        url=f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/" if pmid.isdigit() else "",
        keys=_with_preprints({**({"pmid": pmid} if pmid else {}), **_keys(identifiers)}, notes),
        categories=tuple(dict.fromkeys(filter(None, keywords))),
        version=int(version) if version.isdigit() and len(version) < 4 else None,
        withdrawn=is_retracted or "Retracted Publication" in types,
        raw_id=pmid,
        type=type_,
        about=about,
    )


def _all(element: Element) -> str:
    return "".join(element.itertext())


def _find(parent: Element, *paths: str) -> Element:
    """Return the first element at one of several paths, or an empty one."""
    elements = map(parent.find, paths)
    return next((element for element in elements if element is not None), Element("none"))


def _text_at(parent: Element, *paths: str) -> str:
    return next(filter(None, (text(_all(_find(parent, path))) for path in paths)), "")


def _other_abstract(citation: Element) -> str:
    """Return an abstract by another author or in another language, English first."""
    abstracts = sorted(citation.iterfind("OtherAbstract"), key=lambda a: a.get("Language") != "eng")
    return next(filter(None, map(_sections, abstracts)), "")


def _sections(abstract: Element) -> str:
    """Join the sections of a structured abstract, each after its label; some are only a label."""
    parts = []
    for section in abstract.iterfind("AbstractText"):
        label = text(section.get("Label", ""))
        words = text(_all(section))
        label = "" if label.upper() == "UNLABELLED" else label
        parts.append(f"{label.rstrip(':')}: {words}" if label and words else words or label)
    return without_placeholder(" ".join(filter(None, parts)))


def _authors(names: Element) -> tuple[str, ...]:
    return tuple(filter(None, map(_name, _valid(names))))


def _valid(names: Element) -> Iterator[Element]:
    return (author for author in names.iterfind("Author") if author.get("ValidYN") != "N")


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


def _with_preprints(keys: Keys, notes: Sequence[Element]) -> Keys:
    """Add the identifiers of the preprints that an article is the update of.

    Other updates, such as those of Cochrane's reviews, are works of their own.
    """
    pairs = list(pairs_of(keys))
    for note in notes:
        if note.get("RefType") == "UpdateOf":
            cited = _text_at(note, "RefSource")
            named = keys_of(identifier_pairs((f"pmid: {_text_at(note, 'PMID')}", cited)))
            # The name of the server is abbreviated ("Res Sq"): most are known by the DOI.
            venues = "", cited.partition(".")[0]
            if named and any(is_preprint(Paper("", venue=v, keys=named)) for v in venues):
                pairs += pairs_of(named)
    return keys_of(pairs)


def _notices(notes: list[Element]) -> Iterator[tuple[str, Iterator[tuple[str, str]]]]:
    """Yield the marks of a notice, each with PMID and DOI of the record that it cites."""
    for note in notes:
        mark = type_of([_CAPITAL.sub(" ", note.get("RefType", ""))])  # RetractionOf
        if mark in NOTICES:
            cited = (f"pmid: {_text_at(note, 'PMID')}", _text_at(note, "RefSource"))
            yield mark, identifier_pairs(cited)


def _with_subjects(papers: Sequence[Paper]) -> tuple[Paper, ...]:
    """Return papers, first the notices, about all identifiers of the works that are beside them."""
    works = {pmid: paper.keys for paper in papers for pmid in paper.identifiers("pmid")}
    named = []
    for paper in papers:
        subjects = (works.get(pmid, {}) for pmid in values_of(paper.about, "pmid"))
        pairs = [*pairs_of(paper.about), *(pair for keys in subjects for pair in pairs_of(keys))]
        named.append(structs.replace(paper, about=keys_of(pairs)))
    return tuple(sorted(named, key=lambda paper: not paper.about))


def _notes_in(record: Element) -> Iterator[tuple[str, Element]]:
    """Yield what the record of a paper says of notices about it, with their marks."""
    for note in record.iterfind(f"*/{_NOTES}"):
        if mark := _NOTICES_IN.get(note.get("RefType", "")):
            yield mark, note


def _unlisted_notices(paper: Paper, record: Element) -> Iterator[Paper]:
    """Yield the notices about a paper that have no record of their own."""
    for mark, note in _notes_in(record):
        if not _text_at(note, "PMID"):
            cited = _text_at(note, "RefSource")
            keys = keys_of(identifier_pairs((cited,)))
            yield Paper(
                f"{mark.capitalize()}: {paper.title}",
                venue=paper.venue,
                url=doi_link(keys),
                keys=keys,
                raw_id=f"{mark} of {paper.raw_id}: {cited}",
                type=mark,
                about=paper.keys,
            )


def _date(element: Element) -> tuple[int | None, datetime | None]:
    """Read a date in parts (month by number or name, or a season), or MEDLINE's free text."""
    if free := element.findtext("MedlineDate"):
        return partial_date(free)
    year, month, day = (element.findtext(part) or "" for part in ("Year", "Month", "Day"))
    return year_of(year), day_of(year, month, day) if month else None


def _entry_day(record: Element) -> datetime | None:
    """Return the day on which the record was added to PubMed."""
    paths = (f"*/History/PubMedPubDate[@PubStatus='{by}']" for by in ("entrez", "pubmed"))
    return next(filter(None, (_date(_find(record, path))[1] for path in paths)), None)
