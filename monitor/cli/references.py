"""The entries of libraries, and what became of them."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.cli.opening import open_to_read
from monitor.cli.options import Call, argument
from monitor.cli.terminal import at, console, show_table
from monitor.commands.json_output import references_json
from monitor.commands.references import (
    NOTHING_KNOWN,
    Reference,
    count_states,
    list_references,
)
from monitor.digest.wording import format_count


def references(
    call: Call,
    library: str = argument("LIBRARY", "Only the entries of this library.", default=""),
) -> None:
    with open_to_read(call) as app:
        listed = list_references(app.runtime, [library] if library else [])
    call.answer(references_json(listed), _show, listed)


def _show(listed: Sequence[Reference]) -> None:
    """Show the entries that changed, and how many did not."""
    changed = [reference for reference in listed if reference.state != NOTHING_KNOWN]
    if changed:
        show_references(changed)
    counts = [f"{count:,} {state}" for state, count in count_states(listed).items()]
    console.print(f"{format_count(len(listed), 'reference')}: {', '.join(counts) or 'none'}.")
    if asked := [reference.asked for reference in listed if reference.asked]:
        console.print(f"Asked about {len(asked):,} of them, the last time at {at(max(asked))}.")


def show_references(references: Sequence[Reference]) -> None:
    rows = [
        (
            reference.title,
            ", ".join(filter(None, (reference.place.key, reference.place.file)))
            or reference.library,
            reference.state,
            reference.since,
            reference.by,
            (reference.notice or {}).get("name", ""),
        )
        for reference in references
    ]
    show_table(("Title", "Entry", "State", "Since", "By", "Notice"), rows)
