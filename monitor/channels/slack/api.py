"""Slack's Web API and incoming webhooks: posting, looking in the history, what answers mean.

The SDK's two clients follow redirects, by which urllib would take the token along to any other
host, and have no setting for it: each client's one method that opens a request is replaced.
"""

from __future__ import annotations

import logging
import re
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from email.message import Message
from http.client import HTTPException, HTTPResponse
from typing import Any, NamedTuple, cast
from urllib.error import URLError
from urllib.request import HTTPRedirectHandler, HTTPSHandler, ProxyHandler, Request, build_opener

from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.signature import SignatureVerifier
from slack_sdk.web.client import WebClient
from slack_sdk.webhook import WebhookClient, WebhookResponse

from monitor.model import Delivery, DeliveryState, Json, Outcome
from monitor.text import clean

# An answer has a few thousand bytes; a page of history some hundred thousand.
MAX_ANSWER_BYTES = 16 * 1024 * 1024

# The SDK logs whole requests, webhook URLs among them, at DEBUG: its logger is silenced.
SILENT = logging.getLogger("monitor.channels.slack.api.sdk")
SILENT.setLevel(logging.CRITICAL + 1)


class Answer(NamedTuple):
    """What came back: `code` is Slack's word for an error, or whatever stood in its place."""

    status: int
    headers: Mapping[str, str]
    code: str
    data: Mapping[str, Any]


class _NoRedirects(HTTPRedirectHandler):
    """Leave a redirect as it is: an HTTPError with its status, which the SDK returns."""

    def redirect_request(self, *_: Any) -> None:
        return None


class _Opened(NamedTuple):
    status: int
    headers: Message
    body: str


def _open(
    request: Request, proxy: str | None, context: ssl.SSLContext | None, timeout: int
) -> _Opened:
    handlers = [_NoRedirects(), HTTPSHandler(context=context)]
    if proxy:
        handlers.append(ProxyHandler({"http": proxy, "https": proxy}))
    with cast("HTTPResponse", build_opener(*handlers).open(request, timeout=timeout)) as response:
        charset = response.headers.get_content_charset() or "utf-8"
        body = response.read(MAX_ANSWER_BYTES).decode(charset)
        return _Opened(response.status, response.headers, body)


class ApiClient(WebClient):
    """slack_sdk's client of the Web API; a redirect is an answer with its status."""

    def __init__(self, token: str, base_url: str, timeout: int) -> None:
        super().__init__(
            token, base_url=base_url, timeout=timeout, retry_handlers=[], logger=SILENT
        )

    def ask(
        self,
        method: str,
        *,
        json: dict[str, Any] | None = None,
        params: dict[str, Any] | None = None,
    ) -> Answer:
        """Call a method with `json` or `params`; a refusal is an answer, too."""
        try:
            response = self.api_call(method, json=json, params=params)
        except SlackApiError as error:
            response = error.response
        data = response.data if isinstance(response.data, dict) else {}
        code = "" if data.get("ok") is True else str(data.get("error", ""))
        return Answer(response.status_code, response.headers, code, data)

    def _perform_urllib_http_request_internal(self, url: str, req: Request) -> dict[str, Any]:
        return _open(req, self.proxy, self.ssl, self.timeout)._asdict()


class HookClient(WebhookClient):
    """slack_sdk's client of an incoming webhook; a redirect is an answer with its status."""

    def __init__(self, url: str, timeout: int) -> None:
        super().__init__(url, timeout, retry_handlers=[], logger=SILENT)

    def ask(self, body: Json) -> Answer:
        """Post a message; Slack answers with one word."""
        response = self.send_dict(dict(body))
        return Answer(response.status_code, response.headers, response.body.strip(), {})

    def _perform_http_request_internal(self, url: str, req: Request) -> WebhookResponse:
        answer = _open(req, self.proxy, self.ssl, self.timeout)
        return WebhookResponse(
            url=url, status_code=answer.status, body=answer.body, headers=dict(answer.headers)
        )


