"""What a person sees in the terminal: tables and sentences on stdout, progress on stderr."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from os.path import relpath
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import yaml
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table
from rich.text import Text

from monitor.errors import Fault
from monitor.model import Delivery, DeliveryState, MatchReason, Reading, Run, RunOutcome

if TYPE_CHECKING:
    from monitor.app import Sent, Tried
    from monitor.cli.json_output import Failure
    from monitor.commands.doubtful_joins import Doubtful, Doubts
    from monitor.commands.explain import Explanation
    from monitor.commands.heartbeat import Check
    from monitor.commands.search import Comparison, Day, Sample, Searched, Trial
    from monitor.commands.status import Status
    from monitor.commands.upcoming import Upcoming
    from monitor.demo import Played

# How many subscriptions with papers that wait are named.
NAMED = 5
# Where nobody watches, a line is a line: nothing is folded for a width that is not there.
UNWATCHED = 1_000

console = Console(highlight=False, width=None if sys.stdout.isatty() else UNWATCHED)
stderr = Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else UNWATCHED)

OUTCOME = {
    RunOutcome.OK: "green",
    RunOutcome.UNCHANGED: "dim",
    RunOutcome.PARTIAL: "yellow",
    RunOutcome.FAILED: "bold red",
}
STATE = {
    DeliveryState.SENT: "green",
    DeliveryState.FAILED: "bold red",
    DeliveryState.UNKNOWN: "yellow",
}


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

        def on_progress(run: Run) -> None:
            where = f"{run.source} {run.document or ''}"
            progress.update(task, description=f"Reading {escape(where)}", papers=run.seen)

        yield on_progress


def _table(*columns: str, right: Sequence[str] = ()) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return table


def runs(told: Sequence[Run]) -> None:
    if not told:
        console.print("There are no sources yet.")
        return
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
        where = f"{run.source}, {run.document}" if run.document else run.source
        _trouble(where, run.error)
        for part in run.set_aside:
            _trouble(where, f"{part.where}: {part.why}")
        if run.rejected > len(run.set_aside) > 0:
            _trouble(where, f"and {run.rejected - len(run.set_aside):,} more; `read` shows all")


def digests(
    sent: Sequence[Sent],
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
        _trouble(f"{name} failed", error)


def _upcoming(waiting: Sequence[Upcoming], config: Path) -> None:
    some = [one for one in waiting if one.papers][:NAMED]
    console.print("Nothing is due yet." if some else "Nothing is due yet, and no papers wait.")
    for one in some:
        now = "" if one.paused else f" Send now: {_early(one.subscription, config)}"
        console.print(escape(one.sentence + now))
    more = sum(bool(one.papers) for one in waiting) - len(some)
    if more:
        console.print(f"{_counted(more, 'more subscription')}: paper-monitor status")


def _early(subscription: str, config: Path) -> str:
    named = "" if config == Path("monitor.yaml") else f" --config {shlex.quote(str(config))}"
    return f"paper-monitor digest --early {shlex.quote(subscription)}{named}"


def _sent(sent: Sequence[Sent]) -> None:
    table = _table(
        "Subscription", "Period", "Papers", "Channel", "Recipient", "State", right=("Papers",)
    )
    for one in sent:
        for delivery in one.deliveries or (None,):
            table.add_row(escape(one.subscription), one.period, str(one.papers), *_cells(delivery))
    console.print(table)
    for one in sent:
        for delivery in one.deliveries:
            where = f"{one.subscription} by {delivery.channel} to {delivery.recipient}"
            _trouble(where, delivery.error)


def rehearsals(sent: Sequence[Sent]) -> None:
    """What would go out, as pages; `Sent` of a rehearsal has one delivery, to a page."""
    table = _table("Subscription", "Period", "Papers", "Page", right=("Papers",))
    for one in sent:
        page = one.deliveries[0]
        row = escape(one.subscription), one.period, str(one.papers)
        table.add_row(*row, _link(page.reference))
        _trouble(one.subscription, page.error)
    console.print(table)
    console.print("[dim]Nothing was sent.[/]")


def _trouble(where: str, error: str) -> None:
    if error:
        stderr.print(f"[red]{escape(where)}[/]: {escape(error)}")


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
        console.print(f"Nothing is new: all {played.papers:,} papers were read before.\n")
    if played.sent:
        table = _table("Subscription", "Papers", "Page", right=("Papers",))
        for one in played.sent:
            page = played.page(one)
            told = relpath(page, played.folder) if page else "–"
            table.add_row(escape(one.subscription), str(one.papers), escape(told))
        console.print(table)
    for name, error in played.failed:
        _trouble(f"{name} failed", error)
    if played.index.exists():
        console.print("Open this page in a browser:")
        console.print(Text("  ").append(_link(str(played.index), "bold")), soft_wrap=True)


def _dumps(played: Played) -> None:
    numbers = ("Seen", "New", "Known")
    table = _table("Dump", *numbers, right=numbers)
    for run in played.runs:
        where = escape(run.document or run.source)
        table.add_row(where, str(run.seen), str(run.new), str(run.known))
    console.print(table)


def _noted(mark: Text, text: str) -> Table:
    """A sentence after a mark; its further lines stand below the first."""
    grid = Table.grid(padding=(0, 1))
    grid.add_row(mark, Text(text))
    return grid


def _link(path: str, style: str = "") -> Text:
    """A path that terminals open."""
    return Text(path, f"{style} link {Path(path).absolute().as_uri()}") if path else Text("–")


def right(file: Path) -> None:
    console.print(f"[green]{escape(str(file))} is right.[/]")


def faults(found: Sequence[Fault]) -> None:
    for fault in found:
        _placed(fault, "bold red")


def doubts(found: Sequence[Fault]) -> None:
    for fault in found:
        _placed(fault, "bold yellow")


def left_out(found: Sequence[Fault]) -> None:
    """Warn that an answer is from the store and what is valid of the configuration."""
    if found:
        stderr.print(_noted(Text("!", "bold yellow"), "The configuration has faults; see below."))
        doubts(found)


def _placed(fault: Fault, style: str) -> None:
    place = Text(f"{fault.file}:{fault.line}", style).append(f"  {fault.where}", "not bold cyan")
    stderr.print(place, Padding(Text(fault.message), (0, 0, 0, 4), expand=False))


def settings(masked: Mapping[str, Any]) -> None:
    console.print(yaml.safe_dump(masked, sort_keys=False, allow_unicode=True), end="", markup=False)


def status(told: Status) -> None:
    if told.sources:
        _sources(told)
    else:
        console.print("There are no sources yet.")
    if told.subscriptions:
        _subscriptions(told)
    else:
        console.print("There are no subscriptions yet.")
    counted = ", ".join(f"{count:,} {state}" for state, count in told.deliveries.items() if count)
    console.print(f"Deliveries: {counted or 'none yet'}")
    for problem in told.problems:
        console.print(_noted(Text("✗", "bold red"), problem))
    if told.ok:
        console.print("[green]✓[/] All is well.")


def _sources(told: Status) -> None:
    table = _table("Source", "Last run", "Outcome", "Seen", "New", right=("Seen", "New"))
    for one in told.sources:
        said = ", ".join([one.outcome, *(trouble.kind for trouble in one.troubles)])
        outcome = Text(said, "bold red" if one.failing_since or one.troubles else "")
        counts = f"{one.seen:,}", f"{one.new:,}"
        table.add_row(escape(one.name), at(one.last_run), outcome, *counts)
    console.print(table)
    console.print(" Seen and new: in the last 24 hours.", style="dim")


def _subscriptions(told: Status) -> None:
    table = _table("Subscription", "Next due", "Waiting", "Why", right=("Waiting",))
    for one in told.subscriptions:
        due = at(one.next_due, one.timezone) if one.next_due else "at once"
        table.add_row(escape(one.name), due, f"{one.waiting:,}", escape(one.why))
    console.print(table)


def at(moment: datetime | None, zone: str = "") -> str:
    """A moment as the clock of a zone shows it, by default this machine's; with its zone."""
    where = ZoneInfo(zone) if zone else None
    return f"{moment.astimezone(where):%Y-%m-%d %H:%M %Z}" if moment else "–"


