"""Applying an ingest's decisions to papers in memory, before anything is written."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from msgspec.structs import asdict, replace

from monitor.model import ChangeKind, Decision, EarlierText, Effect, ListedDay, Paper, StoredPaper
from monitor.model.paper_fields import FILLED, INDEXED, MATCHED, names_of
from monitor.text import without_next_fields, without_placeholder

_FILLED_FIELDS = names_of(FILLED)
# A paper that gains one of them may match more topics.
_GAINED_FIELDS = names_of(FILLED | MATCHED)
_INDEXED_FIELDS = names_of(INDEXED)
# A question that was asked within this time before still has its answers.
_ASKED_AGAIN = timedelta(days=7)
MAX_LISTS = 100  # the last ones of a paper


@dataclass(slots=True)
class Draft:
    """A paper as it will be stored, after the decisions on a chunk."""

    # The id of a stored paper, or the next one for a new paper.
    id: int
    # The texts and fields after all records of the chunk.
    paper: Paper
    # The time of the chunk for a new paper.
    first_seen: datetime
    # When the paper was news, None if it was stored silently.
    news_at: datetime | None
    # The number of its last change; 1 for a new paper.
    revision: int

    # The paper is not stored yet.
    is_new: bool = False
    # The stored row has to be updated.
    changed: bool = False
    # An indexed field has changed, so that its keywords may have.
    reworded: bool = False
    # The kind of the news, None if there is none.
    kind: ChangeKind | None = None
    # The reason of the news, "" if there is none.
    why: str = ""
    # This source has shown the paper before, or in an earlier record of the chunk.
    seen: bool = False
    # A known paper gains a source, words or links, so that more topics may match its earlier news.
    wider: bool = False
    # It has more votes, or is in more lists.
    grown: bool = False
    # It came back into lists.
    relisted: bool = False
    # Clean-up has emptied it; records that are no news do not fill it again.
    purged: bool = False
    # The text before the change, None for a new paper or without news.
    before: EarlierText | None = None


def fold(
    decisions: Sequence[Decision],
    stored: Mapping[int, StoredPaper],
    seen: Collection[int],
    next_id: int,
    now: datetime,
) -> tuple[list[int], list[Draft]]:
    """Return the paper id of each decision, and the drafts of all papers concerned.

    `seen` are the papers that this source has shown before. New papers get ids from `next_id`.
    Several revisions of a paper within one reading are one change, with the text of the highest
    version.
    """
    drafts = {id: Draft(**asdict(paper), seen=id in seen) for id, paper in stored.items()}
    ids: list[int] = []
    for decision in decisions:
        earlier = decision.earlier_in_chunk
        paper_id = decision.paper_id if earlier is None else ids[earlier]
        if paper_id is None:
            paper_id = next_id
            next_id = next_id + 1
            kind = (decision.kind or ChangeKind.NEW) if decision.news else None
            news_at = now if kind else None
            why = decision.why
            drafts[paper_id] = Draft(
                paper_id, decision.keyed.paper, now, news_at, 1, is_new=True, kind=kind, why=why
            )
        else:
            _apply_record(drafts[paper_id], decision)
        if decision.effect:
            for id in decision.effect.papers:
                _apply_notice(drafts[id], decision.effect)
        ids.append(paper_id)
    return ids, list(drafts.values())


def _apply_record(draft: Draft, decision: Decision) -> None:
    is_news = decision.kind is not None and decision.news
    if draft.purged and not is_news:
        return
    before = draft.paper
    known = read_better(before)
    is_revision = decision.kind is ChangeKind.REVISED or decision.text_changed_silently
    draft.paper = combine(known, decision.keyed.paper, is_revision=is_revision)
    if draft.paper != before:
        draft.changed = True
        draft.reworded |= any(
            getattr(draft.paper, f) != getattr(before, f) for f in _INDEXED_FIELDS
        )
    if draft.changed and not draft.is_new and not draft.paper.withdrawn:
        draft.grown |= (draft.paper.upvotes or 0) > (before.upvotes or 0)
        if draft.paper.listed != before.listed:
            known_lists = {listed.key for listed in before.listed}
            further = [day for day in draft.paper.listed if day.key not in known_lists]
            draft.grown |= bool(further)
            draft.relisted |= bool(before.listed) and any(
                _comes_back(listed, before) for listed in further
            )
    gains = bool(draft.paper.links.keys() - known.links.keys()) or any(
        not getattr(known, name) and getattr(draft.paper, name) for name in _GAINED_FIELDS
    )
    if decision.news and not draft.is_new and not draft.paper.withdrawn:
        draft.wider = draft.wider or not draft.seen or gains
    draft.seen = True
    if is_news and not draft.is_new:
        if draft.kind is None:
            draft.revision += 1
            draft.before = EarlierText(before.title, before.abstract, before.version)
        if draft.kind is not ChangeKind.WITHDRAWN:
            draft.kind = decision.kind
            draft.why = decision.why
        draft.changed = True


def _comes_back(listed: ListedDay, before: Paper) -> bool:
    """Whether a paper had left: a standing question has nearly the same answers on each day."""
    return bool(listed.document) or not any(
        other.source == listed.source and listed.day - other.day <= _ASKED_AGAIN
        for other in before.listed
        if listed.day and other.day
    )


def read_better(paper: Paper) -> Paper:
    """Return a stored paper without what older versions misread as parts of its text."""
    title = without_next_fields(paper.title)
    abstract = without_placeholder(paper.abstract)
    if (title, abstract) == (paper.title, paper.abstract):
        return paper
    return replace(paper, title=title, abstract=abstract)


def combine(paper: Paper, incoming: Paper, *, is_revision: bool = False) -> Paper:
    """Return a paper after another record of it: revised, or with what it lacked."""
    is_newer = (incoming.version or 0) > (paper.version or 0) > 0
    result = (_revise if is_revision or is_newer else _fill)(paper, incoming)
    if incoming.withdrawn or is_newer:
        result = replace(result, withdrawn=incoming.withdrawn)
    return result


def _apply_notice(draft: Draft, effect: Effect) -> None:
    """Apply a notice to the paper that it is about. Nothing follows a withdrawal."""
    if draft.paper.withdrawn:
        return
    if effect.kind is ChangeKind.WITHDRAWN:
        draft.paper = replace(draft.paper, withdrawn=True)
        draft.changed = True
    if effect.news:
        draft.revision += draft.kind is None
        draft.kind = effect.kind
        draft.why = effect.why
        draft.changed = True


def _fill(paper: Paper, incoming: Paper) -> Paper:
    """Return a paper with its empty fields filled from another record of it."""
    gaps = {
        name: getattr(incoming, name)
        for name in _FILLED_FIELDS
        if not getattr(paper, name) and getattr(incoming, name)
    }
    if paper.links and not incoming.links.keys() <= paper.links.keys():
        gaps["links"] = {**incoming.links, **paper.links}
    gaps |= _dates(paper, incoming) | _signals(paper, incoming)
    return replace(paper, **gaps) if gaps else paper


def _revise(paper: Paper, incoming: Paper) -> Paper:
    """Return a paper with the fields of its revision; those that the revision lacks stay.

    A record without a version counts as a revision: its source has changed the text.
    """
    if incoming.version and incoming.version < (paper.version or 0):
        return _fill(paper, incoming)
    fields: dict[str, Any] = {
        name: getattr(incoming, name)
        for name in ("title", *_FILLED_FIELDS)
        if getattr(incoming, name) and not (name == "year" and paper.year)  # of the first version
    }
    fields |= _dates(paper, incoming) | _signals(paper, incoming)
    return replace(paper, **fields)


def _dates(paper: Paper, incoming: Paper) -> dict[str, Any]:
    """Return the date that a paper lacks, or knew only the month of."""
    is_nearer = paper.month == incoming.month and paper.precision and not incoming.precision
    if incoming.published and (not paper.published or is_nearer):
        return {"published": incoming.published, "precision": incoming.precision}
    return {}


def _signals(paper: Paper, incoming: Paper) -> dict[str, Any]:
    """Return the votes of a paper and its lists with their ranks, where they are new."""
    fields: dict[str, Any] = {}
    if incoming.upvotes not in (None, paper.upvotes):
        fields["upvotes"] = incoming.upvotes
    if incoming.listed:
        lists = {listed.key: listed for listed in paper.listed}
        for listed in incoming.listed:
            known = lists.get(listed.key, listed)
            lists[listed.key] = replace(known, rank=listed.rank or known.rank)
        first, *later = sorted(
            lists.values(), key=lambda day: (day.counts_from or date.min, day.source, day.document)
        )
        recent = replace(paper, listed=tuple(later)).recent_lists
        ordered = (first, *recent[-MAX_LISTS:])
        if ordered != paper.listed:
            fields["listed"] = ordered
    return fields
