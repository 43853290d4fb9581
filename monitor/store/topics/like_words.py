"""The versions of the words by which topics match that are like a text; none is ever changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import PurePath
from typing import Any

import sqlalchemy as sa
from msgspec import convert, structs, to_builtins

from monitor.model import LikeText, LikeWord, LikeWords, Topic
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import among, insert_all

_words = schema.like_words.c
_paper = schema.paper.c


def in_force(tx: Transaction, topics: Iterable[Topic]) -> dict[str, LikeWords]:
    """Return the newest words of topics, by name, that were made from what they have now."""
    likes = {topic.name: topic.like for topic in topics if topic.like}
    if not likes:
        return {}
    query = sa.select(schema.like_words).where(among(_words.topic, likes))
    newest: dict[str, LikeWords] = {}
    for row in tx.execute(query.order_by(_words.topic, _words.version)):
        if is_made_from(row.made_from, likes[row.topic]):
            newest[row.topic] = _read(row)
    return newest


def as_stored(like: LikeText) -> dict[str, Any]:
    """Return a text and examples as rows have them, the path of a file as `path`."""
    row: dict[str, Any] = to_builtins(like)
    file = row.pop("file")
    return row | {"path": file}


def is_made_from(row: Mapping[str, Any] | None, like: LikeText | None) -> bool:
    """Return whether a row has this text and these examples.

    Rows of earlier versions have, as `file`, an absolute path in the folder that the configuration
    was in then, or lack fields.
    """
    if row is None or like is None:
        return row is None and like is None
    file = row["path"] if "path" in row else row.get("file", "")
    if "path" not in row and names_file_of(file, like):
        file = like.file
    return convert({**row, "file": file}, LikeText) == like


def names_file_of(stored: str, like: LikeText) -> bool:
    """Return whether a stored path is the file of examples, in whatever folder it was then."""
    parts = PurePath(like.file).parts
    return bool(parts) and PurePath(stored).parts[-len(parts) :] == parts


def versions(tx: Transaction, topic: str) -> list[LikeWords]:
    """Return all versions of the words of a topic, the newest first."""
    query = sa.select(schema.like_words).where(_words.topic == topic)
    return [_read(row) for row in tx.execute(query.order_by(_words.version.desc()))]


def _read(row: sa.Row[tuple[object, ...]]) -> LikeWords:
    return LikeWords(
        convert(row.words, tuple[LikeWord, ...]),
        row.bar,
        row.version,
        row.at,
        row.examples,
        tuple(row.missing),
    )


def add(tx: Transaction, topic: Topic, words: LikeWords, now: datetime) -> LikeWords:
    """Store a further version of the words of a topic, and return it."""
    of_topic = sa.select(sa.func.max(_words.version)).where(_words.topic == topic.name)
    added = structs.replace(words, version=(tx.scalar(of_topic) or 0) + 1, at=now)
    row = to_builtins(structs.replace(added, at=None))
    made_from = as_stored(topic.like) if topic.like else None
    row |= {"topic": topic.name, "made_from": made_from, "at": now}
    insert_all(tx, schema.like_words, [row])
    return added


def days_between(tx: Transaction, newest: int, oldest: int) -> float:
    """Return how many days apart two papers were first seen."""
    query = sa.select(_paper.first_seen_at).where(among(_paper.id, (newest, oldest)))
    moments = list(tx.scalars(query))
    return (max(moments) - min(moments)).total_seconds() / 86_400 if moments else 0.0
