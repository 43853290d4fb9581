"""Answers that take much work: one at a time, and kept for a few seconds.

Python does one thing at a time, so that several at once would only take more memory. Who asks for
the same as somebody else gets the same answer: while it is worked out, and for a short time after
it. A form of these pages that was handled ends that time, since it may have changed anything.
What visitors search for waits in a queue of its own, so that other pages do not wait for it.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import ThreadPoolExecutor

from starlette.requests import Request
from starlette.responses import Response

from monitor.web.site import Page, path_of, viewer_of, zone_of

# Seconds that an answer is kept, and how many are.
KEPT_FOR, MOST = 5.0, 64

Endpoint = Callable[[Request], Awaitable[Response]]


class KeptAnswers:
    """The answers of one server; used on its event loop alone."""

    def __init__(self) -> None:
        self._pages = ThreadPoolExecutor(1, thread_name_prefix="costly page")
        self._queries = ThreadPoolExecutor(1, thread_name_prefix="query")
        self._answers: OrderedDict[Hashable, tuple[float, asyncio.Task[Response]]] = OrderedDict()

    async def get(self, key: Hashable, work: Callable[[], Response], is_query: bool) -> Response:
        """Return the answer of `work`, or that of another caller with the same key."""
        now = time.monotonic()
        kept = self._answers.get(key)
        if kept is None or now > kept[0] or _has_failed(kept[1]):
            task = asyncio.ensure_future(self._work(key, work, is_query))
            self._answers[key] = (float("inf"), task)  # until it is there
            while len(self._answers) > MOST:
                self._answers.popitem(last=False)
        else:
            task = kept[1]
        return await asyncio.shield(task)

    async def query(self, work: Callable[[], Response]) -> Response:
        """Return the answer of `work`, which is not kept."""
        return await asyncio.get_running_loop().run_in_executor(self._queries, work)

    async def _work(self, key: Hashable, work: Callable[[], Response], is_query: bool) -> Response:
        worker = self._queries if is_query else self._pages
        answer = await asyncio.get_running_loop().run_in_executor(worker, work)
        if key in self._answers:
            self._answers[key] = (time.monotonic() + KEPT_FOR, self._answers[key][1])
        return answer

    def clear(self) -> None:
        """Forget all answers."""
        self._answers.clear()


def _has_failed(task: asyncio.Task[Response]) -> bool:
    return task.done() and (task.cancelled() or task.exception() is not None)


def costly(page: Page, *, is_query: bool = False) -> Endpoint:
    """Return an endpoint for a page that takes much work; `is_query` for what visitors search."""

    async def answer(request: Request) -> Response:
        viewer = viewer_of(request)
        key = (path_of(request), request.scope["query_string"], viewer, zone_of(request))
        kept: KeptAnswers = request.app.state.kept
        return await kept.get(key, lambda: page(request), is_query)

    return answer


def one_at_a_time(page: Page) -> Endpoint:
    """Return an endpoint for the results of a search, which are too large to be kept."""

    async def answer(request: Request) -> Response:
        kept: KeptAnswers = request.app.state.kept
        return await kept.query(lambda: page(request))

    return answer
