"""A service that is asked about papers: its requests a day, its rests after failures, its incident.

It rests for as long as it has failed, a minute to an hour, or as long as it asks. After an hour
the operator is notified, once. Whoever asks saves the request that will be sent before it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from msgspec import structs

from monitor.model.incidents import IncidentKind, Subject
from monitor.store.digests import incidents as stored_incidents
from monitor.store.engine.database import Transaction
from monitor.store.papers import service_states
from monitor.store.papers.service_states import ServiceState

SHORTEST_REST = timedelta(minutes=1)
LONGEST_REST = timedelta(hours=1)
# A request that a crash cut off is repeated after an hour, one that failed a day later.
DUE_AFTER_CRASH = timedelta(hours=1)
BETWEEN_ATTEMPTS = timedelta(days=1)
ATTEMPTS = 3
# A longer pause that a service asks for is cut.
LONGEST_PAUSE = timedelta(days=1)
# The operator is notified of a service that has failed for this time.
TOLD_AFTER = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class AskedService:
    """A service by the subject of its incidents, whose name its state is stored under."""

    subject: Subject
    requests_a_day: int

    def state(self, tx: Transaction, now: datetime) -> ServiceState:
        return service_states.read(tx, self.subject.name, utc_day(now))

    def may_be_asked_at(
        self, state: ServiceState, now: datetime, *, in_spite_of_failures: bool = False
    ) -> datetime:
        """Return when it may be asked again, at the earliest now; once spent, after midnight."""
        if state.spent >= self.requests_a_day:
            return _tomorrow(now)
        return now if in_spite_of_failures else max(state.rests_until or now, now)

    def spend(self, tx: Transaction, state: ServiceState) -> None:
        """Count a request that will be sent."""
        service_states.save(tx, structs.replace(state, spent=state.spent + 1))

    def give_back(self, tx: Transaction, now: datetime, pause: timedelta | None = None) -> datetime:
        """Count no request, as none was sent; return until when it rests.

        It rests for a minute, or as long as its host asked for: that is no failure.
        """
        state = self.state(tx, now)
        rest = max(min(pause or SHORTEST_REST, LONGEST_PAUSE), SHORTEST_REST)
        given_back = structs.replace(state, spent=max(state.spent - 1, 0))
        if pause:
            given_back = structs.replace(given_back, rests_until=now + rest)
        service_states.save(tx, given_back)
        return now + rest

    def answered(self, tx: Transaction, now: datetime) -> None:
        """Record a valid answer, which ends a failure."""
        state = self.state(tx, now)
        well = structs.replace(state, error="", failing_since=None, rests_until=None)
        service_states.save(tx, well)
        stored_incidents.end_incident(tx, self.subject, IncidentKind.FAILING, now)

    def failed(
        self, tx: Transaction, error: str, retry_after: timedelta | None, now: datetime
    ) -> datetime:
        """Record a failure, and return until when it rests; after an hour it is an incident."""
        state = self.state(tx, now)
        since = state.failing_since or now
        rest = min(max(now - since, SHORTEST_REST), LONGEST_REST)
        if retry_after is not None:
            rest = max(rest, min(retry_after, LONGEST_PAUSE))
        resting = structs.replace(state, error=error, failing_since=since, rests_until=now + rest)
        service_states.save(tx, resting)
        if now - since >= TOLD_AFTER:
            kind = IncidentKind.FAILING
            stored_incidents.open_incident(tx, self.subject, kind, now, error)
        return now + rest


def utc_day(now: datetime) -> date:
    """Return the day that the allowances of services count by."""
    return now.astimezone(UTC).date()


def _tomorrow(now: datetime) -> datetime:
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight + timedelta(days=1)
