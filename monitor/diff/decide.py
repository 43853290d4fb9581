"""Deciding what each paper of a reading is: new, revised, withdrawn, older or known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain, combinations

from msgspec.structs import replace

from monitor.identity.keys import says_no_more, with_placeholders
from monitor.identity.notices import have_other_ids, notice
from monitor.identity.reasons import describe
from monitor.identity.resolve import (
    Key,
    KnownWork,
    contest,
    lookup_keys,
    may_be_same_work,
    names_work,
    not_reread_since_split,
    recognise,
    shared_identifiers,
    stored_work,
    strength,
)
from monitor.identity.same_work import same_work
from monitor.identity.withdrawals import (
    NO_STANDING,
    OF_PUBLISHER,
    Basis,
    Standing,
    as_report,
    basis,
    may_retract,
    nameless,
    reported_by,
    speaks_for_itself,
)
from monitor.model import (
    REPORT,
    Authority,
    Candidate,
    ChangeKind,
    Claim,
    Decision,
    FirstRun,
    IncomingPaper,
    Paper,
    Reasons,
)
from monitor.text import without_withdrawal

OLDER_AFTER = timedelta(days=90)
RECENT = timedelta(days=7)
MAX_RECENT_UNDATED = 20
# "Editorial" may be in a chunk five hundred times: only the last ones are candidates.
MAX_TWINS = 25
# A large block says little: at most these of the records before another in a block are near it.
MAX_NEIGHBOURS = 32
# After this number of different texts of a paper, a source's changes are no news.
FLAPPING = 3


@dataclass(frozen=True, slots=True)
class DecisionContext:
    """The context of a decision, beside the papers.

    `first_run` is None once the source has been read. `dated` says that its dates are those of
    announcement or first version. `undated_before` counts the undated papers decided before.
    `assigns` are the schemes of the identifiers that its service gives to papers itself.
    `standing` is what its word on a withdrawal is worth.
    """

    now: datetime
    first_run: FirstRun | None = None
    dated: bool = False
    undated_before: int = 0
    assigns: tuple[str, ...] = ()
    standing: Standing = NO_STANDING


def decide_chunk(
    incoming: Sequence[IncomingPaper],
    candidates: Sequence[Sequence[Candidate]],
    context: DecisionContext,
) -> list[Decision]:
    """Decide on papers in order; a later one may repeat an earlier one of the same chunk."""
    chunk = _Chunk(context, context.undated_before)
    for keyed, known in zip(incoming, candidates, strict=True):
        chunk.decide(keyed, known)
    return chunk.decisions


# A stored paper (its id, None), or one of this reading (None, the position of its first record).
Root = tuple[int | None, int | None]
# How many texts of a paper are compared when an identifier is shared.
MAX_TEXTS = 5


@dataclass
class _Chunk:
    # The context of all records of the chunk.
    context: DecisionContext
    # New papers without a date, those of earlier chunks among them.
    undated: int
    # One decision for each record so far. Positions are those in this list.
    decisions: list[Decision] = field(default_factory=list)
    # The positions of the records with each key.
    positions: dict[Key, list[int]] = field(default_factory=lambda: defaultdict(list))
    # The positions of the records in each block.
    blocks: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    # The positions of the records of each paper.
    records: dict[Root, list[int]] = field(default_factory=lambda: defaultdict(list))
    # The stored papers that records of the chunk are of, by id.
    stored: dict[int, Candidate] = field(default_factory=dict)
    # The positions of reports of retractions.
    reports: list[int] = field(default_factory=list)
    # Identifiers that clearly different works have with equal claims.
    contested: set[Key] = field(default_factory=set)

    def decide(self, keyed: IncomingPaper, candidates: Sequence[Candidate]) -> None:
        position = len(self.decisions)
        keyed, matching = self._resolve(keyed, candidates)
        decision = self._known(keyed, matching) if matching else self._unseen(keyed)
        self.decisions.append(decision)
        if keyed.reports:
            self.reports.append(position)
        self.records[self._root(position)].append(position)
        for key in lookup_keys(keyed):
            self.positions[key].append(position)
        for block in keyed.blocks:
            self.blocks[block].append(position)

    def _resolve(
        self, keyed: IncomingPaper, candidates: Sequence[Candidate]
    ) -> tuple[IncomingPaper, list[tuple[KnownWork, Reasons]]]:
        """Return a record as far as its source can know, and the works that it is of.

        One that may mark no paper as withdrawn is a report. A paper that comes after a report
        which may mark it is withdrawn.
        """
        matching = self._match(keyed, candidates)
        if keyed.paper.withdrawn and not keyed.retracted and not notice(keyed.paper):
            marked = [(work, reasons) for work, reasons in matching if self._basis(keyed, work)]
            if not marked and self.context.standing.authority is not Authority.EVERY:
                # A publisher may give the retraction a DOI of its own.
                unnamed = contest(keyed, keyed.own_keys)
                marked = [
                    (work, reasons)
                    for work, reasons in self._match(unnamed, candidates)
                    if may_retract(keyed.paper, work.paper)
                    and self._basis(keyed, work) in OF_PUBLISHER
                ]
            speaks = speaks_for_itself(keyed, self.context.standing)
            if marked or (speaks and not matching):
                return keyed, marked
            keyed = as_report(keyed)
            return keyed, self._match(keyed, candidates)
        if not matching and not notice(keyed.paper) and self._was_reported(keyed, candidates):
            paper = replace(keyed.paper, withdrawn=True)
            keyed = replace(keyed, paper=paper, retracted=True)
        return keyed, matching

    def _basis(self, keyed: IncomingPaper, work: KnownWork) -> Basis | None:
        """Return why a record may mark a work as withdrawn, None if it may not."""
        if work.paper.type == REPORT:
            return None
        root = self._root(work.position) if work.position is not None else (None, None)
        candidate = work.candidate or self.stored.get(root[0] or 0)
        brought = True
        if candidate is not None:
            stored = candidate.stored
            seen = candidate.sightings
            brought = any(sighting.first_seen <= stored.first_seen for sighting in seen)
            # Records that an older version joined stay joined.
            if stored.paper.withdrawn and any(s.raw_id == keyed.raw_id for s in seen):
                return Basis.OWN_ENTRY
        return basis(keyed, work.paper, work.keys, self.context.standing, brought=brought)

    def _was_reported(self, keyed: IncomingPaper, candidates: Sequence[Candidate]) -> bool:
        """Whether an earlier report may mark a paper that comes after it."""
        stored = ((reported_by(c.stored.paper), bool(c.sightings), NO_STANDING) for c in candidates)
        here = (
            (self.decisions[position].keyed.reports, True, self.context.standing)
            for position in self.reports
        )
        return any(
            report
            and (why := basis(report, keyed.paper, keyed.keys, standing, brought=brought))
            and (
                why is Basis.NAMED
                or (
                    may_retract(report.paper, keyed.paper)
                    and same_work(nameless(report.paper), keyed.paper).same
                )
            )
            and (why is not Basis.OWN_ENTRY or not have_other_ids(report.own_keys, keyed.own_keys))
            for report, brought, standing in chain(stored, here)
        )

    def _match(
        self, keyed: IncomingPaper, candidates: Sequence[Candidate]
    ) -> list[tuple[KnownWork, Reasons]]:
        """Return the works that a record is of, strongest first, with the reasons.

        Only stored papers that keys or the source's id lead to are sought beside the first one.
        An identifier that leads to another work, by no better a claim, proves nothing from then on.
        """
        matching: list[tuple[KnownWork, Reasons]] = []
        stored = map(stored_work, sorted(candidates, key=strength))
        for work in chain(stored, self._earlier_works(keyed)):
            if matching and not (work.candidate and work.by_name):
                break
            record = contest(keyed, self.contested)
            if reasons := recognise(record, work):
                matching.append((work, reasons))
            else:
                proof, _ = shared_identifiers(record, work.keys)
                self.contested.update(p for p in proof if record.claim(p) == work.keys[p])
        return matching

    def _earlier_works(self, keyed: IncomingPaper) -> Iterator[KnownWork]:
        """Yield the earlier works that share something, once, by the strongest of that."""
        compared: set[int] = set()
        near = {p for block in keyed.blocks for p in self.blocks[block][-MAX_NEIGHBOURS:]}
        ways = lookup_keys(keyed).items()
        shared = [(key, self.positions.get(key, ()), way) for key, way in ways]
        for key, positions, way in [*shared, (None, sorted(near), "block")]:
            for position in positions[-MAX_TWINS:]:
                if position not in compared and key not in self.contested:
                    compared.add(position)
                    yield self._earlier_work(position, way)

    def _earlier_work(self, position: int, found_by: str) -> KnownWork:
        root = self._root(position)
        known = [self.decisions[number].keyed for number in self.records[root]]
        texts = [record.paper for record in known[:MAX_TEXTS]]
        stored = self.stored.get(root[0] or 0)
        keys = dict(stored_work(stored).keys) if stored else {}
        for record in known:
            for pair in record.keys:
                keys[pair] = min(record.claim(pair), keys.get(pair, record.claim(pair)))
        if stored:
            texts.append(stored.stored.paper)
        paper = self.decisions[position].keyed.paper
        return KnownWork(paper, tuple(texts), keys, frozenset({found_by}), position=position)

    def _known(
        self, keyed: IncomingPaper, matching: Sequence[tuple[KnownWork, Reasons]]
    ) -> Decision:
        work, reasons = matching[0]
        news = self._counts_as_news(_date_of(keyed.paper) or keyed.paper.listed_at)
        if (first := work.candidate) is None:
            paper_id, earlier_in_chunk = self._root(work.position or 0)
            why = f"again in this reading: {describe(reasons)}"
            decision = Decision(
                keyed, None, paper_id, earlier_in_chunk, news, why, recognised=reasons
            )
        else:
            self.stored[first.stored.id] = first
            # Likeness does not prove that the record is of the stored paper.
            proven = names_work(keyed, work) or first.ruled == "same"
            others = [other.candidate for other, _ in matching[1:] if names_work(keyed, other)]
            joins = [
                other.stored.id
                for other in others
                if proven and other and _are_one(keyed.paper, first, other)
            ]
            decision = replace(_compare(keyed, first, reasons), news=news, joins=tuple(joins))
        return self._with_twins(decision, work.paper)

    def _root(self, position: int) -> Root:
        """Return the stored paper of an earlier record, else the first record of its paper."""
        earlier = self.decisions[position]
        if earlier.paper_id is not None:
            return earlier.paper_id, None
        return None, position if earlier.earlier_in_chunk is None else earlier.earlier_in_chunk

    def _with_twins(self, decision: Decision, paper: Paper) -> Decision:
        """Add the papers of this reading that the record's keys prove to be the same."""
        keyed = decision.keyed
        positions = (
            position
            for pair in keyed.own_keys
            if pair not in self.contested and pair not in keyed.contested
            for position in self.positions.get(pair, ())
            if self.decisions[position].keyed.claim(pair) <= Claim.FIELD
        )
        own = decision.paper_id, decision.earlier_in_chunk
        roots = {
            root: None
            for position in positions
            if (root := self._root(position)) != own
            and may_be_same_work(paper, twin := self.decisions[position].keyed.paper)
            and may_be_same_work(keyed.paper, twin)
        }
        if not roots:
            return decision
        stored = (id for id, _ in roots if id is not None and id not in decision.joins)
        return replace(
            decision,
            joins=(*decision.joins, *stored),
            twin_joins=tuple(position for _, position in roots if position is not None),
        )

    def _unseen(self, keyed: IncomingPaper) -> Decision:
        kind = ChangeKind.NEW
        news = False
        vouched = _date_of(keyed.paper)
        dated = vouched or keyed.paper.listed_at
        self.undated += dated is None
        if not self._counts_as_news(dated):
            why = "there when the source was first read"
        elif keyed.paper.withdrawn:
            why = "withdrawn before it was ever seen"
        elif vouched and self._is_old(vouched):
            kind = ChangeKind.OLDER
            news = True
            why = f"first seen now, announced {vouched:%Y-%m-%d}"
        else:
            news = True
            why = "not the same as any stored paper"
        return Decision(keyed, kind, news=news, why=why)

    def _is_old(self, vouched: datetime) -> bool:
        return self.context.dated and vouched < self.context.now - OLDER_AFTER

    def _counts_as_news(self, dated: datetime | None) -> bool:
        match self.context.first_run:
            case FirstRun.BASELINE:
                return False
            case FirstRun.RECENT:
                if dated is None:
                    return self.undated <= MAX_RECENT_UNDATED
                return dated >= self.context.now - RECENT
            case _:
                return True


