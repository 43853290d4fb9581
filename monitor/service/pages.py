"""A process of the pages: `web`, on the store of a service, or the one that `serve` starts."""

from __future__ import annotations

import logging
import pickle
import socket
import sys
from dataclasses import dataclass, replace

import structlog

from monitor.app import App, open_app
from monitor.config import WebSettings
from monitor.errors import MonitorError
from monitor.log import set_up_logging
from monitor.service.process import Running, use_one_arena
from monitor.web.listening import bound
from monitor.web.server import serving_pages

log = structlog.get_logger()


@dataclass(eq=False)
class Pages(Running):
    """Pages under one configuration until it changes. Raises MonitorError for a taken address.

    `listen` is another address than that of the settings.
    """

    listen: str = ""

    def work(self, app: App) -> None:
        web = app.settings.web or WebSettings()
        if self.listen:
            web = web.listening_on(self.listen, has_public_url=bool(app.settings.public_url))
        with bound(web) as listening, serving_pages(app.runtime, listening):
            settings = app.settings.model_copy(update={"web": web})
            self._announce_pages(replace(app, settings=settings))
            self._serve(app)
            while not self._wake.wait(self.tick.total_seconds()):
                self._reload(app)


def main(descriptor: int) -> int:
    """Serve on a socket that is open already, until the input ends; return an exit status."""
    use_one_arena()
    set_up_logging(logging.INFO)
    settings, clock = pickle.load(sys.stdin.buffer)
    try:
        with (
            socket.socket(fileno=descriptor) as listening,
            open_app(settings, clock, create=False) as app,
            serving_pages(app.runtime, listening),
        ):
            sys.stdin.buffer.read()
    except MonitorError as fault:
        log.error("pages failed", error=fault.message, hint=fault.hint)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
