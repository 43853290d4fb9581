"""Types that several boundaries share: the calendar and JSON."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

Json = Mapping[str, Any]


class Clock(Protocol):
    """The calendar: due times, periods, dates, first-seen and next attempts come from here.

    Owners, locks, host gates and timeouts use the real clock instead.
    """

    def now(self) -> datetime: ...
