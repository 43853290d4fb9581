from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.digest.schedule import Slot, latest_due, next_due, parse_schedule
from tests.digest.zones import changes, kinds, walk
from tests.digest.zones import schedules as schedules_of

ZONES = sorted(z for z in available_timezones() if "/" in z and not z.startswith(("Etc/", "posix")))
BERLIN = "Europe/Berlin"
LORD_HOWE = "Australia/Lord_Howe"
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def slots(schedule: str, zone: str, start: datetime, count: int) -> list[Slot]:
    found: list[Slot] = []
    for _ in range(count):
        found.append(next_due(parse_schedule(schedule), zone, start))
        start = found[-1].due_at
    return found


def local(slot: Slot, zone: str) -> str:
    return slot.due_at.astimezone(ZoneInfo(zone)).strftime("%a %d %b %H:%M")


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("daily 08:00", ["Sat 21 Nov 08:00", "Sun 22 Nov 08:00", "Mon 23 Nov 08:00"]),
        ("DAILY  8:00", ["Sat 21 Nov 08:00", "Sun 22 Nov 08:00", "Mon 23 Nov 08:00"]),
        ("weekdays 08:00", ["Mon 23 Nov 08:00", "Tue 24 Nov 08:00", "Wed 25 Nov 08:00"]),
        ("mon+thu 17:30", ["Mon 23 Nov 17:30", "Thu 26 Nov 17:30", "Mon 30 Nov 17:30"]),
        ("sun 00:00", ["Sun 22 Nov 00:00", "Sun 29 Nov 00:00", "Sun 06 Dec 00:00"]),
        ("fri-mon 08:00", ["Sat 21 Nov 08:00", "Sun 22 Nov 08:00", "Mon 23 Nov 08:00"]),
        ("monthly 1 08:00", ["Tue 01 Dec 08:00", "Fri 01 Jan 08:00", "Mon 01 Feb 08:00"]),
        ("monthly 31 08:00", ["Mon 30 Nov 08:00", "Thu 31 Dec 08:00", "Sun 31 Jan 08:00"]),
        ("30 9 * * mon-fri", ["Mon 23 Nov 09:30", "Tue 24 Nov 09:30", "Wed 25 Nov 09:30"]),
        ("0 9 * * sat,sun", ["Sat 21 Nov 09:00", "Sun 22 Nov 09:00", "Sat 28 Nov 09:00"]),
        ("0 9 * * fri#2", ["Fri 11 Dec 09:00", "Fri 08 Jan 09:00", "Fri 12 Feb 09:00"]),
        ("0 */8 * * *", ["Fri 20 Nov 16:00", "Sat 21 Nov 00:00", "Sat 21 Nov 08:00"]),
    ],
)
def test_each_form_names_its_local_times(schedule: str, expected: list[str]) -> None:
    start = utc("2026-11-20T12:00")
    found = slots(schedule, "Europe/Berlin", start, 3)
    assert [local(slot, "Europe/Berlin") for slot in found] == expected


@pytest.mark.parametrize("day", [28, 29, 30, 31])
def test_monthly_keeps_the_last_day_of_shorter_months(day: int) -> None:
    found = slots(f"monthly {day} 08:00", "UTC", utc("2027-01-31T09:00"), 12)
    assert found[0].period == "2027-02-28"
    assert [date.fromisoformat(slot.period).month for slot in found] == [*range(2, 13), 1]


def test_the_period_is_the_scheduled_local_date_and_for_cron_date_and_time() -> None:
    start = utc("2026-11-20T23:30")  # already Saturday in Tokyo
    assert slots("daily 09:30", "Asia/Tokyo", start, 1)[0] == Slot(
        "2026-11-21", utc("2026-11-21T00:30")
    )
    assert slots("30 9 * * sat", "Asia/Tokyo", start, 1)[0].period == "2026-11-21T09:30"


def test_immediately_has_no_slots() -> None:
    schedule = parse_schedule("immediately")
    assert schedule.immediately
    assert latest_due(schedule, "UTC", LONG_AGO, utc("2026-11-21T08:00")) is None
    with pytest.raises(ValueError, match="no times"):
        next_due(schedule, "UTC", LONG_AGO)


