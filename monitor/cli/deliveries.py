"""Deliveries: listed, retried and, where their fate is uncertain, resolved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from monitor.app import App
from monitor.cli.opening import open_configured, open_to_read
from monitor.cli.options import Call, argument, finish, number, word
from monitor.cli.terminal import show_table
from monitor.cli.work import print_delivery
from monitor.commands.json_output import deliveries_json
from monitor.commands.remedies import retry_delivery
from monitor.commands.retries import next_tries
from monitor.model import Delivery, DeliveryState
from monitor.pipeline.runtime import Runtime
from monitor.pipeline.settle_deliveries import settle_by_hand
from monitor.store.digests import deliveries

ID = argument("ID", "The id that `deliveries` shows.", parser=number("ID"))


def deliveries_list(call: Call) -> None:
    with open_to_read(call) as app:
        with app.runtime.database.reading() as tx:
            listed = deliveries.listing(tx)
        call.answer(deliveries_json(listed), _show, app.runtime, listed)


def deliveries_retry(call: Call, id_: int = ID) -> None:
    with open_configured(call, create=False) as app:
        retry_delivery(app.runtime, id_)
        app.once.deliver()
        _report(call, app, id_)


def deliveries_resolve(
    call: Call,
    id_: int = ID,
    fate: Literal["sent", "resend"] = argument(
        "sent|resend",
        "`sent` if it arrived, `resend` to send it again.",
        parser=word("an answer", ("sent", "resend")),
    ),
) -> None:
    with open_configured(call, create=False) as app:
        settle_by_hand(app.runtime, id_, fate)
        if fate == "resend":
            app.once.deliver()
        _report(call, app, id_)


def _report(call: Call, app: App, id_: int) -> None:
    with app.runtime.database.reading() as tx:
        delivery = deliveries.get(tx, id_)
    call.answer(deliveries_json([delivery]), _show, app.runtime, [delivery])
    finish(delivery.state is DeliveryState.SENT)


def _show(runtime: Runtime, listed: Sequence[Delivery]) -> None:
    columns = ("Id", "Subscription", "Period", "Channel", "Recipient", "State", "Tries")
    rows = []
    for d in listed:
        recipient = f"{d.recipient}, part {d.part + 1}" if d.part else d.recipient
        rows.append((d.id, d.subscription, d.period, d.channel, recipient, d.state, d.attempts))
    show_table(columns, rows, "No deliveries yet.")
    waits = next_tries(runtime, listed)
    for delivery in listed:
        print_delivery(f"delivery {delivery.id}", delivery, waits.get(delivery.id))
