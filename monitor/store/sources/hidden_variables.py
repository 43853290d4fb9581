"""Values of variables in the rows that earlier versions wrote, or that were not variables then."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from functools import partial
from html import escape
from typing import Any

import sqlalchemy as sa
import structlog

from monitor.errors import StoreError
from monitor.model.delivery import NO_SUBSCRIPTION
from monitor.model.incidents import SubjectKind
from monitor.setting_types import Variables
from monitor.store.digests.packed import body_of, pack, pack_body, unpack
from monitor.store.engine import schema
from monitor.store.engine.database import Database, Transaction
from monitor.store.engine.sql import index_value, insert_new

log = structlog.get_logger()

_TEXTS = (
    schema.run.c.document,
    schema.run.c.error,
    schema.document.c.name,
    schema.dump.c.name,
    schema.collection.c.document,
    schema.sighting.c.document,
    schema.undecided.c.document,
    schema.undecided.c.error,
    schema.source_state.c.waits_for,
)


def hide_stored(
    database: Database, variables: Mapping[str, Variables], sources: Collection[str]
) -> None:
    """Hide the variables of sources in the rows of these, and of sources that are gone, once.

    A store that cannot be written now is tried again when it is opened next.
    """
    wanted = {(name, _mark(v)) for name, own in variables.items() for v in own.values.values()}
    marked = schema.hidden_variable.c
    try:
        with database.reading() as tx:
            done = {(*row,) for row in tx.execute(sa.select(marked.source, marked.mark))}
        if wanted <= done:
            return
        with database.writing() as tx:
            _erase(tx)
            for name in sorted({name for name, _ in wanted - done}):
                _hide(tx, name, variables[name], sources)
            rows = [{"source": name, "mark": mark} for name, mark in sorted(wanted - done)]
            insert_new(tx, schema.hidden_variable, rows)
        log.info("variables hidden", sources=sorted({name for name, _ in wanted - done}))
    except StoreError as fault:
        log.warning("variables not hidden in earlier rows", error=str(fault))


def _mark(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()[:8]


def _erase(tx: Transaction) -> None:
    """Overwrite what is replaced: SQLite leaves it in the file."""
    if tx.dialect.name == "sqlite":
        tx.exec_driver_sql("PRAGMA secure_delete = ON")


def _hide(tx: Transaction, name: str, variables: Variables, sources: Collection[str]) -> None:
    def is_own(source: str) -> bool:
        return source == name or source not in sources

    for column in _TEXTS:
        _hide_texts(tx, column, variables, list(filter(is_own, _sources_of(tx, column.table))))
    run = schema.run.c
    rejects = sa.select(run.id, run.source, run.set_aside).where(run.set_aside.is_not(None))
    for id, source, set_aside in tx.execute(rejects).all():
        records = [[variables.hide(text) for text in record] for record in set_aside]
        if is_own(source) and records != set_aside:
            tx.execute(sa.update(schema.run).where(run.id == id).values(set_aside=records))
    quoted = _hide_incidents(tx, variables, is_own)
    _hide_moves(tx, variables)
    if quoted:
        _hide_digests(tx, variables, quoted)


def _hide_incidents(
    tx: Transaction, variables: Variables, is_own: Callable[[str], bool]
) -> dict[str, str]:
    """Hide values in errors; return the lines that changed, which digests and notices may quote."""
    incident = schema.incident.c
    lines: dict[str, str] = {}
    of_sources = sa.select(incident.id, incident.name, incident.error).where(
        incident.about == SubjectKind.SOURCE
    )
    for id, source, error in tx.execute(of_sources).all():
        hidden = variables.hide(error)
        if is_own(source) and hidden != error:
            tx.execute(sa.update(schema.incident).where(incident.id == id).values(error=hidden))
            lines |= zip(error.splitlines(), hidden.splitlines(), strict=True)
    return {line: hidden for line, hidden in lines.items() if line != hidden}


def _sources_of(tx: Transaction, table: sa.FromClause) -> list[str]:
    return list(tx.scalars(sa.select(table.c.source).distinct()))


def _hide_texts(
    tx: Transaction, column: sa.Column[Any], variables: Variables, sources: Collection[str]
) -> None:
    """Hide values in a column; a row that would be there twice is that of an earlier value."""
    table = column.table
    is_key = column.primary_key or column.table is schema.collection
    for source in sources:
        of_source = table.c.source == source
        for text in tx.scalars(sa.select(column).where(of_source).distinct()).all():
            hidden = variables.hide(text) if text else text
            if hidden == text:
                continue
            rows = of_source & (column == text)
            if is_key and tx.scalar(sa.select(column).where(of_source, column == hidden).limit(1)):
                tx.execute(sa.delete(table).where(rows))
            else:
                tx.execute(sa.update(table).where(rows).values({column.name: hidden}))


def _hide_moves(tx: Transaction, variables: Variables) -> None:
    moved = schema.moved_address.c
    for address, place in tx.execute(sa.select(moved.address, moved.place)).all():
        hidden = {"address": index_value(variables.hide(address)), "place": variables.hide(place)}
        if hidden != {"address": address, "place": place}:
            rows = sa.delete(schema.moved_address)
            tx.execute(rows.where(moved.address.in_([hidden["address"]]), moved.address != address))
            changed = sa.update(schema.moved_address).where(moved.address == address)
            tx.execute(changed.values(hidden))


def _hide_digests(tx: Transaction, variables: Variables, lines: Mapping[str, str]) -> None:
    """Hide values in what was sent: anywhere in notices, in the errors of digests."""
    digest = schema.digest.c
    rendered = schema.rendered.c
    columns = sa.select(digest.id, digest.subscription)
    for id, subscription in tx.execute(columns).all():
        is_digest = not subscription.startswith(NO_SUBSCRIPTION)
        hide = partial(_replace, lines) if is_digest else variables.hide
        of_digest = digest.id == id
        plain, packed = tx.execute(sa.select(digest.content, digest.packed).where(of_digest)).one()
        content = unpack(packed, Any) if packed else plain
        hidden = _hide_json(content, hide)
        parts = tx.execute(sa.select(schema.rendered).where(rendered.digest_id == id)).all()
        bodies = [body_of(part.body, part.packed, packed) for part in parts]
        hidden_bodies = [_hide_json(body, hide) for body in bodies]
        if (hidden, hidden_bodies) == (content, bodies):
            continue
        now_packed = pack(hidden) if packed else None
        values = {"packed": now_packed} if packed else {"content": hidden}
        tx.execute(sa.update(schema.digest).where(of_digest).values(values))
        for part, body in zip(parts, hidden_bodies, strict=True):
            row = sa.update(schema.rendered).filter_by(
                digest_id=id, channel=part.channel, part=part.part
            )
            # Bodies are compressed after the content of their digest.
            tx.execute(row.values(body={}, packed=pack_body(body, now_packed)))


def _replace(lines: Mapping[str, str], text: str) -> str:
    for line, hidden in lines.items():
        text = text.replace(line, hidden).replace(escape(line), escape(hidden))
    return text


def _hide_json(value: Any, hide: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {name: _hide_json(part, hide) for name, part in value.items()}
    if isinstance(value, list):
        return [_hide_json(part, hide) for part in value]
    return hide(value) if isinstance(value, str) else value