def _date_of(paper: Paper) -> datetime | None:
    return paper.announced or paper.published


def _are_one(record: Paper, first: Candidate, other: Candidate) -> bool:
    """Whether a record with identifiers of two stored papers proves that they are one."""
    if "different" in (first.ruled, other.ruled):
        return False
    pairs = combinations((record, first.stored.paper, other.stored.paper), 2)
    return all(may_be_same_work(a, b) for a, b in pairs)


def _compare(keyed: IncomingPaper, candidate: Candidate, recognised: Reasons) -> Decision:
    """Decide what is new about a record of a stored paper: revised, withdrawn or nothing."""
    kind, why = next(_changes(keyed, candidate), (None, describe(recognised)))
    # The text of a withdrawn paper mostly says that it is withdrawn.
    changed = not keyed.paper.withdrawn and _gives_another_text(keyed, candidate)
    silently = kind is None and (changed or not_reread_since_split(keyed, candidate))
    return Decision(
        keyed,
        kind,
        candidate.stored.id,
        why=why,
        text_changed_silently=silently,
        recognised=recognised,
    )


def _changes(keyed: IncomingPaper, candidate: Candidate) -> Iterator[tuple[ChangeKind, str]]:
    incoming = keyed.paper
    stored = candidate.stored.paper
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
    # Such as a counter, which shows another text at each reading.
    flaps = any(len(set(sighting.past)) >= FLAPPING for sighting in candidate.sightings)
    if changed and not flaps:
        yield ChangeKind.REVISED, "this source now gives another text"


