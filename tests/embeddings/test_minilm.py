"""A small real model behind the address: what is near in meaning is near in its vectors."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("all_minilm_l6_v2", reason="requirements/model.txt is not installed")

from tests.house import BANDITS, House
from tests.pipeline.test_embeddings import TEXT, titles
from tests.servers.embeddings import EmbeddingServer, embedding_server
from tests.servers.minilm import MODEL, WIDTH, MiniLM

BY_WORDS = [
    (
        f"Web Agents That Use a Browser, {name}",
        f"Agents browse the web on a phone with a browser. They click and type, as {name} does.",
    )
    for name in ("amber", "basil", "cobalt", "dahlia", "ember", "falcon", "garnet", "hazel")
]
NEAR = ("Agents that use a phone", "Assistants open web pages and operate apps for people.")
FAR = ("Phone use", "Minutes of mobile phone use, and wheat harvests, in Ethiopian villages.")


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM()


@pytest.fixture
def server(model: MiniLM) -> Iterator[EmbeddingServer]:
    with embedding_server(model.encode) as running:
        yield running


def test_the_model_is_the_real_one(model: MiniLM):
    """Figures of the model's card and of sentence-transformers, to three digits."""
    dog, puppy, stocks = model.encode(
        [
            "A dog runs in the park.",
            "A puppy is running outside.",
            "Stock markets fell sharply today",
        ]
    )
    assert dog.shape == (WIDTH,)
    assert dog @ puppy > 0.5 > 0.1 > dog @ stocks


def test_the_model_adds_what_is_near(house: House, server: EmbeddingServer):
    house.settings["topics"] = {"browsing": {"like": {"text": TEXT, "at_least": 0.5}}}
    house.settings["subscriptions"]["lab"]["schedule"] = "immediately"
    house.settings["embeddings"] = {"url": server.url, "model": MODEL, "allow_private": True}
    assert house.run(*BY_WORDS) == {"lab": 8}
    house.run_after(NEAR, FAR, BANDITS, minutes=5)
    assert titles(house) == [NEAR[0]]
