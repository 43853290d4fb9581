"""Waits and redirects of servers, kept for restarts and for other processes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Protocol

import msgspec

CONFIRMED = 2  # permanent redirects to one place, before it is asked instead


class Wait(msgspec.Struct, frozen=True):
    """Until when a server asked to be left alone, how long that still is, and what it said."""

    until: datetime
    left: timedelta
    why: str


class Move(msgspec.Struct, frozen=True):
    """Where an address redirects to for good (301, 308), and in how many answers it did."""

    target: str
    seen: int


class Memory(Protocol):
    """Servers are `host` or `host:port`; addresses are without user, password and query."""

    def wait(self, server: str) -> Wait | None:
        """Return what a server asked for, if its time has not come."""

    def record_wait(self, server: str, left: timedelta, why: str) -> Wait:
        """Note that a server asked to be left alone."""

    def move(self, address: str) -> Move | None:
        """Return where an address was seen to redirect to for good."""

    def record_move(self, address: str, target: str) -> None:
        """Note where an address redirected to for good; "": it did not, or not any more."""


class NoMemory:
    """For a client that keeps nothing between requests."""

    def wait(self, server: str) -> Wait | None:
        return None

    def record_wait(self, server: str, left: timedelta, why: str) -> Wait:
        return Wait(datetime.now().astimezone() + left, left, why)

    def move(self, address: str) -> Move | None:
        return None

    def record_move(self, address: str, target: str) -> None:
        pass
