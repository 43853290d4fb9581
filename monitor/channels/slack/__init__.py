"""The settings of the Slack bot, which all its channels share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from monitor.setting_types import HttpsUrl, Secret, Section, Unset, Variable

BASE_URL = "https://slack.com/api/"


_OWN_HOSTS = ("slack.com", "slack-gov.com")


def may_be_private(url: str, allowed: bool | None) -> bool:
    """Return whether an address may lead into a private network; `allowed` is the setting.

    Without the setting every host may but Slack's own: it was named for that, as a gateway.
    """
    is_own = _is_of(urlsplit(url).hostname or "", _OWN_HOSTS)
    return not is_own if allowed is None else allowed


def _app_token(secret: Secret) -> Secret:
    if not secret.reveal().startswith("xapp-"):
        raise ValueError("is no app-level token: these begin with xapp-")
    return secret


# Services whose addresses stand in place of another's, by the end of their hosts.
_OTHER_HOSTS = {
    "discord": ("discord.com", "discordapp.com"),
    "mattermost": ("mattermost.com",),
    "ntfy": ("ntfy.sh",),
    "teams": ("logic.azure.com", "powerplatform.com"),
    "teams-connector": ("webhook.office.com",),
    "telegram": ("api.telegram.org",),
    "zulip": ("zulipchat.com",),
}
# That of an incoming webhook of Mattermost, on the host of whoever runs it.
_MATTERMOST_PATH = re.compile(r"/hooks/[a-z0-9]{26}")


def service_of(url: str) -> str:
    """Return whose webhook an address is: `slack`, another service, "" for an unknown one."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if _is_of(host, _OWN_HOSTS):
        return "slack"
    for service, hosts in _OTHER_HOSTS.items():
        if _is_of(host, hosts):
            return service
    return "mattermost" if _MATTERMOST_PATH.fullmatch(parts.path) else ""


def _is_of(host: str, owned: Iterable[str]) -> bool:
    return any(host == own or host.endswith(f".{own}") for own in owned)


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
