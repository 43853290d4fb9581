"""How many papers came on each day, and what is usual."""

from __future__ import annotations

from datetime import date

import msgspec


class UsualCount(msgspec.Struct, frozen=True):
    """How many papers a weekday brings as a rule: the median, and the range of half the days."""

    low: float
    median: float
    high: float


class DayCount(msgspec.Struct, frozen=True):
    """The papers of one day; None for a gap, a day on which nobody asked for papers.

    `usual` is what that weekday brings, None where it is not known; `is_thin` marks far fewer.
    """

    day: date
    papers: int | None
    usual: UsualCount | None = None
    is_thin: bool = False
