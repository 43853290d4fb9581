"""The settings of the Slack bot, which all its channels share."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from monitor.channels.webhook_hosts import service_of
from monitor.setting_types import HttpsUrl, Secret, Section, Unset, Variable

BASE_URL = "https://slack.com/api/"


def may_be_private(url: str, allowed: bool | None) -> bool:
    """Return whether an address may lead into a private network; `allowed` is the setting.

    Without the setting every host may but Slack's own: it was named for that, as a gateway.
    """
    return service_of(url) != "slack" if allowed is None else allowed


def _app_token(secret: Secret) -> Secret:
    if not secret.reveal().startswith("xapp-"):
        raise ValueError("is no app-level token: these begin with xapp-")
    return secret


class SlackSettings(Section):
    """The bot that posts to channels, and how it hears what is chosen in menus there."""

    token: Annotated[Secret, Variable("SLACK_BOT_TOKEN")] = Field(
        description="the bot's token (`xoxb-...`), a secret"
    )
    app_token: Annotated[Secret, AfterValidator(_app_token)] | None = Field(
        None,
        description="the app-level token (`xapp-...`), a secret: takes "
        "[answers](channels.md#answers-in-slack) by Socket Mode",
    )
    signing_secret: Secret | None = Field(
        None,
        description="the secret with which Slack signs requests: takes answers at `public_url` "
        "with `/slack/actions`",
    )
    base_url: HttpsUrl = Field(
        BASE_URL, description="another address of the API; https, or http to this machine"
    )
    allow_private: Annotated[bool | None, Unset("unless it is Slack's")] = Field(
        None, description="whether the host of `base_url` may be in a private network"
    )
