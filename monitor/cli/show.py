"""What a person sees in the terminal: tables and sentences on stdout, progress on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table
from rich.text import Text

from monitor.model import Delivery, Reading, Run, RunOutcome, State

if TYPE_CHECKING:
    from monitor.app import Sent
    from monitor.demo import Played

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
    table = _table("Subscription", "Period", "Papers", "Channel", "Recipient", "State", right=("Papers",))
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
    console.print(f"  [bold link={played.index.as_uri()}]{escape(str(played.index))}[/]", soft_wrap=True)
