"""`/deliveries`: what was sent, failed, waits or is unknown, and who gets nothing."""

from __future__ import annotations

from functools import partial

from starlette.responses import Response

from monitor.commands import remedies
from monitor.commands.status import will_be_sent_again
from monitor.commands.suppressions import lift as resume
from monitor.commands.suppressions import suppress as stop
from monitor.errors import UsageError
from monitor.model import DeliveryState
from monitor.pipeline.settle_deliveries import settle_by_hand
from monitor.store.digests import deliveries, suppressions
from monitor.web.access import Role
from monitor.web.routes import Form, Routes
from monitor.web.site import Visit, go, name_of, own_path, told_apart, with_query

# Rows of each table that make a page of less than 100 KB.
UNKNOWN = 40
PAGE = 80
SUPPRESSED = 60
_STATES = {"waiting": deliveries.WAITING, **{str(state): (state,) for state in DeliveryState}}

routes = Routes()


@routes.page(
    "/deliveries",
    Role.OPERATOR,
    takes=("state", "person", "subscription", "channel", "before", "after"),
)
def all_deliveries(visit: Visit) -> Response:
    """List the newest deliveries, those that need a person first, and the suppressions.

    They are filtered by `state` (also "waiting"), `person`, `subscription` and `channel`; `before`
    is the cursor of their page, `after` how many suppressions come before those shown.
    """
    runtime = visit.runtime
    state = visit.choice("state", _STATES)
    states = _STATES.get(state)
    chosen = {name: visit.parameter(name) for name in ("person", "subscription", "channel")}
    chosen["subscription"] = name_of(chosen["subscription"], runtime.titles)
    conditions = deliveries.conditions_for(*chosen.values())
    with runtime.database.reading() as tx:
        counts = deliveries.counts(tx, conditions)
        unknown = deliveries.select(tx, deliveries.IS_UNCERTAIN, *conditions)
        newest = deliveries.listing(tx, states, PAGE + 1, visit.number("before"), conditions)
        now = runtime.clock.now()
        # An unknown one has a time at which its channel is asked about it, which sends nothing.
        tried_again = {
            delivery.id
            for delivery in newest
            if delivery.state is not DeliveryState.UNKNOWN
            or will_be_sent_again(tx, runtime, delivery, now)
        }
        suppressed = suppressions.listing(tx, now)
    return visit.show(
        "deliveries",
        counts=counts,
        state=state or None,
        chosen=chosen,
        channels=[*runtime.channels],
        filtered=partial(with_query, "/deliveries"),
        unknown=unknown[:UNKNOWN],
        unknown_count=len(unknown),
        newest=newest[:PAGE],
        tried_again=tried_again,
        older=newest[PAGE - 1].id if len(newest) > PAGE else None,
        suppressed=visit.slice(suppressed, SUPPRESSED),
        names=told_apart(runtime.titles),
    )


@routes.form("/deliveries/{id}/settle", Role.OPERATOR)
def settle(visit: Visit, fields: Form) -> Response:
    """Mark an unknown delivery as sent, or have it sent again."""
    fate = fields.get("fate")
    if fate not in ("sent", "resend"):
        raise UsageError("nothing was chosen", "choose “it arrived” or “send it again”")
    settle_by_hand(visit.runtime, visit.path_number("id"), "sent" if fate == "sent" else "resend")
    return go("/deliveries")


@routes.form("/deliveries/{id}/retry", Role.OPERATOR)
def send_again(visit: Visit, fields: Form) -> Response:
    remedies.retry_delivery(visit.runtime, visit.path_number("id"))
    return go("/deliveries")


@routes.form("/channels/{name}/retry", Role.OPERATOR)
def retry_group(visit: Visit, fields: Form) -> Response:
    remedies.retry_group(visit.runtime, visit.path_params["name"])
    return go("/deliveries?state=waiting")


@routes.form("/subscriptions/{name}/test", Role.OPERATOR)
def send_test(visit: Visit, fields: Form) -> Response:
    remedies.plan_tests(visit.runtime, visit.require_subscription(visit.path_params["name"]))
    return go("/deliveries")


@routes.form("/deliveries/suppress", Role.OPERATOR)
def suppress(visit: Visit, fields: Form) -> Response:
    """Stop the digests of a subscription, or of all, for a recipient."""
    recipient = fields.get("recipient", "").strip()
    if not recipient:
        raise UsageError("nobody was named", "give an address, or a recipient of a channel")
    subscription = fields.get("subscription", "").strip()
    stop(visit.runtime, recipient, subscription, force="force" in fields)
    return go(own_path(fields.get("next", "/deliveries")))


@routes.form("/deliveries/lift", Role.OPERATOR)
def lift(visit: Visit, fields: Form) -> Response:
    """Resume the digests of a recipient."""
    resume(visit.runtime, fields.get("recipient", ""), fields.get("subscription", ""))
    return go(own_path(fields.get("next", "/deliveries")))
