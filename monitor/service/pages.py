"""`web`: the pages alone, as a process on the store of a service."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from monitor.app import App
from monitor.config import WebSettings
from monitor.model import Clock
from monitor.service.process import Running
from monitor.web.listening import bound
from monitor.web.server import serving_pages

TICK = timedelta(seconds=20)


class Pages(Running):
    """Pages under one configuration until it changes. Raises MonitorError for a taken address.

    `listen` is another address than that of the settings.
    """

    def __init__(self, path: Path, clock: Clock, listen: str = "", tick: timedelta = TICK) -> None:
        super().__init__(path, clock)
        self.listen = listen
        self.tick = tick

    def work(self, app: App) -> None:
        web = app.settings.web or WebSettings()
        if self.listen:
            web = web.listening_on(self.listen)
        with bound(web) as listening, serving_pages(app.settings, app.runtime, listening):
            self.serving.set()
            while not self._wake.wait(self.tick.total_seconds()):
                self._reload(app)
