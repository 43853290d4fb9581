"""A client for the tests of HTTP, and a server with a certificate."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trustme

from monitor.http.client import HttpClient
from tests.http.doors import Dialler, Public, Site
from tests.servers.web import MisbehavingServer


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def door(tmp_path: Path) -> HttpClient:
    return HttpClient(version="1.2", contact="ops@example.org", gate_dir=tmp_path / "gates")


@pytest.fixture
def public(web: MisbehavingServer, tmp_path: Path) -> Public:
    def opened(names: Callable[[str], list[str]], **how: Any) -> tuple[HttpClient, Dialler]:
        how |= {"resolve": lambda host, _port: names(host), "dialler": Dialler(web.port)}
        return HttpClient(version="1", gate_dir=tmp_path, **how), how["dialler"]

    return opened


@pytest.fixture
def site(web: MisbehavingServer, door: HttpClient) -> Site:
    return Site(web, door)


@pytest.fixture
def tls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ssl.SSLContext:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    return context
