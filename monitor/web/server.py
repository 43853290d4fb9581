"""Serving the pages: uvicorn on a thread of its own."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import structlog
import uvicorn

from monitor.config import Settings
from monitor.pipeline.runtime import Runtime
from monitor.signing import KeyRing
from monitor.store import signing_keys
from monitor.store.database import Database
from monitor.web.application import make_application, open_site

log = structlog.get_logger()

# Requests that are under way when the service stops have so many seconds.
GRACE = 3
# More requests at a time are answered with 503; each that is idle is closed.
MOST_AT_ONCE = 100
IDLE = 15
# KiB of a connection to SQLite: a page of a large store is read from many places of it.
READ_CACHE = 8_192


@contextmanager
def serving_pages(settings: Settings, runtime: Runtime, listening: socket.socket) -> Iterator[None]:
    """Serve pages on a socket until the block ends, with reads of their own."""
    on_unix_socket = listening.family == socket.AF_UNIX
    with _own_reads(runtime) as own:
        config = uvicorn.Config(
            make_application(open_site(settings, own, on_unix_socket=on_unix_socket)),
            # Who asks is decided by `access`, from the connection itself.
            proxy_headers=False,
            server_header=False,
            access_log=False,
            log_config=None,
            lifespan="off",
            limit_concurrency=MOST_AT_ONCE,
            timeout_keep_alive=IDLE,
            timeout_graceful_shutdown=GRACE,
            ws="none",
        )
        server = uvicorn.Server(config)
        # Signals are taken on the main thread alone, so uvicorn leaves them to the process.
        thread = threading.Thread(
            target=server.run, kwargs={"sockets": [listening]}, name="pages", daemon=True
        )
        thread.start()
        log.info("pages served", address=settings.public_url or _address_of(listening))
        try:
            yield
        finally:
            server.should_exit = True
            thread.join(GRACE + 2)


def _address_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


@contextmanager
def _own_reads(runtime: Runtime) -> Iterator[Runtime]:
    """Give pages connections of their own, so that they wait for nobody, and nobody for them."""
    url = runtime.database.url.render_as_string(hide_password=False)
    database = Database(url, read_cache=READ_CACHE)
    keys = runtime.keys
    try:
        if not keys.keys:  # feeds are opened by signed addresses, also without `public_url`
            keys = KeyRing((signing_keys.make(database, runtime.clock),))
        yield replace(runtime, database=database, keys=keys)
    finally:
        database.close()
