"""Tables and sentences on stdout, errors and progress on stderr."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import TextIO
from zoneinfo import ZoneInfo

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from monitor.digest.wording import describe_words, format_count, near_line, without_near
from monitor.errors import Fault
from monitor.model import MODEL, MatchReason, Run

# Lines are not folded in a file or pipe, which has no width.
UNWATCHED = 1_000
# States of deliveries and outcomes of runs; others have no colour.
STYLES = {
    **dict.fromkeys(("sent", "ok", "retried"), "green"),
    **dict.fromkeys(("unknown", "partial"), "yellow"),
    "failed": "bold red",
    "unchanged": "dim",
}


def _console(stream: TextIO, *, is_stderr: bool = False) -> Console:
    # Titles may have what rich would replace with an emoji: ":fire:".
    width = None if stream.isatty() else UNWATCHED
    return Console(stderr=is_stderr, highlight=False, emoji=False, width=width)


console = _console(sys.stdout)
stderr = _console(sys.stderr, is_stderr=True)


@contextmanager
def reading() -> Iterator[Callable[[Run], None]]:
    """Show a spinner with the papers read so far, if stderr is a terminal."""
    if not stderr.is_terminal:
        yield lambda run: None
        return
    with stderr.status("Reading papers") as status:

        def on_progress(run: Run) -> None:
            document = escape(f"{run.source} {run.document or ''}")
            status.update(f"Reading {document}: {format_count(run.seen, 'paper')}")

        yield on_progress


def show_table(columns: Sequence[str], rows: Sequence[Sequence[object]], empty: str = "") -> None:
    """Print rows under a header, with numbers on the right, or `empty` if there are none."""
    if not rows:
        console.print(empty, end="\n" if empty else "")
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for number, column in enumerate(columns):
        is_number = any(isinstance(row[number], int) for row in rows)
        table.add_column(column, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(_cell, columns, row))
    console.print(table)


def _cell(column: str, value: object) -> Text | str:
    """Return a value as text; an id is written as commands take it, without commas."""
    match value:
        case Text():
            return value
        case Enum():
            return Text(str(value), STYLES.get(str(value), ""))
        case int():
            return str(value) if column == "Id" else f"{value:,}"
        case datetime() | None:
            return at(value)
        case _:
            return escape(str(value))


def print_error(where: str, error: str) -> None:
    if error:
        stderr.print(f"[red]{escape(where)}[/]: {escape(error)}")


def print_faults(faults: Iterable[Fault], style: str) -> None:
    """Print faults of a configuration to stderr, each with its position and its setting."""
    for fault in faults:
        position = Text(f"{fault.file}:{fault.line}", style)
        position.append(f"  {fault.where}", "not bold cyan")
        stderr.print(position, Padding(Text(fault.message), (0, 0, 0, 4), expand=False))


def with_sign(sign: str, style: str, text: str) -> Table:
    """Return a sentence after a sign, its further lines indented like the first."""
    grid = Table.grid(padding=(0, 1))
    grid.add_row(Text(sign, style), Text(text))
    return grid


def file_link(path: str, style: str = "") -> Text:
    """Return a path that terminals open when clicked."""
    return Text(path, f"{style} link {Path(path).absolute().as_uri()}") if path else Text("–")


def open_pages(paths: Iterable[str]) -> None:
    """Open pages in the browser, if there is one."""
    for path in map(Path, paths):
        if path.suffix == ".html":
            webbrowser.open(path.absolute().as_uri())


def at(moment: datetime | None, zone: str = "") -> str:
    """Return a time with its zone, by default in this machine's."""
    local = ZoneInfo(zone) if zone else None
    return f"{moment.astimezone(local):%Y-%m-%d %H:%M %Z}" if moment else "–"


def list_words(reasons: Sequence[MatchReason]) -> str:
    fields = [
        describe_words(MODEL, words) if reason.field == MODEL else f"{reason.field}: {words}"
        for reason in without_near(reasons)
        for words in [", ".join(reason.words)]
    ]
    return "; ".join(filter(None, [*fields, near_line(reasons)]))


def facts(rows: Iterable[tuple[str, str]]) -> Table:
    grid = Table.grid(padding=(0, 3))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for label, text in rows:
        grid.add_row(label, Text(text))
    return grid
