"""Slack, by bot token or by incoming webhook.

A digest is one message with the rest of it as replies in its thread; a webhook cannot thread,
so that it gets separate messages. A message that Slack did not clearly refuse may be in the
channel: its delivery is unknown, until the channel's history (token only) says what became of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from pydantic import Field, ValidationInfo, model_validator

from monitor.channels.base import Channel, ChannelOptions, Shared
from monitor.channels.slack import blocks
from monitor.channels.slack.api import Bot, TooLongError, Webhook
from monitor.digest.about import archive_link
from monitor.model import (
    Delivery,
    DeliveryState,
    Digest,
    Notice,
    Outcome,
    Rendered,
    Templates,
)
from monitor.setting_types import Line, Required, SecretUrl, Unset, context_of

# Slack takes one message a second for each channel, and more only in short bursts.
SECONDS_BETWEEN_MESSAGES = 1.0


class SlackOptions(ChannelOptions):
    """A channel of kind `slack`: a channel that the bot is in, or an incoming webhook."""

    channel: Annotated[Line | None, Required("without `webhook`")] = Field(
        None, description='a channel that the bot is in: `"#papers"` (in quotes) or its id'
    )
    webhook: Annotated[SecretUrl | None, Required("without `channel`")] = Field(
        None, description="the URL of an incoming webhook (a secret)"
    )
    allow_private: Annotated[bool | None, Unset("unless it is Slack's")] = Field(
        None, description="whether the host of the webhook may be in a private network"
    )

    @model_validator(mode="after")
    def _one_way(self, info: ValidationInfo) -> SlackOptions:
        if self.channel is None and "channel" in self.model_fields_set:
            raise ValueError('channel: is empty; # begins a comment, so write channel: "#papers"')
        if self.channel and self.webhook:
            raise ValueError("has channel: and webhook:; remove one of them")
        if not self.channel and not self.webhook:
            raise ValueError("needs either channel: or webhook:")
        if self.channel and not context_of(info).slack:
            raise ValueError("channel: needs the token of a bot, in a slack: section")
        return self


class Slack(Channel):
    """The channel `kind: slack`: to a channel by a bot, or to an incoming webhook."""

    kind = "slack"
    Options = SlackOptions
    min_interval = SECONDS_BETWEEN_MESSAGES

    def __init__(
        self, name: str, recipient: str, poster: Bot | Webhook, *, menus: bool = False
    ) -> None:
        """With `menus`, papers in full have one to rate with: `serve` must receive the ratings."""
        self.name = name
        self._poster = poster
        self._bot = poster if isinstance(poster, Bot) else None
        self._menus = menus
        self._recipient = recipient
        self.outage_group = "slack" if self._bot else f"slack webhook {name}"

    @classmethod
    def open(cls, name: str, options: SlackOptions, shared: Shared) -> Slack:
        if options.webhook:
            return cls(name, name, Webhook(options.webhook.reveal(), options.allow_private))
        slack = shared.slack
        assert slack, "a bot's channel is refused without a slack: section"
        bot = Bot(slack.token.reveal(), slack.base_url, slack.allow_private)
        return cls(name, options.channel or "", bot, menus=shared.slack_answers)

    def recipients(self) -> tuple[str, ...]:
        """The channel's name; for a webhook this channel's own, since its URL is a secret."""
        return (self._recipient,)

    def render(self, digest: Digest, templates: Templates) -> tuple[Rendered, ...]:
        threaded = self._bot is not None
        return blocks.render_digest(digest, templates, threaded=threaded, menus=self._menus)

    def render_notice(self, notice: Notice, templates: Templates) -> tuple[Rendered, ...]:
        return blocks.render_notice(notice, templates)

    def send(self, delivery: Delivery, commit_handoff: Callable[[], bool]) -> Outcome:
        """Ask for two parts in place of one that Slack finds too long."""
        message = delivery.rendered.body
        try:
            return self._poster.post(message, delivery, commit_handoff)
        except TooLongError:
            halves = blocks.halve(message)
        if halves is None:
            error = "Slack finds the message too long, and it is one line"
            return Outcome(DeliveryState.FAILED, error)
        error = "Slack finds the message too long: two follow in its place"
        return Outcome(DeliveryState.RETRY, error, split=halves)

    def reconcile(self, delivery: Delivery) -> Outcome | None:
        """Look for the delivery's id in the channel's history. A webhook cannot look."""
        return self._bot.find(delivery) if self._bot else None

    def leaves_papers(self, digest: Digest) -> bool:
        return bool(archive_link(digest))

    def check(self) -> str:
        """Ask whose token it is. A webhook says nothing before something is posted to it."""
        return self._bot.check() if self._bot else ""
