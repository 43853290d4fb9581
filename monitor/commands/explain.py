"""One paper: where it came from, why it was new, which topics matched, where it was sent."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime

from monitor.commands.like_trial import NearTopic, near_topics
from monitor.digest.draft import added_by
from monitor.digest.layout import beyond_at_most
from monitor.digest.wording import order_reason, short_day
from monitor.errors import Remedy, UsageError
from monitor.identity.keys import identifiers_in, with_keys
from monitor.match import build_index
from monitor.model import Digest, MatchReason, StoredPaper
from monitor.model.look_up import Filled, FollowedAt, LookUp, filled_by, followed_at
from monitor.pipeline import like_topics
from monitor.pipeline.runtime import Runtime
from monitor.store.digests import deliveries, digests
from monitor.store.engine.database import Transaction
from monitor.store.papers import identity_rulings, look_ups, merge_papers, paper_index, papers
from monitor.store.papers.look_ups import Purpose
from monitor.store.papers.papers import Origin, SharedKey
from monitor.store.sources import collections, reference_events
from monitor.store.topics import matches
from monitor.text import title_key, whole_number


@dataclass(frozen=True, slots=True)
class MatchedTopic:
    topic: str
    revision: int
    score: float
    why: tuple[MatchReason, ...]


@dataclass(frozen=True, slots=True)
class SentDigest:
    """A digest with the paper: its place in its topic's group, and why answers put it there.

    Messages left those beyond `at_most` to the archive. `may_repeat` are the channels it was sent
    by whose messages may arrive twice in more cases than a mail.
    """

    subscription: str
    period: str
    revision: int
    composed_at: datetime
    place: int | None = None
    reason: str = ""
    left_to_archive: bool = False
    may_repeat: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Joined:
    """A paper that turned out to be this one: its number was its own before."""

    id: int
    at: datetime
    why: str


@dataclass(frozen=True, slots=True)
class Ruling:
    """A person's decision on whether two names of records are of one work."""

    one: str
    other: str
    verdict: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ReportedChange:
    """A change of a paper in a library that the digest of a subscription listed."""

    change: str
    subscription: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Explanation:
    """All about a stored paper."""

    # The stored paper with its identifiers, records and changes.
    origin: Origin
    # The topics that matched a revision of it, with the reasons as they are found now.
    topics: tuple[MatchedTopic, ...]
    # The digests that have it, oldest first; not those that left it out for a library.
    digests: tuple[SentDigest, ...]
    # The papers that were merged into it, oldest merge first.
    joined: tuple[Joined, ...]
    # Decisions on names of its records, oldest first.
    rulings: tuple[Ruling, ...]
    # The libraries that have it, out of those that may be shown, in alphabetical order.
    libraries: tuple[str, ...]
    # The changes that subscriptions were sent, oldest first; () if none of these libraries has it.
    reported: tuple[ReportedChange, ...]
    # The other papers that have one of its identifiers.
    shared_keys: tuple[SharedKey, ...]
    # How far each service was asked to fill its gaps.
    look_ups: tuple[LookUp, ...] = ()
    # The last answer of each service since a reader saved it.
    followed: tuple[FollowedAt, ...] = ()
    # The `like:` topics that it missed by little: ten at most, the nearest first.
    near: tuple[NearTopic, ...] = ()

    @property
    def filled(self) -> tuple[Filled, ...]:
        """The fields that services filled in."""
        return filled_by(self.look_ups)


class UnknownPaperError(UsageError):
    """No stored paper has this name."""


