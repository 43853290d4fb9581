"""The work of the service, once: sources read, and digests composed and sent."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape
from rich.text import Text

from monitor.cli.opening import open_configured
from monitor.cli.options import (
    CONFIG,
    AsJson,
    Config,
    Now,
    answer,
    argument,
    finish,
    flag,
    full_command,
)
from monitor.cli.terminal import console, count_of, file_link, print_error, reading, show_table
from monitor.commands.json_output import Answer, pick
from monitor.commands.status import Upcoming, upcoming
from monitor.errors import UsageError
from monitor.model import Delivery, DeliveryState, FirstRun, Run, RunOutcome
from monitor.pipeline.flow import DigestReport

# Subscriptions with waiting papers that are named.
MAX_NAMED = 5
# States of deliveries in which a command ends well: another process may be sending them.
GOOD_STATES = (
    DeliveryState.SENT,
    DeliveryState.SUPPRESSED,
    DeliveryState.CLAIMED,
    DeliveryState.HANDING_OFF,
)


# The subscriptions whose digests could not be composed, each with the error.
Failures = dict[str, Exception]


def ingest(
    names: Annotated[list[str] | None, argument("SOURCE")] = None,
    accept: Annotated[bool, flag("--accept", "Store a reading that was held back.")] = False,
    silently: Annotated[
        bool, flag("--silently", "Store its papers without announcing them.")
    ] = False,
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    if accept and not names:
        raise UsageError("--accept needs at least one source name")
    if silently and not accept:
        raise UsageError("--silently is only valid together with --accept")
    accepted_as = FirstRun.BASELINE if silently else FirstRun.DELIVER
    with open_configured(config, now) as app, reading(quiet=as_json) as on_progress:
        runs = app.once.ingest(names or (), on_progress, accepted_as if accept else None)
        app.once.match()
    answer(as_json, runs_json(runs), show_runs, runs)
    finish(runs_ok(runs))


def digest(
    names: Annotated[list[str] | None, argument("SUBSCRIPTION")] = None,
    early: Annotated[
        bool, flag("--early", "Send the next digest of the named subscriptions now.")
    ] = False,
    dry_run: Annotated[
        bool, flag("--dry-run", "Write the digests as pages; send and store nothing.")
    ] = False,
    order: Annotated[
        Literal["learned", "words", "newest"] | None,
        typer.Option("--order", show_default=False, help="Another order, with --dry-run only."),
    ] = None,
    config: Config = CONFIG,
    now: Now = None,
    as_json: AsJson = False,
) -> None:
    if early and not names:
        raise UsageError("--early needs at least one subscription name")
    if order and not dry_run:
        raise UsageError("--order needs --dry-run", "`order:` of a subscription sets its order")
    failed: Failures = {}
    with open_configured(config, now, create=not dry_run) as app:
        if dry_run:
            from monitor.cli.previews import dry_run as rehearse  # imports every channel

            sent = rehearse(app.runtime, names or (), early, failed.__setitem__, order)
        else:
            sent = app.once.digest(names or (), early, on_failure=failed.__setitem__)
        waiting = [] if as_json or sent or failed else upcoming(app.runtime, names or ())
    answer(
        as_json,
        _digests_json(sent, failed),
        lambda: _show_digests(sent, failed, waiting, config, rehearsed=dry_run),
    )
    finish(digests_ok(sent, failed, rehearsed=dry_run))


def run(config: Config = CONFIG, now: Now = None, as_json: AsJson = False) -> None:
    failed: Failures = {}
    with open_configured(config, now) as app:
        with reading(quiet=as_json) as on_progress:
            runs = app.once.ingest((), on_progress)
        sent = app.once.digest(ignore_backoff=False, on_failure=failed.__setitem__)
        waiting = [] if as_json or sent or failed else upcoming(app.runtime)

        def show() -> None:
            show_runs(runs)
            _show_digests(sent, failed, waiting, config)

        answer(as_json, runs_json(runs) | _digests_json(sent, failed), show)
        app.once.upkeep()
    finish(runs_ok(runs) and digests_ok(sent, failed))


def runs_json(runs: Sequence[Run]) -> Answer:
    names = "source document outcome seen new revised known rejected error"
    return {"runs": [pick(run, names) for run in runs]}


def show_runs(runs: Sequence[Run]) -> None:
    if not runs:
        console.print("There are no sources yet.")
        return
    rows = []
    for run in runs:
        counts = (run.seen, run.new, run.revised, run.known, run.rejected)
        cells = [count or Text("–", justify="right") for count in counts]
        rows.append((run.source, run.document or None, run.outcome, *cells))
    numbers = ("Seen", "New", "Revised", "Known", "Rejected")
    show_table(("Source", "Document", "Outcome", *numbers), rows)
    for run in runs:
        document = f"{run.source}, {run.document}" if run.document else run.source
        print_error(document, run.error)
        for part in run.set_aside:
            print_error(document, f"{part.where}: {part.why}")
        if run.rejected > len(run.set_aside) > 0:
            more = run.rejected - len(run.set_aside)
            print_error(document, f"and {more:,} more; `read` shows all")


def runs_ok(runs: Sequence[Run]) -> bool:
    return all(run.outcome is not RunOutcome.FAILED for run in runs)


def _digests_json(sent: Sequence[DigestReport], failed: Failures) -> Answer:
    return {
        "digests": [
            pick(report, "subscription period papers")
            | {"deliveries": [pick(d, "channel recipient state error") for d in report.deliveries]}
            for report in sent
        ],
        "failed": [{"subscription": name, "error": reason(failed[name])} for name in failed],
    }


def digests_ok(sent: Sequence[DigestReport], failed: Failures, *, rehearsed: bool = False) -> bool:
    """Return whether everything was sent, or may just be being sent by another process."""
    good = (DeliveryState.PLANNED,) if rehearsed else GOOD_STATES
    return not failed and all(d.state in good for report in sent for d in report.deliveries)


def _show_digests(
    sent: Sequence[DigestReport],
    failed: Failures,
    waiting: Sequence[Upcoming],
    config: Path,
    *,
    rehearsed: bool = False,
) -> None:
    """Show what was composed and sent, or else what waits and until when."""
    if sent:
        (show_rehearsals if rehearsed else _show_sent)(sent)
    elif not failed:
        _show_upcoming(waiting, config)
    for name, fault in failed.items():
        print_error(f"{name} failed", reason(fault))


def reason(fault: Exception) -> str:
    return str(fault) or type(fault).__name__


def _show_upcoming(waiting: Sequence[Upcoming], config: Path) -> None:
    console.print(f"Nothing is due{'' if waiting else ', and no papers are waiting'}.")
    for subscription in waiting[:MAX_NAMED]:
        name = shlex.quote(subscription.subscription)
        now = f" Send now: {full_command(f'digest --early {name}', config)}"
        console.print(escape(subscription.sentence + ("" if subscription.is_paused else now)))
    if more := len(waiting[MAX_NAMED:]):
        console.print(f"{count_of(more, 'more subscription')}: paper-monitor status")


def _show_sent(sent: Sequence[DigestReport]) -> None:
    columns = ("Subscription", "Period", "Papers", "Channel", "Recipient", "State")
    rows = [
        (report.subscription, report.period, report.papers, *_cells(delivery))
        for report in sent
        for delivery in report.deliveries or (None,)
    ]
    show_table(columns, rows)
    for report in sent:
        for delivery in report.deliveries:
            by = f"{report.subscription} by {delivery.channel} to {delivery.recipient}"
            print_error(by, delivery.error)


def _cells(delivery: Delivery | None) -> tuple[object, ...]:
    if delivery is None:
        return None, None, Text("nothing to send", "dim")
    return delivery.channel, delivery.recipient, delivery.state


def show_rehearsals(written: Sequence[DigestReport]) -> None:
    """Show digests that were written as pages: each has one delivery, to a page."""
    rows = []
    for report in written:
        [page] = report.deliveries
        rows.append((report.subscription, report.period, report.papers, file_link(page.reference)))
        print_error(report.subscription, page.error)
    show_table(("Subscription", "Period", "Papers", "Page"), rows)
    console.print("[dim]Nothing was sent.[/]")
