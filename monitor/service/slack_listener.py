"""Listening for what people choose in Slack, for as long as the service runs.

A connection that breaks, or that Slack ends, as it does every few hours, is made again. One that
stays away is a warning and an incident, and stops nothing else.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import structlog

from monitor.channels.slack import SlackSettings
from monitor.channels.slack.socket_mode import SocketMode
from monitor.commands.slack_answers import SlackAnswers
from monitor.errors import StoreError
from monitor.pipeline import incidents
from monitor.pipeline.runtime import Runtime
from monitor.store.digests import incidents as stored_incidents

log = structlog.get_logger()

# Seconds between two looks at the connection, and between attempts to connect, ever longer.
LOOK = 1.0
WAITS = (1.0, 5.0, 30.0, 120.0)
# A connection that was away for less is no incident.
BRIEF = 120.0


@contextmanager
def listening(slack: SlackSettings, runtime: Runtime) -> Iterator[None]:
    """Listen on a thread until the block ends."""
    stopping = threading.Event()
    thread = threading.Thread(
        target=_listen, args=(slack, runtime, stopping), name="slack listener", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


def _listen(slack: SlackSettings, runtime: Runtime, stopping: threading.Event) -> None:
    assert slack.app_token
    answers = SlackAnswers(runtime, slack)
    connection = SocketMode(slack.app_token.reveal(), slack.base_url, answers.take)
    state = _State(runtime)
    try:
        while not stopping.is_set():
            error = "" if connection.is_connected else connection.connect()
            state.note(error)
            stopping.wait(state.wait)
    finally:
        connection.close()


class _State:
    """The state of the connection: how long it has been down, and the error last recorded."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._failures = 0
        self._since = 0.0
        self._error: str | None = None

    @property
    def wait(self) -> float:
        """Return in how many seconds to look again."""
        return WAITS[min(self._failures, len(WAITS)) - 1] if self._failures else LOOK

    def note(self, error: str) -> None:
        """Note the error of an attempt to connect, "" for none: it begins or ends the incident."""
        if not error:
            if self._error != "":
                self._end()
            self._failures, self._error = 0, ""
            return
        if not self._failures:
            self._since = time.monotonic()
        self._failures += 1
        if self._failures == 1:
            log.warning("slack not connected", error=error)
        if error != self._error and time.monotonic() - self._since >= BRIEF:
            self._begin(error)
            self._error = error

    def _begin(self, error: str) -> None:
        now = self._runtime.clock.now()
        with suppress(StoreError), self._runtime.database.writing() as tx:
            stored_incidents.open_incident(
                tx, incidents.SLACK_ANSWERS, incidents.FAILING, now, f"Slack: {error}"
            )

    def _end(self) -> None:
        log.info("slack connected")
        now = self._runtime.clock.now()
        with suppress(StoreError), self._runtime.database.writing() as tx:
            stored_incidents.end_incident(tx, incidents.SLACK_ANSWERS, incidents.FAILING, now)
