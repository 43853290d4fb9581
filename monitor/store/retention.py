"""Clean-up of old rows, a few at a time.

A purged paper keeps its title, authors and identifiers, so that it is recognised when it comes
again.
"""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa

from monitor.model import DeliveryState
from monitor.store.digests import digests
from monitor.store.digests.deliveries import reaches_anyone
from monitor.store.engine import schema
from monitor.store.engine.database import Transaction
from monitor.store.engine.sql import Earlier, among
from monitor.store.papers import papers, search
from monitor.store.sources.runs import READ
from monitor.store.topics import matches
from monitor.store.topics.judgements import is_judged

# States that are final, and states that only a person can change.
SETTLED = (DeliveryState.SENT, DeliveryState.SUPERSEDED)
GIVEN_UP = (*SETTLED, DeliveryState.FAILED, DeliveryState.SUPPRESSED)

_paper = schema.paper.c
_change = schema.change.c
_match = schema.match.c
_item = schema.digest_item.c
_digest = schema.digest.c
_rendered = schema.rendered.c
_delivery = schema.delivery.c
_has = schema.subscription_topic.c
_run = schema.run.c


def purge(
    tx: Transaction, before: datetime | None, most: int | None, now: datetime, limit: int
) -> int:
    """Purge the next papers first seen before a time, or the oldest beyond a number.

    A paper still to be sent stays. Returns how many were purged; `tx` is of `Database.ingesting`.
    """
    here = _paper.purged_at.is_(None)
    wanted = [_paper.first_seen_at < before] if before else []
    if most is not None:
        beyond = sa.select(_paper.id).where(here).order_by(_paper.id.desc()).limit(1).offset(most)
        wanted.append(_paper.id <= sa.func.coalesce(beyond.scalar_subquery(), -1))
    if not wanted:
        return 0
    old = sa.select(_paper.id).where(here, sa.or_(*wanted), ~_is_needed())
    ids = list(tx.scalars(old.order_by(_paper.id).limit(limit)))
    purged = sa.update(schema.paper).where(among(_paper.id, ids))
    tx.execute(purged.values(papers.PURGED_COLUMNS | {"purged_at": now}))
    notes = sa.update(schema.sighting).where(among(schema.sighting.c.paper_id, ids))
    tx.execute(notes.where(schema.sighting.c.site_note.is_not(None)).values(site_note=None))
    of_texts = schema.digest_item, schema.change, schema.earlier_text
    for table in (*of_texts, schema.look_up, schema.saved_look_up, schema.embedding):
        tx.execute(sa.delete(table).where(among(table.c.paper_id, ids)))
    search.queue(tx, ids)
    return len(ids)


def _is_needed() -> sa.ColumnElement[bool]:
    """Whether a paper waits to be matched, or to be sent, or was rated or saved."""
    unmatched = sa.exists().where(_change.paper_id == _paper.id, _change.matched_at.is_(None))
    sent = matches.announced(_has.subscription).where(reaches_anyone(_item.digest_id))
    unsent = (
        sa.select(_match.paper_id)
        .join(schema.change, matches.OF_CHANGE)
        .join(schema.subscription_topic, _has.topic == _match.topic)
        .join(schema.topic, schema.topic.c.name == _match.topic)
        .where(
            _match.paper_id == _paper.id,
            _change.at >= Earlier(_has.since, schema.topic.c.since_seconds),
            ~sent.exists(),
        )
        .correlate(schema.paper)
    )
    is_open = sa.exists().where(
        _delivery.digest_id == _item.digest_id, _delivery.state.not_in(GIVEN_UP)
    )
    frozen = sa.exists().where(
        _item.paper_id == _paper.id, sa.or_(~reaches_anyone(_item.digest_id), is_open)
    )
    return sa.or_(unmatched, unsent.exists(), frozen, is_judged(_paper.id))


def prune_runs(tx: Transaction, before: datetime) -> int:
    """Delete runs that ended before a time, and the record of documents read before it.

    Of each source stay the last run, the last that read it, and the last with validators.
    """
    kept = [
        sa.select(sa.func.max(_run.id)).where(*wanted).group_by(_run.source)
        for wanted in ((), (_run.outcome.in_(READ),), (_run.validators.is_not(None),))
    ]
    old = (_run.finished_at < before, *(_run.id.not_in(ids) for ids in kept))
    done = tx.execute(sa.delete(schema.run).where(*old)).rowcount
    old_documents = sa.delete(schema.document).where(schema.document.c.at < before)
    return done + tx.execute(old_documents).rowcount


def prune_matches(tx: Transaction, before: datetime, limit: int) -> int:
    """Delete old matches of papers that are not to be sent any more; return how many papers."""
    matched = sa.select(_match.paper_id).distinct()
    of_papers = matched.join(schema.paper, _paper.id == _match.paper_id)
    old = of_papers.where(_match.matched_at < before, ~_is_needed())
    ids = list(tx.scalars(old.order_by(_match.paper_id).limit(limit)))
    of_these = (among(_match.paper_id, ids), _match.matched_at < before)
    tx.execute(sa.delete(schema.match).where(*of_these))
    return len(ids)


def prune_bodies(tx: Transaction, before: datetime, limit: int) -> int:
    """Remove the texts and rendered parts of old settled digests; the list of papers stays."""
    is_open = sa.exists().where(_delivery.digest_id == _digest.id, _delivery.state.not_in(SETTLED))
    heavy = sa.exists().where(
        _rendered.digest_id == _digest.id,
        sa.or_(_rendered.packed.is_not(None), sa.cast(_rendered.body, sa.Text) != "{}"),
    )
    # An older version emptied the rendered parts alone.
    old_content = sa.cast(_digest.content, sa.Text) != "{}"
    settled = (_digest.composed_at < before, ~is_open)
    old = sa.select(_digest.id).where(*settled, sa.or_(heavy, old_content))
    ids = list(tx.scalars(old.order_by(_digest.id).limit(limit)))
    parts = sa.update(schema.rendered).where(among(_rendered.digest_id, ids))
    tx.execute(parts.values(body={}, packed=None))
    for digest_id in ids:
        digests.remove_texts(tx, digest_id)
    return len(ids)
