"""What an ingest's decisions make of the papers they speak of: pure, before anything is written."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from monitor.model import ChangeKind, Decision, Effect, Paper, StoredPaper

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
    "type",
)
# What topics are held against: a paper that gains one of these may meet others.
_MATCHED = ("abstract", "authors", "venue", "categories")
# A revision does not change when a paper first came out.
_LASTING = ("published", "year")


@dataclass(slots=True)
class Draft:
    """A paper as it will stand. `kind` is the news there is of it, None for none, and `why`.

    `seen` says that this source has told of it before; `wider`, that a known paper now has a
    source or words which it had not: more topics may meet what was news of it.
    """

    id: int
    paper: Paper
    first_seen: datetime
    news_at: datetime | None
    revision: int
    is_new: bool = False
    changed: bool = False
    kind: ChangeKind | None = None
    why: str = ""
    seen: bool = False
    wider: bool = False
    purged: bool = False


def fold(
    decisions: Sequence[Decision],
    stored: Mapping[int, StoredPaper],
    seen: Collection[int],
    next_id: int,
    now: datetime,
) -> tuple[list[int], list[Draft]]:
    """Return the paper id of each decision, and the drafts of all papers they speak of.

    `seen` are the papers that this source has told of before. Papers never seen get the ids
    from `next_id`. However often a paper is revised within one reading, that is one piece of
    news: the text of the highest version.
    """
    drafts = {
        id: Draft(
            id,
            known.paper,
            known.first_seen,
            known.news_at,
            known.revision,
            seen=id in seen,
            purged=known.purged,
        )
        for id, known in stored.items()
    }
    ids: list[int] = []
    for decision in decisions:
        paper_id = (
            decision.paper_id
            if decision.earlier_in_chunk is None
            else ids[decision.earlier_in_chunk]
        )
        if paper_id is None:
            paper_id, next_id = next_id, next_id + 1
            drafts[paper_id] = _unseen(paper_id, decision, now)
        else:
            _again(drafts[paper_id], decision)
        if decision.effect:
            for id in decision.effect.papers:
                _noticed(drafts[id], decision.effect)
        ids.append(paper_id)
    return ids, list(drafts.values())


def _unseen(paper_id: int, decision: Decision, now: datetime) -> Draft:
    kind = (decision.kind or ChangeKind.NEW) if decision.news else None
    news_at = now if kind else None
    paper = decision.keyed.paper
    return Draft(paper_id, paper, now, news_at, 1, is_new=True, kind=kind, why=decision.why)


def _again(draft: Draft, decision: Decision) -> None:
    if draft.purged and not (decision.kind and decision.news):
        return  # it is known, and that is all there is to say
    before, incoming = draft.paper, decision.keyed.paper
    newer = (incoming.version or 0) > (before.version or 0) > 0
    if decision.kind is ChangeKind.REVISED or decision.text_changed_silently or newer:
        draft.paper = revised(before, incoming)
    else:
        draft.paper = filled(before, incoming)
    if incoming.withdrawn or newer:
        draft.paper = replace(draft.paper, withdrawn=incoming.withdrawn)
    draft.changed = draft.changed or draft.paper != before
    if decision.news and not draft.is_new and not draft.paper.withdrawn:
        draft.wider = draft.wider or not draft.seen or _gained(before, draft.paper)
    draft.seen = True
    if decision.kind and decision.news and not draft.is_new:
        draft.revision += draft.kind is None
        if draft.kind is not ChangeKind.WITHDRAWN:
            draft.kind, draft.why = decision.kind, decision.why
        draft.changed = True


def _noticed(draft: Draft, effect: Effect) -> None:
    """A notice changes what is known of a paper, and nothing of its text. Withdrawn is the last."""
    if draft.paper.withdrawn:
        return
    if effect.kind is ChangeKind.WITHDRAWN:
        draft.paper = replace(draft.paper, withdrawn=True)
        draft.changed = True
    if effect.news:
        draft.revision += draft.kind is None
        draft.kind, draft.why = effect.kind, effect.why
        draft.changed = True


def _gained(before: Paper, after: Paper) -> bool:
    return any(not getattr(before, name) and getattr(after, name) for name in _MATCHED)


def filled(paper: Paper, incoming: Paper) -> Paper:
    """Return a paper with what it lacks taken from another record of it."""
    gaps = {
        name: getattr(incoming, name)
        for name in _GAPS
        if not getattr(paper, name) and getattr(incoming, name)
    }
    return replace(paper, **gaps) if gaps else paper


def revised(paper: Paper, incoming: Paper) -> Paper:
    """Return a paper as its revision tells it; what the revision leaves out stays.

    One that names no version is taken at its word: its source has changed what it says.
    """
    if incoming.version and incoming.version < (paper.version or 0):
        return filled(paper, incoming)
    told: dict[str, Any] = {
        name: getattr(incoming, name)
        for name in ("title", *_GAPS)
        if getattr(incoming, name) and not (name in _LASTING and getattr(paper, name))
    }
    return replace(paper, **told)
