"""The dead-man's switch: an address that is requested while all is well (`ping_url`)."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

import structlog

from monitor.channels.post import post
from monitor.model import DeliveryState
from monitor.setting_types import Secret

log = structlog.get_logger()

# Becomes "up" or "down" in the address, as Uptime Kuma reads it.
STATUS = "{status}"


def ping(url: Secret | None, *, is_up: bool) -> None:
    """Request the address of the switch, or that of a failure.

    An error is logged, and has no other effect.
    """
    if url is None:
        return
    # Whoever runs the service names the address, which is often one of their own network.
    address = _address(url.reveal(), is_up)
    outcome = post(address, "", lambda: True, method="GET", allow_private=True)
    if outcome.state is not DeliveryState.SENT:
        log.warning("ping failed", error=outcome.error)


def _address(url: str, is_up: bool) -> str:
    """Return the address for a state; one without `{status}` as Healthchecks has it: URL/fail."""
    if STATUS in url:
        return url.replace(STATUS, "up" if is_up else "down")
    parts = urlsplit(url)
    return url if is_up else urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/fail"))
