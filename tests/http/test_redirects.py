"""Redirects: where they may lead, and what stays with its server."""

from __future__ import annotations

import ssl

import pytest

from monitor.errors import FetchError
from monitor.http.client import HttpClient
from monitor.http.server_memory import CONFIRMED, Memory, Move
from tests.http.doors import PUBLIC, Public, Site
from tests.servers.web import MisbehavingServer, misbehaving_server


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed_to_a_relative_place(site: Site, status: int) -> None:
    site.answers("/a/b", status=status, headers={"Location": "../c"})
    site.answers("/c", body=b"there")
    answer = site.get("/a/b")
    assert (answer.content, answer.url) == (b"there", site.web.url("/c"))


def test_F05_a_redirect_loop_ends_after_five(site: Site) -> None:
    site.answers("/loop", status=302, headers={"Location": "/loop"})
    with pytest.raises(FetchError, match="redirects more than 5 times"):
        site.get("/loop")
    assert len(site.web.requests) == 6


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("http://169.254.169.254/latest", "not a public address"),
        ("http://[::ffff:127.0.0.1]/", "not a public address"),
        ("http://[64:ff9b::a9fe:a9fe]/", "not a public address"),
        ("http://2130706433/", "not a public address"),
        ("http://inside.example/", "not a public address"),
        ("//127.0.0.1/", "not a public address"),
        ("http://feeds.example:8080/", "port other than"),
        ("file:///etc/passwd", "not an http or https"),
        ("http://[::1", "Invalid URL"),
    ],
)
def test_F05_redirects_are_checked_like_the_first_address(
    web: MisbehavingServer, public: Public, location: str, why: str
) -> None:
    known = {"feeds.example": PUBLIC, "inside.example": "10.0.0.7", "2130706433": "127.0.0.1"}
    door, dialler = public(lambda host: [known.get(host, host)])
    web.answers("/", status=302, headers={"Location": location})
    with pytest.raises(FetchError, match=why):
        door.get("http://feeds.example/")
    assert dialler.dialled == [PUBLIC]


@pytest.mark.parametrize(
    ("first", "elsewhere"),
    [
        ("http://ada:secret@feeds.example/", "http://a:b@other.example/end"),
        ("http://ada:secret@feeds.example:8080/", "http://feeds.example/end"),
    ],
)
def test_credentials_and_keys_stay_with_their_server(
    web: MisbehavingServer, public: Public, first: str, elsewhere: str
) -> None:
    door, _ = public(lambda _: [PUBLIC])
    web.answers("/", status=302, headers={"Location": "/next"})
    web.answers("/next", status=302, headers={"Location": elsewhere})
    web.answers("/end", body=b"x")
    answer = door.get(first, headers={"x-api-key": "hush"}, allow_private=True)
    for header, secret in (("authorization", "Basic YWRhOnNlY3JldA=="), ("x-api-key", "hush")):
        sent = [request.headers.get(header) for request in web.requests]
        assert sent == [secret, secret, None]
    assert answer.url == elsewhere.replace("a:b@", "")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_F05_permission_for_a_private_server_ends_where_it_redirects_to(
    site: Site, host: str
) -> None:
    with misbehaving_server() as other:
        other.answers("/", body=b"internal")
        site.answers("/", status=302, headers={"Location": f"http://{host}:{other.port}/"})
        with pytest.raises(FetchError, match="uses a port other than 80 and 443"):
            site.get()
    assert other.requests == []


def test_F05_permission_does_not_come_back_with_a_redirect_home(
    web: MisbehavingServer, public: Public
) -> None:
    known = {"inside.example": "10.0.0.7", "outside.example": PUBLIC}
    door, dialler = public(lambda host: [known[host]])
    web.answers("/", status=302, headers={"Location": "http://outside.example/back"})
    web.answers("/back", status=302, headers={"Location": "http://inside.example/secret"})
    with pytest.raises(FetchError, match="not a public address"):
        door.get("http://inside.example/", allow_private=True)
    assert dialler.dialled == ["10.0.0.7", PUBLIC]


@pytest.mark.parametrize("status", [301, 302])
def test_what_one_server_alone_is_sent_follows_no_redirect_to_another(
    web: MisbehavingServer, public: Public, status: int
) -> None:
    door, _ = public(lambda _: [PUBLIC])
    web.answers("/", status=302, headers={"Location": "/next"})
    web.answers("/next", status=status, headers={"Location": "http://other.example/?q=title"})
    with pytest.raises(FetchError, match=r"other\.example, which may not be asked"):
        door.get("http://api.example/", stays=True)
    assert {request.headers["host"] for request in web.requests} == {"api.example"}


class Moved(Memory):
    """Remembers that one address redirects to another server, until that is not true any more."""

    target = "http://other.example/"

    def move(self, address: str) -> Move | None:
        return Move(self.target, CONFIRMED) if self.target else None

    def record_move(self, address: str, target: str) -> None:
        self.target = target


def test_a_redirect_that_was_remembered_before_does_not_lock_its_server_out(
    web: MisbehavingServer, public: Public
) -> None:
    memory = Moved()
    door, _ = public(lambda _: [PUBLIC], memory=memory)
    web.answers("/", body=b"x")
    assert door.get("http://api.example/", stays=True).content == b"x"
    assert {request.headers["host"] for request in web.requests} == {"api.example"}
    assert memory.target == ""


def test_all_hosts_of_arxiv_are_one_server(web: MisbehavingServer, public: Public) -> None:
    door, _ = public(lambda _: [PUBLIC], sleep=lambda seconds: None)
    web.answers("/", status=302, headers={"Location": "http://arxiv.org/end"})
    web.answers("/end", body=b"x")
    assert door.get("http://export.arxiv.org/", stays=True).content == b"x"


def test_https_to_http_is_refused(
    tls: ssl.SSLContext, web: MisbehavingServer, door: HttpClient
) -> None:
    with misbehaving_server(tls) as safe:
        safe.answers("/", status=302, headers={"Location": web.url("/plain")})
        with pytest.raises(FetchError, match="from https to http"):
            door.get(safe.url("/"), allow_private=True)
    assert web.requests == []
