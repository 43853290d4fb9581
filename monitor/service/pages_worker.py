"""Serves the pages of a service: `python -m monitor.service.pages_worker SOCKET`.

The settings and the clock of the service come over standard input, which stays open as long as
the service wants the pages.
"""

from __future__ import annotations

import logging
import pickle
import socket
import sys

import structlog

from monitor.app import open_app
from monitor.errors import MonitorError
from monitor.log import set_up_logging
from monitor.service.process import use_one_arena
from monitor.web.server import serving_pages

log = structlog.get_logger()


def main(descriptor: int) -> int:
    """Serve on a socket that is open already, until the input ends; return an exit status."""
    use_one_arena()
    set_up_logging(logging.INFO)
    settings, clock = pickle.load(sys.stdin.buffer)
    try:
        with (
            socket.socket(fileno=descriptor) as listening,
            open_app(settings, clock, create=False) as app,
            serving_pages(settings, app.runtime, listening),
        ):
            sys.stdin.buffer.read()
    except MonitorError as fault:
        log.error("pages failed", error=fault.message, hint=fault.hint)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
