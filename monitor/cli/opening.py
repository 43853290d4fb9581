"""How commands open the store and the channels that a configuration names."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from monitor.app import App, load_settings, open_app
from monitor.cli.options import Call
from monitor.cli.terminal import print_faults, stderr, with_sign
from monitor.clocks import clock_at
from monitor.config import load_for_reading
from monitor.config.messages import pointed
from monitor.errors import QueryError, UsageError
from monitor.log import set_up_logging
from monitor.store.engine.opening import is_there, queries_in_force


@contextmanager
def open_configured(call: Call, *, create: bool = True) -> Iterator[App]:
    """Open the configured store and channels. Without `create`, no store raises NoStoreError."""
    set_up_logging()
    with open_app(load_settings(call.config), clock_at(call.now), create=create) as app:
        yield app


@contextmanager
def open_to_read(call: Call) -> Iterator[App]:
    """Open a store to read it; nothing can be sent. Faults of the configuration are warnings.

    Raises NoStoreError for no store, ConfigError where the file does not say which it is.
    """
    settings, faults = load_for_reading(call.config, active_queries=queries_in_force)
    if faults:
        stderr.print(with_sign("!", "bold yellow", "The configuration has errors; see below."))
        print_faults(faults, "bold yellow")
    set_up_logging()
    with open_app(settings, clock_at(call.now), create=False) as app:
        yield app


@contextmanager
def open_or_empty(call: Call) -> Iterator[App]:
    """Open a store, or where there is none yet a temporary, empty one.

    `App.settings.store` is the one that the configuration names in either case.
    """
    set_up_logging()
    settings = opened = load_settings(call.config)
    is_new = not is_there(settings.store)
    with ExitStack() as stack:
        if is_new:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="paper-monitor-"))
            opened = settings.model_copy(update={"store": f"sqlite:///{folder}/monitor.db"})
        app = stack.enter_context(open_app(opened, clock_at(call.now), create=is_new))
        yield replace(app, settings=settings)


@contextmanager
def pointing(query: str) -> Iterator[None]:
    """Refuse a query that cannot be parsed with a caret under the position of the error."""
    try:
        yield
    except QueryError as fault:
        raise UsageError(pointed(query, fault)) from None
