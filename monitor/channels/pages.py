"""A digest as pages that link to each other, none longer than its limit: pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from monitor.digest.layout import left_out, most_that_fit, shorten
from monitor.model import Digest, DigestPaper, DigestSection, Templates

PAGE_LIMIT = 250_000
# So many titles are some 60 KB, and easy to look through.
TITLES_A_PAGE = 100
# Of a further page, this share is lines: the rest is its layout. Each may have a heading before it.
LINES_SHARE, HEADING_SIZE = 0.8, 1_000


def render_pages(
    digest: Digest, templates: Templates, name: str, limit: int = PAGE_LIMIT
) -> list[str]:
    """Return the pages of a digest, of `limit` bytes at most; the first is the file `name`."""

    @cache
    def first(full: int, titles: int) -> str:
        shown = shorten(digest, full, titles)
        further = bool(digest.papers - sum(len(group.entries) for group in shown.groups))
        next_page = numbered(name, 2) if further else ""
        return templates.render("web/digest.html.j2", digest=shown, full=full, next_page=next_page)

    def fits(full: int, titles: int) -> bool:
        return len(first(full, titles).encode("utf-8", "replace")) <= limit

    full, titles = most_that_fit(fits, min(digest.full, digest.papers), digest.titles)
    rest = left_out(digest, shorten(digest, full, titles))
    return [first(full, titles), *_further(digest, rest, templates, name, int(limit * LINES_SHARE))]


def _further(
    digest: Digest, rest: Sequence[DigestSection], templates: Templates, name: str, lines: int
) -> list[str]:
    chunks = list(_chunks(digest, rest, templates, lines))
    last = len(chunks) + 1
    return [
        templates.render(
            "web/more.html.j2",
            digest=digest,
            groups=_sections(chunk),
            page=number,
            last_page=last,
            first_page=name,
            earlier_page=name if number == 2 else numbered(name, number - 1),
            next_page=numbered(name, number + 1) if number < last else "",
        )
        for number, chunk in enumerate(chunks, 2)
    ]


def _chunks(
    digest: Digest, rest: Sequence[DigestSection], templates: Templates, limit: int
) -> Iterator[list[tuple[DigestSection, DigestPaper]]]:
    """Yield what each further page lists."""
    chunk: list[tuple[DigestSection, DigestPaper]] = []
    size = 0
    for group in rest:
        for entry in group.entries:
            line = templates.render("web/title_line.html.j2", entry=entry, digest=digest)
            size += len(line.encode("utf-8", "replace")) + HEADING_SIZE
            if chunk and (len(chunk) == TITLES_A_PAGE or size > limit):
                yield chunk
                chunk, size = [], len(line.encode("utf-8", "replace"))
            chunk.append((group, entry))
    if chunk:
        yield chunk


def _sections(
    chunk: Sequence[tuple[DigestSection, DigestPaper]],
) -> list[tuple[DigestSection, list[DigestPaper]]]:
    """Return the papers of a page under their sections."""
    sections: dict[str, tuple[DigestSection, list[DigestPaper]]] = {}
    for group, entry in chunk:
        sections.setdefault(group.topic, (group, []))[1].append(entry)
    return list(sections.values())


def numbered(name: str, page: int) -> str:
    """Return the file of a further page: `2026-11-21-page-2.html`."""
    return f"{name.removesuffix('.html')}-page-{page}.html"
