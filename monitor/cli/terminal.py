"""What a person sees in the terminal: tables and sentences on stdout, progress on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
from rich.table import Table
from rich.text import Text

from monitor.model import Run

# Where nobody watches, a line is a line: nothing is folded for a width that is not there.
UNWATCHED = 1_000

console = Console(highlight=False, width=None if sys.stdout.isatty() else UNWATCHED)
stderr = Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else UNWATCHED)


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


def table(*columns: str, right: Sequence[str] = ()) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    return table


def print_error(where: str, error: str) -> None:
    if error:
        stderr.print(f"[red]{escape(where)}[/]: {escape(error)}")


def with_mark(mark: Text, text: str) -> Table:
    """A sentence after a mark; its further lines stand below the first."""
    grid = Table.grid(padding=(0, 1))
    grid.add_row(mark, Text(text))
    return grid


def file_link(path: str, style: str = "") -> Text:
    """A path that terminals open."""
    return Text(path, f"{style} link {Path(path).absolute().as_uri()}") if path else Text("–")


def open_pages(paths: Iterable[str]) -> None:
    """Open pages in the browser, where there is one: a server mostly has none."""
    import webbrowser  # takes a while, and most commands open nothing

    for path in map(Path, paths):
        if path.suffix == ".html":
            webbrowser.open(path.absolute().as_uri())


def at(moment: datetime | None, zone: str = "") -> str:
    """A moment as the clock of a zone shows it, by default this machine's; with its zone."""
    where = ZoneInfo(zone) if zone else None
    return f"{moment.astimezone(where):%Y-%m-%d %H:%M %Z}" if moment else "–"


def count_of(count: int, noun: str = "paper") -> str:
    return f"1 {noun}" if count == 1 else f"{count:,} {noun}s" if count else f"No {noun}"
