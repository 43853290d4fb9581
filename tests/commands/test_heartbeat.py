"""The vital signs that anybody may ask for: checked once in a few seconds."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from monitor.commands.heartbeat import (
    RECENT,
    SERVICE,
    RecentSigns,
    end_of_life,
    sign_of_life,
)
from tests.house import House


def test_vital_signs_that_many_ask_for_write_once_in_some_seconds(house: House) -> None:
    with house.opened() as app, closing(sqlite3.connect(str(app.runtime.database.path))) as other:
        database = app.runtime.database
        sign_of_life(database, SERVICE)
        signs = RecentSigns(database, house.clock)

        def version() -> int:
            """A number that each write by somebody else changes."""
            return int(other.execute("PRAGMA data_version").fetchone()[0])

        assert [check.ok for check in signs.checks()] == [True, True]
        before = version()
        with ThreadPoolExecutor(8) as pool:
            answers = [*pool.map(lambda _: signs.checks(), range(40))]
        assert all(check.ok for answer in answers for check in answer)
        assert version() == before
        end_of_life(database, SERVICE)
        house.clock.at += RECENT
        before = version()
        signs.checks()
        assert version() != before
