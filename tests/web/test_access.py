"""Who may see and do what, decided from the facts of a request."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from monitor.web.access import AccessRules, Asked, Refusal, Role, Viewer, admit

LOCAL = AccessRules()
TOKEN = AccessRules(host="papers.example.org", token="an operator's own token")
PROXY = AccessRules(
    host="papers.example.org",
    user_header="remote-user",
    operators=frozenset({"ada@example.org"}),
    proxies=(ip_network("10.0.0.0/8"),),
)


def asked(
    path: str = "/", peer: str = "127.0.0.1", method: str = "GET", session: str = "", **headers: str
) -> Asked:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Asked(method, path, peer, named, session)


def status(rules: AccessRules, request: Asked) -> int:
    admitted = admit(rules, request)
    return admitted.status if isinstance(admitted, Refusal) else 200


@pytest.mark.parametrize(
    "host", ["localhost:8080", "127.0.0.1", "[::1]:8080", "LOCALHOST", "127.0.0.1:9"]
)
def test_without_a_public_url_this_machine_is_the_operator(host: str):
    assert admit(LOCAL, asked("/deliveries", host=host)) == Viewer(Role.OPERATOR)


@pytest.mark.parametrize(
    "request_",
    [
        asked(host="evil.example"),
        asked(host="127.0.0.1.evil.example"),
        asked(host=""),
        asked(),
        asked(host="127.0.0.1@evil.example"),
        asked(host="localhost.", peer="127.0.0.1"),
    ],
    ids=lambda one: one.headers.get("host", "none"),
)
def test_a_request_by_dns_rebinding_is_refused(request_: Asked):
    assert status(LOCAL, request_) == 421


def test_without_a_public_url_no_other_machine_is_answered():
    assert status(LOCAL, asked(host="localhost", peer="192.168.1.7")) == 403
    assert status(LOCAL, asked("/healthz", host="localhost", peer="192.168.1.7")) == 403


@pytest.mark.parametrize("name", ["x_forwarded_for", "forwarded", "x_forwarded_host"])
def test_a_request_through_a_proxy_that_is_not_named_is_refused(name: str):
    assert status(LOCAL, asked(host="localhost", **{name: "1.2.3.4"})) == 403
    for rules in (TOKEN, PROXY):
        forwarded = asked("/healthz", host="papers.example.org", **{name: "1.2.3.4"})
        assert status(rules, forwarded) == 403
    named = asked("/healthz", peer="10.1.2.3", host="papers.example.org", **{name: "1.2.3.4"})
    assert status(PROXY, named) == 200


def test_with_a_public_url_its_host_must_be_asked_for_and_loopback_logs_in_too():
    assert status(TOKEN, asked("/healthz", host="127.0.0.1")) == 421
    assert status(TOKEN, asked("/", host="papers.example.org")) == 401
    assert status(TOKEN, asked("/u/x", host="papers.example.org")) == 200
    assert status(TOKEN, asked("/static/style.css", host="papers.example.org:443")) == 200


def test_the_token_is_the_operators_by_cookie_and_as_a_bearer():
    host = "papers.example.org"
    assert admit(TOKEN, asked(host=host, session=TOKEN.session)) == Viewer(Role.OPERATOR)
    bearer = "Bearer an operator's own token"
    assert admit(TOKEN, asked(host=host, authorization=bearer)) == Viewer(Role.OPERATOR)
    assert status(TOKEN, asked(host=host, authorization="Bearer wrong")) == 401
    assert status(TOKEN, asked(host=host, session="an operator's own token")) == 401
    other = AccessRules(host=host, token="another token of theirs")
    assert status(TOKEN, asked(host=host, session=other.session)) == 401


def test_a_program_is_refused_and_not_led_to_the_login_page():
    host = {"host": "papers.example.org"}
    browser = admit(TOKEN, asked("/status", **host))
    assert isinstance(browser, Refusal)
    assert browser.login
    for path, headers in (("/status", {"authorization": "Bearer wrong"}), ("/metrics", {})):
        program = admit(TOKEN, asked(path, **host, **headers))
        assert isinstance(program, Refusal)
        assert (program.status, program.login) == (401, False)


def test_a_forged_user_header_is_refused():
    forged = asked(host="papers.example.org", remote_user="ada@example.org")
    assert status(PROXY, forged) == 403
    assert status(PROXY, asked(host="papers.example.org", peer="10.0.0.1")) == 401


def test_who_a_proxy_names_is_an_operator_or_a_reader():
    host = "papers.example.org"
    ada = asked("/status", peer="10.0.0.1", host=host, remote_user="Ada@Example.org")
    assert admit(PROXY, ada) == Viewer(Role.OPERATOR, "Ada@Example.org")
    for path, expected in {
        "/": 200,
        "/papers": 200,
        "/papers/3": 200,
        "/topics/rl": 200,
        "/digests": 200,
        "/try": 200,
        "/status": 403,
        "/deliveries": 403,
        "/sources/arxiv": 403,
        "/metrics": 403,
        "/api/v1/deliveries": 403,
    }.items():
        bob = asked(path, peer="10.0.0.1", host=host, remote_user="bob@example.org")
        assert (path, status(PROXY, bob)) == (path, expected)


def test_a_form_of_another_site_is_refused():
    host = "localhost:8080"
    post = {"path": "/deliveries/1/settle", "method": "POST", "host": host}
    assert status(LOCAL, asked(**post)) == 403
    assert status(LOCAL, asked(**post, origin="https://evil.example")) == 403
    assert status(LOCAL, asked(**post, origin="null")) == 403
    assert status(LOCAL, asked(**post, sec_fetch_site="cross-site")) == 403
    assert status(LOCAL, asked(**post, origin="http://localhost:8080")) == 200
    assert status(LOCAL, asked(**post, sec_fetch_site="same-origin")) == 200
    # RFC 8058: mail programs send neither, and the token is the proof.
    assert status(LOCAL, asked("/u/x", method="POST", host=host)) == 200
