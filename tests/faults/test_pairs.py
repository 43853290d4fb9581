"""After a hand-off without a clear end and a second fault, nothing is lost, repeated or unlisted.

These are some of the pairs, on SQLite; `make faults` runs all of them.
"""

from __future__ import annotations

import pytest

from tests.faults.days import BY_MAIL, BY_SLACK, WAYS
from tests.faults.pairs import Pair, pairs
from tests.faults.scenes import Stage

SOME = {
    "sqlite, two faults, mail: kept, then 450 at RCPT",
    "sqlite, two faults, mail: kept, then 550 at RCPT",
    "sqlite, two faults, mail: kept, then kept again",
    "sqlite, two faults, mail: kept, then 450, then away",
    "sqlite, two faults, mail: killed after it, then 421 greeting",
    "sqlite, two faults, mail at once: kept, then 450 at RCPT",
    "sqlite, two faults, mail held: kept, then 450 at RCPT",
    "sqlite, two faults, webhook: killed after the hook, then no such hook",
    "sqlite, two faults, slack: kept, then wrong token",
}
ALL = list(pairs(["sqlite"]))
PLAYED = [pair for pair in ALL if str(pair) in SOME]


@pytest.mark.parametrize("pair", PLAYED, ids=str)
def test_after_two_faults_all_arrives_in_one_message_or_is_listed(receivers: Stage, pair: Pair):
    assert pair.play(receivers).fault == ""


def test_every_pair_that_is_named_is_played():
    assert len(PLAYED) == len(SOME)
    assert {p.way for p in ALL} == set(WAYS)
    assert {p.second for p in ALL} >= {*BY_MAIL, *BY_SLACK}
