"""How far a server of embeddings was asked for the vectors of papers and of topics."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec


class EmbeddingState(StrEnum):
    """Open: `WAITING`, `ASKING` since `asked_at`, `FAILED` and tried again. Over: the others."""

    WAITING = "waiting"
    ASKING = "asking"
    FAILED = "failed"
    ANSWERED = "answered"
    GIVEN_UP = "given up"


class Embedding(msgspec.Struct, frozen=True):
    """How far a model was asked for the vector of a paper."""

    paper_id: int
    model: str
    state: EmbeddingState
    attempts: int
    due_at: datetime | None = None


class TopicEmbedding(msgspec.Struct, frozen=True):
    """The vector of what a topic is like, of length 1; None where the server refused the text.

    A paper has to be as near as `least`, which the papers `compared_with` decide once all of them
    have their vectors; None until then.
    """

    topic: str
    text_hash: str
    vector: bytes | None
    due_at: datetime | None = None
    compared_with: tuple[int, ...] = ()
    least: float | None = None
