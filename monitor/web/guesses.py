"""How often wrong tokens were given from each address, and when the next one is looked at."""

from __future__ import annotations

import threading
from asyncio import sleep
from time import monotonic

from monitor.web.access import network_of

# Wrong guesses of an address that are answered at once; of further ones, one in two seconds. More
# than ten that wait are answered with 429.
FREE_GUESSES = 20
SECONDS_APART = 2.0
MAX_WAITING = 10
# Of all addresses together: a guess that waits is an active request, and `server` has 100 of them.
MAX_WAITING_IN_ALL = 50
# Of more addresses, the one that has guessed nothing for longest is forgotten.
MAX_ADDRESSES = 10_000

TRY_LATER = "There were too many wrong logins from your address. Wait a minute, and try again."


class Guesses:
    """The guesses of each network: when the seconds that they cost are over, on a monotonic clock.

    A wrong guess costs `SECONDS_APART`. One that is not compared at once, as that of a form, counts
    before it is looked at and is taken back if it was right, so that parallel guesses all count.
    """

    def __init__(self) -> None:
        self._paid_at: dict[str, float] = {}
        self._lock = threading.Lock()
        self._waiting = 0

    async def wait(self, address: str, *, is_right: bool = False) -> bool:
        """Count a guess and wait until it may be answered; False if too many wrong ones wait.

        One that is known to be right does not count, so that others like it need not wait for it.
        It waits for the wrong ones before it as a wrong one would: an answer at once, or one where
        a wrong guess gets none, would give it away.
        """
        delay = self.delay(address, monotonic(), is_right=is_right)
        if delay is None or (delay and self._waiting >= MAX_WAITING_IN_ALL):
            return False
        self._waiting += not is_right
        try:
            await sleep(delay)
        finally:
            self._waiting -= not is_right
        return True

    def delay(self, address: str, now: float, *, is_right: bool = False) -> float | None:
        """Count a guess; return the seconds until it may be answered, None if too many wait."""
        network = network_of(address)
        with self._lock:
            paid_at = max(self._paid_at.get(network, now), now)
            ahead = paid_at - now - (FREE_GUESSES - 1) * SECONDS_APART
            is_answered = ahead <= MAX_WAITING * SECONDS_APART
            if not is_right:
                self._paid_at.pop(network, None)  # and to the end: it guessed last
                self._paid_at[network] = paid_at + (SECONDS_APART if is_answered else 0)
                if len(self._paid_at) > MAX_ADDRESSES:
                    del self._paid_at[next(iter(self._paid_at))]
        return max(ahead, 0.0) if is_answered else None

    def was_right(self, address: str) -> None:
        """Take back that the last guess of an address counts as wrong."""
        network = network_of(address)
        with self._lock:
            if network in self._paid_at:
                self._paid_at[network] -= SECONDS_APART
