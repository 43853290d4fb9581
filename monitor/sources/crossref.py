"""Kind `crossref`: works from the REST API of Crossref, where publishers register DOIs.

https://api.crossref.org/swagger-ui: /works with cursors; abstracts are JATS mark-up (ANSI/NISO
Z39.96), dates have one to three parts.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import ClassVar, cast
from urllib.parse import quote

from msgspec import structs

from monitor.errors import FetchError
from monitor.http import Limits
from monitor.http.addresses import redact_url
from monitor.model import (
    COMMENT,
    RETRACTION,
    AskedWorks,
    Authority,
    Bound,
    Document,
    Paper,
    Reading,
)
from monitor.sources import sandbox
from monitor.sources.api.about import AboutOptions, AboutSource, batches
from monitor.sources.api.records import ApiSource, Listing
from monitor.sources.api.values import (
    NoPaperError,
    Record,
    doi_link,
    doi_page,
    first_published,
    get_text,
    plain_text,
    terms,
    title_of,
)
from monitor.sources.api.windows import FilterOptions, PageRequest
from monitor.sources.fields.affiliations import affiliations
from monitor.sources.fields.dates import partial_date, within_reason
from monitor.sources.fields.identifiers import Keys, identifier_pairs, keys_of, pairs_of
from monitor.sources.fields.markup import unescape_tags
from monitor.sources.fields.publication_types import NOTICES, type_and_subject, type_of
from monitor.text import plain

PAGE = 200

# When readers could see a work in some form.
_DATES = ("published-online", "posted", "published", "issued", "published-print")
_JATS_HEADING = re.compile(
    r"<(?:jats:)?title>\s*(?:abstract|summary)[\s:.]*</(?:jats:)?title>", re.I
)
_TWICE = re.compile(r"&amp;(?=(?:[lg]t|amp|quot|apos|nbsp|#x?[0-9a-f]{1,6});)", re.IGNORECASE)
_HEADING = re.compile(r"^(?:ABSTRACT|Abstract:)[\s:.]*(?=\S)")
# One formula in several forms: TeX is the source, MathML repeats it.
_ALTERNATIVES = re.compile(
    r"<(?:jats:)?alternatives>(?P<all>(?:(?!<(?:jats:)?alternatives>).)*?)</(?:jats:)?alternatives>",
    re.DOTALL,
)
_TEX = re.compile(
    r"<(?:jats:)?tex-math[^<>]*>(?P<tex>(?:(?!<(?:jats:)?tex-math).)*?)</(?:jats:)?tex-math>",
    re.DOTALL,
)
_TEX_DOCUMENT = re.compile(
    r"\\documentclass(?:(?!\\(?:documentclass|begin\{)).)*+\\begin\{document\}"
    r"(?P<tex>(?:(?!\\documentclass).)*?)\\end\{document\}",
    re.DOTALL,
)
_COMMENTS = ("is-comment-on", "is-reply-to", "is-review-of")
_SAME_WORK = ("is-preprint-of", "has-preprint", "is-version-of", "has-version")
# The fields of works that are asked about, without references and abstracts. Crossref refuses the
# whole request for a field that cannot be selected, such as `subtype`.
SELECT = (
    "DOI,URL,title,subtitle,original-title,author,editor,container-title,type,relation,issued"
    ",published,published-online,published-print,posted,created,update-to,updated-by"
)


class CrossrefOptions(FilterOptions, AboutOptions):
    """Settings: a `query` of free text and a `filter` such as "issn:1234-5678", or `about`."""

    query_settings: ClassVar[tuple[str, ...]] = (*FilterOptions.query_settings, "about")
    exclusive = (("query", "about"), ("filter", "about"))


class Crossref(ApiSource, AboutSource):
    """Reads Crossref by the day on which a DOI was registered (created)."""

    kind = "crossref"
    assigns = ("doi",)
    authority = Authority.EVERY
    Options = CrossrefOptions
    options: CrossrefOptions
    service = "Crossref"
    lists = ("message.items",)
    total_path = "message.total-results"
    cursor_path = "message.next-cursor"
    singles = ("", "message")
    record_id = "DOI"
    address = "https://api.crossref.org"
    preset = "crossref"

    def read(self, document: Document) -> Reading:
        if not self.options.about:
            return super().read(document)
        works, reading = self._works_in(document)
        return replace(reading, papers=_with_notices(works))

    def _works_in(self, document: Document) -> tuple[list[tuple[Record, Paper]], Reading]:
        """Return the records that gave papers, with these."""
        listing, reading = self._read(document)
        now = self._clock()
        papers = {paper.raw_id: paper for paper in reading.papers}
        works = ((item, papers.get(get_text(item, "DOI").lower())) for item in listing.items)
        return [(Record(item, now), paper) for item, paper in works if paper], reading

    def listing(self, response: Record) -> Listing:
        """Find the records of a response, or of several that were joined."""
        if response.at("joined").value is None:
            return super().listing(response)
        listings = [super(Crossref, self).listing(page) for page in response.items("joined")]
        totals = [listing.total for listing in listings if listing.total is not None]
        items = [item for listing in listings for item in listing.items]
        return Listing(items, sum(totals) if totals else None)

    def names_of(self, work: Mapping[str, Sequence[str]]) -> Iterable[str]:
        return work.get("doi", ())

    def ask(self, identifiers: Sequence[str]) -> Document:
        """Ask about works, and then about the notices and articles that their records name."""
        works = list(self._works(identifiers))
        joined = self._joined(works)
        asked = tuple(identifiers)
        named = cast("list[str]", sandbox.ask(self, "named", joined))
        answered: AskedWorks | None = AskedWorks(asked, says_none=True)
        if works:
            answered = cast("AskedWorks | None", sandbox.ask(self, "answered", joined, asked))
        # Articles come before their preprints, whose records have no journal.
        further = chain.from_iterable(map(self._works, batches(named)))
        return replace(self._joined([*further, *works]), works=answered)

    def answered(self, document: Document, asked: tuple[str, ...]) -> AskedWorks | None:
        """Return about which works an answer is; None for one that cannot be read."""
        listing, reading = self._read(document)
        if reading.error or not (reading.complete and document.complete):
            return None
        dois = frozenset(get_text(item, "DOI").lower() for item in listing.items)
        return AskedWorks(asked, dois, says_none=listing.total == 0)

    def named(self, document: Document) -> list[str]:
        """Return the DOIs of the notices about works, and of what preprints among them became."""
        works, _ = self._works_in(document)
        notices = {_doi(by) for record, _ in works for _, by in _updates(record, "updated-by")}
        published = {doi for record, _ in works for doi in _published_dois(record)}
        return sorted((notices | published) - {"", *(paper.raw_id for _, paper in works)})

    def _works(self, dois: Sequence[str]) -> Iterator[Document]:
        """Fetch the records of works; a filter cannot have a DOI with a comma."""
        filters = [f"doi:{doi}" for doi in dois if "," not in doi]
        who = {"mailto": self.contact}
        if filters:
            selected = {"filter": ",".join(filters), "rows": len(filters), "select": SELECT}
            yield self.fetch(self.address_of("/works", selected | who))
        for doi in dois:
            if "," in doi:
                try:
                    yield self.fetch(self.address_of(f"/works/{quote(doi, safe='')}", who))
                except FetchError as fault:  # 404 for a DOI of another registration agency
                    if not fault.body.startswith(b"Resource not found"):
                        raise

    def _joined(self, answers: Sequence[Document]) -> Document:
        content = b'{"joined": [%s]}' % b",".join(answer.content for answer in answers)
        whole = all(answer.complete for answer in answers)
        return Document("", content, self._clock(), url=redact_url(self.base), complete=whole)

    @property
    def limits(self) -> Limits:
        """A list a second is what Crossref allows without a `contact`."""
        asks = self.options.about and not self.options.url
        return {"apart": timedelta(seconds=1)} if asks else {}

    def paper(self, record: Record) -> Paper:
        doi = _doi(record)
        if not doi:
            raise NoPaperError("record has no DOI")
        titles = map(_unescape_once_more, record.texts("title") + record.texts("original-title"))
        title = _with_subtitle(record, title_of(*titles))
        year, published = first_published(_dates(record), record.now)
        group = record.text("group-title") if record.text("subtype") == "preprint" else ""
        subjects = list(_subjects(record))
        notices = [(mark, [("doi", of)]) for mark, of in subjects if of not in ("", doi)]
        type_, about = type_and_subject(notices, (record.text("subtype"), record.text("type")))
        paper = Paper(
            title=title,
            abstract=_abstract(record.text("abstract")),
            authors=record.names("author", "editor"),
            affiliations=affiliations(
                _unescape_once_more(of_author.text("name"))
                for author in record.items("author")
                for of_author in author.items("affiliation")
            ),
            venue=plain_text(_unescape_once_more(_venue(record))),
            year=year,
            published=published,
            url=record.link("URL") or doi_page(doi),
            pdf_url=_pdf(record),
            keys=_keys(record, doi),
            categories=terms((*record.texts("subject"), group)),
            # Some publishers register a notice with the DOI of the article itself.
            withdrawn=(RETRACTION, doi) in subjects
            or any(mark == RETRACTION for mark, _ in _updates(record, "updated-by")),
            raw_id=plain_text(doi),
            type=type_,
            about=about,
        )
        named = (_notice(mark, by, paper) for mark, by in _updates(record, "updated-by"))
        return structs.replace(paper, notices=tuple(n for n in named if n.type != COMMENT))

    def page_url(self, request: PageRequest) -> str:
        first, last = request.window.days
        window = f"from-created-date:{first},until-created-date:{last}"
        parameters = {
            "filter": ",".join(filter(None, (window, self.options.filter))),
            "rows": PAGE,
            "cursor": request.cursor or "*",
            "query.bibliographic": self.options.query,
            "mailto": self.contact,
        }
        return self.address_of("/works", parameters)


def _with_subtitle(record: Record, title: str) -> str:
    """Add the subtitle to a title, unless the publisher already did."""
    subtitles = (plain_text(_unescape_once_more(text)) for text in record.texts("subtitle"))
    subtitle = next(filter(None, subtitles), "")
    if not subtitle or plain(title).endswith(plain(subtitle)):
        return title
    return f"{title} {subtitle}" if title[-1] in ":?!–—" else f"{title}: {subtitle}"


def _abstract(jats: str) -> str:
    """Remove the heading "Abstract", and keep one form of each formula."""
    text = _ALTERNATIVES.sub(_one_form, _JATS_HEADING.sub(" ", _unescape_once_more(jats)))
    return _HEADING.sub("", plain_text(_TEX_DOCUMENT.sub(r"\g<tex>", text)))


def _unescape_once_more(text: str) -> str:
    """Undo the second escaping of signs and tags by some publishers."""
    return unescape_tags(_TWICE.sub("&", text))


def _one_form(match: re.Match[str]) -> str:
    tex = _TEX.search(match["all"])
    return tex["tex"] if tex else match["all"]


def _venue(record: Record) -> str:
    """Return where a work is published; of a preprint the server."""
    institution = next((server.text("name") for server in record.items("institution")), "")
    own = institution if record.text("subtype") == "preprint" else ""
    venue = record.text("container-title", "event.name", "institution")
    return venue or own or record.text("group-title") or institution


def _dates(record: Record) -> list[tuple[int | None, datetime | None]]:
    """Return the year and the day of all dates of publication.

    An article of 1981 that went online in 2003 is of 1981. When the DOI was registered
    (`created`) is no such date: it only bounds a year, or a later date, that has no day yet.
    """
    *dates, (registered, day) = (_date(record, name) for name in (*_DATES, "created"))
    first_year = min((year for year, _ in dates if year), default=None)
    has_day = any(day for year, day in dates if year == first_year)
    if day and registered and first_year and registered <= first_year and not has_day:
        dates.append((first_year, Bound(day.year, day.month, day.day, tzinfo=UTC)))
    return dates


def _date(record: Record, name: str) -> tuple[int | None, datetime | None]:
    """Read [[2021, 7, 8]]; parts may be missing or null."""
    parts = filter(None, (part.text() for part in record.items(f"{name}.date-parts.0")))
    year, day = partial_date("-".join(parts))
    return year, within_reason(day, record.now)


def _keys(record: Record, doi: str) -> Keys:
    """Return the DOI, and those of the preprint or journal article that is the same work."""
    arxiv = [pair for pair in identifier_pairs((doi,)) if pair[0] == "arxiv"]
    own = arxiv or [("doi", doi)]  # arXiv's DOI has no other information
    same = (related for relation in _SAME_WORK for related in record.items(f"relation.{relation}"))
    named = (f"{related.text('id-type')}:{related.text('id')}" for related in same)
    return keys_of((*own, *identifier_pairs(named)))


def _pdf(record: Record) -> str:
    links = (
        entry.link("URL")
        for entry in record.items("link")
        if entry.text("content-type") == "application/pdf"
        and entry.text("intended-application") != "text-mining"
    )
    return next(links, "")


def _updates(record: Record, field: str) -> list[tuple[str, Record]]:
    """Return the notices about this work (`updated-by`), or its own subjects (`update-to`).

    Each has its mark. A record of Retraction Watch whose type was changed is there with both types,
    in no order: the milder one counts.
    """
    marked = [
        (mark, update)
        for update in record.items(field)
        if (mark := type_of([update.text("type")])) in NOTICES
    ]
    by_gravity = sorted(marked, key=lambda notice: NOTICES.index(notice[0]))
    mildest = {_record_id(update): mark for mark, update in by_gravity}
    return [
        (mark, update)
        for mark, update in marked
        if not (id := _record_id(update)) or mark == mildest[id]
    ]


def _record_id(update: Record) -> str:
    id = update.text("record-id")
    return id and f"{update.text('source')} {id}"


def _subjects(record: Record) -> Iterator[tuple[str, str]]:
    """Yield the type of this work as a notice, and the DOI of the work that it is about."""
    for mark, work in _updates(record, "update-to"):
        yield mark, work.text("DOI").lower()
    for relation in _COMMENTS:
        for work in record.items(f"relation.{relation}"):
            if work.text("id-type") in ("", "doi"):
                yield COMMENT, work.text("id").lower()


# ── works that are asked about ──────────────────────────────────────────────────────


def _doi(record: Record) -> str:
    return record.text("DOI").lower()


def _published_dois(record: Record) -> list[str]:
    """Return the DOIs of what a preprint became."""
    related = record.items("relation.is-preprint-of")
    pairs = identifier_pairs(work.text("id") for work in related)
    return [doi for scheme, doi in pairs if scheme == "doi"]


def _with_notices(works: Sequence[tuple[Record, Paper]]) -> tuple[Paper, ...]:
    """Return works, and before them the notices about them that are not retracted themselves.

    What a preprint became has the preprint's DOI, too, whether its publisher knows that or not.
    """
    void = {paper.raw_id for record, paper in works if _is_void(record, paper)}
    preprints = defaultdict(list)
    for record, paper in works:
        for doi in _published_dois(record):
            preprints[doi].append(("doi", paper.raw_id))
    papers = []
    notices = []
    for record, paper in works:
        if paper.raw_id in void:
            continue
        updates = _updates(record, "updated-by")
        standing = [(mark, update) for mark, update in updates if _doi(update) not in void]
        notices += [_notice(mark, update, paper) for mark, update in standing]
        is_retracted = len(standing) == len(updates) or RETRACTION in dict(standing)
        withdrawn = paper.withdrawn and is_retracted
        keys = keys_of((*pairs_of(paper.keys), *preprints[paper.raw_id]))
        papers.append(structs.replace(paper, withdrawn=withdrawn, keys=keys, notices=()))
    return (*notices, *papers)


def _is_void(record: Record, paper: Paper) -> bool:
    """Whether a record is a notice that was retracted by another one."""
    retracted_by = {_doi(by) for mark, by in _updates(record, "updated-by") if mark == RETRACTION}
    return paper.type in NOTICES and not retracted_by <= {"", paper.raw_id}


def _notice(mark: str, update: Record, work: Paper) -> Paper:
    """Return a notice as the record of its work names it."""
    doi = work.raw_id
    own = _doi(update)
    own = "" if own == doi else own
    keys = keys_of([("doi", own)])
    (year, day) = _date(update, "updated")
    return Paper(
        f"{mark.capitalize()}: {work.title}",
        venue=work.venue,
        year=year,
        published=day,
        url=doi_link(keys),  # that of the work would be an identifier
        keys=keys,
        raw_id=own or f"{mark} of {doi}, {day or year}",
        type=mark,
        about={"doi": doi},
    )
