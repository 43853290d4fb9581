"""The vital signs that anybody may ask for: checked once in a few seconds."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta

from monitor.commands.heartbeat import (
    RECENT,
    ROUND,
    SERVICE,
    RecentSigns,
    end_of_life,
    last_sign,
    service,
    sign_of_life,
)
from monitor.commands.status import status
from monitor.store.engine import processes
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


def fall_silent(house: House) -> None:
    """Leave the last heartbeat of a service that was killed an hour ago."""
    with house.opened() as app, app.runtime.database.writing() as tx:
        processes.beat(tx, SERVICE, datetime.now(UTC) - timedelta(hours=1))


def service_problems(house: House) -> list[str]:
    with house.opened() as app:
        found = status(app.runtime).problems
        checked = service(app.runtime.database, expected=False)
    silent = [problem for problem in found if "no sign of life" in problem.text]
    assert checked.ok == (not silent)
    return [problem.remedy for problem in silent]


def test_a_round_of_run_ends_the_silence_of_a_service_that_was_killed(house: House) -> None:
    fall_silent(house)
    [remedy] = service_problems(house)
    assert "`paper-monitor serve`" in remedy and "`paper-monitor run`" in remedy
    house.command("ingest")
    house.command("digest")
    assert len(service_problems(house)) == 1, "a command by hand is not the work of a service"
    assert house.command("run").status == 0
    assert service_problems(house) == []


def test_a_service_that_is_started_after_run_and_killed_is_missed_again(house: House) -> None:
    fall_silent(house)
    house.command("run")
    with house.opened() as app, app.runtime.database.writing() as tx:
        processes.beat(tx, ROUND, datetime.now(UTC) - timedelta(hours=2))
    assert len(service_problems(house)) == 1


def test_a_round_of_run_hides_no_service_that_lives(house: House) -> None:
    with house.opened() as app:
        sign_of_life(app.runtime.database, SERVICE)
    house.command("run")
    with house.opened() as app, app.runtime.database.reading() as tx:
        assert last_sign(tx) is not None
