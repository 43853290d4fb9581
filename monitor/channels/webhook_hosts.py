"""The service of a webhook's address, which may be written where another's belongs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

# By the end of their hosts.
_HOSTS = {
    "discord": ("discord.com", "discordapp.com"),
    "mattermost": ("mattermost.com",),
    "ntfy": ("ntfy.sh",),
    "slack": ("slack.com", "slack-gov.com"),
    "teams": ("logic.azure.com", "powerplatform.com"),
    "teams-connector": ("webhook.office.com",),
    "telegram": ("api.telegram.org",),
    "zulip": ("zulipchat.com",),
}
# Official spellings. n8n has a template, and no addresses of its own.
SERVICE_NAMES = {
    "discord": "Discord",
    "mattermost": "Mattermost",
    "n8n": "n8n",
    "ntfy": "ntfy",
    "slack": "Slack",
    "teams": "Microsoft Teams",
    "telegram": "Telegram",
    "zulip": "Zulip",
}
# The path of an incoming webhook of Mattermost, on any host.
_MATTERMOST_PATH = re.compile(r"/hooks/[a-z0-9]{26}")


def service_of(url: str) -> str:
    """Return the service of an address, "" if it is unknown."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    for service, hosts in _HOSTS.items():
        if _is_of(host, hosts):
            return service
    return "mattermost" if _MATTERMOST_PATH.fullmatch(parts.path) else ""


def _is_of(host: str, owned: Iterable[str]) -> bool:
    return any(host == own or host.endswith(f".{own}") for own in owned)
