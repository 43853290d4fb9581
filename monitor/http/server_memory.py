"""Waits and redirects of servers, kept for restarts and for other processes."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

CONFIRMED = 2  # permanent redirects to the same address, before it is requested instead


class Wait(msgspec.Struct, frozen=True):
    """Until when a server asked for a pause, the time left, and the reason."""

    until: datetime
    left: timedelta
    why: str


class Move(msgspec.Struct, frozen=True):
    """Where an address redirects to permanently (301, 308), and how many responses showed it."""

    target: str
    seen: int


class Memory:
    """The memory of servers, which forgets everything unless a subclass stores it.

    Servers are `host` or `host:port`; addresses are without user, password and query.
    """

    def wait(self, server: str) -> Wait | None:
        """Return the pause that a server asked for, unless it is over."""
        return None

    def record_wait(self, server: str, left: timedelta, why: str) -> Wait:
        return Wait(datetime.now().astimezone() + left, left, why)

    def move(self, address: str) -> Move | None:
        """Return where an address redirects to permanently."""
        return None

    def record_move(self, address: str, target: str) -> None:
        """Record where an address redirects to permanently; "": nowhere, or not any more."""
