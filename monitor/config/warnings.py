"""Likely mistakes in a valid configuration: warnings, never errors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from fnmatch import fnmatchcase
from ipaddress import ip_network
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import BaseModel, SecretStr

from monitor.channels.slack import BASE_URL
from monitor.channels.webhook_hosts import SERVICE_NAMES, service_of
from monitor.config.content import is_file
from monitor.config.files import Written, dotted
from monitor.config.messages import pointed
from monitor.config.settings import (
    ChannelSettings,
    Settings,
    TopicSettings,
    query_warnings,
    topics_of,
)
from monitor.config.yaml_positions import Path as Where
from monitor.match import meant_by
from monitor.model import Role
from monitor.plugins import CHANNELS
from monitor.setting_types import LOOPBACK, Secret, Variable, is_loopback
from monitor.sources.api.about import AboutOptions

# Words without an operator, such as the minus of `agent -robot`.
_WORDS_ALONE = re.compile(r"\w[\w-]*(?: +\w[\w-]*)+")
_SOURCE = re.compile(r'\bsource:(?:"([^"]+)"|([^\s()"]+))')
_OPERATORS = re.compile(r"\b(?:AND|OR|NOT)\b")
_SLACK_TOKEN = re.compile(r"xapp-|xox[a-z][.-]")
_CONNECTOR = (
    "is an address of an old connector of Teams, which takes no digests; make a workflow "
    "(docs/webhook.md#microsoft-teams)"
)
_URL_WITH_PASSWORD = re.compile(r"[a-z][\w+.-]*://[^/@\s:]*:[^/@\s]+@")


def doubt(settings: Settings, written: Written) -> None:
    """Add the warnings that a configuration without faults deserves."""
    for section in ("sources", "subscriptions"):
        if not getattr(settings, section):
            written.warn((section,), f"there are no {section} yet: nothing will be sent")
    for source in settings.sources.values():
        for setting, doubt_of_setting in source.options.doubts():
            written.warn(("sources", source.name, setting), doubt_of_setting)
    _doubt_libraries(settings, written)
    _doubt_pauses(settings, written)
    for topic in settings.topics.values():
        if topic.name not in settings.parked:
            _doubt_examples(topic, settings, written)
            _doubt_query(topic, written)
            _doubt_sources(topic, settings, written)
    _doubt_use(settings, written)
    _doubt_servers(settings, written)
    _doubt_webhooks(settings, written)
    _doubt_names_of_channels(settings, written)
    _doubt_pages(settings, written)
    _doubt_secrets(settings, written)


def _doubt_names_of_channels(settings: Settings, written: Written) -> None:
    by_letters: dict[str, str] = {}
    for name in settings.channels:
        other = by_letters.setdefault(name.lower(), name)
        if other != name:
            written.warn(
                ("channels", name), f"is “{other}” in another case: stopping one stops both"
            )


def _doubt_libraries(settings: Settings, written: Written) -> None:
    subscriptions = settings.subscriptions.values()
    guarded = {name for entry in subscriptions for name in entry.guard}
    named = guarded.union(*(entry.libraries for entry in subscriptions))
    for source in settings.sources.values():
        if source.role is not Role.NEWS and source.first_run:
            problem = f"has no effect: a source with role: {source.role} announces nothing"
            written.warn(("sources", source.name, "first_run"), problem)
        if source.role is Role.LIBRARY and source.name not in named and subscriptions:
            written.warn(("sources", source.name), "no subscription has this library")
        if isinstance(source.options, AboutOptions):
            for name in sorted(set(source.options.about) - guarded):
                problem = f"has no effect: no subscription has guard: {name}"
                written.warn(("sources", source.name, "about"), problem)
    for subscription in subscriptions:
        for name in ("owned", "examples"):
            if name in subscription.model_fields_set and not subscription.libraries:
                where = ("subscriptions", subscription.name, name)
                written.warn(where, "has no effect without libraries:")


def _doubt_pauses(settings: Settings, written: Written) -> None:
    for subscription in settings.subscriptions.values():
        today = datetime.now(ZoneInfo(subscription.timezone)).date()
        if subscription.pause_until and subscription.pause_until < today:
            where = ("subscriptions", subscription.name, "pause_until")
            written.warn(where, f"has no effect: {subscription.pause_until} is past; remove it")


def _doubt_secrets(settings: Settings, written: Written) -> None:
    """A secret in the file goes wherever the file goes: into a repository, a mail, a backup."""
    for section in ("secret_key", "store", "sources", "channels", "smtp", "slack", "web"):
        for where, name in _secrets(getattr(settings, section), (section,)):
            if not any(where[:depth] in written.put_in for depth in range(1, len(where) + 1)):
                written.warn(
                    where,
                    f'is in plain text here; write "${{{name}}}", and set the environment variable '
                    f"{name} or {name}_FILE",
                )


def _secrets(value: object, where: Where, variable: str = "") -> Iterator[tuple[Where, str]]:
    """Yield where the secrets of some settings stand, and the environment variable for each.

    `options` of a source or channel are beside its other settings.
    """
    match value:
        case Secret() | SecretStr() if value:
            yield where, variable or _variable(where)
        case str() if _URL_WITH_PASSWORD.match(value):
            yield where, variable or _variable(where)
        case BaseModel():
            for name, field in type(value).model_fields.items():
                inner = where if name == "options" else (*where, name)
                named = (each.name for each in field.metadata if isinstance(each, Variable))
                yield from _secrets(getattr(value, name), inner, next(named, ""))
        case Mapping():
            for name, entry in value.items():
                yield from _secrets(entry, (*where, name))
        case tuple():
            for index, entry in enumerate(value):
                yield from _secrets(entry, (*where, index))


def _variable(where: Where) -> str:
    """Return LAB_SLACK_WEBHOOK for `channels.lab-slack.webhook`, SMTP_PASSWORD for others."""
    own = where[1:] if where[0] in ("sources", "channels") else where
    return re.sub(r"\W", "_", dotted(own)).upper()


def unencrypted_pages(settings: Settings) -> str:
    """Return the warning that other machines open the pages unencrypted, "" where they do not."""
    parts = urlsplit(settings.public_url or "")
    if parts.scheme != "http" or is_loopback(parts.hostname):
        return ""
    return (
        "begins with http://, so logins and sessions can be read on their way, and mail programs "
        "offer no unsubscribing with one click; let a proxy serve https, and write its address"
    )


def _doubt_pages(settings: Settings, written: Written) -> None:
    web = settings.web
    if unencrypted := unencrypted_pages(settings):
        written.warn(("public_url",), unencrypted)
    proxies = map(ip_network, web.trusted_proxies if web else ())
    is_local = any(proxy.overlaps(own) for proxy in proxies for own in LOOPBACK)
    if settings.public_url and web and not (web.token or web.user_header):
        written.warn(
            ("public_url",),
            "leads to pages on which nobody can log in, except by `paper-monitor web login`; set "
            'web.token, as in web: {token: "${WEB_TOKEN}"}',
        )
    if web and web.user_header and not web.proxy_secret and is_local:
        written.warn(
            ("web", "trusted_proxies"),
            f"every account of this machine can send {web.user_header} and be anybody; set "
            "proxy_secret:, or let the proxy connect to a Unix socket (listen: unix:/run/...)",
        )


def _doubt_servers(settings: Settings, written: Written) -> None:
    """A token that cannot work stops its own channel only."""
    slack = settings.slack
    token = slack.token.reveal() if slack else ""
    # A gateway in place of Slack may have tokens of another kind.
    is_of_slack = slack is not None and (slack.base_url == BASE_URL or _SLACK_TOKEN.match(token))
    if is_of_slack and "xoxb-" not in token:
        bot = "the Bot User OAuth Token, which begins with xoxb-"
        written.warn(("slack", "token"), f"this is not the token of a bot; write {bot}")


def _doubt_webhooks(settings: Settings, written: Written) -> None:
    """Each service has a form of messages of its own."""
    for channel in settings.channels.values():
        setting = {"slack": "webhook", "webhook": "url"}.get(channel.kind, "")
        secret = getattr(channel.options, setting, None)
        if not isinstance(secret, Secret):
            continue
        where = ("channels", channel.name, setting)
        url = secret.reveal()
        service = service_of(url)
        if service == "teams-connector":
            written.warn(where, _CONNECTOR)
        elif channel.kind == "slack":
            _doubt_slack(channel, url, service, written)
        elif service and (doubt_of_form := _other_form(channel, url, service)):
            written.warn(where, f"is an address of {SERVICE_NAMES[service]}{doubt_of_form}")


def _doubt_slack(channel: ChannelSettings, url: str, service: str, written: Written) -> None:
    """`allow_private` is set of gateways alone."""
    is_gateway = getattr(channel.options, "allow_private", None) is not None
    is_here = is_loopback(urlsplit(url).hostname)
    where = ("channels", channel.name, "webhook")
    if service and service != "slack":
        advice = CHANNELS.hint(service)
        written.warn(where, f"is an address of {SERVICE_NAMES[service]}, not of Slack; {advice}")
    elif not (service or is_gateway or is_here):
        written.warn(
            where,
            "is not an address of Slack; for a receiver of your own write kind: webhook, for a "
            "gateway to Slack also allow_private: true",
        )


def _other_form(channel: ChannelSettings, url: str, service: str) -> str:
    """Return what to write for a known service that would not take a webhook's body, or ""."""
    from monitor.channels.webhook import template_names  # loaded only where there is a webhook

    used = getattr(channel.options, "template", None)
    built_in = template_names()
    if used == service or (used and used not in built_in):
        return ""
    if service == "slack":
        return "; write kind: slack with webhook: in place of url:"
    if service not in built_in:
        return f"; {CHANNELS.hint(service)}"
    # Discord takes Slack's form, and no other, at the same address with /slack.
    also = (
        ", and remove /slack from the address"
        if url.endswith("/slack") and service == "discord"
        else ""
    )
    if used:
        return f", not of {SERVICE_NAMES[used]}; write template: {service}{also}"
    return f": add template: {service}{also}"


