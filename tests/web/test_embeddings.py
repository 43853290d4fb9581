"""The state of the server of embeddings, on the page, in its JSON, in metrics and commands."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from monitor.commands.metrics import metrics
from monitor.pipeline.embeddings import embed
from tests.house import House
from tests.pipeline.test_embeddings import MODEL, NEAR, TEXT
from tests.servers.embeddings import EmbeddingServer, Fault, embedding_server
from tests.web.conftest import PROXY, public_pages

OP = {"Remote-User": "op@example.org"}


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as running:
        yield running


def test_the_state_is_shown_wherever_that_of_services_is(house: House, server: EmbeddingServer):
    house.settings["topics"] = {"browsing": {"like": {"text": TEXT, "at_least": 0.5}}}
    house.settings["embeddings"] = {"url": server.url, "model": MODEL, "allow_private": True}
    house.ingest(*NEAR)
    with public_pages(house, **PROXY, operators=["op@example.org"]) as (app, client):
        assert embed(app.runtime) == len(NEAR)
        page = client.get("/status", headers=OP).text
        assert "Embeddings" in page and MODEL in page and "2 of 2,000" in page
        answer = client.get("/api/v1/status", headers=OP).json()["embeddings"]
        assert answer == {
            "model": MODEL,
            "ok": True,
            "asked": len(NEAR),
            "answered": len(NEAR),
            "given_up": 0,
            "added": 0,
            "waiting": 0,
            "spent_today": 2,
            "a_day": 2_000,
            "error": None,
        }
        shown = metrics(app.runtime).decode()
        assert 'paper_monitor_embeddings{result="answered"} 8.0' in shown
        assert "paper_monitor_embedding_requests 2.0" in shown
        assert "paper_monitor_embeddings_failing 0.0" in shown


def test_commands_show_the_server_and_its_fault(house: House, server: EmbeddingServer):
    house.settings["topics"] = {"browsing": {"like": {"text": TEXT, "at_least": 0.5}}}
    house.settings["embeddings"] = {"url": server.url, "model": MODEL, "allow_private": True}
    server.misbehaves(Fault.BROKEN)
    house.run(NEAR[0])
    assert "500 Internal Server Error" in " ".join(house.command("status").out.split())
    sent = house.command("config", "--json").json["sends_to"]
    assert [(one["service"], one["address"]) for one in sent] == [("embeddings", server.url)]
    assert "127.0.0.1 answered 500" in " ".join(house.command("doctor").out.split())
    server.misbehaves(None)
    assert "tiny answers, with 64 numbers a text" in " ".join(house.command("doctor").out.split())
