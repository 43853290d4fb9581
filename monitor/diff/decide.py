"""What is to be written for each paper of a reading: new, revised, withdrawn, older or known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from rapidfuzz import fuzz

from monitor.diff.keys import LINK
from monitor.diff.similar import SAME_ABSTRACT, abstract_agreement, same_work
from monitor.model import Candidate, Decision, FirstRun, Keyed, Kind, Paper, Sighting
from monitor.text import plain

OLDER_AFTER = timedelta(days=90)
RECENT = timedelta(days=7)
RECENT_UNDATED = 20
# "Editorial" may stand in a chunk five hundred times: the last of them are candidates enough.
MOST_TWINS = 25
# Under one guid or link, a title this near is the same paper under a mended title.
MENDED_TITLE = 0.75


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What the decider is told beside the papers.

    `first_run` is None once the source has been read; `dated` says that its dates are those of
    announcement or first version; `undated_before` counts the undated papers already decided.
    """

    now: datetime
    first_run: FirstRun | None = None
    dated: bool = False
    undated_before: int = 0


def decide_chunk(
    incoming: Sequence[Keyed],
    candidates: Sequence[Sequence[Candidate]],
    circumstances: Circumstances,
) -> list[Decision]:
    """Decide on papers in order; a later one may repeat an earlier one of the same chunk."""
    chunk = _Chunk(circumstances, circumstances.undated_before)
    for keyed, found in zip(incoming, candidates, strict=True):
        chunk.decide(keyed, found)
    return chunk.decisions


@dataclass
class _Chunk:
    circumstances: Circumstances
    undated: int
    decisions: list[Decision] = field(default_factory=list)
    places: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def decide(self, keyed: Keyed, found: Sequence[Candidate]) -> None:
        decision = self._of_stored(keyed, found) or self._of_twin(keyed) or self._unseen(keyed)
        for place in _handles(keyed):
            self.places.setdefault(place, []).append(len(self.decisions))
        self.decisions.append(decision)

    def _of_stored(self, keyed: Keyed, found: Sequence[Candidate]) -> Decision | None:
        for candidate in sorted(found, key=_strength):
            why = _recognised(keyed, candidate.stored.paper, candidate.keys, candidate.found_by)
            if why:
                news = self._is_news(_vouched(keyed.paper))
                return replace(_of_known(keyed, candidate, why), news=news)
        return None

    def _of_twin(self, keyed: Keyed) -> Decision | None:
        for place, found_by in _handles(keyed).items():
            for position in self.places.get(place, [])[-MOST_TWINS:]:
                earlier = self.decisions[position]
                why = _recognised(
                    keyed, earlier.keyed.paper, earlier.keyed.keys, frozenset({found_by})
                )
                if why:
                    twin = position if earlier.paper_id is None else None
                    return Decision(
                        keyed,
                        None,
                        earlier.paper_id,
                        earlier.twin if earlier.twin is not None else twin,
                        why=f"again in this reading: {why}",
                    )
        return None

    def _unseen(self, keyed: Keyed) -> Decision:
        vouched = _vouched(keyed.paper)
        self.undated += vouched is None
        if not self._is_news(vouched):
            return Decision(keyed, Kind.NEW, news=False, why="there when the source was first read")
        if keyed.paper.withdrawn:
            return Decision(keyed, Kind.NEW, news=False, why="withdrawn before it was ever seen")
        now = self.circumstances.now
        if self.circumstances.dated and vouched and vouched < now - OLDER_AFTER:
            return Decision(keyed, Kind.OLDER, why=f"first seen now, announced {vouched:%Y-%m-%d}")
        return Decision(keyed, Kind.NEW, why="no stored paper is this one")

    def _is_news(self, vouched: datetime | None) -> bool:
        match self.circumstances.first_run:
            case FirstRun.BASELINE:
                return False
            case FirstRun.RECENT:
                if vouched is None:
                    return self.undated <= RECENT_UNDATED
                return vouched >= self.circumstances.now - RECENT
            case _:
                return True


def _vouched(paper: Paper) -> datetime | None:
    return paper.announced or paper.published


