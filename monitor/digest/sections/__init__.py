"""The sections of a digest, in the order in which it shows them, a module for each kind.

The content of a section is a field of `Digest`, and `monitor.pipeline.fill_sections` fills it.
"""

from __future__ import annotations

from monitor.digest.sections.kind import SectionKind
from monitor.digest.sections.lead import LEAD
from monitor.digest.sections.references import REFERENCES
from monitor.digest.sections.returned import RETURNED
from monitor.digest.sections.topics import TOPICS
from monitor.model import Digest

SECTION_KINDS: tuple[SectionKind, ...] = (REFERENCES, LEAD, TOPICS, RETURNED)


def body_sections(digest: Digest) -> list[str]:
    """Return the names of the sections of a digest, without those of its small print."""
    return [kind.name for kind in SECTION_KINDS if not kind.in_footer and kind.is_in(digest)]


def footer_sections(digest: Digest) -> list[str]:
    """Return the names of the sections in the small print of a digest."""
    return [kind.name for kind in SECTION_KINDS if kind.in_footer and kind.is_in(digest)]
