"""What is legal in a configuration, but hardly meant: warnings, never faults."""

from __future__ import annotations

import re

from monitor.config.files import Written
from monitor.config.settings import Settings, TopicSettings, topics_of
from monitor.config.words import pointed
from monitor.match import parse_query

_WORDS_ALONE = re.compile(r"[\w-]+(?: +[\w-]+)+")
# What the parser may warn of: a weight, and a joint that is not in capitals.
_DOUBTFUL = re.compile(r"\^|\b(?!(?:AND|OR|NOT)\b)(?i:and|or|not)\b")
_OPERATORS = re.compile(r"\b(?:AND|OR|NOT)\b")


def doubt(settings: Settings, written: Written) -> None:
    """Add the warnings that a configuration without faults deserves."""
    for section in ("sources", "subscriptions"):
        if not getattr(settings, section):
            written.warn((section,), f"there are no {section} yet: nothing will be sent")
    for topic in settings.topics.values():
        _doubt_query(topic, written)
    _doubt_use(settings, written)


def _doubt_query(topic: TopicSettings, written: Written) -> None:
    where = ("topics", topic.name, "query" if topic.query else "any")
    query = topic.written
    warnings = parse_query(query).warnings if _DOUBTFUL.search(query) else ()
    for warning in warnings:
        written.warn(where, pointed(query, warning))
    alone = _WORDS_ALONE.fullmatch(query) and not _OPERATORS.search(query)
    if alone and not warnings and written.place(where).quoted:
        written.warn(
            where,
            "YAML takes these quotes for itself, so the words are looked for anywhere; "
            f"if they are to stand together, write '\"{query}\"'",
        )


def _doubt_use(settings: Settings, written: Written) -> None:
    subscriptions = settings.subscriptions.values()
    topics = {topic for one in subscriptions for topic in topics_of(settings, one)}
    channels = {channel for one in subscriptions for channel in one.channels}
    channels.update(settings.operator.channels if settings.operator else ())
    for name in settings.topics:
        if name not in topics and subscriptions:
            written.warn(("topics", name), "no subscription has this topic")
    for name in settings.channels:
        if name not in channels:
            written.warn(("channels", name), "nothing is sent on this channel")
