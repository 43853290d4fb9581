"""Stopping a recipient at the operator's wish, on the command line and on the pages."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from monitor.config.messages import nearest
from monitor.errors import UsageError
from monitor.pipeline.runtime import Runtime
from monitor.store import deliveries, suppressions


def suppress(
    runtime: Runtime,
    recipient: str,
    subscription: str = "",
    *,
    until: datetime | None = None,
    force: bool = False,
) -> None:
    """Send a recipient nothing more of a subscription ("" for all), until a time or permanently.

    Raises UsageError for a recipient that nothing was or will be sent to, unless `force`: a
    mistyped address would go on getting mail.
    """
    names = [one.name for one in runtime.subscriptions]
    if subscription and subscription not in names:
        raise UsageError(
            f"no subscription is named {subscription!r}", f"there are: {', '.join(names)}"
        )
    if not force:
        _refuse_unknown(runtime, recipient, subscription)
    now = runtime.clock.now()
    with runtime.database.writing() as tx:
        suppressions.suppress(tx, recipient, subscription, now, until=until, how="operator")


def _refuse_unknown(runtime: Runtime, recipient: str, subscription: str) -> None:
    address = suppressions.address_of(recipient)
    known = {suppressions.address_of(to): to for to in _configured(runtime, subscription)}
    if address in known:
        return
    with runtime.database.reading() as tx:
        if deliveries.has_recipient(tx, address):
            return
    of = f"of the subscription {subscription}" if subscription else "of any subscription"
    near = nearest(address, known.values(), "`paper-monitor subscriptions` lists them")
    raise UsageError(
        f"{recipient!r} is not a recipient {of}{near}",
        "--force, or the box on the page, stops an address that is yet to come",
    )


def _configured(runtime: Runtime, subscription: str) -> Iterator[str]:
    for one in runtime.subscriptions:
        if subscription in ("", one.name):
            for way in one.destinations:
                yield from way.recipients