def _handles(keyed: Keyed) -> dict[tuple[str, str], str]:
    """All by which a paper can be found again, strongest first, and how it is then found."""
    handles = {pair: "raw_id" if pair[0] == LINK else "key" for pair in keyed.keys}
    handles["raw_id", keyed.raw_id] = "raw_id"
    handles["title", keyed.title_key] = "title"
    return dict(sorted(handles.items(), key=lambda item: item[1]))


def _strength(candidate: Candidate) -> tuple[int, int]:
    order = ("key", "raw_id", "title")
    return min(order.index(way) for way in candidate.found_by), candidate.stored.id


def _recognised(
    keyed: Keyed, paper: Paper, keys: Sequence[tuple[str, str]], found_by: frozenset[str]
) -> str:
    """Say by what a stored paper is the incoming one, or "" when it is another."""
    shared = [
        f"{scheme} {value}"
        for scheme, value in keyed.keys
        if scheme != LINK and (scheme, value) in keys
    ]
    if shared:
        return f"same {shared[0]}"
    verdict = same_work(keyed.paper, paper)
    if verdict.same:
        return ", ".join(verdict.why)
    same_place = "raw_id" in found_by or any(pair in keys for pair in keyed.keys)
    if same_place and _mended(keyed, paper, keys):
        return "same entry of its source, " + ", ".join(verdict.why)
    return ""


def _mended(keyed: Keyed, paper: Paper, keys: Sequence[tuple[str, str]]) -> bool:
    """A guid or link may be given to another paper: the title or abstract must bear it out."""
    schemes = {scheme for scheme, _ in keyed.keys} & {scheme for scheme, _ in keys}
    if schemes - {LINK}:
        return False
    title = fuzz.ratio(plain(keyed.paper.title).casefold(), plain(paper.title).casefold()) / 100
    abstract = abstract_agreement(keyed.paper.abstract, paper.abstract)
    return title >= MENDED_TITLE or (abstract is not None and abstract >= SAME_ABSTRACT)


def _of_known(keyed: Keyed, candidate: Candidate, why: str) -> Decision:
    kind, reason = next(_changes(keyed, candidate), (None, why))
    return Decision(keyed, kind, candidate.stored.id, why=reason)


def _changes(keyed: Keyed, candidate: Candidate) -> Iterator[tuple[Kind, str]]:
    incoming, stored = keyed.paper, candidate.stored.paper
    if incoming.withdrawn and not stored.withdrawn:
        yield Kind.WITHDRAWN, "its source has withdrawn it"
    versions = [s.version for s in candidate.sightings if s.version] + [stored.version or 0]
    if incoming.version and max(versions) and incoming.version != max(versions):
        if incoming.version > max(versions):
            yield Kind.REVISED, f"version {incoming.version} after {max(versions)}"
        return
    if _text_changed(keyed, stored, candidate.sightings):
        yield Kind.REVISED, "this source now gives another text"


def _text_changed(keyed: Keyed, stored: Paper, sightings: Sequence[Sighting]) -> bool:
    """Compare with what the same source said before, so that two sources' wordings do not flap.

    An abstract that arrives where there was none is a gap filled, and a text that this source
    has shown before is nothing new.
    """
    if not sightings or (keyed.paper.abstract and not stored.abstract):
        return False
    return all(keyed.fingerprint != sighting.fingerprint for sighting in sightings)


def undated(decisions: Sequence[Decision]) -> int:
    """Count the papers without a date among those never seen, for the next chunk's decider."""
    unseen = (d for d in decisions if d.paper_id is None and d.twin is None)
    return sum(_vouched(decision.keyed.paper) is None for decision in unseen)


def fresh(decisions: Sequence[Decision], candidates: Sequence[Sequence[Candidate]]) -> int:
    """Count what this source had not told of before: papers new to it, and their revisions."""
    return sum(
        decision.twin is None and (decision.kind is not None or not _told_before(decision, found))
        for decision, found in zip(decisions, candidates, strict=True)
    )


def _told_before(decision: Decision, found: Sequence[Candidate]) -> bool:
    return any(one.stored.id == decision.paper_id and one.sightings for one in found)
