"""Slack's Web API and incoming webhooks: posting, looking in the history, what answers mean."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

from monitor.channels.base import down
from monitor.channels.post import REDIRECTS, host_of, post_for_answer, redirected, wait_after
from monitor.channels.slack import may_be_private
from monitor.model import Delivery, DeliveryState, Json, Outcome
from monitor.text.tables import word_set

# An answer has a few thousand bytes; a page of history some hundred thousand.
MAX_ANSWER_BYTES = 16 * 1024 * 1024

_CODE = re.compile(r"[a-z][a-z0-9_]{1,60}")
CommitHandoff = Callable[[], bool]


def already() -> bool:
    """Hand off what needs no record, or has it already."""
    return True


class Answer(NamedTuple):
    """An answer of Slack: `code` is the word for an error, or the one with which a webhook answers.

    Names of headers are in lower case; `data` is empty where the answer is no JSON object. `host`
    is that of the address asked.
    """

    status: int
    headers: Mapping[str, str]
    code: str
    data: Mapping[str, Any]
    host: str = ""


@dataclass(frozen=True, slots=True)
class WebApi:
    """Slack's Web API with one token."""

    token: str = field(repr=False)
    base_url: str
    allow_private: bool | None = None

    def call(
        self,
        method: str,
        commit_handoff: CommitHandoff = already,
        *,
        body: Json | None = None,
        form: Json | None = None,
    ) -> Answer | Outcome:
        """Post JSON or a form; return the answer, also a refusal, or what it means to have none."""
        from monitor.channels.slack import clients  # the SDK, without which health checks do

        post = _posting(self.base_url, self.allow_private, commit_handoff)
        try:
            answer = clients.call(post, self.token, self.base_url, method, body, form)
        except clients.NoAnswerError as none:
            return none.outcome
        data: Mapping[str, Any] = answer.data if isinstance(answer.data, dict) else {}
        code = _code(data.get("error", ""))
        host = host_of(self.base_url)
        return Answer(answer.status_code, answer.headers, code, data, host)


def _posting(url: str, allow_private: bool | None, commit_handoff: CommitHandoff) -> Any:
    return partial(
        post_for_answer,
        commit_handoff=commit_handoff,
        allow_private=may_be_private(url, allow_private),
        max_bytes=MAX_ANSWER_BYTES,
    )


def _code(word: object) -> str:
    return word if isinstance(word, str) and _CODE.fullmatch(word) else ""


# ── posting ───────────────────────────────────────────────────────────────────────────

# The header in which Slack lists what a token may do, and the permission to post.
SCOPES_HEADER = "x-oauth-scopes"
POSTING_SCOPE = "chat:write"
NOT_UNFURLED = {"unfurl_links": False, "unfurl_media": False}

METADATA_EVENT = "paper_monitor_delivery"
# A post that was under way when a process died is in the history after this time, or never.
SHOWN_AFTER = timedelta(minutes=2)

_CHANNEL_ID = re.compile(r"[CGD][A-Z0-9]{7,}")
_MAX_PAGES = 10


