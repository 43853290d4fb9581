"""`python -m tests.digest.zones`: every zone, 2020 to 2037, checked every half hour.

Zones whose clocks do the same in these years are walked through once. In each the digest is due
at a time that the clocks jump over, where they do, at one that comes twice, and at eight; on every
local date it must be due exactly once, at the first moment when the clock shows its time or a
later one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from monitor.digest.schedule import latest_due, parse_schedule

FIRST = datetime(2020, 1, 1, tzinfo=UTC)
LAST = datetime(2038, 1, 1, tzinfo=UTC)
HALF_HOUR = timedelta(minutes=30)
_LOOK = timedelta(days=1)


class Change(NamedTuple):
    """A moment at which the clocks were changed by so much."""

    at: datetime
    by: timedelta


def offset(zone: str, at: datetime) -> timedelta:
    found = at.astimezone(ZoneInfo(zone)).utcoffset()
    assert found is not None
    return found


@cache
def changes(zone: str) -> tuple[Change, ...]:
    """Return the changes of a zone's clocks, each to the minute."""
    found = []
    at = FIRST
    current = offset(zone, FIRST)
    while at < LAST:
        if (now := offset(zone, at + _LOOK)) != current:
            low = at
            high = at + _LOOK
            while high - low > timedelta(minutes=1):
                middle = low + (high - low) // 2
                low, high = (low, middle) if offset(zone, middle) != current else (middle, high)
            found.append(Change(high.replace(second=0, microsecond=0), now - current))
            current = now
        at += _LOOK
    return tuple(found)


def kinds() -> dict[tuple[object, ...], str]:
    """Return one zone of each behaviour."""
    found: dict[tuple[object, ...], str] = {}
    for zone in sorted(available_timezones() - {"localtime", "Factory"}):
        found.setdefault((offset(zone, FIRST), changes(zone)), zone)
    return found


def schedules(zone: str) -> set[str]:
    """Return schedules at eight, in the middle of a gap, and in the middle of an overlap."""
    schedules_of_zone = {"daily 08:00"}
    for change in changes(zone)[:4]:
        # What the clock would have shown or shows again, half way.
        before = offset(zone, change.at - timedelta(minutes=1))
        wall = (change.at + before + change.by / 2).replace(tzinfo=None)
        schedules_of_zone.add(f"daily {wall:%H:%M}")
    return schedules_of_zone


def walk(zone: str, schedule: str, start: datetime, end: datetime) -> Iterator[str]:
    """Ask every half hour as the service would, and yield what is wrong."""
    parsed = parse_schedule(schedule)
    last = start
    dates: list[date] = []
    now = start
    while now < end:
        now += HALF_HOUR
        slot = latest_due(parsed, zone, last, now)
        if slot is None:
            continue
        dates.append(date.fromisoformat(slot.period))
        last = slot.due_at
        if not now - HALF_HOUR < slot.due_at <= now:
            yield f"{zone}, {schedule}: {slot.period} was due {slot.due_at} and found at {now}"
        if len(dates) > 1 and dates[-1] - dates[-2] != timedelta(days=1):
            yield f"{zone}, {schedule}: {dates[-2]} is followed by {dates[-1]}"


def whole(zone: str) -> list[str]:
    return [fault for text in schedules(zone) for fault in walk(zone, text, FIRST, LAST)]


def main() -> None:
    zones = list(kinds().values())
    names = len(available_timezones())
    print(f"{names} zones, {len(zones)} behaviours, 2020 to 2037", file=sys.stderr)
    with ProcessPoolExecutor() as pool:
        faults = [fault for found in pool.map(whole, zones) for fault in found]
    print("\n".join(faults) or f"one digest for each date, in all of {names} zones")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
