"""What is usual of a source, and what is not: the pure judgement."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.model import SourceDay
from monitor.model.incidents import IncidentKind
from monitor.pipeline.source_silence import judge
from monitor.sources.arxiv import CALENDAR
from monitor.sources.calendar import DAY, UNKNOWN

FIRST = date(2026, 9, 1)  # a Tuesday
MONDAY = date(2026, 11, 16)

Days = dict[date, SourceDay]


def at(day: date, hour: int = 12) -> datetime:
    return datetime.combine(day, time(hour), UTC)


def brought(fresh: int, asked: int = 4) -> SourceDay:
    return SourceDay(asked, fresh > 0, fresh)


REPEATED = SourceDay(4, offered=True, fresh=0)
EMPTY = SourceDay(4, offered=False, fresh=0)


def workdays(until: date, fresh: int = 40) -> Days:
    """A source that brings papers from Monday to Friday, and repeats them at the weekend."""
    days = {FIRST: brought(500)}
    for n in range(1, (until - FIRST).days):
        day = FIRST + DAY * n
        days[day] = brought(fresh) if day.weekday() < 5 else REPEATED
    return days


def test_a_source_as_ever_has_nothing_wrong() -> None:
    days = workdays(MONDAY + DAY)
    assert not any(judge(days, FIRST, at(MONDAY + DAY)).values())


@pytest.mark.parametrize("weekend", [MONDAY - DAY, MONDAY - 2 * DAY])
def test_F11_a_weekend_is_no_news(weekend: date) -> None:
    days = workdays(MONDAY)
    for now in (at(weekend), at(weekend + DAY)):
        result = judge({d: o for d, o in days.items() if d <= weekend}, FIRST, now)
        assert not any(result.values())


TUESDAY = MONDAY + DAY
WEEKS = workdays(MONDAY)
FORTNIGHT = MONDAY - timedelta(days=13)
STALE_MONDAY = "on Monday 16 November, a publishing day, it offered nothing new"
THIN_MONDAY = "on Monday 16 November it brought 9, as a rule 40 on a Monday"


@pytest.mark.parametrize(
    ("days", "now", "kind", "wrong"),
    [
        # What repeats on a publishing day is stale when the day is over.
        (WEEKS | {MONDAY: REPEATED}, at(MONDAY, 23), IncidentKind.STALE, ""),
        (
            WEEKS | {MONDAY: REPEATED, TUESDAY: REPEATED},
            at(TUESDAY, 1),
            IncidentKind.STALE,
            STALE_MONDAY,
        ),
        (WEEKS | {MONDAY: REPEATED, TUESDAY: brought(80)}, at(TUESDAY, 1), IncidentKind.STALE, ""),
        # A day without an answer says nothing.
        (WEEKS | {TUESDAY: EMPTY}, at(TUESDAY), IncidentKind.STALE, ""),
        (WEEKS | {MONDAY: SourceDay(), TUESDAY: EMPTY}, at(TUESDAY), IncidentKind.STALE, ""),
        pytest.param(
            WEEKS | {MONDAY: EMPTY}, at(TUESDAY, 1), IncidentKind.STALE, None, id="F11 a holiday"
        ),
        # Far fewer than on the same weekday, of numbers that are worth it, on a day like others.
        (WEEKS | {MONDAY: brought(9)}, at(TUESDAY), IncidentKind.THIN, THIN_MONDAY),
        (WEEKS | {MONDAY: brought(10)}, at(TUESDAY), IncidentKind.THIN, ""),
        (WEEKS | {MONDAY: brought(400)}, at(TUESDAY), IncidentKind.THIN, ""),
        (workdays(MONDAY, 7) | {MONDAY: brought(1)}, at(TUESDAY), IncidentKind.THIN, ""),
        (WEEKS | {MONDAY: brought(2, asked=1)}, at(TUESDAY), IncidentKind.THIN, None),
        # A source of a few days may be silent.
        (
            {FIRST + DAY * n: brought(5) if n < 5 else EMPTY for n in range(50)},
            at(FIRST + DAY * 50),
            IncidentKind.SILENT,
            None,
        ),
    ],
)
def test_what_is_wrong_with_a_source(
    days: Days, now: datetime, kind: str, wrong: str | None
) -> None:
    """None where there is nothing new to judge it by."""
    assert judge(days, FIRST, now).get(kind) == wrong


def test_two_weeks_are_not_enough_to_know_a_habit() -> None:
    days = {day: its for day, its in WEEKS.items() if day >= FORTNIGHT} | {MONDAY: REPEATED}
    assert IncidentKind.STALE not in judge(days, FORTNIGHT, at(TUESDAY, 1))


def test_silent_is_longer_than_it_ever_was() -> None:
    """A journal that brought papers once a week: a fortnight without is silence."""
    days = {FIRST + DAY * n: brought(12 * (n % 7 == 0)) for n in range(60)}
    last = FIRST + DAY * 56
    quiet = {last + DAY * n: EMPTY for n in range(1, 20)}

    def after(count: int) -> str:
        return judge(days | quiet, FIRST, at(last + DAY * (count + 1))).get(IncidentKind.SILENT, "")

    assert after(6) == ""
    assert after(7).startswith("no paper since Tuesday 27 October: 7 days")
    back = days | quiet | {last + DAY * 15: brought(3)}
    assert judge(back, FIRST, at(last + DAY * 15))[IncidentKind.SILENT] == ""


# ── with a calendar ─────────────────────────────────────────────────────────────────


def test_with_a_calendar_the_second_day_can_be_judged() -> None:
    thursday = date(2026, 11, 19)
    days = {thursday: brought(300), thursday + DAY: REPEATED}
    early = datetime(2026, 11, 20, 8, 59, tzinfo=UTC)  # 03:59 in New York
    assert not judge(days, thursday, early, CALENDAR).get(IncidentKind.STALE)
    result = judge(days, thursday, early + timedelta(minutes=1), CALENDAR)
    assert result[IncidentKind.STALE].startswith("on Friday 20 November")


@pytest.mark.parametrize(
    "day",
    [
        date(2026, 11, 21),  # a Saturday
        date(2026, 11, 22),  # a Sunday
        date(2026, 11, 26),  # Thanksgiving
        date(2026, 11, 27),  # its feed would be today's
        date(2026, 12, 25),
        date(2026, 12, 31),
        date(2027, 1, 1),
        date(2027, 1, 18),  # Martin Luther King's birthday
        date(2026, 7, 3),  # the fourth is a Saturday
        date(2026, 5, 25),  # Memorial Day
    ],
)
def test_F11_holidays_of_a_known_calendar_do_not_count(day: date) -> None:
    assert not CALENDAR.publishes(day)


def test_F11_what_repeats_on_a_holiday_is_not_stale() -> None:
    wednesday = date(2026, 12, 23)
    christmas = date(2026, 12, 25)
    days = {wednesday: brought(300)} | {wednesday + DAY * n: REPEATED for n in (1, 2)}
    assert not judge(days, wednesday - DAY, at(christmas, 20), CALENDAR).get(IncidentKind.STALE)
    assert CALENDAR.publishes(wednesday)


def test_F11_holidays_in_a_row_are_no_silence() -> None:
    christmas = date(2026, 12, 24)
    days = {d: o for d, o in workdays(christmas).items() if d.weekday() < 5}
    days |= {christmas + DAY * n: EMPTY for n in range(10)}
    assert not judge(days, FIRST, at(christmas + DAY * 9, 20), CALENDAR).get(IncidentKind.SILENT)


def test_F11_what_a_holiday_brings_is_no_measure_of_its_weekday() -> None:
    days = {FIRST: brought(500)}
    days |= {date(2026, 12, day): brought(40) for day in (3, 10, 17)}
    days |= {date(2026, month, day): brought(4) for month, day in ((11, 26), (12, 24), (12, 31))}
    thursday = date(2027, 1, 7)
    result = judge(days | {thursday: brought(8)}, FIRST, at(thursday, 20), CALENDAR)
    assert result[IncidentKind.THIN].endswith("it brought 8, as a rule 40 on a Thursday")


def test_silence_with_a_calendar_leaves_weekends_out() -> None:
    days = {d: o for d, o in workdays(MONDAY).items() if d.weekday() < 5}
    weekend = {MONDAY - DAY: EMPTY, MONDAY - 2 * DAY: EMPTY}
    assert not judge(days | weekend | {MONDAY: EMPTY}, FIRST, at(MONDAY), CALENDAR).get(
        IncidentKind.SILENT
    )
    tuesday = {MONDAY: EMPTY, MONDAY + DAY: EMPTY}
    result = judge(days | weekend | tuesday, FIRST, at(MONDAY + DAY), CALENDAR)
    assert result[IncidentKind.SILENT].startswith("no paper since Friday 13 November: 2 days")


@given(
    st.lists(
        st.builds(SourceDay, st.integers(0, 30), st.booleans(), st.integers(0, 500)), max_size=80
    ),
    st.integers(-3, 5),
    st.booleans(),
)
def test_any_history_can_be_judged(result: list[SourceDay], later: int, known: bool) -> None:
    days = {FIRST + DAY * n: day for n, day in enumerate(result)}
    now = at(FIRST + DAY * (len(result) + later))
    assert set(judge(days, FIRST, now, CALENDAR if known else UNKNOWN)) <= {
        IncidentKind.STALE,
        IncidentKind.THIN,
        IncidentKind.SILENT,
    }
