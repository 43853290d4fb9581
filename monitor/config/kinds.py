"""The settings that each kind of source or channel has, built in or from a plug-in."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel

from monitor import plugins
from monitor.config.channel_settings import (
    EmailOptions,
    FileOptions,
    SlackOptions,
)
from monitor.errors import UsageError

CHANNEL_OPTIONS: Mapping[str, type[BaseModel]] = {
    "email": EmailOptions,
    "slack": SlackOptions,
    "file": FileOptions,
}


def source_options(kind: str) -> type[BaseModel]:
    """Return the settings of a kind of source; UsageError where there is no such kind."""
    return plugins.source_class(kind).Options


def channel_options(kind: str) -> type[BaseModel]:
    """Return the settings of a kind of channel; UsageError where there is no such kind."""
    if kind in CHANNEL_OPTIONS:
        return CHANNEL_OPTIONS[kind]
    options = getattr(plugins.channel_class(kind), "Options", None)
    if not (isinstance(options, type) and issubclass(options, BaseModel)):
        raise UsageError(f"the channel kind “{kind}” has no Options", "ask those who wrote it")
    return options
