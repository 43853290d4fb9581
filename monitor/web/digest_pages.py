"""A digest cut into pages that load at once, however many papers it has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from markupsafe import Markup

from monitor.model import Digest, DigestPaper, DigestSection, Templates

# Bytes of the papers on a page: with what is around them it stays below 100 KB.
PAGE_SIZE = 80_000


@dataclass(slots=True)
class SectionPart:
    """What a page shows of a section: papers in full, then others in a line each, as HTML.

    `number` is that of the section in the digest.
    """

    number: int
    section: DigestSection
    full: list[Markup] = field(default_factory=list)
    titles: list[Markup] = field(default_factory=list)


def cut_into_pages(digest: Digest, templates: Templates) -> list[list[SectionPart]]:
    """Return what each page shows; a digest without papers has one page."""
    digest = replace(digest, about=replace(digest.about, papers_url="/papers"))
    in_full = {entry.paper_id for entry in digest.best(digest.full)}
    pages: list[list[SectionPart]] = [[]]
    size = 0
    for number, section, entry in _in_order(digest, in_full):
        is_full = entry.paper_id in in_full
        name = "paper" if is_full else "title_line"
        html = templates.render(f"web/{name}.html.j2", entry=entry, digest=digest)
        length = len(html.encode("utf-8", "replace"))
        if size and size + length > PAGE_SIZE:
            pages.append([])
            size = 0
        size += length
        if not pages[-1] or pages[-1][-1].number != number:
            pages[-1].append(SectionPart(number, section))
        part = pages[-1][-1]
        # A template of ours made it, which escapes what it is given.
        (part.full if is_full else part.titles).append(Markup(html))
    return pages


def _in_order(
    digest: Digest, in_full: set[int]
) -> Iterator[tuple[int, DigestSection, DigestPaper]]:
    for number, section in enumerate(digest.groups, 1):
        for entry in sorted(section.entries, key=lambda one: one.paper_id not in in_full):
            yield number, section, entry
