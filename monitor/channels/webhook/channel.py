"""Digests as JSON for a program, or in the form that a chat takes, posted to an address.

Each post is signed after Standard Webhooks. Its id is that of the delivery: the same at each
attempt, and in no other store, so that a receiver that keeps ids has each digest once.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Annotated, Any, ClassVar, NoReturn
from urllib.parse import urlsplit

import structlog
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from monitor.channels.base import Channel, ChannelOptions
from monitor.channels.post import DEADLINE, Headers, outcome_of, post_for_answer
from monitor.channels.retry_policy import AFTER_UNKNOWN_WORDS, AfterUnknown
from monitor.channels.webhook import FOLDER, SUFFIX, template_names
from monitor.channels.webhook.body import (
    BODY_LIMIT,
    digest_body,
    for_everyone,
    notice_body,
    written,
)
from monitor.channels.webhook.signature import ID, SIGNATURE, TIMESTAMP, key_of, signed_headers
from monitor.errors import TemplateError, nearest
from monitor.http.addresses import is_private_host
from monitor.model import Delivery, DeliveryState, Digest, Notice, Outcome, Rendered, Templates
from monitor.resources import resource
from monitor.setting_types import (
    SOME,
    Line,
    Secret,
    SecretWebUrl,
    Timeout,
    Unset,
    context_of,
    one_or_more,
)

log = structlog.get_logger()

# Chats take a message a second, and more only in short bursts: Discord five in two seconds.
SECONDS_BETWEEN_MESSAGES = 1.0
_LONGEST_TIMEOUT = timedelta(minutes=5)
# A token of RFC 9110, 5.6.2.
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OURS = frozenset(
    {ID, TIMESTAMP, SIGNATURE, "connection", "content-length", "content-type", "host"}
    | {"transfer-encoding"}
)


def _signing(secret: Secret) -> Secret:
    key_of(secret.reveal())
    return secret


def _headers(headers: Mapping[str, Secret]) -> Mapping[str, Secret]:
    for name, value in headers.items():
        if not _HEADER.fullmatch(name):
            raise ValueError(f"“{name}” is not the name of a header, as in Authorization")
        if name.lower() in _OURS:
            raise ValueError(f"“{name}” is set by Paper Monitor; remove it")
        if not value.reveal().isascii():
            raise ValueError(f"the value of “{name}” has letters beyond ASCII; encode them")
    return headers


def _template(name: str, info: ValidationInfo) -> str:
    names = template_names(filter(None, [context_of(info).templates]))
    if name not in names:
        near = nearest(name, sorted(names))
        file = f"{FOLDER}/{name}{SUFFIX}"
        raise ValueError(f"there is no {file}, built in or in the folder of templates{near}")
    return name


def _timeout(value: timedelta) -> timedelta:
    if value > _LONGEST_TIMEOUT:
        raise ValueError("should be at most 5m")
    return value


class WebhookOptions(ChannelOptions):
    """A channel of kind `webhook`: an address that takes JSON."""

    instead: ClassVar[Mapping[str, str]] = {"webhook": "write url:"}

    url: SecretWebUrl = Field(
        description="the address to post to (a secret); `http://` needs `allow_private`"
    )
    secret: Annotated[
        tuple[Annotated[Secret, AfterValidator(_signing)], ...],
        BeforeValidator(one_or_more),
        SOME,
        WithJsonSchema(
            {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
        ),
        Unset("not signed"),
    ] = Field(
        (),
        description="signs each post: `whsec_` and 24 to 64 bytes in base64. Of a list, all sign, "
        "so that a new one can be introduced",
    )
    headers: Annotated[Mapping[str, Secret], AfterValidator(_headers)] = Field(
        default_factory=dict,
        description="headers to send, such as `Authorization`, with secret values",
    )
    template: Annotated[Line, AfterValidator(_template)] | None = Field(
        None,
        description="the form of [another receiver](webhook.md#other-receivers): `discord`, "
        "`mattermost`, `n8n`, `teams`, `zulip`, or one of your own",
    )
    timeout: Annotated[Timeout, AfterValidator(_timeout)] = Field(
        DEADLINE, description="how long the answer may take, at most `5m`"
    )
    allow_private: bool = Field(
        False, description="whether the host may be in a private network, or its port unusual"
    )
    unknown: Annotated[AfterUnknown | None, Unset("`resend`, with `template` `hold`")] = Field(
        None, description=AFTER_UNKNOWN_WORDS
    )

    @model_validator(mode="after")
    def _reachable(self) -> WebhookOptions:
        if self.allow_private:
            return self
        parts = urlsplit(self.url.reveal())
        add = "for a machine of your own network, add allow_private: true"
        if parts.scheme == "http":
            raise ValueError(f"url: should begin with https://; {add}")
        if is_private_host(parts.hostname or ""):
            raise ValueError(f"url: leads into a private network; {add}")
        if parts.port not in (None, 443):
            raise ValueError(
                f"url: has the port {parts.port}, and only 443 is usual; {add}, or if that port "
                "is meant"
            )
        return self

    @property
    def after_unknown(self) -> AfterUnknown:
        return self.unknown or ("hold" if self.template else "resend")

    @property
    def may_repeat(self) -> bool:
        """Receivers that want another form know nothing of the id of a message."""
        return self.template is not None and self.after_unknown == "resend"


class Webhook(Channel):
    """The channel `kind: webhook`: a digest is one post, or as its template says several."""

    kind = "webhook"
    Options = WebhookOptions

    def __init__(self, name: str, options: WebhookOptions, templates: Templates) -> None:
        super().__init__(name, options, templates)
        self.unknown = options.after_unknown
        self._keys = [key_of(secret.reveal()) for secret in options.secret]
        if options.template:
            self.min_interval = SECONDS_BETWEEN_MESSAGES

    def render(self, digest: Digest, templates: Templates) -> tuple[Rendered, ...]:
        digest = for_everyone(digest)
        body = digest_body(digest)
        if not self.options.template:
            return _parts([body])
        return _parts(self._shaped(templates, digest=digest, notice=None, data=body["data"]))

    def render_notice(self, notice: Notice, templates: Templates) -> tuple[Rendered, ...]:
        """Return a notice in the form of the template, or else in ours rather than none."""
        if self.options.template:
            try:
                return self.shape_notice(notice, templates)
            except TemplateError as fault:
                log.error("template failed", channel=self.name, error=str(fault))
        return _parts([notice_body(notice)])

    def shape_notice(self, notice: Notice, templates: Templates) -> tuple[Rendered, ...]:
        """Return a notice in the form of the template. Raises TemplateError."""
        data = notice_body(notice)["data"]
        return _parts(self._shaped(templates, digest=None, notice=notice, data=data))

    def send(self, delivery: Delivery, commit_handoff: Callable[[], bool]) -> Outcome:
        """Post the stored text. 410 says that the address is permanently gone."""
        options = self.options
        answer = post_for_answer(
            options.url.reveal(),
            delivery.rendered.body["json"],
            commit_handoff,
            headers=self._headers_of(delivery),
            allow_private=options.allow_private,
            deadline=options.timeout,
        )
        if isinstance(answer, Outcome):
            return answer
        if answer.status == 410:
            error = f"{answer.host} answered 410: it is permanently gone"
            return Outcome(DeliveryState.FAILED, error, gone=True)
        return outcome_of(answer)

    def leaves_papers(self, digest: Digest) -> bool:
        return bool(digest.at_most and digest.about.archive_url)

    def _headers_of(self, delivery: Delivery) -> Headers:
        """Sign the bytes at the moment of this attempt: receivers refuse what is minutes old."""
        own = {name: value.reveal() for name, value in self.options.headers.items()}

        def sign(body: bytes) -> Mapping[str, str]:
            signed = signed_headers(self._keys, delivery.random_id, int(time.time()), body)
            return {"Content-Type": "application/json", **own, **signed}

        return sign

    def _shaped(self, templates: Templates, **values: Any) -> list[Any]:
        """Return the messages that the template makes. Raises TemplateError."""
        name = f"{FOLDER}/{self.options.template}{SUFFIX}"
        if not (resource("templates") / name).is_file():
            templates = self.templates  # the shipped ones have none in its place
        text = templates.render(name, **values)
        try:
            made = json.loads(text, parse_constant=_no_constant)
        except ValueError as error:
            around = _around(text, error.pos) if isinstance(error, json.JSONDecodeError) else ""
            raise TemplateError(f"{name}: its output is not JSON: {error}{around}") from error
        messages = made if isinstance(made, list) else [made]
        if not messages or not all(isinstance(message, dict) for message in messages):
            raise TemplateError(f"{name}: its output should be a JSON object, or a list of some")
        if any(len(written(message).encode()) > BODY_LIMIT for message in messages):
            raise TemplateError(f"{name}: a message has more than {BODY_LIMIT:,} bytes")
        return messages


def _around(text: str, place: int) -> str:
    """Return what an output has around the place of its fault."""
    before = text[max(place - 30, 0) : place]
    after = text[place : place + 30]
    return f", at ⟶ in “{before}⟶{after}”".replace("\n", "⏎")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _parts(bodies: list[Any]) -> tuple[Rendered, ...]:
    """Keep the text itself: what is signed is sent in the same bytes at each attempt."""
    return tuple(Rendered(part, {"json": written(body)}) for part, body in enumerate(bodies))
