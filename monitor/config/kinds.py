"""The settings that each kind of source or channel has, built in or from a plug-in."""

from __future__ import annotations

from pydantic import BaseModel

from monitor import plugins


def source_options(kind: str) -> type[BaseModel]:
    """Return the settings of a kind of source; UsageError where there is no such kind."""
    return plugins.source_class(kind).Options


def channel_options(kind: str) -> type[BaseModel]:
    """Return the settings of a kind of channel; UsageError where there is no such kind."""
    return plugins.channel_class(kind).Options
