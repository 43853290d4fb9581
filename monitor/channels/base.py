"""The base of every channel, built in or from another package (entry points `monitor.channels`).

`monitor.testing.ChannelContract` tests them all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import BaseModel

from monitor.channels.retry_policy import AfterUnknown
from monitor.channels.slack import SlackSettings
from monitor.digest.layout import beyond_at_most
from monitor.errors import UsageError
from monitor.model import (
    Delivery,
    DeliveryState,
    Digest,
    DigestGroup,
    Notice,
    Outcome,
    Rendered,
    Step,
    Templates,
)
from monitor.setting_types import Section
from monitor.text import clean


class ChannelOptions(Section):
    """Settings of a channel: frozen, and a name that is not a setting is refused."""

    @property
    def may_repeat(self) -> bool:
        """Whether a message may arrive twice in more cases than a mail.

        That is so where an uncertain message is sent again and its receiver ignores the id.
        """
        return False


@dataclass(frozen=True, slots=True)
class Shared:
    """The templates, mail server and Slack bot that channels of one configuration share.

    `smtp` is what takes mail (`monitor.channels.email`), `slack` the settings of the bot.
    `slack_answers` is whether the service receives what is chosen in menus of Slack. `links` are a
    `monitor.channels.email.render.ReaderLinks`, None without pages to link to.
    """

    templates: Templates
    smtp: Any = None
    slack: SlackSettings | None = None
    slack_answers: bool = False
    links: Any = None


# The outcome where `commit_handoff` returns False.
TAKEN_OVER = Outcome(DeliveryState.RETRY, "not sent: another process has taken this delivery over")


def down(problem: str) -> Outcome:
    """Return the outcome where nothing can be sent by a channel now."""
    return Outcome(DeliveryState.RETRY, problem, channel_down=True)


class Channel(ABC):
    """A place that digests go to. `send` never raises for a server's answer: it returns an Outcome.

    `outage_group` names what is down when the channel is: the channels of one group rest and
    recover together (all e-mail of one server is one group). Left empty, it is the channel alone.
    `min_interval` is the least number of seconds between two messages of the channel.
    `is_personal`: one person reads what each recipient is sent.
    `unknown` is what follows a hand-off without a clear end, if `reconcile` finds nothing out.
    """

    kind: ClassVar[str]
    Options: ClassVar[type[BaseModel]]
    min_interval: float = 0.0
    outage_group: str = ""
    is_personal: ClassVar[bool] = False
    unknown: AfterUnknown = "hold"

    def __init__(self, name: str, options: Any, templates: Templates) -> None:
        self.name = name
        self.options = options
        self.templates = templates

    @classmethod
    def open(cls, name: str, options: Any, shared: Shared) -> Channel:
        """Make the channel `name`. A kind that needs a shared server overrides this."""
        return cls(name, options, shared.templates)

    @abstractmethod
    def render(self, digest: Digest, templates: Templates) -> tuple[Rendered, ...]:
        """Return the digest as parts, without I/O: the bodies are stored as JSON before sending."""

    @abstractmethod
    def send(self, delivery: Delivery, commit_handoff: Callable[[], bool]) -> Outcome:
        """Send one part to one recipient.

        Call `commit_handoff` just before the last byte leaves. It returns False when another
        process has taken the delivery over: send nothing then, and return a RETRY.
        """

    def recipients(self) -> tuple[str, ...]:
        """Return who gets a digest here; each has a delivery of its own."""
        return (self.name,)

    def leaves_papers(self, digest: Digest) -> bool:
        """Return whether messages leave papers of a digest to the archive, for its `at_most`."""
        return False

    def left_to_archive(self, digest: Digest) -> tuple[DigestGroup, ...]:
        """Return the papers of a digest that messages leave to the archive, by topic."""
        return beyond_at_most(digest) if self.leaves_papers(digest) else ()

    def render_notice(self, notice: Notice, templates: Templates) -> tuple[Rendered, ...]:
        """Return a notice to the operator as parts; by default its subject and text."""
        text = templates.render("mail/notice.txt.j2", notice=notice)
        return (Rendered(0, {"subject": clean(notice.subject), "text": text}),)

    def reconcile(self, delivery: Delivery) -> Outcome | None:
        """Find out what became of an `unknown` delivery; None when this channel cannot know.

        A RETRY (it is not there) with a `retry_after` is believed only that long after the
        hand-off.
        """
        return None

    def delete_old(self, sent: Callable[[], Collection[tuple[str, str]]]) -> int:
        """Delete files of old digests that the channel keeps; return how many digests there were.

        `sent` reads the subscriptions and periods of digests that it was sent long ago. Raises
        OSError.
        """
        return 0

    def check(self) -> str:
        """Check that the channel could send now, sending nothing; return the problem, or ""."""
        return ""

    def steps(self) -> tuple[Step, ...]:
        """Take the steps on the way to sending, up to the first that fails, and send nothing.

        Empty where there is only one, which is `check`.
        """
        return ()

    def close(self) -> None:
        """Close what `send` keeps open between deliveries: most channels keep nothing open."""


def complete(kind: str, plugin: type[Any]) -> type[Channel]:
    """Return a class that is a whole channel. Raises UsageError, which names what it lacks."""
    missing = ["base class Channel"]
    if issubclass(plugin, Channel):
        options: Any = getattr(plugin, "Options", None)
        missing = sorted(plugin.__abstractmethods__)
        if not (isinstance(options, type) and issubclass(options, BaseModel)):
            missing.append("Options that are a pydantic model")
        if not missing:
            return plugin
    raise UsageError(
        f"the channel kind “{kind}” has no {', no '.join(missing)}",
        f"it is {plugin.__module__}:{plugin.__qualname__}; update its package",
    )


def open_channel(kind: type[Channel], name: str, options: Any, shared: Shared) -> Channel:
    """Make a channel; without an `outage_group`, it is the only one in its group."""
    channel = kind.open(name, options, shared)
    channel.name = name
    channel.outage_group = channel.outage_group or f"{channel.kind} {name}"
    return channel
