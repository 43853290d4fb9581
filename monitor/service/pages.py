"""The pages, in a process of their own: that of `web`, or one that `serve` starts beside itself.

Python runs one thread at a time: pages in the process of the stages would take turns from them.
That of `serve` is `python -m monitor.service.pages SOCKET`. Its settings and clock come over
standard input, which stays open as long as the service wants the pages: the file may have got a
fault since they were read.
"""

from __future__ import annotations

import logging
import os
import pickle
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace

import structlog

from monitor.app import App, open_app
from monitor.clocks import Clock
from monitor.config import Settings, WebSettings
from monitor.errors import MonitorError
from monitor.log import set_up_logging
from monitor.service.process import Running, use_one_arena
from monitor.web.listening import bound

log = structlog.get_logger()

# Seconds in which the process has to end: longer than requests under way are given.
ENDS_WITHIN = 6.0
# Seconds between two looks whether pages are answered.
LOOK_INTERVAL = 0.1


@dataclass(eq=False)
class Pages(Running):
    """Pages under one configuration until it changes. Raises MonitorError for a taken address.

    `listen` is another address than that of the settings.
    """

    listen: str = ""

    def work(self, app: App) -> None:
        from monitor.web.server import serving_pages  # not for `serve`

        web = app.settings.web or WebSettings()
        if self.listen:
            web = web.listening_on(self.listen, has_public_url=bool(app.settings.public_url))
        with bound(web) as listening, serving_pages(app.runtime, listening):
            settings = app.settings.model_copy(update={"web": web})
            self._announce_pages(replace(app, settings=settings))
            self._serve(app)
            while not self._wake.wait(self.tick.total_seconds()):
                self._reload(app)


class PagesProcess:
    """The process of a service's pages under one configuration, from `keep` to `end`.

    The socket is opened here, so that visitors wait, and are not refused, while a process that
    broke is replaced. It ends when its standard input does, also when this process is killed.
    """

    def __init__(self, settings: Settings, web: WebSettings, clock: Clock) -> None:
        self._web = web
        self._message = pickle.dumps((settings, clock), pickle.HIGHEST_PROTOCOL)
        self._stack = ExitStack()
        self._listening: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._is_refused = False

    def keep(self) -> None:
        """See to it that the process runs, where the address can be had."""
        self._listening = self._listening or self._listen()
        if self._listening is None:
            return
        if self._process is not None:
            status = self._process.poll()
            if status is None:
                return
            log.warning("pages ended unexpectedly", status=status)
            _end(self._process)
        self._start(self._listening)

    def wait_until_answering(self, stopping: threading.Event, seconds: float) -> bool:
        """Return True as soon as pages are answered, False after `seconds` and when `stopping`.

        The process writes one line when it answers. A process that ended is not waited for.
        """
        if self._process is None or self._process.stdout is None:
            return False
        for _ in range(max(1, round(seconds / LOOK_INTERVAL))):
            try:
                return bool(os.read(self._process.stdout.fileno(), 1))
            except BlockingIOError:
                if stopping.wait(LOOK_INTERVAL):
                    break
        return False

    def ask_to_end(self) -> None:
        """Let the process begin to end; `end` waits for it."""
        if self._process is not None and self._process.stdin:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
            self._process.stdin = None  # `communicate` would flush it

    def end(self) -> None:
        """Let requests under way come to their end, and close the address."""
        self._stack.close()
        if self._process is not None:
            _end(self._process)

    def _listen(self) -> socket.socket | None:
        try:
            return self._stack.enter_context(bound(self._web))
        except MonitorError as fault:
            if not self._is_refused:
                log.warning("pages not served", error=fault.message, hint=fault.hint)
            self._is_refused = True
            return None

    def _start(self, listening: socket.socket) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "monitor.service.pages", str(listening.fileno())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            pass_fds=[listening.fileno()],
            start_new_session=True,  # Ctrl-C is for this process, which ends its pages
        )
        assert self._process.stdin and self._process.stdout
        os.set_blocking(self._process.stdout.fileno(), False)
        with suppress(BrokenPipeError):  # `keep` sees that it has ended
            self._process.stdin.write(self._message)
            self._process.stdin.flush()


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        process.communicate(timeout=ENDS_WITHIN)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def main(descriptor: int) -> int:
    """Serve on a socket that is open already, until the input ends; return an exit status."""
    from monitor.web.server import serving_pages  # not for `serve`, which starts this

    use_one_arena()
    set_up_logging(logging.INFO)
    settings, clock = pickle.load(sys.stdin.buffer)
    try:
        with (
            socket.socket(fileno=descriptor) as listening,
            open_app(settings, clock, create=False) as app,
            serving_pages(app.runtime, listening),
        ):
            sys.stdout.write("\n")  # for `wait_until_answering`
            sys.stdout.flush()
            sys.stdin.buffer.read()
    except MonitorError as fault:
        log.error("pages failed", error=fault.message, hint=fault.hint)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
