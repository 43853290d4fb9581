"""Slack, by bot token or by incoming webhook.

A digest is one message with the rest of it as replies in its thread; a webhook cannot thread,
so that it gets separate messages. What Slack did not clearly refuse may stand in the channel:
such a delivery is unknown, until the channel's history (token only) says what became of it.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from http.client import HTTPException
from typing import Any, Protocol, cast
from urllib.error import URLError

from pydantic import ValidationInfo, model_validator
from slack_sdk.errors import SlackApiError, SlackClientError

from monitor.channels.base import Channel, ChannelOptions, Shared
from monitor.channels.slack import blocks
from monitor.channels.slack.clients import ApiClient, HookClient
from monitor.channels.slack.errors import Answer, TooLongError, is_gone, posted, refused
from monitor.errors import UsageError
from monitor.model import (
    Delivery,
    DeliveryState,
    Digest,
    DigestPaper,
    Json,
    Notice,
    Outcome,
    Rendered,
    Templates,
)
from monitor.setting_types import Line, SecretUrl, SettingsContext
from monitor.text import clean

BASE_URL = "https://slack.com/api/"
# The header in which Slack tells what a token may do, and what posting needs.
SCOPES, POSTING = "x-oauth-scopes", "chat:write"
# Slack takes one message a second for each channel, and more only in short bursts.
SECONDS_BETWEEN_MESSAGES = 1.0
EVENT = "paper_monitor_delivery"

# The SDK logs whole requests, webhook URLs among them, at DEBUG: its logger never speaks.
_MUTE = logging.getLogger("monitor.channels.slack.channel.sdk")
_MUTE.setLevel(logging.CRITICAL + 1)

_CHANNEL_ID = re.compile(r"[CGD][A-Z0-9]{7,}")

_HISTORY_PAGES = 10
# What was under way when a process died is in the history after so long, or never.
SHOWN_AFTER = timedelta(minutes=2)


class _Post(Protocol):
    """One of the two ways to post; raises TooLongError."""

    def __call__(self, message: Json, delivery: Delivery, thread: str, last: bool) -> Outcome: ...


class SlackOptions(ChannelOptions):
    """A channel of kind `slack`: a channel that the bot is in, or an incoming webhook."""

    channel: Line | None = None
    webhook: SecretUrl | None = None

    @model_validator(mode="after")
    def _one_way(self, info: ValidationInfo) -> SlackOptions:
        if self.channel is None and "channel" in self.model_fields_set:
            raise ValueError('channel: is empty; # begins a comment, so write channel: "#papers"')
        if bool(self.channel) == bool(self.webhook):
            raise ValueError("needs either channel: or webhook:")
        if self.channel and not cast("SettingsContext", info.context).slack:
            raise ValueError("channel: needs the token of a bot, in a slack: section")
        return self


class Slack(Channel):
    """The channel `kind: slack`: to `channel` with a bot `token`, or to an incoming `webhook`."""

    kind = "slack"
    Options = SlackOptions
    min_interval = SECONDS_BETWEEN_MESSAGES

    def __init__(
        self,
        name: str,
        *,
        channel: str = "",
        token: str = "",
        base_url: str = BASE_URL,
        webhook: str = "",
        timeout: int = 30,
    ) -> None:
        """Raises UsageError when neither a webhook nor a channel with a token is given."""
        self.name = name
        self._bot: _Bot | None = None
        self._post: _Post
        if webhook:
            self.outage_group = f"slack webhook {name}"
            self._recipient = name
            self._post = _Hook(webhook, timeout)
        elif channel and token:
            self.outage_group = "slack"
            self._recipient = channel
            self._bot = _Bot(token, base_url, timeout)
            self._post = self._bot
        else:
            raise UsageError(f"channels.{name} needs a webhook, or a channel and slack.token")

    @classmethod
    def open(cls, name: str, options: SlackOptions, shared: Shared) -> Slack:
        if options.webhook:
            return cls(name, webhook=options.webhook.reveal())
        url = shared.slack_url or BASE_URL
        return cls(name, channel=options.channel or "", token=shared.slack_token, base_url=url)

    def recipients(self) -> tuple[str, ...]:
        """The channel's name; for a webhook this channel's own, since its URL is a secret."""
        return (self._recipient,)

    def render(self, digest: Digest, templates: Templates) -> tuple[Rendered, ...]:
        papers = {0: "no papers", 1: "1 paper"}.get(digest.papers, f"{digest.papers} papers")
        text = f"{clean(digest.subscription)[:100]}: {papers}, {digest.period.replace('T', ' ')}"
        return _parts(blocks.messages(_sections(digest, templates), blocks.escape(text)))

    def render_notice(self, notice: Notice, templates: Templates) -> tuple[Rendered, ...]:
        text = templates.render("slack/notice.j2", notice=notice)
        subject = blocks.escape(clean(notice.subject)[:300])
        return _parts(blocks.messages([text], subject))

    def send(self, delivery: Delivery, commit_handoff: Callable[[], bool]) -> Outcome:
        """The commit stands before the request: the SDK gives no place before its last byte."""
        if not commit_handoff():
            error = "not sent: another process has taken this delivery over"
            return Outcome(DeliveryState.RETRY, error)
        thread = delivery.parent.rpartition(":")[2]
        return self._send(delivery.rendered.body, delivery, thread, last=True)

    def reconcile(self, delivery: Delivery) -> Outcome | None:
        """Look for the delivery's id in the channel's history. A webhook cannot look."""
        return self._bot.find(delivery) if self._bot else None

    def check(self) -> str:
        """Ask whose token it is. A webhook says nothing before something is posted to it."""
        return self._bot.check() if self._bot else ""

    def _send(self, message: Json, delivery: Delivery, thread: str, last: bool) -> Outcome:
        """Post a message, in two halves if Slack finds it too long; only the last is marked."""
        try:
            return self._post(message, delivery, thread, last)
        except TooLongError:
            parts = blocks.halves(message)
        if parts is None:
            return Outcome(
                DeliveryState.FAILED, "Slack finds the message too long, and it is one line"
            )
        first = self._send(parts[0], delivery, thread, last=False)
        if first.state is not DeliveryState.SENT:
            return first
        below = thread or first.reference.rpartition(":")[2]
        second = self._send(parts[1], delivery, below, last)
        return replace(second, reference=first.reference)


class _Bot:
    """chat.postMessage and what finds a message again."""

    def __init__(self, token: str, base_url: str, timeout: int) -> None:
        self._token = token
        self._client = ApiClient(
            token, base_url=base_url, timeout=timeout, retry_handlers=[], logger=_MUTE
        )
        self._moved: dict[str, str] = {}

    def __call__(self, message: Json, delivery: Delivery, thread: str, last: bool) -> Outcome:
        parent = self._moved.get(thread, thread)
        outcome = self._outcome(lambda: self._ask(message, delivery, parent, last))
        if outcome is None and thread:
            outcome = self._outcome(lambda: self._ask(message, delivery, "", last))
            if outcome is not None and outcome.state is DeliveryState.SENT:
                self._moved[thread] = outcome.reference.rpartition(":")[2]
        return outcome or Outcome(
            DeliveryState.FAILED, "Slack finds no thread, where none was named"
        )

    def _ask(self, message: Json, delivery: Delivery, thread: str, last: bool) -> Answer:
        marked = {"event_type": EVENT, "event_payload": {"message_id": delivery.message_id}}
        return self._call(
            "chat.postMessage",
            channel=delivery.parent.rpartition(":")[0] or delivery.recipient,
            text=message["text"],
            blocks=message["blocks"],
            unfurl_links=False,
            unfurl_media=False,
            **({"thread_ts": thread} if thread else {}),
            **({"metadata": marked} if last else {}),
        )

    def _call(self, method: str, **arguments: Any) -> Answer:
        try:
            response = self._client.api_call(method, json=arguments)
        except SlackApiError as error:
            response = error.response
        data = response.data if isinstance(response.data, dict) else {}
        code = "" if data.get("ok") is True else str(data.get("error", ""))
        return Answer(response.status_code, response.headers, code, data)

    def _outcome(self, ask: Callable[[], Answer]) -> Outcome | None:
        """Return what came of it, None when the thread is gone."""
        answer = _asked(ask, self._token)
        if isinstance(answer, Outcome):
            return answer
        if is_gone(answer):
            return None
        if answer.status == 200 and answer.data.get("ok") is True:
            return posted(answer.data)
        return refused(answer)

    def check(self) -> str:
        answer = _asked(lambda: self._call("auth.test"), self._token)
        if isinstance(answer, Outcome):
            return answer.error
        if answer.data.get("ok") is not True:
            return refused(answer).error
        scopes = {name.lower(): value for name, value in answer.headers.items()}.get(SCOPES)
        if scopes is not None and POSTING not in [scope.strip() for scope in scopes.split(",")]:
            return f"the app may not post: give it the scope {POSTING}, and install it again"
        return ""

    def find(self, delivery: Delivery) -> Outcome | None:
        """Return SENT if the delivery is there, RETRY if it is not, None if nobody can tell."""
        try:
            channel = self._channel_id(delivery)
            found = next((m for m in self._posts(channel, delivery) if _is(m, delivery)), None)
        except (SlackClientError, OSError, HTTPException, ValueError, LookupError, AttributeError):
            return None
        if found is not None:
            return Outcome(DeliveryState.SENT, reference=f"{channel}:{found['ts']}")
        error = "it is not in the channel's history"
        return Outcome(DeliveryState.RETRY, error, retry_after=SHOWN_AFTER)

    def _posts(self, channel: str, delivery: Delivery) -> Iterator[Mapping[str, Any]]:
        """Yield what was posted since the delivery came to be: its thread, then the channel.

        The calendar may have been moved; Slack's has not: hence the earlier of the two.
        """
        oldest = str(min(delivery.created_at.timestamp(), time.time()) - 3600)
        wanted: dict[str, Any] = {"channel": channel, "oldest": oldest}
        thread = delivery.parent.rpartition(":")[2]
        if thread:
            place = {**wanted, "ts": self._moved.get(thread, thread)}
            yield from self._pages("conversations.replies", "messages", place)
        yield from self._pages("conversations.history", "messages", wanted)

    def _channel_id(self, delivery: Delivery) -> str:
        """History knows no names. Raises LookupError for a channel that is not found."""
        known = delivery.parent.rpartition(":")[0] or delivery.recipient
        if _CHANNEL_ID.fullmatch(known):
            return known
        wanted = {"types": "public_channel,private_channel", "exclude_archived": True}
        for channel in self._pages("conversations.list", "channels", wanted):
            if channel.get("name") == known.lstrip("#"):
                return str(channel["id"])
        raise LookupError(known)

    def _pages(self, method: str, item: str, wanted: Json) -> Iterator[Mapping[str, Any]]:
        """Yield all items. Raises LookupError on any error, and when there are too many pages."""
        cursor = ""
        for _ in range(_HISTORY_PAGES):
            params = {**wanted, "limit": 200, "cursor": cursor, "include_all_metadata": True}
            answer = self._read(method, {k: v for k, v in params.items() if v != ""})
            if is_gone(answer):
                return
            if answer.data.get("ok") is not True:
                raise LookupError(answer.code)
            yield from answer.data.get(item, ())
            cursor = (answer.data.get("response_metadata") or {}).get("next_cursor", "")
            if not cursor:
                return
        raise LookupError(method)

    def _read(self, method: str, params: dict[str, Any]) -> Answer:
        """The reading methods take no JSON."""
        try:
            response = self._client.api_call(method, params=params)
        except SlackApiError as error:
            response = error.response
        data = response.data if isinstance(response.data, dict) else {}
        return Answer(response.status_code, {}, str(data.get("error", "")), data)


class _Hook:
    """An incoming webhook: no threads, no history, and errors as bare words."""

    def __init__(self, url: str, timeout: int) -> None:
        self._url = url
        self._client = HookClient(url, timeout, retry_handlers=[], logger=_MUTE)

    def __call__(self, message: Json, delivery: Delivery, thread: str, last: bool) -> Outcome:
        answer = _asked(lambda: self._ask(message), self._url)
        if isinstance(answer, Outcome):
            return answer
        if answer.status == 200 and answer.code == "ok":
            return Outcome(DeliveryState.SENT)
        return refused(answer, webhook=True)

    def _ask(self, message: Json) -> Answer:
        body = {**message, "unfurl_links": False, "unfurl_media": False}
        response = self._client.send_dict(body)
        word = response.body.strip()
        return Answer(response.status_code, response.headers, word, {})


def _sections(digest: Digest, templates: Templates) -> Iterator[str]:
    yield templates.render("slack/header.j2", digest=digest, full=digest.full)
    in_full = _best(digest)
    for group in digest.groups:
        yield f"*{blocks.escape(clean(group.topic))}*"
        short = [entry for entry in group.entries if entry.paper_id not in in_full]
        for entry in group.entries:
            if entry.paper_id in in_full:
                yield templates.render("slack/paper.j2", entry=entry, digest=digest).strip()
        lines = (templates.render("slack/title_line.j2", entry=e, digest=digest) for e in short)
        yield from blocks.joined(line.strip() for line in lines)
    yield templates.render("slack/footer.j2", digest=digest)


def _best(digest: Digest) -> frozenset[int]:
    told = (entry for group in digest.groups for entry in group.entries)
    entries: list[DigestPaper] = [entry for entry in told if not entry.late]
    entries.sort(key=lambda entry: -entry.score)
    return frozenset(entry.paper_id for entry in entries[: digest.full])


def _parts(messages: list[Json]) -> tuple[Rendered, ...]:
    return tuple(Rendered(part, message) for part, message in enumerate(messages))


def _is(message: Mapping[str, Any], delivery: Delivery) -> bool:
    payload = (message.get("metadata") or {}).get("event_payload") or {}
    return payload.get("message_id") == delivery.message_id


def _asked(ask: Callable[[], Answer], secret: str) -> Answer | Outcome:
    """Ask; where no answer came, return what that means.

    urllib wraps what fails up to the last byte of the request into URLError: Slack cannot have
    acted on half a request. Anything later, and anything nobody thought of, is unknown.
    """
    try:
        return ask()
    except URLError as error:
        reason = _in_words(error.reason, secret)
        return Outcome(DeliveryState.RETRY, f"Slack cannot be reached: {reason}", channel_down=True)
    except Exception as error:
        return Outcome(DeliveryState.UNKNOWN, f"Slack did not respond: {_in_words(error, secret)}")


def _in_words(error: object, secret: str) -> str:
    words = clean(str(error)) or type(error).__name__
    return words.replace(secret, "********")[:300]
