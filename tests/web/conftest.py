"""The pages on a real server on a free port of loopback."""

from __future__ import annotations

import random
import re
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from monitor.app import App
from monitor.commands.web_login import login_address
from monitor.config import WebSettings
from monitor.setting_types import SettingsContext
from monitor.store.digests import suppressions
from monitor.store.digests.suppressions import Suppression
from monitor.web.listening import bound
from monitor.web.server import serving_pages
from tests.house import AGENTS, BANDITS, FOLDING, House
from tests.patience import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PUBLIC = "https://papers.example.org"
TOKEN = "an operator's own token"
Ask = Callable[..., httpx.Response]
# A proxy on this machine that logs people in.
PROXY: dict[str, Any] = {"user_header": "Remote-User", "trusted_proxies": ["127.0.0.1"]}
# As a browser sends a form of the page that it shows.
SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}


@contextmanager
def pages(house: House, **web: Any) -> Iterator[tuple[App, httpx.Client]]:
    """Serve the pages of a house, and yield a client that is logged in as the operator."""
    with closed_pages(house, **web) as (app, client):
        log_in(client, one_time_token(app))
        yield app, client


def one_time_token(app: App) -> str:
    """Return the token in the address of `web login`."""
    address = login_address(app.runtime)
    return parse_qs(urlsplit(address).query)["token"][0]


def log_in(client: httpx.Client, token: str) -> httpx.Response:
    answer = client.post("/login", data={"token": token}, headers=SAME_ORIGIN)
    assert answer.status_code == 303, answer.text
    return answer


@contextmanager
def closed_pages(house: House, **web: Any) -> Iterator[tuple[App, httpx.Client]]:
    """Serve the pages of a house, and yield a client that is not logged in."""
    listen = f"127.0.0.1:{free_port()}"
    house.settings["web"] = {"listen": listen} | web
    with (
        house.opened() as app,
        bound(app.settings.web) as listening,
        serving_pages(app.runtime, listening),
        httpx.Client(base_url=f"http://{listen}", timeout=PATIENCE) as client,
    ):
        yield app, client


@contextmanager
def public_pages(house: House, **web: Any) -> Iterator[tuple[App, httpx.Client]]:
    """The same with a `public_url`, asked for under its name."""
    house.settings["public_url"] = PUBLIC
    with closed_pages(house, **({"token": TOKEN} | web)) as (app, client):
        client.headers["Host"] = "papers.example.org"
        yield app, client


def free_port() -> int:
    """Return a port below those that the kernel gives to the servers and clients of other tests."""
    for port in random.sample(range(20_000, 32_000), 100):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


@pytest.fixture(scope="session")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return live(House(tmp_path_factory.mktemp("used"))).folder


@pytest.fixture
def lived(house: House, used: Path) -> House:
    """A house with three papers, one of which went into a digest."""
    if "store" in house.settings:  # `--store postgresql`
        return live(house)
    shutil.copytree(used, house.folder, dirs_exist_ok=True)
    house.clock.move(days=1)
    return house


def live(house: House) -> House:
    """Let a house have three papers, one of which went into a digest."""
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


def suppressed(app: App) -> list[Suppression]:
    with app.runtime.database.reading() as tx:
        return suppressions.listing(tx, app.runtime.clock.now())


def listening_on(address: str) -> WebSettings:
    context = SettingsContext(public_url=True)
    return WebSettings.model_validate({"listen": address}, context=context)


@contextmanager
def page_of(browser: Browser, client: httpx.Client | None = None, **options: Any) -> Iterator[Page]:
    """Open a page in a browser of its own, with the session of a client."""
    base = {"base_url": str(client.base_url)} if client else {}
    context = browser.new_context(**base, **options)
    context.set_default_timeout(PATIENCE * 1000)
    for name, value in client.cookies.items() if client else ():
        context.add_cookies([{"name": name, "value": value, "url": base["base_url"]}])
    yield context.new_page()
    context.close()
