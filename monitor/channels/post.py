"""Posting JSON or text to an address: the one way of every channel that is one.

A post has two phases. Until the last byte leaves no server can have acted on it, so that it may be
posted again; after that only an answer says what became of it, and without one it is unknown.
Redirects are not followed: a message and its secrets stay with the server that was named. No
error shows what may be secret: of an address only its host.
"""

from __future__ import annotations

import json
import re
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from urllib.parse import unquote

import httpcore
import httpx

from monitor.channels.base import TAKEN_OVER, down
from monitor.errors import FetchError
from monitor.http.addresses import MASK, redact_url
from monitor.http.cache_headers import asked_wait
from monitor.http.client import TIMEOUTS, describe
from monitor.http.dialing import Guard, TooLateError, Watch, core_url, open_pool, resolve
from monitor.http.request import Request, basic_auth, check_address, parse_url
from monitor.http.response import NETWORK_ERRORS, headers_of, read_short_body
from monitor.model import DeliveryState, Json, Outcome
from monitor.text import clean

# From dialling to the last byte of the answer.
DEADLINE = timedelta(seconds=30)
# Of an answer that is longer nothing is read but its status.
MAX_ANSWER_BYTES = 64 * 1024
# After a 429 that does not say when to come again.
DEFAULT_WAIT = timedelta(seconds=30)
USER_AGENT = "paper-monitor"
# Nothing was posted where these came from (RFC 9110, 15.4); 303 may follow what was.
REDIRECTS = (301, 302, 307, 308)

# Shorter parts of addresses are no secrets, but words such as `api` and `hooks`.
_LEAST_SECRET = 6
_PIECE = 64 * 1024
# Characters of an answer: in an error, and where secrets are looked for.
_SAID = 200
_READ = 2_000


# Headers, or what makes them of the bytes of the message, such as a signature.
Headers = Mapping[str, str] | Callable[[bytes], Mapping[str, str]]


