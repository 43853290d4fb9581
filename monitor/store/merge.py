"""What an ingest's decisions make of the papers they speak of: pure, before anything is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from monitor.model import Decision, Kind, Paper, Stored

# A gap is filled whoever tells it; what is there stays, unless the paper was revised.
_GAPS = (
    "abstract",
    "authors",
    "venue",
    "year",
    "published",
    "updated",
    "announced",
    "url",
    "pdf_url",
    "categories",
    "version",
)
# A revision does not change when a paper first came out.
_LASTING = ("published", "year")


@dataclass(slots=True)
class Draft:
    """A paper as it will stand. `kind` is the news there is of it, None for none, and `why`."""

    id: int
    paper: Paper
    first_seen: datetime
    news_at: datetime | None
    revision: int
    is_new: bool = False
    changed: bool = False
    kind: Kind | None = None
    why: str = ""


def fold(
    decisions: Sequence[Decision], stored: Mapping[int, Stored], next_id: int, now: datetime
) -> tuple[list[int], list[Draft]]:
    """Return the paper id of each decision, and the drafts of all papers they speak of.

    Papers never seen get the ids from `next_id`. However often a paper is revised within one
    reading, that is one piece of news: the text of the highest version.
    """
    drafts = {
        id: Draft(id, known.paper, known.first_seen, known.news_at, known.revision)
        for id, known in stored.items()
    }
    ids: list[int] = []
    for decision in decisions:
        paper_id = decision.paper_id if decision.twin is None else ids[decision.twin]
        if paper_id is None:
            paper_id, next_id = next_id, next_id + 1
            drafts[paper_id] = _unseen(paper_id, decision, now)
        else:
            _again(drafts[paper_id], decision)
        ids.append(paper_id)
    return ids, list(drafts.values())


def _unseen(paper_id: int, decision: Decision, now: datetime) -> Draft:
    kind = (decision.kind or Kind.NEW) if decision.news else None
    news_at = now if kind else None
    paper = decision.keyed.paper
    return Draft(paper_id, paper, now, news_at, 1, is_new=True, kind=kind, why=decision.why)


def _again(draft: Draft, decision: Decision) -> None:
    before, incoming = draft.paper, decision.keyed.paper
    newer = (incoming.version or 0) > (before.version or 0) > 0
    if decision.kind is Kind.REVISED or newer:
        draft.paper = revised(before, incoming)
    else:
        draft.paper = filled(before, incoming)
    if incoming.withdrawn:
        draft.paper = replace(draft.paper, withdrawn=True)
    draft.changed = draft.changed or draft.paper != before
    if decision.kind and decision.news and not draft.is_new:
        draft.revision += draft.kind is None
        if draft.kind is not Kind.WITHDRAWN:
            draft.kind, draft.why = decision.kind, decision.why
        draft.changed = True


def filled(paper: Paper, incoming: Paper) -> Paper:
    """Return a paper with what it lacks taken from another record of it."""
    gaps = {
        name: getattr(incoming, name)
        for name in _GAPS
        if not getattr(paper, name) and getattr(incoming, name)
    }
    return replace(paper, **gaps) if gaps else paper


def revised(paper: Paper, incoming: Paper) -> Paper:
    """Return a paper as its revision tells it; what the revision leaves out stays."""
    if (incoming.version or 0) < (paper.version or 0):
        return filled(paper, incoming)
    told: dict[str, Any] = {
        name: getattr(incoming, name)
        for name in ("title", *_GAPS)
        if getattr(incoming, name) and not (name in _LASTING and getattr(paper, name))
    }
    return replace(paper, **told)
