"""The configuration in force, as it may be shown to anybody."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from monitor.config.channel_settings import ChannelSettings
from monitor.config.settings import Settings, SourceSettings
from monitor.http.addresses import MASK, mask_url


def masked(settings: Settings) -> dict[str, Any]:
    """Return the settings in the shape of the file, as plain JSON, with every secret masked.

    A value that reads the environment is shown as the file has it, `${NAME}` and all, but for
    the secrets in an address.
    """
    shown: dict[str, Any] = {
        "file": str(settings.file),
        "store": settings.store,
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
    masked_addresses: dict[str, Any] = _mask_addresses(shown)
    return masked_addresses


def _mask_addresses(shown: Any) -> Any:
    """Return JSON with the secrets in all its addresses masked; plug-ins have some, too."""
    if isinstance(shown, dict):
        return {name: _mask_addresses(value) for name, value in shown.items()}
    if isinstance(shown, list):
        return [_mask_addresses(value) for value in shown]
    return mask_url(shown) if isinstance(shown, str) else shown


def _plain(entry: BaseModel) -> dict[str, Any]:
    return entry.model_dump(mode="json", by_alias=True, exclude={"name"})


def _of_kind(entry: SourceSettings | ChannelSettings) -> dict[str, Any]:
    shown = _plain(entry)
    shown.update(shown.pop("options"))
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
    if (known or (isinstance(shown, dict) and last in shown)) and shown[last] != MASK:
        shown[last] = text