@pytest.mark.parametrize(
    ("schedule", "says"),
    [
        ("", "is not a schedule; write daily 08:00"),
        ("sometimes", "is not a schedule; write daily 08:00, weekdays"),
        ("hourly", "is not a schedule; write immediately for papers .* 0 [*] [*] [*] [*] for each"),
        ("every 6h", "is not a schedule; write immediately"),
        ("every 30 minutes", "is not a schedule; write immediately"),
        ("real-time", "is not a schedule; write immediately"),
        ("every 2 weeks", "none skips weeks: write mon 08:00 .* 0 8 1,15 [*] [*] for twice a m"),
        ("every other week", "none skips weeks"),
        ("Biweekly", "none skips weeks"),
        ("every 2 weeks mon 08:00", "none skips weeks"),
        ("weekly", "write mon 08:00$"),
        ("weekly on Fridays", "write fri 08:00$"),
        ("every month", "write monthly 1 08:00$"),
        ("daily", "is not a schedule"),
        ("daily 8:00 pm", "is not a schedule; write daily 08:00, weekdays"),
        ("daily 24:00", "write it as 08:00"),
        ("daily 08:60", "write it as 08:00"),
        ("monday 08:00", "“monday 08:00” is not a schedule; write mon 08:00$"),
        ("Tuesdays and Thursdays at 8", "write tue[+]thu 08:00$"),
        ("every weekday at 9:30", "write weekdays 09:30$"),
        ("08:00", "write daily 08:00$"),
        ("weekend 8h", "write sat[+]sun 08:00$"),
        ("mon+xyz 08:00", "“xyz” is not a weekday"),
        ("monthly 0 08:00", "write 1 to 31"),
        ("monthly 32 08:00", "write 1 to 31"),
        ("61 9 * * mon", "minute of the cron line"),
        ("0 9 30 2 *", "the cron line “0 9 30 2 [*]” never comes; check its day and month"),
        ("0 8 31 2 *", "never comes"),
        ("0 8 31 4,6 *", "never comes"),
        ("0 8 32 2 *", "day-of-month of the cron line"),
        ("0 9 * * mon#", "day-of-week"),
        ("0 0 9 * * mon", "is not a schedule"),
        *((f"0 9 * * {days}", "mon-fri") for days in ("1-5", "*/2", "mon,5", "5L")),
    ],
)
def test_D07_a_wrong_schedule_says_what_is_wrong(schedule: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_schedule(schedule)


def test_the_cron_lines_that_the_messages_name_are_schedules() -> None:
    for spoken, line in (("hourly", "0 * * * *"), ("every 2 weeks", "0 8 1,15 * *")):
        with pytest.raises(ValueError, match=re.escape(line)):
            parse_schedule(spoken)
        assert parse_schedule(line).cron == line


@pytest.mark.parametrize("schedule", ["daily 01:30", "30 1 * * *", "30 * * * *"])
def test_D01_a_time_that_comes_twice_is_due_once_the_first_time(schedule: str) -> None:
    zone = "America/New_York"
    # 00:45 EDT; 01:30 is at 05:30Z and at 06:30Z.
    day = utc("2026-11-01T04:45")
    first = next_due(parse_schedule(schedule), zone, day)
    assert first.due_at == utc("2026-11-01T05:30")
    again = latest_due(parse_schedule(schedule), zone, first.due_at, utc("2026-11-01T06:59"))
    assert again is None
    # asked for the first time between the two
    late = latest_due(parse_schedule(schedule), zone, day, utc("2026-11-01T06:10"))
    assert late == first


@pytest.mark.parametrize(
    ("zone", "start", "schedule", "period", "due"),
    [
        ("Europe/Berlin", "2026-03-28T12:00", "daily 02:30", "2026-03-29", "2026-03-29T01:00"),
        ("America/New_York", "2026-03-08T00:00", "daily 02:30", "2026-03-08", "2026-03-08T07:00"),
        (LORD_HOWE, "2026-10-03T00:00", "daily 02:15", "2026-10-04", "2026-10-03T15:30"),
        ("Pacific/Apia", "2011-12-30T05:00", "daily 08:00", "2011-12-30", "2011-12-30T10:00"),
        ("Europe/Berlin", "2026-03-28T12:00", "30 2 * * *", "2026-03-29T02:30", "2026-03-29T01:00"),
        ("Europe/Berlin", "2026-03-29T00:45", "15 * * * *", "2026-03-29T02:15", "2026-03-29T01:00"),
        # Several inside one gap are one digest.
        (BERLIN, "2026-03-29T00:45", "*/20 * * * *", "2026-03-29T03:00", "2026-03-29T01:00"),
    ],
)
def test_D02_a_time_that_is_jumped_over_is_due_at_the_first_instant_after(
    zone: str, start: str, schedule: str, period: str, due: str
) -> None:
    assert slots(schedule, zone, utc(start), 1) == [Slot(period, utc(due))]


@pytest.mark.parametrize(
    ("sent", "now", "due"),
    [
        ("2026-11-18T08:00", "2026-11-21T09:00", "2026-11-21"),
        ("2026-11-21T08:00", "2026-12-31T08:30", "2026-12-31"),
        ("2026-11-21T08:00", "2026-11-21T07:00", ""),
        ("2026-11-21T08:00", "2026-11-21T08:00", ""),
    ],
)
def test_D03_D05_missed_days_are_one_slot_and_a_clock_set_back_makes_none_due(
    sent: str, now: str, due: str
) -> None:
    slot = latest_due(parse_schedule("daily 08:00"), "UTC", utc(sent), utc(now))
    assert slot == (Slot(due, utc(f"{due}T08:00")) if due else None)


@pytest.mark.parametrize("change_at", [f"2026-11-21T{hour:02}:30" for hour in range(24)])
@pytest.mark.parametrize(
    ("before", "after"),
    [("Asia/Tokyo", "America/Los_Angeles"), ("America/Los_Angeles", "Asia/Tokyo")],
)
def test_D04_a_change_of_zone_repeats_and_skips_no_date(
    before: str, after: str, change_at: str
) -> None:
    schedule = parse_schedule("daily 08:00")
    periods: dict[str, None] = {}
    last = utc("2026-11-18T12:00")
    now = utc("2026-11-18T12:00")
    while now < utc("2026-11-25T12:00"):
        slot = latest_due(schedule, before if now < utc(change_at) else after, last, now)
        if slot:
            last = slot.due_at
            periods.setdefault(slot.period)  # the store's unique key
        now += timedelta(minutes=30)
    days = [date.fromisoformat(period) for period in periods]
    assert days == [days[0] + timedelta(days=i) for i in range(len(days))]


def test_D01_D02_around_the_changes_of_all_zones_each_date_has_one_digest() -> None:
    """`make zones` has all hours."""
    around = timedelta(hours=30)
    changing = [zone for zone in kinds().values() if changes(zone)]
    assert len(changing) > 40
    faults = [
        fault
        for zone in changing
        for change in changes(zone)[:2]
        for text in schedules_of(zone)
        for fault in walk(zone, text, change.at - around, change.at + around)
    ]
    assert faults == []


zones = st.sampled_from(ZONES)
instants = st.datetimes(datetime(1990, 1, 1), datetime(2037, 1, 1), timezones=st.just(UTC))
schedules = st.one_of(
    st.builds("daily {:02}:{:02}".format, st.integers(0, 23), st.integers(0, 59)),
    st.builds("{} */{} * * *".format, st.integers(0, 59), st.integers(1, 12)),
    st.builds("monthly {} {:02}:30".format, st.integers(1, 31), st.integers(0, 23)),
    st.builds("*/{} * * * mon-fri".format, st.sampled_from([5, 7, 15, 30])),
)


@settings(max_examples=300, deadline=None)
@given(schedules, zones, instants)
def test_latest_and_next_agree_and_slots_only_go_forward(
    text: str, zone: str, start: datetime
) -> None:
    schedule = parse_schedule(text)
    coming = next_due(schedule, zone, start)
    assert coming.due_at > start
    assert latest_due(schedule, zone, start, coming.due_at) == coming
    just_before = coming.due_at - timedelta(microseconds=1)
    assert latest_due(schedule, zone, start, just_before) is None
    following = next_due(schedule, zone, coming.due_at)
    assert following.due_at > coming.due_at
    assert following.period > coming.period
