"""When to come again: Retry-After, and how long an answer stays as it is."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.http.cache_headers import lifetime, retry_after

NOVEMBER = 784_111_777.0  # Sun, 06 Nov 1994 08:49:37 GMT, the moment of RFC 9110, 5.6.7


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        ("120", timedelta(seconds=120)),
        (" 120 ", timedelta(seconds=120)),
        ("0", timedelta(seconds=60)),
        ("-5", timedelta(seconds=60)),
        ("86401", timedelta(hours=24)),
        ("000000000000000000120", timedelta(seconds=120)),
        ("9" * 400, timedelta(hours=24)),
        ("Sun, 06 Nov 1994 09:09:37 GMT", timedelta(minutes=20)),
        ("Sunday, 06-Nov-94 09:09:37 GMT", timedelta(minutes=20)),
        ("Sun Nov  6 09:09:37 1994", timedelta(minutes=20)),
        ("Sun, 06 Nov 1994 08:49:37 -0100", timedelta(hours=1)),
        ("Sat, 05 Nov 1994 00:00:00 GMT", timedelta(seconds=60)),
        ("Fri, 01 Jan 2100 00:00:00 GMT", timedelta(hours=24)),
        ("Sun, 31 Nov 1994 08:49:37 GMT", None),
        ("abc", None),
        ("1.5", None),
        ("", None),
        ("٣", None),
    ],
)
def test_retry_after_stays_within_a_minute_and_a_day(value: str, wait: timedelta | None) -> None:
    assert retry_after({"retry-after": value}, now=NOVEMBER) == wait


def test_a_date_counts_from_the_answers_own() -> None:
    headers = {
        "retry-after": "Fri, 01 Jan 2100 02:00:00 GMT",
        "date": "Fri, 01 Jan 2100 00:00:00 GMT",
    }
    assert retry_after(headers, now=NOVEMBER) == timedelta(hours=2)


@pytest.mark.parametrize(
    ("limit", "wait"),
    [
        ('"api";r=0;t=155', timedelta(seconds=155)),
        ('"pages"; r=0; t=7', timedelta(minutes=1)),
        (f'"api";r=0;t={"9" * 400}', timedelta(hours=24)),
        ('"burst";r=0;t=1, "day";r=0;t=4000', timedelta(seconds=4000)),
        ('"api";r=12;t=155', None),
        ('"api";r=0', None),
        ("", None),
    ],
)
def test_without_retry_after_a_spent_window_counts(limit: str, wait: timedelta | None) -> None:
    assert retry_after({"ratelimit": limit}, now=NOVEMBER) == wait
    asked = {"ratelimit": limit, "retry-after": "120"}
    assert retry_after(asked, now=NOVEMBER) == timedelta(minutes=2)


@given(st.text(), st.text())
def test_no_header_raises(control: str, value: str) -> None:
    headers = {"cache-control": control, "expires": value, "age": control, "retry-after": value}
    headers["ratelimit"] = control
    assert timedelta(0) <= lifetime(headers, now=1e9) <= timedelta(hours=24)
    wait = retry_after(headers, now=1e9)
    assert wait is None or timedelta(seconds=60) <= wait <= timedelta(hours=24)
