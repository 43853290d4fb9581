"""When a digest is due: the first moment when the subscriber's clock shows its time or a later one.

So a time that the clocks jump over is due at the first instant after the gap, and one that comes
twice is due the first time. Slots keep their order: none is skipped, and none comes twice.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import count, groupby
from zoneinfo import ZoneInfo

import msgspec
from cronsim import CronSim, CronSimError

# After a longer outage, older papers are listed by title only.
LATE_AFTER = timedelta(days=14)

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

_FORMS = (
    "write daily 08:00, weekdays 08:00, mon+thu 08:00, monthly 1 08:00, immediately, "
    "or a cron line such as 30 9 * * mon-fri"
)
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
# Spoken schedules, and how ours are written.
_SPOKEN = (
    (r"^(?:weekly|(?:every|each) week) (?:on )?(?=[a-z])", ""),
    (r"^(?:weekly|(?:every|each) week)$", "mon"),
    (r"^(?:monthly|(?:every|each) month)$", "monthly 1 08:00"),
    (r"\b(mon|tue|wed|thu|fri|sat|sun)(?:s|sday|nesday|rs|rsday|urday|day)?s?\b", r"\1"),
    (r"\b(?:every )?(?:week|work|business )days?\b", "weekdays"),
    (r"\bweek-?ends?\b", "sat+sun"),
    (r"\b(?:every|each) (?:day|morning)\b", "daily"),
    (r" ?(?:\band\b|&|\+|, ) ?", "+"),
    (r"(?<![\d:])(?<!every )(\d\d?) ?(?:am|h)?$", r"\1:00"),
    (r"\b(?:every|each|on|at)\b", ""),
    (r"\b(\d):", r"0\1:"),
)
# Spoken schedules that have no form of ours, and what is nearest to them.
_INSTEAD = (
    (
        r"hour|minute|\d ?(?:h|m|min|hrs?)\b|immediate|instant|real-?time",
        "write immediately for papers as they come, or a cron line such as 0 * * * * for each hour",
    ),
    (
        r"\bbi-?weekly|fortnight|(?:other|second|\d|two|three|four) weeks?\b",
        "none skips weeks: write mon 08:00 for every week, or the cron line 0 8 1,15 * * for twice "
        "a month",
    ),
)
_NUMBERED = re.compile(r"(?<!#)\d")
_END_OF_MONTH = re.compile("3[01](?:[,-]3[01])*")  # a day that other months have
_ANY_DAY = datetime(2024, 1, 1)


class Schedule(msgspec.Struct, frozen=True):
    """A schedule that was understood: a cron line without a zone, weekdays by name.

    `by_date` is true when the date alone names the period; `monthday` (29 to 31) keeps, of the
    days the cron line allows, only that one or the last day of a shorter month.
    """

    text: str
    cron: str = ""
    by_date: bool = True
    monthday: int | None = None

    @property
    def immediately(self) -> bool:
        return not self.cron


class Slot(msgspec.Struct, frozen=True):
    """A time at which a digest is due: `period` is the scheduled local date (or date and time).

    An `early` one is not of the schedule: it is the time of a request for an extra digest.
    """

    period: str
    due_at: datetime
    early: bool = False


# ── reading a schedule ──────────────────────────────────────────────────────────────


def parse_schedule(text: str) -> Schedule:
    """Parse one of the forms of `schedule:`; ValueError explains the fault, with a hint."""
    try:
        return _parse(text)
    except ValueError:
        if meant := _nearest_form(text):
            raise ValueError(f"“{text}” is not a schedule; write {meant}") from None
        for spoken, instead in _INSTEAD:
            if re.search(spoken, text.lower()):
                raise ValueError(f"“{text}” is not a schedule; {instead}") from None
        raise


def _nearest_form(text: str) -> str:
    """Return the schedule that was probably meant, as in `mon 08:00` for `Mondays at 8`; or ""."""
    form = " ".join(text.lower().split())
    for spoken, word in _SPOKEN:
        form = re.sub(spoken, word, form)
    form = " ".join(form.split())
    for guess in (form, f"daily {form}", f"{form} 08:00"):
        try:
            schedule = _parse(guess)
        except ValueError:
            continue
        return guess if schedule.by_date else ""
    return ""


def _parse(text: str) -> Schedule:
    words = text.lower().split()
    match words:
        case ["immediately"]:
            return Schedule("immediately")
        case ["monthly", day, time]:
            return _monthly(text, day, _clock(time))
        case ["daily", time]:
            return Schedule(text, f"{_clock(time)} * * *")
        case [days, time] if days == "weekdays" or days[:3] in WEEKDAYS:
            named = days.replace("weekdays", "mon-fri").replace("+", ",")
            return Schedule(text, f"{_clock(time)} * * {_weekdays(named)}")
        case [minute, hour, day, month, days]:
            return _cron(text, f"{minute} {hour} {day} {month}", days)
    raise ValueError(f"“{text}” is not a schedule; {_FORMS}")


def _clock(time: str) -> str:
    clock = _TIME.fullmatch(time)
    if not clock:
        raise ValueError(f"“{time}” is not a time of day; write it as 08:00 or 17:30")
    return f"{int(clock[2])} {int(clock[1])}"


def _monthly(text: str, day: str, clock: str) -> Schedule:
    if not re.fullmatch(r"[1-9]|[12]\d|3[01]", day):
        raise ValueError(f"“{day}” is not a day of the month; write 1 to 31")
    if int(day) <= 28:
        return Schedule(text, f"{clock} {day} * *")
    return Schedule(text, f"{clock} 28-31 * *", monthday=int(day))


def _cron(text: str, line: str, days: str) -> Schedule:
    if _NUMBERED.search(days):
        raise ValueError(
            f"weekdays by number mean different days to different programs (“{days}”); "
            "name them, as in mon-fri or sat,sun"
        )
    never = f"the cron line “{text}” never comes; check its day and month"
    cron = f"{line} {days if days == '*' else _weekdays(days)}"
    try:
        next(CronSim(cron, _ANY_DAY))
    except CronSimError as error:
        field = str(error).removeprefix("Bad ")
        if field == "day-of-month" and _END_OF_MONTH.fullmatch(line.split()[2]):
            raise ValueError(never) from None
        raise ValueError(f"the {field} of the cron line “{text}” is wrong; {_FORMS}") from None
    except StopIteration:
        raise ValueError(never) from None
    return Schedule(text, cron, by_date=False)


def _weekdays(days: str) -> str:
    """`mon-wed,sun` written out (mon,tue,wed,sun): cron itself has no range over the week's end."""
    return ",".join(name for part in days.split(",") for name in _span(part))


