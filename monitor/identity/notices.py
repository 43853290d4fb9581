"""Records about another record: retraction notices, corrections, expressions of concern, comments.

A notice is a paper of its own. The news is the change of the paper that it is about: withdrawn,
or revised. Without that paper in the store the notice is news as itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import structs

from monitor.identity.keys import LINK, about, identifiers
from monitor.model import (
    CHANGING_NOTICES,
    CONCERN,
    CORRECTION,
    REPORT,
    RETRACTION,
    ChangeKind,
    Decision,
    Effect,
    Finding,
    IncomingPaper,
    Paper,
)

# Titles of notices without a type. A title with the word elsewhere, or without a colon after it
# ("Correction of Spelling Errors"), is a paper's.
TITLES = {
    RETRACTION: (
        r"(?:retraction|withdrawal)(?: (?:note|notice|statement))?\s*:"
        r"|(?:retraction|withdrawal) (?:note|notice|statement)\b"
        r"|notice of (?:retraction|withdrawal)\b"
    ),
    CORRECTION: (
        r"(?:(?:author|publisher|editorial) )?(?:correction|corrections|addendum)(?: to)?\s*:"
        r"|(?:author|publisher) correction\b"
        r"|(?:erratum|errata|corrigendum|corrigenda)\b"
    ),
    CONCERN: r"(?:editorial )?expressions? of concern\b",
}
# One pattern with a group for each kind: most titles are no notice's, and are read once.
_NOTICE_TITLE = re.compile(rf"(?i)\W*(?:{'|'.join(f'({title})' for title in TITLES.values())})")

Pair = tuple[str, str]


def notice(paper: Paper) -> str:
    """Return which of `CHANGING_NOTICES` a record is, by its type or title; else ""."""
    if paper.type in CHANGING_NOTICES:
        return paper.type
    named = _NOTICE_TITLE.match(paper.title)
    return [*TITLES][named.lastindex - 1] if named and named.lastindex else ""


def is_about(a: Paper, b: Paper) -> bool:
    """Return whether one of two records says that it is about the other.

    A report of a retraction has the title of its paper and may link to it.
    """
    if REPORT in (a.type, b.type):
        return a.type != b.type
    pairs = ((a, b), (b, a)) if a.about or b.about else ()
    return any(not set(about(one)).isdisjoint(identifiers(other)) for one, other in pairs)


def contradicts(a: Paper, b: Paper) -> Finding | None:
    """Return why two similar records without a shared identifier are two, else None.

    A notice has the title and authors of its paper, and is not that paper. Two notices of one kind
    are two if they are about different papers, or have different ids of one scheme.
    """
    ours = notice(a)
    theirs = notice(b)
    if ours != theirs:
        return Finding.ABOUT_THE_OTHER
    if not ours:
        return None
    if have_other_ids(about(a), about(b)):
        return Finding.NOTICES_ABOUT_DIFFERENT_PAPERS
    return Finding.TWO_NOTICES if have_other_ids(identifiers(a), identifiers(b)) else None


def have_other_ids(ours: Iterable[Pair], theirs: Iterable[Pair]) -> bool:
    """Whether two lists share a scheme but no identifier."""
    here, there = ({pair for pair in pairs if pair[0] != LINK} for pairs in (ours, theirs))
    schemes = {scheme for scheme, _ in here} & {scheme for scheme, _ in there}
    return bool(schemes) and here.isdisjoint(there)


def mark_retracted(
    incoming: Sequence[IncomingPaper],
    by_stored: Iterable[Pair],
    mistaken: Mapping[str, Collection[Pair]] = {},
) -> list[IncomingPaper]:
    """Return records, marking as withdrawn those that a retraction notice is about.

    `by_stored` are the identifiers that stored notices retract. Notices among the records
    themselves count as well, so that their order does not matter. `mistaken` are the names of
    records that marked a paper by mistake, with its identifiers: they do so no more.
    """
    named = set(by_stored)
    for record in filter(is_retraction, incoming):
        named.update(set(record.about).difference(mistaken.get(record.raw_id, ())))
    if mistaken:
        incoming = [
            structs.replace(record, paper=structs.replace(record.paper, withdrawn=False))
            if record.raw_id in mistaken and not is_retraction(record)
            else record
            for record in incoming
        ]
    if not named:
        return list(incoming)
    return [
        structs.replace(record, paper=structs.replace(record.paper, withdrawn=True), retracted=True)
        if not named.isdisjoint(record.own_keys) and not record.paper.withdrawn
        else record
        for record in incoming
    ]


def attach(
    decisions: Sequence[Decision],
    stored: Mapping[Pair, int],
    noticed: Mapping[int, set[int]],
    undone: Mapping[str, set[int]] = {},
) -> list[Decision]:
    """Add to decisions on notices their effect on the papers that they are about.

    `stored` are the papers that the notices are about, `noticed` the notices stored of each of them
    before, which are no news twice, and `undone` those that a record marked by mistake. A notice
    with such a paper, or a correction with its paper in the same reading, is stored silently.
    """
    at: dict[Pair, list[Decision]] = {}
    for decision in decisions:
        for pair in decision.keyed.own_keys:
            at.setdefault(pair, []).append(decision)
    return [_with_effect(decision, at, stored, noticed, undone) for decision in decisions]


def _with_effect(
    decision: Decision,
    at: Mapping[Pair, Sequence[Decision]],
    stored: Mapping[Pair, int],
    noticed: Mapping[int, set[int]],
    undone: Mapping[str, set[int]],
) -> Decision:
    kind = effect_of(decision.keyed)
    if kind is None:
        return decision
    about = decision.keyed.about
    here = [record for pair in about for record in at.get(pair, ())]
    ids = {stored[pair] for pair in about if pair in stored}
    ids |= {record.paper_id for record in here if record.paper_id is not None}
    ids.discard(decision.paper_id or 0)
    before = {id for id in ids if decision.paper_id in noticed.get(id, ())}
    before |= undone.get(decision.keyed.raw_id, set())
    # An old notice is still news of its paper: its readers were not sent it in time.
    news = decision.news and decision.kind is not ChangeKind.OLDER
    effect = Effect(kind, tuple(sorted(ids - before)), news, _reason(decision.keyed))
    changed = structs.replace(decision, effect=effect)
    silent = bool(ids) or (kind is ChangeKind.REVISED and bool(here))
    if not silent or decision.kind not in (ChangeKind.NEW, ChangeKind.OLDER):
        return changed
    why = "a notice: the news is the change of the paper it is about"
    return structs.replace(changed, kind=ChangeKind.NEW, news=False, why=why)


def is_retraction(record: IncomingPaper) -> bool:
    """Whether a record is a notice that retracts what it is about."""
    return effect_of(record) is ChangeKind.WITHDRAWN


def effect_of(keyed: IncomingPaper) -> ChangeKind | None:
    """Return what a record means for the papers that it is about, None if it is no notice."""
    type_ = CHANGING_NOTICES.get(notice(keyed.paper)) if keyed.about else None
    return type_.change if type_ else None


def _reason(keyed: IncomingPaper) -> str:
    named = next((f"{s} {v}" for s, v in keyed.keys if s != LINK), keyed.paper.title)
    return f"{notice(keyed.paper)}: {named}"
