"""Logging: structured lines on stderr, and no secret in any of them."""

from __future__ import annotations

import logging
import sys

import structlog
from structlog.typing import Processor


def set_up_logging(level: int = logging.WARNING) -> None:
    """Send lines, of libraries too, to stderr; JSON where nobody watches.

    httpx tells whole URLs at INFO, and with them the secrets that webhooks and APIs carry in
    their addresses, so it and its like are heard from WARNING on.
    """
    for talkative in ("httpx", "httpcore", "slack_sdk", "alembic", "procrastinate"):
        logging.getLogger(talkative).setLevel(logging.WARNING)
    # Its warnings are of jobs that were woken while they ran: their next tick is soon enough.
    logging.getLogger("apscheduler").setLevel(logging.ERROR)
    watched = sys.stderr.isatty()
    # Plain tracebacks: the pretty ones print the values of variables, and with them secrets.
    pretty = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    said: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper("iso", utc=True),
    ]
    shown: list[Processor] = (
        [pretty]
        if watched
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    )
    structlog.configure(
        processors=[*said, *shown],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    of_libraries = logging.StreamHandler(sys.stderr)
    without_meta = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    of_libraries.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[without_meta, *shown],
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *said],
        )
    )
    logging.basicConfig(level=level, handlers=[of_libraries], force=True)
