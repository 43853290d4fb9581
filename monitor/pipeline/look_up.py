"""Look up: asks services for fields that papers lack before they are sent.

This stage is between matching and composing, with rows of its own: the service, the process and the
time of each request are committed before it is sent. A field that an answer fills in is no news;
only topics that look at this field are matched again.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import structlog
from msgspec import structs

from monitor.digest.schedule import Slot
from monitor.errors import StoreBusyError
from monitor.identity.keys import claims_of, with_keys
from monitor.identity.looked_up import judge, may_exist
from monitor.identity.reasons import describe
from monitor.identity.same_work import same_work, texts_agree
from monitor.model import Claim, IncomingPaper, Paper, StoredPaper
from monitor.model.look_up import (
    FILLED_IN,
    Answered,
    JoinedPaper,
    LookUp,
    LookUpOutcome,
    LookUpState,
    Wanted,
)
from monitor.pipeline import library_fields, saved_papers, shared_store
from monitor.pipeline.asked_service import ATTEMPTS, BETWEEN_ATTEMPTS
from monitor.pipeline.missing_fields import fill, missing
from monitor.pipeline.runtime import Runtime, Subscription
from monitor.pipeline.saved_papers import SavedRound
from monitor.pipeline.service_round import ServiceRound
from monitor.store.engine.database import Transaction
from monitor.store.engine.locks import look_up_lock
from monitor.store.papers import (
    identity_rulings,
    look_ups,
    merge_papers,
    paper_index,
    papers,
    sightings,
    write_papers,
)
from monitor.store.sources import collections
from monitor.store.topics import matches

log = structlog.get_logger()

# The most papers of one round. Papers that come meanwhile are in the next round, which begins at
# once.
BATCH = 50
QUEUED_AT_ONCE = 1_000
# News of this time is looked up.
RECENT = timedelta(days=7)
# The longest wait of a digest with `immediately`.
MOST_FOR_IMMEDIATE = timedelta(seconds=60)
# The most papers of one digest that it waits for.
MOST_WAITED_FOR = 400

# The states of look-ups whose answer fills nothing in.
_UNFILLED = {
    LookUpOutcome.NOT_FOUND: LookUpState.NOT_FOUND,
    LookUpOutcome.UNCONFIRMED: LookUpState.UNCONFIRMED,
    LookUpOutcome.CONTRADICTED: LookUpState.CONTRADICTED,
}


def queue(runtime: Runtime) -> bool:
    """Queue papers that wait for a digest and lack something; return whether there were any."""
    if not runtime.services:
        return False
    now = runtime.clock.now()
    rows = list[tuple[int, str]]()
    with runtime.database.reading() as tx:
        below: int | None = None
        while not rows:
            ids = look_ups.unasked(tx, now - RECENT, QUEUED_AT_ONCE, below)
            if not ids:
                return False
            rows = _first_services(tx, runtime, ids, now)
            below = ids[-1]
    with runtime.database.writing() as tx:
        existing = papers.load(tx, [id for id, _ in rows])
        look_ups.wait(tx, [row for row in rows if row[0] in existing], now)
    return True


def _first_services(
    tx: Transaction, runtime: Runtime, ids: Iterable[int], now: datetime
) -> list[tuple[int, str]]:
    """Return the papers to ask about, of some never asked about: (paper id, first service)."""
    stored = papers.load(tx, ids)
    known = _in_shared_libraries(tx, runtime, stored, now)
    nexts = {id: _next_service(runtime, paper.paper, (), now) for id, paper in stored.items()}
    return [(id, name) for id, name in nexts.items() if name and id not in known]


def _in_shared_libraries(
    tx: Transaction, runtime: Runtime, stored: Mapping[int, StoredPaper], now: datetime
) -> set[int]:
    """Return the papers whose missing fields are all in libraries that every reader may see."""
    of_each = [frozenset(subscription.libraries) for subscription in runtime.subscriptions]
    shared = frozenset.intersection(*of_each) if of_each else frozenset()
    if not (stored and shared):
        return set()
    known = {id: paper.paper for id, paper in stored.items()}
    found = collections.find(tx, sorted(shared), list(map(with_keys, known.values())), now)
    usable = library_fields.choose(tx, known, dict(zip(known, found, strict=True)), now)
    return {
        id for id, (entry, _) in usable.items() if not missing(fill(known[id], entry.paper).paper)
    }


def holds(
    tx: Transaction, runtime: Runtime, subscription: Subscription, slot: Slot, now: datetime
) -> bool:
    """Return whether a digest that is due waits for answers about its papers.

    Matched papers that are not queued yet count, too. `tx` is the transaction that reads the
    digest's papers, so that none is matched in between.
    """
    if not runtime.services:
        return False
    name = subscription.name
    # After downtime, papers may be matched long after their digest was due.
    since = matches.waits_since(tx, name, now) or slot.due_at
    if subscription.schedule.immediately:
        until = since + min(runtime.look_up_wait, MOST_FOR_IMMEDIATE)
    else:
        until = max(since, slot.due_at) + runtime.look_up_wait
    if now >= until:
        return False
    ids = matches.newest_waiting(tx, name, now, MOST_WAITED_FOR)
    if not ids or look_ups.is_open(tx, ids, until):
        return bool(ids)
    unasked = look_ups.unasked(tx, now - RECENT, MOST_WAITED_FOR, subscription=name)
    to_queue = set(ids).intersection(unasked)
    return bool(to_queue and _first_services(tx, runtime, to_queue, now))


def look_up(
    runtime: Runtime, seconds: float | None = None, only: Collection[int] = (), service: str = ""
) -> int:
    """Ask about all papers that are due, or those of `only`; return how many gained something.

    Stops after `seconds`: the other papers stay due. With `service`, no other service is asked, and
    papers that it answers about do not wait for the next one.
    """
    if not runtime.services:
        return 0
    end = None if seconds is None else time.monotonic() + seconds
    try:
        lock = look_up_lock(runtime.database)
    except StoreBusyError:
        log.debug("look-up deferred", reason="another process asks")
        return 0
    gained = 0
    with lock:
        drop_removed_services(runtime)
        queue(runtime)
        saved_papers.follow(runtime)
        while True:
            services = [one for name, one in runtime.services.items() if service in ("", name)]
            rounds: list[ServiceRound] = [
                _Round(runtime, one, end, only, is_last=bool(service)) for one in services
            ]
            done = [round_.run() for round_ in rounds]
            # Papers of digests come before saved ones: they are tried before each such request.
            if not (any(done) or only):
                of_saved = [SavedRound(runtime, one, end) for one in services]
                done = [round_.run() for round_ in of_saved]
                rounds += of_saved
            gained += sum(round_.gained for round_ in rounds)
            if not any(done):
                return gained


def drop_removed_services(runtime: Runtime) -> None:
    """Drop look-ups of services that are no longer configured, and queue papers for the next one.

    Does nothing while another configuration uses the store.
    """
    with runtime.database.reading() as tx:
        if not look_ups.open_elsewhere(tx, runtime.services):
            return
    now = runtime.clock.now()
    with runtime.database.writing() as tx:
        if shared_store.keeps_others(tx, runtime):
            return
        waiting = look_ups.open_elsewhere(tx, runtime.services)
        look_ups.drop(tx, waiting)
        _queue_for_next(tx, runtime, [one.paper_id for one in waiting], now)


def ask_about(runtime: Runtime, ids: Iterable[int], service: str = "") -> None:
    """Queue papers at once for one service, or for all in turn, also where they were asked before.

    A service whose answer a person took out is not asked again.
    """
    now = runtime.clock.now()
    with runtime.database.writing() as tx:
        for id, stored in papers.load(tx, ids).items():
            if not stored.purged:
                look_ups.forget(tx, id, service)
                kept = look_ups.of_papers(tx, [id]).get(id, [])
                done = {one.service for one in kept}
                first = next((name for name in runtime.services if name not in done), "")
                name = service or _next_service(runtime, stored.paper, kept, now) or first
                look_ups.wait(tx, [(id, name)] if name else [], now)


@dataclass(slots=True)
class _Round(ServiceRound):
    """One round of requests to one service about papers that lack something.

    If it `is_last`, papers do not wait for the next service.
    """

    is_last: bool = False

    def run(self) -> bool:
        """Ask about the papers that are due. Returns False if none was."""
        if self.is_over():
            return False
        now = self.runtime.clock.now()
        with self.runtime.database.reading() as tx:
            state = self.state(tx, now)
            waiting = look_ups.due(tx, self.service.name, now, BATCH, self.only)
            stored = papers.load(tx, [one.paper_id for one in waiting]) if waiting else {}
        if not waiting:
            return False
        rest = self.rest(state, now)
        if rest > now:
            with self.runtime.database.writing() as tx:
                look_ups.put_off(tx, self.service.name, rest)
                self.pass_on(tx, waiting, now)
            return False
        by_id = {one.paper_id: one for one in waiting}
        given_up = self._give_up(waiting, now)
        wanted = [
            Wanted(id, stored[id].paper)
            for id in by_id
            if id not in given_up and self._is_needed(stored.get(id))
        ]
        questions = self.service.questions(wanted)
        asked_about = {each.id for question in questions for each in question.papers}
        self._drop_needless(by_id, {each.id for each in wanted}, asked_about, now)
        for question in questions:
            if self.is_over():
                break
            if not self.ask(question, [by_id[each.id] for each in question.papers]):
                break
        return True

    def _drop_needless(
        self, waiting: Mapping[int, LookUp], wanted: Set[int], asked_about: Set[int], now: datetime
    ) -> None:
        """End look-ups of papers that lack nothing any more, or whose title has no words."""
        needless = [
            one for id, one in waiting.items() if id not in wanted and one.attempts < ATTEMPTS
        ]
        if not needless and wanted <= asked_about:
            return
        with self.runtime.database.writing() as tx:
            look_ups.drop(tx, needless)
            without_question = wanted - asked_about
            for id in without_question:
                look_ups.settle(tx, waiting[id], LookUpState.NOT_FOUND)
            self.pass_on(tx, [waiting[id] for id in without_question], now)

    def _give_up(self, waiting: Iterable[LookUp], now: datetime) -> set[int]:
        """Give up look-ups that crashes interrupted `ATTEMPTS` times; return their papers."""
        given_up = [one for one in waiting if one.attempts >= ATTEMPTS]
        if given_up:
            with self.runtime.database.writing() as tx:
                ended = [(one, LookUpState.GIVEN_UP, one.answered) for one in given_up]
                look_ups.settle_all(tx, ended)
                self.pass_on(tx, given_up, now)
        return {one.paper_id for one in given_up}

    def _is_needed(self, stored: StoredPaper | None) -> bool:
        if stored is None or stored.purged:
            return False
        return stored.id in self.only or bool(missing(stored.paper) & self.service.gives)

    def keep(
        self, tx: Transaction, asked: Sequence[LookUp], records: Sequence[Paper], now: datetime
    ) -> int:
        records = [record for record in records if may_exist(record, now)]
        alone, contested = _split_contested(tx, _judge(tx, asked, records))
        _settle(tx, alone, now)
        if not self.is_last:
            _queue_or_drop(tx, self.runtime, [one.after() for one in alone], now)
        gained = sum(one.gains for one in alone)
        for one in contested:
            gained += _settle_contested(tx, one.asked, records, now)
            current = merge_papers.current_id(tx, one.stored.id)
            self.pass_on(tx, [structs.replace(one.asked, paper_id=current)], now)
        return gained

    def fail(self, tx: Transaction, asked: Sequence[LookUp], error: str, now: datetime) -> None:
        failure = Answered(error=error)
        last = [(one, LookUpState.GIVEN_UP, failure) for one in asked if one.attempts >= ATTEMPTS]
        others = [(one, LookUpState.FAILED, failure) for one in asked if one.attempts < ATTEMPTS]
        look_ups.settle_all(tx, last)
        look_ups.settle_all(tx, others, now + BETWEEN_ATTEMPTS)
        self.pass_on(tx, asked, now)

    def pass_on(self, tx: Transaction, asked: Sequence[LookUp], now: datetime) -> None:
        if not self.is_last:
            _queue_for_next(tx, self.runtime, [one.paper_id for one in asked], now)


# ── answers ────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Judged:
    """An answer about a paper, and its effect on the paper.

    `stored` is the paper, and `earlier` what else services were asked about it. `filled` is the
    paper with the fields that it gains; if the state is not in
    `FILLED_IN`, it is unchanged.
    """

    asked: LookUp
    stored: StoredPaper
    earlier: tuple[LookUp, ...]
    state: LookUpState
    answered: Answered
    filled: Paper

    @property
    def gains(self) -> bool:
        return self.state in FILLED_IN

    @property
    def identifiers(self) -> set[tuple[str, str]]:
        """The identifiers that the paper gains, as the index has them."""
        schemes = self.answered.schemes if self.gains else ()
        pairs = claims_of(self.filled) if schemes else ()
        return {paper_index.indexed_pair(pair) for pair in pairs if pair[0] in schemes}

    def after(self) -> _AskedPaper:
        """Return the paper and its look-ups as they are once this is stored."""
        settled = structs.replace(self.asked, state=self.state, due_at=None)
        return _AskedPaper(self.stored.id, self.filled, (*self.earlier, settled))


@dataclass(frozen=True, slots=True)
class _AskedPaper:
    """A paper, its id and all its look-ups."""

    id: int
    paper: Paper
    look_ups: tuple[LookUp, ...]


def _judge(tx: Transaction, asked: Sequence[LookUp], records: Sequence[Paper]) -> list[_Judged]:
    """Judge the answer about each paper that is still stored."""
    stored = papers.load(tx, [one.paper_id for one in asked])
    of_papers = look_ups.of_papers(tx, stored)
    judged = []
    for one in asked:
        paper = stored.get(one.paper_id)
        if paper and not paper.purged:
            earlier = tuple(e for e in of_papers[paper.id] if e.service != one.service)
            judged.append(_judge_one(one, paper, earlier, records))
    return judged


def _judge_one(
    asked: LookUp, stored: StoredPaper, earlier: tuple[LookUp, ...], records: Sequence[Paper]
) -> _Judged:
    others = {one.service: one.answered.record for one in earlier if one.answered.record}
    judgement = judge(stored.paper, records, others)
    answered = Answered(
        judgement.record,
        judgement.evidence,
        reasons=judgement.reasons,
        service=judgement.service,
    )
    if judgement.outcome is not LookUpOutcome.FOUND or judgement.record is None:
        state = _UNFILLED[judgement.outcome]
        return _Judged(asked, stored, earlier, state, answered, stored.paper)
    filled = fill(stored.paper, judgement.record)
    answered = structs.replace(answered, fields=filled.fields, schemes=filled.schemes)
    gains = filled.fields or filled.schemes
    state = LookUpState.FILLED if gains else LookUpState.KNOWN
    return _Judged(asked, stored, earlier, state, answered, filled.paper)


def _split_contested(
    tx: Transaction, judged: Sequence[_Judged]
) -> tuple[list[_Judged], list[_Judged]]:
    """Separate papers whose new identifiers another paper has, or gains first."""
    gained = {one.stored.id: one.identifiers for one in judged}
    owners = paper_index.of_keys(tx, {pair for pairs in gained.values() for pair in pairs})
    alone = list[_Judged]()
    contested = list[_Judged]()
    for one in judged:
        pairs = gained[one.stored.id]
        if any(owners.setdefault(pair, one.stored.id) != one.stored.id for pair in pairs):
            contested.append(one)
        else:
            alone.append(one)
    return alone, contested


def _settle(tx: Transaction, judged: Sequence[_Judged], now: datetime) -> None:
    """Store the answers about papers, and the fields that they gain.

    `tx` comes from `Database.ingesting`. Topics that look at these fields are matched again.
    """
    look_ups.settle_all(tx, [(one.asked, one.state, one.answered) for one in judged])
    gaining = [one for one in judged if one.gains]
    write_papers.fill_in(tx, [(one.stored, one.filled) for one in gaining], now)
    write_papers.write_keys(tx, [_keyed(one) for one in gaining])


def _keyed(one: _Judged) -> tuple[int, IncomingPaper]:
    keyed = with_keys(one.filled)
    gained = tuple(pair for pair in keyed.keys if pair[0] in one.answered.schemes)
    claims = dict.fromkeys(gained, Claim.LOOKED_UP)
    return one.stored.id, structs.replace(keyed, keys=gained, claims=claims)


def _settle_contested(
    tx: Transaction, asked: LookUp, records: Sequence[Paper], now: datetime
) -> bool:
    """Store an answer with identifiers that other papers may have.

    Returns whether the paper gained something. Papers may have been joined since the answer was
    judged.
    """
    gained = False
    for judged in _judge(tx, [asked], records):
        owners = paper_index.of_keys(tx, judged.identifiers)
        others = papers.load(tx, set(owners.values()) - {judged.stored.id})
        one = _with_other_owners(tx, judged, others.values())
        _settle(tx, [one], now)
        if one.state is LookUpState.JOINED:
            other = min(others.values(), key=lambda paper: paper.id)
            reasons = describe(same_work(one.filled, other.paper).reasons)
            merge_papers.merge(tx, [(one.stored.id, other.id, reasons)], now)
        gained = one.gains
    return gained


def _with_other_owners(
    tx: Transaction, judged: _Judged, others: Collection[StoredPaper]
) -> _Judged:
    """Judge an answer again, given other papers with an identifier that it would add.

    If all are the same work, they are joined. If one is not, it contradicts the answer.
    """
    id = judged.stored.id
    filled = judged.filled
    answered = judged.answered
    apart = identity_rulings.apart(tx, [(id, other.id) for other in others])
    for other in others:
        verdict = same_work(filled, other.paper)
        # A shared identifier is no proof here: it comes from the answer, not from a source.
        is_same = verdict.same and texts_agree(filled, other.paper)
        if not is_same or (id, other.id) in apart:
            refused = structs.replace(
                answered, fields=(), schemes=(), reasons=verdict.reasons, other=other.id
            )
            return replace(judged, state=LookUpState.CONTRADICTED, answered=refused)
    if not others:
        return judged
    joined = JoinedPaper(_records(tx, id), not look_ups.is_in_digest(tx, id))
    answered = structs.replace(answered, joined=joined)
    return replace(judged, state=LookUpState.JOINED, answered=answered)


def _records(tx: Transaction, paper_id: int) -> tuple[tuple[str, str], ...]:
    seen = sightings.of_papers(tx, [paper_id]).get(paper_id, ())
    return tuple((one.source, one.raw_id) for one in seen)


# ── the next service ───────────────────────────────────────────────────────────────


def _queue_for_next(tx: Transaction, runtime: Runtime, ids: Iterable[int], now: datetime) -> None:
    """Queue papers that still lack something for the next service that may have it."""
    stored = papers.load(tx, ids)
    asked = look_ups.of_papers(tx, stored)
    there = [one for one in stored.values() if not one.purged]
    now_asked = [_AskedPaper(one.id, one.paper, tuple(asked.get(one.id, ()))) for one in there]
    _queue_or_drop(tx, runtime, now_asked, now)


def _queue_or_drop(
    tx: Transaction, runtime: Runtime, asked: Iterable[_AskedPaper], now: datetime
) -> None:
    waiting = list[tuple[int, str]]()
    needless = list[LookUp]()
    for one in asked:
        if name := _next_service(runtime, one.paper, one.look_ups, now):
            waiting.append((one.id, name))
        elif not missing(one.paper):
            needless += (e for e in one.look_ups if e.state is LookUpState.WAITING)
    look_ups.wait(tx, waiting, now)
    look_ups.drop(tx, needless)


def _next_service(runtime: Runtime, paper: Paper, asked: Iterable[LookUp], now: datetime) -> str:
    """Return the next service to ask about a paper.

    "" if there is none, or one is being asked or is due. Services that rest are skipped.
    """
    lacks = missing(paper)
    known = {one.service: one for one in asked}
    for name, service in runtime.services.items():
        if not lacks & service.gives:
            continue
        if name not in known:
            return name
        one = known[name]
        is_next = one.state is LookUpState.WAITING and one.due_at and one.due_at <= now
        if is_next or one.state is LookUpState.ASKING:
            return ""
    return ""
