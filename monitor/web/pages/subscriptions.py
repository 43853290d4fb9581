"""`/subscriptions`: who gets what; `/people/ADDRESS` and `/me`: all that one recipient gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from functools import partial

from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.responses import Response

from monitor.channels.file import Pages
from monitor.commands.export import csv_lines
from monitor.commands.paper_search import load_page
from monitor.commands.ratings import rated_by
from monitor.commands.status import status_of
from monitor.commands.subscriptions import (
    SubscriptionFilter,
    SubscriptionReport,
    Trouble,
    count_waiting,
    narrow,
    recipients_of,
    report,
    subscriptions_of,
)
from monitor.commands.suppressions import SubscriptionChange, apply_change, reader_status
from monitor.digest.about import describe_schedule
from monitor.digest.delivery_words import WORDS
from monitor.digest.page_paths import path_to
from monitor.errors import UsageError
from monitor.pipeline.runtime import Runtime
from monitor.store.digests import deliveries, digests, suppressions
from monitor.store.digests.suppressions import ALL, address_of, lasting
from monitor.store.topics import judgements, matches
from monitor.web.access import Role
from monitor.web.pages.feeds import SUBSCRIPTION, feed_path
from monitor.web.routes import Form, Routes
from monitor.web.site import Visit, go, name_of, told_apart, with_query

# Rows of a page: subscriptions, recipients, those of one person, and what is newest.
LISTED = 50
RECIPIENTS = 100
OWN = 25
NEWEST = 10

FILTERS = SubscriptionFilter.__slots__
TROUBLES = ("any", *Trouble)

routes = Routes()


@routes.page("/subscriptions", Role.OPERATOR, takes=(*FILTERS, "after"))
def all_subscriptions(visit: Visit) -> Response:
    """List the subscriptions that a search and filters leave; an address leads to its person."""
    chosen = _filter(visit)
    if "@" in chosen.q and chosen == SubscriptionFilter(q=chosen.q):
        known = {address_of(to) for _, _, to in visit.runtime.recipients}
        if address_of(chosen.q) in known:
            return go(path_to("people", chosen.q))
    page = visit.slice(_selected(visit, chosen), LISTED)
    return visit.show(
        "subscriptions",
        page=page,
        reports=count_waiting(visit.runtime, page.shown),
        chosen=chosen,
        filtered=partial(with_query, "/subscriptions", asdict(chosen)),
        topics=told_apart(visit.topic_titles),
        channels=[*visit.runtime.channels],
        troubles=TROUBLES,
        export=with_query("/subscriptions.csv", asdict(chosen)),
        group_rules=visit.runtime.group_rules,
        sent=describe_schedule,
    )


def _filter(visit: Visit) -> SubscriptionFilter:
    visit.choice("trouble", TROUBLES)
    fields = {name: visit.parameter(name) for name in FILTERS}
    return SubscriptionFilter(**fields | {"topic": name_of(fields["topic"], visit.topic_titles)})


def _selected(visit: Visit, chosen: SubscriptionFilter) -> list[SubscriptionReport]:
    runtime = visit.runtime
    return report(runtime, chosen.select(runtime.subscriptions), chosen.trouble)


COLUMNS = (
    "subscription",
    "title",
    "recipient",
    "topics",
    "schedule",
    "timezone",
    "next",
    "last",
    "stopped",
    "until",
)


@routes.page("/subscriptions.csv", Role.OPERATOR, takes=FILTERS)
def export_subscriptions(visit: Visit) -> Response:
    """Return the same subscriptions for a spreadsheet, with a line for each recipient.

    `next` is empty where none comes, and for `immediately`.
    """
    selected = _selected(visit, _filter(visit))
    rows = []
    own_next = _next_of_stopped(visit.runtime, selected)
    for known in selected:
        for recipient in known.recipients:
            address = address_of(recipient)
            row = lasting(row for row in known.stopped if address_of(row.recipient) == address)
            until = row.until if row else known.paused_until
            state = "paused" if until else "permanently" if row else ""
            last = known.last.composed_at if known.last else None
            names = (known.name, known.title, recipient, " ".join(known.topics))
            comes = own_next.get((known.name, address), known.next)
            when = (known.schedule, known.timezone, comes, last, state, until)
            rows.append([cell or "" for cell in (*names, *when)])
    headers = {"content-disposition": 'attachment; filename="subscriptions.csv"'}
    media_type = "text/csv; charset=utf-8"
    content = "".join(csv_lines(COLUMNS, rows))
    return Response(content, headers=headers, media_type=media_type)


def _next_of_stopped(
    runtime: Runtime, selected: Sequence[SubscriptionReport]
) -> dict[tuple[str, str], datetime | None]:
    """Return when recipients who paused or stopped get their next digest, by name and address."""
    configured = {subscription.name: subscription for subscription in runtime.subscriptions}
    alone = {
        (known.name, address): narrow(configured[known.name], address)
        for known in selected
        for address in {address_of(row.recipient) for row in known.stopped}
    }
    of_each = zip(alone, report(runtime, [*alone.values()]), strict=True)
    return {key: own.next for key, own in of_each}


@routes.page("/subscriptions/{name}", Role.OPERATOR, takes=("after",))
def one_subscription(visit: Visit) -> Response:
    """Show who gets a subscription and what, its next and last digests, and what waits."""
    runtime = visit.runtime
    now = visit.runtime.clock.now()
    name = visit.require_subscription(visit.path_params["name"])
    [subscription] = runtime.subscriptions_named([name])
    [known] = report(runtime, [subscription])
    state = status_of(runtime, name, visit.zone)
    with runtime.database.reading() as tx:
        newest = digests.with_notices(tx, digests.newest(tx, [name], NEWEST))
        waiting = load_page(tx, matches.newest_waiting(tx, name, now, NEWEST))
        answers = judgements.listing(tx, name)
    return visit.show(
        "subscription",
        known=known,
        state=state,
        settings=subscription.settings,
        sent=describe_schedule(known.schedule, known.timezone),
        recipients=visit.slice(known.recipients, RECIPIENTS),
        stopped={address_of(row.recipient): row for row in known.stopped},
        address_of=address_of,
        group_rules=runtime.group_rules,
        newest=newest,
        waiting=waiting,
        feed=feed_path(visit, SUBSCRIPTION, name),
        ratings=len({(answer.paper_id, answer.who.casefold()) for answer in answers}),
    )


@routes.page("/people/{address:path}", Role.OPERATOR, takes=("after",))
def one_person(visit: Visit) -> Response:
    """Show an operator all that a recipient gets and was sent, and what was stopped."""
    return _show_person(visit, visit.path_params["address"])


@routes.page("/me", Role.READER, takes=("after",))
def own_page(visit: Visit) -> Response:
    """Show readers what they get and why; an operator without an address gets no digests."""
    if not visit.viewer.address:
        return go("/subscriptions")
    return _show_person(visit, visit.viewer.address, is_own=True)


@routes.form("/me", Role.READER)
def change_own(visit: Visit, fields: Form) -> Response:
    """Stop, pause or resume a subscription for the reader who asks."""
    name = fields.get("subscription", "")
    wish = fields.get("wish", "")
    address = address_of(visit.viewer.address)
    if not address:
        return go("/subscriptions")
    known = [s for s in subscriptions_of(visit.runtime, address) if s.name == name]
    own = [to for subscription in known for to in recipients_of(narrow(subscription, address))]
    if not own:
        raise HTTPException(404, f"You do not get a subscription “{name}”.")
    if wish not in list(SubscriptionChange):
        raise UsageError("nothing was chosen", "choose one of the buttons")
    for recipient in own:
        apply_change(visit.runtime, name, recipient, SubscriptionChange(wish), "page")
    return go("/me")


def _folders(runtime: Runtime) -> set[str]:
    """Return the folders that digests are written into, as recipients are compared."""
    folders = [channel for channel in runtime.channels.values() if isinstance(channel, Pages)]
    return {address_of(to) for channel in folders for to in channel.recipients()}


def _show_person(visit: Visit, address: str, *, is_own: bool = False) -> Response:
    runtime = visit.runtime
    page = visit.slice(subscriptions_of(runtime, address), OWN)
    own = [narrow(subscription, address) for subscription in page.shown]
    reports = count_waiting(runtime, report(runtime, own))
    with runtime.database.reading() as tx:
        last = digests.with_notices(tx, [known.last for known in reports if known.last])
        by_id = {digest.id: digest for digest in last}
        reports = [
            replace(known, last=by_id[known.last.id] if known.last else None) for known in reports
        ]
        sent = deliveries.listing(
            tx, limit=NEWEST, conditions=deliveries.conditions_for(recipient=address)
        )
        stopped = suppressions.listing(tx, runtime.clock.now(), address)
    if not (is_own or page.count or sent or stopped):
        raise HTTPException(404, f"Nothing is sent to “{address}”.")
    count, ratings = rated_by(runtime, address, NEWEST)
    named = {known.name for known in reports}
    return visit.show(
        "person",
        recipient=address,
        is_own=is_own,
        is_folder=address_of(address) in _folders(runtime),
        page=page,
        reports=[(known, reader_status(runtime, known.name, address)) for known in reports],
        feeds={known.name: feed_path(visit, SUBSCRIPTION, known.name) for known in reports},
        sent=describe_schedule,
        deliveries=sent,
        words={state: words.to_reader for state, words in WORDS.items()} if is_own else {},
        stopped_all=[row for row in stopped if row.subscription == ALL],
        stopped_others=[row for row in stopped if row.subscription not in (ALL, *named)],
        group_rules=runtime.group_rules,
        rating_count=count,
        ratings=ratings,
    )
