"""What the service needs: looked at, with what to do about what is amiss."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from shutil import disk_usage

from monitor.deliver.mail import SMTP_LINE, sender_domain
from monitor.model import Run, RunOutcome, State
from monitor.net import senders
from monitor.pipeline import Parts
from monitor.questions.alive import SERVICE, Check, service, store, workers
from monitor.questions.status import is_sent_again
from monitor.store import beats, deliveries, runs
from monitor.store.database import Database

MB = 1024 * 1024
LEAST_ROOM = 200 * MB
FSYNC = "after a power cut the server may have forgotten what was sent: set `fsync = on` there"


def doctor(parts: Parts) -> list[Check]:
    """Look at everything that is needed: the store, the ways out, the sources, the service.

    A service that never ran on this store is no fault: some have a cron of their own.
    """
    ways = [
        Check(f"channel {name}", not fault, fault or "reached; nothing was sent")
        for name, channel in parts.channels.items()
        for fault in [channel.check()]
    ]
    own = [
        store(parts.database, whole=True),
        service(parts.database, expected=False),
        _outbox(parts),
    ]
    machine = [*workers(parts.database), *_disk(parts), _clock(parts)]
    return [*own, *machine, *ways, *_senders(parts), *_sources_read(parts)]


def _outbox(parts: Parts) -> Check:
    """What may or may not have arrived waits for a person, but for mail that is sent again."""
    now = parts.clock.now()
    with parts.database.reading() as tx:
        unknown = deliveries.listing(tx, [State.UNKNOWN])
        waiting = sum(deliveries.counts(tx).get(state, 0) for state in deliveries.WAITING)
    asked = [one for one in unknown if not is_sent_again(parts, one, now)]
    told = f"{waiting} to be sent, {len(unknown)} of unknown end"
    if asked:
        told += "; look whether they arrived, and say it: paper-monitor deliveries resolve"
    return Check("deliveries", not asked, told)


def _disk(parts: Parts) -> list[Check]:
    """A disk that is full stops the service: it sends nothing that it cannot record."""
    if parts.database.path is None:
        return [_written_through(parts.database)]
    size = parts.database.path.stat().st_size
    wanted, free = max(LEAST_ROOM, size // 10), disk_usage(parts.database.path.parent).free
    told = f"{free // MB:,} MB free beside a store of {size // MB:,} MB"
    if free < wanted:
        told += f"; make room for {wanted // MB:,}, for before it is full nothing more is sent"
    return [Check("disk", free >= wanted, told)]


def _written_through(database: Database) -> Check:
    with database.reading() as tx:
        ok = tx.exec_driver_sql("SHOW fsync").scalar() == "on"
    told = "the server's; it waits until it has written" if ok else FSYNC
    return Check("disk", ok, told)


def _clock(parts: Parts) -> Check:
    """What was recorded cannot lie ahead: then the clock was set back, or was wrong before."""
    with parts.database.reading() as tx:
        last = beats.last_beat(tx, SERVICE)
    now = datetime.now(UTC)
    if last is not None and last - now > timedelta(minutes=5):
        told = f"it shows {now:%Y-%m-%d %H:%M} UTC, and the service ran at {last:%Y-%m-%d %H:%M}"
        return Check("clock", False, f"{told}: set it right, and let it be kept so (NTP)")
    return Check("clock", True, f"{now:%Y-%m-%d %H:%M:%S} UTC")


def _senders(parts: Parts) -> list[Check]:
    """What receivers ask of the domain that mail is from, where the DNS answers."""
    if SMTP_LINE not in parts.lines:
        return []
    domain = sender_domain(parts.sender)
    if not senders.is_somebodys(domain):
        return []
    try:
        found = senders.look(domain, parts.dns)
    except senders.NoAnswerError as fault:
        return [Check("mail DNS", True, f"not looked at, the DNS does not answer: {fault}")]
    return [Check(f"mail {one.name}", one.ok, one.message) for one in found]


def _sources_read(parts: Parts) -> list[Check]:
    with parts.database.reading() as tx:
        last = {run.source: run for run in runs.last_runs(tx)}
    return [
        Check(f"source {name}", last[name].outcome is not RunOutcome.FAILED, _last_run(last[name]))
        if name in last
        else Check(f"source {name}", False, "never read: paper-monitor ingest")
        for name in parts.sources
    ]


def _last_run(run: Run) -> str:
    return f"{run.outcome} {run.started:%Y-%m-%d %H:%M} UTC" + (
        f": {run.error}" if run.error else ""
    )
