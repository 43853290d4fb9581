"""Answers that many ask for at the same moment: worked out once, and kept for a few seconds.

The key of an answer is all that it may depend on, and the page is made from nothing else of the
request: whoever has the same key would get the same answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from monitor.clocks import Clock
from monitor.store.engine.database import Database
from monitor.web.access import Viewer
from monitor.web.site import Visit

# How long an answer is kept while the store stays the same: so late is what time alone changes.
KEPT = timedelta(seconds=5)
# Larger answers, and the oldest of more than these, are only shared while they are made.
MAX_BYTES = 200_000
MAX_ANSWERS = 100


class _Key(NamedTuple):
    path: str
    query: bytes
    viewer: Viewer
    zone: str
    can_log_out: bool
    mark: str


class _Answer(NamedTuple):
    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    content: bytes

    def response(self) -> Response:
        """Return a response of one request's own: the door and the compression change headers."""
        response = Response(self.content, self.status)
        response.raw_headers = list(self.headers)
        return response


class _Making(NamedTuple):
    began_at: datetime
    task: asyncio.Task[_Answer]


class SharedPages:
    """The answers of one server's pages; used on its event loop alone."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._made: dict[_Key, _Making] = {}

    async def answer(self, visit: Visit, make: Callable[[Visit], Awaitable[Response]]) -> Response:
        """Return what `make` returns or raises for a visitor like this one, as the store is now."""
        key = _Key(
            visit.path,
            visit.scope["query_string"],
            visit.viewer,
            visit.zone,
            visit.can_log_out,
            await run_in_threadpool(self._database.mark),
        )
        now = self._clock.now()
        making = self._made.get(key)
        if making is None or (making.task.done() and abs(now - making.began_at) > KEPT):
            task = asyncio.create_task(_make(make, _impersonal(visit)))
            making = _Making(now, task)
            self._made.pop(key, None)
            self._made[key] = making
            task.add_done_callback(partial(self._keep, key, making))
        # The others still get the answer when one visitor goes away.
        answer = await asyncio.shield(making.task)
        return answer.response()

    def _keep(self, key: _Key, making: _Making, task: asyncio.Task[_Answer]) -> None:
        """Forget an answer that failed or is large, and the oldest of too many."""
        failed = task.cancelled() or task.exception() is not None
        if (failed or len(task.result().content) > MAX_BYTES) and self._made.get(key) is making:
            del self._made[key]
        while len(self._made) > MAX_ANSWERS:
            del self._made[next(iter(self._made))]


async def _make(make: Callable[[Visit], Awaitable[Response]], visit: Visit) -> _Answer:
    response = await make(visit)
    return _Answer(response.status_code, tuple(response.raw_headers), bytes(response.body))


def _impersonal(visit: Visit) -> Visit:
    """Return a visit with nothing of the visitor but what is in the key."""
    state = {"viewer": visit.viewer, "zone": visit.zone, "can_log_out": visit.can_log_out}
    return Visit({**visit.scope, "method": "GET", "headers": [], "client": None, "state": state})
