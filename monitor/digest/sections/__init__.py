"""The sections of a digest, in the order in which it shows them, a module for each kind.

The content of a section is a field of `Digest`, and `monitor.pipeline.fill_sections` fills it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from monitor.digest.sections.kind import SectionKind
from monitor.digest.sections.lead import LEAD, ShownLead, leading
from monitor.digest.sections.references import REFERENCES
from monitor.digest.sections.returned import RETURNED
from monitor.digest.sections.topics import TOPICS
from monitor.model import Digest, DigestGroup, DigestPaper

SECTION_KINDS: tuple[SectionKind, ...] = (REFERENCES, LEAD, TOPICS, RETURNED)


def body_sections(digest: Digest) -> list[str]:
    """Return the names of the sections of a digest, without those of its small print."""
    return [kind.name for kind in SECTION_KINDS if not kind.in_footer and kind.is_in(digest)]


def footer_sections(digest: Digest) -> list[str]:
    """Return the names of the sections in the small print of a digest."""
    return [kind.name for kind in SECTION_KINDS if kind.in_footer and kind.is_in(digest)]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part that stays whole in messages of chats: a section, or one of its papers.

    `section` names the template of what stands above the paper, "" for nothing. `group` is the
    topic of the paper, `first` the paper to read first, the first of which has the heading.
    """

    section: str
    entry: DigestPaper | None = None
    group: DigestGroup | None = None
    first: ShownLead | None = None
    is_heading: bool = False


def pieces(digest: Digest) -> Iterator[Piece]:
    """Yield the sections above the small print, in order: papers one by one, and each once."""
    lead = leading(digest, {entry.paper_id for entry in digest.best(digest.full)})
    above = {first.paper_id for first in lead}
    for name in body_sections(digest):
        if name == LEAD.name:
            for number, first in enumerate(lead):
                yield Piece(name, first.entry, first=first, is_heading=not number)
        elif name == TOPICS.name:
            for group in digest.groups:
                entries = [entry for entry in group.entries if entry.paper_id not in above]
                for number, entry in enumerate(entries):
                    yield Piece("" if number else name, entry, group)
        else:
            yield Piece(name)
