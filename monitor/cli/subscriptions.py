"""Who gets what, when, and what waits."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from monitor.cli.opening import open_to_read
from monitor.cli.options import Call, argument
from monitor.cli.terminal import at, console, facts, show_table
from monitor.commands.json_output import subscriptions_json
from monitor.commands.subscriptions import (
    SubscriptionReport,
    count_waiting,
    find_subscriptions,
    report,
)
from monitor.digest.about import describe_next, describe_schedule
from monitor.digest.wording import format_count

# Names in a cell of the table.
MOST_NAMED = 3


def subscriptions(
    call: Call,
    who: str = argument("NAME or ADDRESS", "Only this subscription or recipient.", default=""),
) -> None:
    with open_to_read(call) as app:
        selected = find_subscriptions(app.runtime, who)
        listed = count_waiting(app.runtime, report(app.runtime, selected))
    call.answer(subscriptions_json(listed), _show_each if who else _show, listed)


def _show(listed: Sequence[SubscriptionReport]) -> None:
    rows = [
        (
            known.name,
            _shorten(known.recipients, "recipient"),
            describe_schedule(known.schedule, known.timezone),
            describe_next(known.upcoming, known.timezone, with_zone=True),
            known.waiting + known.changes,
            ", ".join(known.troubles),
        )
        for known in listed
    ]
    columns = ("Subscription", "Recipients", "Sent", "Next", "Waiting", "Trouble")
    show_table(columns, rows, "There are no subscriptions yet.")


def _show_each(listed: Sequence[SubscriptionReport]) -> None:
    for known in listed:
        stops = [
            (row.recipient, at(row.until) if row.until else "permanently") for row in known.stopped
        ]
        rows = [
            ("topics", ", ".join(known.topics)),
            ("guard", ", ".join(known.guard)),
            ("libraries", ", ".join(known.libraries)),
            ("recipients", ", ".join(known.recipients)),
            ("channels", ", ".join(known.channels)),
            ("sent", describe_schedule(known.schedule, known.timezone)),
            ("next", describe_next(known.upcoming, known.timezone, with_zone=True)),
            ("last", at(known.last.composed_at, known.timezone) if known.last else "none yet"),
            ("waiting", known.waits),
            ("stopped", "; ".join(f"{recipient}, {until}" for recipient, until in stops)),
            ("trouble", ", ".join(known.troubles)),
        ]
        console.print(Text(known.name, "bold"), facts(row for row in rows if row[1]), "")


def _shorten(names: Sequence[str], noun: str) -> str:
    return ", ".join(names) if len(names) <= MOST_NAMED else format_count(len(names), noun)
