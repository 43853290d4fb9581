"""Proxies of the environment."""

from __future__ import annotations

import pytest

from monitor.errors import FetchError
from monitor.http.client import HttpClient
from tests.http.doors import PUBLIC, Public, Site
from tests.servers.web import MisbehavingServer


def test_a_proxy_of_the_environment_is_used_and_may_be_private(
    web: MisbehavingServer, public: Public, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://user:pass@127.0.0.1:{web.port}")
    door, _ = public(lambda host: [PUBLIC])
    web.answers("http://feeds.example/feed", body=b"x")
    assert door.get("http://feeds.example/feed").content == b"x"
    assert web.requests[0].headers["proxy-authorization"] == "Basic dXNlcjpwYXNz"


def test_behind_a_proxy_private_names_are_refused_before_it_is_asked(
    web: MisbehavingServer, public: Public, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{web.port}")
    door, _ = public(lambda host: ["169.254.169.254"])
    with pytest.raises(FetchError, match="not a public address"):
        door.get("http://metadata.example/")
    assert web.requests == []


def test_hosts_in_no_proxy_are_dialled(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    site.answers("/", body=b"x")
    assert site.get().content == b"x"


def test_a_socks_proxy_is_refused_in_words(
    door: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:1080")
    with pytest.raises(FetchError, match="socks5 proxy is not supported"):
        door.get("http://feeds.example/")
