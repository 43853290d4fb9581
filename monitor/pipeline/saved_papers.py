"""Asking services, once a month, what became of papers that readers saved or rated "more".

They are asked by identifier alone, after all that is to be looked up for digests, and for at most
half of the requests that each gets a day. An answer changes nothing of the paper: readers who
follow it are notified, as of a change of a reference.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from msgspec import structs

from monitor.identity.reference_events import work_of
from monitor.look_up.service import Service
from monitor.model import Judgement, Paper, ReferenceEvent, StoredPaper
from monitor.model.look_up import LookUp, LookUpState, Wanted
from monitor.pipeline.asked_service import ATTEMPTS, BETWEEN_ATTEMPTS
from monitor.pipeline.guard import changes_of_saved
from monitor.pipeline.runtime import Runtime
from monitor.pipeline.service_round import ServiceRound
from monitor.store.engine.database import Transaction
from monitor.store.papers import look_ups, merge_papers, papers
from monitor.store.papers.look_ups import Purpose
from monitor.store.sources import reference_events as stored_events
from monitor.store.topics import judgements, subscriptions

MONTH = timedelta(days=30)
# Papers that one transaction begins to follow.
BATCH = 1_000


def askable(runtime: Runtime) -> list[Service]:
    """Return the services that can say what became of a paper, in the order of asking."""
    return [service for service in runtime.services.values() if service.has_changes]


def follow(runtime: Runtime) -> None:
    """Let services be asked about newly saved papers, and let their readers learn of changes.

    Of a paper that was asked about for another reader, the last answer counts until the next one.
    """
    now = runtime.clock.now()
    with runtime.database.reading() as tx:
        new = {
            service.name: look_ups.unfollowed(tx, service.name, service.schemes, BATCH)
            for service in askable(runtime)
        }
        stored = papers.load(tx, {id for ids in new.values() for id in ids})
        works = {id: _work(paper) for id, paper in stored.items()}
        known = look_ups.answered_before(tx)
        untold = [
            one
            for one in known
            if not all(
                stored_events.is_told(tx, event)
                for event in _told(tx, one.paper_id, one.answered.changes)
            )
        ]
    if works:
        with runtime.database.writing() as tx:
            existing = papers.load(tx, works)
            for name, ids in new.items():
                here = {id: works[id] for id in ids if id in existing}
                look_ups.follow(tx, here, name, now)
    if untold:
        with runtime.database.ingesting() as tx:
            for one in untold:
                _tell(tx, one.paper_id, one.answered.changes, now)


def _work(stored: StoredPaper) -> Paper:
    """Return what is kept of a paper, without its text, to know later what is new about it."""
    paper = stored.paper
    return structs.replace(work_of([paper]), type=paper.type)


@dataclass(slots=True)
class SavedRound(ServiceRound):
    """One request to one service about papers that readers follow."""

    purpose: ClassVar[Purpose] = Purpose.CHANGES

    @property
    def most_requests(self) -> int:
        return (self.service.requests_a_day + 1) // 2

    def run(self) -> bool:
        """Ask about some papers that are due, and say whether any were."""
        if not self.service.has_changes or self.is_over():
            return False
        now = self.runtime.clock.now()
        name = self.service.name
        with self.runtime.database.reading() as tx:
            state = self.state(tx, now)
            waiting = look_ups.due_changes(tx, name, now, self.service.identifiers_at_once)
            stored = papers.load(tx, [one.paper_id for one in waiting]) if waiting else {}
        if not waiting:
            return False
        rest = self.rest(state, now)
        if rest > now:
            with self.runtime.database.writing() as tx:
                look_ups.put_off(tx, name, rest, self.purpose)
            return False
        given_up = {one.paper_id for one in waiting if one.attempts >= ATTEMPTS}
        wanted = [
            Wanted(one.paper_id, stored[one.paper_id].paper)
            for one in waiting
            if one.paper_id in stored and one.paper_id not in given_up
        ]
        questions = self.service.questions_by_identifier(wanted)
        asked_about = {each.id for question in questions for each in question.papers}
        self._put_off([one for one in waiting if one.paper_id not in asked_about], given_up, now)
        by_id = {one.paper_id: one for one in waiting}
        for question in questions[:1]:
            return self.ask(question, [by_id[each.id] for each in question.papers])
        return True

    def _put_off(self, waiting: Iterable[LookUp], given_up: set[int], now: datetime) -> None:
        """Ask later about papers without an identifier, and where crashes cut all attempts off."""
        waiting = list(waiting)
        if not waiting:
            return
        with self.runtime.database.writing() as tx:
            for one in waiting:
                is_given_up = one.paper_id in given_up
                state = LookUpState.GIVEN_UP if is_given_up else LookUpState.WAITING
                later = now + (MONTH if is_given_up else BETWEEN_ATTEMPTS)
                look_ups.settle(tx, one, state, one.answered, later, self.purpose)

    def keep(
        self, tx: Transaction, asked: Sequence[LookUp], records: Sequence[Paper], now: datetime
    ) -> int:
        return sum(self._keep(tx, one, records, now) for one in asked)

    def _keep(
        self, tx: Transaction, asked: LookUp, records: Sequence[Paper], now: datetime
    ) -> bool:
        asked = structs.replace(asked, paper_id=merge_papers.current_id(tx, asked.paper_id))
        stored = papers.get(tx, asked.paper_id)
        if stored is None or stored.purged:
            return False
        since = min((one.at for one in _followers(tx, stored.id)), default=now)
        work = asked.answered.work or _work(stored)
        changes = changes_of_saved(tx, stored, work, records, self.service.name, since, now)
        state = LookUpState.REPORTED if changes else LookUpState.KNOWN
        if changes is None:
            state = LookUpState.NOT_FOUND
        answered = structs.replace(asked.answered, changes=tuple(changes or ()), error="")
        look_ups.settle(tx, asked, state, answered, now + MONTH, self.purpose)
        return _tell(tx, stored.id, changes or (), now)

    def fail(self, tx: Transaction, asked: Sequence[LookUp], error: str, now: datetime) -> None:
        for one in asked:
            is_last = one.attempts >= ATTEMPTS
            state = LookUpState.GIVEN_UP if is_last else LookUpState.FAILED
            again = now + (MONTH if is_last else BETWEEN_ATTEMPTS)
            answered = structs.replace(one.answered, error=error)
            look_ups.settle(tx, one, state, answered, again, self.purpose)


def _followers(tx: Transaction, paper_id: int) -> list[Judgement]:
    return judgements.followers(tx, [paper_id]).get(paper_id, [])


def _told(
    tx: Transaction, paper_id: int, changes: Iterable[ReferenceEvent]
) -> list[ReferenceEvent]:
    """Return changes for each reader who follows a paper, and the subscriptions of each."""
    readers: dict[str, set[str]] = defaultdict(set)
    for one in _followers(tx, paper_id):
        readers[one.who.casefold()].add(one.subscription)
    return [
        structs.replace(change, reader=who, audience=tuple(sorted(names)), saved=paper_id)
        for change in changes
        for who, names in readers.items()
    ]


def _tell(tx: Transaction, paper_id: int, changes: Iterable[ReferenceEvent], now: datetime) -> bool:
    """Let the digests of readers who follow a paper have its changes; say if one is new."""
    if not stored_events.save(tx, _told(tx, paper_id, changes)):
        return False
    subscriptions.wake_immediate(tx, None, now)
    return True
