"""The response to a request: its body, decoded under a cap, and what may be kept of its headers."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import BinaryIO

import httpcore
import httpx

from monitor.errors import FetchError
from monitor.http.cache_headers import lifetime
from monitor.http.dialing import TooLateError, Watch
from monitor.http.request import Request

MAX_RATIO = 100  # a feed compresses 5 to 20 times
RATIO_MATTERS_FROM = 1024 * 1024
PIECE = 1024 * 1024


class Decoder:
    """Decodes as it comes and stops at the cap: a compression bomb is small on the wire.

    What is decoded goes into `file` where there is one, else into `content`.
    """

    def __init__(self, encoding: str, cap: int, file: BinaryIO | None = None) -> None:
        encoding = encoding.strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise FetchError(f"the answer is encoded as {encoding[:40]!r}, which was not requested")
        self._gzip = zlib.decompressobj(wbits=31) if "gzip" in encoding else None
        self._cap = cap
        self._file = file
        self.content = bytearray()
        self.size = 0
        self.received = 0

    @property
    def is_complete(self) -> bool:
        return self._gzip is None or self._gzip.eof

    def feed(self, chunk: bytes) -> None:
        self.received += len(chunk)
        # Compressed blocks may have no content (RFC 1951, 3.2.4), any number of them.
        if self.received > self._cap + PIECE:
            raise FetchError(f"the answer is larger than {self._cap:,} bytes")
        while chunk:
            chunk = self._take(chunk)

    def _take(self, chunk: bytes) -> bytes:
        """Decode a chunk; return what belongs to a further member of the gzip file."""
        if self._gzip is None:
            self._keep(chunk)
            return b""
        if self._gzip.eof:
            self._gzip = zlib.decompressobj(wbits=31)
        try:
            left = self._cap - self.size + 1  # a byte over the cap, and of a file at most a piece
            self._keep(self._gzip.decompress(chunk, min(left, PIECE) if self._file else left))
        except zlib.error as fault:
            raise FetchError("the answer's compression is broken") from fault
        return self._gzip.unused_data or self._gzip.unconsumed_tail

    def _keep(self, decoded: bytes) -> None:
        self.size += len(decoded)
        if self.size > self._cap:
            raise FetchError(f"the answer is larger than {self._cap:,} bytes")
        if self.size > max(RATIO_MATTERS_FROM, self.received * MAX_RATIO):
            raise FetchError(f"the answer unpacks to over {MAX_RATIO} times its size")
        if self._file is None:
            self.content += decoded
            return
        try:
            self._file.write(decoded)
        except OSError as fault:
            raise FetchError(f"the answer cannot be saved: {fault.strerror}") from fault


LEAST_RATE = 200  # bytes a second
RATE_CHECKED_AFTER = 10  # seconds
MAX_REFUSAL_BYTES = 64 * 1024  # of the body of a refusal

NETWORK_ERRORS = (
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
    """A usable answer."""

    # 200, 304 (not modified, without content), or 206 for the rest of a file. For a form also 400,
    # 401 and 403, whose content explains them (RFC 6749, 5.2).
    status: int
    # The address after all redirects.
    url: str
    # The decoded body; b"" if a file got it.
    content: bytes = b""
    # The header, "" where it is missing.
    content_type: str = ""
    # `etag` and `last_modified`, {} when they must not be kept; of a 304 those that were sent.
    validators: Mapping[str, str] = field(default_factory=dict, hash=False)
    # False when the connection ended before the body did.
    complete: bool = True
    # How long the answer says that it stays as it is, a day at most.
    lifetime: timedelta = timedelta(0)
    # A strong ETag or the Last-Modified, by which the rest of the body can be asked for; "" for
    # none.
    tag: str = ""
    # The server's clock (Date), only in the answer to a form.
    date: str = ""


def headers_of(response: httpcore.Response) -> httpx.Headers:
    return httpx.Headers(response.headers)


def is_rest(request: Request, response: httpcore.Response) -> bool:
    """Return whether an answer begins where the file ends: not every server respects Range."""
    headers = headers_of(response)
    span = _content_range(headers)
    same = headers.get("etag", request.tag) == request.tag or request.tag[:1] != '"'
    plain = headers.get("content-encoding", "identity") == "identity"
    return bool(span and int(span["begin"]) == request.begin and same and plain)


def _content_range(headers: Mapping[str, str]) -> re.Match[str] | None:
    return _CONTENT_RANGE.fullmatch(headers.get("content-range", "").strip())


def read_response(
    request: Request, response: httpcore.Response, watch: Watch, now: float
) -> Response:
    headers = headers_of(response)
    begin = request.begin if response.status == 206 else 0
    if request.file:
        request.file.seek(begin)
        request.file.truncate()
    encoding = headers.get("content-encoding", "")
    body = Decoder(encoding, request.max_bytes - begin, request.file)
    complete = _read_body(response, body, watch)
    if begin and (span := _content_range(headers)) and span["size"] != "*":
        complete = complete and begin + body.size == int(span["size"])
    if not complete and not body.size and not begin:
        raise FetchError(f"{request.url.host} closed the connection before it had answered")
    return Response(
        status=response.status,
        url=str(request.url.copy_with(userinfo=b"")),
        content=bytes(body.content),
        content_type=headers.get("content-type", ""),
        validators=_validators(headers) if complete else {},
        complete=complete,
        lifetime=lifetime(headers, now) if complete else timedelta(0),
        tag="" if encoding not in ("", "identity") else _tag(headers),
    )


def _tag(headers: Mapping[str, str]) -> str:
    """Return the strong validator of an answer (RFC 9110, 13.1.5), "" where there is none."""
    etag = headers.get("etag", "")
    return etag if etag.startswith('"') else "" if etag else headers.get("last-modified", "")


def _read_body(response: httpcore.Response, body: Decoder, watch: Watch) -> bool:
    """Read to the end; return False when the connection ended before the body did."""
    began = watch.monotonic()
    try:
        for chunk in response.iter_stream():
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
    values = {"etag": headers.get("etag"), "last_modified": headers.get("last-modified")}
    return {name: value for name, value in values.items() if value}


def read_short_body(
    response: httpcore.Response, watch: Watch, most: int = MAX_REFUSAL_BYTES
) -> bytes:
    """Return a body of at most `most` bytes, b"" where it is longer or cannot be read.

    Of one that breaks off, what came before is returned.
    """
    try:
        body = Decoder(headers_of(response).get("content-encoding", ""), most)
        _read_body(response, body, watch)
    except (FetchError, TooLateError, *NETWORK_ERRORS):
        return b""
    return bytes(body.content)
