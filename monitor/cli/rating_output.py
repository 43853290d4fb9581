"""Readers' answers as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.markup import escape

from monitor.cli.terminal import console, table

if TYPE_CHECKING:
    from monitor.commands.ratings import Rated


def as_table(answers: Sequence[Rated]) -> None:
    rows = table("Id", "Title", "Verdict", "Topic", "Subscription", "Who", right=("Id",))
    for one in answers:
        said = one.judgement
        names = (said.verdict, said.topic, said.subscription, said.who)
        rows.add_row(str(said.paper_id), escape(one.title), *map(escape, names))
    if answers:
        console.print(rows)
    console.print(f"{len(answers):,} answer{'' if len(answers) == 1 else 's'}.")
