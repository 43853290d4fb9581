"""Notices: the operator is written to when something fails, and when it works again."""

from __future__ import annotations

from datetime import datetime

import structlog

from monitor.errors import StoreError
from monitor.model import Digest, Notice
from monitor.pipeline import incidents
from monitor.pipeline.freeze import Forms, freeze
from monitor.pipeline.runtime import OPERATOR, Runtime
from monitor.store.digests import incidents as stored_incidents

log = structlog.get_logger()


def notify(runtime: Runtime) -> int:
    """Notify the operator of each incident once when it begins and once when it ends.

    One that ended before its beginning was announced is not news. Returns how many were announced.
    """
    now = runtime.clock.now()
    with runtime.database.reading() as tx:
        incidents_to_notify = stored_incidents.unnotified(tx)
    count = 0
    for incident in incidents_to_notify:
        try:
            if runtime.operator and _is_news(incident):
                _plan(runtime, incident, now)
        except StoreError:
            raise
        except Exception:
            if incident.id not in runtime.unnotified:
                log.exception("notice not composed", subject=incident.subject)
            runtime.unnotified.add(incident.id)
            continue
        with runtime.database.writing() as tx:
            stored_incidents.mark_notified(tx, [incident], now)
        count += 1
    return count


def _is_news(incident: stored_incidents.Incident) -> bool:
    """A store that was unavailable could not say so before it was well again."""
    over = incident.ended_at and incident.told_at is None
    return not over or incident.kind == incidents.UNAVAILABLE


def _plan(runtime: Runtime, incident: stored_incidents.Incident, now: datetime) -> None:
    notice = _notice(incident, now)
    period = f"{incident.id}-{'ended' if incident.ended_at else 'began'}"
    digest = Digest(
        OPERATOR, period, now, runtime.settings.timezone, None, now, groups=(), report=()
    )
    templates, channels = runtime.fallback_templates, runtime.channels
    names = [way.channel for way in runtime.operator]
    forms = Forms({name: channels[name].render_notice(notice, templates) for name in names})
    freeze(runtime, digest, runtime.operator, forms)


def _notice(incident: stored_incidents.Incident, now: datetime) -> Notice:
    since = f"{incident.since:%Y-%m-%d %H:%M} UTC"
    if incident.ended_at and incident.kind == incidents.UNAVAILABLE:
        lines = f"From {since} until {incident.ended_at:%Y-%m-%d %H:%M} UTC.", incident.error
        return Notice(f"{incident.subject} {incidents.describe(incident.kind)}", lines, now)
    if incident.ended_at:
        ended = f"It began {since} and ended {incident.ended_at:%Y-%m-%d %H:%M} UTC."
        return Notice(
            f"{incident.subject} has recovered", (ended, f"It was: {incident.error}"), now
        )
    return Notice(
        f"{incident.subject} {incidents.describe(incident.kind)}",
        (f"Since {since}: {incident.error}", "One more message follows when it ends."),
        now,
    )
