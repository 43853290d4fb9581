"""The kinds of incidents and of their subjects, as the store has them."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class IncidentKind(StrEnum):
    # Of a source, a service that is asked about papers, embeddings, answers in Slack.
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
    STOPPED = "stopped"
    GONE = "gone"
    # Of the program and its store.
    FAULTY = "faulty"
    JUMPED = "jumped"
    UNAVAILABLE = "unavailable"
    SHARED = "shared"
    UNCONFIRMED = "unconfirmed"


class SubjectKind(StrEnum):
    SOURCE = "source"
    SUBSCRIPTION = "subscription"
    CHANNEL = "channel"
    TEMPLATES = "templates"  # of a channel
    RECIPIENT = "recipient"  # on a channel
    OUTAGE_GROUP = "outage group"
    SLACK_ANSWERS = "answers in Slack"
    SERVICE = "service"  # of `look_up`
    EMBEDDINGS = "embeddings"
    CONFIGURATION = "configuration"
    SUPPRESSIONS = "suppressions"
    CLOCK = "clock"
    STORE = "store"


class Subject(msgspec.Struct, frozen=True):
    """The source, recipient, channel or part of the program that an incident is about."""

    about: SubjectKind
    name: str = ""  # of the source, subscription, channel or outage group
    recipient: str = ""  # of RECIPIENT, on the channel `name`
