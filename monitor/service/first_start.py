"""`serve --first-start`: in an empty folder, the demo until the configuration is edited.

empty folder ──> monitor.yaml is written, as `init` writes it
     │
unedited, or edited with a fault ──> the demo, in a process of its own
     │
edited and valid ──> the demo is removed and never comes back; the service runs
"""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from monitor import config
from monitor.app import load_settings
from monitor.commands.first_start import FirstStart
from monitor.errors import ConfigError
from monitor.service.demo import DemoProcess
from monitor.service.scheduler import Service

log = structlog.get_logger()

# Seconds between two looks at the configuration while the demo is shown.
LOOK = 1.0


@dataclass(eq=False, kw_only=True)
class FirstStartService(Service):
    """The service, and before it `demo`, where the configuration was never edited.

    A fault in an edit ends neither the demo nor the process, which a container would start again
    and again.
    """

    demo: DemoProcess

    def run(self) -> None:
        self._listen()
        first = FirstStart(self.path)
        if first.is_due:
            first.begin()
            self._read = config.watch(self.path)
            if not self._has_edit(first):
                self._show_demo(first)
            if self._stopping.is_set():
                log.info("stopped")
                return
            log.info("demo ended", because="the configuration was edited")
        first.end()
        super().run()

    def _show_demo(self, first: FirstStart) -> None:
        """Show the demo until the configuration has a valid edit, or the process should stop."""
        log.info(
            "making the demo",
            listen=self.demo.web.listen,
            hint=f"it is shown until the first edit of {self.path} without a fault",
        )
        try:
            while True:
                self.demo.keep(first)
                if self._stopping.wait(LOOK) or (self._is_changed() and self._has_edit(first)):
                    return
        finally:
            self.demo.end()

    def _is_changed(self) -> bool:
        """Whether two looks found the same new content, as before a reload."""
        fingerprint = config.watch(self.path)
        before = self._seen
        self._seen = fingerprint
        if fingerprint == self._read or fingerprint != before:
            return False
        self._read = fingerprint
        return True

    def _has_edit(self, first: FirstStart) -> bool:
        """Whether the configuration was edited and has no fault."""
        if not first.is_edited():
            return False
        try:
            load_settings(self.path)
        except ConfigError as fault:
            log.warning("configuration not applied", faults=str(fault).splitlines())
            return False
        return True