def papers(found: Searched) -> None:
    if found.papers:
        table = _table("Id", "First seen", "Title", "Source", right=("Id",))
        for one in found.papers:
            stored = one.stored
            names = ", ".join(dict.fromkeys(sighting.source for sighting in one.sightings))
            day = f"{stored.first_seen.astimezone():%Y-%m-%d}"
            table.add_row(str(stored.id), day, escape(stored.paper.title), escape(names))
        console.print(table)
    if found.more:
        console.print(f"The newest {len(found.papers):,}; there are more, --limit shows them.")
    else:
        console.print(f"{_counted(len(found.papers))}.")


def _counted(count: int, noun: str = "paper") -> str:
    return f"1 {noun}" if count == 1 else f"{count:,} {noun}s" if count else f"No {noun}"


def trial(query: str, told: Trial) -> None:
    share = f", {told.share:.1%} of all that are stored" if told.papers else ""
    console.print(f"[bold]{escape(query)}[/] meets {_counted(told.papers).lower()}{share}.\n")
    days = _last_days(told.per_day)
    most = max((count for _, count in days), default=1)
    for day, count in days:
        bar = "█" * max(bool(count), round(40 * count / most))
        console.print(f"{day}  [cyan]{bar}[/]{' ' * bool(bar)}{count:,}")
    _samples("The best of them, with the words that were found:", told.sample)
    if told.compare:
        _comparison(told.compare)
    for warning in told.warnings:
        stderr.print(_noted(Text("!", "bold yellow"), warning))


