"""Asking one service: what may be sent to it when, and what its failures lead to.

Who is asked, by whom and since when is committed before each request, and the answer with what
becomes of it.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

import structlog

from monitor.errors import (
    DeferredError,
    FetchError,
    StoreError,
    ValueRefusedError,
    WaitError,
)
from monitor.http.host_limits import patient
from monitor.look_up.service import Service
from monitor.model import Paper
from monitor.model.incidents import Subject, SubjectKind
from monitor.model.look_up import LookUp, Question
from monitor.pipeline.asked_service import DUE_AFTER_CRASH, SHORTEST_REST, AskedService
from monitor.pipeline.runtime import Runtime
from monitor.store.engine.database import Transaction
from monitor.store.papers import look_ups
from monitor.store.papers.look_ups import Purpose
from monitor.store.papers.service_states import ServiceState

log = structlog.get_logger()

# Statuses that refuse one question, and not all: a bad request, and an address that is too long.
REFUSED = (400, 414)


@dataclass(slots=True)
class ServiceRound(ABC):
    """One round of requests to one service, for one purpose.

    Until the monotonic time `end`. `only` are the papers that a person asks about, () for all that
    are due. `gained` counts the papers for which something came of it.
    """

    purpose: ClassVar[Purpose] = Purpose.GAPS
    runtime: Runtime
    service: Service
    end: float | None
    only: Collection[int] = ()
    gained: int = 0

    @abstractmethod
    def run(self) -> bool:
        """Ask about what is due, and say whether anything was."""

    @abstractmethod
    def keep(
        self, tx: Transaction, asked: Sequence[LookUp], records: Sequence[Paper], now: datetime
    ) -> int:
        """Store the answer about papers; return for how many something came of it."""

    @abstractmethod
    def fail(self, tx: Transaction, asked: Sequence[LookUp], error: str, now: datetime) -> None:
        """Store that there is no answer about papers."""

    def pass_on(self, tx: Transaction, asked: Sequence[LookUp], now: datetime) -> None:
        """Let papers that this service cannot be asked about now wait for the next one."""

    @property
    def most_requests(self) -> int:
        """The requests a day after which nothing more is asked for this purpose."""
        return self.service.requests_a_day

    def is_over(self) -> bool:
        late = self.end is not None and time.monotonic() >= self.end
        return late or self.runtime.stopping.is_set()

    def state(self, tx: Transaction, now: datetime) -> ServiceState:
        return self._asked.state(tx, now)

    @property
    def _asked(self) -> AskedService:
        return AskedService(Subject(SubjectKind.SERVICE, self.service.name), self.most_requests)

    def rest(self, state: ServiceState, now: datetime) -> datetime:
        """Return when the service may be asked again, at the earliest now.

        After a failure a person may ask at once, but for no more requests a day.
        """
        return self._asked.may_be_asked_at(state, now, in_spite_of_failures=bool(self.only))

    def ask(self, question: Question, waiting: Sequence[LookUp]) -> bool:
        """Ask one question and store its answer; return False where the service should rest."""
        runtime = self.runtime
        now = self.runtime.clock.now()
        with runtime.database.writing() as tx:
            state = self.state(tx, now)
            if self.rest(state, now) > now:
                return False
            owner = runtime.owner.id
            due_again = now + DUE_AFTER_CRASH
            asked = look_ups.begin(tx, waiting, owner, now, due_again, self.purpose)
            self._asked.spend(tx, state)
        if not asked:
            return True
        try:
            with self._patience():
                records = self.service.ask(question)
        except (DeferredError, WaitError) as fault:
            self._put_back(asked, fault)
            return False
        except FetchError as fault:
            self._note_failure(asked, str(fault), None if fault.status in REFUSED else fault)
            return fault.status in REFUSED
        except Exception as fault:  # of one answer: it stops neither the others nor a digest
            self._note_fault(asked, fault)
        else:
            self._store_or_split(asked, records)
        return True

    def _patience(self) -> AbstractContextManager[None]:
        """Wait for a turn at the host of the service until the end of the round at most."""
        if self.end is None:
            return nullcontext()
        return patient(max(self.end - time.monotonic(), 0.0))

    def _put_back(self, asked: Sequence[LookUp], fault: DeferredError | WaitError) -> None:
        """Let papers wait again of which nothing was sent.

        The host was busy, or this process stops. Where the host asked a source of ours for a pause,
        the papers wait for the next service meanwhile.
        """
        runtime = self.runtime
        now = self.runtime.clock.now()
        pause = (fault.retry_after or SHORTEST_REST) if isinstance(fault, WaitError) else None
        log.debug("look-up deferred", service=self.service.name, reason=str(fault))
        with runtime.database.writing() as tx:
            until = self._asked.give_back(tx, now, pause)
            look_ups.put_back(tx, asked, until, self.purpose)
            if pause:
                look_ups.put_off(tx, self.service.name, until, self.purpose)
                self.pass_on(tx, asked, now)

    def _store_or_split(self, asked: Sequence[LookUp], records: Sequence[Paper]) -> None:
        """Store the answer about papers together; if that fails, about each of them alone."""
        try:
            self._store(asked, records)
        except Exception as fault:
            if isinstance(fault, StoreError) and not isinstance(fault, ValueRefusedError):
                raise
            if len(asked) == 1:
                self._note_fault(asked, fault)
                return
            for one in asked:
                self._store_or_split([one], records)

    def _store(self, asked: Sequence[LookUp], records: Sequence[Paper]) -> None:
        runtime = self.runtime
        now = self.runtime.clock.now()
        with runtime.database.ingesting() as tx:
            gained = self.keep(tx, asked, records, now)
            self._asked.answered(tx, now)
        self.gained += gained
        log.info(
            "looked up",
            service=self.service.name,
            papers=len(asked),
            records=len(records),
            saved=self.purpose is Purpose.CHANGES,
        )

    def _note_fault(self, asked: Sequence[LookUp], fault: Exception) -> None:
        """Record that an answer about papers could not be read or stored."""
        log.error("look-up failed", service=self.service.name, exc_info=fault)
        self._note_failure(asked, f"{type(fault).__name__}: {fault}", None)

    def _note_failure(
        self, asked: Sequence[LookUp], error: str, of_service: FetchError | None
    ) -> None:
        """Record that papers have no answer, and let the service rest if the failure is its own."""
        runtime = self.runtime
        now = self.runtime.clock.now()
        error = runtime.settings.variables_of_services.hide(error)
        log.warning("service failed", service=self.service.name, error=error)
        with runtime.database.writing() as tx:
            if of_service:
                rest = self._asked.failed(tx, error, of_service.retry_after, now)
                look_ups.put_off(tx, self.service.name, rest, self.purpose)
            self.fail(tx, asked, error, now)
