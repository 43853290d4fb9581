"""Serving the pages: uvicorn on a thread of its own."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import structlog
import uvicorn
from starlette.types import ASGIApp

from monitor.pipeline.runtime import Runtime
from monitor.signing import KeyRing
from monitor.store import secrets
from monitor.web.access import is_proxy_address
from monitor.web.application import make_application
from monitor.web.connections import (
    ConnectionLimits,
    LimitedConnection,
    OpenConnections,
    RequestLimit,
)
from monitor.web.site import Site

log = structlog.get_logger()

# Seconds for requests that are under way when the service stops.
GRACE = 3
# More requests at a time are answered with 503.
MAX_ACTIVE_REQUESTS = 100
# Bytes of the head of a request: a query that is too long is to come back with a reason, and three
# bytes stand for one in an address.
MAX_HEAD_BYTES = 64 * 1024
# uvicorn's limit of seconds between two requests: never reached, since ours is shorter.
KEEP_ALIVE = 60
LIMITS = ConnectionLimits()


@contextmanager
def serving_pages(
    runtime: Runtime, listening: socket.socket, *, is_demo: bool = False
) -> Iterator[None]:
    """Serve pages on a socket until the block ends: with `is_demo` without a login."""
    if not runtime.keys.keys:  # feeds are opened by signed addresses, also without `public_url`
        key = secrets.make_signing_key(runtime.database, runtime.clock)
        runtime = replace(runtime, keys=KeyRing((key,)))
    site = Site(runtime, on_unix_socket=listening.family == socket.AF_UNIX, is_demo=is_demo)
    with serving(make_application(site), listening, partial(is_proxy_address, site.rules)):
        log.info("pages served", address=site.rules.url or _address_of(listening))
        yield


@contextmanager
def serving(
    application: ASGIApp,
    listening: socket.socket,
    is_proxy: Callable[[str], bool],
    limits: ConnectionLimits = LIMITS,
    max_active_requests: int = MAX_ACTIVE_REQUESTS,
) -> Iterator[None]:
    """Serve an application on a socket until the block ends; see `OpenConnections`."""

    class Connection(LimitedConnection):
        open_connections = OpenConnections(limits, is_proxy)

    config = uvicorn.Config(
        RequestLimit(application, max_active_requests),
        http=Connection,
        # Who asks is decided by `access`, from the connection itself.
        proxy_headers=False,
        server_header=False,
        access_log=False,
        log_config=None,
        lifespan="off",
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=GRACE,
        ws="none",
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
    )
    server = uvicorn.Server(config)
    # Signals are taken on the main thread alone, so uvicorn leaves them to the process.
    thread = threading.Thread(
        target=server.run, kwargs={"sockets": [listening]}, name="pages", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(GRACE + 2)


def _address_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
