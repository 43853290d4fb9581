"""The demo of a first start: a process that makes it and serves its pages without a login.

Nothing private is in it and nothing is sent: once it is made, only pages are served.
"""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import structlog

from monitor.app import load_settings, open_app
from monitor.clocks import SystemClock
from monitor.commands.first_start import FirstStart, configuration_of
from monitor.commands.heartbeat import SERVICE, sign_of_life
from monitor.config import WebSettings
from monitor.config.files import FROM_ENVIRONMENT
from monitor.errors import MonitorError
from monitor.log import set_up_logging
from monitor.service.process import use_one_arena
from monitor.sources import sandbox
from monitor.web.listening import bound

log = structlog.get_logger()

# Seconds between two signs of life.
BEAT = 60
# The demo has the time zone of the service, but neither its token nor its address.
_OF_THE_SERVICE = {name for where, name in FROM_ENVIRONMENT.items() if where != ("timezone",)}


class DemoProcess:
    """The process of the demo, from `keep` to `end`; `command` is what runs `serve_demo`.

    The socket is opened here, so that visitors wait while the demo is made.
    """

    def __init__(self, web: WebSettings, command: Sequence[str]) -> None:
        self.web = web
        self._command = command
        self._stack = ExitStack()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_refused = self._has_ended = False

    def keep(self, first: FirstStart) -> None:
        """Start the process once the address can be had. It is not started again if it ends.

        A demo that could not be made would not be made the next time.
        """
        if self._process is None and not self._has_ended:
            self._start(first)
        elif self._process is not None and self._process.poll() is not None:
            log.error("demo ended unexpectedly", status=self._process.returncode)
            self.end()

    def end(self) -> None:
        """Kill the process: it could damage the demo alone, which is removed or made again."""
        self._has_ended = True
        self._stack.close()
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _start(self, first: FirstStart) -> None:
        try:
            listening = self._stack.enter_context(bound(self.web))
        except MonitorError as fault:
            if not self._is_refused:
                log.warning("demo not shown", error=fault.message)
            self._is_refused = True
            return
        first.clear_demo()
        environment = {
            name: value
            for name, value in os.environ.items()
            if name.removesuffix("_FILE") not in _OF_THE_SERVICE
        }
        self._process = subprocess.Popen(
            [*self._command, str(listening.fileno()), str(first.demo)],
            stdin=subprocess.PIPE,
            env=environment | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            pass_fds=[listening.fileno()],
            start_new_session=True,  # Ctrl-C is for the service, which ends the demo
        )


def serve_demo(descriptor: int, folder: Path, make: Callable[[Path], object]) -> int:
    """Make the demo in a folder and serve it on a socket that is open already.

    The process ends with its standard input, as the service does that started it. Returns an exit
    status if the demo cannot be made.
    """
    use_one_arena()
    threading.Thread(target=_end_with_input, name="input", daemon=True).start()
    set_up_logging()
    try:
        make(folder)
        sandbox.end()
        settings = load_settings(configuration_of(folder))
    except (MonitorError, OSError) as fault:
        log.error("demo not made", error=str(fault))
        return 1
    from monitor.web.server import serving_pages  # not for the service, which only starts this

    set_up_logging(logging.INFO)
    with (
        socket.socket(fileno=descriptor) as listening,
        open_app(settings, SystemClock(), create=False) as app,
        serving_pages(app.runtime, listening, is_demo=True),
    ):
        while True:
            sign_of_life(app.runtime.database, SERVICE)
            time.sleep(BEAT)


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    os._exit(1)
