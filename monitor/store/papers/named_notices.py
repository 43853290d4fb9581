"""Notices about a paper that its own record names, such as those in `updated-by` of Crossref."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime

import sqlalchemy as sa
from msgspec import Struct

from monitor.identity.keys import hash_of_text
from monitor.model import Paper, record_of
from monitor.store.digests.packed import pack, unpack
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import among, insert_new

_named = schema.named_notice.c


class NamedNotice(Struct, frozen=True):
    """A notice that a source's record of a paper names since a time."""

    paper: Paper
    source: str
    at: datetime


def write(tx: Transaction, source: str, papers: Iterable[tuple[int, Paper]], now: datetime) -> None:
    """Store the notices that the records of some papers name now, and drop those of before."""
    names: dict[int, dict[str, Paper]] = defaultdict(dict)
    for id, paper in papers:
        named = {_name(notice): record_of(notice, source) for notice in paper.notices}
        names[id] |= named
    rows = [
        {"paper_id": id, "source": source, "name": name, "packed": pack(notice), "at": now}
        for id, named in sorted(names.items())
        for name, notice in sorted(named.items())
    ]
    here = among(_named.paper_id, names), _named.source == source
    for id, name in tx.execute(sa.select(_named.paper_id, _named.name).where(*here)).all():
        if name not in names[id]:
            row = {"paper_id": id, "source": source, "name": name}
            tx.execute(sa.delete(schema.named_notice).filter_by(**row))
    insert_new(tx, schema.named_notice, rows)


def _name(notice: Paper) -> str:
    return f"{hash_of_text(f'{notice.type} {notice.raw_id}'):x}"


def of_papers(tx: Transaction, ids: Collection[int]) -> dict[int, list[NamedNotice]]:
    """Return the notices that the records of papers name."""
    notices: dict[int, list[NamedNotice]] = defaultdict(list)
    rows = sa.select(schema.named_notice).where(among(_named.paper_id, ids))
    for row in tx.execute(rows.order_by(_named.paper_id, _named.source, _named.name)):
        notices[row.paper_id].append(NamedNotice(unpack(row.packed, Paper), row.source, row.at))
    return notices
