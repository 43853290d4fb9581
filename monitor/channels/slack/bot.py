"""Posting with a bot token: threads, and a history in which a message is found again."""

from __future__ import annotations

from monitor.channels.slack.clients import ApiClient
from monitor.channels.slack.errors import (
    is_thread_gone,
    read_refusal,
    read_success,
    send_request,
)
from monitor.channels.slack.history import METADATA_EVENT, find_delivery
from monitor.model import Delivery, DeliveryState, Json, Outcome

# The header in which Slack lists what a token may do, and the permission to post.
SCOPES_HEADER, POSTING_SCOPE = "x-oauth-scopes", "chat:write"


class Bot:
    """Slack's Web API: chat.postMessage, and auth.test as a check."""

    def __init__(self, token: str, base_url: str, timeout: int) -> None:
        self._token = token
        self._client = ApiClient(token, base_url, timeout)
        # A thread that is gone, and the message that later parts reply to instead.
        self._new_threads: dict[str, str] = {}

    def post(self, message: Json, delivery: Delivery, thread: str, last: bool) -> Outcome:
        parent = self._new_threads.get(thread, thread)
        outcome = self._try_post(message, delivery, parent, last)
        if outcome is None and thread:
            outcome = self._try_post(message, delivery, "", last)
            if outcome is not None and outcome.state is DeliveryState.SENT:
                self._new_threads[thread] = outcome.reference.rpartition(":")[2]
        return outcome or Outcome(
            DeliveryState.FAILED, "Slack finds no thread, where none was named"
        )

    def check(self) -> str:
        answer = send_request(lambda: self._client.ask("auth.test", json={}), self._token)
        if isinstance(answer, Outcome):
            return answer.error
        if answer.data.get("ok") is not True:
            return read_refusal(answer).error
        scopes = {name.lower(): value for name, value in answer.headers.items()}.get(SCOPES_HEADER)
        if scopes is not None and POSTING_SCOPE not in [s.strip() for s in scopes.split(",")]:
            return f"the app may not post: give it the scope {POSTING_SCOPE}, and install it again"
        return ""

    def team(self) -> str:
        """Return the id of the bot's workspace, "" where Slack does not say it."""
        answer = send_request(lambda: self._client.ask("auth.test", json={}), self._token)
        return "" if isinstance(answer, Outcome) else str(answer.data.get("team_id", ""))

    def whisper(self, channel: str, user: str, text: str) -> str:
        """Say something that only one person in a channel sees; return the error, or ""."""
        arguments = {"channel": channel, "user": user, "text": text}
        answer = send_request(
            lambda: self._client.ask("chat.postEphemeral", json=arguments), self._token
        )
        return answer.error if isinstance(answer, Outcome) else answer.code

    def find(self, delivery: Delivery) -> Outcome | None:
        """Return SENT if the delivery is there, RETRY if it is not, None if nobody can tell."""
        thread = delivery.parent.rpartition(":")[2]
        return find_delivery(self._client, delivery, self._new_threads.get(thread, thread))

    def _try_post(
        self, message: Json, delivery: Delivery, thread: str, last: bool
    ) -> Outcome | None:
        """Return the outcome, None when the thread is gone. Only the last part can be found."""
        payload = {"message_id": delivery.message_id}
        metadata = {"event_type": METADATA_EVENT, "event_payload": payload}
        arguments = {
            "channel": delivery.parent.rpartition(":")[0] or delivery.recipient,
            "text": message["text"],
            "blocks": message["blocks"],
            "unfurl_links": False,
            "unfurl_media": False,
            **({"thread_ts": thread} if thread else {}),
            **({"metadata": metadata} if last else {}),
        }
        answer = send_request(
            lambda: self._client.ask("chat.postMessage", json=arguments), self._token
        )
        if isinstance(answer, Outcome):
            return answer
        if is_thread_gone(answer):
            return None
        if answer.status == 200 and answer.data.get("ok") is True:
            return read_success(answer.data)
        return read_refusal(answer)
