"""The work of the service, once: sources read, and digests composed and sent."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import get_args

from rich.markup import escape
from rich.text import Text

from monitor.cli.opening import open_configured
from monitor.cli.options import Call, argument, finish, flag, full_command, option, word
from monitor.cli.terminal import at, console, print_error, reading, show_table, stderr
from monitor.commands.heartbeat import take_over
from monitor.commands.retries import Retry, next_tries
from monitor.config.settings import SubscriptionSettings
from monitor.digest.about import describe_next, join_words
from monitor.digest.paper_json import Answer, pick
from monitor.digest.wording import format_count
from monitor.errors import UsageError
from monitor.model import Delivery, DeliveryState, FirstRun, NextKind, Run, RunOutcome
from monitor.pipeline.cleanup import upkeep
from monitor.pipeline.flow import DigestReport
from monitor.pipeline.runtime import Runtime

# States of deliveries in which a command ends well: another process may be sending them.
GOOD_STATES = (
    DeliveryState.SENT,
    DeliveryState.SUPPRESSED,
    DeliveryState.CLAIMED,
    DeliveryState.HANDING_OFF,
)

# Subscriptions whose waiting papers are counted; each takes a query.
MAX_UPCOMING = 100
ORDERS = get_args(SubscriptionSettings.model_fields["order"].annotation)
# The subscriptions whose digests could not be composed, each with the error.
Failures = dict[str, Exception]


def ingest(
    call: Call,
    names: list[str] | None = argument("SOURCE", default=None),
    accept: bool = flag(
        "--accept", "Store a reading that was held back, or a file that is no list."
    ),
    silently: bool = flag("--silently", "Store its papers without announcing them."),
) -> None:
    if accept and not names:
        raise UsageError("--accept needs at least one source name")
    if silently and not accept:
        raise UsageError("--silently is only valid together with --accept")
    accept_as = FirstRun.BASELINE if silently else FirstRun.DELIVER
    with open_configured(call) as app, reading() as on_progress:
        runs = app.once.ingest(names or (), on_progress, accept_as if accept else None)
        app.once.match()
    call.answer(runs_json(runs), show_runs, runs)
    finish(runs_ok(runs))


def digest(
    call: Call,
    names: list[str] | None = argument("SUBSCRIPTION", default=None),
    early: bool = flag("--early", "Send the named subscriptions an extra digest now."),
    dry_run: bool = flag("--dry-run", "Write the digests as pages; send and store nothing."),
    order: str | None = option(
        "--order",
        "|".join(ORDERS),
        "Another order, with --dry-run only.",
        None,
        word("an order", ORDERS),
    ),
) -> None:
    if early and not names:
        raise UsageError("--early needs at least one subscription name")
    if order and not dry_run:
        raise UsageError("--order needs --dry-run", "`order:` of a subscription sets its order")
    failed: Failures = {}
    show: Callable[[Sequence[DigestReport]], None]
    with open_configured(call, create=not dry_run) as app:
        if dry_run:
            from monitor.cli import rehearsals  # imports every channel

            sent = rehearsals.dry_run(app.runtime, names or (), early, failed, order)
            show = rehearsals.show_rehearsals
        else:
            show = partial(_show_sent, app.runtime)
            sent = app.once.digest(names or (), early, failed=failed)
        shown = call, app.runtime, names or (), show, sent, failed
        call.answer(_digests_json(sent, failed), _show_digests, *shown)
    finish(not failed and (dry_run or all_sent(sent)))


def run(call: Call) -> None:
    failed: Failures = {}
    with open_configured(call) as app:
        with reading() as on_progress:
            runs = app.once.ingest((), on_progress)
        sent = app.once.digest(ignore_backoff=False, failed=failed)

        def show() -> None:
            show_runs(runs)
            show_sent = partial(_show_sent, app.runtime)
            _show_digests(call, app.runtime, (), show_sent, sent, failed, runs)

        call.answer(runs_json(runs) | _digests_json(sent, failed), show)
        upkeep(app.runtime)
        take_over(app.runtime.database)
        if app.settings.ping_url:
            from monitor.commands.ping import ping  # httpx, which `digest` does without

            ping(app.settings.ping_url, is_up=True)
    finish(runs_ok(runs) and not failed and all_sent(sent))


def runs_json(runs: Sequence[Run]) -> Answer:
    names = "source document outcome seen new revised known rejected error"
    return {"runs": [pick(run, names) for run in runs]}


def show_runs(runs: Sequence[Run]) -> None:
    rows = []
    for run in runs:
        counts = (run.seen, run.new, run.revised, run.known, run.rejected)
        cells = [count or Text("–", justify="right") for count in counts]
        rows.append((run.source, run.document or None, run.outcome, *cells))
    numbers = ("Seen", "New", "Revised", "Known", "Rejected")
    columns = ("Source", "Document", "Outcome", *numbers)
    show_table(columns, rows, "There are no sources yet.")
    for run in runs:
        document = f"{run.source}, {run.document}" if run.document else run.source
        print_error(document, run.error)
        for part in run.set_aside:
            print_error(document, f"{part.where}: {part.why}")
        if run.rejected > len(run.set_aside) > 0:
            more = run.rejected - len(run.set_aside)
            print_error(document, f"and {more:,} more; `read` shows all")
    if not runs_ok(runs):
        stderr.print("What could not be read is tried again at the next run; no papers are lost.")


def runs_ok(runs: Sequence[Run]) -> bool:
    return all(run.outcome is not RunOutcome.FAILED for run in runs)


def _digests_json(sent: Sequence[DigestReport], failed: Failures) -> Answer:
    return {
        "digests": [
            pick(report, "subscription period papers changes")
            | {"deliveries": [pick(d, "channel recipient state error") for d in report.deliveries]}
            for report in sent
        ],
        "failed": [{"subscription": name, "error": reason(failed[name])} for name in failed],
    }


def all_sent(sent: Sequence[DigestReport]) -> bool:
    """Return whether everything was sent, or may just be being sent by another process."""
    return all(d.state in GOOD_STATES for report in sent for d in report.deliveries)


def reason(fault: Exception) -> str:
    return str(fault) or type(fault).__name__


def _show_digests(
    call: Call,
    runtime: Runtime,
    names: Sequence[str],
    show: Callable[[Sequence[DigestReport]], None],
    sent: Sequence[DigestReport],
    failed: Failures,
    runs: Sequence[Run] = (),
) -> None:
    """Show what was composed and sent, or else what waits, until when and what was not read."""
    if sent:
        show(sent)
    elif not failed:
        from monitor.commands import (
            subscriptions,  # imports the state of everything, which takes 27 ms
        )

        looked_at = runtime.subscriptions_named(names)[:MAX_UPCOMING]
        reports = subscriptions.report(runtime, looked_at)
        counted = subscriptions.count_waiting(runtime, reports)
        waiting = [known for known in counted if known.waiting or known.changes]
        console.print(f"Nothing is due{'' if waiting else ', and no papers are waiting'}.")
        if unread := dict.fromkeys(run.source for run in runs if run.outcome is RunOutcome.FAILED):
            status = full_command("status", call.config)
            console.print(escape(f"{join_words([*unread])} could not be read: see {status}"))
        for known in waiting:
            wait = "waits" if known.waiting + known.changes == 1 else "wait"
            text = f"{known.name}: {known.waits} {wait}"
            due = describe_next(known.upcoming, known.timezone, with_zone=True)
            text += f". Next digest: {due}."
            if known.upcoming.kind in (NextKind.PAUSED, NextKind.STOPPED):
                console.print(escape(text))
                continue
            early = full_command(f"digest --early {shlex.quote(known.name)}", call.config)
            console.print(escape(f"{text} Send now: {early}"))
    for name, fault in failed.items():
        print_error(f"{name} failed", reason(fault))


def show_state(delivery: Delivery, retry: Retry | None) -> str:
    """Return a state for a table: what was tried and waits is called neither planned nor retry."""
    return "not sent yet" if retry else delivery.state


def print_delivery(where: str, delivery: Delivery, retry: Retry | None) -> None:
    """Print why a delivery was not sent, and when it is tried again."""
    if retry is None:
        print_error(where, delivery.error)
        return
    when = f"from {at(retry.at)} on" if retry.at else "by the next `paper-monitor run`"
    print_error(where, f"{retry.error.rstrip('.')}. It will be tried again {when}.")


def _show_sent(runtime: Runtime, sent: Sequence[DigestReport]) -> None:
    waits = next_tries(runtime, (d for report in sent for d in report.deliveries))
    columns = ("Subscription", "Period", "News", "Channel", "Recipient", "State")
    rows: list[tuple[object, ...]] = []
    for report in sent:
        about = report.subscription, report.period, report.news
        # Parts of a digest that fared alike are one row.
        parts = Counter(
            (d.channel, d.recipient, show_state(d, waits.get(d.id))) for d in report.deliveries
        )
        for (channel, recipient, state), count in parts.items():
            shown = f"{state}, {format_count(count, 'part')}" if count > 1 else state
            rows.append((*about, channel, recipient, shown))
        if not report.deliveries:
            rows.append((*about, None, None, Text("nothing to send", "dim")))
    show_table(columns, rows)
    for report in sent:
        for delivery in report.deliveries:
            by = f"{report.subscription} by {delivery.channel} to {delivery.recipient}"
            print_delivery(by, delivery, waits.get(delivery.id))
