"""Pages as somebody asks for them: the real server on a free port of loopback."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from monitor.app import App
from monitor.web.listening import bound
from monitor.web.server import serving_pages
from tests.house import AGENTS, BANDITS, FOLDING, House
from tests.patience import PATIENCE

PUBLIC = "https://papers.example.org"
TOKEN = "an operator's own token"
Ask = Callable[..., httpx.Response]


@contextmanager
def pages(house: House, **web: Any) -> Iterator[tuple[App, httpx.Client]]:
    """Serve the pages of a house, and yield what asks for them as this machine does."""
    listen = f"127.0.0.1:{free_port()}"
    house.settings["web"] = {"listen": listen} | web
    with (
        house.opened() as app,
        bound(app.settings.web) as listening,
        serving_pages(app.settings, app.runtime, listening),
        httpx.Client(base_url=f"http://{listen}", timeout=PATIENCE) as client,
    ):
        yield app, client


@contextmanager
def public_pages(house: House, **web: Any) -> Iterator[tuple[App, httpx.Client]]:
    """The same with a `public_url`, asked for under its name."""
    house.settings["public_url"] = PUBLIC
    with pages(house, **({"token": TOKEN} | web)) as (app, client):
        client.headers["Host"] = "papers.example.org"
        yield app, client


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def lived(house: House) -> House:
    """A house with three papers, one of which went into a digest."""
    house.add("1.txt", AGENTS, BANDITS, FOLDING)
    house.run()
    house.clock.move(days=1)
    house.run()
    return house


@pytest.fixture
def asked(lived: House) -> Iterator[httpx.Client]:
    with pages(lived) as (_, client):
        yield client


def links(html: str) -> list[str]:
    """Return where a page leads on these pages: links, and forms that only ask."""
    found = re.findall(r'href="(/[^"]*)"', html)
    return [one.replace("&amp;", "&") for one in found]
