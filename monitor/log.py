"""Logging: structured lines on stderr, and no secret in any of them."""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog
from structlog.typing import Processor, WrappedLogger

from monitor.setting_types import Variables

# Events that a command already shows in its table or JSON.
SHOWN = frozenset({"source read", "digest", "delivery"})


def masked(recipient: str) -> str:
    """Return a mail address with only the first letter of its local part; others as they are."""
    local, at, domain = recipient.rpartition("@")
    return f"{local[:1]}***@{domain}" if at and local else recipient


def hide(variables: Variables) -> None:
    """Write the names of these variables from now on where a line would have their values."""
    _Hidden.variables = variables


class _Hidden:
    """The variables that no line shows; loggers are made before the configuration is read."""

    variables = Variables()


def _hide_values(
    _: WrappedLogger, __: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    return {name: _hidden(value) for name, value in event.items()}


def _hidden(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_hidden(part) for part in value]
    return _Hidden.variables.hide(value) if isinstance(value, str) else value


def _without_shown(
    _: WrappedLogger, __: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    if event.get("event") in SHOWN:
        raise structlog.DropEvent
    return event


def set_up_logging(level: int = logging.WARNING) -> None:
    """Send lines, of libraries too, to stderr; JSON where stderr is not a terminal.

    A service logs from INFO on; a command logs warnings, without what it shows itself.
    """
    _quieten_libraries()
    watched = sys.stderr.isatty()
    # Plain tracebacks: the pretty ones print the values of variables, and with them secrets.
    pretty = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    quieter: list[Processor] = [_without_shown] if level > logging.INFO else []
    stamped: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper("iso", utc=True),
    ]
    shown: list[Processor] = [
        structlog.processors.format_exc_info,
        _hide_values,
        pretty if watched else structlog.processors.JSONRenderer(),
    ]
    structlog.configure(
        processors=[*quieter, *stamped, *shown],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    of_libraries = logging.StreamHandler(sys.stderr)
    without_meta = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    of_libraries.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[without_meta, *shown],
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *stamped],
        )
    )
    logging.basicConfig(level=level, handlers=[of_libraries], force=True)


def _quieten_libraries() -> None:
    """Silence libraries whose errors we log ourselves, or that would log secret URLs.

    httpx logs whole URLs at INFO, and with them the secrets in the addresses of webhooks and APIs.
    """
    for talkative in ("httpx", "httpcore", "urllib3", "slack_sdk", "alembic", "uvicorn"):
        logging.getLogger(talkative).setLevel(logging.WARNING)
    # A queue whose server is down logs a traceback for each connection; `Outages` logs it once.
    for repetitive in ("procrastinate", "psycopg"):
        logging.getLogger(repetitive).setLevel(logging.CRITICAL)
