"""From the files to Settings: every piece is validated, so that all errors are reported."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

from monitor.config.channel_settings import (
    OperatorSettings,
    RetrySettings,
    SlackSettings,
    SmtpSettings,
)
from monitor.config.entry_validator import TOP_LEVEL, EntryValidator
from monitor.config.files import Written
from monitor.config.section import EVERY_TOPIC
from monitor.config.settings import (
    General,
    Settings,
    SubscriptionSettings,
)
from monitor.config.store_settings import RetentionSettings
from monitor.config.warnings import doubt

# The queries of the topics that a store has in force, by name.
InForce = Callable[[str], Mapping[str, str]]


def build(
    written: Written,
    variables: Mapping[str, str],
    before: Settings | None = None,
    in_force: InForce | None = None,
) -> Settings | None:
    """Validate all of it; None when there are faults, which are then in `written`."""
    validator = EntryValidator(written, before)
    general = validator.general(variables)
    if in_force and general:
        validator.in_force = cache(partial(in_force, general.store))
    sources = validator.entries("sources", validator.source)
    topics = validator.entries("topics", validator.topic)
    channels = validator.entries("channels", validator.channel)
    timezone = general.timezone if general else "UTC"
    subscriptions = validator.entries(
        "subscriptions", lambda where, raw: validator.subscription(where, raw, timezone)
    )
    sections = _sections(validator)
    if written.faults or general is None:
        return None
    settings = Settings(
        file=written.file.absolute(),
        **{name: getattr(general, name) for name in General.model_fields},
        sources=sources,
        topics=topics,
        channels=channels,
        subscriptions=subscriptions,
        **sections,
        as_written=written.as_written,
        raw_topics=written.values.get("topics") or {},
        places={name: written.place(("topics", name)) for name in topics},
        parked=written.parked,
    )
    doubt(settings, written)
    return replace(
        settings, warnings=tuple(sorted(written.warnings, key=lambda f: (f.file, f.line)))
    )


def _sections(validator: EntryValidator) -> dict[str, Any]:
    """Return the sections that stand alone, by the names that `Settings` gives them."""
    return {
        "operator": validator.section("operator", OperatorSettings),
        "smtp": validator.section("smtp", SmtpSettings),
        "slack": validator.section("slack", SlackSettings),
        "retry": validator.section("retry", RetrySettings) or RetrySettings(),
        "retention": validator.section("retention", RetentionSettings) or RetentionSettings(),
        "web": validator.web(),
    }


def build_for_reading(
    written: Written, variables: Mapping[str, str], in_force: InForce | None = None
) -> Settings | None:
    """Return what is valid, for commands that only read the store; None without a valid `store:`.

    Nothing in it can send: channels and addresses are left out, and what refers to something
    that is not valid does without it.
    """
    validator = EntryValidator(written)
    store = validator.store()
    if store is None:
        return None
    general = validator.general(variables) or store
    if in_force:
        validator.in_force = cache(partial(in_force, store.store))
    topics = validator.entries("topics", validator.topic)
    subscriptions = validator.entries(
        "subscriptions", lambda where, raw: validator.subscription(where, raw, general.timezone)
    )
    return Settings(
        file=written.file.absolute(),
        **{name: getattr(general, name) for name in General.model_fields},
        sources=validator.entries("sources", validator.source),
        topics=topics,
        channels={},
        subscriptions={name: _unreachable(one, topics) for name, one in subscriptions.items()},
        operator=None,
        smtp=None,
        slack=None,
        retry=RetrySettings(),
        retention=RetentionSettings(),
        web=None,
        parked=written.parked,
    )


def _unreachable(
    subscription: SubscriptionSettings, topics: Collection[str]
) -> SubscriptionSettings:
    valid = tuple(name for name in subscription.topics if name in (EVERY_TOPIC, *topics))
    return subscription.model_copy(update={"topics": valid, "channels": (), "email": ()})


def store_of(written: Written) -> str | None:
    """Return the store that a file names, whatever else is wrong in it; None for no valid one."""
    validator = EntryValidator(written)
    validator.unknown((), validator.values, TOP_LEVEL)
    found = validator.store()
    return found.store if found else None
