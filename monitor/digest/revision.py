"""What a revision changed: pure."""

from __future__ import annotations

from difflib import SequenceMatcher

from monitor.digest.shown import readable_title
from monitor.model import EarlierText, Paper, Revision
from monitor.text import clean, sentences

# More sentences are compared by number alone: an abstract has some ten.
_MOST_SENTENCES = 100


def describe_revision(before: EarlierText | None, paper: Paper) -> Revision:
    """Return what changed from an earlier text to the paper; without it, the version alone."""
    if before is None:
        return Revision(version=paper.version)
    title = readable_title(before.title)
    return Revision(
        version=paper.version,
        version_before=before.version if before.version != paper.version else None,
        title_before="" if _same(title, readable_title(paper.title)) else title,
        sentences=count_changes(before.abstract, paper.abstract),
    )


def count_changes(before: str, after: str) -> int:
    """Return how many sentences are new, gone or different."""
    one, other = _sentences(before), _sentences(after)
    codes = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    return sum(max(b - a, d - c) for kind, a, b, c, d in codes if kind != "equal")


def _sentences(text: str) -> list[str]:
    whole = clean(text)
    return [whole[start:end].casefold() for start, end in sentences(whole)][:_MOST_SENTENCES]


def _same(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()
