"""Clocks: the one of this machine, or one that shows another moment (`--now`)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """The calendar: due times, periods, dates, first-seen and next attempts come from here.

    Owners, locks, host gates and timeouts use the real clock instead.
    """

    def now(self) -> datetime: ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class FixedClock:
    """A clock that stands still, so that two commands with one `--now` see the same moment.

    One that runs, for `serve --now`, `began` at a time of `time.monotonic`.
    """

    at: datetime
    began: float | None = None

    def now(self) -> datetime:
        if self.began is None:
            return self.at
        return self.at + timedelta(seconds=time.monotonic() - self.began)


def clock_at(moment: datetime | None, *, running: bool = False) -> Clock:
    """Return the clock of this machine, or one that shows `moment`, still or running on from it."""
    if moment is None:
        return SystemClock()
    return FixedClock(moment.astimezone(UTC), time.monotonic() if running else None)


def _seconds_since_boot() -> float:
    """Return the seconds that have passed, asleep or awake, whatever the clock was set to."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


_STARTED_AT = time.time(), _seconds_since_boot()


def clock_ahead() -> timedelta:
    """Return how far the clock has run ahead of the time that has passed in this process."""
    wall, passed = _STARTED_AT
    return timedelta(seconds=(time.time() - wall) - (_seconds_since_boot() - passed))