class Bot:
    """Slack's Web API: posting, checking the token, and looking for a message in the history."""

    def __init__(self, token: str, base_url: str, allow_private: bool | None = None) -> None:
        self._api = WebApi(token, base_url, allow_private)
        # A thread that is gone, and the message that later parts reply to instead.
        self._new_threads: dict[str, str] = {}

    def post(self, message: Json, delivery: Delivery, commit_handoff: CommitHandoff) -> Outcome:
        """Post as a reply to the delivery's parent, if any. Raises TooLongError."""
        thread = delivery.parent.rpartition(":")[2]
        parent = self._new_threads.get(thread, thread)
        outcome = self._try_post(message, delivery, parent, commit_handoff)
        if outcome is None and thread:
            outcome = self._try_post(message, delivery, "", already)
            if outcome is not None and outcome.state is DeliveryState.SENT:
                self._new_threads[thread] = outcome.reference.rpartition(":")[2]
        return outcome or Outcome(
            DeliveryState.FAILED, "Slack finds no thread, where none was named"
        )

    def check(self) -> str:
        answer = self._api.call("auth.test")
        if isinstance(answer, Outcome):
            return answer.error
        if answer.data.get("ok") is not True:
            return read_refusal(answer).error
        scopes = answer.headers.get(SCOPES_HEADER)
        if scopes is not None and POSTING_SCOPE not in [s.strip() for s in scopes.split(",")]:
            return f"the app may not post: give it the scope {POSTING_SCOPE}, and install it again"
        return ""

    def team(self) -> str:
        """Return the id of the bot's workspace, "" where Slack does not say it."""
        answer = self._api.call("auth.test")
        return "" if isinstance(answer, Outcome) else str(answer.data.get("team_id", ""))

    def whisper(self, channel: str, user: str, text: str) -> str:
        """Say something that only one person in a channel sees; return the error, or ""."""
        whispered = {"channel": channel, "user": user, "text": text}
        answer = self._api.call("chat.postEphemeral", body=whispered)
        return answer.error if isinstance(answer, Outcome) else answer.code

    def _try_post(
        self, message: Json, delivery: Delivery, thread: str, commit_handoff: CommitHandoff
    ) -> Outcome | None:
        """Return the outcome, None when the thread is gone."""
        payload = {"message_id": delivery.message_id}
        metadata = {"event_type": METADATA_EVENT, "event_payload": payload}
        arguments = {
            "channel": delivery.parent.rpartition(":")[0] or delivery.recipient,
            "text": message["text"],
            "blocks": message["blocks"],
            **NOT_UNFURLED,
            **({"thread_ts": thread} if thread else {}),
            "metadata": metadata,
        }
        answer = self._api.call("chat.postMessage", commit_handoff, body=arguments)
        if isinstance(answer, Outcome):
            return answer
        if answer.code in _THREAD_GONE_CODES:
            return None
        if answer.status != 200 or answer.data.get("ok") is not True:
            return read_refusal(answer)
        if not answer.data.get("ts"):
            error = "Slack accepted the message but returned no timestamp (ts)"
            return Outcome(DeliveryState.UNKNOWN, error)
        reference = f"{answer.data.get('channel', '')}:{answer.data['ts']}"
        return Outcome(DeliveryState.SENT, reference=reference)

    def find(self, delivery: Delivery) -> Outcome | None:
        """Return SENT if the delivery is there, RETRY if it is not, None without an answer."""
        try:
            channel = self._channel_id(delivery)
            messages = self._recent_messages(channel, delivery)
            message = next((m for m in messages if _is_of(m, delivery)), None)
        except (AttributeError, LookupError, TypeError):
            return None
        if message is not None:
            return Outcome(DeliveryState.SENT, reference=f"{channel}:{message['ts']}")
        error = "it is not in the channel's history"
        return Outcome(DeliveryState.RETRY, error, retry_after=SHOWN_AFTER)

    def _channel_id(self, delivery: Delivery) -> str:
        """History takes no names. Raises LookupError for a channel that is not found."""
        channel = delivery.parent.rpartition(":")[0] or delivery.recipient
        if _CHANNEL_ID.fullmatch(channel):
            return channel
        form = {"types": "public_channel,private_channel", "exclude_archived": 1}
        for row in self._items("conversations.list", "channels", form):
            if row.get("name") == channel.lstrip("#"):
                return str(row["id"])
        raise LookupError(channel)

    def _recent_messages(self, channel: str, delivery: Delivery) -> Iterator[Mapping[str, Any]]:
        """Yield what was posted since the delivery was created: its thread, then the channel.

        Our calendar may have been moved, Slack's has not: hence the earlier of the two times.
        """
        oldest = str(min(delivery.created_at.timestamp(), time.time()) - 3600)
        form = {"channel": channel, "oldest": oldest}
        thread = delivery.parent.rpartition(":")[2]
        if thread:
            replies = {**form, "ts": self._new_threads.get(thread, thread)}
            yield from self._items("conversations.replies", "messages", replies)
        yield from self._items("conversations.history", "messages", form)

    def _items(self, method: str, key: str, form: Json) -> Iterator[Mapping[str, Any]]:
        """Yield all items. Raises LookupError on any error, and when there are too many pages."""
        cursor: Json = {}
        for _ in range(_MAX_PAGES):
            # The methods that read take no JSON.
            page = {**form, "limit": 200, "include_all_metadata": 1, **cursor}
            answer = self._api.call(method, form=page)
            if isinstance(answer, Outcome):
                raise LookupError(method)
            if answer.code in _THREAD_GONE_CODES:
                return
            if answer.data.get("ok") is not True:
                raise LookupError(answer.code)
            yield from answer.data.get(key, ())
            following = (answer.data.get("response_metadata") or {}).get("next_cursor", "")
            if not following:
                return
            cursor = {"cursor": following}
        raise LookupError(method)


