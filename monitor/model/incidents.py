"""The kinds of incidents, as the store has them."""

from __future__ import annotations

from enum import StrEnum


class IncidentKind(StrEnum):
    # Of a source.
    FAILING = "failing"
    HELD = "held"
    GAP = "gap"
    UNANSWERED = "unanswered"
    STALE = "stale"
    THIN = "thin"
    SILENT = "silent"
    # Of a subscription.
    NOT_COMPOSED = "not composed"
    # Of a channel, an outage group of channels, or a recipient.
    DOWN = "down"
    NOT_RENDERED = "not rendered"
    REPLACED = "replaced"
    REFUSED = "refused"
    UNCLEAR = "unclear"
    # Of the program and its store.
    FAULTY = "faulty"
    JUMPED = "jumped"
    UNAVAILABLE = "unavailable"
    SHARED = "shared"
    UNCONFIRMED = "unconfirmed"
