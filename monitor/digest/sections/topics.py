"""The papers that topics matched: the section that `layout` cuts to what a message can hold."""

from __future__ import annotations

from monitor.digest.sections.kind import SectionKind
from monitor.digest.wording import format_count, shorten_text, with_more
from monitor.model import Digest, DigestGroup
from monitor.text import clean

_MOST_TOPICS = 12
_LONGEST_HEADING = 60


def contents(digest: Digest) -> str:
    """`language agents 32 · RL 7`: the topics of a digest and their papers."""
    return count_by_topic(digest, _MOST_TOPICS, _LONGEST_HEADING, " · ")


def count_by_topic(digest: Digest, most: int, longest: int, between: str) -> str:
    """Return the first topics with their papers, with at most `longest` characters of each."""
    counts = [f"{short_heading(group, longest)} {group.papers:,}" for group in digest.groups[:most]]
    return between.join(with_more(counts, len(digest.groups)))


def short_heading(group: DigestGroup, longest: int) -> str:
    return shorten_text(clean(group.heading), longest)


def waiting(digest: Digest) -> str:
    """Return the sentence about papers that did not fit, or nothing."""
    if not digest.waiting:
        return ""
    return f"{format_count(digest.waiting, 'more paper')} will be in the next digest."


TOPICS = SectionKind(
    "topics",
    is_in=lambda digest: bool(digest.groups),
    filters={"contents": contents, "top": Digest.best, "waiting": waiting},
)