def explain(
    runtime: Runtime, reference: str, libraries: Collection[str] | None = None
) -> Explanation:
    """Explain the paper with this id, identifier, link or title. Raises UsageError.

    Of the libraries all are looked at, or these alone.
    """
    if libraries is None:
        libraries = runtime.libraries
    with runtime.database.reading() as tx:
        stored = find_paper(tx, reference)
        origin = papers.origin(tx, stored)
        matched = matches.of_paper(tx, stored.id)
        channels = deliveries.channels_of_digests(tx, stored.id)
        sent = [
            _sent(
                runtime, channels[digest.subscription, digest.period], digest, stored.id, revision
            )
            for digest, revision in digests.of_paper(tx, stored.id)
        ]
        joined = merge_papers.into(tx, stored.id)
        asked = look_ups.of_papers(tx, [stored.id]).get(stored.id, ())
        of_saved = look_ups.of_papers(tx, [stored.id], Purpose.CHANGES).get(stored.id, ())
        shared_keys = papers.sharing_keys(tx, stored.id, origin.keys)
        names = identity_rulings.names_of(tx, [stored.id])[stored.id]
        rulings = identity_rulings.of_names(tx, names)
        now = runtime.clock.now()
        [entries] = collections.find(tx, libraries, [with_keys(stored.paper)], now)
        listed = [entry.paper for entry in entries]
        reported = reference_events.reported(tx, [stored.paper, *listed]) if listed else []
    wanted = {row.topic for row in matched}
    current = like_topics.find_current(runtime)
    index = build_index(topic for topic in current if topic.name in wanted)
    sources = [sighting.source for sighting in origin.sightings if not sighting.filled]
    topics = [
        MatchedTopic(
            m.topic,
            m.revision,
            m.score,
            index.why(m.topic, stored.paper, sources) + added_by(m.added_by),
        )
        for m in matched
    ]
    return Explanation(
        origin=origin,
        topics=tuple(topics),
        digests=tuple(sent),
        joined=tuple(Joined(id, at, why) for id, why, at in joined),
        rulings=tuple(Ruling(*row) for row in rulings),
        libraries=tuple(sorted({entry.source for entry in entries})),
        reported=tuple(ReportedChange(e.change_name, name, at) for e, name, at in reported),
        shared_keys=tuple(shared_keys),
        look_ups=tuple(asked),
        followed=followed_at(of_saved),
        near=near_topics([t for t in current if t.name not in wanted], stored.paper, sources),
    )


def known_from(
    explanation: Explanation, zone: str, subscriptions: Collection[str] | None = None
) -> str:
    """Return `in the library ada-refs, link from arxiv-snapshot, news from page since 12 Mar 2026`.

    It is "" of a paper that is in no library or reference list. Changes are named that digests of
    all subscriptions, or of these, had.
    """
    origin = explanation.origin
    parts = [f"in the library {name}" for name in explanation.libraries]
    for sighting in origin.sightings:
        if sighting.filled:
            fields = ("link",) if "link" in sighting.filled else sighting.filled
            parts.append(f"{', '.join(fields)} from {sighting.source}")
    news = [sighting for sighting in origin.sightings if not sighting.filled]
    for first in news[:1] if parts else ():
        what = "news" if origin.stored.news_at else "known"
        parts.append(f"{what} from {first.source} since {short_day(first.first_seen, zone)}")
    parts += [
        f"{change.change}, reported to {change.subscription} on {short_day(change.at, zone)}"
        for change in explanation.reported
        if subscriptions is None or change.subscription in subscriptions
    ]
    return ", ".join(parts)


def _sent(
    runtime: Runtime, channels: Collection[str], digest: Digest, paper_id: int, revision: int
) -> SentDigest:
    sent = SentDigest(
        digest.subscription,
        digest.period,
        revision,
        digest.composed_at,
        may_repeat=tuple(name for name in runtime.settings.may_repeat if name in channels),
    )
    for group in digest.groups:
        for place, entry in enumerate(group.entries, 1):
            if entry.paper_id == paper_id:
                left = _is_left_to_archive(runtime, channels, digest, paper_id)
                reason = order_reason(entry)
                return replace(sent, place=place, reason=reason, left_to_archive=left)
    return sent


def _is_left_to_archive(
    runtime: Runtime, channels: Collection[str], digest: Digest, paper_id: int
) -> bool:
    """Whether a message of a digest has not shown a paper; pages show all."""
    rests = (
        beyond_at_most(digest) if channel is None else channel.left_to_archive(digest)
        for channel in map(runtime.channels.get, channels)
    )
    return any(entry.paper_id == paper_id for rest in rests for g in rest for entry in g.entries)


def find_paper(tx: Transaction, reference: str) -> StoredPaper:
    """Return the paper with this id, identifier, link or title. Raises UsageError."""
    candidates = _candidates(tx, reference)
    if not candidates:
        raise UnknownPaperError(
            f"no paper found for {reference!r}",
            "write an id that `paper-monitor papers search WORDS` shows, a DOI or arXiv id, "
            "a link, or the whole title",
            Remedy.NAME_PAPER,
        )
    if len(candidates) > 1:
        ids = ", ".join(str(stored.id) for stored in candidates)
        raise UsageError(f"several papers match {reference!r}", f"choose one by its id: {ids}")
    return candidates[0]


def _candidates(tx: Transaction, reference: str) -> list[StoredPaper]:
    number = whole_number(reference)
    if number and (stored := papers.get(tx, merge_papers.current_id(tx, number))):
        return [stored]
    keys = identifiers_in(reference)
    candidates = [stored for key in keys if (stored := papers.by_key(tx, *key))]
    shared = keys if not candidates else paper_index.contested(tx, keys)
    candidates += [stored for key in shared for stored in papers.by_common_key(tx, *key)]
    candidates = candidates or list(papers.by_title_key(tx, title_key(reference)))
    return list({stored.id: stored for stored in candidates}.values())
