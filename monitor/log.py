"""Logging: structured lines on stderr, and no secret in any of them."""

from __future__ import annotations

import logging
import sys

import structlog


def set_up_logging(level: int = logging.WARNING) -> None:
    """Send structlog's lines to stderr; JSON where nobody watches.

    httpx tells whole URLs at INFO, and with them the secrets that webhooks and APIs carry in
    their addresses, so it and its like are heard from WARNING on.
    """
    logging.basicConfig(level=level, stream=sys.stderr, format="%(message)s", force=True)
    for talkative in ("httpx", "httpcore", "slack_sdk", "apscheduler", "alembic", "procrastinate"):
        logging.getLogger(talkative).setLevel(logging.WARNING)
    watched = sys.stderr.isatty()
    # Plain tracebacks: the pretty ones print the values of variables, and with them secrets.
    pretty = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            pretty if watched else structlog.processors.format_exc_info,
            *([] if watched else [structlog.processors.JSONRenderer()]),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