# ── posting ───────────────────────────────────────────────────────────────────────────


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
        answer = self._call("auth.test")
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
        answer = self._call("auth.test")
        return "" if isinstance(answer, Outcome) else str(answer.data.get("team_id", ""))

    def whisper(self, channel: str, user: str, text: str) -> str:
        """Say something that only one person in a channel sees; return the error, or ""."""
        answer = self._call("chat.postEphemeral", channel=channel, user=user, text=text)
        return answer.error if isinstance(answer, Outcome) else answer.code

    def find(self, delivery: Delivery) -> Outcome | None:
        """Return SENT if the delivery is there, RETRY if it is not, None without an answer."""
        thread = delivery.parent.rpartition(":")[2]
        return find_delivery(self._client, delivery, self._new_threads.get(thread, thread))

    def _call(self, method: str, **arguments: Any) -> Answer | Outcome:
        return send_request(lambda: self._client.ask(method, json=arguments), self._token)

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
        answer = self._call("chat.postMessage", **arguments)
        if isinstance(answer, Outcome):
            return answer
        if is_thread_gone(answer):
            return None
        if answer.status == 200 and answer.data.get("ok") is True:
            return read_success(answer.data)
        return read_refusal(answer)


class Webhook:
    """An incoming webhook: no threads, no history, and errors as bare words."""

    def __init__(self, url: str, timeout: int) -> None:
        self._url = url
        self._client = HookClient(url, timeout)

    def post(self, message: Json, delivery: Delivery, thread: str, last: bool) -> Outcome:
        body = {**message, "unfurl_links": False, "unfurl_media": False}
        answer = send_request(lambda: self._client.ask(body), self._url)
        if isinstance(answer, Outcome):
            return answer
        if answer.status == 200 and answer.code == "ok":
            return Outcome(DeliveryState.SENT)
        return read_refusal(answer, webhook=True)


# ── looking in the history ────────────────────────────────────────────────────────────

METADATA_EVENT = "paper_monitor_delivery"
# What was under way when a process died is in the history after this time, or never.
SHOWN_AFTER = timedelta(minutes=2)

_CHANNEL_ID = re.compile(r"[CGD][A-Z0-9]{7,}")
_MAX_PAGES = 10


def find_delivery(client: ApiClient, delivery: Delivery, thread: str) -> Outcome | None:
    """Return SENT if the delivery is there, RETRY if it is not, None without an answer."""
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


# ── what answers mean: the codes are those of chat.postMessage ────────────────────────


def _codes(words: str) -> frozenset[str]:
    return frozenset(words.split())


# The token or the app is at fault: nothing can be posted until the operator repairs it.
_APP_CODES = _codes(
    "invalid_auth not_authed token_revoked token_expired account_inactive missing_scope "
    "no_permission team_access_not_granted ekm_access_denied org_login_required "
    "not_allowed_token_type two_factor_setup_required accesslimited team_disabled"
)
_RATE_LIMIT_CODES = _codes("ratelimited rate_limited request_timeout")
_UNCLEAR_CODES = _codes("fatal_error internal_error service_unavailable")
_THREAD_GONE_CODES = _codes(
    "thread_not_found message_not_found invalid_thread_ts cannot_reply_to_message"
)
_TOO_LONG_CODES = _codes("msg_blocks_too_long msg_too_long")
_FORMAT_CODES = _codes(
    "invalid_payload no_text invalid_arguments invalid_blocks invalid_blocks_format"
)
_HINTS = {
    "not_in_channel": "invite the app to the channel: /invite @its-name",
    "channel_not_found": "no such channel, or a private one that the app is not in",
    "is_archived": "the channel is archived",
    "missing_scope": "the app needs the scope chat:write",
    "invalid_auth": "slack.token is wrong",
    "token_revoked": "slack.token was revoked",
    "no_service": "the webhook was removed",
}
# The request was not carried out where it arrived (RFC 9110, 15.4); 303 may follow one that was.
_REDIRECT_STATUSES = (301, 302, 307, 308)
_CODE = re.compile(r"[a-z][a-z0-9_]{2,60}")
_DEFAULT_RETRY_AFTER = timedelta(seconds=30)
_SECONDS = re.compile(r"[0-9]{1,9}")


