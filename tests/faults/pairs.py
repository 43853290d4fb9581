"""Two faults in one installation: a hand-off without a clear end, then something else for a day.

The first fault is met by the digest of the morning, in one run. The second one stands from twenty
minutes later until after the next digest, of another paper; then all works again. A digest that
may have arrived is not composed again: each paper is in one message, of which there are at most
two copies, and what a person has to settle is listed all the while.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from monitor.model import DeliveryState
from tests.faults import docs
from tests.faults.days import (
    BY_MAIL,
    BY_SLACK,
    FIRST,
    WAYS,
    Days,
    First,
    Mailed,
    Posted,
    Second,
    Way,
)
from tests.faults.points import Order
from tests.faults.scenes import OPEN, Stage, standing

# ── the cells ───────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Pair:
    way: str
    first: str
    second: str
    store: str

    def play(self, stage: Stage) -> PairVerdict:
        way = WAYS[self.way]
        second = (BY_MAIL if isinstance(way, Mailed) else BY_SLACK)[self.second]
        return play(stage, self, way, FIRST[self.first], second)

    def __str__(self) -> str:
        return f"{self.store}, {self.way}: {self.first}, then {self.second}"


_SOME = ("450 at RCPT", "421 greeting", "550 at RCPT", "kept again")
_LONG = ("450 for three days", "421 for three days")
_TABLE: dict[str, dict[str, Sequence[str]]] = {
    "two faults, mail": {
        "kept": tuple(BY_MAIL),
        "lost": (*_SOME, "lost again", "killed again"),
        "killed after it": tuple(name for name in BY_MAIL if "away" not in name),
        "killed before it": ("450 at RCPT", "421 greeting"),
    },
    "two faults, mail at once": {
        "kept": (*_SOME, *_LONG, "connection refused", "wrong password", "554 after the dot"),
        "killed after it": ("450 at RCPT", "connection refused"),
    },
    "two faults, mail held": {"kept": _SOME, "killed after it": ("421 greeting",)},
    "two faults, two readers": {"kept": _SOME, "lost": ("450 at RCPT",)},
    "two faults, webhook": {
        "kept": ("no such hook", "429", "502, asks", "connection refused", "kept again"),
        "kept, 502": ("no such hook",),
        "killed after the hook": ("no such hook", "429", "connection refused"),
    },
    "two faults, webhook at once": {
        "kept": ("no such hook", "429", "502, asks", "connection refused", "kept again"),
    },
    "two faults, slack": {
        "kept": ("wrong token", "429", "502", "connection refused"),
        "lost": ("wrong token", "429", "502", "connection refused"),
        "killed after the post": ("wrong token", "429", "502", "connection refused"),
    },
    "two faults, slack at once": {
        "kept": ("wrong token", "502"),
        "lost": ("wrong token", "502", "429"),
    },
}


def pairs(stores: Sequence[str]) -> Iterator[Pair]:
    for store in stores:
        for way, firsts in _TABLE.items():
            for first, seconds in firsts.items():
                for second in seconds:
                    yield Pair(way, first, second, store)


# ── the verdict ─────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class PairVerdict:
    """What became of one pair. `copies` are messages that came twice, the same; `repeated` is
    what came otherwise than that, or a third time; `unlisted` what nobody was sent."""

    pair: Pair
    lost: int
    copies: int
    repeated: int
    unknown: int
    unlisted: int
    stuck: int
    asks: bool

    @property
    def fault(self) -> str:
        counts = {
            "lost": self.lost,
            "repeated": self.repeated,
            "unlisted": self.unlisted,
            "stuck": self.stuck,
            "unknown": 0 if self.asks else self.unknown,
            "not asked about": int(self.asks and not self.unknown),
        }
        return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def play(stage: Stage, pair: Pair, way: Way, first: First, second: Second) -> PairVerdict:
    days = Days(stage, stage.fresh(way), way)
    first.befall(days)
    if way.held:
        # Who is asked says at once that it is to be sent again, right or wrong.
        days.run(0.3)
        days.resolve(0.35, lambda _: "resend")
    second.begin(days)
    *before, last = second.hours
    if second.kill:
        days.run(before.pop(0), Order(second.kill, "kill"))
    for hours in before:
        days.run(hours)
    days.add(way.papers + 1)
    days.run(last)
    days.unknown(last)
    days.all_well()
    days.run(last + 4)
    days.add(way.papers + 2)
    days.run(last + 24)
    days.run(last + 28)
    unknown = days.resolve(last + 29, lambda one: way.fate(stage, one))
    for hours in (33, 37):
        days.run(last + hours)
    return _judged(days, pair, unknown, second.asks)


def _judged(days: Days, pair: Pair, unknown: int, asks: bool) -> PairVerdict:
    stage = days.stage
    way = days.way
    came = way.arrived(stage, days.folder)
    second, third = _once_each(stage)
    in_two = sum(count - 1 for count in way.arrived(stage, days.folder).values())
    if isinstance(way, Posted):  # its history says what is there
        second, third = 0, third + second
    states = standing(days.folder)
    verdict = PairVerdict(
        pair,
        lost=len(way.wanted - set(came)),
        copies=second,
        repeated=third + in_two,
        unknown=unknown,
        unlisted=days.unlisted,
        stuck=sum(states[state] for state in (*OPEN, DeliveryState.UNKNOWN)),
        asks=asks,
    )
    if not verdict.fault:
        stage.done(days.folder)
    return verdict


def _once_each(stage: Stage) -> tuple[int, int]:
    """Leave one copy of each message; return how many second and how many further ones it had."""
    mails = {(mail.recipient, mail.content): mail for mail in stage.smtp.received}
    posts = {_words(post): post for post in stage.slack.posts}
    counts = Counter((mail.recipient, mail.content) for mail in stage.smtp.received)
    result = Counter(map(_words, stage.slack.posts))
    stage.smtp.received[:], stage.slack.posts[:] = mails.values(), posts.values()
    each = (*counts.values(), *result.values())
    return sum(min(n, 2) - 1 for n in each), sum(max(n - 2, 0) for n in each)


def _words(post: Mapping[str, Any]) -> str:
    return json.dumps([post["channel"], post["blocks"]])


# ── the table ───────────────────────────────────────────────────────────────────────


def table(verdicts: Iterable[PairVerdict]) -> str:
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    names = ("lost", "repeated", "copies", "unknown", "unlisted", "stuck")
    for one in verdicts:
        rows[one.pair.store].update({name: getattr(one, name) for name in names} | {"pairs": 1})
    return docs.table(["store"], {name: name for name in ("pairs", *names)}, rows)
