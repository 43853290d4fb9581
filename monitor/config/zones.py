"""Names of time zones, with what to write instead of an abbreviation."""

from __future__ import annotations

from typing import Annotated
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator

from monitor.config import suggestions
from monitor.config.messages import nearest


def zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        suggestion = suggestions.zone(name)
        hint = nearest(name, sorted(available_timezones()), "as in Europe/Berlin")
        raise ValueError(
            f"“{name}” is not a time zone{f'; {suggestion}' if suggestion else hint}"
        ) from None
    return name


Zone = Annotated[str, AfterValidator(zone)]