class TooLongError(Exception):
    """Slack refused the message for its size: nothing was posted."""


def is_thread_gone(answer: Answer) -> bool:
    """Return whether the thread to reply to no longer exists."""
    return answer.code in _THREAD_GONE_CODES


def send_request(request: Callable[[], Answer], secret: str) -> Answer | Outcome:
    """Send a request; where no answer came, return what that means.

    urllib wraps what fails up to the last byte of the request into URLError: Slack cannot have
    acted on half a request. Anything later, and anything unforeseen, is unknown.
    """
    try:
        return request()
    except URLError as error:
        reason = _describe(error.reason, secret)
        return Outcome(DeliveryState.RETRY, f"Slack cannot be reached: {reason}", channel_down=True)
    except Exception as error:
        return Outcome(DeliveryState.UNKNOWN, f"Slack did not respond: {_describe(error, secret)}")


def read_success(data: Mapping[str, Any]) -> Outcome:
    if not data.get("ts"):
        return Outcome(
            DeliveryState.UNKNOWN, "Slack accepted the message but returned no timestamp (ts)"
        )
    return Outcome(DeliveryState.SENT, reference=f"{data.get('channel', '')}:{data['ts']}")


def read_refusal(answer: Answer, *, webhook: bool = False) -> Outcome:
    """Return what an answer that is no success means; a webhook's refusals all concern the channel.

    Raises TooLongError.
    """
    code = answer.code if _CODE.fullmatch(answer.code) else ""
    reason = f"{code} ({_HINTS[code]})" if code in _HINTS else code or f"HTTP {answer.status}"
    if code in _TOO_LONG_CODES:
        raise TooLongError
    if answer.status == 429 or code in _RATE_LIMIT_CODES:
        wait = _retry_after(answer)
        return Outcome(DeliveryState.RETRY, f"Slack rate limit: {reason}", retry_after=wait)
    if answer.status in _REDIRECT_STATUSES:
        error = f"HTTP {answer.status}: redirects are refused; check for a proxy or gateway"
        return Outcome(DeliveryState.RETRY, error, channel_down=True)
    if answer.status >= 500 or code in _UNCLEAR_CODES or (answer.status < 400 and not code):
        return Outcome(DeliveryState.UNKNOWN, f"Slack sent an unintelligible response: {reason}")
    if code in _FORMAT_CODES:
        return Outcome(DeliveryState.FAILED, f"Slack rejected the format of this message: {reason}")
    if not code or webhook or code in _APP_CODES:
        return Outcome(DeliveryState.RETRY, f"Slack refused to post: {reason}", channel_down=True)
    return Outcome(DeliveryState.FAILED, f"Slack refused to post: {reason}")


def _retry_after(answer: Answer) -> timedelta:
    headers = {name.lower(): value for name, value in answer.headers.items()}
    seconds = headers.get("retry-after", "").strip()
    if not _SECONDS.fullmatch(seconds):
        return _DEFAULT_RETRY_AFTER
    return timedelta(seconds=max(int(seconds), 1))


def _describe(error: object, secret: str) -> str:
    message = clean(str(error)) or type(error).__name__
    return message.replace(secret, "********")[:300]


# ── requests from Slack ───────────────────────────────────────────────────────────────


def is_signed(secret: str, body: bytes, headers: Mapping[str, str]) -> bool:
    """Return whether the signature is that of these bytes; never raises.

    The SDK raises for a time that is not a number or a huge one, and for bytes that are not UTF-8.
    """
    try:
        return SignatureVerifier(secret).is_valid_request(body, dict(headers))
    except (OverflowError, TypeError, ValueError):
        return False
