"""What a reader asks for by a link of a mail: no more digests, a pause, or digests again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from monitor.model import Suppression
from monitor.pipeline.runtime import Runtime
from monitor.store import suppressions

LINK, ONE_CLICK = "link", "one-click"


class Wish(StrEnum):
    """What a reader may ask for."""

    STOP = "stop"
    WEEK = "week"
    MONTH = "month"
    RESUME = "resume"


_PAUSES = {Wish.WEEK: timedelta(days=7), Wish.MONTH: timedelta(days=30)}


@dataclass(frozen=True, slots=True)
class Standing:
    """What a reader gets of a subscription: nothing while there is a suppression."""

    subscription: str
    recipient: str
    suppression: Suppression | None

    @property
    def until(self) -> datetime | None:
        return self.suppression.until if self.suppression else None

    @property
    def may_resume(self) -> bool:
        """Whether the reader asked for it, for this subscription, and may take it back."""
        one = self.suppression
        return one is not None and one.how != "operator" and one.subscription != suppressions.ALL


def standing(runtime: Runtime, subscription: str, recipient: str) -> Standing:
    """Return what a reader gets of a subscription now."""
    with runtime.database.reading() as tx:
        rows = suppressions.listing(tx, runtime.clock.now(), recipient)
    about = [one for one in rows if one.subscription in (suppressions.ALL, subscription)]
    lasting = max(about, key=lambda one: (one.until is None, one.until or one.since), default=None)
    return Standing(subscription, recipient, lasting)


def grant(
    runtime: Runtime, subscription: str, recipient: str, wish: Wish, how: str = LINK
) -> Standing:
    """Do what a reader asks for; asking twice changes nothing more. Return how it stands then."""
    now = runtime.clock.now()
    before = standing(runtime, subscription, recipient)
    if wish is Wish.RESUME and before.may_resume:
        with runtime.database.writing() as tx:
            if before.until is None:
                suppressions.lift(tx, recipient, subscription)
            else:  # a pause that ends early: what it withheld is listed in the next digest
                suppressions.end_pause(tx, recipient, subscription, now)
    elif wish is not Wish.RESUME and _is_more(before, wish):
        until = now + _PAUSES[wish] if wish in _PAUSES else None
        with runtime.database.writing() as tx:
            suppressions.suppress(tx, recipient, subscription, now, until=until, how=how)
    return standing(runtime, subscription, recipient)


def _is_more(before: Standing, wish: Wish) -> bool:
    """Whether a wish changes something: who gets nothing permanently first has to resume."""
    is_permanent = before.suppression is not None and before.until is None
    return not is_permanent
