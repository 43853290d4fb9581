"""When a source publishes, where that is fixed: weekdays, holidays and the hour."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Calendar:
    """The days on which a source publishes, in its own zone.

    `weekdays` count from Monday as 0; `ready` is the local time by which the papers of a day are
    certainly out; on a `closed` day there may be none.
    """

    zone: str
    weekdays: frozenset[int]
    ready: time
    closed: Callable[[date], bool] = lambda day: False

    def day(self, at: datetime) -> date:
        return at.astimezone(ZoneInfo(self.zone)).date()

    def midnight(self, day: date) -> datetime:
        return datetime.combine(day, time(), ZoneInfo(self.zone)).astimezone(UTC)

    def publishes(self, day: date) -> bool:
        return day.weekday() in self.weekdays and not self.closed(day)

    def complete_at(self, day: date) -> datetime:
        """Return the moment from which the papers of a day are complete."""
        return datetime.combine(day, self.ready, ZoneInfo(self.zone)).astimezone(UTC)


# Of a source whose publishing days are not known: a day is UTC's, and complete when it is over.
UNKNOWN = Calendar("UTC", frozenset(range(7)), time.max)


def american_holidays(day: date) -> bool:
    """Whether an American archive may be closed: a public holiday, the day after, or New Year.

    What is announced on the eve is in the feed of the next morning, so both days count.
    """
    return any(holiday in _public_holidays(holiday.year) for holiday in (day, day - DAY)) or (
        (day.month, day.day) >= (12, 24) or (day.month, day.day) <= (1, 2)
    )


def _public_holidays(year: int) -> frozenset[date]:
    """Return the movable and fixed public holidays of the United States (5 U.S.C. 6103)."""
    fixed = [date(year, 6, 19), date(year, 7, 4), date(year, 11, 11)]
    # A holiday on a Saturday is observed on the Friday before, one on a Sunday on the Monday after.
    observed = [day + DAY * {5: -1, 6: 1}.get(day.weekday(), 0) for day in fixed]
    movable = [
        _nth(year, 1, weekday=0, nth=3),
        _nth(year, 2, weekday=0, nth=3),
        _nth(year, 6, weekday=0, nth=1) - 7 * DAY,  # the last Monday of May
        _nth(year, 9, weekday=0, nth=1),
        _nth(year, 10, weekday=0, nth=2),
        _nth(year, 11, weekday=3, nth=4),
    ]
    return frozenset([*fixed, *observed, *movable])


def _nth(year: int, month: int, *, weekday: int, nth: int) -> date:
    first = date(year, month, 1)
    return first + DAY * ((weekday - first.weekday()) % 7 + 7 * (nth - 1))
