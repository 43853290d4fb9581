"""Listening for what people choose in Slack, for as long as the service runs.

A connection that breaks, or that Slack ends, as it does every few hours, is made again. One that
stays away is a warning and an incident, and stops nothing else.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import structlog

from monitor.channels.slack import SlackSettings
from monitor.channels.slack.socket_mode import SocketMode
from monitor.commands.slack_answers import SlackAnswers
from monitor.errors import StoreError
from monitor.model.incidents import IncidentKind, Subject, SubjectKind
from monitor.pipeline.runtime import Runtime
from monitor.store.digests import incidents as stored_incidents

log = structlog.get_logger()

# Seconds between two looks at the connection; after failures in a row, ever more.
WAITS = (1.0, 1.0, 5.0, 30.0, 120.0)
# Seconds in which the connection has to end.
ENDS_WITHIN = 2.0
# A connection that was away for less is no incident.
BRIEF = 120.0


@contextmanager
def listening(
    slack: SlackSettings, runtime: Runtime, monotonic: Callable[[], float] = time.monotonic
) -> Iterator[None]:
    """Listen on a thread until the block ends."""
    stopping = threading.Event()
    arguments = (slack, runtime, stopping, monotonic)
    thread = threading.Thread(target=_listen, args=arguments, name="slack listener", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join(ENDS_WITHIN)  # it may wait for Slack, and then does nothing more


def _listen(
    slack: SlackSettings,
    runtime: Runtime,
    stopping: threading.Event,
    monotonic: Callable[[], float],
) -> None:
    """Keep the connection; an outage begins and ends an incident."""
    answers = SlackAnswers(runtime, slack)
    connection = SocketMode(slack, answers.take)
    failures = 0
    down_since = 0.0
    recorded: str | None = None  # the error in the store, "" for none
    try:
        while not stopping.is_set():
            error = "" if connection.is_connected else connection.connect()
            if stopping.is_set():
                break
            if error and not failures:
                down_since = monotonic()
                log.warning("slack not connected", error=error)
            failures = failures + 1 if error else 0
            if error != recorded and (not error or monotonic() - down_since >= BRIEF):
                if not error:
                    log.info("slack connected")
                _record(runtime, error)
                recorded = error
            stopping.wait(WAITS[min(failures, len(WAITS) - 1)])
    finally:
        connection.close()


def _record(runtime: Runtime, error: str) -> None:
    subject = Subject(SubjectKind.SLACK_ANSWERS)
    kind = IncidentKind.FAILING
    now = runtime.clock.now()
    with suppress(StoreError), runtime.database.writing() as tx:
        if error:
            stored_incidents.open_incident(tx, subject, kind, now, f"Slack: {error}")
        else:
            stored_incidents.end_incident(tx, subject, kind, now)
