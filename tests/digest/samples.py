"""Small digests to test with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from monitor.digest.draft import draft
from monitor.digest.explain import explain_papers
from monitor.model import (
    Change,
    ChangeKind,
    Digest,
    DigestPaper,
    MatchReason,
    Paper,
    SourceReport,
    StoredPaper,
    UnsentMatch,
)

NOW = datetime(2026, 11, 20, 23, 0, tzinfo=UTC)  # Saturday 08:00 in Tokyo
ABSTRACT = (
    "We study agents. A policy is learnt from play, e.g. self-play. "
    "Nobody knew. The policy beats every multi-agent baseline. We conclude."
)
PAPER = Paper(
    title="Learning a multi-agent policy",
    abstract=ABSTRACT,
    authors=("Ada One", "Bo Two", "Cy Three"),
    url="https://example.org/abs/1",
    published=datetime(2026, 11, 19, tzinfo=UTC),
)
REPORT = (SourceReport("daily-page", 298, 229, NOW - timedelta(hours=1)),)


def news(
    paper: Paper = PAPER,
    *,
    number: int = 1,
    topic: str = "marl",
    score: float = 1.0,
    revision: int = 1,
    kind: ChangeKind = ChangeKind.NEW,
    at: datetime = NOW - timedelta(hours=9),
    sources: tuple[str, ...] = ("daily-page",),
) -> UnsentMatch:
    stored = StoredPaper(number, paper, at, at, revision)
    return UnsentMatch(topic, score, Change(stored, revision, kind, at, sources))


def entry_of(paper: Paper = PAPER, *words: str) -> DigestPaper:
    """A paper as the only one of a digest, found by these words."""
    return digest([news(paper)], words=words or ("policy",)).groups[0].entries[0]


def find(*words: str) -> object:
    """A `whys` that finds these words wherever the title and the abstract have them."""

    pattern = re.compile("|".join(map(re.escape, words)))

    def whys(topic: str, paper: Paper, sources: Sequence[str]) -> tuple[MatchReason, ...]:
        reasons = []
        for field, text in (("title", paper.title), ("abstract", paper.abstract)):
            if spans := tuple(match.span() for match in pattern.finditer(text)):
                reasons.append(MatchReason(field, tuple(text[a:b] for a, b in spans), spans))
        return tuple(reasons)

    return whys


def digest(
    items: Sequence[UnsentMatch] = (), *, words: Sequence[str] = ("policy",), **changes: object
) -> Digest:
    drafted = draft(items, full=25)
    made = Digest(
        subscription="ada",
        period="2026-11-21",
        due_at=NOW,
        timezone="Asia/Tokyo",
        covers_from=NOW - timedelta(days=2),
        composed_at=NOW,
        groups=explain_papers(drafted, find(*words), {}),  # type: ignore[arg-type]
        report=REPORT,
    )
    return replace(made, **changes)  # type: ignore[arg-type]
