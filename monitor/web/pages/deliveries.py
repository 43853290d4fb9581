"""`/deliveries`: what was sent, failed, waits or is unknown, and who gets nothing."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from monitor.commands.suppressions import suppress as stop
from monitor.errors import UsageError
from monitor.model import DeliveryState
from monitor.pipeline.settle_deliveries import resolve
from monitor.store.digests import deliveries, outbox, suppressions
from monitor.web.forms import form, operator_only
from monitor.web.paging import Slice, parameter, path_number
from monitor.web.site import Form, go, show, site_of

# So many rows of each table make a page of less than 100 KB.
UNKNOWN, PAGE, SUPPRESSED = 40, 80, 60
# A list of more names would be longer than the page.
MOST_LISTED = 200


def all_deliveries(request: Request) -> Response:
    """List the newest deliveries, those that need a person first, and the suppressions.

    With `state` only the deliveries in that state are listed; `before` is the cursor of their page,
    `after` how many suppressions come before those shown.
    """
    runtime, parameters = site_of(request).runtime, request.query_params
    state = next((known for known in DeliveryState if known == parameters.get("state")), None)
    before, after = parameter(request, "before"), parameter(request, "after") or 0
    with runtime.database.reading() as tx:
        counts = deliveries.counts(tx)
        unknown = outbox.list_uncertain(tx)
        newest = deliveries.listing(tx, [state] if state else None, PAGE + 1, before)
        suppressed = suppressions.listing(tx, runtime.clock.now())
    return show(
        request,
        "deliveries",
        counts=counts,
        state=state,
        unknown=unknown[:UNKNOWN],
        unknown_count=len(unknown),
        newest=newest[:PAGE],
        older=newest[PAGE - 1].id if len(newest) > PAGE else None,
        suppressed=Slice.of(suppressed, after, SUPPRESSED),
        retried=(DeliveryState.FAILED, DeliveryState.RETRY, DeliveryState.SUPPRESSED),
        names=[subscription.name for subscription in runtime.subscriptions[: MOST_LISTED + 1]],
        most_listed=MOST_LISTED,
    )


def settle(request: Request, fields: Form) -> Response:
    """Mark an unknown delivery as sent, or have it sent again."""
    fate = fields.get("fate")
    if fate not in ("sent", "resend"):
        raise UsageError("nothing was chosen", "choose “it arrived” or “send it again”")
    delivery = path_number(request, "id")
    resolve(site_of(request).runtime, delivery, "sent" if fate == "sent" else "resend")
    return go("/deliveries")


def send_again(request: Request, fields: Form) -> Response:
    """Have a failed, waiting or suppressed delivery sent at the next opportunity."""
    runtime, delivery = site_of(request).runtime, path_number(request, "id")
    with runtime.database.writing() as tx:
        outbox.retry(tx, delivery, runtime.clock.now())
    return go("/deliveries")


def suppress(request: Request, fields: Form) -> Response:
    """Stop the digests of a subscription, or of all, for a recipient."""
    runtime, recipient = site_of(request).runtime, fields.get("recipient", "").strip()
    if not recipient:
        raise UsageError("nobody was named", "give an address, or a recipient of a channel")
    stop(runtime, recipient, fields.get("subscription", "").strip(), force="force" in fields)
    return go("/deliveries")


def lift(request: Request, fields: Form) -> Response:
    """Resume the digests of a recipient."""
    with site_of(request).runtime.database.writing() as tx:
        suppressions.lift(tx, fields.get("recipient", ""), fields.get("subscription", ""))
    return go("/deliveries")


ROUTES = [
    Route("/deliveries", all_deliveries),
    Route("/deliveries/{id}/settle", form(operator_only(settle)), methods=["POST"]),
    Route("/deliveries/{id}/retry", form(operator_only(send_again)), methods=["POST"]),
    Route("/deliveries/suppress", form(operator_only(suppress)), methods=["POST"]),
    Route("/deliveries/lift", form(operator_only(lift)), methods=["POST"]),
]
