"""The answer to a request: its body, read under limits, and what may be kept of its headers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

import httpcore
import httpx

from monitor.errors import FetchError
from monitor.http.body import Decoder
from monitor.http.cache_headers import lifetime
from monitor.http.dialing import TooLateError, Watch
from monitor.http.request import Request

LEAST_RATE = 200  # bytes a second
RATE_CHECKED_AFTER = 10  # seconds
MAX_REFUSAL_BYTES = 64 * 1024  # of the body of a refusal

NETWORK_ERRORS = (
    httpx.HTTPError,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
    OSError,
)

_CONTENT_RANGE = re.compile(r"bytes (?P<begin>\d{1,18})-(?P<last>\d{1,18})/(?P<size>\d{1,18}|\*)")


@dataclass(frozen=True, slots=True)
class Response:
    """A usable answer: status 200, or 304 with `not_modified` and no content.

    `content` is decoded; `complete` is false when the connection ended before the body did.
    `validators` (etag, last_modified) are empty when they must not be kept. `lifetime` is for how
    long it says that it stays as it is; `tag` names it surely enough to ask for the rest of it.
    `date` is the server's clock, for the answer to a form.
    """

    status: int
    url: str
    content: bytes = b""
    content_type: str = ""
    validators: Mapping[str, str] = field(default_factory=dict, hash=False)
    not_modified: bool = False
    complete: bool = True
    lifetime: timedelta = timedelta(0)
    tag: str = ""
    date: str = ""


def is_rest(request: Request, response: httpx.Response) -> bool:
    """Return whether an answer begins where the file ends: not every server respects Range."""
    span = _content_range(response)
    same = response.headers.get("etag", request.tag) == request.tag or request.tag[:1] != '"'
    plain = response.headers.get("content-encoding", "identity") == "identity"
    return bool(span and int(span["begin"]) == request.begin and same and plain)


def _content_range(response: httpx.Response) -> re.Match[str] | None:
    return _CONTENT_RANGE.fullmatch(response.headers.get("content-range", "").strip())


def read_response(request: Request, response: httpx.Response, watch: Watch, now: float) -> Response:
    begin = request.begin if response.status_code == 206 else 0
    if request.file:
        request.file.seek(begin)
        request.file.truncate()
    encoding = response.headers.get("content-encoding", "")
    body = Decoder(encoding, request.max_bytes - begin, request.file)
    complete = _read_body(response, body, watch)
    if begin and (span := _content_range(response)) and span["size"] != "*":
        complete = complete and begin + body.size == int(span["size"])
    if not complete and not body.size and not begin:
        raise FetchError(f"{request.url.host} closed the connection before it had answered")
    return Response(
        status=response.status_code,
        url=str(request.url.copy_with(userinfo=b"")),
        content=bytes(body.content),
        content_type=response.headers.get("content-type", ""),
        validators=_validators(response.headers) if complete else {},
        complete=complete,
        lifetime=lifetime(response.headers, now) if complete else timedelta(0),
        tag="" if encoding not in ("", "identity") else _tag(response.headers),
    )


def _tag(headers: Mapping[str, str]) -> str:
    """Return the strong validator of an answer (RFC 9110, 13.1.5), "" where there is none."""
    etag = headers.get("etag", "")
    return etag if etag.startswith('"') else "" if etag else headers.get("last-modified", "")


def _read_body(response: httpx.Response, body: Decoder, watch: Watch) -> bool:
    """Read to the end; return False when the connection ended before the body did."""
    began = watch.monotonic()
    try:
        for chunk in response.iter_raw():
            body.feed(chunk)
            elapsed = watch.monotonic() - began
            if elapsed > RATE_CHECKED_AFTER and body.received < LEAST_RATE * elapsed:
                raise FetchError(f"the answer came at less than {LEAST_RATE} bytes a second")
    except (httpcore.RemoteProtocolError, httpcore.ReadError):
        return False
    return body.is_complete


def _validators(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the validators to keep: none where `Expires: 0` says that the answer is stale."""
    if headers.get("expires", "").strip() == "0":
        return {}
    validators = {
        "etag": headers.get("etag", ""),
        "last_modified": headers.get("last-modified", ""),
    }
    return {name: value for name, value in validators.items() if value}


def read_refusal_body(response: httpx.Response, watch: Watch) -> bytes:
    """Return the beginning of the body that came with a refusal, b"" where it cannot be read."""
    try:
        body = Decoder(response.headers.get("content-encoding", ""), MAX_REFUSAL_BYTES)
        _read_body(response, body, watch)
    except (FetchError, TooLateError, *NETWORK_ERRORS):
        return b""
    return bytes(body.content)
