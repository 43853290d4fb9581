"""The JSON of each command, exactly as scripts may rely on it; `paper_json` has that of papers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, structs

from monitor.errors import Fault
from monitor.model import Delivery, DeliveryState, Run, RunOutcome, Suppression, UndecidedRecord

if TYPE_CHECKING:
    from monitor.app import DigestReport
    from monitor.commands.heartbeat import Check
    from monitor.commands.search import Comparison, Sample, Trial
    from monitor.commands.send_test import SentTest
    from monitor.commands.status import Status

Answer = dict[str, Any]
# A subscription whose digest could not be composed, and why.
Failure = tuple[str, str]

WELL = (
    DeliveryState.SENT,
    DeliveryState.SUPPRESSED,
    DeliveryState.CLAIMED,
    DeliveryState.HANDING_OFF,
)


def runs(results: Iterable[Run]) -> Answer:
    return {"runs": [_run(run) for run in results]}


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


def runs_ok(results: Iterable[Run]) -> bool:
    return all(run.outcome is not RunOutcome.FAILED for run in results)


def undecided(records: Iterable[UndecidedRecord]) -> Answer:
    return {
        "undecided": [
            {
                "source": record.source,
                "document": record.document,
                "raw_id": record.raw_id,
                "error": record.error,
                "version": record.version,
                "read": record.at.isoformat(),
                "tried": record.tried_at.isoformat(),
                "record": json.loads(record.text),
            }
            for record in records
        ]
    }


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


def deliveries(listed: Iterable[Delivery]) -> Answer:
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
            for delivery in listed
        ]
    }


def status(report: Status) -> Answer:
    """Return the state of everything; `suppressions` only where somebody is suppressed."""
    answer: Answer = plain(report)
    if not report.suppressions:
        del answer["suppressions"]
    return answer


def suppressions(listed: Iterable[Suppression]) -> Answer:
    """Return who is suppressed; `subscription` is "" for all."""
    return {"suppressions": [plain(one) for one in listed]}


def iso(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


def faults(found: Sequence[Fault], warnings: Sequence[Fault]) -> Answer:
    return {
        "ok": not found,
        "faults": [_plain(fault) for fault in found],
        "warnings": [_plain(warning) for warning in warnings],
    }


def trial(result: Trial) -> Answer:
    """As `topics try` promises: of a why, the field and the words."""
    return {
        "papers": result.papers,
        "share": round(result.share, 4),
        "per_day": [{"day": day.day, "papers": day.papers} for day in result.per_day],
        "sample": _samples(result.sample),
        "warnings": list(result.warnings),
    } | ({"compare": _comparison(result.compare)} if result.compare else {})


def _comparison(comparison: Comparison) -> Answer:
    return {
        "query": comparison.query,
        "papers": comparison.papers,
        "gained": comparison.gained,
        "lost": comparison.lost,
        "gained_sample": _samples(comparison.gained_sample),
        "lost_sample": _samples(comparison.lost_sample),
    }


def _samples(samples: Iterable[Sample]) -> list[Answer]:
    return [
        {
            "title": sample.title,
            "why": [{"field": why.field, "words": list(why.words)} for why in sample.why],
        }
        for sample in samples
    ]


def plain(value: object) -> Answer:
    """Turn a frozen value into JSON: times in ISO 8601, everything else as it is."""
    return cast("Answer", _plain(value))


def _plain(item: object) -> object:
    if isinstance(item, datetime):
        return item.isoformat()
    if is_dataclass(item) and not isinstance(item, type):
        return {field.name: _plain(getattr(item, field.name)) for field in fields(item)}
    if isinstance(item, Struct):
        return _plain(structs.asdict(item))
    if isinstance(item, dict):
        return {str(name): _plain(value) for name, value in item.items()}
    if isinstance(item, (list, tuple)):
        return [_plain(value) for value in item]
    return item


def checks(results: Sequence[Check]) -> Answer:
    checks = [{"name": one.name, "ok": one.ok, "message": one.message} for one in results]
    return {"ok": all(check.ok for check in results), "checks": checks}


def sent_tests(tests: Iterable[SentTest]) -> Answer:
    return {
        "deliveries": [
            {
                "subscription": one.subscription,
                "channel": one.channel,
                "recipient": one.recipient,
                "state": one.state.value,
                "error": one.outcome.error or None,
            }
            for one in tests
        ]
    }