def _last_days(told: Sequence[Day]) -> list[tuple[str, int]]:
    """Return every day up to the last one that had papers, 30 at most: quiet ones have none."""
    counts = {day.day: day.papers for day in told}
    if not counts:
        return []
    first, last = date.fromisoformat(min(counts)), date.fromisoformat(max(counts))
    days = [last - timedelta(days=n) for n in range(min(30, (last - first).days + 1))]
    return [(str(day), counts.get(str(day), 0)) for day in reversed(days)]


def _comparison(told: Comparison) -> None:
    console.print(
        f"\n[bold]{escape(told.query)}[/] meets {_counted(told.papers).lower()}: "
        f"{told.gained:,} are gained, {told.lost:,} are lost."
    )
    _samples("Gained:", told.gained_sample)
    _samples("Lost:", told.lost_sample)


def _samples(heading: str, told: Sequence[Sample]) -> None:
    if told:
        console.print(f"\n{heading}\n")
    for sample in told:
        console.print(Padding(_marked(sample), (0, 0, 0, 2), expand=False))
        console.print(Padding(Text(_words(sample.why), "dim"), (0, 0, 0, 4), expand=False))


def _marked(sample: Sample) -> Text:
    text = Text(sample.title)
    for why in sample.why:
        if why.field == "title":
            for start, end in why.spans:
                text.stylize("bold yellow", start, end)
    return text


def _words(whys: Sequence[MatchReason]) -> str:
    return "; ".join(f"{why.field}: {', '.join(why.words)}" for why in whys)


def explanation(told: Explanation) -> None:
    console.print(f"[bold]{escape(told.title)}[/]\n")
    grid = Table.grid(padding=(0, 3))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for label, text in _facts(told):
        grid.add_row(label, Text(text))
    console.print(grid)


