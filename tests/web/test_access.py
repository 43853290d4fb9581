"""Who may see and do what, decided from the facts of a request."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from monitor.web.access import (
    AccessRules,
    Asked,
    Proof,
    Refusal,
    Viewer,
    admit,
    client_address,
    may_compress,
    network_of,
    refuse_way,
)
from monitor.web.application import ROUTES
from monitor.web.routes import find_route

LOCAL = AccessRules()
TOKEN = AccessRules(url="https://papers.example.org", token="an operator's own token")
PROXY = AccessRules(
    url="https://papers.example.org",
    user_header="remote-user",
    operators=frozenset({"ada@example.org"}),
    proxies=(ip_network("10.0.0.0/8"),),
)


def asked(path: str = "/", peer: str = "127.0.0.1", method: str = "GET", **headers: str) -> Asked:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    route = find_route(ROUTES, {"type": "http", "method": method, "path": path})
    assert route
    return Asked(method, path, peer, named, route.role, route.has_token)


def answer(rules: AccessRules, request: Asked, proof: Proof = Proof.NONE) -> Viewer | Refusal:
    return refuse_way(rules, request) or admit(rules, request, proof)


def status(rules: AccessRules, request: Asked, proof: Proof = Proof.NONE) -> int:
    answered = answer(rules, request, proof)
    return answered.status if isinstance(answered, Refusal) else 200


def test_without_a_public_url_no_other_machine_is_answered():
    assert status(LOCAL, asked(host="localhost", peer="192.168.1.7")) == 403
    assert status(LOCAL, asked("/healthz", host="localhost", peer="192.168.1.7")) == 403


def test_a_program_is_refused_and_not_led_to_the_login_page():
    how = "Programs need web.token: {} as Authorization: Bearer."
    for rules, path, authorization, refusal in (
        (TOKEN, "/status", "", Refusal(401, "Log in to see this page.", login=True)),
        (TOKEN, "/status", "Bearer wrong", Refusal(401, "This is not the token of web.token.")),
        (TOKEN, "/metrics", "", Refusal(401, how.format("send it"))),
        (TOKEN, "/api/v1/status", "", Refusal(401, how.format("send it"))),
        (LOCAL, "/metrics", "", Refusal(401, how.format("set it, and send it"))),
    ):
        request = asked(path, host=rules.host or "localhost", authorization=authorization)
        assert answer(rules, request) == refusal


@pytest.mark.parametrize(
    ("peer", "headers", "expected"),
    [
        ("192.0.2.1", {"x_forwarded_for": "198.51.100.9"}, "192.0.2.1"),
        ("10.0.0.1", {}, "10.0.0.1"),
        ("10.0.0.1", {"x_forwarded_for": "198.51.100.9"}, "198.51.100.9"),
        ("10.0.0.1", {"x_forwarded_for": "203.0.113.5, 198.51.100.9, 10.0.0.2"}, "198.51.100.9"),
        ("10.0.0.1", {"x_forwarded_for": "203.0.113.5, unknown"}, "10.0.0.1"),
        ("10.0.0.1", {"x_real_ip": "198.51.100.9"}, "198.51.100.9"),
        ("10.0.0.1", {"x_forwarded_for": "10.0.0.77", "x_real_ip": "6.6.6.6"}, "10.0.0.77"),
        ("10.0.0.1", {"x_forwarded_for": "10.0.0.5, 10.0.0.77"}, "10.0.0.77"),
        ("10.0.0.1", {"x_forwarded_for": "::ffff:198.51.100.9"}, "198.51.100.9"),
    ],
)
def test_a_visitor_has_the_address_that_the_last_trusted_proxy_reports(
    peer: str, headers: dict[str, str], expected: str
):
    request = asked(peer=peer, host="papers.example.org", **headers)
    assert client_address(PROXY, request) == expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"origin": ""}, 403),
        ({"origin": "http://localhost"}, 403),
        ({"origin": "http://localhost:99999"}, 403),
        ({"origin": "http://127.0.0.1:8080"}, 403),
        ({"origin": "http://localhost:3000", "sec_fetch_site": "same-origin"}, 403),
        ({"origin": "http://localhost:8080"}, 200),
    ],
)
def test_a_form_of_another_site_is_refused(headers: dict[str, str], expected: int):
    post = asked("/deliveries/1/settle", method="POST", host="localhost:8080", **headers)
    assert status(LOCAL, post, Proof.SESSION) == expected


@pytest.mark.parametrize(
    ("address", "same", "other"),
    [
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", "2001:db8:1:3::1"),
        ("::ffff:192.0.2.1", "192.0.2.1", "192.0.2.2"),
        ("127.0.0.1", "127.200.0.1", "192.0.2.1"),
    ],
)
def test_addresses_that_one_visitor_may_have_count_together(address: str, same: str, other: str):
    assert network_of(address) == network_of(same) != network_of(other)


def test_an_answer_that_another_site_may_have_asked_for_is_not_compressed():
    for headers, is_compressed in (
        ({"sec_fetch_site": "same-origin", "cookie": "a=b"}, True),
        ({"sec_fetch_site": "none", "cookie": "a=b"}, True),
        ({"sec_fetch_site": "cross-site"}, False),
        ({"sec_fetch_site": "same-site"}, False),
        ({"sec_fetch_site": "none, cross-site"}, False),
        ({"authorization": "Bearer a"}, True),
        ({"cookie": "a=b"}, False),
        ({"remote_user": "bob@example.org"}, False),
        ({}, True),
    ):
        assert may_compress(PROXY, asked(**headers)) is is_compressed, headers
