"""Whether a request came from Slack: signed with the app's secret in the last five minutes."""

from __future__ import annotations

from collections.abc import Mapping

from slack_sdk.signature import SignatureVerifier


def is_signed(secret: str, body: bytes, headers: Mapping[str, str]) -> bool:
    """Return whether the signature is that of these bytes, whatever somebody may have sent.

    The SDK raises for a time that is not a number or a huge one, and for bytes that are not UTF-8.
    """
    try:
        return SignatureVerifier(secret).is_valid_request(body, dict(headers))
    except (OverflowError, TypeError, ValueError):
        return False
