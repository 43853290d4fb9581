"""Posting to an address: what was posted, what may have been, and what is shown of it."""

from __future__ import annotations

import json
import logging
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trustme

from monitor.channels import post as posting
from monitor.channels.base import TAKEN_OVER
from monitor.channels.post import Answer, post, post_for_answer
from monitor.model import DeliveryState, Outcome
from tests.channels.samples import Commit
from tests.patience import PATIENCE
from tests.servers.smtp import closed_port
from tests.servers.web import MisbehavingServer, misbehaving_server

HOOK = "/hooks/a-secret-path"
TOKEN = "a-secret-token"
SENT = (DeliveryState.SENT, False)
UNKNOWN = (DeliveryState.UNKNOWN, False)
FAILED = (DeliveryState.FAILED, False)
DOWN = (DeliveryState.RETRY, True)


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def send(url: str, message: Any = "hello", commit: Any = None, **how: Any) -> Outcome:
    headers = {"Authorization": f"Bearer {TOKEN}"} | how.pop("headers", {})
    commit = Commit() if commit is None else commit
    return post(url, message, commit, headers=headers, **{"allow_private": True} | how)


def kind_of(outcome: Outcome) -> tuple[DeliveryState, bool]:
    return outcome.state, outcome.channel_down


def test_json_and_text_are_posted_with_the_headers_of_the_channel(web: MisbehavingServer) -> None:
    web.answers(HOOK, body=b"ok")
    for message in ({"text": "größer"}, "größer"):
        assert send(web.url(HOOK), message) == Outcome(DeliveryState.SENT)
    send(web.url(HOOK), headers={"content-type": "text/x"})
    first, second, third = web.requests
    assert json.loads(first.body) == {"text": "größer"} and second.body.decode() == "größer"
    assert first.headers["content-type"] == "application/json"
    assert second.headers["content-type"] == "text/plain; charset=utf-8"
    assert third.headers["content-type"] == "text/x"
    assert first.headers["authorization"] == f"Bearer {TOKEN}"
    assert first.headers["user-agent"] == "paper-monitor"
    assert first.headers["host"] == f"127.0.0.1:{web.port}"


def test_a_user_and_password_of_the_address_are_sent_as_a_header(web: MisbehavingServer) -> None:
    web.answers(HOOK)
    post(web.url(HOOK).replace("//", "//ada:hush@"), "x", Commit(), allow_private=True)
    [request] = web.requests
    assert request.headers["authorization"] == "Basic YWRhOmh1c2g="
    assert request.target == HOOK and "hush" not in request.headers["host"]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        *((status, SENT) for status in (200, 201, 202, 204)),
        *((status, DOWN) for status in (301, 302, 307, 308, 401, 403, 404, 405, 410)),
        *((status, FAILED) for status in (400, 413, 415, 422)),
        *((status, UNKNOWN) for status in (300, 303, 304, 500, 502, 503, 504)),
    ],
)
def test_each_status_has_its_meaning(web: MisbehavingServer, status: int, kind: Any) -> None:
    web.answers(HOOK, status, headers={"Location": web.url("/elsewhere"), "Retry-After": "9"})
    outcome = send(web.url(HOOK))
    assert kind_of(outcome) == kind
    assert bool(outcome.error) == (kind != SENT) and outcome.retry_after is None
    assert ("replace the address" in outcome.error) == (status == 410)
    assert [request.target for request in web.requests] == [HOOK]


@pytest.mark.parametrize(
    ("said", "waited"), [("7", 7), ("0", 0), ("-5", 0), (None, 30), ("soon", 30), ("9" * 30, 86400)]
)
def test_429_is_a_retry_when_the_server_says(
    web: MisbehavingServer, said: str | None, waited: int
) -> None:
    web.answers(HOOK, 429, headers={"Retry-After": said} if said else {})
    outcome = send(web.url(HOOK))
    assert kind_of(outcome) == (DeliveryState.RETRY, False)
    assert outcome.retry_after == timedelta(seconds=waited)


