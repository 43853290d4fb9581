"""Is the silence of a source usual? Pure: from what it brought on each day to what is wrong.

    stale   on a publishing day it offered only what it had offered before
    thin    it brought far fewer papers than on the same weekday as a rule
    silent  it has brought none for longer than it ever did

What is usual is learned from the days on which the source was asked; where its calendar is
known, weekends and holidays do not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import pairwise
from statistics import median, quantiles

from monitor.model import DayCount, SourceDay, UsualCount
from monitor.model.incidents import IncidentKind
from monitor.sources.calendar import DAY, UNKNOWN, Calendar

# Older days do not count for what is usual.
HISTORY = timedelta(days=400)
# The last occurrences of a weekday that are compared, and how many of them are needed.
PEER_DAYS = 8
MIN_PEER_DAYS = 3
# The share of them with papers that makes a weekday a publishing day.
MIN_PUBLISHING_SHARE = 0.8
# Thin is less than this share of what the weekday brings as a rule, if that is worth counting.
THIN_SHARE = 0.25
WORTH_COUNTING = 8
# Intervals between papers that must be known to judge how long a silence may last.
MIN_INTERVALS = 5
# A single day is for `stale` to judge.
SHORTEST_SILENCE = 2
# A publishing day longer ago than this says nothing of today.
MAX_AGE = timedelta(days=14)
# The most that the first day may have brought to be shown, in multiples of the highest later day.
MOST_OF_FIRST_DAY = 2

NOT_ASKED = SourceDay()
NOTHING_WRONG = ""


def judge(
    days: Mapping[date, SourceDay], first: date, now: datetime, calendar: Calendar = UNKNOWN
) -> dict[str, str]:
    """Say what is wrong, kind to sentence; "" where everything works again.

    A kind that is not named is as it was: there is nothing new to judge it by. `first` is the
    day of the first reading, which says nothing of what is usual.
    """
    return dict(_Judge(days, first, now, calendar).findings())


@dataclass(frozen=True, slots=True)
class _Judge:
    days: Mapping[date, SourceDay]
    first: date
    now: datetime
    calendar: Calendar

    def findings(self) -> Iterator[tuple[str, str]]:
        today = self._today()
        if self._day(today).fresh:
            yield IncidentKind.STALE, NOTHING_WRONG
            yield IncidentKind.SILENT, NOTHING_WRONG
        recent = (today - DAY * n for n in range(MAX_AGE.days))
        if judged := next(filter(self._can_judge, recent), None):
            yield from self._stale(judged)
            yield from self._thin(judged)
        yield from self._silent()

    def _stale(self, judged: date) -> Iterator[tuple[str, str]]:
        since = [day for at, day in self.days.items() if at >= judged]
        before = any(day.fresh for at, day in self.days.items() if at < judged)
        if any(day.fresh for day in since):
            yield IncidentKind.STALE, NOTHING_WRONG
        elif before and self._day(judged).offered:
            yield (
                IncidentKind.STALE,
                f"on {judged:%A %d %B}, a publishing day, it offered nothing new",
            )

    def _thin(self, judged: date) -> Iterator[tuple[str, str]]:
        brought = self._day(judged).fresh
        is_thin = self._is_thin(judged)
        if is_thin and brought:
            usual = median(day.fresh for day in self._peers(judged))
            rule = f"as a rule {usual:,.0f} on a {judged:%A}"
            yield IncidentKind.THIN, f"on {judged:%A %d %B} it brought {brought:,}, {rule}"
        elif brought and is_thin is not None:
            yield IncidentKind.THIN, NOTHING_WRONG

    def _is_thin(self, day: date) -> bool | None:
        """Return whether a day brought far fewer papers than its peers; None if they are few.

        None also if it was asked less often: with a publishing hour, one poll a day is enough.
        """
        brought = self._day(day)
        peers = self._peers(day)
        if not peers:
            return None
        if self.calendar is UNKNOWN and brought.asked * 2 < median(peer.asked for peer in peers):
            return None
        usual = median(peer.fresh for peer in peers)
        return usual >= WORTH_COUNTING and brought.fresh < usual * THIN_SHARE

    def _peers(self, day: date) -> list[SourceDay]:
        """Return the last days of a weekday before that brought papers; none if they are few."""
        peers = [peer for peer in self._same_weekday(day) if peer.fresh]
        return peers if len(peers) >= MIN_PEER_DAYS else []

    def _silent(self) -> Iterator[tuple[str, str]]:
        brought = sorted(at for at, day in self.days.items() if day.fresh)
        usual = [at for at in brought if at > self.first]
        if len(usual) <= MIN_INTERVALS:
            return
        longest = max(self._empty(start, end) for start, end in pairwise(usual))
        empty = self._empty(brought[-1], self._today() + DAY)
        if empty > longest and empty >= SHORTEST_SILENCE:
            last = f"{brought[-1]:%A %d %B}"
            ever = f"{longest} in a row without one were the most so far"
            yield (
                IncidentKind.SILENT,
                f"no paper since {last}: {empty} days on which it was read; {ever}",
            )

    def _empty(self, start: date, end: date) -> int:
        """Count the days between two on which papers could have come, and were asked for."""
        between = (at for at, day in self.days.items() if start < at < end and day.asked)
        counting = filter(self.calendar.publishes, between)
        return sum(self.calendar.complete_at(at) <= self.now for at in counting)

    def compare(self, day: date) -> DayCount:
        brought = self._day(day)
        peers = self._peers(day)
        was_read = brought.asked or not self.calendar.publishes(day)
        is_thin = self._can_judge(day) and bool(self._is_thin(day))
        papers = brought.fresh if was_read else None
        return DayCount(day, papers, _usual([peer.fresh for peer in peers]), is_thin)

    def _can_judge(self, day: date) -> bool:
        over = self.calendar.complete_at(day) <= self.now
        return over and bool(self._day(day).asked) and self._publishes(day)

    def _publishes(self, day: date) -> bool:
        if self.calendar is not UNKNOWN:
            return self.calendar.publishes(day)
        same = self._same_weekday(day)
        published = sum(bool(other.fresh) for other in same)
        return len(same) >= MIN_PEER_DAYS and published >= MIN_PUBLISHING_SHARE * len(same)

    def _same_weekday(self, day: date) -> list[SourceDay]:
        """Return the last days of this weekday before, on which the source was asked."""
        before = (at for at in sorted(self.days) if self.first < at < day)
        same = (at for at in before if at.weekday() == day.weekday())
        known = (self.days[at] for at in same if self.calendar.publishes(at))
        return [other for other in known if other.asked][-PEER_DAYS:]

    def _day(self, day: date) -> SourceDay:
        return self.days.get(day, NOT_ASKED)

    def _today(self) -> date:
        return self.calendar.day(self.now)


def compare_days(
    days: Mapping[date, SourceDay], first: date, now: datetime, calendar: Calendar, most: int
) -> tuple[DayCount, ...]:
    """Return the last days up to today, `most` at the most, each beside what is usual.

    The day of the first reading, which may have brought years, is left out if it brought far more
    than any later one, unless it is the last.
    """
    today = calendar.day(now)
    highest = max((day.fresh for at, day in days.items() if at > first), default=0)
    is_usual = days.get(first, NOT_ASKED).fresh <= highest * MOST_OF_FIRST_DAY
    start = first if is_usual else min(first + DAY, today)
    begin = max(start, today - DAY * (most - 1))
    judge = _Judge(days, first, now, calendar)
    return tuple(judge.compare(begin + DAY * n) for n in range((today - begin).days + 1))


def _usual(counts: Sequence[int]) -> UsualCount | None:
    if not counts:
        return None
    low, middle, high = quantiles(counts, n=4, method="inclusive")
    return UsualCount(low, middle, high)