def encode(message: Json | str) -> bytes:
    """Return the bytes of a message as they are posted."""
    text = message if isinstance(message, str) else json.dumps(message)
    return text.encode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a server that had the whole message, or refused to take it.

    Names of headers are found in any case. `text` is "" where the answer is too long or cannot be
    read; `said` is its beginning with all secrets masked, for errors.
    """

    status: int
    headers: Mapping[str, str]
    text: str
    said: str
    host: str


def post(
    url: str,
    message: Json | str,
    commit_handoff: Callable[[], bool],
    *,
    headers: Headers | None = None,
    allow_private: bool = False,
    deadline: timedelta = DEADLINE,
    method: str = "POST",
) -> Outcome:
    """Post JSON or text, and return what became of it by the status of the answer alone.

    `headers` may hold secrets, may be made of the bytes of the message, and replace those that are
    sent by default. `allow_private` permits the host and port of the address to be in a private
    network, as for a source.
    """
    answer = post_for_answer(
        url,
        message,
        commit_handoff,
        headers=headers,
        allow_private=allow_private,
        deadline=deadline,
        method=method,
    )
    return answer if isinstance(answer, Outcome) else outcome_of(answer)


def post_for_answer(
    url: str,
    message: Json | str,
    commit_handoff: Callable[[], bool] = lambda: True,
    *,
    headers: Headers | None = None,
    allow_private: bool = False,
    deadline: timedelta = DEADLINE,
    max_bytes: int = MAX_ANSWER_BYTES,
    method: str = "POST",
) -> Answer | Outcome:
    """Post JSON or text, and return the answer; without one, the outcome.

    `commit_handoff` is called when the server is connected, before any byte of the message leaves.
    """
    watch = Watch(time.monotonic, deadline.total_seconds())
    body = _Body(message, commit_handoff, watch)
    headers = headers(body.content) if callable(headers) else headers or {}
    secrets = _secrets_of(url, headers)
    host = host_of(url)
    try:
        with _exchange(method, url, body, watch, headers, allow_private) as response:
            text = read_short_body(response, watch, max_bytes).decode("utf-8", "replace")
            answer_headers = headers_of(response)
            is_page = "html" in answer_headers.get("content-type", "")
            said = "" if is_page else _mask(clean(text[:_READ]), secrets)[:_SAID]
            answer = Answer(response.status, answer_headers, text, said, host)
    except _TakenOverError:
        return TAKEN_OVER
    except (FetchError, TooLateError, *NETWORK_ERRORS) as error:
        reason = _mask(_reason(error).replace(redact_url(url), host), secrets)
        if body.is_sent:
            return Outcome(DeliveryState.UNKNOWN, f"{host} did not answer: {reason}")
        return down(f"{host} cannot be reached: {reason}")
    if not body.is_sent and not 300 <= answer.status < 500:
        return down(f"{host} answered {answer.status} before it had the whole message")
    return answer


def host_of(url: str) -> str:
    """Return the host and port of an address: all of it that may be shown."""
    return redact_url(url).partition("://")[2].partition("/")[0] or "this address"


def outcome_of(answer: Answer) -> Outcome:
    """Return what an answer means by its status alone."""
    status = answer.status
    error = f"{answer.host} answered {status}" + (f": {answer.said}" if answer.said else "")
    match status:
        case status if 200 <= status < 300:
            return Outcome(DeliveryState.SENT)
        case status if status in REDIRECTS:
            return redirected(answer.host, status)
        case 429:
            return Outcome(DeliveryState.RETRY, error, retry_after=wait_after(answer.headers))
        case 400 | 413 | 415 | 422:
            return Outcome(DeliveryState.FAILED, error)
        case 410:
            return down(f"{error} (it is permanently gone: replace the address)")
        case status if 400 <= status < 500:
            return down(error)
    return Outcome(DeliveryState.UNKNOWN, error)


def redirected(host: str, status: int) -> Outcome:
    """Return the outcome of one of REDIRECTS."""
    error = f"{host} answered {status}"
    return down(f"{error}: redirects are refused; check for a proxy or gateway")


def wait_after(headers: Mapping[str, str]) -> timedelta:
    """Return how long to wait after a 429."""
    wait = asked_wait(headers, time.time())
    return DEFAULT_WAIT if wait is None else wait


# ── one exchange ────────────────────────────────────────────────────────────────────


class _TakenOverError(Exception):
    """Another process has taken the delivery over: the message is not sent."""


class _Body:
    """A message on its way; httpcore asks for the next piece when it has written the last."""

    def __init__(
        self, message: Json | str, commit_handoff: Callable[[], bool], watch: Watch
    ) -> None:
        self.is_json = not isinstance(message, str)
        self.content = encode(message)
        self.is_sent = False
        self._commit_handoff = commit_handoff
        self._watch = watch

    def __iter__(self) -> Iterator[bytes]:
        began = self._watch.monotonic()
        if not self._commit_handoff():
            raise _TakenOverError
        self._watch.put_off(self._watch.monotonic() - began)
        for start in range(0, len(self.content), _PIECE):  # each ends with the deadline
            yield self.content[start : start + _PIECE]
        self.is_sent = True


@contextmanager
def _exchange(
    method: str,
    url: str,
    body: _Body,
    watch: Watch,
    headers: Mapping[str, str],
    allow_private: bool,
) -> Iterator[httpcore.Response]:
    request = Request(parse_url(url), allow_private=allow_private)
    check_address(request)
    kind = "application/json" if body.is_json else "text/plain; charset=utf-8"
    sent = httpx.Headers(
        {
            "Host": request.url.netloc.decode(),
            "User-Agent": USER_AGENT,
            "Content-Type": kind,
            **basic_auth(request.url),
        }
    )
    sent.update(headers)
    sent["Content-Length"] = str(len(body.content))
    # The server may take all of the time that it has: the watch ends it.
    timeouts = TIMEOUTS | dict.fromkeys(("read", "write"), watch.left(None))
    guard = Guard(httpcore.SyncBackend(), resolve, watch, allow_private)
    with (
        open_pool(request.url, guard, _tls()) as pool,
        pool.stream(
            method,
            core_url(request.url),
            headers=sent.raw,
            content=iter(body),
            extensions={"timeout": timeouts},
        ) as response,
    ):
        yield response


@cache
def _tls() -> ssl.SSLContext:
    """Trust the system, too: a gateway's certificate may be known there alone."""
    context = httpx.create_ssl_context()
    context.load_default_certs()
    return context


# ── what is secret ──────────────────────────────────────────────────────────────────


def _reason(error: Exception) -> str:
    return f"no answer within {error}" if isinstance(error, TooLateError) else describe(error)


def _secrets_of(url: str, headers: Mapping[str, str]) -> list[str]:
    """Return the parts of an address and of headers that may be secret, the longest first."""
    authority, _, path = url.partition("://")[2].partition("/")
    parts = re.split(r"[/?&=;#]", path)
    parts += authority.rpartition("@")[0].split(":")
    parts += [word for value in headers.values() for word in (value, *value.split())]
    found = {form.strip() for part in parts for form in (part, unquote(part))}
    return sorted((f for f in found if len(f) >= _LEAST_SECRET), key=len, reverse=True)


def _mask(text: str, secrets: list[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, MASK)
    return text
