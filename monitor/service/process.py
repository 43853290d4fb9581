"""A process that works with one configuration until it stops or the file changes."""

from __future__ import annotations

import ctypes
import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import structlog

from monitor import config
from monitor.app import App, load_settings, open_app
from monitor.clocks import Clock
from monitor.config import Settings
from monitor.errors import ConfigError, MonitorError
from monitor.model.incidents import IncidentKind, Subject, SubjectKind
from monitor.pipeline import shared_store
from monitor.pipeline.ingest import TICK
from monitor.pipeline.runtime import ActiveConfig
from monitor.store.digests import incidents as stored_incidents

log = structlog.get_logger()

# mallopt(3): how many arenas glibc may have.
_M_ARENA_MAX = -8


def use_one_arena() -> None:
    """Let all threads allocate from one arena: glibc has one for each, which keep what they free.

    It has to be called before there are threads. Other C libraries have no such setting.
    """
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(_M_ARENA_MAX, 1)


@dataclass(eq=False)
class Running(ABC):
    """The base of `serve`, `worker` and `web`. `run` returns after `stop` or SIGTERM.

    `serving` is set once `work` is under way; `on_pages` is called when pages are first served.

    Raises ConfigError at the start only: a fault that is written into the file later leaves
    the running configuration active, and is reported in the log and by `status`.
    """

    path: Path
    clock: Clock
    tick: timedelta = TICK
    on_pages: Callable[[App], None] | None = None

    def __post_init__(self) -> None:
        self.serving = threading.Event()
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._read = self._seen = ""
        self._in_force = ActiveConfig()
        self._good: Settings | None = None

    @abstractmethod
    def work(self, app: App) -> None:
        """Work with one configuration until `_wake` is set."""

    def stop(self) -> None:
        """Claim nothing more, finish the hand-off under way, and let `run` return."""
        self._stopping.set()
        self._wake.set()

    def run(self) -> None:
        use_one_arena()
        self._listen()
        self._read = config.watch(self.path)
        self._settings = load_settings(self.path)
        while True:
            self._wake.clear()
            if self._stopping.is_set():
                log.info("stopped")
                return
            settings = self._settings
            try:
                with ExitStack() as opened:
                    app = opened.enter_context(open_app(settings, self.clock, self._in_force))
                    try:
                        self.work(app)
                    finally:
                        self._leave(opened.pop_all())
            except MonitorError as fault:
                if self._good is None or settings is self._good:
                    raise
                log.error("the changed configuration cannot be used", error=str(fault))
                self._settings = self._good

    def _leave(self, opened: ExitStack) -> None:
        """Close what was opened for one configuration, now that its work has ended."""
        opened.close()

    def _serve(self, app: App) -> None:
        """Note that the work is under way, so that these settings are good."""
        self._good = app.settings
        self.serving.set()

    def _reason(self) -> str:
        """Say why the work under one configuration ends."""
        return "shutdown" if self._stopping.is_set() else "changed configuration"

    def _listen(self) -> None:
        """End cleanly on the first signal, at once on the second."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def _on_signal(self, _number: int, _frame: object) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        self.stop()

    def _announce_pages(self, app: App) -> None:
        if self.on_pages:
            self.on_pages(app)
            self.on_pages = None

    def _announce(self, app: App) -> None:
        """Record that this configuration is used, which ends the incident of a faulty one."""
        runtime = app.runtime
        with runtime.database.writing() as tx:
            shared_store.begin_use(tx, runtime)
            stored_incidents.end_incident(
                tx, Subject(SubjectKind.CONFIGURATION), IncidentKind.FAULTY, self.clock.now()
            )
        log.info(
            "serving",
            sources=len(runtime.sources),
            topics=len(runtime.topics),
            subscriptions=len(runtime.subscriptions),
        )
        self._serve(app)

    def _reload(self, app: App) -> None:
        """Take up a changed file. One with a fault changes nothing, and the operator hears.

        It has to be the same at two looks: the half of a file that is being written may well be
        a configuration, of fewer subscriptions.
        """
        fingerprint = config.watch(self.path)
        before = self._seen
        self._seen = fingerprint
        if fingerprint == self._read or fingerprint != before:
            return
        self._read = fingerprint
        try:
            self._settings = load_settings(self.path)
        except ConfigError as fault:
            log.error("configuration not applied", faults=[f.message for f in fault.faults])
            subject = Subject(SubjectKind.CONFIGURATION)
            kind = IncidentKind.FAULTY
            with app.runtime.database.writing() as tx:
                stored_incidents.open_incident(tx, subject, kind, self.clock.now(), str(fault))
        else:
            log.info("configuration changed")
            self._wake.set()
