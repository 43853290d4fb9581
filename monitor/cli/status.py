"""The state of sources, subscriptions and deliveries."""

from __future__ import annotations

from rich.text import Text

from monitor.cli.opening import open_to_read
from monitor.cli.options import Call, finish
from monitor.cli.terminal import console, show_table, with_sign
from monitor.commands.json_output import status_json
from monitor.commands.services import EmbeddingStatus, LookUpStatus
from monitor.commands.status import Status
from monitor.commands.status import status as read_status
from monitor.digest.about import describe_next
from monitor.digest.wording import format_count


def status(call: Call) -> None:
    with open_to_read(call) as app:
        report = read_status(app.runtime)
    call.answer(status_json(report), _show_status, report)
    finish(report.ok)


def _show_status(report: Status) -> None:
    rows = []
    for source in report.sources:
        states = ", ".join([source.state, *(trouble.kind for trouble in source.troubles)])
        outcome = Text(states, "bold red" if source.failing_since or source.troubles else "")
        rows.append((source.name, source.last_run, outcome, source.seen, source.new))
    columns = ("Source", "Last run", "Outcome", "Seen", "New")
    show_table(columns, rows, "There are no sources yet.")
    if rows:
        console.print(" Seen and new: in the last 24 hours.", style="dim")
    due = []
    for s in report.subscriptions:
        when = describe_next(s.upcoming, s.timezone, with_zone=True)
        due.append((s.name, when, s.waiting + s.changes, s.why))
    headings = ("Subscription", "Next digest", "Waiting", "Why")
    show_table(headings, due, "There are no subscriptions yet.")
    counts = ", ".join(f"{count:,} {state}" for state, count in report.deliveries.items() if count)
    console.print(f"Deliveries: {counts or 'none yet'}")
    if report.look_up:
        _show_services(report.look_up)
    if report.embeddings:
        _show_embeddings(report.embeddings)
    if report.suppressions:
        recipients = format_count(report.suppressions, "recipient")
        console.print(f"Suppressed: {recipients} (`paper-monitor suppressions`)")
    for problem in report.problems:
        console.print(with_sign("✗", "bold red", problem.text))
    for warning in report.warnings:
        console.print(with_sign("!", "bold yellow", warning))
    if report.ok:
        console.print("[green]✓[/] No problems found.")


def _show_embeddings(server: EmbeddingStatus) -> None:
    """Show what the server of embeddings answered in the last day."""
    row = (
        server.model,
        Text(server.error or "ok", "bold red" if server.error else ""),
        server.answered,
        server.given_up,
        server.added,
        server.waiting,
        f"{server.spent_today:,} of {server.a_day:,}",
    )
    columns = ("Model", "State", "Answered", "Given up", "Added", "Waiting", "Today")
    show_table(columns, [row])


def _show_services(asked: LookUpStatus) -> None:
    """Show what services answered about papers in the last day."""
    rows = [
        (
            service.title,
            Text(service.error or "ok", "bold red" if service.error else ""),
            service.found,
            service.not_found,
            service.contradicted,
            service.waiting,
            f"{service.spent_today:,} of {service.a_day:,}",
        )
        for service in asked.services
    ]
    columns = ("Looked up at", "State", "Found", "Not", "Contradicted", "Waiting", "Today")
    show_table(columns, rows)
    if saved := asked.saved.papers:
        papers = format_count(saved, "saved or rated paper")
        changed = f", {asked.saved.changed:,} of which changed" if asked.saved.changed else ""
        console.print(f" Once a month about {papers}{changed}.", style="dim")
    for joined in asked.joined:
        console.print(
            f"Paper {joined.paper} was joined with another by the answer of "
            f"{asked.title_of(joined)}; `paper-monitor papers unfill {joined.paper}` parts them."
        )
