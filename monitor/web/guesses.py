"""How often wrong tokens were given from each address, and when the next one is looked at."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

from monitor.web.access import network_of

# Wrong guesses of an address that are answered at once; of further ones, one in two seconds. More
# than ten that wait are answered with 429.
FREE_GUESSES = 20
SECONDS_APART = 2.0
MAX_WAITING = 10
# Of all addresses together: a guess that waits is an active request, and `server` has 100 of them.
MAX_WAITING_IN_ALL = 50
# An address that guesses nothing more is forgotten, the longest idle one first.
FORGET_AFTER_SECONDS = 3600.0
MAX_ADDRESSES = 10_000

TRY_LATER = "There were too many wrong logins from your address. Wait a minute, and try again."


@dataclass(slots=True)
class _Record:
    wrong: int = 0
    last: float = 0.0
    next_turn: float = 0.0


class Guesses:
    """The guesses of each address; times are seconds of a monotonic clock.

    A guess counts as wrong from the start, and no longer once it proved right: of many at the
    same time none is looked at before the others count.
    """

    def __init__(self) -> None:
        self._records: OrderedDict[str, _Record] = OrderedDict()
        self._lock = threading.Lock()
        self._waiting = 0

    async def wait(self, address: str) -> bool:
        """Count a guess and wait until it may be looked at; False if too many others wait."""
        delay = self.delay(address, time.monotonic())
        if delay is None or (delay and self._waiting >= MAX_WAITING_IN_ALL):
            return False
        self._waiting += 1
        try:
            await asyncio.sleep(delay)
        finally:
            self._waiting -= 1
        return True

    def delay(self, address: str, now: float) -> float | None:
        """Count a guess; return the seconds until it may be looked at, None if too many wait."""
        with self._lock:
            record = self._of(address, now)
            if record.wrong < FREE_GUESSES:
                record.wrong += 1
                return 0.0
            turn = max(now, record.next_turn) + SECONDS_APART
            if turn > now + MAX_WAITING * SECONDS_APART:
                return None
            record.wrong += 1
            record.next_turn = turn
            return turn - now

    def was_right(self, address: str) -> None:
        """Take back that the last guess of an address counts as wrong."""
        with self._lock:
            record = self._records.get(network_of(address))
            if record and record.wrong:
                record.wrong -= 1

    def _of(self, address: str, now: float) -> _Record:
        key = network_of(address)
        record = self._records.pop(key, None)
        if record is None or now - record.last > FORGET_AFTER_SECONDS:
            record = _Record()
        record.last = now
        self._records[key] = record
        while len(self._records) > MAX_ADDRESSES:
            self._records.popitem(last=False)
        return record
