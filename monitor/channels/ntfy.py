"""Notifications by ntfy, a server that pushes to phones: its JSON form, where any title is taken.

https://docs.ntfy.sh/publish/ describes what is posted. A message with the sequence id of an earlier
one takes its place (servers from 2.16 on; not in the app for iOS), so that a message whose answer
was lost is posted again under the same id.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from monitor.channels import short
from monitor.channels.base import Channel, ChannelOptions, down
from monitor.channels.post import DEADLINE, Answer, outcome_of, post_for_answer
from monitor.channels.retry_policy import AfterUnknown
from monitor.channels.short import Limits, Short
from monitor.digest.layout import byte_count, left_out
from monitor.digest.wording import shorten_text
from monitor.http.addresses import MASK
from monitor.model import (
    Delivery,
    DeliveryState,
    Digest,
    DigestGroup,
    Json,
    Notice,
    Outcome,
    Rendered,
    Templates,
)
from monitor.setting_types import Line, Secret, require_encryption
from monitor.text import clean

PUBLIC_SERVER = "https://ntfy.sh"

# A message of 4,096 bytes is made an attachment, or refused by servers that take none.
MESSAGE_BYTES = 4_095
# ntfy reads a document of twice that size, escapes and all; 2,000 bytes are for the other fields.
_ROOM = 2 * (MESSAGE_BYTES + 1) - 2_000
_LONGEST_SUBJECT = 200
_LONGEST_ERROR = 200

# A server takes 60 requests at once by default, and then one in 5 seconds.
SECONDS_BETWEEN_MESSAGES = 1.0

Priority = Literal["min", "low", "default", "high", "max"]
# In JSON a priority is its number.
_NUMBERS: dict[str, int] = {name: number for number, name in enumerate(get_args(Priority), 1)}

_TOPIC = re.compile(r"[-_A-Za-z0-9]{1,64}")

# Codes of `server/errors.go`: an attachment where there are none, or one that is too large; a
# document that is too large; the messages of a day.
_TOO_LONG = (40014, 41301, 41303)
_DAILY_LIMIT = 42908


# ── settings ────────────────────────────────────────────────────────────────────────


def _priority(value: object) -> object:
    if value == "urgent":
        return "max"
    named = {str(number): name for name, number in _NUMBERS.items()}
    return named.get(value, value) if isinstance(value, str) else value


def _server(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"should be the address of the server, as in {PUBLIC_SERVER}")
    if parts.username or parts.password:
        raise ValueError("holds a password; write an access token of ntfy as token:")
    if parts.path.strip("/") or parts.query:
        raise ValueError(
            f"should be the server alone, {parts.scheme}://{parts.netloc}; the topic is topic:"
        )
    return f"{parts.scheme}://{parts.netloc}"


def _topic(secret: Secret) -> Secret:
    if "/" in secret.reveal():
        raise ValueError("should be the topic alone; the server is url:")
    if not _TOPIC.fullmatch(secret.reveal()):
        raise ValueError("is no topic: these are 1 to 64 of A-Z, a-z, 0-9, - and _")
    return secret


def _token(secret: Secret) -> Secret:
    if not re.fullmatch(r"[\x21-\x7e]+", secret.reveal()):
        raise ValueError("should be the access token alone, as in tk_..., without “Bearer”")
    return secret


class NtfyOptions(ChannelOptions):
    """A channel of kind `ntfy`: a topic of a server."""

    instead: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("username", "password"), "make a token: ntfy token add USER, and write token:"
    )

    url: Annotated[Line, AfterValidator(_server)] = Field(
        PUBLIC_SERVER, description="the server, without the topic"
    )
    topic: Annotated[Secret, AfterValidator(_topic)] = Field(
        description="the topic (a secret: who knows it can read it on a server without accounts)"
    )
    token: Annotated[Secret, AfterValidator(_token)] | None = Field(
        None, description="an access token (`tk_...`, a secret), if the topic needs one"
    )
    priority: Annotated[Priority, BeforeValidator(_priority)] = Field(
        "default", description="of digests: `min`, `low`, `default`, `high` or `max`, or 1 to 5"
    )
    alert_priority: Annotated[Priority, BeforeValidator(_priority)] = Field(
        "high", description="of messages to the [operator](configuration.md#operator)"
    )
    allow_private: bool = Field(
        False, description="whether the server may be in a private network, and without TLS"
    )

    @model_validator(mode="after")
    def _is_encrypted(self) -> NtfyOptions:
        require_encryption(self.url, "topic and token", self.allow_private)
        return self


# ── the channel ─────────────────────────────────────────────────────────────────────


def size_of(text: str) -> int:
    """Return the bytes of a text, or more if JSON needs so much room for it."""
    in_json = byte_count(json.dumps(text, ensure_ascii=False)) - 2
    return max(byte_count(text), -(-in_json * MESSAGE_BYTES // _ROOM))


LIMITS = Limits(title=_LONGEST_SUBJECT, text=MESSAGE_BYTES, size_of=size_of)


class Ntfy(Channel):
    """The channel `kind: ntfy`: a digest is one notification, or several without an archive."""

    kind = "ntfy"
    Options = NtfyOptions
    min_interval = SECONDS_BETWEEN_MESSAGES
    unknown: AfterUnknown = "resend"
    deadline = DEADLINE

    def render(self, digest: Digest, templates: Templates) -> tuple[Rendered, ...]:
        page = digest.about.archive_url
        shown = short.fit_one(digest, templates, "txt", LIMITS) if page else digest
        messages = short.render_digest(shown, templates, "txt", LIMITS)
        return _parts(messages, self.options.priority, page)

    def render_notice(self, notice: Notice, templates: Templates) -> tuple[Rendered, ...]:
        messages = short.render_notice(notice, templates, "txt", LIMITS)
        return _parts(messages, self.options.alert_priority, notice.url, ["warning"])

    def left_to_archive(self, digest: Digest) -> tuple[DigestGroup, ...]:
        if not digest.about.archive_url:
            return ()
        return left_out(digest, short.fit_one(digest, self.templates, "txt", LIMITS))

    def send(self, delivery: Delivery, commit_handoff: Callable[[], bool]) -> Outcome:
        """Publish one message. One that the server finds too long is replaced by two."""
        stored = delivery.rendered.body
        topic = self.options.topic.reveal()
        document = {"topic": topic, "sequence_id": delivery.random_id, **stored}
        content = json.dumps(document, ensure_ascii=False)
        answer = post_for_answer(
            self.options.url,
            content,
            commit_handoff,
            headers={"Content-Type": "application/json", **self._login()},
            allow_private=self.options.allow_private,
            deadline=self.deadline,
        )
        if isinstance(answer, Outcome):
            return answer
        said = str(_fields(answer).get("error") or answer.said)
        return _outcome(replace(answer, said=self._masked(said)), stored)

    def check(self) -> str:
        """Ask whether the server is up. Whether it takes the topic shows when something is sent."""
        answer = post_for_answer(
            f"{self.options.url}/v1/health",
            "",
            method="GET",
            allow_private=self.options.allow_private,
        )
        if isinstance(answer, Outcome):
            return answer.error
        if _fields(answer).get("healthy") is True:
            return ""
        return f"{answer.host} answered {answer.status}, and not as a server of ntfy that is up"

    def _masked(self, said: str) -> str:
        for secret in filter(None, (self.options.topic, self.options.token)):
            said = said.replace(secret.reveal(), MASK)
        return shorten_text(clean(said), _LONGEST_ERROR)

    def _login(self) -> dict[str, str]:
        token = self.options.token
        return {"Authorization": f"Bearer {token.reveal()}"} if token else {}


def _parts(
    messages: Sequence[Short], priority: Priority, click: str, tags: Sequence[str] = ()
) -> tuple[Rendered, ...]:
    same: dict[str, object] = {"priority": _NUMBERS[priority], "tags": list(tags)}
    if click:
        same["click"] = click
    return tuple(
        Rendered(part, {"title": message.title, "message": message.text, **same})
        for part, message in enumerate(messages)
    )


# ── what answers mean ───────────────────────────────────────────────────────────────


def _outcome(answer: Answer, stored: Json) -> Outcome:
    fields = _fields(answer)
    code = fields.get("code")
    if answer.status == 200:
        if fields.get("event") == "message" and fields.get("id"):
            return Outcome(DeliveryState.SENT, reference=str(fields["id"]))
        error = f"{answer.host} answered 200, but not as ntfy does; check url"
        return Outcome(DeliveryState.UNKNOWN, error)
    outcome = outcome_of(answer)
    if answer.status == 413 or code in _TOO_LONG:
        return _in_two(outcome, stored)
    if answer.status in (401, 403):
        return down(f"{outcome.error} (it needs a token that may write to this topic)")
    if answer.status == 507:  # a topic of UnifiedPush, which takes messages from its app's server
        return down(f"{outcome.error} (choose another topic)")
    if code == _DAILY_LIMIT:
        return replace(outcome, retry_after=None)
    return outcome


def _fields(answer: Answer) -> Json:
    """Return the document of an answer, empty where it is none."""
    try:
        document = json.loads(answer.text)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _in_two(refused: Outcome, stored: Json) -> Outcome:
    """Ask for two messages in place of one that this server finds too long."""
    pieces = str(stored["message"]).split(short.BETWEEN)
    if len(pieces) < 2:
        return refused
    middle = len(pieces) // 2
    first, second = (
        {**stored, "message": short.BETWEEN.join(half)}
        for half in (pieces[:middle], pieces[middle:])
    )
    error = f"{refused.error}: two follow in its place"
    return Outcome(DeliveryState.RETRY, error, split=(first, second))
