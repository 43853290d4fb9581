"""Serving the pages: uvicorn on a thread of its own, beside the service or alone."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import structlog
import uvicorn

from monitor.config import Settings, WebSettings
from monitor.errors import MonitorError
from monitor.pipeline.runtime import Runtime
from monitor.store.database import Database
from monitor.web.application import make_application, open_site

log = structlog.get_logger()

# Requests that are under way when the service stops have so many seconds.
GRACE = 3
# More requests at a time are answered with 503; each that is idle is closed.
MOST_AT_ONCE = 100
IDLE = 15
BACKLOG = 128


@contextmanager
def serving_pages(settings: Settings, runtime: Runtime, listen: str = "") -> Iterator[str]:
    """Serve pages until the block ends, with reads of their own; yield their address.

    `listen` is another address than that of the settings. Raises MonitorError where it is taken.
    """
    web = settings.web or WebSettings()
    if listen:
        web = WebSettings.model_validate({**dict(web), "listen": listen})
    with bound(web) as listening, _own_reads(runtime) as own:
        application = make_application(open_site(settings, own))
        config = uvicorn.Config(
            application,
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
        # Signals are taken on the main thread alone, so uvicorn leaves them to the service.
        thread = threading.Thread(
            target=server.run, kwargs={"sockets": [listening]}, name="pages", daemon=True
        )
        thread.start()
        host, port = web.address
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        log.info("pages served", address=settings.public_url or address)
        try:
            yield address
        finally:
            server.should_exit = True
            thread.join(GRACE + 2)


@contextmanager
def bound(web: WebSettings) -> Iterator[socket.socket]:
    """Open the socket to listen on. Raises MonitorError, with what to do, where that fails."""
    host, port = web.address
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise MonitorError(
            f"pages cannot be served at {web.listen}: {error.strerror or error}",
            "set another address with web: {listen: 127.0.0.1:8081}, or web: off",
        ) from error
    # Each connection inherits it. asyncio sets it only where a socket names its protocol, as those
    # accepted here do not; without it the end of each answer waits 40 ms for the client's ACK.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with listening:
        yield listening


@contextmanager
def _own_reads(runtime: Runtime) -> Iterator[Runtime]:
    """Give pages connections of their own, so that they wait for nobody, and nobody for them."""
    database = Database(runtime.database.url.render_as_string(hide_password=False))
    try:
        yield replace(runtime, database=database)
    finally:
        database.close()
