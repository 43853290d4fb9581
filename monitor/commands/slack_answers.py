"""Choices in the menus of Slack, stored as ratings; each person in a channel counts once.

A press comes by Socket Mode or by a signed request, and Slack may send it twice.
"""

from __future__ import annotations

import threading

import structlog

from monitor.channels.slack import SlackSettings
from monitor.channels.slack.api import Bot
from monitor.channels.slack.menus import Press, read_press
from monitor.commands.ratings import ask, rate
from monitor.digest.wording import escape_mrkdwn
from monitor.errors import StoreError, UsageError
from monitor.pipeline.runtime import Runtime
from monitor.store.digests import deliveries
from monitor.text import clean, title_lengths

log = structlog.get_logger()

_REPLIES = {
    "up": "Papers like “{}” will come first.",
    "down": "Papers like “{}” will come last.",
    "save": "“{}” is saved.",
    "none": "Your answer to “{}” is taken back.",
}
# How many answers are remembered, by person and paper, with the time of the last press.
_REMEMBERED = 10_000


class SlackAnswers:
    """Takes presses for the workspace of the bot's token."""

    def __init__(self, runtime: Runtime, slack: SlackSettings) -> None:
        self._runtime = runtime
        self._bot = Bot(slack.token.reveal(), slack.base_url, slack.allow_private)
        self._team = ""
        # A press that Slack sends again must not undo a later one, taken by the same process.
        self._last_press: dict[tuple[str, str, int], float] = {}
        self._in_order = threading.Lock()

    def take(self, payload: object) -> None:
        """Store the rating of a press, and confirm it to the person who pressed. Raises nothing."""
        press = read_press(payload)
        if press is None:
            log.info("slack press ignored", reason="it is not from a menu of a digest")
            return
        try:
            reply = self._store(press)
        except UsageError as fault:
            log.info("slack press refused", subscription=press.subscription, reason=fault.message)
            reply = f"Nothing was changed: {fault.message}."
        except StoreError as fault:
            log.warning("slack answer not stored", error=str(fault))
            reply = "Your answer could not be stored. Try again in a minute."
        error = self._bot.whisper(press.channel, press.user, reply)
        if error:
            log.info("slack press not confirmed", error=error)

    def _store(self, press: Press) -> str:
        self._check_channel(press)
        who = f"slack:{press.team}:{press.user}"
        asked = ask(self._runtime, (press.subscription, press.period, who), press.paper_id)
        with self._in_order:
            self._keep_order(press, asked.paper_id)
            rate(self._runtime, str(asked.paper_id), press.verdict, asked.scope, "slack")
        return _REPLIES[press.verdict].format(
            escape_mrkdwn(clean(asked.title)[: title_lengths.IN_LIST])
        )

    def _keep_order(self, press: Press, paper_id: int) -> None:
        """Note when a person answered; raise UsageError if a later answer of theirs was taken."""
        pressed = (press.user, press.subscription, paper_id)
        if press.at < self._last_press.get(pressed, 0.0):
            raise UsageError("you have given a later answer")
        if len(self._last_press) >= _REMEMBERED:
            self._last_press.clear()
        self._last_press[pressed] = press.at

    def _check_channel(self, press: Press) -> None:
        """Raise UsageError unless the digest was sent to the channel that the press came from."""
        self._team = self._team or self._bot.team()
        if not self._team:
            raise UsageError("Slack does not say which workspace this is; try again in a minute")
        if press.team != self._team:
            raise UsageError("this digest was not sent to this workspace")
        with self._runtime.database.reading() as tx:
            address = f"{press.channel}:"
            if not deliveries.has_reached(tx, press.subscription, press.period, address):
                raise UsageError("this digest was not sent to this channel")
