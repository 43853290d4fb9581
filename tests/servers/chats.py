"""Stand-ins for the incoming webhooks of chats, which enforce the limits of each.

    web.decides("/discord", answered_by(takes_discord))

A function gets the JSON that was posted, and returns what is wrong with it, "" for nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.servers.web import Answer, Asked

Takes = Callable[[Any], str]
# Characters, but of Teams bytes.
DISCORD = 2_000
MATTERMOST = 16_383
ZULIP = 10_000
TEAMS = 28 * 1024


def answered_by(takes: Takes, accepted: Answer | None = None) -> Callable[[Asked], Answer]:
    """Answer a post as a chat does: 400 with what is wrong."""

    def answer(asked: Asked) -> Answer:
        if asked.headers.get("content-type") != "application/json":
            return Answer(415)
        problem = takes(json.loads(asked.body))
        return Answer(400, problem.encode()) if problem else accepted or Answer(200, b"ok")

    return answer


def _utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def takes_discord(message: Any) -> str:
    content = message.get("content", "")
    if not content.strip() or _utf16(content) > DISCORD:
        return f"content: Must be between 1 and {DISCORD} in length."
    if message.get("allowed_mentions") != {"parse": []}:
        return "the message may notify everyone"
    return ""


def takes_mattermost(message: Any) -> str:
    text = message.get("text", "")
    return "" if 0 < len(text) <= MATTERMOST else "No text specified, or it is too long."


def takes_zulip(message: Any) -> str:
    text = message.get("text", "")
    return "" if 0 < len(text) <= ZULIP else "it would be cut off"


def takes_teams(message: Any) -> str:
    """Workflows want a card; their size is counted in UTF-16."""
    if _utf16(json.dumps(message, ensure_ascii=False)) * 2 > TEAMS:
        return "Request Entity Too Large"
    [attachment] = message["attachments"]
    card = attachment["content"]
    if (message["type"], card["type"]) != ("message", "AdaptiveCard"):
        return "no Adaptive Card"
    if attachment["contentType"] != "application/vnd.microsoft.card.adaptive":
        return "contentType"
    blocks = card["body"]
    if not blocks or not all(b["type"] == "TextBlock" and b["text"].strip() for b in blocks):
        return "a block without text"
    return ""


def takes_n8n(message: Any) -> str:
    return "" if isinstance(message, dict) else "no object"


CHATS: dict[str, Takes] = {
    "discord": takes_discord,
    "mattermost": takes_mattermost,
    "n8n": takes_n8n,
    "teams": takes_teams,
    "zulip": takes_zulip,
}
