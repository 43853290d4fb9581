"""The service asks for vectors, and sends what a model adds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from monitor.pipeline.embeddings import embed
from monitor.store.topics import matches
from tests.house import House
from tests.patience import wait
from tests.pipeline.test_embeddings import ADDED, MODEL, NEAR, TEXT
from tests.servers.embeddings import EmbeddingServer, Fault, embedding_server
from tests.service.serve import serving


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as running:
        yield running


@pytest.fixture
def liking(house: House, server: EmbeddingServer) -> House:
    house.settings["topics"] = {"browsing": {"like": {"text": TEXT, "at_least": 0.5}}}
    house.settings["subscriptions"]["lab"]["schedule"] = "immediately"
    house.settings["embeddings"] = {"url": server.url, "model": MODEL, "allow_private": True}
    return house


def page_with(house: House, title: str) -> str:
    texts = [file.read_text("utf-8") for file in house.folder.glob("pages/lab/*.html")]
    return next((text for text in texts if title in text), "")


def test_a_paper_that_the_model_adds_is_sent_by_the_service(liking: House):
    liking.run(*NEAR)
    with liking.opened() as app:
        embed(app.runtime)
    liking.clock.move(hours=1)
    liking.add_next(ADDED)
    with serving(liking):
        wait(lambda: bool(page_with(liking, ADDED[0])))
    assert f"added by {MODEL}: near to your text" in page_with(liking, ADDED[0])


def test_a_server_that_never_answers_delays_a_digest_by_a_minute(
    liking: House, server: EmbeddingServer
):
    server.misbehaves(Fault.NEVER)
    liking.add_next(NEAR[0])
    with serving(liking):
        wait(lambda: server.requests > 0 and bool(liking.read(matches.of_paper, 1)))
        liking.clock.move(minutes=2)
        wait(lambda: any(liking.folder.glob("pages/lab/*.html")))