def _doubt_examples(topic: TopicSettings, settings: Settings, written: Written) -> None:
    if topic.like and topic.like.file:
        file = settings.path_of_examples(topic.like.file)
        if not is_file(file):
            message = f"there is no file {file}: it has no examples"
            written.warn(("topics", topic.name, "like", "file"), message)


def _doubt_query(topic: TopicSettings, written: Written) -> None:
    if not topic.written:
        return
    where = ("topics", topic.name, "query" if topic.query else "any")
    query = topic.written
    warnings = query_warnings(topic.written, topic.threshold)
    for warning in warnings:
        written.warn(where, pointed(query, warning))
    if not written.place(where).double_quoted:
        return
    alone = _WORDS_ALONE.fullmatch(query) and not _OPERATORS.search(query)
    is_doubted = len(warnings) > bool(meant_by(query))  # by more than being a sentence
    if alone and not is_doubted:
        written.warn(
            where,
            "YAML removes these quotes, so the words may occur anywhere; "
            f"to search for the phrase, write '\"{query}\"'",
        )


def _doubt_sources(topic: TopicSettings, settings: Settings, written: Written) -> None:
    """Elsewhere `source:` is a journal; here it is a source of this configuration."""
    of_topic = ("topics", topic.name)
    named = [(name, (*of_topic, "sources")) for name in topic.sources]
    for quoted, bare in _SOURCE.findall(topic.written):
        named.append((quoted or bare, (*of_topic, "query" if topic.query else "any")))
    for name, where in named:
        roles = {
            source.role
            for source in settings.sources.values()
            if fnmatchcase(source.name.casefold(), name.casefold())
        }
        if not roles:
            written.warn(where, f'no source is named “{name}”; for a journal write venue:"{name}"')
        elif Role.NEWS not in roles:
            written.warn(where, f"“{name}” has role: {min(roles)} and brings no papers")


def _doubt_use(settings: Settings, written: Written) -> None:
    subscriptions = settings.subscriptions.values()
    topics = {
        topic for subscription in subscriptions for topic in topics_of(settings, subscription)
    }
    channels = {channel for subscription in subscriptions for channel in subscription.channels}
    channels.update(settings.operator.channels if settings.operator else ())
    for name in settings.topics:
        if name not in topics and subscriptions:
            written.warn(("topics", name), "no subscription has this topic")
    for name in settings.channels:
        if name not in channels:
            written.warn(("channels", name), "this channel is not used by any subscription")
