"""Papers missed during a pause: title lines beside the recipient's first digest after it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from monitor.model import Digest, DigestPaper, DigestSection
from monitor.pipeline.freeze import Forms
from monitor.pipeline.runtime import ComposeContext, Destination
from monitor.store import digests, suppressions

NOTE = "These papers came while your digests were paused."


def add_missed(
    context: ComposeContext,
    ways: Sequence[Destination],
    digest: Digest,
    forms: Forms,
) -> None:
    """Add further parts to a digest, each for one recipient who was sent none for a while."""
    rendered = [way for way in ways if way.channel in forms.parts]
    with context.database.reading() as tx:
        returned = [
            (way.channel, to)
            for way in rendered
            for to in suppressions.with_ended_pause(
                tx, digest.subscription, way.recipients, digest.composed_at
            )
        ]
        withheld = {
            returning: suppressions.list_missed(tx, digest.subscription, *returning)
            for returning in returned
        }
        lists = {
            returning: list_papers(digest, filter(None, (digests.get(tx, id) for id in ids)))
            for returning, ids in withheld.items()
        }
    for (channel, recipient), listed in lists.items():
        if listed.groups:
            _add(context, channel, recipient, listed, forms)


def _add(
    context: ComposeContext, channel: str, recipient: str, listed: Digest, forms: Forms
) -> None:
    """Render a list of papers as the next parts of a digest, for one recipient alone."""
    rendered = context.channels[channel].render(listed, context.fallback_templates)
    parts = forms.parts[channel]
    first = parts[-1].part + 1
    more = tuple(replace(part, part=first + number) for number, part in enumerate(rendered))
    forms.parts[channel] = (*parts, *more)
    forms.only |= {(channel, part.part): recipient for part in more}


def list_papers(digest: Digest, withheld: Iterable[Digest]) -> Digest:
    """Return the papers of digests that were withheld as a list of titles, by topic: pure.

    A paper that is in the digest itself, or in a later one, is listed once.
    """
    sections: dict[str, DigestSection] = {}
    seen = {entry.paper_id for group in digest.groups for entry in group.entries}
    for group in (group for one in withheld for group in one.groups):
        entries: list[DigestPaper] = [e for e in group.entries if e.paper_id not in seen]
        seen |= {entry.paper_id for entry in entries}
        known = sections.get(group.topic, replace(group, entries=(), more=0))
        if entries:
            sections[group.topic] = replace(known, entries=(*known.entries, *entries))
    return replace(
        digest,
        groups=tuple(sections.values()),
        full=0,
        waiting=0,
        notes=(NOTE,),
        about=replace(
            digest.about, title=f"{digest.heading}, while paused", shares_recipients=True
        ),
    )
