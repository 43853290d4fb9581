"""Services on loopback that are asked about papers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from monitor.http.client import HttpClient
from monitor.look_up import SERVICES
from monitor.look_up.service import Service
from monitor.look_up.settings import ServiceOptions
from monitor.testing.sources import http_client
from tests.servers.look_up import LookUpServices, look_up_services

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HttpClient:
    client = http_client(tmp_path, monkeypatch)
    client.contact = "ops@example.org"
    return client


@pytest.fixture
def services() -> Iterator[LookUpServices]:
    with look_up_services() as running:
        yield running


@pytest.fixture
def service(services: LookUpServices, door: HttpClient) -> Callable[..., Service]:
    """Return a service by name that asks its stand-in."""

    def opened(name: str, **settings: object) -> Service:
        settings = {"url": services.url(name), "allow_private": True} | settings
        return SERVICES[name](ServiceOptions.model_validate(settings), door, lambda: NOW)

    return opened
