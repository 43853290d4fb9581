"""The JSON of each command, exactly as scripts may rely on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from msgspec import structs

from monitor.errors import Fault
from monitor.model import Delivery, DeliveryState, Paper, Reading, Run, RunOutcome

if TYPE_CHECKING:
    from monitor.app import DigestReport
    from monitor.commands.doubtful_joins import Doubts
    from monitor.commands.heartbeat import Check
    from monitor.commands.search import Comparison, FoundPaper, Sample, Trial
    from monitor.commands.send_test import SentTest

Answer = dict[str, Any]
# A subscription whose digest could not be composed, and why.
Failure = tuple[str, str]

WELL = (
    DeliveryState.SENT,
    DeliveryState.SUPPRESSED,
    DeliveryState.CLAIMED,
    DeliveryState.HANDING_OFF,
)


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


def digests(sent: Iterable[DigestReport], failed: Iterable[Failure]) -> Answer:
    return {
        "digests": [
            {
                "subscription": one.subscription,
                "period": one.period,
                "papers": one.papers,
                "deliveries": [_attempt(delivery) for delivery in one.deliveries],
            }
            for one in sent
        ],
        "failed": [{"subscription": name, "error": error} for name, error in failed],
    }


def previews(written: Iterable[DigestReport]) -> Answer:
    return {
        "digests": [
            {
                "subscription": one.subscription,
                "period": one.period,
                "papers": one.papers,
                "path": one.deliveries[0].reference,
            }
            for one in written
        ]
    }


def _attempt(delivery: Delivery) -> Answer:
    return {
        "channel": delivery.channel,
        "recipient": delivery.recipient,
        "state": delivery.state.value,
        "error": delivery.error or None,
    }


def digests_ok(
    sent: Iterable[DigestReport], failed: Sequence[Failure], *, rehearsed: bool = False
) -> bool:
    """Whether all was sent that was to be; another process may be at it just now."""
    well = (DeliveryState.PLANNED,) if rehearsed else WELL
    return not failed and all(d.state in well for one in sent for d in one.deliveries)


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
    """A paper as it was read. `published` is a day, or a year alone ("2014") where no more is told;
    where nothing is, the day of the announcement.
    """
    year = f"{told.year}" if told.year else None
    return {
        "title": told.title,
        "abstract": told.abstract,
        "authors": list(told.authors),
        "published": iso(told.published) or year or iso(told.announced),
        "updated": iso(told.updated),
        "url": told.url,
        "keys": {scheme: keys(value) for scheme, value in told.keys.items()},
        "categories": list(told.categories),
        "type": told.type,
        "about": {scheme: keys(value) for scheme, value in told.about.items()},
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


def faults(found: Sequence[Fault], warnings: Sequence[Fault]) -> Answer:
    return {
        "ok": not found,
        "faults": [_plain(fault) for fault in found],
        "warnings": [_plain(warning) for warning in warnings],
    }


def papers(found: Iterable[FoundPaper]) -> Answer:
    return {
        "papers": [
            {
                "id": one.stored.id,
                "title": one.stored.paper.title,
                "keys": {s: keys(value) for s, value in one.stored.paper.keys.items()},
                "first_seen": iso(one.stored.first_seen),
                "sources": [
                    {"source": s.source, "document": s.document, "raw_id": s.raw_id}
                    for s in one.sightings
                ],
            }
            for one in found
        ]
    }


def doubtful(told: Doubts, command: str) -> Answer:
    return {
        "doubtful": [
            {
                "paper": one.paper_id,
                "title": one.title,
                "records": [
                    {
                        "source": seen.source,
                        "raw_id": seen.raw_id,
                        "title": seen.text.title if seen.text else None,
                    }
                    for seen in one.doubt.records
                ],
                "reason": one.doubt.reason,
                "recognised": one.doubt.why or None,
                "judged": one.doubt.judged,
                "split": one.command(command),
            }
            for one in told.found
        ],
        "joins": told.joins,
        "unjudged": told.unjudged,
    }


def trial(told: Trial) -> Answer:
    """As `topics try` promises: of a why, the field and the words."""
    return {
        "papers": told.papers,
        "share": round(told.share, 4),
        "per_day": [{"day": day.day, "papers": day.papers} for day in told.per_day],
        "sample": _samples(told.sample),
        "warnings": list(told.warnings),
    } | ({"compare": _comparison(told.compare)} if told.compare else {})


def _comparison(told: Comparison) -> Answer:
    return {
        "query": told.query,
        "papers": told.papers,
        "gained": told.gained,
        "lost": told.lost,
        "gained_sample": _samples(told.gained_sample),
        "lost_sample": _samples(told.lost_sample),
    }


def _samples(told: Iterable[Sample]) -> list[Answer]:
    return [
        {
            "title": sample.title,
            "why": [{"field": why.field, "words": list(why.words)} for why in sample.why],
        }
        for sample in told
    ]


def plain(told: object) -> Answer:
    """Turn a frozen value into JSON: times in ISO 8601, everything else as it is."""
    return cast("Answer", _plain(told))


def _plain(told: object) -> object:
    if isinstance(told, datetime):
        return told.isoformat()
    if is_dataclass(told) and not isinstance(told, type):
        return {field.name: _plain(getattr(told, field.name)) for field in fields(told)}
    if isinstance(told, Paper):
        return _plain(structs.asdict(told))
    if isinstance(told, dict):
        return {str(name): _plain(value) for name, value in told.items()}
    if isinstance(told, (list, tuple)):
        return [_plain(value) for value in told]
    return told


def checks(told: Sequence[Check]) -> Answer:
    checks = [{"name": one.name, "ok": one.ok, "message": one.message} for one in told]
    return {"ok": all(check.ok for check in told), "checks": checks}


def tried(told: Iterable[SentTest]) -> Answer:
    return {
        "deliveries": [
            {
                "subscription": one.subscription,
                "channel": one.channel,
                "recipient": one.recipient,
                "state": one.state.value,
                "error": one.outcome.error or None,
            }
            for one in told
        ]
    }
