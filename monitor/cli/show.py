"""What a person sees in the terminal: tables and sentences on stdout, progress on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table
from rich.text import Text

from monitor.errors import Fault
from monitor.model import Delivery, Reading, Run, RunOutcome, State

if TYPE_CHECKING:
    from monitor.app import Sent, Tried
    from monitor.demo import Played
    from monitor.questions import Check, Explanation, FoundPaper, Sample, Status, Trial

console = Console(highlight=False, soft_wrap=False)
stderr = Console(stderr=True, highlight=False)

OUTCOME = {
    RunOutcome.OK: "green",
    RunOutcome.UNCHANGED: "dim",
    RunOutcome.PARTIAL: "yellow",
    RunOutcome.FAILED: "bold red",
}
STATE = {State.SENT: "green", State.FAILED: "bold red", State.UNKNOWN: "yellow"}


@contextmanager
def reading(*, quiet: bool) -> Iterator[Callable[[Run], None]]:
    """A spinner with the papers read so far, only where a person watches."""
    progress = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(pulse_style="cyan"),
        TextColumn("{task.fields[papers]:,} papers"),
        console=stderr,
        transient=True,
        disable=quiet or not stderr.is_terminal,
    )
    with progress:
        task = progress.add_task("Reading", total=None, papers=0)

        def tell(run: Run) -> None:
            where = f"{run.source} {run.document or ''}"
            progress.update(task, description=f"Reading {escape(where)}", papers=run.seen)

        yield tell


def _table(*columns: str, right: Sequence[str] = ()) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return table


def runs(told: Sequence[Run]) -> None:
    numbers = ("Seen", "New", "Revised", "Known", "Rejected")
    table = _table("Source", "Document", "Outcome", *numbers, right=numbers)
    for run in told:
        counts = (run.seen, run.new, run.revised, run.known, run.rejected)
        table.add_row(
            escape(run.source),
            escape(run.document or "–"),
            Text(run.outcome.value, OUTCOME[run.outcome]),
            *(f"{count:,}" if count else "–" for count in counts),
        )
    console.print(table)
    for run in told:
        if run.error:
            stderr.print(f"[red]{escape(run.source)}[/]: {escape(run.error)}")


def digests(sent: Sequence[Sent]) -> None:
    if not sent:
        console.print("No digest is due.")
        return
    table = _table(
        "Subscription", "Period", "Papers", "Channel", "Recipient", "State", right=("Papers",)
    )
    for one in sent:
        for delivery in one.deliveries or (None,):
            table.add_row(escape(one.subscription), one.period, str(one.papers), *_cells(delivery))
    console.print(table)
    for one in sent:
        for delivery in one.deliveries:
            if delivery.error:
                where = f"{one.subscription} by {delivery.channel} to {delivery.recipient}"
                stderr.print(f"[red]{escape(where)}[/]: {escape(delivery.error)}")


def _cells(delivery: Delivery | None) -> tuple[str | Text, ...]:
    if delivery is None:
        return "–", "–", Text("nothing to send", "dim")
    state = Text(delivery.state.value, STATE.get(delivery.state, ""))
    return escape(delivery.channel), escape(delivery.recipient), state


def demo(played: Played) -> None:
    console.print()
    table = _table("Dump", "Seen", "New", "Known", right=("Seen", "New", "Known"))
    for run in played.runs:
        if run.document:
            table.add_row(escape(run.document), str(run.seen), str(run.new), str(run.known))
    if table.row_count:
        console.print(table)
    if not played.new:
        console.print(f"Nothing is new: all {played.papers} papers were read before.\n")
    subscriptions = _table("Subscription", "Papers", "Page", right=("Papers",))
    for one in played.sent:
        page = played.page(one)
        subscriptions.add_row(escape(one.subscription), str(one.papers), page.name)
    if subscriptions.row_count:
        console.print(subscriptions)
    console.print("Open this page in a browser:")
    console.print(
        f"  [bold link={played.index.as_uri()}]{escape(str(played.index))}[/]", soft_wrap=True
    )


def faults(file: Path, found: Sequence[Fault]) -> None:
    if not found:
        console.print(f"[green]{escape(str(file))} is right.[/]")
    for fault in found:
        place = f"{fault.file}:{fault.line}"
        stderr.print(f"[bold]{escape(place)}[/] [cyan]{escape(fault.where)}[/]")
        stderr.print(Padding(Text(fault.message), (0, 0, 0, 4)))


def settings(masked: Mapping[str, Any]) -> None:
    console.print(yaml.safe_dump(masked, sort_keys=False, allow_unicode=True), end="", markup=False)


def status(told: Status) -> None:
    sources = _table("Source", "Last run", "Outcome", "Seen", "New", right=("Seen", "New"))
    for source in told.sources:
        style = "bold red" if source.failing_since else ""
        outcome = Text(source.outcome, style)
        sources.add_row(
            escape(source.name), _at(source.last_run), outcome, str(source.seen), str(source.new)
        )
    console.print(sources)
    console.print("[dim]Seen and new count the last 24 hours.[/]\n")
    subscriptions = _table("Subscription", "Next due", "Waiting", "Why", right=("Waiting",))
    for one in told.subscriptions:
        due = _at(one.next_due) if one.next_due else "at once"
        subscriptions.add_row(escape(one.name), due, str(one.waiting), escape(one.why))
    console.print(subscriptions)
    counted = ", ".join(f"{count:,} {state}" for state, count in told.deliveries.items() if count)
    console.print(f"Deliveries: {counted or 'none'}\n")
    for problem in told.problems:
        console.print(f"[bold red]![/] {escape(problem)}")
    if told.ok:
        console.print("[green]All is well.[/]")


def _at(moment: datetime | None) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}" if moment else "–"


def papers(found: Sequence[FoundPaper], limit: int) -> None:
    table = _table("Id", "First seen", "Title", "Source", right=("Id",))
    for one in found[:limit]:
        names = dict.fromkeys(sighting.source for sighting in one.sightings)
        title = escape(one.stored.paper.title)
        table.add_row(
            str(one.stored.id), _at(one.stored.first_seen), title, escape(", ".join(names))
        )
    console.print(table)
    if len(found) > limit:
        console.print(f"{len(found):,} papers; --limit shows more.")
    else:
        console.print(f"{len(found):,} papers.")


def trial(query: str, told: Trial) -> None:
    share = f"{told.share:.1%}" if told.papers else "none"
    console.print(
        f"[bold]{escape(query)}[/] meets {told.papers:,} papers ({share} of the store).\n"
    )
    most = max((day.papers for day in told.per_day), default=1)
    for day in told.per_day[-30:]:
        bar = "█" * max(1, round(40 * day.papers / most))
        console.print(f"{day.day}  [cyan]{bar}[/] {day.papers}")
    console.print()
    for sample in told.sample:
        console.print(_marked(sample), Text(_words(sample), "dim"), sep="\n  ")
    for warning in told.warnings:
        stderr.print(f"[yellow]![/] {escape(warning)}")


def _marked(sample: Sample) -> Text:
    text = Text(f"• {sample.title}")
    for why in sample.why:
        if why.field == "title":
            for start, end in why.spans:
                text.stylize("bold yellow", start + 2, end + 2)
    return text


def _words(sample: Sample) -> str:
    return "; ".join(f"{why.field}: {', '.join(why.words)}" for why in sample.why)


def explanation(told: Explanation) -> None:
    console.print(f"[bold]{escape(told.title)}[/]  (paper {told.id})")
    keys = ", ".join(f"{scheme} {value}" for scheme, value in told.keys) or "none"
    console.print(f"Identifiers: {escape(keys)}")
    console.print(f"First seen: {_at(told.first_seen)}")
    for seen in told.sources:
        where = f"{seen.source}, {seen.document}" if seen.document else seen.source
        console.print(f"  in {escape(where)} as {escape(seen.raw_id)}, {_at(seen.first_seen)}")
    if not told.changes:
        console.print("No news: it was there when its source was first read.")
    for change in told.changes:
        reason = f": {change.why}" if change.why else ""
        console.print(f"News: {change.kind}, {_at(change.at)}{escape(reason)}")
    for met in told.topics:
        words = "; ".join(f"{why.field}: {', '.join(why.words)}" for why in met.why)
        console.print(f"Topic {escape(met.topic)} (score {met.score:.2f}): {escape(words)}")
    for digest in told.digests:
        console.print(f"Digest: {escape(digest.subscription)}, {digest.period}")


def documents(told: Sequence[tuple[Path, Reading]]) -> None:
    table = _table("File", "Papers", "Rejected", "Error", right=("Papers", "Rejected"))
    for file, found in told:
        counts = (str(len(found.papers)), str(len(found.rejected)))
        table.add_row(escape(str(file)), *counts, escape(found.error))
    console.print(table)
    for file, found in told:
        for part in found.rejected:
            stderr.print(f"{escape(str(file))}, {escape(part.where)}: {escape(part.why)}")


def deliveries(listed: Sequence[Delivery]) -> None:
    table = _table("Id", "Subscription", "Period", "Channel", "Recipient", "State", "Tries")
    for one in listed:
        where = f"{one.recipient} ({one.part + 1})" if one.part else one.recipient
        table.add_row(
            str(one.id),
            escape(one.subscription),
            one.period,
            escape(one.channel),
            escape(where),
            Text(one.state.value, STATE.get(one.state, "")),
            str(one.attempts),
        )
    console.print(table)
    for one in listed:
        if one.error:
            stderr.print(f"{one.id}: {escape(one.error)}")


def checks(told: Sequence[Check]) -> None:
    for check in told:
        mark = "[green]✓[/]" if check.ok else "[bold red]✗[/]"
        console.print(f"{mark} {escape(check.name)}: {escape(check.message)}")


def tried(told: Sequence[Tried]) -> None:
    table = _table("Subscription", "Channel", "Recipient", "State")
    for one in told:
        state = Text(one.outcome.state.value, STATE.get(one.outcome.state, "bold red"))
        table.add_row(escape(one.subscription), escape(one.channel), escape(one.recipient), state)
    console.print(table)
    for one in told:
        if one.outcome.error:
            stderr.print(f"[red]{escape(one.channel)}[/]: {escape(one.outcome.error)}")


def pages(written: Sequence[tuple[str, Path]]) -> None:
    for name, path in written:
        console.print(
            f"{escape(name)}: [link={path.as_uri()}]{escape(str(path))}[/]", soft_wrap=True
        )
