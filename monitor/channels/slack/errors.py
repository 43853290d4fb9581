"""What Slack's answers mean for a delivery: pure. The codes are those of chat.postMessage."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from monitor.model import DeliveryState, Outcome


def _codes(words: str) -> frozenset[str]:
    return frozenset(words.split())


# The token or the app is at fault: nothing can be posted anywhere until somebody mends it.
_LINE = _codes(
    "invalid_auth not_authed token_revoked token_expired account_inactive missing_scope "
    "no_permission team_access_not_granted ekm_access_denied org_login_required "
    "not_allowed_token_type two_factor_setup_required accesslimited team_disabled"
)
_LATER = _codes("ratelimited rate_limited request_timeout")
_UNCLEAR = _codes("fatal_error internal_error service_unavailable")
_GONE = _codes("thread_not_found message_not_found invalid_thread_ts cannot_reply_to_message")
_TOO_LONG = _codes("msg_blocks_too_long msg_too_long")
_FORM = _codes("invalid_payload no_text invalid_arguments invalid_blocks invalid_blocks_format")
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
_REDIRECTS = (301, 302, 307, 308)
_CODE = re.compile(r"[a-z][a-z0-9_]{2,60}")
_DEFAULT_WAIT = timedelta(seconds=30)
_SECONDS = re.compile(r"[0-9]{1,9}")


class Answer(NamedTuple):
    """What came back: `code` is Slack's word for an error, or whatever stood in its place."""

    status: int
    headers: Mapping[str, str]
    code: str
    data: Mapping[str, Any]


class TooLongError(Exception):
    """Slack refused the message for its size: nothing was posted."""


def is_gone(answer: Answer) -> bool:
    """Say whether the thread to reply to is not there any more."""
    return answer.code in _GONE


def posted(data: Mapping[str, Any]) -> Outcome:
    if not data.get("ts"):
        return Outcome(
            DeliveryState.UNKNOWN, "Slack accepted the message but returned no timestamp (ts)"
        )
    return Outcome(DeliveryState.SENT, reference=f"{data.get('channel', '')}:{data['ts']}")


def refused(answer: Answer, *, webhook: bool = False) -> Outcome:
    """Say what an answer that is no success means; a webhook's refusals are all its line's.

    Raises TooLongError.
    """
    code = answer.code if _CODE.fullmatch(answer.code) else ""
    said = f"{code} ({_HINTS[code]})" if code in _HINTS else code or f"HTTP {answer.status}"
    if code in _TOO_LONG:
        raise TooLongError
    if answer.status == 429 or code in _LATER:
        return Outcome(DeliveryState.RETRY, f"Slack rate limit: {said}", retry_after=_wait(answer))
    if answer.status in _REDIRECTS:
        error = f"HTTP {answer.status}: redirects are refused; check for a proxy or gateway"
        return Outcome(DeliveryState.RETRY, error, channel_down=True)
    if answer.status >= 500 or code in _UNCLEAR or (answer.status < 400 and not code):
        return Outcome(DeliveryState.UNKNOWN, f"Slack sent an unintelligible response: {said}")
    if code in _FORM:
        return Outcome(DeliveryState.FAILED, f"Slack rejected the format of this message: {said}")
    if not code or webhook or code in _LINE:
        return Outcome(DeliveryState.RETRY, f"Slack refused to post: {said}", channel_down=True)
    return Outcome(DeliveryState.FAILED, f"Slack refused to post: {said}")


def _wait(answer: Answer) -> timedelta:
    headers = {name.lower(): value for name, value in answer.headers.items()}
    asked = headers.get("retry-after", "").strip()
    return timedelta(seconds=max(int(asked), 1)) if _SECONDS.fullmatch(asked) else _DEFAULT_WAIT
