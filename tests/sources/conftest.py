"""A client for the tests that ask servers on loopback."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from monitor.http.client import HttpClient
from monitor.sources.base import Source
from monitor.testing.sources import http_client
from tests.servers.web import MisbehavingServer
from tests.sources.scenario import NOW


@pytest.fixture
def door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HttpClient:
    return http_client(tmp_path, monkeypatch)


class Service:
    """A server on loopback in place of a service, and sources that ask it."""

    def __init__(self, web: MisbehavingServer, door: HttpClient) -> None:
        self.web = web
        self.door = door

    def open(self, kind: type[Source], now: datetime = NOW, **settings: object) -> Source:
        options = {"url": self.web.url(""), "allow_private": True} | settings
        return kind("daily", kind.Options.model_validate(options), self.door, lambda: now)


@pytest.fixture
def service(web: MisbehavingServer, door: HttpClient) -> Service:
    return Service(web, door)
