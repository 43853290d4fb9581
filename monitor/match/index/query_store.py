"""Stores topics in few bytes: most as text, parsed again when needed."""

from __future__ import annotations

from array import array
from collections.abc import Callable

from monitor.match.tree import Query

_MAX_PARSED = 2_000


class QueryStore:
    """Topics by number. Texts stand one behind another in one run of bytes."""

    def __init__(self) -> None:
        self._texts = bytearray()
        self._starts, self._lengths = array("Q"), array("I")
        self._lost = 0
        self._queries: dict[int, Query] = {}
        self._read: dict[int, Query] = {}

    def put(self, number: int, query: str | Query) -> None:
        self.drop(number)
        missing = number + 1 - len(self._starts)
        self._starts.extend([0] * missing)
        self._lengths.extend([0] * missing)
        if isinstance(query, Query):
            self._queries[number] = query
            return
        text = query.encode("utf-8", "surrogatepass")
        self._starts[number], self._lengths[number] = len(self._texts), len(text)
        self._texts += text

    def drop(self, number: int) -> None:
        self._queries.pop(number, None)
        self._read.pop(number, None)
        if number < len(self._lengths):
            self._lost += self._lengths[number]
            self._lengths[number] = 0
            if self._lost > 1_000_000 and 2 * self._lost > len(self._texts):
                self._close_gaps()

    def query(self, number: int, parse: Callable[[str], Query]) -> Query:
        """Return a topic as it was parsed, or parse its text again."""
        found = self._queries.get(number) or self._read.get(number)
        if found is None:
            start = self._starts[number]
            text = self._texts[start : start + self._lengths[number]]
            found = parse(text.decode("utf-8", "surrogatepass"))
            if len(self._read) >= _MAX_PARSED:
                self._read.clear()
            self._read[number] = found
        return found

    def _close_gaps(self) -> None:
        texts = bytearray()
        for number, (start, length) in enumerate(zip(self._starts, self._lengths, strict=True)):
            self._starts[number] = len(texts)
            texts += self._texts[start : start + length]
        self._texts, self._lost = texts, 0
