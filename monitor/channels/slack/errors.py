"""What Slack's answers mean for a delivery: pure. The codes are those of chat.postMessage."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, NamedTuple
from urllib.error import URLError

from monitor.model import DeliveryState, Outcome
from monitor.text import clean


def _codes(words: str) -> frozenset[str]:
    return frozenset(words.split())


# The token or the app is at fault: nothing can be posted anywhere until somebody repairs it.
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


class Answer(NamedTuple):
    """What came back: `code` is Slack's word for an error, or whatever stood in its place."""

    status: int
    headers: Mapping[str, str]
    code: str
    data: Mapping[str, Any]


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
