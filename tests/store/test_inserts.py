"""Few rows and many are inserted by different statements, with the same result."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from monitor.store.engine import schema
from monitor.store.engine.database import Database
from monitor.store.engine.sql import MANY, insert_new, insert_or_update
from tests.store.scenes import NOW

pytestmark = pytest.mark.parametrize("count", [1, 2, MANY])

_topic = schema.topic.c


def topics(count: int) -> list[dict[str, Any]]:
    return [
        {
            "name": f"topic {number:03}",
            "query": "",
            "sources": ["ä", "b"][: number % 3],
            "news": [],
            "since_seconds": number,
            "threshold": 0.5,
            "synonyms": [["a", "b"]] if number % 2 else None,
            "in_force_since": NOW,
            "made_from": None,
        }
        for number in range(count)
    ]


def stored(tx: sa.Connection) -> list[dict[str, Any]]:
    return [
        dict(row) for row in tx.execute(sa.select(schema.topic).order_by(_topic.name)).mappings()
    ]


def test_new_rows_are_inserted_and_counted(store: Database, count: int) -> None:
    rows = topics(count)
    with store.writing() as tx:
        assert insert_new(tx, schema.topic, rows) == count
        assert insert_new(tx, schema.topic, [*rows, topics(count + 1)[-1] | {"query": "new"}]) == 1
        assert stored(tx)[:-1] == rows


def test_existing_rows_are_updated_with_what_is_computed(store: Database, count: int) -> None:
    rows = topics(count)
    later = [row | {"query": "later", "news": ["new"], "threshold": 1.0} for row in rows]
    with store.writing() as tx:
        insert_or_update(tx, schema.topic, rows, ["query"])
        insert_or_update(
            tx, schema.topic, later, ["query", "news"], since_seconds=_topic.since_seconds + 7
        )
        assert stored(tx) == [
            row | {"query": "later", "news": ["new"], "since_seconds": row["since_seconds"] + 7}
            for row in rows
        ]


def test_a_time_without_a_zone_is_refused(store: Database, count: int) -> None:
    rows = [row | {"in_force_since": NOW.replace(tzinfo=None)} for row in topics(count)]
    with (
        pytest.raises((ValueError, sa.exc.StatementError), match="no time zone"),
        store.writing() as tx,
    ):
        insert_new(tx, schema.topic, rows)
