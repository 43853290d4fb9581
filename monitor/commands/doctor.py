"""Checks of the installation, each with how to fix it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import disk_usage

from monitor.channels.email import sender_dns
from monitor.channels.email.channel import SMTP_SERVER, sender_domain
from monitor.channels.slack.settings import SlackSettings
from monitor.commands.heartbeat import SERVICE, Check, service, store, workers
from monitor.commands.problems import is_sent_again
from monitor.model import Channel, DeliveryState, Run, RunOutcome
from monitor.pipeline.runtime import Runtime
from monitor.private_files import can_be_read_by_all
from monitor.store import deliveries, heartbeats, runs
from monitor.store.database import Database
from monitor.store.opening import CREATED_BY

MB = 1024 * 1024
LEAST_ROOM = 200 * MB
AHEAD = timedelta(minutes=5)
FSYNC = (
    "the database may lose records of sent mail in a power failure: set `fsync = on` on the server"
)


def doctor(
    runtime: Runtime, files: Sequence[Path] = (), slack: SlackSettings | None = None
) -> list[Check]:
    """Look at everything that is needed: the store, the ways out, the sources, the service.

    A service that never ran on this store is no fault: some have a cron of their own. `files`,
    beside the store, may be read by their owner alone.
    """
    own = [
        store(runtime.database, whole=True),
        service(runtime.database, expected=False),
        _outbox(runtime),
    ]
    store_file = [runtime.database.path] if runtime.database.path else []
    machine = [*workers(runtime.database), *_disk(runtime), _clock(runtime)]
    private = _permissions([*store_file, *files])
    return [*own, *machine, private, *_outside(runtime, slack)]


def before_first_run(
    runtime: Runtime,
    place: str,
    files: Sequence[Path] = (),
    slack: SlackSettings | None = None,
) -> list[Check]:
    """Look at what can be looked at while there is no store yet at `place`."""
    missing = Check("store", True, f"there is no store yet at {place}: {CREATED_BY}")
    return [missing, _permissions(files), *_outside(runtime, slack)]


def _outside(runtime: Runtime, slack: SlackSettings | None) -> list[Check]:
    ways = [check for name, channel in runtime.channels.items() for check in _way(name, channel)]
    answers = _slack_answers(slack)
    return [*_templates(runtime), *ways, *answers, *_senders(runtime), *_sources_read(runtime)]


def _slack_answers(slack: SlackSettings | None) -> list[Check]:
    """Answers have a token of their own: one that is wrong stops no digest."""
    if slack is None or slack.app_token is None:
        return []
    from monitor.channels.slack import socket_mode  # the SDK's client is needed here alone

    fault = socket_mode.check(slack.app_token.reveal(), slack.base_url)
    return [Check("slack answers", not fault, fault or "Socket Mode can connect")]


def _way(name: str, channel: Channel) -> list[Check]:
    """Check a channel, and each step on the way to it."""
    steps = channel.steps()
    fault = next((step.problem for step in steps if step.problem), "") if steps else channel.check()
    return [
        *(
            Check(f"channel {name}: {one.name}", not one.problem, one.problem or "ok")
            for one in steps
        ),
        Check(f"channel {name}", not fault, fault or "reachable; nothing was sent"),
    ]


def _permissions(files: Sequence[Path]) -> Check:
    """What is private in the store and the configuration may have been opened to all on purpose."""
    found = [str(path) for path in files if path.exists() and can_be_read_by_all(path)]
    if not found:
        return Check("permissions", True, "other users of this machine cannot read the files")
    names = " ".join(found)
    said = f"every user of this machine can read {' and '.join(found)}: chmod 600 {names}"
    return Check("permissions", True, said, warning=True)


def _outbox(runtime: Runtime) -> Check:
    """What may or may not have arrived waits for a person, but for mail that is sent again."""
    now = runtime.clock.now()
    with runtime.database.reading() as tx:
        unknown = deliveries.listing(tx, [DeliveryState.UNKNOWN])
        waiting = sum(deliveries.counts(tx).get(state, 0) for state in deliveries.WAITING)
        unsettled = [one for one in unknown if not is_sent_again(tx, runtime, one, now)]
    message = f"{waiting} to be sent, {len(unknown)} uncertain"
    if unsettled:
        message += "; check whether they arrived: paper-monitor deliveries resolve"
    return Check("deliveries", not unsettled, message)


def _templates(runtime: Runtime) -> list[Check]:
    """Look at the user's templates; each fault is a check, so that all of them are shown."""
    faults = runtime.templates.faults()
    return [Check("templates", False, f"{one.file}:{one.line}: {one.message}") for one in faults]


def _disk(runtime: Runtime) -> list[Check]:
    """A disk that is full stops the service: it sends nothing that it cannot record."""
    if runtime.database.path is None:
        return [_written_through(runtime.database)]
    size = runtime.database.path.stat().st_size
    wanted, free = max(LEAST_ROOM, size // 10), disk_usage(runtime.database.path.parent).free
    message = f"{free // MB:,} MB free beside a store of {size // MB:,} MB"
    if free < wanted:
        message += f"; free at least {wanted // MB:,} MB: with a full disk nothing can be sent"
    return [Check("disk", free >= wanted, message)]


def _written_through(database: Database) -> Check:
    with database.reading() as tx:
        ok = tx.exec_driver_sql("SHOW fsync").scalar() == "on"
    message = "on the database server, which confirms writes (fsync is on)" if ok else FSYNC
    return Check("disk", ok, message)


def _clock(runtime: Runtime) -> Check:
    """What was recorded cannot lie ahead: then the clock was set back, or was wrong before."""
    with runtime.database.reading() as tx:
        signs = [*heartbeats.signs(tx).values(), heartbeats.last_beat(tx, SERVICE)]
        finished = [run.finished for run in runs.last_runs(tx)]
    now = datetime.now(UTC)
    for last, clock in ((_newest(signs), now), (_newest(finished), runtime.clock.now())):
        if last is not None and last - clock > AHEAD:
            shows = f"it shows {clock:%Y-%m-%d %H:%M} UTC, but the store has a record of"
            remedy = "correct the clock and keep it synchronised (NTP)"
            return Check("clock", False, f"{shows} {last:%Y-%m-%d %H:%M} UTC: {remedy}")
    return Check("clock", True, f"{now:%Y-%m-%d %H:%M:%S} UTC")


def _newest(moments: Iterable[datetime | None]) -> datetime | None:
    return max((at for at in moments if at is not None), default=None)


def _senders(runtime: Runtime) -> list[Check]:
    """What receivers ask of the domain that mail is from, where the DNS answers."""
    if SMTP_SERVER not in runtime.outage_groups:
        return []
    domain = sender_domain(runtime.sender)
    if not sender_dns.is_somebodys(domain):
        return []
    try:
        found = sender_dns.look(domain, runtime.dns)
    except sender_dns.NoAnswerError as fault:
        return [Check("mail DNS", True, f"not checked, the DNS does not answer: {fault}")]
    return [Check(f"mail {one.name}", one.ok, one.message) for one in found]


def _sources_read(runtime: Runtime) -> list[Check]:
    with runtime.database.reading() as tx:
        last = {run.source: run for run in runs.last_runs(tx)}
    return [
        Check(f"source {name}", last[name].outcome is not RunOutcome.FAILED, _last_run(last[name]))
        if name in last
        else Check(f"source {name}", True, "not read yet; run `paper-monitor run`")
        for name in runtime.sources
    ]


def _last_run(run: Run) -> str:
    return f"{run.outcome} {run.started:%Y-%m-%d %H:%M} UTC" + (
        f": {run.error}" if run.error else ""
    )
