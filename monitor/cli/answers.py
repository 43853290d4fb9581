"""The JSON of each command, exactly as scripts may rely on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from monitor.model import Delivery, Paper, Reading, Run, RunOutcome, State

if TYPE_CHECKING:
    from monitor.app import Sent

Answer = dict[str, Any]


def runs(told: Iterable[Run]) -> Answer:
    return {"runs": [_run(run) for run in told]}


def _run(run: Run) -> Answer:
    return {
        "source": run.source,
        "document": run.document,
        "outcome": run.outcome.value,
        "seen": run.seen,
        "new": run.new,
        "revised": run.revised,
        "known": run.known,
        "rejected": run.rejected,
        "error": run.error or None,
    }


def runs_ok(told: Iterable[Run]) -> bool:
    return all(run.outcome is not RunOutcome.FAILED for run in told)


def digests(sent: Iterable[Sent]) -> Answer:
    return {
        "digests": [
            {
                "subscription": one.subscription,
                "period": one.period,
                "papers": one.papers,
                "deliveries": [_attempt(delivery) for delivery in one.deliveries],
            }
            for one in sent
        ]
    }


def _attempt(delivery: Delivery) -> Answer:
    return {
        "channel": delivery.channel,
        "recipient": delivery.recipient,
        "state": delivery.state.value,
        "error": delivery.error or None,
    }


def digests_ok(sent: Iterable[Sent]) -> bool:
    """Whether all that was to be sent was sent; what a person must settle is not."""
    return all(
        delivery.state in (State.SENT, State.SUPPRESSED)
        for one in sent
        for delivery in one.deliveries
    )


def deliveries(told: Iterable[Delivery]) -> Answer:
    return {
        "deliveries": [
            {
                "id": delivery.id,
                "subscription": delivery.subscription,
                "period": delivery.period,
                "channel": delivery.channel,
                "recipient": delivery.recipient,
                "state": delivery.state.value,
                "attempts": delivery.attempts,
                "message_id": delivery.message_id,
                "error": delivery.error or None,
            }
            for delivery in told
        ]
    }


def document(file: str, reading: Reading) -> Answer:
    return {
        "file": file,
        "error": reading.error or None,
        "papers": [paper(told) for told in reading.papers],
        "rejected": [{"where": part.where, "why": part.why} for part in reading.rejected],
    }


def paper(told: Paper) -> Answer:
    return {
        "title": told.title,
        "abstract": told.abstract,
        "authors": list(told.authors),
        "published": iso(told.published),
        "updated": iso(told.updated),
        "url": told.url,
        "keys": {scheme: keys(value) for scheme, value in told.keys.items()},
        "categories": list(told.categories),
        "announce": told.announce,
        "version": told.version,
        "withdrawn": told.withdrawn,
    }


def keys(value: str | Sequence[str]) -> str | list[str]:
    """One value of a scheme stands alone, several as a list."""
    if isinstance(value, str):
        return value
    return value[0] if len(value) == 1 else list(value)


def iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