def _span(part: str) -> list[str]:
    first, dash, last = part.partition("-")
    start = _weekday(first)
    if not dash:
        return [part]
    length = (_weekday(last) - start) % 7 + 1
    return [WEEKDAYS[(start + step) % 7] for step in range(length)]


def _weekday(name: str) -> int:
    day, _, _ = name.partition("#")
    if day not in WEEKDAYS:
        raise ValueError(f"“{name}” is not a weekday; write {', '.join(WEEKDAYS)}")
    return WEEKDAYS.index(day)


# ── slots ───────────────────────────────────────────────────────────────────────────


def latest_due(schedule: Schedule, zone: str, after: datetime, now: datetime) -> Slot | None:
    """Return the last slot in (after, now], or None; `immediately` has no slots."""
    slot = None if schedule.immediately else _last_slot(schedule, zone, now)
    return slot if slot and slot.due_at > after else None


@lru_cache(1_024)  # most subscriptions of a run share a few schedules
def _last_slot(schedule: Schedule, zone: str, now: datetime) -> Slot | None:
    tz = ZoneInfo(zone)
    for wall in _walls(schedule, _wall(now, tz) + timedelta(minutes=1), reverse=True):
        due = _instant(wall, tz)
        if due <= now:
            return _slot(schedule, wall, due)
    return None


def late_before(schedule: Schedule, zone: str, now: datetime) -> datetime:
    """Return the moment before which all that came was due more than 14 days ago."""
    limit = now - LATE_AFTER
    slot = latest_due(schedule, zone, limit - timedelta(days=366), limit)
    return slot.due_at if slot else limit


def next_due(schedule: Schedule, zone: str, after: datetime) -> Slot:
    """Return the first slot later than `after`; ValueError for `immediately`, which has none."""
    if schedule.immediately:
        raise ValueError("“immediately” has no times at which it is due")
    tz = ZoneInfo(zone)
    walls = _walls(schedule, after.astimezone(tz).replace(tzinfo=None) - timedelta(minutes=1))
    for due, together in groupby(walls, key=lambda wall: _instant(wall, tz)):
        if due > after:
            *_, wall = together
            return _slot(schedule, wall, due)
    raise ValueError(f"“{schedule.text}” never comes again")


def early_slots(schedule: Schedule, zone: str, now: datetime) -> Iterator[Slot]:
    """Yield slots for an early digest, by local date and time, those after the first with a number.

    None has the period of a slot of the schedule, which may be this very minute.
    """
    minute = now.astimezone(ZoneInfo(zone)).replace(tzinfo=None).isoformat(timespec="minutes")
    scheduled = latest_due(schedule, zone, datetime.min.replace(tzinfo=UTC), now)
    if not scheduled or scheduled.period != minute:
        yield Slot(minute, now, early=True)
    for number in count(2):
        yield Slot(f"{minute}-{number}", now, early=True)


def _slot(schedule: Schedule, wall: datetime, due: datetime) -> Slot:
    period = wall.date().isoformat() if schedule.by_date else wall.isoformat(timespec="minutes")
    return Slot(period, due)


def _walls(schedule: Schedule, start: datetime, reverse: bool = False) -> Iterator[datetime]:
    """Wall-clock times of the schedule beyond `start`, as if no clock were ever changed."""
    for wall in CronSim(schedule.cron, start, reverse=reverse):
        last = monthrange(wall.year, wall.month)[1]
        if schedule.monthday is None or wall.day == min(schedule.monthday, last):
            yield wall


def _wall(now: datetime, tz: ZoneInfo) -> datetime:
    """Return the time on a clock that was not set back: no wall-clock time beyond it has come."""
    local = now.astimezone(tz)
    first = local.replace(fold=0).utcoffset()
    second = local.replace(fold=1).utcoffset()
    assert first is not None and second is not None
    set_back = first - second if local.fold else timedelta()
    return local.replace(tzinfo=None) + set_back


def _instant(wall: datetime, tz: ZoneInfo) -> datetime:
    before, after = (wall.replace(tzinfo=tz, fold=fold).astimezone(UTC) for fold in (0, 1))
    if before.astimezone(tz).replace(tzinfo=None) == wall:
        return before
    seconds = range(int((before - after).total_seconds()))
    offset = wall - after.replace(tzinfo=None)
    jump = bisect_left(
        seconds,
        True,
        key=lambda s: (after + timedelta(seconds=s)).astimezone(tz).utcoffset() == offset,
    )
    return after + timedelta(seconds=jump)
