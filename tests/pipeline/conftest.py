"""Stores and houses that several tests of the pipeline begin with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from monitor.store.engine.database import Database
from monitor.store.engine.opening import open_store
from tests.house import House
from tests.servers.smtp import ScriptedSmtp
from tests.servers.web import MisbehavingServer
from tests.store.scenes import subscribe, watch


@pytest.fixture
def store(url: str) -> Iterator[Database]:
    """A store with the topic `t`, which two readers have."""
    database = open_store(url)
    subscribe(database, "ada", "bob", topics=("t",))
    watch(database, "t")
    yield database
    database.close()


@pytest.fixture
def due(house: House, smtp: ScriptedSmtp) -> House:
    """A house whose only digest is due, by mail to one address."""
    house.by_mail(smtp.port)
    house.make_due()
    return house


@pytest.fixture
def fed(house: House, web: MisbehavingServer) -> House:
    """A house that reads the feed of a journal over HTTP."""
    house.settings["sources"] = {
        "journal": {"kind": "feed", "url": web.url("/feed"), "allow_private": True}
    }
    house.settings["topics"] = {"agents": {"query": "agents"}}
    return house


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
