"""Dates of a page, which have no year when they are of this one."""

from __future__ import annotations

import re
from datetime import date, timedelta

from monitor.sources.fields.dates import day_of


def to_date(match: re.Match[str], latest: date) -> date | None:
    """Return a date; one without a year is in the latest year that makes it no later than `latest`.

    A 29 February is found within eight years, also around 2100.
    """
    if match["year"]:
        at = day_of(match["year"], match["month"], match["day"])
        return at.date() if at and at.date() <= latest + timedelta(days=2) else None
    for year in range(latest.year, max(latest.year - 9, 0), -1):
        at = day_of(str(year), match["month"], match["day"])
        if at and at.date() <= latest:
            return at.date()
    return None
