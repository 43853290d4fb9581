"""Look up: services are asked what the records of papers that will be sent do not say.

Between matching and composing, with rows of its own: who is asked, by whom and since when is
committed before each request. What an answer fills in is no news, and matches nothing but the
topics that look at it.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from msgspec import structs

from monitor.digest.schedule import Slot
from monitor.errors import StoreBusyError
from monitor.identity.keys import claims_of, with_keys
from monitor.identity.looked_up import judge
from monitor.identity.reasons import write_reasons
from monitor.identity.same_work import same_work, texts_agree
from monitor.model import Claim, Paper, StoredPaper
from monitor.model.look_up import (
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
# A digest without a schedule waits for so long.
MOST_FOR_IMMEDIATE = timedelta(seconds=60)
# Papers of one digest that are waited for.
MOST_WAITED_FOR = 400

# The states of answers that fill nothing in.
_UNFILLED = {
    LookUpOutcome.NOT_FOUND: LookUpState.NOT_FOUND,
    LookUpOutcome.UNCONFIRMED: LookUpState.UNCONFIRMED,
    LookUpOutcome.CONTRADICTED: LookUpState.CONTRADICTED,
}


def queue(runtime: Runtime) -> bool:
    """Queue papers that wait for a digest and lack something; return whether there were any."""
    if not runtime.services:
        return False
    now, rows = runtime.clock.now(), list[tuple[int, str]]()
    with runtime.database.reading() as tx:
        below: int | None = None
        while not rows:
            ids = look_ups.unasked(tx, now - RECENT, QUEUED_AT_ONCE, below)
            if not ids:
                return False
            stored, below = papers.load(tx, ids), ids[-1]
            known = _in_shared_libraries(tx, runtime, stored, now)
            nexts = {id: _next(runtime, paper.paper, (), now) for id, paper in stored.items()}
            rows = [(id, name) for id, name in nexts.items() if name and id not in known]
    with runtime.database.writing() as tx:
        existing = papers.load(tx, [id for id, _ in rows])
        look_ups.wait(tx, [row for row in rows if row[0] in existing], now)
    return True


def _in_shared_libraries(
    tx: Transaction, runtime: Runtime, stored: Mapping[int, StoredPaper], now: datetime
) -> set[int]:
    """Return the papers that lack nothing with what libraries say that all readers may see."""
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


def holds(runtime: Runtime, subscription: Subscription, slot: Slot, now: datetime) -> bool:
    """Say whether a digest that is due waits for answers about its papers."""
    if not runtime.services:
        return False
    with runtime.database.reading() as tx:
        # After a downtime papers are matched when their digest is long due.
        since = matches.waits_since(tx, subscription.name, now) or slot.due_at
        if subscription.schedule.immediately:
            until = since + min(runtime.look_up_wait, MOST_FOR_IMMEDIATE)
        else:
            until = max(since, slot.due_at) + runtime.look_up_wait
        if now >= until:
            return False
        ids = matches.newest_waiting(tx, subscription.name, now, MOST_WAITED_FOR)
        return bool(ids) and look_ups.is_open(tx, ids, until)


def look_up(runtime: Runtime, seconds: float | None = None, only: Collection[int] = ()) -> int:
    """Ask about all papers that are due, or some alone; return how many gained something.

    For at most some `seconds`: what is left is due the next time.
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
            services = runtime.services.values()
            rounds: list[ServiceRound] = [_Round(runtime, one, end, only) for one in services]
            done = [round_.run() for round_ in rounds]
            # The news of all readers goes first, before each request about a saved paper.
            if not (any(done) or only):
                of_saved = [SavedRound(runtime, service, end) for service in services]
                done = [round_.run() for round_ in of_saved]
                rounds += of_saved
            gained += sum(round_.gained for round_ in rounds)
            if not any(done):
                return gained


