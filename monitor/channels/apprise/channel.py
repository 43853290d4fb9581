"""The channel `kind: apprise`: the library Apprise sends to one service.

What leaves is the library's: it dials by itself, without our rules for addresses, and does not say
when the last byte leaves. So the hand-off is recorded before it begins.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, model_validator

from monitor.channels import short
from monitor.channels.base import TAKEN_OVER, Channel, ChannelOptions, down
from monitor.channels.retry_policy import AFTER_UNKNOWN_WORDS, AfterUnknown
from monitor.channels.short import Form, Short
from monitor.digest.about import archive_link
from monitor.digest.layout import shorten
from monitor.digest.mentions import without_mentions
from monitor.model import (
    Delivery,
    DeliveryState,
    Digest,
    Notice,
    Outcome,
    Rendered,
    Templates,
)
from monitor.setting_types import OneOrMore, Secret, Unset

if TYPE_CHECKING:
    from monitor.channels.apprise.service import Format, Service

# Shorter messages would cut the link of a paper.
LEAST_LIMIT = 200


class AppriseOptions(ChannelOptions):
    """A channel of kind `apprise`: one recipient at one service."""

    url: Secret = Field(
        description="an [address of Apprise](https://appriseit.com) with one recipient (a secret)"
    )
    format: Annotated[
        Literal["markdown", "text"] | None, Unset("`markdown` where the service shows it")
    ] = Field(None, description="how messages are written: `markdown` or `text`")
    limit: Annotated[int | None, Unset("nine tenths of the service's")] = Field(
        None, ge=LEAST_LIMIT, description="the most characters of a message"
    )
    allow: OneOrMore[str] = Field(
        (), description="services to use that were [not tried](apprise.md#services)"
    )
    unknown: AfterUnknown = Field("resend", description=AFTER_UNKNOWN_WORDS)

    @property
    def may_repeat(self) -> bool:
        """Services know no id by which they would recognise a second copy."""
        return self.unknown == "resend"

    @model_validator(mode="after")
    def _is_known(self) -> AppriseOptions:
        try:
            self.open()
        except ValueError as error:
            raise ValueError(f"url: {error}") from None
        return self

    def open(self) -> Service:
        """Import the library, which takes most of a second, and open the service."""
        try:
            from monitor.channels.apprise.service import open_service
        except ImportError:
            raise ValueError(
                "needs the package apprise: pip install 'paper-monitor[apprise]'"
            ) from None
        return open_service(self.url.reveal(), self.allow, self.format)


class AppriseChannel(Channel):
    """The channel `kind: apprise`: a digest is as many messages as the service's limit needs."""

    kind = "apprise"
    Options = AppriseOptions
    deadline_seconds = 60.0

    def __init__(self, name: str, options: AppriseOptions, templates: Templates) -> None:
        super().__init__(name, options, templates)
        self.unknown = options.unknown
        self._unanswered: threading.Thread | None = None

    @cached_property
    def service(self) -> Service:
        service: Service = self.options.open()
        return service

    @property
    def min_interval(self) -> float:  # type: ignore[override]
        """The seconds that the library would wait between two messages."""
        return self.service.seconds_between_messages

    @property
    def format(self) -> Format:
        return self.options.format or self.service.native_format

    def render(self, digest: Digest, templates: Templates) -> tuple[Rendered, ...]:
        if archive_link(digest):
            digest = shorten(digest, digest.full, digest.papers, digest.at_most)
        limits = self.service.limits(self.format, self.options.limit)
        return self._parts(short.render_digest(digest, templates, self._form, limits))

    def render_notice(self, notice: Notice, templates: Templates) -> tuple[Rendered, ...]:
        limits = self.service.limits(self.format, self.options.limit)
        messages = short.render_notice(notice, templates, self._form, limits)
        return self._parts(messages, is_alert=True)

    @property
    def _form(self) -> Form:
        return "md" if self.format == "markdown" else "txt"

    def _parts(
        self, messages: tuple[Short, ...], *, is_alert: bool = False
    ) -> tuple[Rendered, ...]:
        return tuple(
            Rendered(
                part,
                {
                    "title": without_mentions(message.title),
                    "text": without_mentions(message.text),
                    "format": self.format,
                    "alert": is_alert,
                },
            )
            for part, message in enumerate(messages)
        )

    def leaves_papers(self, digest: Digest) -> bool:
        return bool(archive_link(digest))

    def send(self, delivery: Delivery, commit_handoff: Callable[[], bool]) -> Outcome:
        """Hand one message over to the library, unless it still waits for the last answer."""
        from monitor.channels.apprise.service import read_result

        name = self.service.name
        if self._unanswered and self._unanswered.is_alive():
            return down(f"{name} has not ended its answer to an earlier message")
        if not commit_handoff():
            return TAKEN_OVER
        body = delivery.rendered.body
        result = self.service.send(
            body["title"],
            body["text"],
            body["format"],
            is_alert=body["alert"],
            seconds=self.deadline_seconds,
        )
        if isinstance(result, threading.Thread):
            self._unanswered = result
            error = f"{name} did not answer within {self.deadline_seconds:g} seconds"
            return Outcome(DeliveryState.UNKNOWN, error)
        if isinstance(result, Exception):
            error = f"Apprise failed for {name}: {type(result).__name__}"
            return Outcome(DeliveryState.UNKNOWN, error)
        return read_result(result, name)
