"""The papers that topics matched: the section that `layout` cuts to what a message can hold."""

from __future__ import annotations

from monitor.digest.paper_json import Answer, paper_fields, pick
from monitor.digest.sections.kind import SectionKind
from monitor.digest.wording import format_count, shorten_text, with_more
from monitor.model import Digest, DigestGroup, DigestPaper, TopicWhy
from monitor.model.paper_fields import IN_PAPERS
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


def topics_json(digest: Digest) -> list[Answer]:
    """Return a section for each topic, of the papers that its group shows."""
    lead = {first.paper_id for first in digest.lead}
    return [
        {
            "kind": "topic",
            "title": clean(group.heading),
            "topic": group.topic,
            "papers": [
                _entry_json(entry) | {"lead": entry.paper_id in lead} for entry in group.entries
            ],
        }
        for group in digest.groups
        if group.entries
    ]


def _entry_json(entry: DigestPaper) -> Answer:
    """Return a paper as `papers --json` does, as far as a digest knows it, and why it is there."""
    note = entry.note
    return {
        "id": entry.paper_id,
        **paper_fields(entry.paper, IN_PAPERS),
        "line": {"text": note.line, "by": note.maker} if note and note.line else None,
        "first_seen": entry.first_seen.isoformat(),
        "sources": [{"source": name, "document": None, "raw_id": None} for name in entry.sources],
        "news": str(entry.kind),
        "why": [reason for matched in entry.matched for reason in _reasons(matched)],
    }


def _reasons(matched: TopicWhy) -> list[Answer]:
    """Return where the words of a topic are; of a paper listed by title, the topic alone."""
    if not matched.why:
        return [{"topic": matched.topic, "field": None, "words": []}]
    return [{"topic": matched.topic, **pick(why, "field words")} for why in matched.why]


TOPICS = SectionKind(
    "topics",
    is_in=lambda digest: bool(digest.groups),
    to_json=topics_json,
    filters={"contents": contents, "top": Digest.best, "waiting": waiting},
)
