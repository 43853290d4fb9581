"""What the terminal shows of the whole: status, checks, configuration and its faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from rich.markup import escape
from rich.padding import Padding
from rich.text import Text

from monitor.cli.terminal import at, console, count_of, stderr, table, with_mark
from monitor.errors import Fault

if TYPE_CHECKING:
    from monitor.commands.heartbeat import Check
    from monitor.commands.status import Status


def right(file: Path) -> None:
    console.print(f"[green]{escape(str(file))} is valid.[/]")


def faults(found: Sequence[Fault]) -> None:
    for fault in found:
        _print_at(fault, "bold red")


def doubts(found: Sequence[Fault]) -> None:
    for fault in found:
        _print_at(fault, "bold yellow")


def left_out(found: Sequence[Fault]) -> None:
    """Warn that an answer is from the store and what is valid of the configuration."""
    if found:
        stderr.print(
            with_mark(Text("!", "bold yellow"), "The configuration has errors; see below.")
        )
        doubts(found)


def _print_at(fault: Fault, style: str) -> None:
    place = Text(f"{fault.file}:{fault.line}", style).append(f"  {fault.where}", "not bold cyan")
    stderr.print(place, Padding(Text(fault.message), (0, 0, 0, 4), expand=False))


def settings(masked: Mapping[str, Any]) -> None:
    console.print(yaml.safe_dump(masked, sort_keys=False, allow_unicode=True), end="", markup=False)


def status(report: Status) -> None:
    if report.sources:
        _sources(report)
    else:
        console.print("There are no sources yet.")
    if report.subscriptions:
        _subscriptions(report)
    else:
        console.print("There are no subscriptions yet.")
    counted = ", ".join(f"{count:,} {state}" for state, count in report.deliveries.items() if count)
    console.print(f"Deliveries: {counted or 'none yet'}")
    if report.suppressions:
        nobody = count_of(report.suppressions, "recipient")
        console.print(f"Suppressed: {nobody} (`paper-monitor suppressions`)")
    for problem in report.problems:
        console.print(with_mark(Text("✗", "bold red"), problem))
    if report.ok:
        console.print("[green]✓[/] No problems found.")


def _sources(report: Status) -> None:
    rows = table("Source", "Last run", "Outcome", "Seen", "New", right=("Seen", "New"))
    for one in report.sources:
        states = ", ".join([one.outcome, *(trouble.kind for trouble in one.troubles)])
        outcome = Text(states, "bold red" if one.failing_since or one.troubles else "")
        counts = f"{one.seen:,}", f"{one.new:,}"
        rows.add_row(escape(one.name), at(one.last_run), outcome, *counts)
    console.print(rows)
    console.print(" Seen and new: in the last 24 hours.", style="dim")


def _subscriptions(report: Status) -> None:
    rows = table("Subscription", "Next due", "Waiting", "Why", right=("Waiting",))
    for one in report.subscriptions:
        due = at(one.next_due, one.timezone) if one.next_due else "at once"
        rows.add_row(escape(one.name), due, f"{one.waiting:,}", escape(one.why))
    console.print(rows)


def checks(results: Sequence[Check]) -> None:
    for check in results:
        mark = Text("✓", "green") if check.ok else Text("✗", "bold red")
        if check.ok and check.warning:
            mark = Text("!", "bold yellow")
        console.print(with_mark(mark, f"{check.name}: {check.message}"))
