"""How a record differs from its stored paper: revised, withdrawn or unchanged."""

from __future__ import annotations

from collections.abc import Iterator

from monitor.identity.keys import says_no_more, with_placeholders
from monitor.identity.resolve import (
    not_reread_since_split,
)
from monitor.model import Candidate, ChangeKind, Decision, IncomingPaper
from monitor.text import without_withdrawal

# After so many different texts of a paper, a source's changes are no news.
FLAPPING = 3


def decide_known(
    keyed: IncomingPaper, candidate: Candidate, why: str, news: bool, joins: tuple[int, ...]
) -> Decision:
    kind, reason = next(_changes(keyed, candidate), (None, why))
    # The text of a withdrawn paper mostly says that it is withdrawn.
    text_changed_silently = not keyed.paper.withdrawn and _gives_another_text(keyed, candidate)
    text_changed_silently = kind is None and (
        text_changed_silently or not_reread_since_split(keyed, candidate)
    )
    return Decision(
        keyed,
        kind,
        candidate.stored.id,
        news=news,
        why=reason,
        text_changed_silently=text_changed_silently,
        joins=joins,
        recognised=why,
    )


def _changes(keyed: IncomingPaper, candidate: Candidate) -> Iterator[tuple[ChangeKind, str]]:
    incoming, stored = keyed.paper, candidate.stored.paper
    if incoming.withdrawn:
        # Older versions stored "RETRACTED:" as part of the title.
        if not stored.withdrawn and without_withdrawal(stored.title) == stored.title:
            yield ChangeKind.WITHDRAWN, "it has been withdrawn"
        return
    versions = [s.version for s in candidate.sightings if s.version] + [stored.version or 0]
    if incoming.version and max(versions) and incoming.version != max(versions):
        if incoming.version > max(versions):
            yield ChangeKind.REVISED, f"version {incoming.version} after {max(versions)}"
        return
    changed = _gives_another_text(keyed, candidate) and not says_no_more(incoming, stored)
    if changed and not _flaps(candidate):
        yield ChangeKind.REVISED, "this source now gives another text"


def _gives_another_text(keyed: IncomingPaper, candidate: Candidate) -> bool:
    """Compare with earlier texts of the same source, so that two sources' wordings do not
    alternate.

    A new abstract where there was none is not a revision, and neither is a text that the source
    showed before. Fingerprints of another rule cannot be compared.
    """
    if keyed.paper.abstract and not candidate.stored.paper.abstract:
        return False
    rule = _rule(keyed.fingerprint)
    shown = {
        fingerprint
        for sighting in candidate.sightings
        for fingerprint in (sighting.fingerprint, *sighting.past)
        if _rule(fingerprint) == rule
    }
    if not shown or keyed.fingerprint in shown:
        return False
    return shown.isdisjoint(with_placeholders(keyed.paper))


def _rule(fingerprint: str) -> str:
    return fingerprint.partition(":")[0]


def _flaps(candidate: Candidate) -> bool:
    """Whether a source shows another text at each reading, such as a counter."""
    return any(len(set(sighting.past)) >= FLAPPING for sighting in candidate.sightings)
