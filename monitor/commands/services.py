"""The state of the services that are asked about papers, and of the server of embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from monitor.model.embeddings import EmbeddingState
from monitor.model.look_up import FILLED_IN, LookUpState
from monitor.pipeline.asked_service import utc_day
from monitor.pipeline.embeddings import asked_service
from monitor.pipeline.runtime import Runtime
from monitor.pipeline.saved_papers import askable
from monitor.store.engine.database import Transaction
from monitor.store.papers import look_ups, service_states
from monitor.store.papers.look_ups import JoinedBy
from monitor.store.topics import embeddings

LATELY = timedelta(days=1)
# Papers that answers joined are named for this time.
JOINED_LATELY = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """A service that is asked about papers: its answers in the last day, and what waits for it."""

    # The key in `look_up:`.
    name: str
    # The name by which people know the service.
    title: str
    # Its last answer was valid, or it was never asked.
    ok: bool
    # Papers it was asked about in the last day, and those it will be asked about again.
    asked: int
    # Papers of these that it has, also if it added nothing.
    found: int
    # Papers of these that it does not have, or whose title alone agrees.
    not_found: int
    # Papers of these for which it has a record of another work.
    contradicted: int
    # All papers that wait for their turn.
    waiting: int
    # Requests since midnight UTC; one may be about several papers.
    spent_today: int
    # The most requests a day: a setting, else the default of the service.
    a_day: int
    # The error of the last attempt, "" while `ok`.
    error: str


@dataclass(frozen=True, slots=True)
class SavedStatus:
    """How many papers readers saved or rated "more", and of how many a service said a change.

    `last_asked` is when the last of the services was asked about one.
    """

    papers: int
    changed: int
    last_asked: datetime | None


@dataclass(frozen=True, slots=True)
class LookUpStatus:
    """The services that are asked, the papers that their answers joined in a week, and `saved`."""

    services: tuple[ServiceStatus, ...]
    joined: tuple[JoinedBy, ...]
    saved: SavedStatus

    def title_of(self, joined: JoinedBy) -> str:
        """Return what people call the service that joined papers, which may be gone by now."""
        titles = {service.name: service.title for service in self.services}
        return titles.get(joined.service, joined.service)


@dataclass(frozen=True, slots=True)
class EmbeddingStatus:
    """The server of embeddings: its answers in the last day, and what waits for it."""

    # The name in the configuration.
    model: str
    # Its last answer was valid, or it was never asked.
    ok: bool
    # Papers it was asked about in the last day, and those it will be asked about again.
    asked: int
    # Papers of these that have a vector.
    answered: int
    # Papers of these whose last attempt failed.
    given_up: int
    # Matches that models added in the last day; a paper counts once for each topic.
    added: int
    # All papers that wait for their turn.
    waiting: int
    # Requests since midnight UTC; one is about several papers.
    spent_today: int
    # The most requests a day, a setting.
    a_day: int
    # The error of the last attempt, "" while `ok`.
    error: str


def embedding_status(tx: Transaction, runtime: Runtime) -> EmbeddingStatus | None:
    """Return the state of the server of embeddings, None where there is none."""
    server = runtime.embeddings
    if not server:
        return None
    now = runtime.clock.now()
    counts = embeddings.counts(tx, server.model, now - LATELY)
    state = asked_service(server).state(tx, now)
    waiting = counts.get(EmbeddingState.WAITING, 0)
    return EmbeddingStatus(
        model=server.model,
        ok=state.failing_since is None,
        asked=sum(counts.values()) - waiting,
        answered=counts.get(EmbeddingState.ANSWERED, 0),
        given_up=counts.get(EmbeddingState.GIVEN_UP, 0),
        added=embeddings.added_since(tx, now - LATELY),
        waiting=waiting,
        spent_today=state.spent,
        a_day=server.requests_a_day,
        error=state.error,
    )


def look_up_status(tx: Transaction, runtime: Runtime) -> LookUpStatus | None:
    """Return the state of each service, in the order of asking; None where none is asked."""
    if not runtime.services:
        return None
    now = runtime.clock.now()
    counts = look_ups.counts(tx, now - LATELY)
    services = (
        _service_status(tx, runtime, name, counts.get(name, {}), now) for name in runtime.services
    )
    saved = SavedStatus(*look_ups.followed_counts(tx, [s.name for s in askable(runtime)]))
    return LookUpStatus(tuple(services), look_ups.joined_since(tx, now - JOINED_LATELY), saved)


def _service_status(
    tx: Transaction, runtime: Runtime, name: str, counts: dict[LookUpState, int], now: datetime
) -> ServiceStatus:
    service = runtime.services[name]
    state = service_states.read(tx, name, utc_day(now))
    found = sum(counts.get(state, 0) for state in (*FILLED_IN, LookUpState.KNOWN))
    not_found = counts.get(LookUpState.NOT_FOUND, 0) + counts.get(LookUpState.UNCONFIRMED, 0)
    waiting = counts.get(LookUpState.WAITING, 0)
    return ServiceStatus(
        name=name,
        title=service.title,
        ok=state.failing_since is None,
        asked=sum(counts.values()) - waiting,
        found=found,
        not_found=not_found,
        contradicted=counts.get(LookUpState.CONTRADICTED, 0),
        waiting=waiting,
        spent_today=state.spent,
        a_day=service.requests_a_day,
        error=state.error,
    )
