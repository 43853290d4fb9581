"""What the terminal shows of papers: searches, trials of topics, explanations, doubtful merges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from monitor.cli.terminal import at, console, count_of, stderr, table, with_mark
from monitor.model import MatchReason, Reading

if TYPE_CHECKING:
    from monitor.commands.doubtful_joins import Doubtful, Doubts
    from monitor.commands.explain import Explanation
    from monitor.commands.search import Comparison, Day, Sample, Searched, Trial


def papers(found: Searched) -> None:
    if found.papers:
        rows = table("Id", "First seen", "Title", "Source", right=("Id",))
        for one in found.papers:
            stored = one.stored
            names = ", ".join(dict.fromkeys(sighting.source for sighting in one.sightings))
            day = f"{stored.first_seen.astimezone():%Y-%m-%d}"
            rows.add_row(str(stored.id), day, escape(stored.paper.title), escape(names))
        console.print(rows)
    if found.more:
        console.print(f"The newest {len(found.papers):,}; there are more, --limit shows them.")
    else:
        console.print(f"{count_of(len(found.papers))}.")


def trial(query: str, told: Trial) -> None:
    share = f", {told.share:.1%} of all stored papers" if told.papers else ""
    console.print(f"[bold]{escape(query)}[/] matches {count_of(told.papers).lower()}{share}.\n")
    days = _last_days(told.per_day)
    most = max((count for _, count in days), default=1)
    for day, count in days:
        bar = "█" * max(bool(count), round(40 * count / most))
        console.print(f"{day}  [cyan]{bar}[/]{' ' * bool(bar)}{count:,}")
    _samples("Best matches, with the matched words:", told.sample)
    if told.compare:
        _comparison(told.compare)
    for warning in told.warnings:
        stderr.print(with_mark(Text("!", "bold yellow"), warning))


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
        f"\n[bold]{escape(told.query)}[/] matches {count_of(told.papers).lower()}: "
        f"{told.gained:,} gained, {told.lost:,} lost."
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
        yield "Topics", "no topic matched"
    for met in told.topics:
        # The words may be gone: the paper reads otherwise now than when the topic met it.
        found = f", {_words(met.why)}" if met.why else ""
        yield "Topic", f"{met.topic} (score {met.score:.2f}){found}"
    if not told.digests:
        yield "Digests", "not in any digest yet"
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
        f"{len(told.found):,} of {told.joins:,} merges are doubtful; {told.unjudged:,} cannot be "
        "checked, because the texts of their records are not stored"
    )


def _doubt(told: Doubtful) -> Iterator[tuple[str, str]]:
    for seen in told.doubt.records:
        title = f", “{seen.text.title}”" if seen.text else ""
        yield "Record", f"{seen.source}/{seen.raw_id}{title}"
    if told.doubt.why:
        yield "Joined by", told.doubt.why
    yield "Refused today" if told.doubt.judged else "Doubtful", told.doubt.reason


def documents(told: Sequence[tuple[Path, Reading]]) -> None:
    rows = table("File", "Papers", "Rejected", "Error", right=("Papers", "Rejected"))
    for file, found in told:
        counts = (str(len(found.papers)), str(len(found.rejected)))
        rows.add_row(escape(str(file)), *counts, escape(found.error))
    console.print(rows)
    for file, found in told:
        for part in found.rejected:
            stderr.print(f"{escape(str(file))}, {escape(part.where)}: {escape(part.why)}")
