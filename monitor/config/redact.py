"""The active configuration without its secrets."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pydantic import BaseModel

from monitor.config.settings import SECTIONS, General, Settings
from monitor.http.addresses import MASK, mask_url
from monitor.look_up import SERVICES


def masked(settings: Settings) -> dict[str, Any]:
    """Return the settings in the shape of the file, as plain JSON, with every secret masked.

    A value that reads the environment is shown as the file has it, `${NAME}` and all, but for
    the secrets in an address.
    """
    shown: dict[str, Any] = {"file": str(settings.file)}
    shown |= settings.model_dump(mode="json", include=set(General.model_fields))
    for name in Settings.model_fields:
        if name in SECTIONS:
            shown[name] = _plain(getattr(settings, name))
    shown["web"] = shown["web"] or "off"
    for where, text in settings.as_written.items():
        _put(shown, where, text)
    masked_addresses: dict[str, Any] = _mask_addresses(shown)
    return masked_addresses


def sends_to(settings: Settings) -> list[dict[str, str]]:
    """Return the services that are sent something about papers, and their addresses."""
    look_up = settings.look_up
    embeddings = settings.embeddings
    hide = settings.variables_of_services.hide
    sent = [
        {
            "service": name,
            "address": mask_url(hide(options.url or SERVICES[name].reader.address)),
            "what": "titles or identifiers of papers that lack a link, an identifier, authors or a "
            "date; once a month, identifiers of papers that readers saved",
        }
        for name, options in (look_up.services.items() if look_up else ())
    ]
    if embeddings:
        what = (
            "texts of `like:` topics; titles and abstracts of papers that match them or are just "
            "below their bars"
        )
        address = mask_url(hide(embeddings.url))
        sent.append({"service": "embeddings", "address": address, "what": what})
    return sent


def _mask_addresses(shown: Any) -> Any:
    """Return JSON with the secrets in all its addresses masked; plug-ins have some, too."""
    if isinstance(shown, dict):
        return {name: _mask_addresses(value) for name, value in shown.items()}
    if isinstance(shown, list):
        return [_mask_addresses(value) for value in shown]
    return mask_url(shown) if isinstance(shown, str) else shown


def _plain(settings: Any) -> Any:
    """Return settings as the file has them: those of a kind stand beside the others."""
    if isinstance(settings, BaseModel):
        shown = settings.model_dump(mode="json", by_alias=True, exclude={"name"})
        return shown | shown.pop("options", {})
    if isinstance(settings, Mapping):
        return {name: _plain(entry) for name, entry in settings.items()}
    return settings


def _put(shown: Any, where: tuple[str | int, ...], text: str) -> None:
    with suppress(KeyError, IndexError, TypeError):
        for part in where[:-1]:
            shown = shown[part]
        if shown[where[-1]] != MASK:
            shown[where[-1]] = text