def _is_of(message: Mapping[str, Any], delivery: Delivery) -> bool:
    payload = (message.get("metadata") or {}).get("event_payload") or {}
    return payload.get("message_id") == delivery.message_id


class Webhook:
    """An incoming webhook: no threads, no history, and errors as bare words."""

    def __init__(self, url: str, allow_private: bool | None = None) -> None:
        self._url = url
        self._allow_private = allow_private

    def post(self, message: Json, delivery: Delivery, commit_handoff: CommitHandoff) -> Outcome:
        """Post a message of its own. Raises TooLongError."""
        from monitor.channels.slack import clients  # the SDK, without which health checks do

        post = _posting(self._url, self._allow_private, commit_handoff)
        try:
            said = clients.post_to_webhook(post, self._url, {**message, **NOT_UNFURLED})
        except clients.NoAnswerError as none:
            return none.outcome
        host = host_of(self._url)
        answer = Answer(said.status_code, said.headers, _code(said.body.strip()), {}, host)
        if answer.status == 200 and answer.code == "ok":
            return Outcome(DeliveryState.SENT)
        return read_refusal(answer, webhook=True)


# ── what answers mean: the codes are those of chat.postMessage ────────────────────────

# The token or the app is at fault: nothing can be posted until the operator repairs it.
_APP_CODES = word_set(
    "invalid_auth not_authed token_revoked token_expired account_inactive missing_scope "
    "no_permission team_access_not_granted ekm_access_denied org_login_required "
    "not_allowed_token_type two_factor_setup_required accesslimited team_disabled"
)
_RATE_LIMIT_CODES = word_set("ratelimited rate_limited request_timeout")
_UNCLEAR_CODES = word_set("fatal_error internal_error service_unavailable")
_THREAD_GONE_CODES = word_set(
    "thread_not_found message_not_found invalid_thread_ts cannot_reply_to_message"
)
_TOO_LONG_CODES = word_set("msg_blocks_too_long msg_too_long")
_FORMAT_CODES = word_set(
    "invalid_payload no_text invalid_arguments invalid_blocks invalid_blocks_format"
)
_HINTS = {
    "not_in_channel": "invite the app to the channel: /invite @its-name",
    "channel_not_found": "no such channel, or a private one that the app is not in",
    "missing_scope": "the app needs the scope chat:write",
    "invalid_auth": "slack.token is wrong",
}


class TooLongError(Exception):
    """Slack refused the message for its size: nothing was posted."""


def read_refusal(answer: Answer, *, webhook: bool = False) -> Outcome:
    """Return what a refusal means; all of a webhook concern the channel. Raises TooLongError."""
    code = answer.code
    named = "the webhook" if webhook else "slack.base_url"
    no_code = f"{answer.host} answered HTTP {answer.status}, which is not an answer of Slack"
    reason = f"{code} ({_HINTS[code]})" if code in _HINTS else code or f"{no_code}; check {named}"
    if code in _TOO_LONG_CODES:
        raise TooLongError
    if answer.status == 429 or code in _RATE_LIMIT_CODES:
        wait = wait_after(answer.headers)
        return Outcome(DeliveryState.RETRY, f"Slack rate limit: {reason}", retry_after=wait)
    if answer.status in REDIRECTS:
        return redirected("Slack", answer.status)
    if answer.status >= 500 or code in _UNCLEAR_CODES or (answer.status < 400 and not code):
        return Outcome(DeliveryState.UNKNOWN, f"Slack answered {answer.status} {code}".rstrip())
    if code in _FORMAT_CODES:
        return Outcome(DeliveryState.FAILED, f"Slack rejected the format of this message: {reason}")
    if not code or webhook or code in _APP_CODES:
        return down(f"Slack refused to post: {reason}")
    return Outcome(DeliveryState.FAILED, f"Slack refused to post: {reason}")
