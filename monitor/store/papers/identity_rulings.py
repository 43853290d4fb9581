"""Rulings of a person that two papers are the same work, or are not. They are permanent.

A ruling is about two names of records, since the ids of papers may change: an identifier
(`doi:10.1/x`), a link (`url:example.org/1`), or what a source calls a record (`raw:feed/42`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import sqlalchemy as sa

from monitor.model import IncomingPaper
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import among, index_value, insert_or_update

SAME = "same"
DIFFERENT = "different"

_ruling = schema.ruling.c
_key = schema.paper_key.c
_sighting = schema.sighting.c


def name(scheme: str, value: str) -> str:
    """Return the name of an identifier in rulings."""
    return index_value(f"{scheme}:{value}")


def raw_name(source: str, raw_id: str) -> str:
    """Return the name of a source's record in rulings."""
    return index_value(f"raw:{source}/{raw_id}")


def names_of(tx: Transaction, ids: Iterable[int]) -> dict[int, set[str]]:
    """Return all names of papers."""
    wanted = set(ids)
    keys = sa.select(_key.paper_id, _key.scheme, _key.value).where(among(_key.paper_id, wanted))
    seen = sa.select(_sighting.paper_id, _sighting.source, _sighting.raw_id)
    records = seen.where(among(_sighting.paper_id, wanted))
    names: dict[int, set[str]] = defaultdict(set)
    for query, name_of in ((keys, name), (records, raw_name)):
        for id, *parts in tx.execute(query):
            names[id].add(name_of(*parts))
    return names


def rule(
    tx: Transaction, ours: Iterable[str], theirs: Iterable[str], verdict: str, now: datetime
) -> None:
    """Record a ruling on two papers, by all of their names, in place of any earlier one.

    The names of each are paired with one name of the other: as many rows as names.
    """
    our_names = sorted(ours)
    their_names = sorted(theirs)
    for ones, others in ((our_names, their_names), (their_names, our_names)):
        both = among(_ruling.one, ones), among(_ruling.other, others)
        tx.execute(sa.delete(schema.ruling).where(*both))
    pairs = {(a, their_names[0]) for a in our_names} | {(our_names[0], b) for b in their_names}
    rows = [
        {"one": min(pair), "other": max(pair), "verdict": verdict, "at": now}
        for pair in sorted(pairs)
        if pair[0] != pair[1]
    ]
    insert_or_update(tx, schema.ruling, rows)


def between(
    tx: Transaction,
    source: str,
    incoming: Sequence[IncomingPaper],
    candidates_of: Sequence[Mapping[int, object]],
) -> dict[tuple[int, int], str]:
    """Return the rulings on (position of an incoming paper, id of a stored one)."""
    # Most stores have none.
    if tx.execute(sa.select(_ruling.one).limit(1)).first() is None:
        return {}
    ours = {
        position: {name(*pair) for pair in record.keys}
        | {raw_name(source, own) for own in (record.raw_id, *record.former_names)}
        for position, record in enumerate(incoming)
        if candidates_of[position]
    }
    rulings = _on(tx, set().union(*ours.values()))
    concerned = {at: names for at, names in ours.items() if not names.isdisjoint(rulings)}
    theirs = names_of(tx, {id for position in concerned for id in candidates_of[position]})
    return {
        (position, id): verdict
        for position, names in concerned.items()
        for id in candidates_of[position]
        if (verdict := _verdict(rulings, names, theirs[id]))
    }


def apart(tx: Transaction, pairs: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return the pairs of stored papers that a ruling keeps apart."""
    pairs = set(pairs)
    names = names_of(tx, {id for pair in pairs for id in pair})
    rulings = _on(tx, set().union(*names.values()))
    return {
        (id, other_id)
        for id, other_id in pairs
        if _verdict(rulings, names[id], names[other_id]) == DIFFERENT
    }


def of_records(tx: Transaction, ours: set[str], theirs: set[str]) -> str:
    """Return the ruling on two groups of records by their names, "" if there is none."""
    return _verdict(_on(tx, ours | theirs), ours, theirs)


def of_names(tx: Transaction, names: Iterable[str]) -> list[tuple[str, str, str, datetime]]:
    """Return (one, other, verdict, time) of the rulings on a paper, oldest first."""
    wanted = set(names)
    concerned = among(_ruling.one, wanted) | among(_ruling.other, wanted)
    columns = sa.select(_ruling.one, _ruling.other, _ruling.verdict, _ruling.at)
    return list(map(tuple, tx.execute(columns.where(concerned).order_by(_ruling.at, _ruling.one))))


def _on(tx: Transaction, names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return what is ruled on names: the other name and the verdict."""
    verdicts: dict[str, dict[str, str]] = defaultdict(dict)
    for one, other, verdict, _ in of_names(tx, names):
        verdicts[one][other] = verdict
        verdicts[other][one] = verdict
    return verdicts


def _verdict(ruled: Mapping[str, Mapping[str, str]], ours: set[str], theirs: set[str]) -> str:
    """Return what is ruled of two; names that a record has of both sides part it from neither."""
    verdicts = [
        (verdict, name in theirs or other in ours)
        for name in ours
        for other, verdict in ruled.get(name, {}).items()
        if other in theirs
    ]
    if (DIFFERENT, False) in verdicts:
        return DIFFERENT
    return SAME if any(verdict == SAME for verdict, _ in verdicts) else ""
