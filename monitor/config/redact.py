"""The configuration in force, as it may be shown to anybody."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from pydantic import BaseModel

from monitor.config.channel_settings import ChannelSettings
from monitor.config.settings import Settings, SourceSettings

_MASK = "********"
_REFERENCE = re.compile(r"(\$\{[A-Za-z_][A-Za-z0-9_]*\})+")


def masked(settings: Settings) -> dict[str, Any]:
    """Return the settings in the shape of the file, as plain JSON, with every secret masked.

    A value that reads the environment is shown as the file has it, `${NAME}` and all, but for
    the password of an address.
    """
    shown: dict[str, Any] = {
        "file": str(settings.file),
        "store": without_password(settings.store),
        "timezone": settings.timezone,
        "contact": settings.contact,
        "synonyms": {word: list(others) for word, others in settings.synonyms.items()},
        "templates": str(settings.templates) if settings.templates else None,
        "search": settings.search,
        "public_url": settings.public_url,
        "secret_key": [str(key) for key in settings.secret_key],
        "sources": {name: _of_kind(entry) for name, entry in settings.sources.items()},
        "topics": {name: _plain(entry) for name, entry in settings.topics.items()},
        "channels": {name: _of_kind(entry) for name, entry in settings.channels.items()},
        "subscriptions": {name: _plain(entry) for name, entry in settings.subscriptions.items()},
    }
    for section in ("operator", "smtp", "slack", "retry", "retention"):
        entry = getattr(settings, section)
        shown[section] = _plain(entry) if entry else None
    shown["web"] = _plain(settings.web) if settings.web else "off"
    for where, text in settings.as_written.items():
        _put(shown, where, text)
    return shown


def without_password(url: str) -> str:
    """Show a URL with its password masked, unless it is `${NAME}` alone."""
    try:
        parts = urlsplit(url)
    except ValueError:  # it is no address, whatever it may hold
        return _MASK if "://" in url else url
    if parts.password is None or _REFERENCE.fullmatch(parts.password):
        return url
    user = parts.netloc.rpartition("@")[0].partition(":")[0]
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{user}:{_MASK}@{host}"))


def _plain(entry: BaseModel) -> dict[str, Any]:
    return entry.model_dump(mode="json", by_alias=True, exclude={"name"})


def _of_kind(entry: SourceSettings | ChannelSettings) -> dict[str, Any]:
    shown = _plain(entry)
    shown.update(shown.pop("options"))
    if isinstance(shown.get("url"), str):
        shown["url"] = without_password(shown["url"])
    return shown


def _put(shown: Any, where: tuple[str | int, ...], text: str) -> None:
    """Lay a text over the value at a place, but never over a mask."""
    for part in where[:-1]:
        try:
            shown = shown[part]
        except (KeyError, IndexError, TypeError):
            return
    last: Any = where[-1]
    known = isinstance(shown, list) and isinstance(last, int) and last < len(shown)
    if (known or (isinstance(shown, dict) and last in shown)) and shown[last] != _MASK:
        shown[last] = without_password(text)
