"""Kind `crossref`: works from the REST API of Crossref, where publishers register DOIs.

https://api.crossref.org/swagger-ui: /works with cursors; abstracts are JATS mark-up (ANSI/NISO
Z39.96), dates have one to three parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from monitor.model import COMMENT, RETRACTION, Paper
from monitor.sources.api.records import ApiSource
from monitor.sources.api.values import (
    NoPaperError,
    Record,
    doi_page,
    first_published,
    plain_text,
    terms,
    title_of,
)
from monitor.sources.api.windows import FilterOptions, PageRequest
from monitor.sources.fields.dates import partial_date, within_reason
from monitor.sources.fields.identifiers import Keys, identifier_pairs, keys_of
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


class Crossref(ApiSource):
    """Reads Crossref by the day on which a DOI was registered (created)."""

    kind = "crossref"
    Options = FilterOptions
    options: FilterOptions
    service = "Crossref"
    lists = ("message.items",)
    total_path = "message.total-results"
    cursor_path = "message.next-cursor"
    singles = ("", "message")
    record_id = "DOI"
    address = "https://api.crossref.org"
    preset = "crossref"

    def paper(self, record: Record) -> Paper:
        doi = record.text("DOI").lower()
        if not doi:
            raise NoPaperError("record has no DOI")
        titles = map(_unescape_once_more, record.texts("title") + record.texts("original-title"))
        title = _with_subtitle(record, title_of(*titles))
        year, published = first_published(_dates(record), record.now)
        group = record.text("group-title") if record.text("subtype") == "preprint" else ""
        updates = list(_updates(record))
        notices = [(mark, [("doi", of)]) for mark, of in updates if of not in ("", doi)]
        type_, about = type_and_subject(notices, (record.text("subtype"), record.text("type")))
        return Paper(
            title=title,
            abstract=_abstract(record.text("abstract")),
            authors=record.names("author", "editor"),
            venue=plain_text(_unescape_once_more(_venue(record))),
            year=year,
            published=published,
            url=record.link("URL") or doi_page(doi),
            pdf_url=_pdf(record),
            keys=_keys(record, doi),
            categories=terms((*record.texts("subject"), group)),
            withdrawn=_is_withdrawn(record, updates, doi),
            raw_id=plain_text(doi),
            type=type_,
            about=about,
        )

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
    if not subtitle or _letters(title).endswith(_letters(subtitle)):
        return title
    return f"{title} {subtitle}" if title[-1] in ":?!–—" else f"{title}: {subtitle}"


def _letters(words: str) -> str:
    return "".join(filter(str.isalnum, plain(words).casefold()))


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

    An article of 1981 that went online in 2003 is of 1981. `created`, when the DOI was
    registered, is used if it is not later and no other date of that year has a day.
    """
    *dates, (registered, day) = (_date(record, name) for name in (*_DATES, "created"))
    first_year = min((year for year, _ in dates if year), default=registered)
    has_day = any(day for year, day in dates if year == first_year)
    if registered and first_year and registered <= first_year and not has_day:
        dates.append((first_year, day))
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
    return keys_of((*own, *identifier_pairs(related.text("id") for related in same)))


def _pdf(record: Record) -> str:
    links = (
        entry.link("URL")
        for entry in record.items("link")
        if entry.text("content-type") == "application/pdf"
        and entry.text("intended-application") != "text-mining"
    )
    return next(links, "")


def _is_withdrawn(record: Record, updates: Sequence[tuple[str, str]], doi: str) -> bool:
    """Whether there is a notice; some publishers register it with the DOI of the article itself."""
    notices = (type_of([update.text("type")]) for update in record.items("updated-by"))
    return RETRACTION in notices or (RETRACTION, doi) in updates


def _updates(record: Record) -> Iterator[tuple[str, str]]:
    """Yield the type of this work as a notice, and the DOI of the work that it is about."""
    for work in record.items("update-to"):
        if (mark := type_of([work.text("type")])) in NOTICES:
            yield mark, work.text("DOI").lower()
    for relation in _COMMENTS:
        for work in record.items(f"relation.{relation}"):
            if work.text("id-type") in ("", "doi"):
                yield COMMENT, work.text("id").lower()
