"""Readers' answers as JSON and as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.markup import escape

from monitor.cli.terminal import console, table
from monitor.commands.json_output import Answer

if TYPE_CHECKING:
    from monitor.commands.ratings import Rated


def as_json(answers: Iterable[Rated]) -> Answer:
    return {
        "rated": [
            {
                "paper": one.judgement.paper_id,
                "title": one.title,
                "subscription": one.judgement.subscription,
                "topic": one.judgement.topic,
                "who": one.judgement.who,
                "verdict": one.judgement.verdict,
                "at": one.judgement.at.isoformat(),
                "how": one.judgement.how,
            }
            for one in answers
        ]
    }


def as_table(answers: Sequence[Rated]) -> None:
    rows = table("Id", "Title", "Verdict", "Topic", "Subscription", "Who", right=("Id",))
    for one in answers:
        said = one.judgement
        names = (said.verdict, said.topic, said.subscription, said.who)
        rows.add_row(str(said.paper_id), escape(one.title), *map(escape, names))
    if answers:
        console.print(rows)
    console.print(f"{len(answers):,} answer{'' if len(answers) == 1 else 's'}.")
