"""`doctor`: checks of the installation, each with how to fix it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from monitor.app import App
from monitor.channels.base import Channel
from monitor.channels.email import sender_dns
from monitor.channels.email.channel import SMTP_SERVER, sender_domain
from monitor.channels.slack import SlackSettings
from monitor.cli.opening import open_or_empty
from monitor.cli.options import Call, finish, flag
from monitor.cli.terminal import console, with_sign
from monitor.commands.first_start import configuration_in_use
from monitor.commands.heartbeat import SERVICE, Check, vital_signs, workers
from monitor.commands.heartbeat import service as check_service
from monitor.commands.heartbeat import store as check_store
from monitor.commands.status import MB, disk_room, template_faults, will_be_sent_again
from monitor.commands.suppressions import describe_stopped
from monitor.config import Settings, store_url
from monitor.config.warnings import unencrypted_pages
from monitor.digest.paper_json import pick
from monitor.errors import DeferredError, FetchError
from monitor.identity.keys import identifiers
from monitor.model import DeliveryState, RunOutcome
from monitor.model.look_up import Wanted
from monitor.pipeline.runtime import Runtime
from monitor.private_files import can_be_read_by_all
from monitor.store.digests import deliveries
from monitor.store.digests.suppressions import ALL
from monitor.store.engine import processes
from monitor.store.engine.database import Database
from monitor.store.engine.opening import CREATED_BY, is_there
from monitor.store.sources import runs

CLOCK_TOLERANCE = timedelta(minutes=5)
FSYNC = (
    "the database may lose records of sent mail in a power failure: set `fsync = on` on the server"
)


def doctor(
    call: Call,
    alive: bool = flag("--alive", "Only whether the service lives and can record."),
) -> None:
    if alive:
        # Only the store is read: a fault in the configuration does not make the service unhealthy.
        with closing(Database(store_url(configuration_in_use(call.config)))) as database:
            checks = vital_signs(database)
    else:
        with open_or_empty(call) as app:
            checks = check_installation(app)
    ok = all(check.ok for check in checks)
    document = {"ok": ok, "checks": [pick(check, "name ok message") for check in checks]}
    call.answer(document, _show_checks, checks)
    finish(ok)


def _show_checks(checks: Sequence[Check]) -> None:
    for check in checks:
        sign = ("!", "bold yellow") if check.warning else ("✓", "green")
        sign = sign if check.ok else ("✗", "bold red")
        console.print(with_sign(*sign, f"{check.name}: {check.message}"))


def check_installation(app: App) -> list[Check]:
    """Check everything; a missing store passes, and where cron works, a service that never ran."""
    runtime = app.runtime
    database = app.runtime.database
    files = [app.settings.file]
    checks = []
    if is_there(app.settings.store):
        files = [database.path, *files] if database.path else files
        recorded = [check_store(database, whole=True), check_service(database, expected=False)]
        machine = [*workers(database), _disk(runtime), _clock(runtime)]
        checks = [*recorded, _outbox(runtime), *machine]
    else:
        address = Database(app.settings.store)
        checks.append(Check("store", True, f"there is no store yet at {address}: {CREATED_BY}"))
    templates = [Check("templates", False, fault) for fault in template_faults(runtime)]
    channels = _check_channels(runtime)
    checks += [_permissions(files), *_public_url(app.settings), *templates, *channels]
    checks += _slack_answers(app.settings.slack)
    asked = [*_services(runtime), *_embeddings(runtime)]
    return [*checks, *asked, *_senders(runtime), *_sources_read(runtime)]


def _slack_answers(slack: SlackSettings | None) -> list[Check]:
    """Check the token for ratings from Slack, which digests do without."""
    if slack is None or slack.app_token is None:
        return []
    from monitor.channels.slack import socket_mode  # the SDK, without which health checks do

    _, fault = socket_mode.ask_for_address(slack)
    return [Check("slack answers", not fault, fault or "Socket Mode can connect")]


def _check_channels(runtime: Runtime) -> Iterator[Check]:
    """Check each channel by its steps; report a server that fails once, and a stopped channel."""
    failed: dict[str, str] = {}
    for name, channel in runtime.channels.items():
        if stopped := _stopped(runtime, name):
            yield stopped
            continue
        group = channel.outage_group or name
        if first := failed.get(group):
            yield Check(f"channel {name}", False, f"uses the server of channel {first}")
            continue
        steps = channel.steps()
        for step in steps:
            message = step.problem or "ok"
            yield Check(f"channel {name}: {step.name}", not step.problem, message)
        if any(step.problem for step in steps):
            failed[group] = name
            continue
        fault = "" if steps else channel.check()
        # Only a message would show whether such a service takes one.
        is_tried = bool(steps) or type(channel).check is not Channel.check
        fine = "reachable; nothing was sent" if is_tried else "not tried; use send-test"
        yield Check(f"channel {name}", not fault, fault or fine)


def _stopped(runtime: Runtime, channel: str) -> Check | None:
    """Check that a channel that is its own recipient is not stopped."""
    for text, row in describe_stopped(runtime, channel=channel).items():
        if row.recipient == channel and row.subscription == ALL:
            return Check(f"channel {channel}", not row.reason, text, warning=not row.reason)
    return None


def _services(runtime: Runtime) -> Iterator[Check]:
    """Ask each service for one paper that it certainly has."""
    hide = runtime.settings.variables_of_services.hide
    for name, service in runtime.services.items():
        try:
            [question] = service.questions([Wanted(0, service.known)])
            ours = set(identifiers(service.known))
            found = any(ours & set(identifiers(paper)) for paper in service.ask(question))
        except (FetchError, DeferredError) as fault:
            yield Check(f"service {name}", False, hide(str(fault)))
        else:
            message = "answers" if found else f"does not know “{service.known.title}”"
            yield Check(f"service {name}", found, message)


def _embeddings(runtime: Runtime) -> Iterator[Check]:
    """Ask the server of embeddings for the vector of two words."""
    if server := runtime.embeddings:
        try:
            [vector] = server.ask(["scientific papers"])
        except (FetchError, DeferredError) as fault:
            hide = runtime.settings.variables_of_services.hide
            yield Check("embeddings", False, hide(str(fault)))
        else:
            message = f"{server.model} answers, with {len(vector):,} numbers a text"
            yield Check("embeddings", True, message)


def _permissions(files: Sequence[Path]) -> Check:
    """Warn of files that all users can read, which may be intended."""
    readable = [str(path) for path in files if path.exists() and can_be_read_by_all(path)]
    if not readable:
        return Check("permissions", True, "other users of this machine cannot read the files")
    names = " ".join(readable)
    message = f"every user of this machine can read {' and '.join(readable)}: chmod 600 {names}"
    return Check("permissions", True, message, warning=True)


def _public_url(settings: Settings) -> list[Check]:
    unencrypted = unencrypted_pages(settings)
    return [Check("public_url", True, unencrypted, warning=True)] if unencrypted else []


def _outbox(runtime: Runtime) -> Check:
    """Check for uncertain deliveries that the operator has to resolve."""
    now = runtime.clock.now()
    with runtime.database.reading() as tx:
        unknown = deliveries.listing(tx, [DeliveryState.UNKNOWN])
        waiting = sum(deliveries.counts(tx).get(state, 0) for state in deliveries.WAITING)
        to_settle = [
            delivery for delivery in unknown if not will_be_sent_again(tx, runtime, delivery, now)
        ]
    message = f"{waiting} to be sent, {len(unknown)} uncertain"
    if to_settle:
        message += "; check whether they arrived: paper-monitor deliveries resolve"
    return Check("deliveries", not to_settle, message)


def _disk(runtime: Runtime) -> Check:
    """Check the room on the disk: with a full one nothing can be recorded, so nothing is sent."""
    room = disk_room(runtime.database)
    if room is None:
        with runtime.database.reading() as tx:
            ok = tx.exec_driver_sql("SHOW fsync").scalar() == "on"
        message = "on the database server, which confirms writes (fsync is on)" if ok else FSYNC
        return Check("disk", ok, message)
    message = f"{room.free // MB:,} MB free beside a store of {room.store // MB:,} MB"
    if room.is_short:
        message += f"; free at least {room.wanted // MB:,} MB: with a full disk nothing can be sent"
    return Check("disk", not room.is_short, message)


def _clock(runtime: Runtime) -> Check:
    """Check that no record is ahead of the clock: then the clock is wrong now, or was before."""
    now = datetime.now(UTC)
    assumed = runtime.clock.now()
    with runtime.database.reading() as tx:
        signs = [*processes.signs(tx).values(), processes.last_beat(tx, SERVICE)]
        records = [(at, now) for at in signs]
        records += [(run.finished, assumed) for run in runs.newest_of_each_source(tx)]
    ahead = [(at, clock) for at, clock in records if at and at - clock > CLOCK_TOLERANCE]
    if not ahead:
        return Check("clock", True, f"{now:%Y-%m-%d %H:%M:%S} UTC")
    last, clock = max(ahead)
    shows = f"it shows {clock:%Y-%m-%d %H:%M} UTC, but the store has a record of"
    remedy = "correct the clock and keep it synchronised (NTP)"
    return Check("clock", False, f"{shows} {last:%Y-%m-%d %H:%M} UTC: {remedy}")


def _senders(runtime: Runtime) -> list[Check]:
    """Check the DNS records that receivers require of the sender's domain."""
    if SMTP_SERVER not in runtime.outage_groups:
        return []
    domain = sender_domain(runtime.sender)
    if not sender_dns.is_somebodys(domain):
        return []
    try:
        records = sender_dns.look(domain, runtime.dns)
    except sender_dns.NoAnswerError as fault:
        return [Check("mail DNS", True, f"not checked, the DNS does not answer: {fault}")]
    return [Check(f"mail {name}", ok, message) for name, (ok, message) in records.items()]


def _sources_read(runtime: Runtime) -> list[Check]:
    with runtime.database.reading() as tx:
        last = {run.source: run for run in runs.newest_of_each_source(tx)}
    checks = []
    for name in runtime.sources:
        ok = True
        message = "not read yet; run `paper-monitor run`"
        if run := last.get(name):
            ok = run.outcome is not RunOutcome.FAILED
            error = f": {run.error}" if run.error else ""
            message = f"{run.outcome} {run.started:%Y-%m-%d %H:%M} UTC{error}"
        checks.append(Check(f"source {name}", ok, message))
    return checks
