"""The question that a server of embeddings is sent, and which of its answers count.

    POST URL/embeddings  {"model": "all-minilm", "input": ["first text", "second text"]}
    {"data": [{"index": 0, "embedding": [0.1, ...]}, {"index": 1, "embedding": [...]}]}

As Ollama, vLLM, llama.cpp and OpenAI have it. An answer counts as a whole or not at all.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from datetime import timedelta
from math import isfinite, sqrt
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from monitor.embeddings.settings import EmbeddingSettings
from monitor.errors import FetchError

if TYPE_CHECKING:
    from monitor.http.client import HttpClient

DEADLINE = timedelta(seconds=60)
# Of a text: many models read 512 tokens, which are hardly more characters of English than these,
# and some servers refuse a longer text.
MOST_CHARS = 1_600
TEXTS_AT_ONCE = 16
# The longest vectors of well-known models have 4,096 numbers.
MOST_NUMBERS = 8_192
# Of an answer: each number is written with at most some 24 characters.
MOST_BYTES = TEXTS_AT_ONCE * MOST_NUMBERS * 24

Vector: TypeAlias = "array[float]"


class _Entry(msgspec.Struct):
    embedding: list[float]
    index: int | None = None


class _Answer(msgspec.Struct):
    data: list[_Entry]


class EmbeddingServer:
    """The server and model of the settings."""

    def __init__(self, settings: EmbeddingSettings, client: HttpClient) -> None:
        self.model = settings.model
        self.requests_a_day = settings.a_day
        self._settings = settings
        self._client = client

    def ask(self, texts: Sequence[str], length: int | None = None) -> list[Vector]:
        """Return the vectors of some texts, of length 1, in their order.

        With `length`, vectors of any other count of numbers are refused. Raises FetchError for
        whatever is no whole, valid answer, with `status` where that was not 200.
        """
        key = self._settings.api_key.get_secret_value()
        question = {"model": self.model, "input": list(texts)}
        response = self._client.post_json(
            f"{self._settings.url}/embeddings",
            msgspec.json.encode(question),
            headers={"Authorization": f"Bearer {key}"} if key else {},
            allow_private=self._settings.allow_private,
            deadline=DEADLINE,
            max_bytes=MOST_BYTES,
        )
        if not response.complete:
            raise FetchError("the answer is cut off")
        return read_vectors(response.content, len(texts), length)


def read_vectors(content: bytes, count: int, length: int | None = None) -> list[Vector]:
    """Return the `count` vectors of an answer. Raises FetchError."""
    try:
        entries = msgspec.json.decode(content, type=_Answer).data
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as fault:
        raise FetchError(f"the answer is no JSON with embeddings: {fault}") from fault
    if len(entries) != count:
        raise FetchError(f"{count} texts were sent, and {len(entries)} vectors came")
    # llama.cpp and others number the vectors, which may come in any order; not all servers do.
    numbers = [at if entry.index is None else entry.index for at, entry in enumerate(entries)]
    if sorted(numbers) != list(range(count)):
        raise FetchError("the vectors of the answer are not numbered from 0 on")
    length = length or len(entries[0].embedding)
    if not 0 < length <= MOST_NUMBERS:
        raise FetchError(f"the vectors have {length} numbers; 1 to {MOST_NUMBERS:,} can be used")
    vectors: list[Vector] = [array("f")] * count
    for number, entry in zip(numbers, entries, strict=True):
        if len(entry.embedding) != length:
            raise FetchError(
                f"a vector has {len(entry.embedding)} numbers, where the others of this model "
                f"have {length}"
            )
        vectors[number] = _scaled(entry.embedding)
    return vectors


def _scaled(numbers: Sequence[float]) -> Vector:
    size = sqrt(sum(number * number for number in numbers)) if all(map(isfinite, numbers)) else 0.0
    if not (isfinite(size) and size):
        raise FetchError("a vector has numbers that are infinite, or none but zeros")
    return array("f", (number / size for number in numbers))
