"""What the terminal shows of reading and sending: runs, digests, deliveries, the demo."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from os.path import relpath
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.text import Text

from monitor.cli.terminal import at, console, count_of, file_link, print_error, table
from monitor.model import Delivery, DeliveryState, Run, RunOutcome, Suppression, UndecidedRecord

if TYPE_CHECKING:
    from monitor.app import DigestReport
    from monitor.commands.json_output import Failure
    from monitor.commands.send_test import SentTest
    from monitor.commands.upcoming import Upcoming
    from monitor.demo import Played


# How many subscriptions with papers that wait are named.
NAMED = 5


OUTCOME = {
    RunOutcome.OK: "green",
    RunOutcome.UNCHANGED: "dim",
    RunOutcome.PARTIAL: "yellow",
    RunOutcome.FAILED: "bold red",
    RunOutcome.RETRIED: "green",
}


STATE = {
    DeliveryState.SENT: "green",
    DeliveryState.FAILED: "bold red",
    DeliveryState.UNKNOWN: "yellow",
}


def runs(results: Sequence[Run]) -> None:
    if not results:
        console.print("There are no sources yet.")
        return
    numbers = ("Seen", "New", "Revised", "Known", "Rejected")
    rows = table("Source", "Document", "Outcome", *numbers, right=numbers)
    for run in results:
        counts = (run.seen, run.new, run.revised, run.known, run.rejected)
        rows.add_row(
            escape(run.source),
            escape(run.document or "–"),
            Text(run.outcome.value, OUTCOME[run.outcome]),
            *(f"{count:,}" if count else "–" for count in counts),
        )
    console.print(rows)
    for run in results:
        where = f"{run.source}, {run.document}" if run.document else run.source
        print_error(where, run.error)
        for part in run.set_aside:
            print_error(where, f"{part.where}: {part.why}")
        if run.rejected > len(run.set_aside) > 0:
            print_error(where, f"and {run.rejected - len(run.set_aside):,} more; `read` shows all")


def undecided(records: Sequence[UndecidedRecord]) -> None:
    from monitor.text import clean

    if not records:
        console.print("No record is undecided.")
        return
    rows = table("Source", "Document", "Title", "Read", "Error")
    for one in records:
        title = clean(str(json.loads(one.text).get("title", one.raw_id)))
        cells = (one.source, one.document, title, at(one.at), one.error)
        rows.add_row(*map(escape, cells))
    console.print(rows)
    console.print(f"{count_of(len(records), 'record')} will be tried again after an upgrade.")


def digests(
    sent: Sequence[DigestReport],
    failed: Sequence[Failure],
    waiting: Sequence[Upcoming],
    config: Path,
    *,
    rehearsed: bool = False,
) -> None:
    """Show what was composed and sent, or else what waits and until when."""
    if sent and rehearsed:
        rehearsals(sent)
    elif sent:
        _sent(sent)
    elif not failed:
        _upcoming(waiting, config)
    for name, error in failed:
        print_error(f"{name} failed", error)


def _upcoming(waiting: Sequence[Upcoming], config: Path) -> None:
    some = [one for one in waiting if one.papers][:NAMED]
    console.print("Nothing is due." if some else "Nothing is due, and no papers are waiting.")
    for one in some:
        now = "" if one.paused else f" Send now: {_early(one.subscription, config)}"
        console.print(escape(one.sentence + now))
    more = sum(bool(one.papers) for one in waiting) - len(some)
    if more:
        console.print(f"{count_of(more, 'more subscription')}: paper-monitor status")


def _early(subscription: str, config: Path) -> str:
    named = "" if config == Path("monitor.yaml") else f" --config {shlex.quote(str(config))}"
    return f"paper-monitor digest --early {shlex.quote(subscription)}{named}"


def _sent(sent: Sequence[DigestReport]) -> None:
    rows = table(
        "Subscription", "Period", "Papers", "Channel", "Recipient", "State", right=("Papers",)
    )
    for one in sent:
        for delivery in one.deliveries or (None,):
            rows.add_row(escape(one.subscription), one.period, str(one.papers), *_cells(delivery))
    console.print(rows)
    for one in sent:
        for delivery in one.deliveries:
            where = f"{one.subscription} by {delivery.channel} to {delivery.recipient}"
            print_error(where, delivery.error)


def rehearsals(sent: Sequence[DigestReport]) -> None:
    """What would go out, as pages; The report of a rehearsal has one delivery, to a page."""
    rows = table("Subscription", "Period", "Papers", "Page", right=("Papers",))
    for one in sent:
        page = one.deliveries[0]
        row = escape(one.subscription), one.period, str(one.papers)
        rows.add_row(*row, file_link(page.reference))
        print_error(one.subscription, page.error)
    console.print(rows)
    console.print("[dim]Nothing was sent.[/]")


def _cells(delivery: Delivery | None) -> tuple[str | Text, ...]:
    if delivery is None:
        return "–", "–", Text("nothing to send", "dim")
    state = Text(delivery.state.value, STATE.get(delivery.state, ""))
    return escape(delivery.channel), escape(delivery.recipient), state


def demo(played: Played) -> None:
    console.print()
    if played.new:
        _dumps(played)
    else:
        console.print(f"No new papers: all {played.papers:,} were read before.\n")
    if played.sent:
        rows = table("Subscription", "Papers", "Page", right=("Papers",))
        for one in played.sent:
            page = played.page(one)
            shown = relpath(page, played.folder) if page else "–"
            rows.add_row(escape(one.subscription), str(one.papers), escape(shown))
        console.print(rows)
    for name, error in played.failed:
        print_error(f"{name} failed", error)
    if played.index.exists():
        console.print("Open this page in a browser:")
        console.print(Text("  ").append(file_link(str(played.index), "bold")), soft_wrap=True)
        console.print("or run `paper-monitor serve` there and open the address that it prints.")


def _dumps(played: Played) -> None:
    numbers = ("Seen", "New", "Known")
    rows = table("Dump", *numbers, right=numbers)
    for run in played.runs:
        where = escape(run.document or run.source)
        rows.add_row(where, str(run.seen), str(run.new), str(run.known))
    console.print(rows)


def deliveries(listed: Sequence[Delivery]) -> None:
    if not listed:
        console.print("No deliveries yet.")
        return
    numbers = ("Id", "Tries")
    names = ("Subscription", "Period", "Channel", "Recipient", "State")
    rows = table("Id", *names, "Tries", right=numbers)
    for one in listed:
        where = f"{one.recipient}, part {one.part + 1}" if one.part else one.recipient
        cells = (one.subscription, one.period, one.channel, where)
        state = Text(one.state.value, STATE.get(one.state, ""))
        rows.add_row(str(one.id), *map(escape, cells), state, str(one.attempts))
    console.print(rows)
    for one in listed:
        print_error(f"delivery {one.id}", one.error)


def suppressions(listed: Sequence[Suppression]) -> None:
    if not listed:
        console.print("Nobody is suppressed.")
        return
    rows = table("Recipient", "Subscription", "Since", "Until", "How")
    for one in listed:
        names = escape(one.recipient), escape(one.subscription) or "all"
        until = at(one.until) if one.until else "permanently"
        rows.add_row(*names, at(one.since), until, escape(one.how))
    console.print(rows)


def sent_tests(tests: Sequence[SentTest]) -> None:
    if not tests:
        console.print("There are no recipients.")
        return
    rows = table("Subscription", "Channel", "Recipient", "State")
    for one in tests:
        state = Text(one.state.value, STATE.get(one.state, ""))
        rows.add_row(escape(one.subscription), escape(one.channel), escape(one.recipient), state)
    console.print(rows)
    for channel, steps in dict.fromkeys((one.channel, one.steps) for one in tests):
        for step in steps:
            outcome = Text("failed", "bold red") if step.problem else Text("ok", "green")
            console.print(f"{escape(channel)}: {step.name}:", outcome)
    for channel, error in dict.fromkeys((one.channel, one.outcome.error) for one in tests):
        print_error(channel, error)