def drop_removed_services(runtime: Runtime) -> None:
    """Forget what waits for services that are no longer configured: the next service has its turn.

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
        for one in waiting:
            _wait_for_next(tx, runtime, one.paper_id, now)


def ask_about(runtime: Runtime, ids: Iterable[int], service: str = "") -> None:
    """Let papers be asked about at once, also where they were before: at one service, or in turn.

    Not at a service whose answer a person took out.
    """
    now = runtime.clock.now()
    with runtime.database.writing() as tx:
        for id, stored in papers.load(tx, ids).items():
            if not stored.purged:
                look_ups.forget(tx, id, service)
                kept = look_ups.of_papers(tx, [id]).get(id, [])
                done = {one.service for one in kept}
                first = next((name for name in runtime.services if name not in done), "")
                name = service or _next(runtime, stored.paper, kept, now) or first
                look_ups.wait(tx, [(id, name)] if name else [], now)


@dataclass(slots=True)
class _Round(ServiceRound):
    """One round of requests to one service about papers that lack something."""

    def run(self) -> bool:
        """Ask about the papers that are due, and say whether anything was."""
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
                for one in waiting:
                    _wait_for_next(tx, self.runtime, one.paper_id, now)
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
        self._let_go(by_id, {each.id for each in wanted}, asked_about, now)
        for question in questions:
            if self.is_over():
                break
            if not self.ask(question, [by_id[each.id] for each in question.papers]):
                break
        return True

    def _let_go(
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
            for id in wanted - asked_about:
                look_ups.settle(tx, waiting[id], LookUpState.NOT_FOUND)
                _wait_for_next(tx, self.runtime, id, now)

    def _give_up(self, waiting: Iterable[LookUp], now: datetime) -> set[int]:
        """Give up look-ups that crashes cut off `ATTEMPTS` times; return their papers."""
        given_up = [one for one in waiting if one.attempts >= ATTEMPTS]
        if given_up:
            with self.runtime.database.writing() as tx:
                for one in given_up:
                    look_ups.settle(tx, one, LookUpState.GIVEN_UP, one.answered)
                    _wait_for_next(tx, self.runtime, one.paper_id, now)
        return {one.paper_id for one in given_up}

    def _is_needed(self, stored: StoredPaper | None) -> bool:
        if stored is None or stored.purged:
            return False
        return stored.id in self.only or bool(missing(stored.paper) & self.service.gives)

    def keep(self, tx: Transaction, asked: LookUp, records: Sequence[Paper], now: datetime) -> bool:
        has_gained = store_answer(tx, asked, records, now)
        _wait_for_next(tx, self.runtime, merge_papers.current_id(tx, asked.paper_id), now)
        return has_gained

    def fail(self, tx: Transaction, asked: LookUp, error: str, now: datetime) -> None:
        is_last = asked.attempts >= ATTEMPTS
        next_state = LookUpState.GIVEN_UP if is_last else LookUpState.FAILED
        again = None if is_last else now + BETWEEN_ATTEMPTS
        look_ups.settle(tx, asked, next_state, Answered(error=error), again)
        _wait_for_next(tx, self.runtime, asked.paper_id, now)


def store_answer(tx: Transaction, asked: LookUp, records: Sequence[Paper], now: datetime) -> bool:
    """Fill in what an answer says about a paper, if it does; return whether the paper gained.

    `tx` comes from `Database.ingesting`.
    """
    stored = papers.get(tx, asked.paper_id)
    if stored is None or stored.purged:
        return False
    earlier = look_ups.of_papers(tx, [stored.id]).get(stored.id, ())
    others = {
        one.service: one.answered.record
        for one in earlier
        if one.service != asked.service and one.answered.record
    }
    judgement = judge(stored.paper, records, others)
    answered = Answered(judgement.record, judgement.evidence, reasons=judgement.reasons)
    if judgement.outcome is not LookUpOutcome.FOUND or judgement.record is None:
        look_ups.settle(tx, asked, _UNFILLED[judgement.outcome], answered)
        return False
    filled = fill(stored.paper, judgement.record)
    answered = structs.replace(answered, fields=filled.fields, schemes=filled.schemes)
    if not (filled.fields or filled.schemes):
        look_ups.settle(tx, asked, LookUpState.KNOWN, answered)
        return False
    known = _others_with_identifiers(tx, stored, filled.paper, filled.schemes)
    apart = identity_rulings.apart(tx, [(stored.id, id) for id in known])
    for other in known.values():
        verdict = same_work(filled.paper, other.paper)
        # The identifier alone proves nothing: it is not of a record of this paper.
        is_same = verdict.same and texts_agree(filled.paper, other.paper)
        if not is_same or (stored.id, other.id) in apart:
            answered = structs.replace(
                answered, fields=(), schemes=(), reasons=verdict.reasons, other=other.id
            )
            look_ups.settle(tx, asked, LookUpState.CONTRADICTED, answered)
            return False
    if known:
        other = min(known.values(), key=lambda paper: paper.id)
        joined = JoinedPaper(_records(tx, stored.id), not look_ups.is_in_digest(tx, stored.id))
        reasons = write_reasons(same_work(filled.paper, other.paper).reasons)
        look_ups.settle(tx, asked, LookUpState.JOINED, structs.replace(answered, joined=joined))
        _write(tx, stored, filled.paper, filled.schemes, now)
        merge_papers.merge(tx, [(stored.id, other.id, reasons)], now)
        return True
    look_ups.settle(tx, asked, LookUpState.FILLED, answered)
    _write(tx, stored, filled.paper, filled.schemes, now)
    return True


def _others_with_identifiers(
    tx: Transaction, stored: StoredPaper, filled: Paper, schemes: Collection[str]
) -> dict[int, StoredPaper]:
    """Return other stored papers that have an identifier which a paper would gain."""
    gained = (pair for pair in claims_of(filled) if pair[0] in schemes)
    owners = paper_index.of_keys(tx, gained)
    return papers.load(tx, set(owners.values()) - {stored.id})


def _records(tx: Transaction, paper_id: int) -> tuple[tuple[str, str], ...]:
    seen = sightings.of_papers(tx, [paper_id]).get(paper_id, ())
    return tuple((one.source, one.raw_id) for one in seen)


def _write(
    tx: Transaction, stored: StoredPaper, filled: Paper, schemes: Collection[str], now: datetime
) -> None:
    """Write what a paper gained; topics that look at it match the paper once more."""
    keyed = with_keys(filled)
    gained = tuple(pair for pair in keyed.keys if pair[0] in schemes)
    claims = dict.fromkeys(gained, Claim.LOOKED_UP)
    write_papers.fill_in(tx, stored, filled, now)
    write_papers.write_keys(tx, [(stored.id, structs.replace(keyed, keys=gained, claims=claims))])


def _wait_for_next(tx: Transaction, runtime: Runtime, paper_id: int, now: datetime) -> None:
    """Let a paper that still lacks something wait for the next service that may have it."""
    stored = papers.get(tx, paper_id)
    if stored is None or stored.purged:
        return
    asked = look_ups.of_papers(tx, [paper_id]).get(paper_id, [])
    if name := _next(runtime, stored.paper, asked, now):
        look_ups.wait(tx, [(paper_id, name)], now)
    elif not missing(stored.paper):
        look_ups.drop(tx, [one for one in asked if one.state is LookUpState.WAITING])


def _next(runtime: Runtime, paper: Paper, asked: Iterable[LookUp], now: datetime) -> str:
    """Return the service that a paper should wait for.

    "" if there is none, or one is being asked or is due. A service that rests is passed over.
    """
    lacks, known = missing(paper), {one.service: one for one in asked}
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