def _facts(told: Explanation) -> Iterator[tuple[str, str]]:
    yield (
        "Paper",
        f"{told.id}, first seen {at(told.first_seen)}" + (", withdrawn" if told.withdrawn else ""),
    )
    for scheme, value in told.keys.items():
        for one in (value,) if isinstance(value, str) else value:
            yield "Identifier", f"{scheme}:{one}"
    for seen in told.sources:
        document = f", {seen.document}" if seen.document else ""
        title = f", “{seen.text.title}”" if seen.text else ""
        because = f": {seen.why}" if seen.why else ""
        yield "Source", f"{seen.source}{document}, {at(seen.first_seen)}{title}{because}"
    for joined in told.joined:
        yield "Joined", f"paper {joined.id}, {at(joined.at)}: {joined.why}"
    for ruling in told.rulings:
        yield "Ruling", f"{ruling.one} and {ruling.other} are {ruling.verdict}, {at(ruling.at)}"
    if not told.changes:
        yield "News", "none: it was there when its source was first read"
    for change in told.changes:
        yield "News", f"{change.kind}, {at(change.at)}" + (f": {change.why}" if change.why else "")
    if not told.topics:
        yield "Topics", "it met none"
    for met in told.topics:
        # The words may be gone: the paper reads otherwise now than when the topic met it.
        found = f", {_words(met.why)}" if met.why else ""
        yield "Topic", f"{met.topic} (score {met.score:.2f}){found}"
    if not told.digests:
        yield "Digests", "it has been in none"
    for digest in told.digests:
        yield "Digest", f"{digest.subscription}, {digest.period}"


def doubtful(told: Doubts, command: str) -> None:
    for one in told.found:
        console.print(f"[bold]{one.paper_id}  {escape(one.title)}[/]")
        grid = Table.grid(padding=(0, 3))
        grid.add_column(style="dim")
        grid.add_column(overflow="fold")
        for label, text in _doubt(one):
            grid.add_row(label, Text(text))
        console.print(grid)
        console.print(Text(f"{one.command(command)}\n"), soft_wrap=True)
    console.print(
        f"{len(told.found):,} of {told.joins:,} joins are doubtful; {told.unjudged:,} cannot be "
        "judged, because the texts of their records are not stored"
    )


def _doubt(told: Doubtful) -> Iterator[tuple[str, str]]:
    for seen in told.doubt.records:
        title = f", “{seen.text.title}”" if seen.text else ""
        yield "Record", f"{seen.source}/{seen.raw_id}{title}"
    if told.doubt.why:
        yield "Joined by", told.doubt.why
    yield "Refused today" if told.doubt.judged else "Doubtful", told.doubt.reason


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
    if not listed:
        console.print("No deliveries yet.")
        return
    numbers = ("Id", "Tries")
    names = ("Subscription", "Period", "Channel", "Recipient", "State")
    table = _table("Id", *names, "Tries", right=numbers)
    for one in listed:
        where = f"{one.recipient}, part {one.part + 1}" if one.part else one.recipient
        told = (one.subscription, one.period, one.channel, where)
        state = Text(one.state.value, STATE.get(one.state, ""))
        table.add_row(str(one.id), *map(escape, told), state, str(one.attempts))
    console.print(table)
    for one in listed:
        _trouble(f"delivery {one.id}", one.error)


def checks(told: Sequence[Check]) -> None:
    for check in told:
        mark = Text("✓", "green") if check.ok else Text("✗", "bold red")
        if check.ok and check.warning:
            mark = Text("!", "bold yellow")
        console.print(_noted(mark, f"{check.name}: {check.message}"))


def tried(told: Sequence[Tried]) -> None:
    if not told:
        console.print("There is nobody to write to.")
        return
    table = _table("Subscription", "Channel", "Recipient", "State")
    for one in told:
        state = Text(one.state.value, STATE.get(one.state, ""))
        table.add_row(escape(one.subscription), escape(one.channel), escape(one.recipient), state)
    console.print(table)
    for channel, error in dict.fromkeys((one.channel, one.outcome.error) for one in told):
        _trouble(channel, error)
