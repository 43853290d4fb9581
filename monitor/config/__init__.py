"""monitor.yaml to Settings.

yaml_positions      text to plain values that know their line
files               the file, those it includes, ${NAME} and NAME_FILE   -> Written
settings            what may be set (web_settings: the pages)
validate            Written to Settings, with all faults (messages: how a fault is worded)
warnings            valid, but probably not intended
starter_parts       the file of `init`: the template, with parts of a newcomer
redact              the configuration, with secrets masked
declared            each setting with its words and default  -> schema (editors), tables (docs)
__main__            writes these two
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from monitor.config.files import read
from monitor.config.files import watch as watch
from monitor.config.redact import masked as masked
from monitor.config.redact import sends_to as sends_to
from monitor.config.settings import Settings as Settings
from monitor.config.settings import SubscriptionSettings as SubscriptionSettings
from monitor.config.settings import TopicSettings as TopicSettings
from monitor.config.settings import synonyms_of as synonyms_of
from monitor.config.settings import topics_of as topics_of
from monitor.config.starter_parts import starter as starter
from monitor.config.validate import ActiveQueries, build, store_of
from monitor.config.web_settings import WebSettings as WebSettings
from monitor.errors import ConfigError, Fault


def load(
    path: Path,
    variables: Mapping[str, str] | None = None,
    active_queries: ActiveQueries | None = None,
) -> Settings:
    """Read and check a configuration. Raises ConfigError with all of its faults.

    `active_queries` returns the queries, by name, of the topics that are active in a store, given
    its URL. One of these that is refused is parked; without `active_queries` it is a fault.
    `variables` replace the environment of the process.
    """
    settings, faults = load_for_reading(path, variables, active_queries)
    if faults:
        raise ConfigError(faults)
    return settings


def load_for_reading(
    path: Path,
    variables: Mapping[str, str] | None = None,
    active_queries: ActiveQueries | None = None,
) -> tuple[Settings, tuple[Fault, ...]]:
    """Read a configuration for a command that only reads the store; return its faults beside it.

    Settings with faults are left out, and with any fault all that could send. Raises ConfigError
    where its `store:` cannot be read. The parameters are those of `load`.
    """
    written = read(path, variables)
    settings = build(written, active_queries)
    faults = sorted(written.faults, key=lambda f: (f.file != str(path), f.file, f.line))
    if settings is None:
        raise ConfigError(faults)
    return settings, tuple(faults)


def store_url(path: Path, variables: Mapping[str, str] | None = None) -> str:
    """Return the store that a file names, whatever else is wrong in it. Raises ConfigError."""
    written = read(path, variables)
    store = store_of(written)
    if store is None:
        raise ConfigError(written.faults)
    return store
