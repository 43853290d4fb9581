"""Looking for a delivery in a channel's history: only a bot token can."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from datetime import timedelta
from http.client import HTTPException
from typing import Any

from slack_sdk.errors import SlackClientError

from monitor.channels.slack.clients import ApiClient
from monitor.channels.slack.errors import is_thread_gone
from monitor.model import Delivery, DeliveryState, Json, Outcome

METADATA_EVENT = "paper_monitor_delivery"
# What was under way when a process died is in the history after this time, or never.
SHOWN_AFTER = timedelta(minutes=2)

_CHANNEL_ID = re.compile(r"[CGD][A-Z0-9]{7,}")
_MAX_PAGES = 10


def find_delivery(client: ApiClient, delivery: Delivery, thread: str) -> Outcome | None:
    """Return SENT if the delivery is there, RETRY if it is not, None if nobody can tell."""
    try:
        channel = _channel_id(client, delivery)
        messages = _recent_messages(client, channel, delivery, thread)
        message = next((m for m in messages if _is_of(m, delivery)), None)
    except (SlackClientError, OSError, HTTPException, ValueError, LookupError, AttributeError):
        return None
    if message is not None:
        return Outcome(DeliveryState.SENT, reference=f"{channel}:{message['ts']}")
    error = "it is not in the channel's history"
    return Outcome(DeliveryState.RETRY, error, retry_after=SHOWN_AFTER)


def _channel_id(client: ApiClient, delivery: Delivery) -> str:
    """History takes no names. Raises LookupError for a channel that is not found."""
    channel = delivery.parent.rpartition(":")[0] or delivery.recipient
    if _CHANNEL_ID.fullmatch(channel):
        return channel
    params = {"types": "public_channel,private_channel", "exclude_archived": True}
    for row in _items(client, "conversations.list", "channels", params):
        if row.get("name") == channel.lstrip("#"):
            return str(row["id"])
    raise LookupError(channel)


def _recent_messages(
    client: ApiClient, channel: str, delivery: Delivery, thread: str
) -> Iterator[Mapping[str, Any]]:
    """Yield what was posted since the delivery was created: its thread, then the channel.

    Our calendar may have been moved, Slack's has not: hence the earlier of the two times.
    """
    oldest = str(min(delivery.created_at.timestamp(), time.time()) - 3600)
    params: dict[str, Any] = {"channel": channel, "oldest": oldest}
    if thread:
        replies = {**params, "ts": thread}
        yield from _items(client, "conversations.replies", "messages", replies)
    yield from _items(client, "conversations.history", "messages", params)


def _items(client: ApiClient, method: str, key: str, params: Json) -> Iterator[Mapping[str, Any]]:
    """Yield all items. Raises LookupError on any error, and when there are too many pages."""
    cursor = ""
    for _ in range(_MAX_PAGES):
        page = {**params, "limit": 200, "cursor": cursor, "include_all_metadata": True}
        # The methods that read take no JSON.
        answer = client.ask(method, params={k: v for k, v in page.items() if v != ""})
        if is_thread_gone(answer):
            return
        if answer.data.get("ok") is not True:
            raise LookupError(answer.code)
        yield from answer.data.get(key, ())
        cursor = (answer.data.get("response_metadata") or {}).get("next_cursor", "")
        if not cursor:
            return
    raise LookupError(method)


def _is_of(message: Mapping[str, Any], delivery: Delivery) -> bool:
    payload = (message.get("metadata") or {}).get("event_payload") or {}
    return payload.get("message_id") == delivery.message_id
