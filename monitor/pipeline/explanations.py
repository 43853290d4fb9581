"""Why topics matched papers, kept for a while: subscriptions share topics, and so their papers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from monitor.model import MatchReason, Paper

# About four kilobytes each; what a digest shows of an abstract is bounded.
MOST_KEPT = 4_096

Explain = Callable[[str, Paper, Sequence[str]], tuple[MatchReason, ...]]


def cached_explain(why: Explain) -> Explain:
    """Return `why` with its last answers kept, by all of a paper that topics look at.

    For topics that do not change meanwhile.
    """

    @lru_cache(maxsize=MOST_KEPT)
    def explain_fields(  # noqa: PLR0913 - the facts of one match
        topic: str,
        title: str,
        abstract: str,
        authors: tuple[str, ...],
        venue: str,
        categories: tuple[str, ...],
        announce: str,
        sources: tuple[str, ...],
    ) -> tuple[MatchReason, ...]:
        paper = Paper(
            title,
            abstract=abstract,
            authors=authors,
            venue=venue,
            categories=categories,
            announce=announce,
        )
        return why(topic, paper, sources)

    def explain(topic: str, paper: Paper, sources: Sequence[str]) -> tuple[MatchReason, ...]:
        looked_at = paper.title, paper.abstract, paper.authors, paper.venue, paper.categories
        return explain_fields(topic, *looked_at, paper.announce, tuple(sources))

    return explain
