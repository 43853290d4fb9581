"""monitor.yaml to Settings.

yaml_lines     text to plain values that know their line      (jsonl_lines: a line an entry)
environment    ${NAME} and NAME_FILE
files          the file, and those it includes          -> Written
settings       what may be set                (fields: how each value is written)
build          Written to Settings, or faults (words: how a fault is said)
doubts         legal, but hardly meant
masked         the configuration, to be shown
schema         the same, for editors
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from monitor.config.build import build, general
from monitor.config.fields import Secret
from monitor.config.files import fingerprint, read
from monitor.config.masked import masked
from monitor.config.schema import schema
from monitor.config.settings import (
    ChannelSettings,
    EmailOptions,
    FileOptions,
    OperatorSettings,
    Settings,
    SlackOptions,
    SlackSettings,
    SmtpSettings,
    SourceSettings,
    SubscriptionSettings,
    TopicSettings,
    synonyms_of,
    topics_of,
)
from monitor.errors import ConfigError, Fault
from monitor.resources import resource

__all__ = [
    "ChannelSettings",
    "EmailOptions",
    "FileOptions",
    "OperatorSettings",
    "Secret",
    "Settings",
    "SlackOptions",
    "SlackSettings",
    "SmtpSettings",
    "SourceSettings",
    "SubscriptionSettings",
    "TopicSettings",
    "check",
    "load",
    "masked",
    "schema",
    "starter",
    "store_url",
    "synonyms_of",
    "topics_of",
    "watch",
]


def load(
    path: Path, variables: Mapping[str, str] | None = None, before: Settings | None = None
) -> Settings:
    """Read and check a configuration. Raises ConfigError with all of its faults.

    `variables` stand in for the environment of the process. Topics that stand in the files as
    they did `before` are taken from there.
    """
    environment = os.environ if variables is None else variables
    written = read(path, environment)
    settings = build(written, environment, before)
    if settings is None:
        raise ConfigError(
            sorted(written.faults, key=lambda f: (f.file != str(path), f.file, f.line))
        )
    return settings


def store_url(path: Path, variables: Mapping[str, str] | None = None) -> str:
    """Return the store that a file names, whatever else is wrong in it. Raises ConfigError."""
    environment = os.environ if variables is None else variables
    written = read(path, environment)
    told = general(written, environment)
    if told is None:
        raise ConfigError(written.faults)
    return told.store


def check(path: Path, variables: Mapping[str, str] | None = None) -> list[Fault]:
    """Return all faults of a configuration; [] when it can be used."""
    try:
        load(path, variables)
    except ConfigError as error:
        return list(error.faults)
    return []


def watch(path: Path, variables: Mapping[str, str] | None = None) -> str:
    """Return a fingerprint of all that was read: the file, its includes, its secrets.

    It is another one when any of them changes; a file with faults has one, too.
    """
    return fingerprint(path, os.environ if variables is None else variables)


def starter() -> str:
    """Return a commented monitor.yaml that works as it is."""
    return (resource("templates") / "starter" / "monitor.yaml").read_text(encoding="utf-8")
