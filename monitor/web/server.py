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
from monitor.store.engine.database import Database
from monitor.web.access import is_proxy_address
from monitor.web.application import make_application
from monitor.web.connections import ConnectionLimits, OpenConnections, RequestLimit, limited_by
from monitor.web.site import Site

log = structlog.get_logger()

# Seconds for requests that are under way when the service stops.
GRACE = 3
# More requests at a time are answered with 503.
MAX_ACTIVE_REQUESTS = 100
# uvicorn's limit of seconds between two requests: never reached, since ours is shorter.
KEEP_ALIVE = 60
LIMITS = ConnectionLimits()
# KiB of a connection to SQLite: a page of a large store is read from many places of it.
READ_CACHE = 8_192


@contextmanager
def serving_pages(runtime: Runtime, listening: socket.socket) -> Iterator[None]:
    """Serve pages on a socket until the block ends, with reads of their own."""
    on_unix_socket = listening.family == socket.AF_UNIX
    with _own_reads(runtime) as own:
        site = Site(own, on_unix_socket=on_unix_socket)
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
    """Serve an application on a socket until the block ends.

    `is_proxy` returns whether the address of a peer is that of a trusted proxy.
    """
    config = uvicorn.Config(
        RequestLimit(application, max_active_requests),
        http=limited_by(OpenConnections(limits, is_proxy)),
        # Who asks is decided by `access`, from the connection itself.
        proxy_headers=False,
        server_header=False,
        access_log=False,
        log_config=None,
        lifespan="off",
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=GRACE,
        ws="none",
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
    if listening.family == socket.AF_UNIX:
        return f"unix:{listening.getsockname()}"
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


@contextmanager
def _own_reads(runtime: Runtime) -> Iterator[Runtime]:
    """Give pages connections of their own, so that pages and stages do not wait for each other."""
    url = runtime.database.url.render_as_string(hide_password=False)
    database = Database(url, read_cache=READ_CACHE)
    keys = runtime.keys
    try:
        if not keys.keys:  # feeds are opened by signed addresses, also without `public_url`
            keys = KeyRing((secrets.make_signing_key(database, runtime.clock),))
        yield replace(runtime, database=database, keys=keys)
    finally:
        database.close()
