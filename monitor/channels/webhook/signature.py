"""The signature of a webhook, after Standard Webhooks 1.0 (https://www.standardwebhooks.com).

The id, the time and the bytes of the body are signed, so that a receiver recognises a body that was
changed on its way, and an old post that another machine repeats.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable, Mapping

PREFIX = "whsec_"
ID = "webhook-id"
TIMESTAMP = "webhook-timestamp"
SIGNATURE = "webhook-signature"
# Bytes of a key, as the specification asks for.
_SHORTEST = 24
_LONGEST = 64


def key_of(secret: str) -> bytes:
    """Return the key in `whsec_...`. Raises ValueError, which does not show it."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(PREFIX) or not _SHORTEST <= len(key) <= _LONGEST:
        raise ValueError(
            f"should be {PREFIX} and {_SHORTEST} to {_LONGEST} bytes in base64; "
            f'make one with: echo "{PREFIX}$(openssl rand -base64 32)"'
        )
    return key


def signed_headers(
    keys: Iterable[bytes], message_id: str, seconds: int, body: bytes
) -> Mapping[str, str]:
    """Return the headers of a message that is sent at `seconds` (Unix time); all keys sign."""
    content = b"%b.%d.%b" % (message_id.encode(), seconds, body)
    signatures = " ".join(f"v1,{_sign(key, content)}" for key in keys)
    headers = {ID: message_id, TIMESTAMP: str(seconds)}
    return headers | ({SIGNATURE: signatures} if signatures else {})


def _sign(key: bytes, content: bytes) -> str:
    return base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()