def _gives_another_text(keyed: IncomingPaper, candidate: Candidate) -> bool:
    """Whether a source never showed this text before. Another source's wording is not compared.

    A new abstract where there was none is no revision. Fingerprints of two rules do not compare.
    """
    if keyed.paper.abstract and not candidate.stored.paper.abstract:
        return False
    rule = keyed.fingerprint.partition(":")[0]
    shown = {
        fingerprint
        for sighting in candidate.sightings
        for fingerprint in (sighting.fingerprint, *sighting.past)
        if fingerprint.partition(":")[0] == rule
    }
    if not shown or keyed.fingerprint in shown:
        return False
    return shown.isdisjoint(with_placeholders(keyed.paper))


def proven(decisions: Sequence[Decision], ids: Sequence[int]) -> list[tuple[int, int, str]]:
    """Return pairs of the decisions' papers (`ids`) that records prove to be one, with reasons."""
    return [
        (id, other, f"one record names both: {describe(decision.recognised)}")
        for id, decision in zip(ids, decisions, strict=True)
        for other in (*decision.joins, *(ids[position] for position in decision.twin_joins))
    ]


def count_undated(decisions: Sequence[Decision]) -> int:
    """Count the papers without a date among the new ones, for the next chunk."""
    unseen = (d for d in decisions if d.paper_id is None and d.earlier_in_chunk is None)
    return sum(not (_date_of(d.keyed.paper) or d.keyed.paper.listed_at) for d in unseen)


def count_fresh(decisions: Sequence[Decision], candidates: Sequence[Sequence[Candidate]]) -> int:
    """Count the papers that are new to this source, and their revisions."""
    fresh = 0
    for decision, known in zip(decisions, candidates, strict=True):
        seen = (c.stored.id == decision.paper_id and bool(c.sightings) for c in known)
        if decision.earlier_in_chunk is None:
            fresh += decision.kind is not None or not any(seen)
    return fresh
