"""`papers look-up` and `papers unfill`: what services say of stored papers."""

from __future__ import annotations

from collections.abc import Sequence

from monitor.cli.opening import open_configured
from monitor.cli.options import PAPER, Call, argument, finish, flag, number, option
from monitor.cli.terminal import console, show_table
from monitor.commands import look_up
from monitor.commands.json_output import looked_up_json
from monitor.commands.look_up import MOST_MISSING, LookedUp, Planned
from monitor.digest.look_up_words import describe_look_up
from monitor.digest.paper_json import pick
from monitor.digest.wording import format_count
from monitor.errors import UsageError
from monitor.model.look_up import UNANSWERED


def papers_look_up(
    call: Call,
    references: list[str] = argument("PAPER", PAPER, default=()),
    missing: bool = flag("--missing", "The newest papers that lack something."),
    limit: int | None = option(
        "--limit",
        "N",
        f"With --missing, how many at most (default: {MOST_MISSING}).",
        None,
        number("--limit"),
    ),
    service: str = option("--service", "NAME", "Only this service, also if it was asked before."),
    dry_run: bool = flag("--dry-run", "Only show the requests. Sends nothing."),
    saved: bool = flag("--saved", "With --dry-run: what is asked once a month of saved papers."),
) -> None:
    if not (references or missing or saved):
        raise UsageError("name a paper, or write --missing")
    if limit and not missing:
        raise UsageError("--limit goes with --missing")
    if saved and (references or missing or not dry_run):
        raise UsageError(
            "--saved goes with --dry-run alone", "`run` and `serve` ask about saved papers"
        )
    with open_configured(call, create=False) as app:
        titles = app.runtime.service_titles
        stored = look_up.chosen(app.runtime, references, missing, limit or MOST_MISSING)
        if dry_run:
            requests = (
                look_up.planned_of_saved(app.runtime, service)
                if saved
                else look_up.planned(app.runtime, stored, service)
            )
            document = {"requests": [pick(one, "service papers url") for one in requests]}
            call.answer(document, _show_planned, requests, titles)
            return
        asked = look_up.look_up_papers(app.runtime, stored, service)
    call.answer(looked_up_json(asked), _show, asked, titles)
    finish(not any(each.state in UNANSWERED for one in asked for each in one.look_ups))


def papers_unfill(
    call: Call,
    paper: str = argument("PAPER", PAPER),
    service: str = option("--service", "NAME", "Only what this service filled in."),
) -> None:
    with open_configured(call, create=False) as app:
        done = look_up.unfill(app.runtime, paper, service)
        titles = app.runtime.service_titles
    call.answer(looked_up_json([done]), _show, [done], titles)


def _show_planned(requests: Sequence[Planned], titles: dict[str, str]) -> None:
    rows = [(titles[one.service], len(one.papers), one.url) for one in requests]
    show_table(("Service", "Papers", "Would be asked"), rows, "Nothing would be asked.")
    papers = format_count(len({id for one in requests for id in one.papers}), "paper")
    console.print(f"{format_count(len(rows), 'request')} about {papers}. Nothing was sent.")


def _show(asked: Sequence[LookedUp], titles: dict[str, str]) -> None:
    rows = [
        (
            one.stored.id,
            one.stored.paper.title,
            "; ".join(describe_look_up(each, titles) for each in one.look_ups) or "not asked",
        )
        for one in asked
    ]
    show_table(("Id", "Title", "Looked up"), rows)
    console.print(f"{format_count(len(rows), 'paper')}.")
    if any(each.state in UNANSWERED for one in asked for each in one.look_ups):
        console.print("`paper-monitor run` and `serve` ask again about what waits.")