# ── before and after the hand-off ───────────────────────────────────────────────────


@contextmanager
def raw_server(talk: Callable[[socket.socket], None]) -> Iterator[str]:
    """Run a server that does with its first connection what it is told to."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.settimeout(PATIENCE)
                talk(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}{HOOK}"
        thread.join(PATIENCE)


def until(connection: socket.socket, end: bytes) -> bytes:
    received = b""
    while end not in received and (piece := connection.recv(65_536)):
        received += piece
    return received


LARGE = "x" * 32 * 1024 * 1024  # more than the buffers of a connection hold


def test_nothing_is_handed_off_where_nobody_listens() -> None:
    with closed_port() as port:
        commit = Commit()
        outcome = send(f"http://127.0.0.1:{port}{HOOK}", commit=commit)
    assert kind_of(outcome) == DOWN and "Connection refused" in outcome.error
    assert commit.calls == 0


def test_no_byte_of_a_message_leaves_that_another_process_has_taken_over() -> None:
    received = []

    def talk(connection: socket.socket) -> None:
        while piece := connection.recv(65_536):
            received.append(piece)

    with raw_server(talk) as url:
        assert send(url, "the message", commit=lambda: False) is TAKEN_OVER
    assert b"POST" in b"".join(received) and b"the message" not in b"".join(received)


def test_what_breaks_before_the_last_byte_may_be_posted_again() -> None:
    def talk(connection: socket.socket) -> None:
        until(connection, b"x")

    commit = Commit()
    with raw_server(talk) as url:
        outcome = send(url, LARGE, commit=commit)
    assert kind_of(outcome) == DOWN and "cannot be reached" in outcome.error
    assert commit.calls == 1


def test_a_server_that_takes_no_more_is_left_at_the_deadline() -> None:
    let_go = threading.Event()

    def talk(connection: socket.socket) -> None:
        until(connection, b"x")
        let_go.wait(PATIENCE)

    with raw_server(talk) as url:
        outcome = send(url, LARGE, deadline=timedelta(seconds=0.5))
        let_go.set()
    assert kind_of(outcome) == DOWN


@pytest.mark.parametrize(("status", "kind"), [(200, DOWN), (413, FAILED), (500, DOWN)])
def test_an_answer_before_the_last_byte_accepts_nothing(status: int, kind: Any) -> None:
    def talk(connection: socket.socket) -> None:
        until(connection, b"x")
        connection.sendall(f"HTTP/1.1 {status} Early\r\nContent-Length: 0\r\n\r\n".encode())

    with raw_server(talk) as url:
        outcome = send(url, LARGE)
    assert kind_of(outcome) == kind


GARBAGE = {
    "cut": b"",
    "no HTTP": b"SSH-2.0-OpenSSH\r\n",
    "half a status": b"HTTP/1.1 2",
    "endless headers": b"HTTP/1.1 200 OK\r\nX: " + b"x" * 300_000,
}


@pytest.mark.parametrize("name", GARBAGE)
def test_what_has_no_answer_after_the_last_byte_is_unknown(name: str) -> None:
    def talk(connection: socket.socket) -> None:
        until(connection, b"hello")
        connection.sendall(GARBAGE[name])

    with raw_server(talk) as url:
        outcome = send(url)
    assert kind_of(outcome) == UNKNOWN and "did not answer" in outcome.error


def test_a_server_that_says_nothing_is_left_at_the_deadline(web: MisbehavingServer) -> None:
    web.answers(HOOK, hang=True)
    outcome = send(web.url(HOOK), deadline=timedelta(seconds=0.4))
    assert kind_of(outcome) == UNKNOWN
    assert "0.4 s" in outcome.error or "no answer in time" in outcome.error


def test_the_time_that_the_store_takes_is_not_the_servers(
    web: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0], time=lambda: now[0])
    monkeypatch.setattr(posting, "time", clock)

    def slow_store() -> bool:
        now[0] += 1000
        return True

    web.answers(HOOK)
    assert send(web.url(HOOK), commit=slow_store).state is DeliveryState.SENT


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ({"body": b"x" * 65_537}, ""),
        ({"body": b"x" * 65_536}, "x" * 65_536),
        ({"body": b"half", "length": 1000}, "half"),
        ({"body": b"no gzip", "headers": {"Content-Encoding": "gzip"}}, ""),
        ({"body": b"\xff"}, "\ufffd"),
    ],
)
def test_a_status_stands_whatever_comes_after_it(
    web: MisbehavingServer, how: dict[str, Any], text: str
) -> None:
    web.answers(HOOK, **how)
    answer = post_for_answer(web.url(HOOK), "x", allow_private=True)
    assert isinstance(answer, Answer)
    assert (answer.status, answer.text) == (200, text)
    assert send(web.url(HOOK)).state is DeliveryState.SENT


# ── where it may go ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/", "https://10.0.0.1/", "http://localhost/", "https://8.8.8.8:81/"]
)
def test_private_addresses_and_odd_ports_are_refused_unless_they_are_allowed(url: str) -> None:
    commit = Commit()
    outcome = post(url, "x", commit)
    assert kind_of(outcome) == DOWN and "allow_private" in outcome.error
    assert commit.calls == 0


@pytest.mark.parametrize(
    "url", ["ftp://x/a-secret-path", "https:///a-secret-path", "http://[x/", ""]
)
def test_what_is_no_address_is_an_outcome(url: str) -> None:
    outcome = post(url, "x", Commit())
    assert kind_of(outcome) == DOWN and "address" in outcome.error


def test_the_proxy_of_the_environment_is_used_and_private_hosts_behind_it_refused(
    web: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", web.url(""))
    web.answers(f"http://chat.invalid{HOOK}")
    assert post(f"http://chat.invalid{HOOK}", "x", Commit()).state is DeliveryState.SENT
    assert "not a public address" in post("http://127.0.0.1/", "x", Commit()).error
    assert len(web.requests) == 1


@pytest.mark.parametrize("to_whom", ["the environment", "the system"])
def test_a_certificate_must_be_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, to_whom: str
) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with misbehaving_server(context) as web:
        web.answers(HOOK)
        commit = Commit()
        outcome = send(web.url(HOOK), commit=commit)
        assert kind_of(outcome) == DOWN and "certificate" in outcome.error.lower()
        assert commit.calls == 0
        if to_whom == "the environment":
            monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        else:
            monkeypatch.setattr(
                ssl.SSLContext, "load_default_certs", lambda own: authority.configure_trust(own)
            )
        posting._tls.cache_clear()
        try:
            assert send(web.url(HOOK)).state is DeliveryState.SENT
        finally:
            posting._tls.cache_clear()


# ── what is shown ───────────────────────────────────────────────────────────────────


def test_what_the_server_says_is_in_the_error_without_secrets_and_cut(
    web: MisbehavingServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("httpcore").setLevel(logging.DEBUG)
    said = f"no channel\n at {HOOK} for Bearer {TOKEN} by password-of-ada " + "long " * 100
    web.answers(f"{HOOK}?key=another-secret", 400, body=said.encode())
    url = f"{web.url(HOOK)}?key=another-secret".replace("//", "//ada:password-of-ada@")
    outcome = send(url)
    assert f"127.0.0.1:{web.port} answered 400: no channel at " in outcome.error
    assert len(outcome.error) < 300
    with closed_port() as port:
        other = send(url.replace(str(web.port), str(port)))
    bad = send(url, headers={"X-Key": f"{TOKEN}\n"})
    for text in (outcome.error, other.error, bad.error, caplog.text, repr(outcome)):
        for secret in ("a-secret-path", TOKEN, "another-secret", "password-of-ada"):
            assert secret not in text


def test_a_page_is_not_shown_in_an_error(web: MisbehavingServer) -> None:
    web.answers(HOOK, 502, body=b"<html><h1>Bad", headers={"Content-Type": "text/html"})
    assert send(web.url(HOOK)).error == f"127.0.0.1:{web.port} answered 502"
